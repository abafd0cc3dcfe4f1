"""The library's brackets against those of simple, different implementations: both hold, so they overlap."""

import numpy as np
import pytest

import bestchannel as bc
from tests.reference import blahut_arimoto

# The second implementations sum at most 2 x 12 terms of size <= log2 12 in doubles.
ROUNDING = 100 * np.finfo(float).eps

SHAPES = [(2, 2), (2, 5), (5, 2), (3, 3), (4, 4), (7, 3), (3, 7), (12, 12)]
CONCENTRATIONS = [0.1, 0.5, 1.0, 10.0]

CASES = [(n, m, c, seed) for seed, (n, m) in enumerate(SHAPES) for c in CONCENTRATIONS]


def random_rows(n, m, concentration, seed):
    W = np.random.default_rng([n, m, seed]).dirichlet(np.full(m, concentration), size=n)
    W = np.maximum(W, 1e-12)
    return W / W.sum(axis=1, keepdims=True)


def overlap(answer, other):
    lower, upper = other
    return answer.lower <= upper + ROUNDING and lower <= answer.upper + ROUNDING


@pytest.mark.parametrize(("n", "m", "concentration", "seed"), CASES)
def test_capacity_agrees_with_blahut_and_arimoto(n, m, concentration, seed):
    W = random_rows(n, m, concentration, seed)
    answer, other = bc.capacity(W), blahut_arimoto.capacity(W)
    assert answer.converged
    assert overlap(answer, other)
    assert other[1] - other[0] < 1e-3  # the comparison says something


@pytest.mark.parametrize(("n", "m", "concentration", "seed"), [case for case in CASES if case[0] * case[1] <= 25])
def test_capacity_agrees_with_the_dual_minimax(n, m, concentration, seed):
    W = random_rows(n, m, concentration, seed)
    answer, upper = bc.capacity(W), blahut_arimoto.dual_upper_bound(W)
    # SLSQP stops at a change of 1e-6; its point is an upper bound in any case
    assert answer.lower - ROUNDING <= upper <= answer.upper + 1e-3


@pytest.mark.parametrize(("n", "m", "concentration", "seed"), CASES)
@pytest.mark.parametrize("share", [1.0, 0.03])
def test_pseudo_capacity_agrees_with_alternating_projections(n, m, concentration, seed, share):
    W, eta = random_rows(n, m, concentration, seed), share / (2 * m)
    answer, other = bc.pseudo_capacity(W, eta), blahut_arimoto.pseudo_capacity(W, eta, steps=200)
    assert answer.converged
    assert overlap(answer, other)
    assert other[1] - other[0] < 2e-2


@pytest.mark.parametrize(("n", "m", "concentration", "seed"), [case for case in CASES if case[2] in (0.5, 1.0)])
@pytest.mark.parametrize("share", [0.1, 0.6])
def test_capacity_under_a_cost_agrees_with_a_search_over_the_price(n, m, concentration, seed, share):
    W = random_rows(n, m, concentration, seed)
    cost = np.random.default_rng(seed).uniform(-1.0, 3.0, n)
    budget = cost.min() + share * np.ptp(cost)
    answer = bc.capacity(W, cost=cost, budget=budget)
    other = blahut_arimoto.capacity_under_cost(W, cost, budget, gap=1e-4, steps=100)
    assert answer.converged
    assert overlap(answer, other)
    assert other[1] - other[0] < 2e-2


def test_the_comparison_would_notice_an_error_of_a_thousandth():
    # the sabotaged twin: a channel a little better than the one that is compared
    W = random_rows(4, 4, 1.0, 0)
    better = 0.99 * W + 0.01 * np.eye(4)
    assert not overlap(bc.capacity(better), blahut_arimoto.capacity(W))
