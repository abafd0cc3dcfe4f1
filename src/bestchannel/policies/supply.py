"""What there is to be sensed: a recording has so many trials of every input, and a user allows so many senses."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bestchannel.arrays import Floats
from bestchannel.errors import InputError

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
