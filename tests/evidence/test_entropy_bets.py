"""Bets with moments of a stable law: their means are bounded by the entropy of any row, exactly and nearly tightly."""

import math
from itertools import product

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import digamma
from scipy.stats import levy_stable, multinomial, poisson

from bestchannel.evidence.entropy_bets import information_bet, log_moments, log_terms, spread_input

MEANS = np.array([1e-3, 0.1, 0.5, 1.0, 2.0, 5.0, 20.0, 60.0])
FAMILIES = [(1.0, 0.1), (1.0, 0.9), (0.4, 0.05), (-0.3, 0.2), (2.5, 0.3), (-2.0, 0.5)]


def terms_at(N, tau, b, moments=log_terms):
    N = np.asarray(N, dtype=float)
    return moments(N, np.full(N.shape, tau), np.full(N.shape, b))


def log_means(terms, tau, b):
    """log E v_N - (τ - 1)μ - bμ log μ of Poisson counts."""
    weights = poisson.pmf(np.arange(len(terms)), MEANS[:, None])
    return np.log(weights @ np.exp(terms)) - (tau - 1.0) * MEANS - b * MEANS * np.log(MEANS)


@pytest.mark.parametrize(("tau", "b"), [(1.0, 0.3), (0.2, 0.5), (-0.3, 0.4)])
def test_moments_are_those_of_the_stable_law(tau, b):
    # E e^(νS) = e^(bν log ν) is the stable law of index 1, skewness -1 and scale πb/2 [Samorodnitsky, Taqqu, Prop. 1.2.12]
    law = levy_stable(1.0, -1.0, loc=tau, scale=math.pi * b / 2.0)
    for N in range(3):
        expected = quad(lambda t, N=N: t**N * law.pdf(t), 0.0, tau + 12.0 * b, limit=200)[0]
        assert math.exp(terms_at([N], tau, b, log_moments)[0]) == pytest.approx(expected, rel=1e-5)


def test_moments_of_small_weights_are_the_digamma_estimate_of_entropy():
    N, b = np.arange(1.0, 40.0), 1e-6
    assert terms_at(N, 1.0, b)[1:] / b == pytest.approx((N * digamma(N))[1:], abs=1e-3)


@pytest.mark.parametrize(("tau", "b"), FAMILIES)
@pytest.mark.parametrize("moments", [log_moments, log_terms])
def test_mean_for_poisson_counts_is_below_the_bound_whatever_their_mean(tau, b, moments):
    assert (log_means(terms_at(np.arange(400), tau, b, moments), tau, b) < 1e-9).all()


def test_mean_is_near_the_bound_but_for_rare_letters_and_the_line_helps_these():
    plain, touched = (log_means(terms_at(np.arange(400), 1.0, 0.1, m), 1.0, 0.1) for m in (log_moments, log_terms))
    assert (touched[3:] > -2e-3).all()
    assert (touched[:5] > plain[:5]).all()
    assert touched[2] > 0.25 * plain[2]


def test_entropy_of_the_counts_themselves_is_no_such_bet():
    N = np.arange(400.0)
    assert log_means(0.1 * N * np.log(np.maximum(N, 1.0)), 1.0, 0.1).max() > 0.02


def test_terms_are_convex_in_the_count_so_that_fixed_numbers_of_senses_are_no_worse_than_poisson_ones():
    # the ratio of weight and unit is all that matters; between these 1,000 the margin moves by less than a thousandth
    b = np.linspace(1e-3, 1.0, 1000)[:, None]
    terms = log_terms(*np.broadcast_arrays(np.arange(40.0), 1.0, b))
    margins = np.diff(terms, 2, axis=1) / b
    assert margins.min() > 0.004
    assert np.abs(np.diff(margins[:, :3], axis=0)).max() < 4e-3
    N, far = np.arange(300.0), (-0.5, 0.3)
    assert (np.diff(terms_at(N, *far), 2) > 0.0).all()


def outcomes(n, m):
    return [np.array(k, dtype=float) for k in product(range(n + 1), repeat=m) if sum(k) == n]


@pytest.mark.parametrize("weight", [0.5, 6.0])
@pytest.mark.parametrize("kind", ["apart", "equal", "useless input", "zeros"])
def test_exact_mean_of_the_bet_is_at_most_that_of_the_information(weight, kind):
    rows = {
        "apart": [[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]],
        "equal": [[0.5, 0.3, 0.2], [0.5, 0.3, 0.2]],
        "useless input": [[0.9, 0.05, 0.05], [1 / 3, 1 / 3, 1 / 3]],
        "zeros": [[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]],
    }
    W, P = np.array(rows[kind]), np.array([0.4, 0.6])
    V = 0.8 * W + 0.2 / 3.0
    information = sum(p * w * math.log(w / q) for p, row in zip(P, W, strict=True)
                      for w, q in zip(row, P @ W, strict=True) if w > 0.0)  # fmt: skip
    mean = 0.0
    for k, j in product(outcomes(4, 3), outcomes(5, 3)):
        chance = multinomial.pmf(k, 4, W[0]) * multinomial.pmf(j, 5, W[1])
        if chance > 0.0:
            mean += chance * math.exp(information_bet(np.array([k, j]), V, P, weight))
    assert mean <= math.exp(weight * information)
    assert weight > 1.0 or mean > 0.7 * math.exp(weight * information)  # and is not a bound without content


def test_bets_of_few_senses_and_of_very_many_are_numbers():
    P, V = np.array([0.5, 0.5]), np.array([[0.6, 0.4], [0.3, 0.7]])
    for counts in ([[1, 0], [0, 1]], [[10**9, 5], [7 * 10**8, 3 * 10**8]]):
        for weight in (0.01, 5.0, 1e4):
            assert math.isfinite(information_bet(np.array(counts, dtype=float), V, P, weight))


def test_input_for_rows_is_the_best_where_much_is_known_and_even_where_little_is():
    V = np.array([[0.98, 0.02], [0.5, 0.5], [0.02, 0.98]])
    assert spread_input(V, np.full(3, 1e9), 5.0) == pytest.approx([0.5, 0.0, 0.5], abs=1e-3)
    V = np.array([[0.9, 0.05, 0.05], [0.05, 0.9, 0.05], [0.2, 0.3, 0.5]])
    assert spread_input(V, np.full(3, 1e9), 5.0).min() < 0.2
    assert spread_input(V, np.full(3, 10.0), 40.0).min() > 0.28
