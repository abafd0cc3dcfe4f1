"""The figures as the text describes them: real runs, repeatable one by one."""

import math

import numpy as np
import pytest

from bestchannel import BestChanID, MedianChanEl, Simulator, identify
from bestchannel.paper import CURVES, stated_fig1, stated_fig2
from bestchannel.sensing.simulator import random_binary_channels
from bestchannel.study.planning import expected_senses


def child_of_7(*path):
    return np.random.default_rng(np.random.SeedSequence(7, spawn_key=path))


@pytest.fixture(scope="module")
def fig1():
    return {(row["k"], row["gap"], row["confidence"]): row for row in stated_fig1(7, seeds=2)}


@pytest.fixture(scope="module")
def fig2():
    return {(row["algorithm"], row["epsilon"], row["delta"], row["k"]): row for row in stated_fig2(7, seeds=1)}


def test_figure_1_has_200_points_and_names_the_best_channel_at_each(fig1):
    assert len(fig1) == 200
    assert {row["runs"] for row in fig1.values()} == {2}
    # δ is at most 0.5 and the estimates are 30 times more precise than promised: an error would be a fault.
    assert sum(row["wrong"] for row in fig1.values()) == 0


def test_figure_1_costs_what_the_gaps_of_its_instances_demand(fig1):
    for setting, (k, gap) in enumerate([(10, 0.13), (20, 0.13), (10, 0.08), (20, 0.08)]):
        # Child (1, setting, i) of the seed draws instance i.
        children = np.random.SeedSequence(7).spawn(2)[1].spawn(4)[setting].spawn(2)
        instances = [random_binary_channels(np.random.default_rng(child), k, gap) for child in children]
        costs = [
            expected_senses("best-chan-id", instance.gaps, instance.alphabets, delta=0.05) for instance in instances
        ]
        row = fig1[k, gap, 0.95]
        assert (row["fewest"], row["most"], row["seed_mean"]) == (min(costs), max(costs), sum(costs) / 2)
        assert row["senses"] == min(costs)


def test_figure_1_with_gap_above_one_eighth_nat_ends_after_one_round(fig1):
    # [EBWGW24, Alg. 1 and 2] by hand: k (2⌈N(1/8, δ/50)/2⌉ + 2⌈N(1/16, δ/(100k))/2⌉) at δ = 0.1.
    def n(epsilon, alpha):
        g = 16 * math.log(2 / alpha)
        t = 6.25 * (math.e**2 / math.log(2 / alpha)) ** 0.2
        return 2 * math.ceil(375 * g / epsilon**2 * math.log(4 * t * g / epsilon**2) ** 2 / 2)

    for k in (10, 20):
        assert fig1[k, 0.13, 0.9]["senses"] == k * (n(1 / 8, 0.1 / 50) + n(1 / 16, 0.1 / (100 * k)))


def test_a_point_of_figure_1_comes_out_the_same_alone(fig1):
    # children (1, setting, i) and (1, setting, i, point) of the seed draw the channels and the senses
    instances = [random_binary_channels(child_of_7(1, 3, i), 20, 0.08) for i in range(2)]
    policies = [BestChanID(instance.alphabets, delta=0.23) for instance in instances]
    sensors = [Simulator(instance.channels, rng=child_of_7(1, 3, i, 27)) for i, instance in enumerate(instances)]
    senses = [identify(*pair).senses for pair in zip(sensors, policies, strict=True)]
    row = fig1[20, 0.08, 0.77]
    assert (row["fewest"], row["most"], row["seed_mean"]) == (min(senses), max(senses), sum(senses) / 2)


def test_figure_2_has_54_points_and_costs_what_the_algorithms_demand(fig2):
    assert list(fig2) == [(*curve, 2**power) for curve in CURVES for power in range(2, 11)]
    for (algorithm, epsilon, delta, k), row in fig2.items():
        gaps, bits = [0, *[0.1] * (k - 1)], epsilon / math.log(2)
        assert row["senses"] == expected_senses(algorithm, gaps, [(2, 2)] * k, delta=delta, epsilon=bits)
        assert (row["runs"], row["wrong"]) == (1, 0)


def test_a_point_of_figure_2_comes_out_the_same_alone(fig2):
    sensor = Simulator(child_of_7(2, 3, 0).dirichlet([1.0, 1.0], size=(32, 2)), rng=child_of_7(2, 3, 0, 4))
    policy = MedianChanEl(sensor.alphabets, epsilon=0.3 / math.log(2), delta=0.1)
    assert identify(sensor, policy).senses == fig2["median", 0.3, 0.1, 32]["senses"]


def test_another_seed_draws_other_channels(fig1):
    other = {(row["k"], row["gap"], row["confidence"]): row for row in stated_fig1(8, seeds=1)}
    assert {point: row["senses"] for point, row in other.items()} != {p: row["senses"] for p, row in fig1.items()}


def test_progress_counts_the_points():
    seen = []
    stated_fig2(1, seeds=1, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(done, 54) for done in range(1, 55)]
