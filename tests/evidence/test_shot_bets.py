"""Linear bets on shots, against a second implementation: M written out, and its least value over a fine grid."""

import itertools

import numpy as np
import pytest

import bestchannel as bc
from bestchannel.evidence.shot_bets import FLOOR, PairAccount, shot_bets

LARGEST_INPUT = 1.0 - np.exp(-1.0)
SHOTS = np.array([60.0, 80.0])


def rows(*flips):
    return np.array([[[1.0 - p, p], [q, 1.0 - q]] for p, q in flips])


def bets_on(V, W, weight, lean=0.0):
    """Bets on joint rows of V and W with a little dependence."""
    J = V[:, :, None] * W[:, None, :] + lean * np.array([[1.0, -1.0], [-1.0, 1.0]])
    P_b, P_a = bc.capacity(V).input, bc.capacity(W).input
    return J, P_b, shot_bets(J[None], P_b, P_a[None], SHOTS, np.array([weight]))


def log_M(P, W, S, requests):
    """What the bets are worth at inputs P and rows W of the rival, as docs/theory/joint-trials.md has it."""
    total = -S * float((W * np.log(W / (P @ W)) * P[:, None]).sum())
    for counts, P_b, bets in requests:
        N, s, Q = counts.sum(axis=(1, 2)), bets.weights[0], bets.outputs[0]
        nu = bets.levels[0] + bets.slopes[0] * P
        g = np.log(bets.auxiliary[0] / (P_b @ bets.auxiliary[0]))
        pays = P_b[:, None, None] * g[:, :, None] - P[:, None, None] * np.log(W / Q)[:, None, :]
        f = nu[:, None, None] + s / N[:, None, None] * pays
        total += (counts * np.log(f)).sum() - (N * (nu - 1.0)).sum() + s * (P[:, None] * W * np.log(W / Q)).sum()
    return total


@pytest.mark.parametrize(("seed", "lean"), [(1, 0.0), (2, 0.02), (3, -0.003)])
def test_evidence_is_the_least_value_of_the_bets_over_all_rows_and_inputs(seed, lean):
    (V, W), rng, account, requests = rows((0.03, 0.06), (0.12, 0.2)), np.random.default_rng(seed), None, []
    account = PairAccount((2, 2))
    for weight in (8.0, 15.0):
        J, P_b, bets = bets_on(V, W, weight, lean)
        counts = np.array([rng.multinomial(int(n), law.ravel()).reshape(2, 2) for n, law in zip(SHOTS, J, strict=True)])
        account.settle(0, bets, 0, counts)
        requests.append((counts, P_b, bets))
    found = account.evidence(W, bc.capacity(W).input.copy(), 0.0, -50.0)
    values = [
        log_M(np.array([p, 1.0 - p]), rows((first, second))[0], account.weight, requests)
        for p, first, second in itertools.product(
            np.linspace(1.0 - LARGEST_INPUT, LARGEST_INPUT, 15), np.linspace(0.02, 0.4, 60), np.linspace(0.02, 0.5, 60)
        )
    ]
    assert min(values) - 0.1 <= found <= min(values)
    assert account.proved_evidence(W, bc.capacity(W).input.copy(), False) <= min(values)


def test_no_bet_falls_below_its_floor_whatever_the_answers_rows_and_inputs():
    _, _, bets = bets_on(*rows((0.001, 0.002), (0.3, 0.4)), weight=1e3)
    s, levels, slopes, Q = bets.weights[0], bets.levels[0], bets.slopes[0], bets.outputs[0]
    assert s > 0.0
    for p in (0.0, LARGEST_INPUT):
        least = levels + slopes * p + bets.scores[0].min(axis=1) + p * s / SHOTS * np.log(Q.min())
        assert (least >= FLOOR - 1e-12).all()


def test_the_mean_of_a_bet_does_not_depend_on_the_joint_law():
    V, W = rows((0.05, 0.1), (0.1, 0.2))
    J, P_b, bets = bets_on(V, W, 10.0)
    P = bc.capacity(W).input
    g = np.log(bets.auxiliary[0] / (P_b @ bets.auxiliary[0]))
    pays = P_b[:, None, None] * g[:, :, None] - P[:, None, None] * np.log(W / bets.outputs[0])[:, None, :]
    leaning = J + 0.004 * np.array([[1.0, -1.0], [-1.0, 1.0]])
    np.testing.assert_allclose((J * pays).sum(axis=(1, 2)), (leaning * pays).sum(axis=(1, 2)), atol=1e-12)
