"""The promise of `JointAdaptive`: whatever the answers of a shot have to do with each other, a wrong name, ever, with
probability at most delta.

The theorem allows any leader, also one that is no better than its rival: as hostile as can be. One of two channels of
equal capacity leads whatever was told, in 100 runs of 400 shots with delta = 0.3; the rival is ruled out more often than
53 times once in a million. The twin whose bets pay as if the leader were 0.2 nat better rules it out in nearly all runs.
"""

import numpy as np
import pytest

import bestchannel as bc
from tests.statistical.limits import most_failures, power

RUNS, DELTA, ENOUGH = 100, 0.3, 400
EQUAL = {"BSC": [bc.bsc(0.1)] * 2, "ternary": [bc.q_ary_symmetric(3, 0.2)] * 2}


class MisledJoint(bc.JointAdaptive):
    """Channel 0 leads whatever was told, and is bet on at once."""

    def _choose_leader(self, state, view):
        state.leader = 0

    def _begin_bets(self, state, gaps, errors):
        for rival in state.rivals:
            state.bets[rival].since = state.bets[rival].since or self._answered + 1

    def _gaps(self, state, view):
        gaps, errors = super()._gaps(state, view)
        return np.maximum(gaps, 0.0) + errors, errors


class FlatteredMisledJoint(MisledJoint):
    """Its bets pay as if the leader were 0.2 nat better."""

    def _weigh(self, state, view, thresholds):
        flattery = {rival: 0.2 * state.bets[rival].weight for rival in thresholds}
        return {rival: nats + flattery[rival] for rival, nats in super()._weigh(state, view, thresholds).items()}


def ruled_out(policy, channels, correlation):
    """In how many runs the rival, as good as the leader, was ruled out."""
    wrong = 0
    for seed in range(RUNS):
        sensor = bc.Simulator(channels, rng=seed, correlation=correlation)
        wrong += bc.identify(sensor, policy(sensor.alphabets, delta=DELTA), max_senses=ENOUGH).decided
    return wrong


@pytest.mark.parametrize("correlation", [-0.9, 0.0, 0.9])
@pytest.mark.parametrize("channels", EQUAL)
def test_an_equal_rival_is_ruled_out_no_more_often_than_promised(channels, correlation):
    assert ruled_out(MisledJoint, EQUAL[channels], correlation) <= most_failures(RUNS, DELTA)


@pytest.mark.parametrize("correlation", [-0.9, 0.9])
def test_flattered_leaders_are_noticed(correlation):
    wrong = ruled_out(FlatteredMisledJoint, EQUAL["BSC"], correlation)
    assert wrong > most_failures(RUNS, DELTA)
    assert power(RUNS, DELTA, wrong / RUNS) > 0.99
