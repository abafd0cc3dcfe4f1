"""Linear bets on pairs of answers: proved bounds, and e-values that hold under any dependence within a trial."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from bestchannel.counts.joint_trials import AnswerPairs
from bestchannel.evidence.pair_bets import (
    CAP,
    LARGEST_INPUT,
    LEAST_FACTOR,
    PairBets,
    PairShuffles,
    pair_evidence,
)
from bestchannel.evidence.recorded_channel import softmax
from bestchannel.native import pairs as kernels
from tests.statistical.joint_trials import DELTA, answered, limit, log_e_values, tied

NATS = math.log(20.0)


def trials(size, rho, n=80, seed=0, worse=0.0):
    rng = np.random.default_rng(seed)
    better = tied(size, rng)[0]
    x = np.repeat(np.arange(size), n)
    y = answered(rng, [better, (1 - worse) * better + worse / size], x, rho)
    return AnswerPairs(x, y[:, 0], x, y[:, 1], None)


def shuffles(size, rho, **more):
    return PairShuffles.of(trials(size, rho, **more), [(size, size)] * 2)


def row_loss(terms, x, p, log_R, w):
    """The loss of a row, by the formula of pair_rows.h, letter by letter."""
    m = len(terms.drift)
    value = terms.level[x] + p * terms.slope[x] + p * float(w @ (terms.drift - terms.weight * log_R))
    own = slice(terms.first[x * m], terms.first[(x + 1) * m])
    log_w = np.repeat(np.log(w), np.diff(terms.first)[x * m : (x + 1) * m])
    factors = terms.alpha[own] + p * (terms.beta[own] - terms.kappa[own] * log_w)
    return value - float(terms.often[own] @ np.log(factors))


@pytest.mark.parametrize(("size", "p"), [(2, 0.6), (3, 0.02), (4, 0.25), (4, 0.63)])
def test_the_bound_of_a_row_is_the_largest_loss_that_another_optimiser_finds(size, p):
    bets = PairBets.placed(shuffles(size, 0.5, n=60), NATS, LARGEST_INPUT, CAP)
    terms = bets.account(np.full(len(bets.weights), 1.0 / len(bets.weights)))
    rng = np.random.default_rng(3)
    for x in range(size):
        log_R = np.log(rng.dirichlet(np.full(size, 5.0)))
        bound = kernels.row(terms, x, p, log_R, np.log(bets.W[x]))
        starts = [bets.W[x], np.full(size, 1.0 / size), rng.dirichlet(np.ones(size))]
        found = max(_climbed(terms, x, p, log_R, start) for start in starts)
        assert found - 1e-9 <= bound <= found + 1e-4


def _climbed(terms, x, p, log_R, start):
    """The largest loss that is found from a row on, over logits."""

    def fall(z):
        return -row_loss(terms, x, p, log_R, np.maximum(softmax(z), 1e-12))

    return -minimize(
        fall, np.log(start), method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-10, "maxiter": 4000}
    ).fun


@pytest.mark.parametrize("size", [2, 3, 5])
def test_no_rows_and_inputs_leave_less_than_the_evidence(size):
    """A search over (P, W) by another optimiser finds no smaller mean over shuffles."""
    drawn = shuffles(size, 0.5, n=50, worse=0.2)
    bets, proved = PairBets.placed(drawn, NATS, LARGEST_INPUT, CAP), pair_evidence(drawn, NATS).log_value()
    rng = np.random.default_rng(1)

    def log_mean(z):
        P, W = softmax(z[:size]), np.array([softmax(row) for row in z[size:].reshape(size, size)])
        if P.max() > LARGEST_INPUT:
            return 1e3
        lost = bets.losses(P, np.log(np.maximum(W, 1e-12)))
        return -lost.min() + math.log(np.exp(lost.min() - lost).mean())

    starts = [np.concatenate([np.log(bets.P), np.log(bets.W).ravel()])]
    starts += [np.concatenate([rng.normal(0, 0.5, size), np.log(bets.W).ravel() + rng.normal(0, 0.5, size * size)])
               for _ in range(4)]  # fmt: skip
    least = min(minimize(log_mean, start, method="Powell", options={"maxiter": 8}).fun for start in starts)
    assert proved <= least + 1e-9
    assert proved >= least - 0.6  # and not by much


def test_all_factors_are_positive_whatever_the_answers_rows_and_inputs():
    for size, n in ((2, 20), (4, 40), (6, 25)):
        bets = PairBets.placed(shuffles(size, 0.9, n=n), 8.0, LARGEST_INPUT, CAP)
        for p in (0.0, LARGEST_INPUT):
            at_one = bets.constant + p * bets.lift + p * bets.kappa * bets.log_Q.min(axis=2)[..., None]
            assert (at_one + bets.paid.min(axis=3)).min() >= LEAST_FACTOR - 1e-12


@pytest.mark.parametrize(("size", "rho", "draws"), [(2, -0.9, 150), (2, 0.9, 150), (3, 0.0, 60)])
def test_e_values_of_ties_are_at_most_1_on_average_and_seldom_large_under_any_dependence(size, rho, draws):
    e = np.exp(np.fromiter(log_e_values(size, rho, draws), float))
    assert e.mean() - 5.0 * e.std() / math.sqrt(draws) <= 1.0
    assert limit((e > 1.0 / DELTA).sum(), draws) <= DELTA


@pytest.mark.parametrize("of_a", [(1, 2), (1, 3), (2, 1)])
def test_a_useless_channel_is_no_better_than_one_of_a_single_input_or_output(of_a):
    rng = np.random.default_rng(5)
    for _ in range(10):
        b, a = (rng.integers(0, (2, 2), (400, 2)).T, rng.integers(0, of_a, (400, 2)).T)
        drawn = PairShuffles.of(AnswerPairs(*b, *a, None), [(2, 2), of_a])
        assert pair_evidence(drawn, NATS).log_value() < NATS


def test_copies_of_trials_make_e_values_of_ties_too_large_unless_they_are_groups():
    """The twin, which shows that the test above can fail."""
    copied, grouped = (np.exp(np.fromiter(log_e_values(2, 0.9, 100, 1, 16, groups), float)) for groups in (False, True))
    assert limit((copied > 20.0).sum(), 100) > 0.05
    assert limit((grouped > 20.0).sum(), 100) <= 0.05
    assert grouped.mean() - 5.0 * grouped.std() / 10.0 <= 1.0


def test_numbers_of_letters_do_not_matter():
    pairs, rng = trials(4, 0.5, worse=0.3), np.random.default_rng(2)
    x_of, y_of = rng.permutation(4), rng.permutation(4)
    renamed = pairs._replace(x_a=x_of[pairs.x_a], y_b=y_of[pairs.y_b])
    values = [pair_evidence(PairShuffles.of(some, [(4, 4)] * 2), NATS).log_value() for some in (pairs, renamed)]
    assert values[0] == pytest.approx(values[1], abs=1e-6)


def test_inputs_may_differ_between_the_channels_of_a_trial():
    rng = np.random.default_rng(4)
    x = rng.permuted(np.repeat(np.arange(2), 800).reshape(1, -1).repeat(2, axis=0), axis=1)
    good, bad = (np.where(rng.random(1600) < error, 1 - x[j], x[j]) for j, error in enumerate((0.02, 0.2)))
    found = pair_evidence(PairShuffles.of(AnswerPairs(x[0], good, x[1], bad, None), [(2, 2)] * 2), NATS)
    assert found.log_value() > 20.0
    wrong = pair_evidence(PairShuffles.of(AnswerPairs(x[1], bad, x[0], good, None), [(2, 2)] * 2), NATS)
    assert wrong.log_value() < 0.0
