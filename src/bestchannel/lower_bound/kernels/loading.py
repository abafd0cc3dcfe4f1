"""The compiled kernels of the characteristic time, loaded at first use."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from bestchannel.arrays import Floats
from bestchannel.capacity.capacity_kernels import announced


class Kernels(NamedTuple):
    """The modules that import numba and that others call."""

    leader: ModuleType
    pairs: ModuleType
    cells: ModuleType
    tree: ModuleType


@functools.cache
def load() -> Kernels:
    """The kernels, compiled on first use and cached on disk."""
    with announced(seconds=30):
        from bestchannel.lower_bound.kernels import box_bound, branch_and_bound, leader_cost, pair_search

        _compile(kernels := Kernels(leader_cost, pair_search, box_bound, branch_and_bound))
    return kernels


def _compile(kernels: Kernels) -> None:
    """Call every entry once: numba compiles for the types that it meets."""
    P, w, u, v = np.array([[0.5, 0.5], [0.5, 0.5], [0.9, 0.1], [0.8, 0.2]])
    W_b, W_a = np.array([u, u[::-1]]), np.array([v, v[::-1]])
    leader, rival = new_side(kernels, W_b, w), new_side(kernels, W_a, w)
    kernels.pairs.search_pair(leader, rival, 0.1, W_b.copy(), P.copy(), W_a.copy(), P.copy(), 1, 1e-3)
    curve = kernels.leader.new_curve(leader, np.array([0.01, 1.0]))
    kernels.leader.fill_curve(curve, W_b.copy(), P.copy(), 1, 1e-3)
    cells, desk = kernels.cells.new_cells(2, 2, 2), kernels.cells.new_desk(2, 2)
    kernels.tree.certify(rival, curve, cells, desk, 0.1, P.copy(), 0.01, False)


def new_side(kernels: Kernels, W: Floats, w: Floats) -> Any:
    """The rows W with the weights w, as the kernels want them."""
    # an entry p adds at most p log 1/p to a divergence: below 1e-18 less than the rounding of the others
    a = np.ascontiguousarray(np.where(W > 1e-18, W, 0.0) * w[:, None])
    base = float(np.sum(a[a > 0.0] * np.log(W[a > 0.0])))
    return kernels.leader.Side(a, np.ascontiguousarray(w, dtype=np.float64), base)
