"""The numbers printed in Figures 1 and 2 of [EBWGW24], from the formulas that generate them.

Every point of both figures is a closed formula in
N(ε, α, p) = ⌈4c₁ g(α)/ε² logᵖ(4 t̃(α) g(α)/ε²)⌉ with two inputs and two outputs (nats), but
not the one in the text: there p = 2, while the figures use p = 1 for both PAC algorithms
and leave MedianChanEl's schedule of ε_r and δ_r out. Two labels are corrected in the rows:
`algorithm` names the formula's owner (the legend of Figure 2 swaps the two), and `delta`
is 0.6 where the legend prints 0.7.
"""

from __future__ import annotations

from functools import partial
from itertools import count
from typing import Literal, TypedDict, get_args

from bestchannel.errors import InputError
from bestchannel.intervals.paper_bounds import best_chan_id_delta, best_chan_id_epsilon, best_chan_id_senses
from bestchannel.paper.complexity import BINARY

Algorithm = Literal["naive", "median"]

CANDIDATES = {(10, 0.13): (10,), (20, 0.13): (20,), (10, 0.08): (10, 3), (20, 0.08): (20, 2)}
"""How many channels each round of Figure 1 starts with, by (k, gap in nats).

A gap above ε₁ = 1/8 nat ends the identification in its first round; with the smaller gap
the channels within ε₁ of the best one go on to a second.
"""

CURVES: tuple[tuple[Algorithm, float, float], ...] = (
    ("median", 0.1, 0.1),
    ("naive", 0.1, 0.1),
    ("median", 0.1, 0.6),
    ("naive", 0.1, 0.6),
    ("median", 0.3, 0.1),
    ("naive", 0.3, 0.1),
)
"""The curves of Figure 2 as (algorithm, ε in nats, δ), in the order in which they are drawn."""


class Fig1Row(TypedDict):
    """One point of Figure 1: k channels, smallest gap in nats, confidence 1-δ, total senses."""

    k: int
    gap: float
    confidence: float
    senses: int


class Fig2Row(TypedDict):
    """One point of Figure 2: whose formula, ε in nats, δ, k channels, total senses."""

    algorithm: Algorithm
    epsilon: float
    delta: float
    k: int
    senses: int


def fig1_rows() -> list[Fig1Row]:
    """The 200 points of Figure 1: confidence 0.50, 0.51, …, 0.99 in four settings."""
    return [
        Fig1Row(k=k, gap=gap, confidence=percent / 100, senses=published_fig1(k, gap, percent / 100))
        for k, gap in CANDIDATES
        for percent in range(50, 100)
    ]


def fig2_rows() -> list[Fig2Row]:
    """The 54 points of Figure 2: k = 4, 8, …, 1024 on six curves."""
    return [
        Fig2Row(
            algorithm=algorithm, epsilon=epsilon, delta=delta, k=k, senses=published_fig2(algorithm, epsilon, delta, k)
        )
        for algorithm, epsilon, delta in CURVES
        for k in (2**power for power in range(2, 11))
    ]


def published_fig1(n_channels: int, gap: float, confidence: float) -> int:
    """Total senses of one point of Figure 1, BestChanID with NaiveChanSel.

    Σ_r |C_r| (N(ε_r, δ_r, 2) + N(ε_r/2, δ_r/(2|C_r|), 1)) [EBWGW24, Fig. 1].

    >>> published_fig1(10, 0.13, 0.99)
    7987161740
    """
    try:
        candidates = CANDIDATES[n_channels, gap]
    except KeyError:
        raise InputError(
            f"Figure 1 has no setting of {n_channels} channels with gap {gap:g}; its (k, gap) are {list(CANDIDATES)}"
        ) from None
    # 1 - 0.99 is not the double nearest to 0.01, and confidences have two digits.
    delta = round(1 - confidence, 2)
    return sum(_fig1_round(r, size, delta) for r, size in enumerate(candidates, start=1))


def _fig1_round(r: int, size: int, delta: float) -> int:
    """|C_r| (N(ε_r, δ_r, 2) + N(ε_r/2, δ_r/(2|C_r|), 1))."""
    epsilon, alpha = best_chan_id_epsilon(r) / 2, best_chan_id_delta(r, delta) / (2 * size)
    return size * (best_chan_id_senses(r, delta, BINARY) + BINARY.round_senses(epsilon, alpha, log_power=1))


def published_fig2(algorithm: Algorithm, epsilon: float, delta: float, n_channels: int) -> int:
    """Total senses of one point of Figure 2.

    k N(ε, δ/(2k), 1) for NaiveChanSel, 2(k-1) N(ε, δ/3, 1) for MedianChanEl [EBWGW24, Fig. 2].

    >>> published_fig2("median", 0.1, 0.1, 4)
    178708122
    """
    if algorithm == "naive":
        return n_channels * BINARY.round_senses(epsilon, delta / (2 * n_channels), log_power=1)
    # k + k/2 + … + 2 = 2(k-1) estimates: the candidates halve, ε and δ stay.
    return 2 * (n_channels - 1) * BINARY.round_senses(epsilon, delta / 3, log_power=1)


def published_break_even(epsilon: float, delta: float) -> int:
    """The smallest k > 2 at which the formula published for MedianChanEl gives no more than that for NaiveChanSel.

    At k = 2 both have two estimates to make, and MedianChanEl's share of δ is the larger one.

    >>> published_break_even(0.1, 0.1)
    57
    """
    naive, median = (partial(published_fig2, name, epsilon, delta) for name in get_args(Algorithm))
    return next(k for k in count(3) if median(k) <= naive(k))
