"""What counts of shared trials prove: nothing that needs independent channels."""

import numpy as np
import pytest

import bestchannel as bc
from bestchannel.counts import ChannelLabels, JointTrials

GOOD, BAD = [[950, 50], [50, 950]], [[700, 300], [300, 700]]


def test_shared_trials_have_the_intervals_of_a_fixed_design_and_subtract_ends_for_the_verdict():
    fixed, shared = (bc.estimate({"a": BAD, "b": GOOD}, design=design) for design in ("fixed", "shared"))
    assert [(c.lower, c.upper) for c in fixed.channels] == [(c.lower, c.upper) for c in shared.channels]
    ends = fixed["b"].lower - fixed["a"].upper, fixed.differences[0].lower
    assert ends[0] < shared.differences[0].lower < ends[1]
    assert shared.best == "b"
    assert "if trials are independent of each other" in shared.guarantee


def test_twice_the_same_channel_in_every_trial_is_never_decided():
    rng = np.random.default_rng(1)
    for _ in range(20):
        table = np.array([rng.multinomial(200, row) for row in ([0.9, 0.1], [0.1, 0.9])])
        found = bc.estimate({"a": table, "b": table}, design="shared", delta=0.5, rank=True)
        assert not found.decided
        assert not found.order.settled


def test_groups_are_refused():
    labels = tuple(ChannelLabels.numbered(name, (2, 2)) for name in "ab")
    x, y = np.array([[0, 0], [1, 1]] * 50), np.array([[0, 0], [1, 0]] * 50)
    assert bc.estimate(JointTrials(labels, x, y), design="shared").design == "shared"
    assert bc.estimate(JointTrials(labels, x, y), design="adaptive").design == "adaptive"
    with pytest.raises(bc.InputError, match="trials of one group may depend on each other"):
        bc.estimate(JointTrials(labels, x, y, groups=np.arange(100)), design="shared")
