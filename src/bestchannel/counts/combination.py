"""Channels that are read as one: the input that all were sent, and the tuple of their answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestchannel.arrays import Integers
from bestchannel.counts.joint_trials import MISSING, JointTrials
from bestchannel.counts.labelled_counts import ChannelLabels, alphabet
from bestchannel.errors import InputError

MOST_LETTERS = 256
"""The most outputs of channels that are read as one: what is proved of rows with more takes minutes, and is little."""


def combined(trials: JointTrials, names: Sequence[str]) -> JointTrials:
    """The named channels, and last the channel that they are together, called as all of them with + between.

    Its output is the tuple of their answers; a trial that one of them did not answer is missing. Its outputs are the
    tuples that came, or all where the outputs of channels are declared. By data processing its capacity is at least
    that of each of them.

    >>> labels = tuple(ChannelLabels.numbered(name, (2, 2)) for name in "ab")
    >>> pair = combined(JointTrials(labels, np.array([[0, 0], [1, 1]]), np.array([[0, 0], [1, 0]])), ["a", "b"])
    >>> pair.names, pair.alphabets[2].outputs, pair.counts()["a+b"].tolist()
    (('a', 'b', 'a+b'), ('(0, 0)', '(0, 1)', '(1, 0)', '(1, 1)'), [[1, 0, 0, 0], [0, 0, 1, 0]])
    """
    members = _members(trials, names)
    parts, sizes = [trials.alphabets[j] for j in members], [len(trials.alphabets[j].outputs) for j in members]
    answered = np.all(trials.y[:, members] != MISSING, axis=1)
    if not np.any(answered):
        raise InputError(f"{', '.join(names)} are read as one where all of them answered; no trial has answers of all")
    inputs, x = _inputs(trials, members, parts, answered)
    codes = np.ravel_multi_index(tuple(trials.y[answered][:, members].T), sizes)
    seen, y = np.unique(codes, return_inverse=True) if trials.inferred_outputs else (np.arange(np.prod(sizes)), codes)
    name = "+".join(names)
    if len(seen) > MOST_LETTERS:
        raise InputError(
            f"{name} would have {len(seen):,} outputs, and channels are read as one up to {MOST_LETTERS}; combine"
            " fewer, or put their outputs into fewer classes"
        )
    outputs = tuple(_tuple(parts, np.unravel_index(code, sizes)) for code in seen.tolist())
    labels = ChannelLabels(name, inputs, outputs)
    X, Y = (np.column_stack([letters[:, members], np.full(len(letters), MISSING)]) for letters in (trials.x, trials.y))
    X[answered, -1], Y[answered, -1] = x, y
    return JointTrials((*parts, labels), X, Y, trials.inferred_outputs, trials.groups)


def _tuple(parts: Sequence[ChannelLabels], letters: Sequence[Any]) -> str:
    return f"({', '.join(part.outputs[i] for part, i in zip(parts, letters, strict=True))})"


def _members(trials: JointTrials, names: Sequence[str]) -> list[int]:
    """Where the named channels are, at least two and each once."""
    for name in names:
        if name not in trials.names:
            raise InputError(f"there is no channel {name!r} to combine; there are {', '.join(trials.names[:20])}")
    if len(set(names)) < len(names) or len(names) < 2:
        raise InputError(f"at least two different channels are read as one; these are {', '.join(names)}")
    return [trials.names.index(name) for name in names]


def _inputs(
    trials: JointTrials, members: Sequence[int], parts: Sequence[ChannelLabels], answered: NDArray[np.bool_]
) -> tuple[tuple[str, ...], Integers]:
    """The inputs that any of the channels has, and which was sent to all of them in each answered trial."""
    letters = alphabet(letter for part in parts for letter in part.inputs)
    numbers = {letter: i for i, letter in enumerate(letters)}
    sent = np.column_stack(
        [
            np.array([numbers[letter] for letter in part.inputs])[trials.x[answered, j]]
            for j, part in zip(members, parts, strict=True)
        ]
    )
    differ = np.flatnonzero(np.any(sent != sent[:, :1], axis=1))
    if len(differ):
        row = sent[differ[0]].tolist()
        told = ", ".join(f"{letters[x]} to {part.key}" for x, part in zip(row, parts, strict=True))
        raise InputError(
            f"channels that are read as one must have one input; trial {np.flatnonzero(answered)[differ[0]] + 1} sent"
            f" {told}"
        )
    return tuple(letters), sent[:, 0]
