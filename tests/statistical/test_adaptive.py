"""The promise of `Adaptive`: a wrong answer, ever, with probability at most delta.

Whole runs: 100 per set of channels and delta, each ended after 20,000 senses. Only an answer that was
given and is wrong is an error, so that sets of nearly equal channels show errors and not patience.
A policy that keeps its promise errs more than 27 times at delta = 0.1, or more than 8 times at
delta = 0.01, once in a million. The twin that is content with a fifth of the threshold that is not proved errs on
nearly equal channels in a quarter of the runs and more, which is noticed with probability 0.9999 at
delta = 0.01.

The theorem allows any leader, also one that is no better than its rival: as hostile as can be. The
twin whose bets pay as if the leader were 0.15 nat better rules the rival out in more than half of
the runs, which is noticed as surely.

Bets without a policy: 4000 sequences of 60 requests to a leader and a rival of equal capacity.
They ever become 1/delta more than 493 times at delta = 0.1, or more than 73 times at
delta = 0.01, once in a million. The twin that pays nothing for the variance of the rival gets there
in a fifth of the sequences, which is noticed with probability 0.9999.
"""

import math
from functools import partial

import numpy as np
import pytest
from scipy.optimize import brentq

from bestchannel import Adaptive, Simulator, capacity, identify, mutual_information
from bestchannel.channels import Channel, bec, bsc, q_ary_symmetric, z_channel
from bestchannel.evidence.bets import leader_bets, rival_tilts
from bestchannel.information import NATS_PER_BIT
from tests.statistical.limits import most_failures, power
from tests.study.hasty import Hasty
from tests.study.misled import FlatteredMisled, Misled

RUNS = 100
DELTAS = (0.1, 0.01)
ENOUGH = 20_000
P_X = (0.3, 0.7)

ROWS = np.array([[0.80, 0.15, 0.05], [0.10, 0.70, 0.20], [0.30, 0.30, 0.40]])
RELABELLED = [
    Channel.from_rows(rows) for rows in (ROWS, ROWS[[1, 2, 0]], ROWS[:, [2, 0, 1]], ROWS[[2, 1, 0]][:, [1, 0, 2]])
]
RANDOM = [Channel.from_rows(rows) for rows in np.random.default_rng(3).dirichlet([0.5] * 3, (6, 3))]

# The binary symmetric channel with the capacity of Z(0.5), log2(5/4) [CT06, Problem 7.8]
EQUAL_TO_Z = brentq(lambda p: capacity(bsc(p), tol=1e-13).lower - math.log2(1.25), 0.1, 0.3, xtol=1e-14)

CHANNELS = {
    "nearly equal": [bsc(0.4001), bsc(0.4)],
    "four nearly equal": [bsc(0.2003), bsc(0.2), bsc(0.2002), bsc(0.2001)],
    "noiseless rival": [bsc(0.01), bsc(0.0), bsc(0.012)],
    "useless rivals": [bsc(0.5)] * 4 + [bsc(0.4)],
    "Z and BSC": [z_channel(0.5), bsc(EQUAL_TO_Z - 1e-4), bsc(EQUAL_TO_Z + 2e-4)],
    "relabelled": [*RELABELLED, Channel.from_rows(0.95 * ROWS + 0.05 * np.eye(3))],
    "random": RANDOM[::-1],
    "different sizes": [q_ary_symmetric(3, 0.2), bec(0.25), bsc(0.03), Channel.from_rows([[1.0], [1.0]])],
}
"""The best one is never the first, which leads where estimates are equal."""


def values(channels, P=None):
    return np.array([mutual_information(P, c) if P else capacity(c, tol=1e-12).lower for c in channels])


def answers(policy, channels, *, seed=2024, max_senses=ENOUGH):
    """What each of the runs names, None where it is undecided."""
    alphabets = [(channel.n_inputs, channel.n_outputs) for channel in channels]
    return [
        identify(Simulator(channels, rng=np.random.default_rng(child)), policy(alphabets), max_senses=max_senses).best
        for child in np.random.SeedSequence(seed).spawn(RUNS)
    ]


def errors(policy, channels, *, epsilon=0.0, P=None):
    """How many runs name a channel that is not within epsilon of the best."""
    worth = values(channels, P)
    wrong = worth < worth.max() - epsilon - 1e-11  # equal capacities are computed within 1e-12
    assert 0 < wrong.sum() < len(channels)
    return sum(bool(wrong[answer]) for answer in answers(policy, channels) if answer is not None)


def test_limits_and_power_are_those_of_the_docstring():
    assert [most_failures(RUNS, delta) for delta in DELTAS] == [27, 8]
    assert power(RUNS, 0.01, 0.25) > 0.9999
    assert power(RUNS, 0.1, 0.5) > 0.9999
    assert [most_failures(SEQUENCES, delta) for delta in DELTAS] == [493, 73]
    assert power(SEQUENCES, 0.1, 0.2) > 0.9999


# 0.01 is the harder promise to keep; that 0.1 is heard as well is seen on two of the sets
@pytest.mark.parametrize(
    ("name", "delta"), [*((name, 0.01) for name in CHANNELS), ("noiseless rival", 0.1), ("Z and BSC", 0.1)]
)
def test_wrong_answers_are_no_more_frequent_than_delta(name, delta):
    assert errors(partial(Adaptive, delta=delta), CHANNELS[name]) <= most_failures(RUNS, delta)


@pytest.mark.parametrize("delta", DELTAS)
def test_wrong_answers_at_a_fixed_input_are_no_more_frequent_than_delta(delta):
    # at P_X the Z channel that errs on the likelier input is worse than its mirror image
    channels = [z_channel(0.5), Channel.from_rows(z_channel(0.51).W[::-1]), bsc(0.25)]
    policy = partial(Adaptive, delta=delta, input_distribution=P_X)
    assert errors(policy, channels, P=P_X) <= most_failures(RUNS, delta)


@pytest.mark.parametrize("delta", DELTAS)
def test_answers_beyond_epsilon_are_no_more_frequent_than_delta(delta):
    # the first two are hardly more than epsilon below the best, which is as hard as it can be
    channels = [bsc(0.15), bsc(0.15), bsc(0.1), bsc(0.1001)]
    epsilon = float(np.ptp(values(channels))) - 5e-4
    policy = partial(Adaptive, delta=delta, epsilon=epsilon)
    assert errors(policy, channels, epsilon=epsilon) <= most_failures(RUNS, delta)


def test_policy_content_with_a_fifth_of_a_threshold_without_proof_is_noticed():
    assert errors(partial(Hasty, delta=0.01, threshold="calibrated"), CHANNELS["nearly equal"]) > most_failures(
        RUNS, 0.01
    )


EQUALS = {
    "BSC(0.4)": [bsc(0.4), bsc(0.4)],
    "Z leads BSC": [z_channel(0.5), bsc(EQUAL_TO_Z)],
    "BSC leads Z": [bsc(EQUAL_TO_Z), z_channel(0.5)],
    "relabelled": RELABELLED[:2],
}
"""The leader is no better than its rival."""


@pytest.mark.parametrize("name", EQUALS)
def test_rival_that_is_as_good_as_its_leader_is_ruled_out_no_more_often_than_delta(name):
    found = answers(partial(Misled, delta=0.1), EQUALS[name])
    assert sum(answer is not None for answer in found) <= most_failures(RUNS, 0.1)


def test_leader_thought_better_than_it_is_is_noticed():
    found = answers(partial(FlatteredMisled, delta=0.1), EQUALS["BSC(0.4)"], max_senses=5 * ENOUGH)
    assert sum(answer is not None for answer in found) > most_failures(RUNS, 0.1)


SEQUENCES, REQUESTS, SENSES, WEIGHT = 4000, 60, 200, 40.0


def highest_evidence(leader, rival, *, pays_for_variance=True):
    """The most that each sequence of bets ever becomes at the true rows and inputs of the rival, in nats.

    No evidence is more than that (tests/evidence/test_rival_bets.py).
    """
    rng, W, V = np.random.default_rng(2024), leader.W, rival.W
    senses = np.full(len(W), float(SENSES))
    assumed = (W + 1e-3) / (W + 1e-3).sum(axis=1, keepdims=True)  # any rows may be assumed
    on_leader = leader_bets(assumed, capacity(leader).input, senses, np.array([WEIGHT]))
    found = capacity(rival, tol=1e-12)
    guess = (V + 1e-3) / (V + 1e-3).sum(axis=1, keepdims=True)
    (tilts,), (Q,) = rival_tilts(
        guess[None], found.input[None], np.full((1, len(V)), float(SENSES)), np.array([WEIGHT])
    )
    t = (found.input * tilts)[:, None]
    ratios = np.where(V > 0, np.log(np.where(V > 0, V, 1.0) / Q), 0.0)
    log_z = np.log((V ** (1 - t) * Q**t).sum(axis=1)).sum() * SENSES
    if not pays_for_variance:
        log_z = -(V * t * ratios).sum() * SENSES  # the first term of its cumulants
    wealth, highest = np.zeros(SEQUENCES), np.full(SEQUENCES, -np.inf)
    for _ in range(REQUESTS):
        on_b = np.stack([rng.multinomial(SENSES, row, SEQUENCES) for row in W], axis=1)
        on_a = np.stack([rng.multinomial(SENSES, row, SEQUENCES) for row in V], axis=1)
        wealth += np.einsum("cxy,xy->c", on_b, on_leader.pays[0]) - on_leader.price[0]
        wealth -= np.einsum("cxy,xy->c", on_a, t * ratios) + log_z + WEIGHT * found.upper * NATS_PER_BIT
        highest = np.maximum(highest, wealth)
    return highest


@pytest.mark.parametrize("name", EQUALS)
def test_bets_against_an_equal_rival_ever_reach_1_over_delta_with_probability_delta(name):
    highest = highest_evidence(*EQUALS[name])
    for delta in DELTAS:
        assert np.sum(highest >= math.log(1 / delta)) <= most_failures(SEQUENCES, delta)
    assert highest.max() > 1.0  # the bets are large enough to be tested


@pytest.mark.parametrize("name", ["BSC(0.4)", "Z leads BSC", "relabelled"])
def test_bets_that_pay_nothing_for_the_variance_of_the_rival_are_noticed(name):
    highest = highest_evidence(*EQUALS[name], pays_for_variance=False)
    assert np.sum(highest >= math.log(1 / 0.1)) > most_failures(SEQUENCES, 0.1)
