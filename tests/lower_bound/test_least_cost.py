"""The least expected cost where senses cost differently."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import bestchannel as bc
from bestchannel.channels import bsc, q_ary_symmetric, z_channel
from bestchannel.lower_bound.characteristic_time import kl_nats
from bestchannel.lower_bound.known_channels import KnownChannels, small_gap_time


def kl(p, r):
    return p * math.log(p / r) + (1 - p) * math.log((1 - p) / (1 - r))


def value(p, q, w_p, w_q):
    """min_r w_p kl(p, r) + w_q kl(q, r), which is at the mean of p and q."""
    r = (w_p * p + w_q * q) / (w_p + w_q)
    return w_p * kl(p, r) + w_q * kl(q, r)


@pytest.mark.parametrize("costs", [(10.0, 1.0), (1.0, 10.0), (3.0, 0.02)])
def test_two_bscs_cost_what_the_best_weights_of_unit_cost_leave(costs):
    # as without costs both may become BSC(r); the weights are w_p = v/c_p and w_q = (1-v)/c_q
    best = minimize_scalar(
        lambda v: -value(0.1, 0.2, v / costs[0], (1 - v) / costs[1]), bounds=(1e-6, 1 - 1e-6), options={"xatol": 1e-10}
    )
    found = bc.lower_bound({"p": bsc(0.1), "q": bsc(0.2)}, 0.01, cost={"p": costs[0], "q": costs[1]}).cost
    assert found.per_nat.lower <= -1 / best.fun <= found.per_nat.upper <= 1.011 * found.per_nat.lower
    assert found.lower_bound == pytest.approx(found.per_nat.lower * kl_nats(0.01))
    senses = np.array([best.x / costs[0], (1 - best.x) / costs[1]])
    shares = [found.allocation[name].sum() for name in "pq"]
    assert shares == pytest.approx((senses / senses.sum()).tolist(), abs=0.03)


def test_equal_costs_multiply_the_characteristic_time_and_change_no_share():
    channels = [bsc(0.1), z_channel(0.4), bsc(0.2)]
    found = bc.lower_bound(channels, 0.05, cost=[5.0] * 3)
    T, per_nat = found.characteristic_time, found.cost.per_nat
    assert (per_nat.lower, per_nat.upper) == (5 * T.lower, 5 * T.upper)
    for name, shares in found.allocation.items():
        assert found.cost.allocation[name] == pytest.approx(shares)


def test_unit_of_the_costs_does_not_matter():
    channels, costs = [bsc(0.1), bsc(0.13)], [[1, 10], [3, 1]]
    cents = [[100 * each for each in row] for row in costs]
    first, second = (bc.lower_bound(channels, 0.05, cost=each).cost.lower_bound for each in (costs, cents))
    assert second == pytest.approx(100 * first, rel=1e-9)


def test_senses_and_their_bound_are_those_without_costs():
    channels = [bsc(0.1), bsc(0.2)]
    plain, priced = bc.lower_bound(channels, 0.05), bc.lower_bound(channels, 0.05, cost=[1, 7])
    assert plain.cost is None
    assert plain.senses_lower_bound == priced.senses_lower_bound
    assert "least cost" in str(priced)
    assert "cost" not in str(plain)


@pytest.mark.parametrize("costs", [[[1.0, 10.0], [1.0, 1.0]], [[10.0, 1.0], [2.0, 5.0]]])
def test_small_gaps_cost_what_gaussian_samples_with_the_cost_in_their_variance_do(costs):
    channels = [bc.Channel.from_rows([[0.9, 0.1], [p, 1 - p]]) for p in (0.3, 0.31)]
    known = KnownChannels.of(channels, costs)
    found = bc.lower_bound(channels, 0.05, cost=costs).cost.per_nat
    assert found.lower < 1.03 * small_gap_time(known).time
    assert found.upper > 0.97 * small_gap_time(known).time


def test_dearer_input_gets_fewer_senses():
    channels = [q_ary_symmetric(3, 0.05), q_ary_symmetric(3, 0.1)]
    shares = bc.lower_bound(channels, 0.05, cost=[[1, 1, 10]] * 2).cost.allocation[0]
    assert shares[2] < 0.6 * shares[0]


def test_ties_cost_infinitely_much():
    assert bc.lower_bound([bsc(0.1), bsc(0.1)], 0.05, cost=[1, 2]).cost.lower_bound == math.inf
