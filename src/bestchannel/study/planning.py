"""Before sensing anything: what each policy would need on channels as one guesses them to be.

The senses of the paper's policies follow from its formulas, to the last one; those of Adaptive
depend on luck, and are found by simulating it. Both stand beside T* kl(δ, 1-δ), which no policy
with this promise can beat on average.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bestchannel.channels import Channel
from bestchannel.channels.sense_costs import Cost, Costs, sense_costs
from bestchannel.errors import InputError
from bestchannel.lower_bound.bound import LowerBound, lower_bound
from bestchannel.paper.complexity import expected_senses
from bestchannel.policies import Adaptive, identify
from bestchannel.progress import Progress
from bestchannel.sensing import Simulator
from bestchannel.sensing.instances import Instance
from bestchannel.study.monte_carlo import SAME

MOST_SENSES = 10**9
"""Simulated runs that would pass this many senses are given up."""


@dataclass(frozen=True)
class Need:
    """What a policy needs: the median of its runs, and what 95 % of them stay within; None where it would not end.

    `epsilon` is the accuracy that it promises, in bits. `undecided` of the simulated runs were given up. `cost` and
    `cost_q95` are the same of what the senses cost, where costs were given and runs were simulated.
    """

    policy: str
    epsilon: float
    senses: int | None
    q95: int | None
    simulated: bool
    undecided: int
    cost: float | None = None
    cost_q95: float | None = None


@dataclass(frozen=True)
class Plan:
    """The needs of all policies, and the lower bound: None with an accuracy ε, for which it is no bound."""

    delta: float
    epsilon: float
    best: str | None
    gap: float
    runs: int
    bound: LowerBound | None
    needs: tuple[Need, ...]


def plan(
    channels: Mapping[str, Channel],
    *,
    delta: float = 0.05,
    epsilon: float = 0.0,
    cost: Mapping[Any, Cost] | Sequence[Cost] | None = None,
    runs: int = 100,
    seed: int = 0,
    progress: Progress | None = None,
) -> Plan:
    """The senses that each policy would need if the channels were these.

    With `epsilon` (bits) a channel within epsilon of the best may be named. Without it the two
    PAC policies of the paper are given the gap between the two best channels as their accuracy.
    `cost` is what a sense costs, as for `lower_bound`: Adaptive then pays the least, and the bound has the least cost.
    Simulated run i draws from child i of the seed; `progress(done, total)` counts them.
    """
    if len(channels) < 2:
        raise InputError(f"a plan compares channels; it requires at least 2 of them and got {len(channels)}")
    instance = Instance.of(list(channels.values()))
    costs = None if cost is None else sense_costs(cost, list(channels), [n for n, _ in instance.alphabets])
    gap = float(np.sort(instance.gaps)[1])
    tied = gap <= SAME
    return Plan(
        delta=delta,
        epsilon=epsilon,
        best=None if tied else list(channels)[instance.best],
        gap=gap,
        runs=runs,
        bound=None if epsilon else lower_bound(channels, delta, cost=costs),
        needs=(
            _endless("adaptive")
            if tied and not epsilon
            else _adaptive(instance, delta, epsilon, costs, runs, seed, progress),
            *_of_the_paper(instance, delta, epsilon or gap, tied),
        ),
    )


def _endless(policy: str) -> Need:
    return Need(policy, 0.0, None, None, simulated=False, undecided=0)


def _adaptive(
    instance: Instance,
    delta: float,
    epsilon: float,
    costs: Costs | None,
    runs: int,
    seed: int,
    progress: Progress | None,
) -> Need:
    senses, paid, undecided = [], [], 0
    for i in range(runs):
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(i,)))
        policy = Adaptive(instance.alphabets, delta=delta, epsilon=epsilon, cost=costs)
        found = identify(Simulator(instance.channels, rng=rng), policy, max_senses=MOST_SENSES)
        senses.append(found.senses if found.decided else MOST_SENSES)
        paid.append(math.nan if found.cost is None else found.cost)
        undecided += not found.decided
        if progress:
            progress(i + 1, runs)
    middle, most = (int(q) for q in np.quantile(senses, [0.5, 0.95], method="inverted_cdf"))
    need = Need("adaptive", epsilon, middle, most, simulated=True, undecided=undecided)
    if costs is None:
        return need
    usual, high = (float(q) for q in np.quantile(paid, [0.5, 0.95], method="inverted_cdf"))
    return replace(need, cost=usual, cost_q95=high)


def _of_the_paper(instance: Instance, delta: float, accuracy: float, tied: bool) -> list[Need]:
    """Exact numbers, as long as no estimate errs."""
    if tied and accuracy <= SAME:
        return [_endless(policy) for policy in ("best-chan-id", "naive", "median")]
    needs = [_endless("best-chan-id") if tied else _formula("best-chan-id", instance, delta, None)]
    return needs + [_formula(policy, instance, delta, accuracy) for policy in ("naive", "median")]


def _formula(policy: str, instance: Instance, delta: float, epsilon: float | None) -> Need:
    gaps = instance.gaps.tolist()
    total = expected_senses(policy, gaps, instance.alphabets, delta=delta, epsilon=epsilon).total
    return Need(policy, epsilon or 0.0, total, total, simulated=False, undecided=0)
