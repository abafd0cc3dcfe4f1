"""The likelihood of binary rows: the bound against a fine grid, and what the mixture bets on."""

import itertools
import math

import numpy as np
import pytest

from bestchannel.verification import likelihood
from bestchannel.verification.likelihood import box_bounds, exceeds, log_kt, tilted

RNG = np.random.default_rng(20)
GRID = np.linspace(0.0, 1.0, 601)


def random_table(rng):
    """Counts of few or many senses, some of them without an error."""
    rows = rng.beta(0.4, 0.4, size=2)
    senses = np.exp(rng.uniform(0.0, 7.0, size=2)).astype(int)
    ones = rng.binomial(senses, rows)
    return np.stack([senses - ones, ones], axis=1).astype(np.float64)


SITUATIONS = [(random_table(RNG), float(np.exp(RNG.uniform(-2, 7))), p) for p in (None, 0.5, 0.1) for _ in range(12)]


def least_on_grid(n, weight, fixed):
    """The least of T on a grid, and on a second one around the point where it is least."""
    a, b = np.meshgrid(GRID, GRID)
    values = np.nan_to_num(tilted(n, weight, fixed, a, b), nan=np.inf)
    at = np.unravel_index(values.argmin(), values.shape)
    near = np.linspace(-1.0, 1.0, 401) / (len(GRID) - 1)
    a, b = np.meshgrid(np.clip(a[at] + near, 0.0, 1.0), np.clip(b[at] + near, 0.0, 1.0))
    return min(values.min(), np.nan_to_num(tilted(n, weight, fixed, a, b), nan=np.inf).min())


@pytest.mark.parametrize("i", range(len(SITUATIONS)))
def test_what_is_proved_is_what_a_fine_grid_shows(i):
    n, weight, fixed = SITUATIONS[i]
    least = least_on_grid(n, weight, fixed)
    width = 1e-4 * (1.0 + abs(least))  # the grid may miss the least value by about that
    assert not exceeds(n, weight, fixed, least + 1e-6 * (1.0 + abs(least)))
    assert exceeds(n, weight, fixed, least - width)


@pytest.mark.parametrize("i", range(len(SITUATIONS)))
def test_no_point_of_a_box_is_below_its_bound(i):
    n, weight, fixed = SITUATIONS[i]
    rng = np.random.default_rng(i)
    ends = np.sort(rng.random((2, 2, 200)) ** rng.choice([1, 6], size=(2, 2, 200)), axis=1)
    boxes = np.concatenate(ends)
    bounds, _, _ = box_bounds(boxes, n, weight, fixed)
    for t, u in itertools.product(np.linspace(0.0, 1.0, 9), repeat=2):
        a, b = ends[0][0] + t * (ends[0][1] - ends[0][0]), ends[1][0] + u * (ends[1][1] - ends[1][0])
        values = tilted(n, weight, fixed, a, b)
        assert (values >= bounds - 1e-9 * (1.0 + np.abs(bounds))).all()


def test_without_weight_the_least_is_the_entropy_of_the_counts():
    n = np.array([[80.0, 20.0], [30.0, 70.0]])
    entropy = -(n * np.log(n / 100.0)).sum()
    assert exceeds(n, 0.0, None, entropy - 1e-6)
    assert not exceeds(n, 0.0, None, entropy + 1e-6)


def test_without_counts_the_least_is_that_of_a_noiseless_channel():
    assert exceeds(np.zeros((2, 2)), 3.0, None, -3.0 * math.log(2) - 1e-6)
    assert not exceeds(np.zeros((2, 2)), 3.0, None, -3.0 * math.log(2) + 1e-6)


@pytest.mark.parametrize("senses", [(0, 0), (1, 0), (4, 3)])
def test_mixture_shares_out_all_of_its_stake(senses):
    total = 0.0
    for ones in itertools.product(*(range(n + 1) for n in senses)):
        table = np.array([[n - one, one] for n, one in zip(senses, ones, strict=True)], dtype=float)
        orders = math.prod(math.comb(n, one) for n, one in zip(senses, ones, strict=True))
        total += orders * math.exp(log_kt(table))
    assert total == pytest.approx(1.0, rel=1e-12)


def test_what_is_not_proved_within_the_boxes_is_not_proved(monkeypatch):
    n = np.array([[80.0, 20.0], [30.0, 70.0]])
    least = -(n * np.log(n / 100.0)).sum()
    assert exceeds(n, 0.0, None, least - 1e-3)
    monkeypatch.setattr(likelihood, "MOST_CELLS", 60)
    assert not exceeds(n, 0.0, None, least - 1e-3)
