"""Adaptive, step by step: what it asks for, what it stakes, and where it ends."""

import itertools
import math

import numpy as np
import pytest

from bestchannel import Adaptive, Best, BestChanID, InputError, Observation, Simulator, identify
from bestchannel.channels import Channel, bec, bsc, q_ary_symmetric, random_channel, z_channel
from bestchannel.policies.adaptive.adaptive_policy import FIRST_SENSES, FIRST_SHARE
from bestchannel.policies.adaptive.state import State
from bestchannel.sensing.simulator import random_binary_channels

ENOUGH = 10**9


def alphabets_of(channels):
    return [(channel.n_inputs, channel.n_outputs) for channel in channels]


def run(channels, *, seed=1, max_senses=ENOUGH, **options):
    policy = Adaptive(alphabets_of(channels), **{"delta": 0.1, **options})
    return identify(Simulator(channels, rng=seed), policy, max_senses=max_senses)


def tell(policy, tables):
    """Answer the open request with the given rows, in whole numbers."""
    request = policy.ask()
    counts = {}
    for channel, senses in request.senses.items():
        counts[channel] = np.floor(np.array(tables[channel]) * np.array(senses)[:, None] + 0.5).astype(int)
        counts[channel][:, 0] += np.array(senses) - counts[channel].sum(axis=1)
    policy.tell(Observation(request.number, counts))


def test_first_request_is_a_few_senses_of_every_input_of_what_can_have_a_capacity():
    policy = Adaptive([(2, 2), (1, 3), (4, 3), (2, 1)], delta=0.1)
    assert policy.ask().senses == {0: (FIRST_SENSES,) * 2, 2: (FIRST_SENSES,) * 4}


@pytest.mark.parametrize("seed", range(5))
def test_senses_are_100_000_times_fewer_than_those_of_best_chan_id(seed):
    instance = random_binary_channels(np.random.default_rng(seed), 10, 0.13)
    results = [
        identify(Simulator(instance.channels, rng=seed), policy(instance.alphabets, delta=0.05))
        for policy in (Adaptive, BestChanID)
    ]
    assert [result.best for result in results] == [instance.best] * 2
    assert 1e5 * results[0].senses < results[1].senses


@pytest.mark.parametrize("k", [2, 5])
@pytest.mark.parametrize(
    "channel", [bsc(0.1), bsc(0.5), z_channel(0.3), bsc(0.0)], ids=["BSC", "useless", "Z", "noiseless"]
)
def test_epsilon_decides_exact_ties(channel, k):
    result = run([channel] * k, epsilon=0.1)
    assert result.decided
    assert result.senses < 10**6


def test_epsilon_decides_exact_ties_of_larger_channels():
    assert run([q_ary_symmetric(3, 0.1)] * 3, epsilon=0.1, delta=0.05, max_senses=10**6).decided


def test_larger_epsilon_takes_fewer_senses():
    channels = [bsc(0.1), bsc(0.12), bsc(0.11)]
    senses = [sum(run(channels, seed=s, epsilon=epsilon).senses for s in range(12)) for epsilon in (0.0, 0.05, 0.2)]
    assert senses[0] > 2 * senses[1] > 4 * senses[2]


@pytest.mark.parametrize("epsilon", [-0.1, math.nan, math.inf])
def test_epsilon_that_is_no_accuracy_is_refused(epsilon):
    with pytest.raises(InputError, match=rf"epsilon \(the accuracy, in bits\) must lie in \[0, .*; it is {epsilon:g}"):
        Adaptive([(2, 2)] * 2, epsilon=epsilon, delta=0.1)
    with pytest.raises(InputError, match=rf"epsilon \(the accuracy, in bits\) must lie in \[0, .*; it is {epsilon:g}"):
        Adaptive([(2, 2)] * 2, question=Best(epsilon), delta=0.1)


def test_channels_of_many_sizes_are_compared():
    # bits: 0.29, 1.42, 0.90, 0.65, 0
    sizes = [(2, 2), (3, 3), (2, 3), (4, 4), (5, 2)]
    channels = [
        bsc(0.2),
        q_ary_symmetric(3, 0.02),
        bec(0.1),
        q_ary_symmetric(4, 0.3),
        Channel.from_rows([[0.5, 0.5]] * 5),
    ]
    assert alphabets_of(channels) == sizes
    for seed in range(5):
        assert run(channels, seed=seed, delta=0.01).best == 1


@pytest.mark.parametrize("epsilon", [0.0, 0.05])
@pytest.mark.parametrize("p", [0.01, 0.2, 0.4])
@pytest.mark.parametrize(
    "worthless", [[[1.0], [1.0]], [[0.2, 0.3, 0.5]], [[1.0]]], ids=["one output", "one input", "both"]
)
def test_channel_of_capacity_0_by_its_alphabet_is_ruled_out_by_senses_of_the_leader_alone(worthless, p, epsilon):
    channels = [Channel.from_rows(worthless), bsc(p)]
    policy, sensor, senses = Adaptive(alphabets_of(channels), delta=0.1, epsilon=epsilon), Simulator(channels, rng=1), 0
    while (request := policy.ask()) is not None:
        assert list(request.senses) == [1]
        senses += request.total
        policy.tell(Observation(request.number, sensor(request)))
    assert policy.recommendation == 1
    assert senses < 10_000


def test_epsilon_decides_between_channels_that_carry_nothing():
    assert run([Channel.from_rows([[1.0], [1.0]]), bsc(0.5)], epsilon=0.05).decided


@pytest.mark.parametrize("row", [(2, 4), (1, 5), (3, 3), (6, 0)])
def test_channel_of_capacity_0_by_its_alphabet_never_leads(row):
    # six equal rows: their estimated value is 0 but for rounding, which may be downwards
    policy = Adaptive([(6, 1), (6, 2)], delta=0.1)
    policy.tell(Observation(1, {1: np.tile(row, (6, 1))}))
    assert policy.leader == 1
    assert list(policy.ask().senses) == [1]


@pytest.mark.parametrize("channel", [bsc(0.1), bsc(0.5), bsc(0.0)], ids=["BSC", "useless", "noiseless"])
def test_exact_ties_end_undecided_where_64_bit_counts_end(channel):
    # of both, because delta is too small for an error to be seen
    result = run([channel] * 2, delta=1e-6, max_senses=None)
    assert (result.best, result.decided, result.candidates) == (None, False, (0, 1))
    assert 2**62 < result.senses < 2**65


def test_noiseless_leader_is_named():
    # gaps of 0.02 bit and more; at delta = 0.1 some 86,000 senses are enough
    assert run([bsc(0.003), bsc(0.0), bsc(0.002)], delta=0.01, max_senses=10**6).best == 1


@pytest.mark.parametrize("delta", [1e-300, 1e-30, 0.5, 0.999])
def test_any_delta_ends_with_the_best_channel(delta):
    # at delta = 0.999 nothing is promised, but the channels are far apart
    result = run([bsc(0.3), bsc(0.01), bsc(0.4)], delta=delta)
    assert (result.best, result.senses < 10**6) == (1, True)


def test_ruled_out_channels_never_come_back_without_epsilon():
    channels = [random_channel(3, 3, rng=np.random.default_rng(seed)) for seed in range(8)]
    candidates = []
    identify(
        Simulator(channels, rng=1),
        Adaptive([(3, 3)] * 8, delta=0.1),
        progress=lambda status: candidates.append(set(status.candidates)),
    )
    assert all(later <= earlier for earlier, later in itertools.pairwise(candidates))
    assert len(candidates[-1]) == 1


def test_shares_of_delta_add_up_to_delta():
    # over the restarts of one leader's bets, and with epsilon over the leaders
    policy, within = Adaptive([(2, 2)] * 2, delta=0.1), Adaptive([(2, 2)] * 2, delta=0.1, epsilon=0.05)
    state = State.of([np.zeros((2, 2), dtype=np.int64)] * 2, 0)
    assert policy._threshold(state, 1) == pytest.approx(math.log(1 / (FIRST_SHARE * 0.1)), rel=1e-15)
    spent = 0.0
    for state.leaders in range(1, 400):
        for restarts in range(20):
            state.bets[1].restarts = restarts
            spent += math.exp(-within._threshold(state, 1))
    # sum of 1/(i(i+1)) up to 399 is 399/400; beyond 20 restarts 1e-20 is left
    assert spent == pytest.approx(0.1 * 399 / 400, rel=1e-12)
    alone = [math.log(1 / 0.1) - math.log(FIRST_SHARE * (1 - FIRST_SHARE) ** i) for i in range(20)]
    assert policy._threshold(state, 1) == pytest.approx(alone[19], rel=1e-12)
    assert sum(math.exp(-nats) for nats in alone) == pytest.approx(0.1, rel=1e-12)


def test_new_leader_within_epsilon_starts_anew_with_a_smaller_share():
    good, poor = bsc(0.01).W, bsc(0.3).W
    policy = Adaptive([(2, 2)] * 2, delta=0.1, epsilon=0.1)
    for _ in range(3):
        tell(policy, [good, poor])
    assert policy.leader == 0
    assert policy._threshold(policy.state, 1) == pytest.approx(math.log(2 / (FIRST_SHARE * 0.1)), rel=1e-15)
    assert policy.evidence_nats[1] > 0.0
    while policy.leader == 0 and policy.ask() is not None:
        tell(policy, [poor, good])
    assert policy.leader == 1
    assert policy.candidates == (0, 1)
    assert policy.evidence_nats == {0: 0.0}
    assert policy._threshold(policy.state, 0) == pytest.approx(math.log(6 / (FIRST_SHARE * 0.1)), rel=1e-15)


@pytest.mark.parametrize("seed", range(5))
def test_stakes_are_fixed_before_the_answer_and_not_touched_by_it(seed):
    channels = [bsc(0.3), bsc(0.05), bec(0.3), z_channel(0.5)]
    names, bets = "abcd", 0
    sensor, policy = Simulator(channels, rng=seed), Adaptive(alphabets_of(channels), delta=0.05)
    while (request := policy.ask()) is not None:
        stakes = policy.stakes
        before = stakes and stakes.record(names)
        policy.tell(Observation(request.number, sensor(request)))
        assert (stakes and stakes.record(names)) == before
        if before:
            assert before["leader"] in [names[channel] for channel in request.senses]
            assert all(bet["since"] <= request.number for bet in before["bets"].values())
            bets += len(before["bets"])
    assert bets > 10
    assert policy.stakes is None


@pytest.mark.parametrize("alphabets", [[(2, 2)], [(1, 2), (2, 1)]])
def test_policy_that_ends_at_once_has_no_evidence(alphabets):
    policy = Adaptive(alphabets, delta=0.1)
    assert policy.recommendation == 0
    assert policy.state is None
    assert policy.evidence_nats == {}


@pytest.mark.parametrize("sampling", ["fewest", "uniform", "lucb", "top-two", "track-and-stop"])
@pytest.mark.parametrize("channels", [[bsc(0.3), bsc(0.05), z_channel(0.5)], [bec(0.4), q_ary_symmetric(3, 0.05)]])
def test_every_sampling_rule_finds_the_best(sampling, channels):
    result = run(channels, sampling=sampling, delta=0.01, max_senses=10**6)
    assert result.best == 1
    assert result.audit.options["sampling"] == sampling


def test_calibrated_threshold_needs_fewer_senses_and_says_that_it_is_not_proved():
    channels = [bsc(0.12), bsc(0.1), bsc(0.11)]
    proved, calibrated = (
        [run(channels, delta=0.01, threshold=threshold, seed=seed) for seed in range(12)]
        for threshold in ("proved", "calibrated")
    )
    assert sum(result.senses for result in calibrated) < sum(result.senses for result in proved)
    assert "not proved" in calibrated[0].guarantee
    assert "not proved" not in proved[0].guarantee


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"sampling": "greedy"}, "the sampling rule must be one of fewest, uniform, .*; it is 'greedy'"),
        ({"threshold": "none"}, "the threshold must be one of proved, calibrated; it is 'none'"),
    ],
)
def test_rule_that_there_is_not_is_refused(option, message):
    with pytest.raises(InputError, match=message):
        Adaptive([(2, 2)], delta=0.1, **option)


def test_state_shows_leader_rivals_senses_and_evidence():
    policy = Adaptive([(2, 2)] * 3, delta=0.1)
    assert policy.state is None
    while len(policy.candidates) == 3:
        tell(policy, [bsc(0.3).W, bsc(0.05).W, bsc(0.08).W])
    head, *rows = (line.split() for line in str(policy.state).splitlines())
    assert head[:3] == ["channel", "role", "senses"]
    out, rival = (0, 2) if 2 in policy.candidates else (2, 0)
    assert [rows[channel][1] for channel in (out, 1, rival)] == ["ruled", "leader", "rival"]
    assert int(rows[rival][-3].replace(",", "")) == policy.state.senses(rival)
    assert float(rows[rival][-2]) == pytest.approx(policy.evidence_nats[rival], abs=0.005)
