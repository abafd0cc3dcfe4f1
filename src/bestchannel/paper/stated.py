"""Figures 1 and 2 of [EBWGW24] as its text describes them: the algorithms as stated, really run.

Channels are drawn, simulated and identified; the senses are those that the policies asked for. Repetition i of a point
draws from child (figure, …, i, …) of one seed, as `SeedSequence.spawn` would hand it out, so every point can be run
alone and comes out the same. `published` has the numbers that the paper prints.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean, median_low
from typing import TypedDict

import numpy as np

from bestchannel.channels import Channel
from bestchannel.errors import InputError
from bestchannel.information import NATS_PER_BIT
from bestchannel.paper.published import CANDIDATES, CURVES, Algorithm, Fig1Row, Fig2Row
from bestchannel.policies import BestChanID, MedianChanEl, NaiveChanSel, Policy, identify
from bestchannel.process import Progress
from bestchannel.sensing.simulator import Instance, Simulator, random_binary_channels

SETTINGS = tuple(CANDIDATES)
"""The four settings of Figure 1 as (k, smallest gap in nats)."""

PERCENTS = range(50, 100)
"""The confidences of Figure 1, in per cent."""

SIZES = tuple(2**power for power in range(2, 11))
"""The numbers of channels of Figure 2."""

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
    for k, gap in SETTINGS:
        instances = _fig1_instances(seed, k, gap, _checked(seeds))
        for percent in PERCENTS:
            rows.append(_fig1_row(seed, k, gap, percent, instances))
            if progress:
                progress(len(rows), len(SETTINGS) * len(PERCENTS))
    return rows


def _fig1_instances(seed: int, k: int, gap: float, seeds: int) -> list[Instance]:
    setting = SETTINGS.index((k, gap))
    return [random_binary_channels(_child(seed, 1, setting, i), k, gap) for i in range(seeds)]


def _fig1_row(seed: int, k: int, gap: float, percent: int, instances: list[Instance]) -> StatedFig1Row:
    setting, point = SETTINGS.index((k, gap)), PERCENTS.index(percent)
    runs = _runs(
        instances,
        lambda instance: BestChanID(instance.alphabets, delta=(100 - percent) / 100),
        [_child(seed, 1, setting, i, point) for i in range(len(instances))],
        allowed_nats=0.0,
    )
    return StatedFig1Row(k=k, gap=gap, confidence=percent / 100, **runs)


def stated_fig2(seed: int, *, seeds: int = 3, progress: Progress | None = None) -> list[StatedFig2Row]:
    """NaiveChanSel and MedianChanEl at the 54 points of Figure 2, on `seeds` instances for each k.

    All curves meet the same channels. δ is 0.6 where the paper prints 0.7, so that the rows can be set beside the
    published ones. `progress(done, total)` is called after every point.
    """
    rows: dict[tuple[str, float, float, int], StatedFig2Row] = {}
    for k in SIZES:
        instances = _fig2_instances(seed, k, _checked(seeds))
        for curve in CURVES:
            rows[*curve, k] = _fig2_row(seed, *curve, k, instances)
            if progress:
                progress(len(rows), len(SIZES) * len(CURVES))
    return [rows[*curve, k] for curve in CURVES for k in SIZES]


def _fig2_instances(seed: int, k: int, seeds: int) -> list[Instance]:
    size = SIZES.index(k)
    drawn = [_child(seed, 2, size, i).dirichlet([1.0, 1.0], size=(k, 2)) for i in range(seeds)]
    return [Instance.of(map(Channel.from_rows, rows)) for rows in drawn]


def _fig2_row(
    seed: int, algorithm: Algorithm, epsilon: float, delta: float, k: int, instances: list[Instance]
) -> StatedFig2Row:
    size, curve = SIZES.index(k), CURVES.index((algorithm, epsilon, delta))
    runs = _runs(
        instances,
        lambda instance: PAC[algorithm](instance.alphabets, epsilon=epsilon / NATS_PER_BIT, delta=delta),
        [_child(seed, 2, size, i, curve) for i in range(len(instances))],
        allowed_nats=epsilon,
    )
    return StatedFig2Row(algorithm=algorithm, epsilon=epsilon, delta=delta, k=k, **runs)


def _runs(
    instances: Sequence[Instance],
    policy_for: Callable[[Instance], Policy],
    generators: Sequence[np.random.Generator],
    *,
    allowed_nats: float,
) -> Repeated:
    """What the policy comes to on each instance, where naming a channel so much worse than the best is right."""
    senses, wrong = [], 0
    for instance, rng in zip(instances, generators, strict=True):
        result = identify(Simulator(instance.channels, rng=rng), policy_for(instance))
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


def _child(seed: int, *path: int) -> np.random.Generator:
    """The generator of descendant `path` of the seed."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=path))


def _checked(seeds: int) -> int:
    if isinstance(seeds, bool) or not isinstance(seeds, int) or seeds < 1:
        raise InputError(f"seeds (instances for each point) must be a whole number >= 1; it is {seeds!r}")
    return seeds
