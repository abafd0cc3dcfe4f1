"""Bets on a rival's senses: what they can lose is bounded from above, for every row and every input.

docs/theory/adaptive.md has the proofs. What is compared with is found by search, which can only fall short of the
largest loss: a bound below it is wrong.
"""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from bestchannel import capacity, mutual_information
from bestchannel.evidence.bets import GROUPS, LARGEST_INPUT, RivalAccount, rival_tilts, settle_senses
from bestchannel.information import NATS_PER_BIT
from bestchannel.native.evidence import bounded, climbed
from tests.evidence.choices import rival_bets
from tests.native.inner import merged, row_bound


def _row_bound(a, N, tau, logQ, s, logR, logw):
    return row_bound(a, N, tau, np.ascontiguousarray(logQ.T), s, logR, logw, 1e-4)


def row_loss(w, a, N, tau, logQ, s, logR):
    """f(w) as it is defined."""
    z = (w ** (1 - tau[:, None]) * np.exp(tau[:, None] * logQ)).sum(axis=1)
    return a @ np.log(w) + N @ np.log(z) + s * (w @ (np.log(w) - logR))


def random_row(seed):
    """A row under bets of any size, also with probabilities, counts and weights that no policy would have."""
    rng = np.random.default_rng(seed)
    n_epochs, n_outputs = rng.integers(1, 4), rng.integers(2, 7)
    p, omega = rng.uniform(1e-4, LARGEST_INPUT), rng.uniform(0.0, 1.0, n_epochs)
    N = 10 ** rng.uniform(0, 3, n_epochs)
    w = rng.dirichlet(np.full(n_outputs, rng.choice([0.2, 1.0, 5.0])))
    counts = sum(o * rng.multinomial(int(n), w) for o, n in zip(omega, N, strict=True))
    logQ = np.log(rng.dirichlet(np.ones(n_outputs), n_epochs) * 0.98 + 0.02 / n_outputs)
    logR = np.log(rng.dirichlet(np.ones(n_outputs)) * 0.98 + 0.02 / n_outputs)
    s = p * float(N @ omega) * 10 ** rng.uniform(-1, 0.3)
    return p * counts, N, p * omega, logQ, s, logR


def largest_found(row, rng, starts=3):
    """The largest loss that ascents from some rows find."""
    a, N, tau, logQ, s, logR = row

    def loss(logits):
        w = np.exp(logits - logits.max())
        return -row_loss(np.maximum(w / w.sum(), 1e-300), a, N, tau, logQ, s, logR)

    first = [np.log(a + 0.3), logR, *rng.normal(0.0, 2.0, (starts, len(a)))]
    return max(-minimize(loss, start, method="L-BFGS-B").fun for start in first)


@pytest.mark.parametrize("seed", range(25))
def test_no_row_loses_more_than_the_bound_of_its_row(seed):
    row, rng = random_row(seed), np.random.default_rng(seed)
    logw = np.log(np.full(len(row[0]), 1.0 / len(row[0])))
    bound = _row_bound(*row, logw)
    assert bound >= largest_found(row, rng) - 1e-6 * (1 + abs(bound))


def test_bound_of_a_row_is_hardly_too_large_where_bets_are_as_a_policy_makes_them():
    rng = np.random.default_rng(5)
    for _ in range(20):
        W, P = rng.dirichlet(np.ones(4)), 0.3
        N, omega = np.array([200.0, 300.0]), np.array([0.4, 0.5])
        counts = sum(o * rng.multinomial(int(n), W) for o, n in zip(omega, N, strict=True))
        Q = np.log(rng.dirichlet(np.full(4, 20.0), 2))
        row = P * counts, N, P * omega, Q, P * 100.0, Q[0]
        bound = _row_bound(*row, np.log(np.maximum(W, 1e-9)))
        assert largest_found(row, rng, 1) <= bound + 1e-6 <= largest_found(row, rng, 1) + 2e-3


def settle(account, weight, tilts, Q, counts):
    """Book a request for which the bets on the leader brought nothing."""
    account.settle(0, 0.0, weight)
    settle_senses([account], tilts[None], Q[None], counts[None])


def betting(seed, size=(3, 3), requests=6, shape=1.0):
    """An account after some requests, the true rows and inputs of its rival, and log of what the bets became."""
    rng = np.random.default_rng(seed)
    W = rng.dirichlet(np.full(size[1], shape), size[0]) * 0.97 + 0.03 / size[1]
    found = capacity(W, tol=1e-12)
    P, C = found.input, found.upper * NATS_PER_BIT
    account, log_wealth = RivalAccount(size), 0.0
    for _ in range(requests):
        N = rng.integers(5, 60, size[0]).astype(float)
        guess = 0.8 * W + 0.2 * rng.dirichlet(np.ones(size[1]), size[0])
        bet = np.array([10 ** rng.uniform(0, 1.3)])
        (tilts,), (Q,) = rival_tilts(guess[None], capacity(guess).input[None], N[None], bet)
        weight = float(rng.uniform(1, 15))
        counts = np.array([rng.multinomial(int(n), row) for n, row in zip(N, W, strict=True)], dtype=float)
        settle(account, weight, tilts, Q, counts)
        t = P * tilts
        z = (W ** (1 - t[:, None]) * Q ** t[:, None]).sum(axis=1)
        log_wealth -= (t[:, None] * counts * np.log(W / Q)).sum() + N @ np.log(z) + weight * C
    return account, W, P, log_wealth


@pytest.mark.parametrize("size", [(2, 2), (2, 4), (3, 3), (4, 2), (4, 4)], ids=str)
@pytest.mark.parametrize("seed", range(8))
def test_evidence_is_never_more_than_what_the_bets_became_at_the_truth(size, seed):
    account, W, P, log_wealth = betting(seed, size)
    for threshold in (-math.inf, log_wealth - 3.0, log_wealth, log_wealth + 1e-6):
        account.given_up = -math.inf
        proved = account.evidence(W, P, 0.0, threshold, False)
        assert proved <= log_wealth + 1e-6 or proved < threshold


def requests_of(account):
    """Senses, tilts and Q of every request."""
    n, history = len(account.charged), account.bets[2]
    return zip(history[:, :n], history[:, n : 2 * n], history[:, 2 * n :], strict=True)


def exact_loss(account, P, W):
    """What the bets lose at these inputs and rows, request by request."""
    lost = account.weight * mutual_information(P, W) * NATS_PER_BIT - P @ account.charged
    for N, tilts, Q in requests_of(account):
        t = (P * tilts)[:, None]
        lost += N @ np.log((W ** (1 - t) * Q**t).sum(axis=1))
    return lost + (P[:, None] * account.counts * np.log(W)).sum()


def few_senses(seed, requests=3):
    """A binary account of large bets on few senses: its rows may be anything, and where R is best there is a kink."""
    rng = np.random.default_rng(seed)
    W = rng.dirichlet([2.0, 0.2], 2) * 0.9 + 0.05
    account = RivalAccount((2, 2))
    for _ in range(requests):
        N = rng.integers(4, 12, 2)
        counts = np.array([rng.multinomial(n, row) for n, row in zip(N, W, strict=True)], dtype=float)
        settle(account, float(N.min()), rng.uniform(0.8, 1.0, 2), np.array([0.8, 0.2]), counts)
    return account, W


@pytest.mark.parametrize("seed", range(12))
def test_what_seems_to_be_lost_is_the_least_over_all_outputs(seed):
    account, W = few_senses(seed)
    bets, P, logR = account.bets, np.array([0.5, 0.5]), np.log(0.5 * W.sum(axis=0))
    lost = climbed(*bets, P, np.log(W), logR, LARGEST_INPUT)
    (counts, charged, _, weight, _), least = bets, math.inf
    senses, tilts, logQ = merged(GROUPS, 2, 2, bets[2])
    for first in np.linspace(0.005, 0.995, 199):
        R, total = np.log([first, 1.0 - first]), 0.0
        for x in range(2):
            row = P[x] * counts[x], senses[x], P[x] * tilts[x], logQ[x].T, P[x] * weight, R
            total += _row_bound(*row, np.log(W[x])) - P[x] * charged[x]
        least = min(least, total)
    assert lost <= least + 0.2


def test_the_bet_that_should_win_most_is_found_from_the_largest_weight_on():
    rng, sizes = np.random.default_rng(3), set()
    for _ in range(40):
        W = rng.dirichlet(np.ones(3), 3) * 0.9 + 0.1 / 3
        found = capacity(W)
        P, C, N = found.input, found.value * NATS_PER_BIT, rng.integers(10, 60, 3).astype(float)
        weights = rng.uniform(0.2, 1.5) * N.min() * np.array([1.0, 0.75, 0.5, 0.25])
        gap = float(rng.uniform(0.05, 0.3))
        gained = weights * (C + gap)
        rival = W[None], P[None], N[None], np.array([gap])
        alone = [rival_bets(*rival, weights[None, [i]], gained[None, [i]], False, [None])[0].growth for i in range(4)]
        (best,) = rival_bets(*rival, weights[None], gained[None], False, [None])
        assert alone[best.size] >= 0.95 * max(alone)
        sizes.add(best.size)
    assert len(sizes) > 2


@pytest.mark.parametrize("requests", [3, 9])
@pytest.mark.parametrize("seed", range(5))
def test_bound_is_above_every_loss_that_is_found(seed, requests):
    account, W, P, _ = betting(seed, (3, 4), requests)
    bets, rng = account.bets, np.random.default_rng(seed)
    start = P.copy(), np.log(W), np.log(P @ W)
    lost = climbed(*bets, *start, LARGEST_INPUT)
    bound = bounded(*bets, *start, LARGEST_INPUT, lost + 0.2, 400)[0]
    for _ in range(30):
        other = rng.dirichlet(np.full(3, 0.5)) * (1 - 1e-9) + 1e-9 / 3
        if other.max() <= LARGEST_INPUT:
            rows = np.log(W)  # they move to where most is lost at these inputs
            climbed(*bets, other, rows, np.log(other @ W), 0.0)
            rows = np.exp(rows) / np.exp(rows).sum(axis=1, keepdims=True)
            assert exact_loss(account, other, rows) <= bound + 1e-6


@pytest.mark.parametrize("seed", range(10))
def test_merged_requests_lose_at_least_as_much(seed):
    account, *_ = betting(seed, (3, 3), requests=30)
    rng = np.random.default_rng(seed)
    each_request = account.bets[2][:, :3]
    senses, tilts, logQ = merged(GROUPS, 3, 3, account.bets[2])
    assert senses.shape[1] < len(each_request)
    assert senses.sum(axis=1) == pytest.approx(each_request.sum(axis=0))
    for P, W in zip(rng.dirichlet(np.ones(3), 20), rng.dirichlet(np.ones(3), (20, 3)), strict=True):
        t = (P[:, None] * tilts)[..., None]
        together = (senses * np.log((W[:, None, :] ** (1 - t) * np.exp(t * logQ.swapaxes(1, 2))).sum(axis=2))).sum()
        each = 0.0
        for N, omega, Q in requests_of(account):
            t = (P * omega)[:, None]
            each += N @ np.log((W ** (1 - t) * Q**t).sum(axis=1))
        assert together >= each - 1e-9 * senses.sum()


def test_at_a_fixed_input_there_is_nothing_to_search():
    account, W, *_ = betting(3, (2, 3))
    fixed = np.array([0.9, 0.1])
    evidence = account.evidence(W, fixed, 0.0, -math.inf, True)
    assert account.worst[0] == pytest.approx(fixed)
    assert math.isfinite(evidence)


@pytest.mark.parametrize("size", [(1, 4), (4, 1)], ids=str)
def test_rival_without_capacity_loses_nothing(size):
    account = RivalAccount(size)
    account.settle(0, 2.5, 10.0)
    assert account.evidence(np.zeros((0, 0)), np.zeros(0), 0.0, 1.0, False) == 2.5


def test_weight_on_the_leader_without_senses_of_the_rival_is_charged_in_full():
    account = RivalAccount((2, 4))
    account.settle(0, 2.5, 10.0)
    assert account.evidence(np.full((2, 4), 0.25), np.array([0.5, 0.5]), 0.0, 0.0, False) == pytest.approx(
        2.5 - 10 * math.log(2)
    )
