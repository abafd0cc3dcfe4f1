"""What counts suggest of many channels of one size: the kernels of `policies.adaptive.view`."""

from __future__ import annotations

import ctypes
from typing import NamedTuple

from bestchannel.arrays import Floats, Integers
from bestchannel.native.library import Kernel

_smoothed_rows = Kernel("smoothed_rows", "* m counts[*m]i8 added. >W[*m] >senses[*]")
_likeliest = Kernel("likeliest_addition", "* m counts[*m]i8 g grid[g]", ctypes.c_double, positive="g")
_view = Kernel(
    "view",
    "c n m W[cnm] P[cn] senses[cn] costs[cn] on_leader. on_rival. >numbers[4c] >deviations[cn] >shares[2cn] >space[s]",
)
_fewest = Kernel(
    "fewest_senses",
    "k gaps[k] needed[k] v[k] v_a[k] g grid[g] left. least. >senses[k] >space[2k]",
    ctypes.c_double,
    positive="k",
)


def smoothed_rows(counts: Integers, added: float) -> tuple[Floats, Floats]:
    """The rows [c, x, y] that counts [c, x, y] suggest, with so much added to each; and the senses [c, x]."""
    W, senses = _smoothed_rows(counts, added)
    return W, senses


def likeliest_addition(counts: Integers, grid: Floats) -> float:
    """The one that should be added to counts [c, x, y] of all these channels: by leaving out one sense at a time."""
    added: float = _likeliest(counts, grid)
    return added


class Estimates(NamedTuple):
    """Of every channel c: its value, the variance of that, the deviations of its inputs, and how to spread senses."""

    numbers: Floats  # [4, c] the value, its variance, and that times the number of senses, as leader and as rival
    deviations: Floats  # [c, x]
    shares: Floats  # [as leader or as rival, c, x]


def estimates(W: Floats, P: Floats, senses: Floats, costs: Floats, evenly: tuple[float, float]) -> Estimates:
    """For the rows W [c, x, y], and P, senses and costs of a sense [c, x]; a part of them is spread evenly."""
    return Estimates(*_view(W, P, senses, costs, *evenly, s=W.shape[1] + W.shape[2])[:3])


def fewest_senses(
    gaps: Floats, needed: Floats, v: Floats, v_a: Floats, grid: Floats, left: float, least: float
) -> tuple[float, Floats]:
    """The fewest senses of the leader, and [a] of every rival; gaps, needed evidence and variances are [a]."""
    leader, senses, _ = _fewest(gaps, needed, v, v_a, grid, left, least)
    return leader, senses
