"""What a policy asks to be sensed, and what came back; and what there is to be sensed.

A recording has so many trials of every input, and a user allows so many senses: that is a `Supply`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bestchannel.arrays import Floats, FrozenMapping, Integers, numeric_array
from bestchannel.display import Valued
from bestchannel.errors import InputError
from bestchannel.promises import several

Asked = Mapping[int, tuple[int, ...]]


@dataclass(frozen=True)
class Supply:
    """At most `total` senses in all, and `each[channel][x]` of every input of every channel; None sets no limit.

    >>> supply = Supply(total=10, each=((4, 9), (20, 20)))
    >>> supply.cut({0: (6, 6), 1: (6, 6)})
    {0: (2, 3), 1: (3, 2)}
    """

    total: int | None = None
    each: tuple[tuple[int, ...], ...] | None = None

    def less(self, sensed: Sequence[Sequence[int]], total: int) -> Supply:
        """What is left after so many senses of every input of every channel, and in all; never less than nothing."""
        total_left = None if self.total is None else max(self.total - total, 0)
        if self.each is None:
            return Supply(total_left)
        pairs = zip(self.each, sensed, strict=True)
        return Supply(total_left, tuple(tuple(max(n - m, 0) for n, m in zip(*rows, strict=True)) for rows in pairs))

    def of_shots(self, channels: Iterable[int]) -> Supply:
        """What is left of shots that these channels answer together: `each` has one entry, of the least."""
        if self.each is None:
            return self
        return Supply(self.total, (tuple(np.min([self.each[c] for c in channels], axis=0).tolist()),))

    def has(self, channel: int) -> bool:
        """Whether there is something left of every input of a channel."""
        return self.total != 0 and (self.each is None or all(self.each[channel]))

    def of(self, channel: int) -> float:
        """How many senses are left of a channel, whichever inputs; infinity where nothing limits them."""
        return math.inf if self.each is None else float(sum(self.each[channel]))

    @property
    def senses(self) -> float:
        """How many senses are left in all; infinity where nothing limits them."""
        recorded = math.inf if self.each is None else float(sum(map(sum, self.each)))
        return recorded if self.total is None else min(float(self.total), recorded)

    def within(self, channels: Sequence[int], wanted: Floats) -> Floats:
        """The senses wanted [c, x] of every input of channels of one size, as far as there are as many."""
        return wanted if self.each is None else np.minimum(wanted, [self.each[channel] for channel in channels])

    def cut(self, senses: Asked) -> dict[int, tuple[int, ...]]:
        """The senses of a request as far as there are as many; channels of which none are left over go."""
        each = self.each
        if each is not None:
            senses = {c: tuple(map(min, wanted, each[c])) for c, wanted in senses.items()}
        if self.total is not None and sum(map(sum, senses.values())) > self.total:
            senses = _shared(self.total, senses)
        return {channel: wanted for channel, wanted in senses.items() if any(wanted)}

    def refuse_other(self, alphabets: Sequence[tuple[int, int]]) -> None:
        """Refuse numbers that are none, or that belong to other channels."""
        numbers = [n for rows in (self.each or ()) for n in rows] + ([] if self.total is None else [self.total])
        sizes = None if self.each is None else [len(rows) for rows in self.each]
        if not all(type(n) is int and n >= 0 for n in numbers) or sizes not in (None, [n for n, _ in alphabets]):
            raise InputError(
                "what is left must be a whole number >= 0 of senses in all, and one for every input of every channel;"
                f" it is {str(self)[:200]}"
            )


def _shared(total: int, senses: Asked) -> dict[int, tuple[int, ...]]:
    """So many senses, shared out in proportion: rounded down, and the largest remainders up."""
    places = [(channel, x) for channel, wanted in senses.items() for x in range(len(wanted))]
    whole = sum(map(sum, senses.values()))
    parts = {(c, x): divmod(senses[c][x] * total, whole) for c, x in places}
    missing = total - sum(part for part, _ in parts.values())
    raised = set(sorted(places, key=lambda place: -parts[place][1])[:missing])
    return {c: tuple(parts[c, x][0] + ((c, x) in raised) for x in range(len(wanted))) for c, wanted in senses.items()}


MOST_SENSES = 2**63 - 1
"""Senses of one (channel, input) in one request: counts are 64-bit integers."""


@dataclass(frozen=True)
class Request:
    """How often to sense each input of some channels: input x of channel j senses[j][x] times.

    A request is answered as a whole, by an `Observation`; a policy makes it and a sensor reads it. Where `paired` names
    one of the channels, what is asked for are shots: each is one input that all channels of the request answer at once.

    Parameters
    ----------
    number
        Its place among the requests of the policy, from 1.
    senses
        For the number j of each channel that is sensed, a whole number of senses of each of its inputs.
    paired
        Of shots, the channel whose answers are counted together with those of every other; all are sensed alike.

    Examples
    --------
    >>> request = Request(1, {0: (6, 6), 2: (4, 0)})
    >>> request.total
    16
    >>> print(request)
    request 1: channel 0: 6, 6; channel 2: 4, 0
    >>> shots = Request(2, {0: (8, 9), 1: (8, 9)}, paired=1)
    >>> shots.total
    17
    >>> print(shots)
    request 2: shots of 8, 9 by channel 0, 1, paired with channel 1
    """

    number: int
    senses: Mapping[int, tuple[int, ...]]
    paired: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "senses", FrozenMapping(self.senses))

    @property
    def total(self) -> int:
        """All senses of the request; where it asks for shots, how many."""
        return sum(map(sum, self.senses.values())) if self.paired is None else sum(self.senses[self.paired])

    def __str__(self) -> str:
        if self.paired is not None:
            shots, channels = (", ".join(map(str, each)) for each in (self.senses[self.paired], self.senses))
            return f"request {self.number}: shots of {shots} by channel {channels}, paired with channel {self.paired}"
        asked = (f"channel {j}: {', '.join(map(str, senses))}" for j, senses in self.senses.items())
        return f"request {self.number}: {'; '.join(asked)}"


@dataclass(frozen=True, eq=False)
class Observation(Valued):
    """The answer to a request: counts[j][x, y] of the senses of input x of channel j gave output y.

    Parameters
    ----------
    request
        The number of the request that is answered.
    counts
        For the number of each channel that was asked for, whole numbers of shape (n_inputs, n_outputs) whose rows add
        up to the senses asked for. Of shots, that of the channel b they are paired with; of every other channel pairs
        of answers, [x, y of b, y].

    Examples
    --------
    >>> print(Observation(1, {0: np.array([[5, 1], [0, 6]])}))
    answer to request 1: channel 0: [[5, 1], [0, 6]]
    """

    request: int
    counts: Mapping[int, Integers]

    def __str__(self) -> str:
        told = (f"channel {j}: {np.asarray(table).tolist()}" for j, table in self.counts.items())
        return f"answer to request {self.request}: {'; '.join(told)}"


def checked_counts(
    request: Request, observation: Observation, alphabets: Sequence[tuple[int, int]]
) -> dict[int, Integers]:
    """The counts of an observation that answers the request, or an `InputError` that says why it does not."""
    if not isinstance(observation, Observation) or not isinstance(observation.counts, Mapping):
        raise InputError(
            f"request {request.number} requires an Observation with counts by channel; got {observation!r}"
        )
    if observation.request != request.number:
        raise InputError(f"request {request.number} is open; the observation answers request {observation.request}")
    asked = dict(request.senses)
    if asked.keys() != observation.counts.keys():
        missing = [channel for channel in asked if channel not in observation.counts]
        foreign = [channel for channel in observation.counts if channel not in asked]
        what = f"misses channel {missing[0]}" if missing else f"has channel {foreign[0]}, which was not asked for"
        raise InputError(f"the answer to request {request.number} {what}")
    counts = {
        channel: _checked_table(
            observation.counts[channel], senses, told_shape(request, channel, alphabets), channel, request.number
        )
        for channel, senses in asked.items()
    }
    for channel, table in counts.items():
        if table.ndim == 3 and request.paired is not None and (table.sum(axis=2) != counts[request.paired]).any():
            raise InputError(
                f"the pairs of channel {channel} in the answer to request {request.number} must have the answers of"
                f" channel {request.paired} as that channel's own counts have them; they have others"
            )
    return counts


def told_shape(request: Request, channel: int, alphabets: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    """Of the counts that tell of a channel: [x, y], and of one that is told in pairs [x, y of `paired`, y]."""
    n_inputs, n_outputs = alphabets[channel]
    if request.paired is None or channel == request.paired:
        return n_inputs, n_outputs
    return n_inputs, alphabets[request.paired][1], n_outputs


def told(
    request: Request, alphabets: Sequence[tuple[int, int]], answers: Iterable[tuple[int, Mapping[int, Any]]]
) -> dict[int, Integers]:
    """The counts that answer a request: of an input x some outputs by channel, of shots of all."""
    counts = {j: np.zeros(told_shape(request, j, alphabets), dtype=np.int64) for j in request.senses}
    b = request.paired
    for x, outputs in answers:
        for j, y in outputs.items():
            np.add.at(counts[j][x], y if b in (None, j) else (outputs[b], y), 1)
    return counts


def marginals(counts: Mapping[int, Any]) -> dict[int, Any]:
    """counts[x, y] of every channel, also of those that were told in pairs."""
    return {channel: table.sum(axis=1) if table.ndim == 3 else table for channel, table in counts.items()}


def _checked_table(
    counts: object, senses: tuple[int, ...], shape: tuple[int, ...], channel: int, number: int
) -> Integers:
    table = counts if type(counts) is np.ndarray else numeric_array(counts, _counts_of(channel, number))
    if table.shape == shape and table.dtype.kind in "iu":
        rows = table.reshape(len(table), -1).tolist()
        if [*map(sum, rows)] == [*senses] and min(map(min, rows)) >= 0:
            return table.astype(np.int64)
    raise _refused_table(table, senses, shape, _counts_of(channel, number))


def _counts_of(channel: int, number: int) -> str:
    return f"the counts of channel {channel} in the answer to request {number}"


def _refused_table(table: Integers, senses: tuple[int, ...], shape: tuple[int, ...], where: str) -> InputError:
    """Why such counts of a channel are no answer."""
    numeric_array(table, where)
    if table.shape != shape or table.dtype.kind not in "iu":
        wanted = f"{' x '.join(map(str, shape))} whole numbers"
        return InputError(f"{where} must be {wanted}; they are {table.dtype} of shape {table.shape}")
    if table.min() < 0:
        x, *y = np.argwhere(table < 0)[0].tolist()
        letters = f"output y={y[-1]}" if len(y) == 1 else f"the outputs {y[0]} and {y[1]}"
        return InputError(f"{where} must not be negative; input x={x} with {letters} has {table[x, *y]}")
    sums = [sum(row) for row in table.reshape(len(table), -1).tolist()]
    x = next(x for x, (total, asked) in enumerate(zip(sums, senses, strict=True)) if total != asked)
    return InputError(
        f"{where} must add up to {several(senses[x], 'sense')} of input x={x}; they add up to {sums[x]:,}"
    )
