"""The two e-values of recorded counts: proved, valid on average, and not so where bets look at what they bet on."""

import math

import numpy as np
import pytest
from numpy.random import Philox

import bestchannel as bc
from bestchannel.evidence.recorded_channel import RecordedSplit, ShuffledBets, shuffled, weight_for
from bestchannel.information import NATS_PER_BIT

NATS = math.log(40.0)


def low_noise(rng, n):
    return 0.7 * np.eye(n) + 0.3 * rng.dirichlet(np.ones(n), n)


def split_of(counts, key, shuffles=16, P=None):
    return RecordedSplit.of(counts, shuffled(counts, Philox(key=key), shuffles), P)


def recorded(rng, W, senses, key, P=None):
    numbers = np.broadcast_to(senses, len(W))
    return split_of(np.array([rng.multinomial(n, row) for n, row in zip(numbers, W, strict=True)]), key, P=P)


def test_mean_of_the_leaders_e_value_is_at_most_one_and_a_nat_more_would_be_noticed():
    rng = np.random.default_rng(1)
    W = low_noise(rng, 2)
    C = bc.capacity(W).lower * NATS_PER_BIT
    values = []
    for number in range(150):
        channel = recorded(rng, W, 200, number)
        s = 0.4 * weight_for(NATS, channel.spread)
        values.append(math.exp(channel.as_leader(s) - s * C))
    mean, error = np.mean(values), np.std(values) / math.sqrt(len(values))
    assert mean <= 1.0 + 4 * error
    assert math.e * (mean - 4 * error) > 1.0


@pytest.mark.parametrize(("n", "senses"), [(2, 40), (3, 300), (5, 100)])
def test_rivals_e_value_is_below_that_of_the_truth_whatever_that_is(n, senses):
    rng = np.random.default_rng(n)
    for number in range(8):
        W = rng.dirichlet(np.ones(n), n)
        best = bc.capacity(W)
        channel = recorded(rng, W, senses, number)
        s = weight_for(NATS, channel.spread, channel)
        logW = np.log(W)
        losses = ShuffledBets.on(channel, s).losses((best.input, logW, logW[0])) + s * best.lower * NATS_PER_BIT
        true = math.log(np.exp(-losses - (-losses).max()).mean()) + (-losses).max()
        assert channel.as_rival(s) <= true + 1e-6


def test_rivals_e_value_at_the_truth_has_the_mean_one():
    rng = np.random.default_rng(7)
    W = low_noise(rng, 3)
    best = bc.capacity(W)
    values = []
    for number in range(300):
        channel = recorded(rng, W, 60, number)
        losses = ShuffledBets.on(channel, 8.0).losses((best.input, np.log(W), np.log(W[0])))
        values.append(np.exp(-losses).mean())
    assert abs(np.mean(values) - 1.0) < 5 * np.std(values) / math.sqrt(300)
    assert np.std(values) < 3.0  # else the mean would say nothing


@pytest.mark.parametrize("senses", [[150, 150, 150], [300, 300, 8]])
def test_at_a_fixed_input_the_leaders_mean_is_at_most_one_and_a_nat_more_would_be_noticed(senses):
    # 8 senses of the third input are too few to bet on; at the output of the others it adds nothing, the hardest case
    P, W = np.array([0.3, 0.5, 0.2]), np.array([[0.9, 0.1], [0.3, 0.7], [0.0, 1.0]])
    W[2] = P[:2] @ W[:2] / 0.8
    information, values = bc.mutual_information(P, W) * NATS_PER_BIT, []
    rng = np.random.default_rng(5)
    for number in range(150):
        channel = recorded(rng, W, senses, number, P)
        s = 0.4 * weight_for(NATS, channel.spread)
        values.append(math.exp(channel.as_leader(s) - s * information))
    mean, error = np.mean(values), np.std(values) / math.sqrt(len(values))
    assert mean <= 1.0 + 4 * error
    assert math.e * (mean - 4 * error) > 1.0


@pytest.mark.parametrize(("n", "senses"), [(2, 40), (3, 300), (5, 100)])
def test_at_a_fixed_input_the_rivals_e_value_is_below_that_of_the_truth_and_near_it(n, senses):
    rng, gaps = np.random.default_rng(n), []
    for number in range(8):
        W, P = rng.dirichlet(np.ones(n), n), rng.dirichlet(np.ones(n))
        channel = recorded(rng, W, senses, number, P)
        s = weight_for(NATS, channel.spread, channel)
        losses = ShuffledBets.on(channel, s).losses((P, np.log(W), np.log(W[0])))
        true = -s * bc.mutual_information(P, W) * NATS_PER_BIT + math.log(np.exp(-losses).mean())
        assert channel.as_rival(s) <= true + 1e-6
        gaps.append(true - channel.as_rival(s))
    assert min(gaps) < NATS  # the nats of free rows, and not a bound without content


def test_at_a_fixed_input_the_rivals_e_value_at_the_truth_has_the_mean_one():
    rng, P = np.random.default_rng(7), np.array([0.7, 0.2, 0.1])
    W, values = low_noise(rng, 3), []
    for number in range(300):
        channel = recorded(rng, W, 60, number, P)
        values.append(np.exp(-ShuffledBets.on(channel, 8.0).losses((P, np.log(W), np.log(W[0])))).mean())
    assert abs(np.mean(values) - 1.0) < 5 * np.std(values) / math.sqrt(300)
    assert np.std(values) < 3.0  # else the mean would say nothing


def test_inputs_that_were_hardly_sensed_leave_the_capacity_open_from_above():
    counts = np.array([[900, 100], [100, 900], [3, 2]])
    channel = split_of(counts, 1)
    assert not channel.bounded_by_senses
    assert channel.ceiling == math.log(2)
    assert channel.as_leader(10.0) > 0.0


def test_part_of_a_shuffle_without_a_sense_is_no_bet_and_no_nan():
    # 16 senses of an input in 8 parts: a part is empty in some shuffle of most splits, and its share of the bets is 0/0
    counts, empty = np.array([[12, 4], [4, 12]]), 0
    for key in range(30):
        split = split_of(counts, key)
        empty += int((split.shuffles.tested.sum(axis=(2, 3)) == 0).sum())
        bets = ShuffledBets.on(split, 4.0)
        assert np.isfinite(bets.tilts).all()
        assert np.isfinite(split.as_rival(4.0))
        assert np.isfinite(split.as_leader(4.0))
    assert empty > 0


def test_shuffle_in_which_nothing_is_bet_on_is_worth_one():
    split = split_of(np.array([[40, 2], [3, 50]]), 1)
    split.shuffles.tested[0] = 0
    assert ShuffledBets.on(split, 5.0).tilts[0].max() == 0.0
    assert np.isfinite(split.as_leader(5.0))
    assert np.isfinite(split.as_rival(5.0))


def test_evidence_that_is_no_number_is_no_evidence():
    split = split_of(np.array([[40, 2], [3, 50]]), 1)
    split.W[:], split.first[:] = np.nan, np.nan
    assert split.as_leader(5.0) == -math.inf
    assert split.as_rival(5.0) == -math.inf
