"""The pieces of the certificate: each bound lies below everything that it claims to bound, and near the least of it."""

import numpy as np
import pytest
from scipy.special import rel_entr

import bestchannel as bc
from bestchannel.lower_bound.alternatives import Leader
from bestchannel.native.lower_bound import Side
from tests.lower_bound.second_opinion import NATS_PER_BIT, GridGame, row_divergences
from tests.native.inner import divergence_difference_row, divergence_sum_row, phi_at, tilted_row

ROUNDING = 1e-12


def a_row(rng, m, *, zeros=False):
    W = rng.dirichlet(np.full(m, 0.7))
    if zeros:
        W[rng.integers(m)] = 0.0
    return W / W.sum()


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("t", [0.0, 0.1, 1.0, 20.0])
def test_difference_of_divergences_bounds_every_law_and_is_nearly_reached(t, zeros):
    rng = np.random.default_rng(3)
    for _ in range(10):
        W, Q, w = a_row(rng, 3, zeros=zeros), a_row(rng, 3), rng.uniform(0.1, 1)
        base = w * np.sum(rel_entr(W, 1.0))
        found = np.empty(3)
        bound = base + divergence_difference_row(w * W, w, t, np.log(Q), np.zeros(3), np.ones(3), found, 1e-6)
        laws = np.concatenate([rng.dirichlet(np.full(3, c), size=20000) for c in (0.2, 1.0)] + [W[None], np.eye(3)])
        values = w * rel_entr(W, laws).sum(axis=1) - t * rel_entr(laws, Q).sum(axis=1)
        assert bound <= values.min() + ROUNDING
        assert found.sum() == pytest.approx(1.0, abs=1e-9)
        found /= found.sum()
        reached = w * rel_entr(W, found).sum() - t * rel_entr(found, Q).sum()
        assert bound <= reached + ROUNDING <= bound + 2e-6


def test_difference_of_divergences_keeps_to_its_ranges():
    rng = np.random.default_rng(4)
    W, Q, w, t = np.array([0.5, 0.3, 0.2]), np.full(3, 1 / 3), 0.5, 2.0
    low, high = np.array([0.3, 0.1, 0.0]), np.array([0.6, 0.4, 0.3])
    base, found = w * np.sum(rel_entr(W, 1.0)), np.empty(3)
    bound = base + divergence_difference_row(w * W, w, t, np.log(Q), low, high, found, 1e-6)
    laws = rng.dirichlet(np.ones(3), size=200_000)
    laws = laws[np.all((laws >= low) & (laws <= high), axis=1)]
    values = w * rel_entr(W, laws).sum(axis=1) - t * rel_entr(laws, Q).sum(axis=1)
    everywhere = base + divergence_difference_row(w * W, w, t, np.log(Q), np.zeros(3), np.ones(3), found, 1e-6)
    assert bound <= values.min() <= bound + 0.01
    assert everywhere < bound - 0.1


@pytest.mark.parametrize("zeros", [False, True])
def test_tilted_row_is_the_least_of_cost_and_tilt(zeros):
    rng = np.random.default_rng(5)
    for _ in range(20):
        W, w, h = a_row(rng, 4, zeros=zeros), rng.uniform(0.1, 1), rng.normal(size=4)
        v = np.empty(4)
        bound = tilted_row(w * W, w, h, v)
        laws = rng.dirichlet(np.ones(4), size=5000)
        assert bound <= (w * rel_entr(W, laws).sum(axis=1) + laws @ h).min() + ROUNDING
        assert w * rel_entr(W, v).sum() + v @ h == pytest.approx(bound, abs=1e-9)


@pytest.mark.parametrize("t", [0.01, 1.0, 50.0])
def test_sum_of_divergences_is_the_cheapest_law(t):
    rng = np.random.default_rng(6)
    for _ in range(20):
        W, Q, w = a_row(rng, 3, zeros=True), a_row(rng, 3), rng.uniform(0.1, 1)
        v = np.empty(3)
        divergence_sum_row(w * W, w, t, np.log(Q), v)
        others = 0.99 * v + 0.01 * rng.dirichlet(np.ones(3), size=1000)
        costs = [w * rel_entr(W, laws).sum(axis=-1) + t * rel_entr(laws, Q).sum(axis=-1) for laws in (v, others)]
        assert costs[0] <= costs[1].min() + ROUNDING


@pytest.mark.parametrize("price", [1e-4, 0.03, 0.5, 5.0])
def test_leader_at_a_price_is_bounded_from_below_and_nearly_reached(price):
    rng = np.random.default_rng(7)
    W, w = np.array([[0.8, 0.1, 0.1], [0.1, 0.6, 0.3]]), np.array([0.3, 0.4])
    leader = Leader(W, w, bc.capacity(W))
    phi = phi_at(leader.curve, price)

    def cost(u):
        return w @ row_divergences(W, u) + price * bc.capacity(u).upper * NATS_PER_BIT

    flat = W.mean(axis=0)
    between = [(1 - share) * W + share * flat for share in np.linspace(0, 1, 30)]
    anywhere = [(1 - c) * W + c * rng.dirichlet(np.ones(3), size=2) for c in 10 ** rng.uniform(-3, 0, size=100)]
    i = int(np.searchsorted(leader.curve.s, price))
    assert phi <= min(map(cost, between + anywhere))
    assert cost(leader.curve.u[i]) == pytest.approx(leader.curve.phi[i], rel=0.15)
    assert phi >= leader.curve.phi[i - 1]


BEST, RIVAL = (0.1, 0.7), (0.3, 0.85)


def pair_with(w):
    rows = [np.array([[1 - a, a], [1 - b, b]]) for a, b in (BEST, RIVAL)]
    leader = Leader(rows[0], np.array(w[:2]), bc.capacity(rows[0]))
    return leader, rows[1], np.array(w[2:])


@pytest.mark.parametrize("w", [[0.25] * 4, [0.7, 0.1, 0.1, 0.1], [0.01, 0.01, 0.49, 0.49]])
def test_pair_is_proved_to_have_nearly_the_value_of_the_grid_and_never_more(w):
    # the grid is dearer than the true minimum by less than 2 %
    leader, W, weights = pair_with(w)
    value = GridGame(BEST, RIVAL).cheapest(w)
    guess = (W + 0.2 * np.eye(2)) / 1.2
    assert leader.prove(W, weights, guess, 0.97 * value, most_boxes=500).proved
    for alarm in (False, True):
        above = leader.prove(W, weights, guess, 1.001 * value, most_boxes=500, alarm=alarm)
        assert not above.proved
        assert above.bound <= value


def test_guess_changes_the_work_and_not_the_validity():
    leader, W, weights = pair_with([0.25] * 4)
    value = GridGame(BEST, RIVAL).cheapest([0.25] * 4)
    for guess in (np.eye(2) * 0.98 + 0.01, np.full((2, 2), 0.5), W[::-1]):
        assert leader.prove(W, weights, guess, 0.95 * value, most_boxes=500).proved
        assert not leader.prove(W, weights, guess, 1.001 * value, most_boxes=500, alarm=False).proved


def test_alarm_names_a_pair_that_costs_less_than_the_target():
    leader, W, weights = pair_with([0.25] * 4)
    proof = leader.prove(W, weights, W, 1.5 * GridGame(BEST, RIVAL).cheapest([0.25] * 4), most_boxes=500)
    assert proof.doubt is not None
    C_v = bc.capacity(proof.doubt.v, normalize=True)
    assert C_v.lower > bc.capacity(W).upper


def test_one_box_gives_a_valid_bound():
    leader, W, weights = pair_with([0.25] * 4)
    value = GridGame(BEST, RIVAL).cheapest([0.25] * 4)
    bound = leader.prove(W, weights, W, 0.99 * value, most_boxes=1, alarm=False).bound
    assert 0.0 < bound <= value


def test_side_leaves_out_probabilities_that_rounding_swallows():
    side = Side.of(np.array([[1.0, 1e-20]]), np.array([0.5]))
    assert side.a.tolist() == [[0.5, 0.0]]
    assert side.base == 0.0
