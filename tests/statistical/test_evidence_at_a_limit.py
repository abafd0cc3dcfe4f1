"""What speaks for an answer at the end of a budget: on average wrong × e is at most 1, and the twin is caught."""

import math

import numpy as np
import pytest

import bestchannel as bc
from bestchannel.channels import bsc
from bestchannel.evidence.bets import RivalAccount
from bestchannel.information import binary_entropy

RUNS, SENSES, STAKE = 80, 400, 0.5
ALARM = 1e6  # what a gambler against E[X] <= 1 wins with probability at most 1e-6 [Vil39]
LEVEL = 1 - binary_entropy(0.1)

TIES = {
    "best": (None, [bsc(0.1)] * 2, lambda answer: answer == "best: 0"),
    "top": (bc.Top(1), [bsc(0.1)] * 2, lambda answer: answer == "best 1: 0"),
    "order": (bc.Order(), [bsc(0.1)] * 2, lambda answer: answer == "order: 0 > 1"),
    "above": (bc.Above(LEVEL), [bsc(0.1)], lambda answer: answer.startswith("above")),  # C = c is not above it
}


def gambled(question, channels, wrong):
    """What is won by betting that the mean of wrong × e over runs on equal channels exceeds 1."""
    won = 0.0
    for i in range(RUNS):
        sensor = bc.Simulator(channels, rng=np.random.default_rng([7, i]))
        policy = bc.Adaptive(sensor.alphabets, delta=1e-6, question=question)
        found = bc.identify(sensor, policy, max_senses=SENSES).evidence
        product = found.e_value if found and wrong(found.answer) else 0.0
        won += math.log1p(STAKE * (product - 1.0))
    return won


@pytest.mark.parametrize("tie", TIES.values(), ids=TIES.keys())
def test_wrong_times_evidence_is_at_most_one_on_average_where_channels_are_equal(tie):
    assert gambled(*tie) < math.log(ALARM)


def test_gambler_sees_evidence_that_forgets_what_the_rival_may_have_lost(monkeypatch):
    monkeypatch.setattr(RivalAccount, "proved_evidence", lambda account, *_: account.paid)
    assert gambled(*TIES["best"]) > math.log(ALARM)
