"""The promise of every policy of the paper: a wrong answer with probability at most delta.

200 runs per policy and delta, among four channels of which only the last may be named: the others
are worse by 0.063 bit and more, where the PAC policies promise 0.05. A policy that keeps its
promise gives more than 27 wrong answers at delta = 0.05, or more than 92 at delta = 0.3, once in a
million.

The paper's policies sense so often that they never err. That the test could notice is shown by
twins that sense every input five times, whatever delta: they name a channel almost at random, and
err in 134 to 172 of the runs. An error rate of 0.6 is noticed with probability 0.9999 at
delta = 0.3, and one of 0.25 as surely at delta = 0.05.
"""

from functools import cache, partial

import numpy as np
import pytest

from bestchannel import Simulator, capacity, identify, mutual_information
from bestchannel.channels import bsc
from bestchannel.intervals import paper_bounds as paper
from tests.contracts.policies import P_X, PAPER_POLICIES
from tests.statistical.limits import most_failures, power

RUNS = 200
DELTAS = (0.05, 0.3)
BEST = 3
# Equal estimates go to the first channel, so the best is last. The rivals differ: a twin that has lost
# the best must still end.
CHANNELS = [bsc(0.125), bsc(0.123), bsc(0.121), bsc(0.1)]
LARGEST_EPSILON = 0.05

SAMPLE_SIZES = [
    ("best_chan_id_senses", paper.best_chan_id_senses),
    ("naive_senses", paper.naive_senses),
    ("median_senses", paper.median_senses),
]

every_policy = pytest.mark.parametrize(
    "factory", [factory for _, factory in PAPER_POLICIES], ids=[name for name, _ in PAPER_POLICIES]
)


def errors(factory, delta):
    """How many of the runs name another channel than the best."""
    answers = [
        identify(Simulator(CHANNELS, rng=np.random.default_rng(child)), factory([(2, 2)] * 4, delta=delta)).best
        for child in np.random.SeedSequence(2024).spawn(RUNS)
    ]
    return sum(answer != BEST for answer in answers)


@pytest.mark.parametrize("value", [lambda W: capacity(W).lower, partial(mutual_information, P_X)])
def test_every_other_channel_is_a_wrong_answer(value):
    best, *others = [value(channel) for channel in reversed(CHANNELS)]
    assert LARGEST_EPSILON < best - max(others) < 1.3 * LARGEST_EPSILON


def test_limits_and_power_are_those_of_the_docstring():
    assert [most_failures(RUNS, delta) for delta in DELTAS] == [27, 92]
    assert power(RUNS, 0.3, 0.6) > 0.9999
    assert power(RUNS, 0.05, 0.25) > 0.9999


@pytest.mark.parametrize("delta", DELTAS)
@every_policy
def test_wrong_answers_are_no_more_frequent_than_delta(factory, delta, monkeypatch):
    for name, formula in SAMPLE_SIZES:
        monkeypatch.setattr(paper, name, cache(formula))  # all runs ask for the same values
    assert errors(factory, delta) <= most_failures(RUNS, delta)


@every_policy
def test_sabotaged_policy_is_noticed(factory, monkeypatch):
    for name, _ in SAMPLE_SIZES:
        monkeypatch.setattr(paper, name, lambda *_: 5 * 2)
    # its runs are the same for every delta
    assert errors(factory, max(DELTAS)) > max(most_failures(RUNS, delta) for delta in DELTAS)
