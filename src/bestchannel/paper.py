"""Figures 1 and 2 of [EBWGW24]: the numbers printed there, and those of the algorithms as stated, really run.

Every printed point is a closed formula in N(ε, α, p) = ⌈4c₁ g(α)/ε² logᵖ(4 t̃(α) g(α)/ε²)⌉ with two inputs and two
outputs (nats), but not the one in the text: there p = 2, while the figures use p = 1 for both PAC algorithms and leave
MedianChanEl's schedule of ε_r and δ_r out. Two labels are corrected in the rows: `algorithm` names the formula's owner
(the legend of Figure 2 swaps the two), and `delta` is 0.6 where the legend prints 0.7.

As stated, channels are drawn, simulated and identified. Repetition i of a point draws from child (figure, …, i, …) of
one seed, as `SeedSequence.spawn` would hand it out, so every point can be run alone and comes out the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from statistics import fmean, median_low
from typing import Literal, TypedDict, get_args

import numpy as np

from bestchannel.channels import Channel
from bestchannel.information import NATS_PER_BIT
from bestchannel.intervals.paper_bounds import Rate, best_chan_id_delta, best_chan_id_epsilon, best_chan_id_senses
from bestchannel.policies import BestChanID, MedianChanEl, NaiveChanSel, Policy, identify
from bestchannel.process import Progress
from bestchannel.sensing.simulator import Instance, Simulator, child, random_binary_channels

Algorithm = Literal["naive", "median"]
BINARY = Rate(2, 2)

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

SETTINGS, PERCENTS = tuple(CANDIDATES), range(50, 100)
"""The settings of Figure 1 as (k, smallest gap in nats), and its confidences in per cent."""

SIZES = tuple(2**power for power in range(2, 11))  # the numbers of channels of Figure 2


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
        for k, gap in SETTINGS
        for percent in PERCENTS
    ]


def fig2_rows() -> list[Fig2Row]:
    """The 54 points of Figure 2: k = 4, 8, …, 1024 on six curves."""
    return [
        Fig2Row(
            algorithm=algorithm, epsilon=epsilon, delta=delta, k=k, senses=published_fig2(algorithm, epsilon, delta, k)
        )
        for algorithm, epsilon, delta in CURVES
        for k in SIZES
    ]


def published_fig1(n_channels: int, gap: float, confidence: float) -> int:
    """Total senses of one point of Figure 1, BestChanID with NaiveChanSel.

    Σ_r |C_r| (N(ε_r, δ_r, 2) + N(ε_r/2, δ_r/(2|C_r|), 1)) [EBWGW24, Fig. 1].

    >>> published_fig1(10, 0.13, 0.99)
    7987161740
    """
    # 1 - 0.99 is not the double nearest to 0.01, and confidences have two digits.
    delta = round(1 - confidence, 2)
    senses = 0
    for r, size in enumerate(CANDIDATES[n_channels, gap], start=1):
        epsilon, alpha = best_chan_id_epsilon(r) / 2, best_chan_id_delta(r, delta) / (2 * size)
        senses += size * (best_chan_id_senses(r, delta, BINARY) + BINARY.round_senses(epsilon, alpha, log_power=1))
    return senses


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


PAC = {"naive": NaiveChanSel, "median": MedianChanEl}


class Repeated(TypedDict):
    """What several runs of one point say.

    `senses` is the median, a number that occurred; `wrong` counts the runs that named a channel other than the best,
    in Figure 2 one that is more than ε worse.
    """

    senses: int
    runs: int
    wrong: int
    seed_mean: float
    fewest: int
    most: int


class StatedFig1Row(Fig1Row, Repeated):
    """One point of Figure 1 over several instances."""


class StatedFig2Row(Fig2Row, Repeated):
    """One point of Figure 2 over several instances."""


def stated_fig1(seed: int, *, seeds: int = 3, progress: Progress | None = None) -> list[StatedFig1Row]:
    """BestChanID with NaiveChanSel at the 200 points of Figure 1, `seeds` instances for each setting.

    `progress(done, total)` is called after every point.
    """
    rows = []
    for setting, (k, gap) in enumerate(SETTINGS):
        instances = [random_binary_channels(child(seed, 1, setting, i), k, gap) for i in range(seeds)]
        for point, percent in enumerate(PERCENTS):
            runs = _runs(
                instances,
                partial(BestChanID, delta=(100 - percent) / 100),
                [child(seed, 1, setting, i, point) for i in range(seeds)],
                allowed_nats=0.0,
            )
            rows.append(StatedFig1Row(k=k, gap=gap, confidence=percent / 100, **runs))
            if progress:
                progress(len(rows), len(SETTINGS) * len(PERCENTS))
    return rows


def stated_fig2(seed: int, *, seeds: int = 3, progress: Progress | None = None) -> list[StatedFig2Row]:
    """NaiveChanSel and MedianChanEl at the 54 points of Figure 2, on `seeds` instances for each k.

    All curves meet the same channels. δ is 0.6 where the paper prints 0.7, so that the rows can be set beside the
    published ones. `progress(done, total)` is called after every point.
    """
    rows: dict[tuple[str, float, float, int], StatedFig2Row] = {}
    for size, k in enumerate(SIZES):
        drawn = [child(seed, 2, size, i).dirichlet([1.0, 1.0], size=(k, 2)) for i in range(seeds)]
        instances = [Instance.of(map(Channel.from_rows, channels)) for channels in drawn]
        for number, (algorithm, epsilon, delta) in enumerate(CURVES):
            runs = _runs(
                instances,
                partial(PAC[algorithm], epsilon=epsilon / NATS_PER_BIT, delta=delta),
                [child(seed, 2, size, i, number) for i in range(seeds)],
                allowed_nats=epsilon,
            )
            row = StatedFig2Row(algorithm=algorithm, epsilon=epsilon, delta=delta, k=k, **runs)
            rows[algorithm, epsilon, delta, k] = row
            if progress:
                progress(len(rows), len(SIZES) * len(CURVES))
    return [rows[*curve, k] for curve in CURVES for k in SIZES]


def _runs(
    instances: Sequence[Instance],
    policy_for: Callable[[Sequence[tuple[int, int]]], Policy],
    generators: Sequence[np.random.Generator],
    *,
    allowed_nats: float,
) -> Repeated:
    """What the policy comes to on each instance, where naming a channel so much worse than the best is right."""
    senses, wrong = [], 0
    for instance, rng in zip(instances, generators, strict=True):
        result = identify(Simulator(instance.channels, rng=rng), policy_for(instance.alphabets))
        senses.append(result.senses)
        wrong += bool(float(instance.gaps[result.best]) * NATS_PER_BIT > allowed_nats)
    return Repeated(
        senses=median_low(senses),
        runs=len(senses),
        wrong=wrong,
        seed_mean=fmean(senses),
        fewest=min(senses),
        most=max(senses),
    )
