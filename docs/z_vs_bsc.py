"""A Z-channel against a binary symmetric channel: nearly equal capacities, rows far apart [EBWGW24, Sec. VI].

The best channel is nearly a Z-channel: one input is kept but for a small `leak`, the other is flipped with probability
q. Its rival is a BSC whose capacity falls short of it by a gap that shrinks with the leak. No relabelling brings the
rows of the two together: their divergence grows without end while the gap vanishes, and no function of the gap bounds
it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from bestchannel.arrays import number_in
from bestchannel.capacity import capacity
from bestchannel.channels import Channel, binary_asymmetric, bsc
from bestchannel.information import binary_entropy, divergences_nats
from bestchannel.lower_bound.theorem4 import theorem4
from bestchannel.report.figures import BLUE, ORANGE, axes
from bestchannel.study.spec import bsc_of_capacity

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEAKS = tuple(10.0**-power for power in range(1, 11))

CAPACITY_TOLERANCE = 1e-13
"""Bits: far below the smallest gap of the default leaks."""


class ZRow(TypedDict):
    """The two channels at one leak. Capacities and gap in bits, divergence in nats.

    `divergence` is the smallest max_x D(BSC row‖Z row) over all relabellings of the BSC;
    `theorem4` is the sum of reciprocal divergences in Theorem 4, in senses per nat.
    """

    leak: float
    q: float
    p: float
    capacity_z: float
    capacity_bsc: float
    gap: float
    divergence: float
    theorem4: float


def z_vs_bsc(q: float = 0.5, leaks: Sequence[float] = LEAKS) -> list[ZRow]:
    """The comparison for each leak, the gap being that fraction of the capacity: Δ = leak · C(Z).

    >>> first, *_, last = z_vs_bsc()
    >>> last["gap"] < 1e-8 * first["gap"], last["divergence"] > 20 * first["divergence"]
    (True, True)
    """
    q = number_in(q, "q (how often the noisy input is flipped)", low=0.0, high=1.0, high_open=True)
    return [_row(q, number_in(leak, "the leak", low=0.0, high=1 - q, high_open=True)) for leak in leaks]


def _row(q: float, leak: float) -> ZRow:
    nearly_z = binary_asymmetric(leak, 1 - q)
    best = capacity(nearly_z, tol=CAPACITY_TOLERANCE).lower
    p = bsc_of_capacity(best * (1 - leak))
    rival = bsc(p)
    return ZRow(
        leak=leak,
        q=q,
        p=p,
        capacity_z=best,
        capacity_bsc=1 - binary_entropy(p),
        gap=best * leak,
        divergence=least_divergence(rival, nearly_z),
        theorem4=theorem4([nearly_z, rival], 0, 0.1).sum_lower,
    )


def least_divergence(rival: Channel, best: Channel) -> float:
    """min over relabellings of the rival of max_x D(W_rival(x)‖W_best(x)), in nats; tries them all."""
    rows, columns = (list(map(list, permutations(range(size)))) for size in rival.W.shape)
    relabelled = (rival.W[np.ix_(r, c)] for r in rows for c in columns)
    return min(max(float(divergences_nats(w[None], v)[0]) for w, v in zip(W, best.W, strict=True)) for W in relabelled)


def figure_z_vs_bsc(rows: Sequence[ZRow]) -> Figure:
    """The gap of a nearly-Z-channel and a BSC against their divergence, as the leak vanishes."""
    figure, ax = axes()
    leaks = [row["leak"] for row in rows]
    ax.plot(leaks, [row["gap"] for row in rows], color=BLUE, marker="o", label="gap of the capacities, bits")
    ax.set(xscale="log", yscale="log", xlabel="leak of the Z-channel")
    ax.invert_xaxis()
    ax.set_ylabel("gap, bits", color=BLUE)
    right = ax.twinx()
    right.plot(leaks, [row["divergence"] for row in rows], color=ORANGE, marker="s")
    right.set_ylabel("smallest relabelled divergence, nats", color="#b36b00")
    right.set_ylim(bottom=0)
    return figure
