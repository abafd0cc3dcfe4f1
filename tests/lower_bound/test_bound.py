"""`lower_bound`: names, gaps, and the pieces put together."""

import math

import pytest

import bestchannel as bc
from bestchannel.errors import InputError
from bestchannel.lower_bound.characteristic_time import kl_nats

A, B = [[0.9, 0.1], [0.1, 0.9]], [[0.8, 0.2], [0.2, 0.8]]


def test_bound_is_the_lower_end_of_the_time_times_the_divergence_of_delta():
    bound = bc.lower_bound({"a": A, "b": B}, 0.01)
    assert isinstance(bound, bc.LowerBound)
    # kl(0.01, 0.99) = 0.98 log 99
    assert bound.senses_lower_bound == pytest.approx(bound.characteristic_time.lower * 0.98 * math.log(99), rel=1e-12)
    assert bound.best == "a"
    assert bound.delta == 0.01


def test_gaps_are_differences_of_capacities_in_bits():
    bound = bc.lower_bound({"b": B, "a": A}, 0.1)
    C_a, C_b = bc.capacity(A), bc.capacity(B)
    assert bound.gaps == pytest.approx({"b": C_a.lower - C_b.lower, "a": 0.0}, abs=1e-9)


def test_channels_of_a_sequence_are_called_by_their_positions():
    bound = bc.lower_bound([B, bc.Channel.from_rows(A)], 0.1)
    assert bound.best == 1
    assert list(bound.allocation) == [0, 1]
    assert sum(float(shares.sum()) for shares in bound.allocation.values()) == pytest.approx(1.0)


def test_theorem_4_stands_beside_it_and_is_smaller():
    bound = bc.lower_bound([A, B], 0.01)
    # 49.8 log(1/0.024), as computed in test_theorem4
    assert bound.theorem4.lower == pytest.approx(49.8 * math.log(1 / 0.024), rel=1e-3)
    assert bound.theorem4.upper < bound.senses_lower_bound


def test_theorem_4_is_absent_where_it_does_not_apply():
    assert bc.lower_bound([A, [[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]]], 0.1).theorem4 is None
    assert bc.lower_bound([A], 0.1).theorem4 is None
    assert bc.lower_bound([A, A], 0.1).theorem4 is None


def test_tie_is_infinite_and_has_no_best():
    bound = bc.lower_bound([B, A, A[::-1]], 0.1)
    assert bound.best is None
    assert bound.senses_lower_bound == math.inf
    assert bound.gaussian.time == math.inf


def test_one_channel_needs_nothing():
    bound = bc.lower_bound({"only": A}, 0.1)
    assert (bound.best, bound.senses_lower_bound, bound.gaps) == ("only", 0.0, {"only": 0.0})


def test_from_one_half_on_nothing_is_promised_and_nothing_needed():
    assert kl_nats(0.5) == kl_nats(0.9) == 0.0
    assert bc.lower_bound([A, A], 0.7).senses_lower_bound == 0.0
    assert kl_nats(0.01) == pytest.approx(0.98 * math.log(99), rel=1e-15)


@pytest.mark.parametrize(
    ("channels", "delta", "message"),
    [
        ([], 0.1, "a lower bound requires at least one channel; none was given"),
        ({"q7": [[0.9, 0.1], [0.5, 0.4]]}, 0.1, 'row x=1 of channel "q7" must sum to 1'),
        ([A, B], 0.0, r"delta must lie in \(0, 1\)"),
        ([A, B], 1.0, r"delta must lie in \(0, 1\)"),
    ],
)
def test_what_cannot_be_used_is_refused_by_name(channels, delta, message):
    with pytest.raises(InputError, match=message):
        bc.lower_bound(channels, delta)
