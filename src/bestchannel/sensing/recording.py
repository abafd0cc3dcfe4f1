"""Senses that were recorded before."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from bestchannel.arrays import Integers, numeric_array
from bestchannel.errors import InputError
from bestchannel.identification import OutOfSensesError, Party, Request


class Recording:
    """Answers requests from a trial log: the trials of each input in their order, none twice.

    `trials` maps each channel to its (x, y) pairs, in the order in which they were recorded, or is
    a sequence of such; `alphabets` gives (n_inputs, n_outputs) of each channel where the log may
    not show every letter.

    >>> recording = Recording({"link": [(0, 0), (1, 1), (0, 1)]})
    >>> recording(Request(1, {0: (2, 1)}))[0].tolist()
    [[1, 1], [0, 1]]
    """

    def __init__(
        self,
        trials: Mapping[str, object] | Sequence[object],
        *,
        alphabets: Sequence[tuple[int, int]] | None = None,
    ) -> None:
        named = dict(trials) if isinstance(trials, Mapping) else dict(enumerate(trials))
        if not named:
            raise InputError("a recording wants at least one channel; none was given")
        self.keys: Sequence[Hashable] = list(named)
        pairs = [_pairs(log, f"the trials of channel {key!r}") for key, log in named.items()]
        sizes = [(int(log[:, 0].max()) + 1, int(log[:, 1].max()) + 1) for log in pairs]
        self.alphabets = list(alphabets) if alphabets else sizes
        self._outputs = [[log[log[:, 0] == x, 1] for x in range(self._fitting(j, log))] for j, log in enumerate(pairs)]
        self._used = [[0] * len(rows) for rows in self._outputs]

    def _fitting(self, j: int, log: Integers) -> int:
        """The number of inputs of channel j, whose log must fit its alphabet."""
        n_inputs, n_outputs = self.alphabets[j]
        x, y = (int(n) for n in log.max(axis=0))
        if x >= n_inputs or y >= n_outputs:
            raise InputError(
                f"the trials of channel {self.keys[j]!r} must fit its alphabet of {n_inputs} inputs and"
                f" {n_outputs} outputs; they have input {x} or output {y}"
            )
        return n_inputs

    @property
    def parties(self) -> list[Party]:
        """What every channel and its letters are called."""
        return [Party.unlabelled(key, size) for key, size in zip(self.keys, self.alphabets, strict=True)]

    def __call__(self, request: Request) -> dict[int, Integers]:
        """The next trials of every (channel, input), or `OutOfSensesError` and no trial used."""
        for channel, senses in request.senses.items():
            for x, wanted in enumerate(senses):
                left = len(self._outputs[channel][x]) - self._used[channel][x]
                if wanted > left:
                    raise OutOfSensesError(
                        f"the recording has {left} more senses of input x={x} of channel {self.keys[channel]!r}, and"
                        f" the policy wants {wanted:,} ({request.total:,} in this request); the policy adaptive"
                        " wants fewer, and `estimate` makes do with what there is"
                    )
        return {channel: self._next(channel, senses) for channel, senses in request.senses.items()}

    def _next(self, channel: int, senses: tuple[int, ...]) -> Integers:
        counts = np.zeros(self.alphabets[channel], dtype=np.int64)
        for x, wanted in enumerate(senses):
            first = self._used[channel][x]
            taken = self._outputs[channel][x][first : first + wanted]
            counts[x] = np.bincount(taken, minlength=counts.shape[1])
            self._used[channel][x] += wanted
        return counts


def _pairs(log: object, where: str) -> Integers:
    pairs = numeric_array(log, where)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu" or pairs.min() < 0:
        raise InputError(f"{where} must be pairs (x, y) of whole numbers >= 0; they are {pairs.dtype} {pairs.shape}")
    return pairs.astype(np.int64)
