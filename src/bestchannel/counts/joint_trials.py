"""Trials that several channels answer: one input each, one answer each, which may depend on each other.

`combined` reads some of these channels as one: the input that all were sent, and the tuple of their answers.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bestchannel.arrays import ChannelLabels, Integers, frozen
from bestchannel.counts.labelled_counts import LabelledCounts, alphabet
from bestchannel.errors import InputError

MISSING = -1
"""The letter of an answer that did not come, and of an input that is not known."""

MOST_LETTERS = 256
"""The most outputs of channels that are read as one: what is proved of rows with more takes minutes, and is little."""


class AnswerPairs(NamedTuple):
    """The trials that two channels b and a both answered: inputs and answers of both, and groups, one entry a trial."""

    x_b: Integers
    y_b: Integers
    x_a: Integers
    y_a: Integers
    groups: Integers | None


@dataclass(frozen=True, eq=False)
class JointTrials:
    """Trials that several channels answer, each with an input of its own; answers of a trial may depend on each other.

    Parameters
    ----------
    alphabets
        What every channel and its letters are called.
    x
        x[i, j] was sent to channel j in trial i, numbered as in its alphabets.
    y
        y[i, j] came; -1 where nothing came.
    inferred_outputs
        Whether the outputs are only those that happened to be seen.
    groups
        groups[i] is that of trial i (a writer, a day): trials of different groups are independent; None where all are.

    Raises
    ------
    InputError
        Where x or y is no table of letters.

    Examples
    --------
    >>> labels = tuple(ChannelLabels.numbered(name, (2, 2)) for name in "ab")
    >>> trials = JointTrials(labels, x=np.array([[0, 0], [1, 1], [1, 1]]), y=np.array([[0, 0], [1, 0], [-1, 1]]))
    >>> trials.counts()["b"].tolist(), trials.missing, trials.pair("b", "a").y_b.tolist()
    ([[1, 0], [1, 1]], {'a': 1, 'b': 0}, [0, 0])
    """

    alphabets: tuple[ChannelLabels, ...]
    x: Integers
    y: Integers
    inferred_outputs: bool = False
    groups: Integers | None = None

    def __post_init__(self) -> None:
        size = len(self.y), len(self.alphabets)
        for name, sides in (("x", 0), ("y", 1)):
            letters = getattr(self, name)
            if letters.shape != size or letters.dtype.kind not in "iu":
                raise InputError(
                    f"{name} must be whole numbers [trial, channel] of shape {size}; it is {letters.dtype} of shape"
                    f" {letters.shape}"
                )
            for labels, column in zip(self.alphabets, letters.T, strict=True):
                most = labels.alphabet[sides] - 1
                wrong = np.flatnonzero((column < MISSING) | (column > most))
                if wrong.size:
                    raise InputError(
                        f'{name} of channel "{labels.key}" must be from 0 to {most}, or {MISSING} where there is none;'
                        f" in trial {wrong[0]} it is {column[wrong[0]]}"
                    )
            object.__setattr__(self, name, frozen(letters.astype(np.int64)))
        if np.any((self.x == MISSING) & (self.y != MISSING)):
            raise InputError("x must be known wherever an answer came; it is -1 in a trial with an answer")
        if self.groups is not None and self.groups.shape != size[:1]:
            raise InputError(f"groups must have an entry per trial, {size[0]}; its shape is {self.groups.shape}")

    @property
    def names(self) -> tuple[str, ...]:
        """What the channels are called."""
        return tuple(str(labels.key) for labels in self.alphabets)

    @property
    def missing(self) -> dict[str, int]:
        """How many trials each channel did not answer."""
        return dict(zip(self.names, (self.y == MISSING).sum(axis=0).tolist(), strict=True))

    def counts(self) -> dict[Hashable, Integers]:
        """counts[x, y] of every channel by its key, of shape (n_inputs, n_outputs)."""
        tables: dict[Hashable, Integers] = {}
        for labels, x, y in zip(self.alphabets, self.x.T, self.y.T, strict=True):
            tables[labels.key] = np.zeros(labels.alphabet, np.int64)
            np.add.at(tables[labels.key], (x[y != MISSING], y[y != MISSING]), 1)
        return tables

    def labelled_counts(self) -> Iterator[LabelledCounts]:
        """The counts of every channel with their labels; the order of the trials, unless they come in groups."""
        for j, (labels, table) in enumerate(zip(self.alphabets, self.counts().values(), strict=True)):
            name, answered = str(labels.key), self.y[:, j] != MISSING
            order = (self.x[answered, j], self.y[answered, j]) if self.groups is None else None
            yield LabelledCounts(name, table, labels.inputs, labels.outputs, self.inferred_outputs, order=order)

    def pair(self, b: str, a: str) -> AnswerPairs:
        """The trials that the channels b and a both answered."""
        j, i = self.names.index(b), self.names.index(a)
        both = (self.y[:, j] != MISSING) & (self.y[:, i] != MISSING)
        x_b, y_b, x_a, y_a = (letters[both, channel] for channel in (j, i) for letters in (self.x, self.y))
        return AnswerPairs(x_b, y_b, x_a, y_a, None if self.groups is None else self.groups[both])


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
    for name in names:
        if name not in trials.names:
            raise InputError(f"there is no channel {name!r} to combine; there are {', '.join(trials.names[:20])}")
    if len(set(names)) < len(names) or len(names) < 2:
        raise InputError(f"at least two different channels are read as one; these are {', '.join(names)}")
    members = [trials.names.index(name) for name in names]
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
    letters = ([part.outputs[i] for part, i in zip(parts, np.unravel_index(code, sizes), strict=True)] for code in seen)
    outputs = tuple(f"({', '.join(answers)})" for answers in letters)
    labels = ChannelLabels(name, inputs, outputs)
    X, Y = (np.column_stack([letters[:, members], np.full(len(letters), MISSING)]) for letters in (trials.x, trials.y))
    X[answered, -1], Y[answered, -1] = x, y
    return JointTrials((*parts, labels), X, Y, trials.inferred_outputs, trials.groups)


def _inputs(
    trials: JointTrials, members: Sequence[int], parts: Sequence[ChannelLabels], answered: NDArray[np.bool_]
) -> tuple[tuple[str, ...], Integers]:
    """The inputs that any of the channels has, and which was sent to all of them in each answered trial."""
    letters = alphabet(letter for part in parts for letter in part.inputs)
    numbers = {letter: i for i, letter in enumerate(letters)}
    every = [np.array([numbers[letter] for letter in part.inputs]) for part in parts]
    sent = np.column_stack([own[trials.x[answered, j]] for j, own in zip(members, every, strict=True)])
    differ = np.flatnonzero(np.any(sent != sent[:, :1], axis=1))
    if len(differ):
        row = sent[differ[0]].tolist()
        told = ", ".join(f"{letters[x]} to {part.key}" for x, part in zip(row, parts, strict=True))
        raise InputError(
            f"channels that are read as one must have one input; trial {np.flatnonzero(answered)[differ[0]] + 1} sent"
            f" {told}"
        )
    return tuple(letters), sent[:, 0]
