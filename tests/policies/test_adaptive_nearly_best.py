"""How near to the best a channel is proved to be at any time of a run."""

import math

import numpy as np
import pytest

import bestchannel as bc
from bestchannel.channels import bsc, q_ary_symmetric
from bestchannel.information import NATS_PER_BIT
from bestchannel.policies.adaptive.state import Missing, nearest_to_best
from bestchannel.promises import rounded_up

ONE_BIT = math.log(2.0)


def run(channels, limit, seed=1, **options):
    sensor = bc.Simulator(channels, rng=seed)
    policy = bc.Adaptive(sensor.alphabets, **{"delta": 0.05, **options})
    return policy, bc.identify(sensor, policy, max_senses=limit)


def test_bound_is_the_largest_over_the_rivals_of_what_is_missing_by_the_weight():
    missing = [Missing(1, 3.0, {0: 30.0}), Missing(2, 2.0, {0: 40.0})]
    found = nearest_to_best(missing, [ONE_BIT] * 3, (0, 1, 2), leader=0)
    assert found.channel == 0
    assert found.within_bits == pytest.approx(0.1 / NATS_PER_BIT)


def test_best_of_several_accounts_against_a_rival_counts():
    missing = [Missing(1, 3.0, {0: 30.0}), Missing(1, 5.0, {0: 100.0})]
    assert nearest_to_best(missing, [ONE_BIT] * 2, (0, 1), leader=0).within_bits == pytest.approx(0.05 / NATS_PER_BIT)


def test_bets_on_another_leader_say_nothing_of_this_one():
    found = nearest_to_best(
        [Missing(1, 3.0, {2: 100.0}), Missing(0, 3.0, {2: 50.0})], [ONE_BIT] * 3, (0, 1, 2), leader=0
    )
    assert found.channel == 2


def test_rival_that_is_ruled_out_is_not_counted_whoever_led():
    missing = [Missing(1, 0.0, {0: 1.0}), Missing(0, 3.0, {2: 50.0})]
    assert nearest_to_best(missing, [ONE_BIT] * 3, (0, 2), leader=0).channel == 2


def test_nothing_is_said_that_follows_from_the_alphabets():
    assert nearest_to_best([], [ONE_BIT] * 2, (0, 1), leader=0) is None


@pytest.mark.parametrize("options", [{}, {"epsilon": 0.01}, {"input_distribution": [0.4, 0.6]}])
def test_undecided_run_says_how_near_to_the_best_a_channel_is(options):
    _, result = run([bsc(0.1), bsc(0.11), bsc(0.3)], 3000, **options)
    assert not result.decided
    assert result.nearly_best.channel in result.candidates
    assert 0.0 < result.nearly_best.within_bits < 0.3
    assert result.proved_so_far in str(result)


def test_decided_run_is_within_epsilon_and_without_one_within_0():
    _, result = run([bsc(0.02), bsc(0.3)], None)
    assert (result.nearly_best.channel, result.nearly_best.within_bits) == (result.best, 0.0)
    _, result = run([bsc(0.1), bsc(0.1)], None, epsilon=0.1)
    assert 0.0 <= result.nearly_best.within_bits <= 0.1


def test_statement_does_not_change_what_follows():
    sensor = bc.Simulator([q_ary_symmetric(3, 0.1), q_ary_symmetric(3, 0.14)], rng=3)
    asked, silent = (bc.Adaptive(sensor.alphabets, delta=0.05) for _ in range(2))
    while (request := silent.ask()) is not None:
        counts = sensor(request)
        for policy in (asked, silent):
            assert policy.ask() == request
            policy.tell(bc.Observation(request.number, counts))
        assert asked.nearly_best == asked.nearly_best
    assert asked.recommendation == silent.recommendation


def test_more_senses_prove_less_distance():
    distances = [
        np.mean([run([bsc(0.1)] * 2, limit, seed)[1].nearly_best.within_bits for seed in range(5)])
        for limit in (1000, 4000, 16_000)
    ]
    assert distances == sorted(distances, reverse=True)
    assert distances[-1] < 0.5 * distances[0]


def test_policies_without_such_a_proof_say_nothing():
    _, result = run([bsc(0.1), bsc(0.11)], 500, threshold="calibrated")
    assert result.nearly_best is None
    sensor = bc.Simulator([bsc(0.1), bsc(0.11)], rng=1)
    assert bc.identify(sensor, bc.BestChanID(sensor.alphabets, delta=0.1), max_senses=100).nearly_best is None


@pytest.mark.parametrize("bits", [0.0301, 0.1, 3.3e-7, 0.0999, 1.0])
def test_shown_number_is_never_smaller(bits):
    assert bits <= rounded_up(bits) <= 1.11 * bits
