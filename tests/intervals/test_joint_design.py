"""What `estimate` says of trials that all channels answered."""

import math

import numpy as np
import pytest

import bestchannel as bc
from bestchannel.channels import bsc
from bestchannel.counts import ChannelLabels, JointTrials
from bestchannel.intervals.fixed_design import JointSet
from tests.statistical.joint_trials import answered


def joint(errors, n=400, rho=0.9, seed=1, names="abcdef"):
    x = np.repeat([0, 1], n)
    y = answered(np.random.default_rng(seed), [bsc(error).W for error in errors], x, rho)
    labels = tuple(ChannelLabels.numbered(name, (2, 2)) for name in names[: len(errors)])
    return JointTrials(labels, np.stack([x] * len(errors), axis=1), y)


def test_joint_trials_decide_what_their_counts_do_not():
    trials = joint([0.1, 0.14])
    found = bc.estimate(trials, rank=True)
    assert found.design == "joint"
    assert found.best == "a"
    assert found.order.settled == (("a", "b"),)
    assert not bc.estimate(trials, design="shared").decided
    assert "if trials are independent of each other and nobody chose their numbers" in found.guarantee
    assert found["a"].lower <= bc.capacity(bsc(0.1)).lower <= found["a"].upper


def test_how_near_an_answer_is_follows_from_the_bets_that_settle_pairs():
    """Intervals are wrong with δ of their own, and say far less of channels that err together."""
    trials = joint([0.1, 0.105])
    found = bc.estimate(trials, question=bc.Top(1, 0.1))
    assert found.findings.top == ("a",)
    assert found["b"].upper - found["a"].lower > 0.1
    ahead = JointSet(trials).ahead("a", "b", 0.05) / math.log(2.0)
    assert found.findings.within_bits == pytest.approx(-ahead)
    assert bc.estimate(trials, question=bc.Order()).findings.within_bits == pytest.approx(-ahead)


def test_neither_names_nor_the_order_of_channels_matter():
    trials = joint([0.1, 0.14, 0.2])
    turned = JointTrials(trials.alphabets[::-1], trials.x[:, ::-1], trials.y[:, ::-1])
    one, other = (bc.estimate(some, rank=True) for some in (trials, turned))
    assert {d.rival: d.lower for d in one.differences} == {d.rival: d.lower for d in other.differences}
    assert set(one.order.settled) == set(other.order.settled)


def test_trials_that_one_of_two_did_not_answer_are_left_out():
    trials = joint([0.02, 0.3])
    y = trials.y.copy()
    y[::2, 1] = -1
    found = bc.estimate(JointTrials(trials.alphabets, trials.x, y))
    assert found.best == "a"
    assert (found["a"].senses, found["b"].senses) == (800, 400)


@pytest.mark.parametrize(
    "change",
    [
        lambda x, y: (x * 0, y),  # an input that was never sent
        lambda x, y: (x, y * 0),  # outputs that never came
        lambda x, y: (x[:3], y[:3]),
        lambda x, y: (x[:1], y[:1]),
        lambda x, y: (x, np.where(np.arange(len(y))[:, None] % 2 == [[0, 1]], y, -1)),  # no trial that both answered
    ],
)
def test_trials_that_say_little_prove_nothing_and_break_nothing(change):
    trials = joint([0.1, 0.3])
    x, y = change(trials.x, trials.y)
    found = bc.estimate(JointTrials(trials.alphabets, x, y), rank=True)
    assert not found.decided
    assert all(np.isfinite([c.lower, c.upper]).all() for c in found.channels)


def test_a_rival_of_one_output_is_beaten_and_one_of_few_trials_has_its_ceiling():
    trials = joint([0.05, 0.3], n=200)
    y = np.stack([trials.y[:, 0], np.zeros(400, np.int64)], axis=1)
    single = (trials.alphabets[0], ChannelLabels.numbered("b", (2, 1)))
    assert bc.estimate(JointTrials(single, trials.x, y)).best == "a"
    x = np.stack([trials.x[:, 0], np.zeros(400, np.int64)], axis=1)
    found = bc.estimate(JointTrials(trials.alphabets, x, trials.y))
    assert not found.decided
    assert found.differences[0].lower == pytest.approx(found.verdict.within_bits * -1.0)


def test_a_group_counts_as_one_trial():
    """Eight copies of every trial say no more than the trial, and are not taken for more."""
    single = joint([0.02, 0.3], n=150)
    x, y = np.repeat(single.x, 8, axis=0), np.repeat(single.y, 8, axis=0)
    alone, copied = (
        bc.estimate(JointTrials(single.alphabets, *letters, groups=np.repeat(np.arange(300), copies)))
        for letters, copies in (((single.x, single.y), 1), ((x, y), 8))
    )
    assert copied.best == "a"
    assert (copied.groups, copied.trials, copied["a"].senses) == (300, 2400, 2400)
    for one, other in zip(alone.channels, copied.channels, strict=True):
        assert (one.lower, one.upper) == pytest.approx((other.lower, other.upper), abs=0.08)
        assert other.upper - other.lower > 0.08
        assert other.asymptotic is None
    assert "if groups of trials are independent of each other" in copied.guarantee


def test_intervals_of_groups_hold_for_copies_of_trials():
    """Both ends at δ = 0.2, 40 sets of 120 groups of four copies: of these, 20 wrong have a probability of 1e-5."""
    truth, wrong = bc.capacity(bsc(0.1)).lower * math.log(2.0), 0
    for seed in range(40):
        single = joint([0.1], n=60, seed=seed)
        x, y = np.repeat(single.x, 4, axis=0), np.repeat(single.y, 4, axis=0)
        trials = JointTrials(single.alphabets, x, y, groups=np.repeat(np.arange(120), 4))
        lower, upper, _ = JointSet(trials).ends("a", 0.2)
        wrong += not lower <= truth <= upper
    assert wrong < 20
