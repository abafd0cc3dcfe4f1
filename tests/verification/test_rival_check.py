"""The rival's part: whatever a cover says, no more is shown than the truth, or any P and rows, allow; and close to it."""

import dataclasses
import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest

from bestchannel.verification import rival_check
from bestchannel.verification.rival_check import LARGEST, Rows, boxes, profile, proved, shown, upper
from tests.verification.hostile_rows import bounds_and_found
from tests.verification.sensed import best_input, payoff, rows_like, sensed

SITUATIONS = [
    (shape, seed, noise)
    for shape, noise in [((2, 2), None), ((2, 2), 0.2), ((3, 2), None), ((2, 4), 0.1), ((4, 4), None), ((4, 4), 0.15)]
    for seed in range(2)
]


def rival_of(situation, **options):
    shape, seed, noise = situation
    return sensed(shape, seed, noise=noise, **options)


def shows(rival, covers, needed, P=None):
    """Whether a part of so many nats is proved by the covers that are proposed for it."""
    with np.errstate(all="ignore"):
        return proved(rival, P, covers(P, -needed), needed) >= needed


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
def test_no_hostile_row_exceeds_a_bound_from_any_other_row(seed):
    bounds, found = bounds_and_found(seed, starts=4)
    assert (found <= bounds + 1e-9 * (1.0 + np.abs(bounds))).all()


@pytest.mark.parametrize("seed", [1, 4, 5])  # of weights that are not beyond all senses
def test_bounds_from_rows_near_the_worst_are_mostly_close(seed):
    bounds, found = bounds_and_found(seed, starts=4, steps=40)
    assert np.quantile(bounds - found, 0.5) < 0.001


def test_row_without_senses_may_be_anything():
    of_all = np.log([[0.2, 0.8]])
    nothing = Rows(
        np.zeros((1, 1)), np.ones((1, 1)), of_all, np.zeros((1, 2)), np.zeros(1), np.full((1, 1), 3.0), of_all
    )
    rows = nothing.at(np.array([0]), np.array([0.4]), np.log([[0.1, 0.9]]))
    with np.errstate(all="ignore"):
        bounds = upper(rows, np.log([[0.5, 0.5]])), upper(rows, np.log([[1.0 - 1e-9, 1e-9]]))
    largest = 0.4 * 3.0 * math.log(10.0)  # D at the vertex of the least R
    assert min(bounds)[0] >= largest - 1e-9
    assert min(bounds)[0] == pytest.approx(largest, rel=1e-6)


# --- the martingale ---------------------------------------------------------------------------


def counts_of(senses, n_outputs):
    return [c for c in itertools.product(range(senses + 1), repeat=n_outputs) if sum(c) == senses]


def mean_of_factor(W, P, tilts, Q, senses, normaliser):
    """E exp(-payoff + S I(P; W)) over all answers to one request."""
    total = 0.0
    for rows in itertools.product(*(counts_of(n, W.shape[1]) for n in senses)):
        table = np.array(rows)
        orders = math.prod(math.factorial(sum(row)) // math.prod(map(math.factorial, row)) for row in rows)
        rival = Rows.of(W.shape, [(table, tilts, Q)], 0.0)
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
    rival, W, covers = rival_of(situation)
    assert not shows(rival, covers, -payoff(rival, best_input(W, 2000), W) + 1e-6)


@pytest.mark.parametrize("situation", SITUATIONS[::2], ids=str)
@pytest.mark.parametrize("seed", range(2))
def test_no_more_is_proved_than_random_rows_and_inputs_allow(situation, seed):
    rng = np.random.default_rng(seed)
    rival, W, covers = rival_of(situation, senses=int(rng.choice([40, 200])), boldest=float(rng.choice([0.5, 1.2])))
    found = climb(rival, best_input(W), rows_like(rng, *W.shape, None) if seed else W, rng)
    assert not shows(rival, covers, -found + 1e-6)


@pytest.mark.parametrize("situation", [*SITUATIONS, ((8, 8), 1, 0.15)], ids=str)
def test_all_but_little_is_proved(situation):
    rival, W, covers = rival_of(situation, senses=150)
    found = climb(rival, best_input(W), W, np.random.default_rng(0))
    assert shows(rival, covers, -found - (0.3 if W.size > 16 else 0.1))


# --- covers -----------------------------------------------------------------------------------


def hostile_cover(rng, shape, number):
    """Cuts, R and rows of any kind, with some that are no numbers or out of range."""
    cuts = np.stack([rng.integers(-1, number, number - 1), rng.integers(-1, shape[0] + 1, number - 1),
                     rng.choice([rng.uniform(-0.1, 1.0), 0.2, math.nan, 1e300], number - 1)], axis=1)  # fmt: skip
    log_R = rng.normal(size=(number, shape[1])) * rng.choice([0.1, 1.0, 30.0])
    log_w = rng.normal(size=(number, 2, *shape)) * rng.choice([0.1, 1.0, 300.0])
    if rng.random() < 0.1:
        log_w[rng.integers(number)] = rng.choice([math.nan, math.inf, -math.inf])
    return SimpleNamespace(cuts=cuts, log_R=log_R, log_w=log_w)


@pytest.mark.parametrize("situation", SITUATIONS[::2], ids=str)
def test_no_cover_of_any_kind_shows_more_than_the_truth_allows(situation):
    rival, W, covers = rival_of(situation, senses=60)
    rng = np.random.default_rng(0)
    most = climb(rival, best_input(W), W, rng)
    good = next(covers(None, most + 5.0))
    for _ in range(60):
        cover = hostile_cover(rng, W.shape, int(rng.integers(1, 8)))
        damaged = SimpleNamespace(cuts=good.cuts * rng.choice([1.0, 0.5, 1.1]), log_R=rng.permuted(good.log_R, axis=1),
                                  log_w=good.log_w + rng.normal(size=good.log_w.shape))  # fmt: skip
        with np.errstate(all="ignore"):
            assert not shown(rival, None, cover) > -most + 1e-9
            assert not shown(rival, None, damaged) > -most + 1e-9


@pytest.mark.parametrize("n_inputs", [2, 3, 5, 16])
def test_boxes_of_any_cuts_hold_every_input_distribution_that_can_be_optimal(n_inputs):
    rng = np.random.default_rng(n_inputs)
    P = np.concatenate([rng.dirichlet(np.full(n_inputs, c), size=200) for c in (0.2, 1.0, 20.0)])
    P = np.concatenate([P[(P <= LARGEST).all(axis=1)], np.full((1, n_inputs), 1.0 / n_inputs)])
    for number in (1, 2, 30, 30, 30):
        low, high = boxes(n_inputs, hostile_cover(rng, (n_inputs, 2), number).cuts)
        inside = (P[:, None] >= low).all(axis=2) & (P[:, None] <= high).all(axis=2)
        assert inside.any(axis=1).all()


def test_cover_of_another_shape_shows_nothing():
    rival, _, covers = sensed((2, 3), 0)
    good = next(covers(None, 1e3))
    assert shown(rival, None, good) > -math.inf
    for short in ({"log_R": good.log_R[:, :2]}, {"log_w": good.log_w[:0]}, {"cuts": np.zeros((1, 3))}):
        assert shown(rival, None, SimpleNamespace(**{**good._asdict(), **short})) == -math.inf


def test_many_boxes_are_bounded_a_part_at_a_time_as_all_at_once(monkeypatch):
    rival, W, covers = sensed((4, 4), 0)
    cover = next(covers(None, climb(rival, best_input(W), W, np.random.default_rng(0)) + 0.1))
    whole = shown(rival, None, cover)
    monkeypatch.setattr(rival_check, "AT_ONCE", 1)
    assert len(cover.cuts) > 3
    assert shown(rival, None, cover) == pytest.approx(whole, rel=1e-12)


# --- a fixed input distribution ---------------------------------------------------------------


def largest_on_grid(rival, P):
    """The largest payoff of two binary rows at P."""
    grid = np.linspace(0.001, 0.999, 999)
    rows = np.log(np.stack([1.0 - grid, grid], axis=1))
    own = []
    for x in (0, 1):
        some = rival.at(np.full(len(grid), x), np.full(len(grid), P[x]), np.zeros(rows.shape))
        at = profile(some, rows)  # with R = 1, S P_x D is -S P_x H
        own.append(at.value.sum(axis=1) + (some.senses * (np.log(at.z) - 1.0)).sum(axis=1) - some.offsets)
    q = P[0] * grid[:, None] + P[1] * grid
    output = -q * np.log(q) - (1.0 - q) * np.log(1.0 - q)
    return float((own[0][:, None] + own[1] + rival.pull[0, 0] * output).max())


@pytest.mark.parametrize("P", [(0.3, 0.7), (0.5, 0.5), (0.15, 0.85)])
@pytest.mark.parametrize("seed", range(3))
def test_at_a_fixed_input_what_a_grid_of_rows_shows_is_proved(P, seed):
    rival, _, covers = sensed((2, 2), seed, boldest=0.2)
    most = largest_on_grid(rival, np.array(P))
    assert not shows(rival, covers, -most + 1e-6, np.array(P))
    assert shows(rival, covers, -most - 0.02, np.array(P))  # the grid may miss the maximum by some thousandths


@pytest.mark.parametrize("multiple", [-800.0, -744.1, -600.0, 700.0, 800.0])
def test_multiples_of_a_distribution_show_what_it_shows(multiple):
    rival, W, _ = sensed((2, 2), 1, boldest=0.2)
    P, log_w = np.array([0.4, 0.6]), np.log(np.stack([[W, W]]))
    shifted, plain = (
        shown(rival, P, SimpleNamespace(cuts=np.zeros((0, 3)), log_R=np.log(P @ W)[None] + more, log_w=log_w + more))
        for more in (multiple, 0.0)
    )
    assert shifted == pytest.approx(plain, rel=1e-9)


def test_input_that_is_never_used_does_not_count():
    rival, _, covers = sensed((3, 2), 1)
    P = np.array([0.5, 0.5, 0.0])
    cover = next(covers(P, 1e3))
    shorter = {name: getattr(rival, name)[:2] for name in ("senses", "tilts", "counts", "offsets", "pull")}
    two = SimpleNamespace(cuts=cover.cuts, log_R=cover.log_R, log_w=cover.log_w[:, :, :2])
    fewer = shown(dataclasses.replace(rival, **shorter), P[:2], two)
    assert shown(rival, P, cover) == pytest.approx(fewer, rel=1e-9)


# --- no senses ---------------------------------------------------------------------------------


def test_of_a_rival_without_bets_on_its_senses_its_letters_are_known():
    nothing = Rows.of((2, 4), [], 5.0)
    assert proved(nothing, None, [], 0.0) == pytest.approx(-5.0 * math.log(2.0))
    assert -5.0 * 0.3251 < proved(nothing, np.array([0.1, 0.9]), [], 0.0) < -5.0 * 0.3250  # H(0.1) = 0.32508 nat
    rare = np.array([1e-8, 1.0])  # that it exceeds 1 by so little is no reason to show more
    assert proved(nothing, rare, [], 0.0) == pytest.approx(-5.0 * 1e-8 * (1.0 + math.log(1e8)), rel=1e-6)
