"""The bins of one channel: into which of them a measured output falls, and what they are called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np

from bestchannel.arrays import Floats, Integers

LOWER_BOUND = "for binned outputs, whose capacity is a lower bound of that of the measured ones"
SHARED = "provided that no output decided how many senses to take"
"""What a guarantee about bins adds; the second where a share of the senses is set aside, not a number."""


@dataclass(frozen=True)
class Binning:
    """Intervals along one axis or two: bin i of an axis is edges[i - 1] <= u < edges[i], the outer ones being open.

    A point y of the plane has the coordinates u = axes · y; `axes` is None where outputs are real numbers, or points
    that are cut along their own coordinates. `set_aside` senses of the channel chose the edges and were used for
    nothing else, a share of all if `by_share`; 0 where the edges were given.
    """

    edges: tuple[tuple[float, ...], ...]
    axes: tuple[tuple[float, float], ...] | None
    set_aside: int
    by_share: bool

    @property
    def condition(self) -> str:
        """Of what a guarantee is, and on which condition."""
        return f"{LOWER_BOUND}, {SHARED}" if self.by_share else LOWER_BOUND

    def numbers(self, values: Floats) -> Integers:
        """The bin of every output; values has the shape (n, 1) or (n, 2)."""
        coordinates = values if self.axes is None else values @ np.array(self.axes).T
        bins = np.zeros(len(values), np.int64)
        for cuts, u in zip(self.edges, coordinates.T, strict=True):
            bins = bins * (len(cuts) + 1) + np.searchsorted(np.array(cuts), u, side="right")
        return bins

    def labels(self) -> tuple[str, ...]:
        """What the bins are called, in the order of their numbers: <-1, -1..0, 0..1, >=1."""
        return tuple(" ".join(parts) for parts in product(*map(_intervals, self.edges)))


def _intervals(cuts: Sequence[float]) -> list[str]:
    if not cuts:
        return ["all"]
    ends = [repr(float(cut)).removesuffix(".0") for cut in cuts]
    between = [f"{low}..{high}" for low, high in pairwise(ends)]
    return [f"<{ends[0]}", *between, f">={ends[-1]}"]
