"""What counts suggest of many channels of one size: the kernels of `policies.adaptive.view`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bestchannel.arrays import Floats, Integers
from bestchannel.native.library import FLOAT, INTEGER, POINTER, address, floats, function, integers

_smoothed_rows = function("smoothed_rows", *[INTEGER] * 2, *[POINTER] * 3)
_view = function("view", *[INTEGER] * 3, *[POINTER] * 4, FLOAT, FLOAT, *[POINTER] * 4)
_fewest = function(
    "fewest_senses", INTEGER, *[POINTER] * 4, INTEGER, POINTER, FLOAT, FLOAT, *[POINTER] * 2, returns=FLOAT
)  # fmt: skip


def smoothed_rows(counts: Integers) -> tuple[Floats, Floats]:
    """The rows [c, x, y] that counts [c, x, y] suggest, with one sense shared by all outputs; and the senses [c, x]."""
    cases, n, m = counts.shape
    W, senses = np.empty((cases, n, m)), np.empty((cases, n))
    _smoothed_rows(cases * n, m, integers(counts, cases, n, m), address(W), address(senses))
    return W, senses


class Estimates(NamedTuple):
    """Of every channel c: its value, the variance of that, the deviations of its inputs, and how to spread senses."""

    numbers: Floats  # [4, c] the value, its variance, and that times the number of senses, as leader and as rival
    deviations: Floats  # [c, x]
    shares: Floats  # [as leader or as rival, c, x]


def estimates(W: Floats, P: Floats, senses: Floats, costs: Floats, evenly: tuple[float, float]) -> Estimates:
    """For the rows W [c, x, y], and P, senses and costs of a sense [c, x]; a part of them is spread evenly."""
    cases, n, m = W.shape
    made = Estimates(np.empty((4, cases)), np.empty((cases, n)), np.empty((2, cases, n)))
    room = np.empty(n + m)
    _view(
        cases, n, m, floats(W, cases, n, m), floats(P, cases, n), floats(senses, cases, n), floats(costs, cases, n),
        *evenly, *map(address, made), address(room),
    )  # fmt: skip
    return made


def fewest_senses(
    gaps: Floats, needed: Floats, v: Floats, v_a: Floats, grid: Floats, left: float, least: float
) -> tuple[float, Floats]:
    """The fewest senses of the leader, and [a] of every rival; gaps, needed evidence and variances are [a]."""
    k, tried = len(gaps), len(grid)
    senses, room = np.empty(k), np.empty(2 * k)
    leader = _fewest(
        k, floats(gaps, k), floats(needed, k), floats(v, k), floats(v_a, k), tried, floats(grid, tried), left, least,
        address(senses), address(room),
    )  # fmt: skip
    return float(leader), senses
