"""The rival's part: no proof beyond what the truth, or any P and rows that a search finds, allows; and close to it."""

import dataclasses
import itertools
import math

import numpy as np
import pytest

from bestchannel.verification import rival_check
from bestchannel.verification.rival_check import (
    LARGEST,
    InputBoxes,
    beginning,
    bounded,
    exceeds,
    least_found,
    payoffs,
    shells,
)
from bestchannel.verification.rival_rows import Rows, SensedRival, profile, value
from tests.verification.hostile_rows import bounds_and_found
from tests.verification.sensed import best_input, payoff, requests_about, rows_like, sensed

SITUATIONS = [
    (shape, seed, noise)
    for shape, noise in [((2, 2), None), ((2, 2), 0.2), ((3, 2), None), ((2, 4), 0.1), ((4, 4), None), ((4, 4), 0.15)]
    for seed in range(2)
]


def rival_of(situation, **options):
    shape, seed, noise = situation
    return sensed(shape, seed, noise=noise, **options)


def climb(rival, P, W, rng, steps=600):
    """A larger payoff than at P and W, by random steps that are kept if they gain."""
    best, size = payoff(rival, P, W), 0.3
    for _ in range(steps):
        P_near = P * np.exp(size * rng.normal(size=P.shape))
        W_near = W * np.exp(size * rng.normal(size=W.shape))
        P_near, W_near = P_near / P_near.sum(), W_near / W_near.sum(axis=1, keepdims=True)
        reached = payoff(rival, P_near, W_near) if P_near.max() <= LARGEST else -math.inf
        size = min(1.5 * size, 1.0) if reached > best else max(0.95 * size, 1e-3)
        if reached > best:
            P, W, best = P_near, W_near, reached
    return best


# --- rows -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_no_hostile_row_exceeds_its_bound(seed):
    bounds, found = bounds_and_found(seed, starts=4)
    assert (found <= bounds + 1e-9 * (1.0 + np.abs(bounds))).all()
    assert np.quantile(bounds - found, 0.9) < 0.05  # and the bounds are not empty


def test_row_without_senses_may_be_anything():
    nothing = SensedRival(np.zeros((1, 1)), np.ones((1, 1)), np.log([[0.2, 0.8]]), np.zeros((1, 2)), np.zeros(1), 3.0)
    log_R = np.log([[0.1, 0.9]])
    rows = Rows.of(nothing, np.array([0]), np.array([0.4]), log_R)
    bound = rival_check.upper(rows, profile(rows, np.log([[0.5, 0.5]])), np.array([1e-6]), np.array([np.inf]))
    assert bound[0] == pytest.approx(0.4 * 3.0 * math.log(10.0), rel=1e-6)  # D at the vertex of the least R


# --- the martingale ---------------------------------------------------------------------------


def counts_of(senses, n_outputs):
    return [c for c in itertools.product(range(senses + 1), repeat=n_outputs) if sum(c) == senses]


def mean_of_factor(W, P, tilts, Q, senses, normaliser):
    """E exp(-payoff + S I(P; W)) over all answers to one request."""
    total = 0.0
    for rows in itertools.product(*(counts_of(n, W.shape[1]) for n in senses)):
        table = np.array(rows)
        orders = math.prod(math.factorial(sum(row)) // math.prod(map(math.factorial, row)) for row in rows)
        rival = SensedRival.of(W.shape, [(table, tilts, Q)], 0.0)
        total += orders * float((W**table).prod()) * normaliser(rival, P, W)
    return total


@pytest.mark.parametrize("seed", range(6))
def test_bets_on_the_rival_win_nothing_on_average_whatever_tilts_and_outputs(seed):
    rng = np.random.default_rng(seed)
    W, P, Q = rng.dirichlet(np.ones(3), size=2), np.array([0.4, 0.6]), rng.dirichlet(np.ones(3))
    tilts = rng.uniform(0.0, 1.5, size=2)
    mean = mean_of_factor(W, P, tilts, Q, (3, 2), lambda rival, P, W: math.exp(-payoff(rival, P, W)))
    assert mean == pytest.approx(1.0, rel=1e-12)


def test_bets_without_their_normaliser_win():
    # the twin of the test above: it must be able to fail
    rng = np.random.default_rng(0)
    W, P, Q = rng.dirichlet(np.ones(3), size=2), np.array([0.4, 0.6]), np.array([0.1, 0.3, 0.6])

    def ratio(rival, P, W):
        return math.exp(-float((P[:, None] * rival.counts * np.log(W)).sum() - P @ rival.offsets))

    assert abs(mean_of_factor(W, P, np.ones(2), Q, (3, 2), ratio) - 1.0) > 0.01


# --- what is proved ---------------------------------------------------------------------------


@pytest.mark.parametrize("situation", SITUATIONS, ids=str)
def test_no_more_is_proved_than_the_truth_allows(situation):
    rival, W = rival_of(situation)
    truth = payoff(rival, best_input(W, 2000), W)
    assert not exceeds(rival, None, -truth + 1e-6)
    assert -least_found(rival, None) >= truth - 1e-6


@pytest.mark.parametrize("situation", SITUATIONS[::2], ids=str)
@pytest.mark.parametrize("seed", range(2))
def test_no_more_is_proved_than_random_rows_and_inputs_allow(situation, seed):
    rng = np.random.default_rng(seed)
    rival, W = rival_of(situation, senses=int(rng.choice([40, 200])), boldest=float(rng.choice([0.5, 1.2])))
    found = climb(rival, best_input(W), rows_like(rng, *W.shape, None) if seed else W, rng)
    assert not exceeds(rival, None, -found + 1e-6)


@pytest.mark.parametrize("situation", SITUATIONS, ids=str)
def test_all_but_little_is_proved(situation):
    rival, _ = rival_of(situation)
    assert exceeds(rival, None, least_found(rival, None) - 0.05)


def test_all_but_little_is_proved_of_eight_letters():
    rival, _ = sensed((8, 8), 1, noise=0.15, senses=150)
    assert exceeds(rival, None, least_found(rival, None) - 0.5)


@pytest.mark.parametrize("situation", SITUATIONS[::2], ids=str)
def test_no_input_distribution_of_a_box_exceeds_its_bound(situation):
    rival, W = rival_of(situation, senses=60)
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.ones(len(W)), size=40)
    P = P[(P <= LARGEST).all(axis=1)]
    width = rng.random(P.shape) ** 2
    low, high = np.maximum(P - width * P, 0.0), np.minimum(P + width, LARGEST)
    with np.errstate(all="ignore"):
        _, _, bounds = bounded(rival, beginning(rival, low, high), -1e6)
    for each, bound in zip(P, bounds, strict=True):
        assert payoff(rival, each, W) <= bound + 1e-9
        other = rng.dirichlet(np.ones(W.shape[1]), size=len(W))
        assert payoff(rival, each, other) <= bound + 1e-9


def test_payoff_is_the_one_of_the_definition():
    rival, W = sensed((3, 4), 5)
    P = np.array([[0.5, 0.2, 0.3], [0.1, 0.6, 0.3]])
    log_w = np.tile(np.log(W), (2, 2, 1, 1))
    points = InputBoxes(P, P, np.log(P @ W), log_w)
    assert payoffs(rival, points) == pytest.approx([payoff(rival, each, W) for each in P], rel=1e-12)


# --- a fixed input distribution ---------------------------------------------------------------


def largest_on_grid(rival, P):
    """The largest payoff of two binary rows at P."""
    grid = np.linspace(0.001, 0.999, 999)
    rows = np.log(np.stack([1.0 - grid, grid], axis=1))
    own = []
    for x in (0, 1):
        each = Rows.of(rival, np.full(len(grid), x), np.full(len(grid), P[x]), np.zeros(rows.shape))
        own.append(value(each, profile(each, rows)))  # with R = 1, S P_x D is -S P_x H
    q = P[0] * grid[:, None] + P[1] * grid
    output = -q * np.log(q) - (1.0 - q) * np.log(1.0 - q)
    return float((own[0][:, None] + own[1] + rival.weight * output).max())


@pytest.mark.parametrize("P", [(0.3, 0.7), (0.5, 0.5), (0.15, 0.85)])
@pytest.mark.parametrize("seed", range(3))
def test_at_a_fixed_input_what_a_grid_of_rows_shows_is_proved(P, seed):
    rival, _ = sensed((2, 2), seed)
    most = largest_on_grid(rival, np.array(P))
    assert not exceeds(rival, np.array(P), -most + 1e-6)
    assert exceeds(rival, np.array(P), -most - 0.02)  # the grid may miss the maximum by some thousandths
    assert -least_found(rival, np.array(P)) == pytest.approx(most, abs=0.02)


def test_input_that_is_never_used_does_not_count():
    rival, _ = sensed((3, 2), 1)
    P = np.array([0.5, 0.5, 0.0])
    shorter = {name: getattr(rival, name)[:2] for name in ("senses", "tilts", "counts", "offsets")}
    two = dataclasses.replace(rival, **shorter)
    assert least_found(rival, P) == pytest.approx(least_found(two, P[:2]), rel=1e-9)


# --- the search -------------------------------------------------------------------------------


@pytest.mark.parametrize("n_inputs", [2, 3, 5, 16])
def test_shells_hold_every_input_distribution_that_can_be_optimal(n_inputs):
    low, high = shells(n_inputs)
    rng = np.random.default_rng(n_inputs)
    P = np.concatenate([rng.dirichlet(np.full(n_inputs, c), size=200) for c in (0.2, 1.0, 20.0)])
    P = np.concatenate([P[(P <= LARGEST).all(axis=1)], np.full((1, n_inputs), 1.0 / n_inputs)])
    inside = (P[:, None] >= low).all(axis=2) & (P[:, None] <= high).all(axis=2)
    assert inside.any(axis=1).all()


def test_halves_hold_every_input_distribution_of_a_box():
    rival, _ = sensed((4, 4), 0, senses=40)
    boxes = beginning(rival, *shells(4))
    P = np.random.default_rng(1).dirichlet(np.ones(4), size=300)
    for _ in range(6):
        boxes = rival_check._halves(boxes)
    inside = (P[:, None] >= boxes.low - 1e-15).all(axis=2) & (P[:, None] <= boxes.high + 1e-15).all(axis=2)
    assert inside.any(axis=1)[(P <= LARGEST).all(axis=1)].all()


def test_equal_requests_are_taken_together_without_loss():
    rng = np.random.default_rng(3)
    W = rows_like(rng, 2, 3, None)
    requests, weight = requests_about(W, rng, senses=60)
    split = [(part, tilts, Q) for counts, tilts, Q in requests for part in (counts // 2, counts - counts // 2)]
    once, twice = (SensedRival.of((2, 3), each, weight) for each in (requests, split))
    assert once.senses.shape == twice.senses.shape
    for one, two in zip(list(vars(once).values())[:5], list(vars(twice).values())[:5], strict=True):
        assert one == pytest.approx(two, rel=1e-12)


def test_of_a_rival_without_bets_on_its_senses_its_letters_are_known():
    nothing = SensedRival.of((2, 4), [], 5.0)
    assert exceeds(nothing, None, -5.0 * math.log(2.0))
    assert not exceeds(nothing, None, -5.0 * math.log(2.0) + 1e-9)
    assert exceeds(nothing, np.array([0.1, 0.9]), -5.0 * 0.3251)  # H(0.1) = 0.32508 nat
    assert not exceeds(nothing, np.array([0.1, 0.9]), -5.0 * 0.3250)


def test_what_is_not_proved_within_the_boxes_is_not_proved(monkeypatch):
    rival, _ = sensed((4, 4), 0)
    needed = least_found(rival, None) - 0.05
    assert exceeds(rival, None, needed)
    monkeypatch.setattr(rival_check, "MOST_BOXES", 12)
    assert not exceeds(rival, None, needed)
