"""The approximation of T* for small gaps."""

import numpy as np
import pytest
from scipy.optimize import minimize

from bestchannel import Channel
from bestchannel.lower_bound.characteristic_time import characteristic_time
from bestchannel.lower_bound.known_channels import KnownChannels, gaussian_time, input_deviations, small_gap_time


def bsc(p):
    return Channel.from_rows([[1 - p, p], [p, 1 - p]])


@pytest.mark.parametrize(("gap", "sigma", "tau"), [(0.1, 1.0, 2.0), (0.01, 0.3, 0.3), (0.5, 2.0, 0.1)])
def test_two_arms_take_twice_the_squared_sum_of_deviations_over_the_squared_gap(gap, sigma, tau):
    answer = gaussian_time(np.array([gap]), np.array([tau, sigma]), [(1, 0)])
    assert answer.time == pytest.approx(2 * (sigma + tau) ** 2 / gap**2, rel=1e-9)
    assert answer.shares == pytest.approx(np.array([tau, sigma]) / (sigma + tau), rel=1e-6)


def test_four_arms_agree_with_a_search_over_the_shares():
    gaps, sigmas = np.array([0.0, 0.1, 0.15, 0.3]), np.array([1.0, 0.5, 1.5, 2.0])

    def worth(logits):
        w = np.exp(logits) / np.exp(logits).sum()
        return -np.min(gaps[1:] ** 2 / 2 / (sigmas[0] ** 2 / w[0] + sigmas[1:] ** 2 / w[1:]))

    found = min(
        (minimize(worth, start, method="Nelder-Mead", options={"maxfev": 4000, "fatol": 1e-12, "xatol": 1e-8})
         for start in np.random.default_rng(1).normal(size=(5, 4))),
        key=lambda each: each.fun,
    )  # fmt: skip
    answer = gaussian_time(gaps[1:], sigmas, [(0, 1), (0, 2), (0, 3)])
    assert answer.time == pytest.approx(-1 / found.fun, rel=1e-4)
    assert -worth(np.log(answer.shares)) == pytest.approx(1 / answer.time, rel=1e-6)


def test_deviation_of_a_bsc_is_the_one_of_its_log_likelihood_ratio():
    # P* = (1/2, 1/2); under either input log(W/Q*) takes two values that are log((1-p)/p) apart
    p = 0.2
    deviations = input_deviations(bsc(p).W, KnownChannels.of([bsc(p)]).capacities[0])
    assert deviations == pytest.approx([0.5 * np.sqrt(p * (1 - p)) * np.log((1 - p) / p)] * 2, rel=1e-6)


def test_approximation_meets_the_bracket_as_the_gap_closes():
    far, near = KnownChannels.of([bsc(0.1), bsc(0.2)]), KnownChannels.of([bsc(0.1), bsc(0.102)])
    T = characteristic_time(near)
    assert 0.99 * T.lower < small_gap_time(near).time < 1.01 * T.upper
    assert small_gap_time(far).time < 0.97 * characteristic_time(far).lower


def test_channels_that_can_never_be_the_best_do_not_count():
    one_input = Channel.from_rows([[0.5, 0.5]])
    with_it, without = KnownChannels.of([bsc(0.1), one_input, bsc(0.2)]), KnownChannels.of([bsc(0.1), bsc(0.2)])
    assert small_gap_time(with_it).time == pytest.approx(small_gap_time(without).time, rel=1e-12)
    assert small_gap_time(with_it).shares[1] == 0.0


def test_ties_take_infinitely_long_and_one_channel_no_time():
    assert small_gap_time(KnownChannels.of([bsc(0.1), bsc(0.9)])).time == np.inf
    assert small_gap_time(KnownChannels.of([bsc(0.1)])).time == 0.0
