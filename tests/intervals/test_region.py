"""The anytime-valid region and the ends of the capacity over it, against brute force."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from bestchannel.capacity import capacities, capacity
from bestchannel.information import NATS_PER_BIT, divergences_nats, mutual_information
from bestchannel.intervals.region import (
    cell_intervals,
    excludes_zero,
    joint_threshold,
    lower_end,
    redundancy,
    row_thresholds,
    upper_end,
)


def kt_by_prediction(row):
    """The KT probability of the senses, one after the other: (n_y + 1/2) / (n + m/2). Exact."""
    seen, probability = [0] * len(row), Fraction(1)
    for y, count in enumerate(row):
        for _ in range(count):
            probability *= Fraction(2 * seen[y] + 1, 2 * sum(seen) + len(row))
            seen[y] += 1
    return probability


@given(st.lists(st.integers(0, 30), min_size=2, max_size=5))
def test_redundancy_is_the_loss_of_sequential_prediction(row):
    total = sum(row)
    best = sum(n * math.log(n / total) for n in row if n)
    probability = kt_by_prediction(row)
    log_kt = math.log(probability.numerator) - math.log(probability.denominator)
    # sums of about 150 numbers of size up to 5, and the room of 1e-14 N log N
    assert redundancy(np.array([row]))[0] == pytest.approx(best - log_kt, abs=1e-10)


def test_redundancy_of_a_row_without_counts_is_zero():
    assert redundancy(np.zeros((1, 4), dtype=int))[0] == 0.0


def test_redundancy_of_many_senses_is_half_a_logarithm_a_free_cell():
    n = 10**6  # ½ log N + ½ log π/2 + o(1) at the uniform row [Krichevsky-Trofimov]
    assert redundancy(np.array([[n // 2, n // 2]]))[0] == pytest.approx(
        0.5 * math.log(n) + 0.5 * math.log(math.pi / 2), abs=1e-3
    )


def test_thresholds_are_those_of_the_notes():
    # shared/notes: 4 binary rows at δ = .05, 22.3 at 10⁴ senses per row and 40.7 at 10⁸
    for senses, expected in ((10**4, 22.3), (10**8, 40.7)):
        counts = np.full((4, 2), senses // 2)
        assert joint_threshold(counts, 0.05) == pytest.approx(expected, abs=0.1)


@pytest.mark.parametrize(
    "counts", [[[90, 10], [30, 70]], [[20, 0], [3, 17]], [[500, 500], [480, 520]], [[40, 0], [0, 40]]]
)
def test_ends_of_a_binary_channel_are_the_extremes_over_a_grid(counts):
    counts = np.array(counts)
    N = counts.sum(axis=1)
    a = np.linspace(0.0005, 0.9995, 501)
    D = np.array([[n @ (np.log(np.maximum(n, 1) / n.sum()) - np.log([1 - t, t])) for t in a] for n in counts])
    grid = np.stack(np.meshgrid(a, a, indexing="ij"), axis=-1)
    values = capacities(np.stack([1 - grid, grid], axis=-1).reshape(-1, 2, 2), tol=1e-9)
    C = values.lower.reshape(len(a), -1) * NATS_PER_BIT
    beta, betas = joint_threshold(counts, 0.025), row_thresholds(counts, 0.025)
    smallest = C[D[0][:, None] + D[1][None, :] < beta].min()
    largest = C[(D[0][:, None] < betas[0]) & (D[1][None, :] < betas[1])].max()
    low, high = lower_end(counts, beta), upper_end(counts, betas)
    assert low <= smallest
    assert largest <= high
    # a step of the grid moves the capacity by up to 0.002 |log(w/Q)|, and bets on smoothed rows lose a little
    assert smallest - low < 0.03
    assert high - largest < 0.02
    assert N.min() > 0


def entropy(t):
    return -t * np.log(t) - (1 - t) * np.log(1 - t)


@pytest.mark.parametrize("P", [[0.5, 0.5], [0.8, 0.2]])
@pytest.mark.parametrize("counts", [[[90, 10], [30, 70]], [[20, 0], [3, 17]], [[500, 500], [480, 520]]])
def test_ends_of_information_at_a_fixed_input_are_the_extremes_over_a_grid(counts, P):
    counts, P, a = np.array(counts), np.array(P), np.linspace(0.0005, 0.9995, 501)
    D = np.array([[n @ (np.log(np.maximum(n, 1) / n.sum()) - np.log([1 - t, t])) for t in a] for n in counts])
    first, second = np.meshgrid(a, a, indexing="ij")
    mixed = entropy(P[0] * first + P[1] * second)
    values = np.maximum(mixed - P[0] * entropy(first) - P[1] * entropy(second), 0.0)
    beta, betas = joint_threshold(counts, 0.025), row_thresholds(counts, 0.025)
    smallest = values[D[0][:, None] + D[1][None, :] < beta].min()
    largest = values[(D[0][:, None] < betas[0]) & (D[1][None, :] < betas[1])].max()
    low, high = lower_end(counts, beta, P), upper_end(counts, betas, P)
    assert low <= smallest
    assert largest <= high
    # as with capacities; one output distribution for all rows of the region costs a little more than the best of each
    assert smallest - low < 0.03
    assert high - largest < 0.03


def boundary_rows(w_hat, radius, rng, count=400):
    """Rows at divergence `radius` from w_hat in random directions."""
    far = rng.dirichlet(np.full(len(w_hat), 0.4), size=count)
    inside, outside = np.zeros(count), np.ones(count)
    for _ in range(50):
        middle = 0.5 * (inside + outside)
        rows = w_hat + middle[:, None] * (far - w_hat)
        with np.errstate(divide="ignore"):
            D = np.where(w_hat > 0, w_hat * (np.log(np.maximum(w_hat, 1e-300)) - np.log(rows)), 0.0).sum(axis=1)
        inside, outside = np.where(radius >= D, middle, inside), np.where(radius >= D, outside, middle)
    return w_hat + inside[:, None] * (far - w_hat)


@pytest.mark.parametrize(
    "counts", [[[80, 15, 5], [5, 15, 80]], [[60, 20, 20], [20, 50, 30]], [[30, 0, 0], [0, 10, 20]]]
)
def test_upper_end_of_two_by_three_is_just_above_the_largest_capacity_of_the_region(counts):
    counts = np.array(counts) * 5
    betas = row_thresholds(counts, 0.025)
    rng = np.random.default_rng(5)
    N = counts.sum(axis=1)
    first, second = (boundary_rows(counts[x] / N[x], betas[x] / N[x], rng) for x in (0, 1))
    pairs = np.stack([np.repeat(first, len(second), axis=0), np.tile(second, (len(first), 1))], axis=1)
    largest = capacities(pairs, tol=1e-6).lower.max() * NATS_PER_BIT
    high = upper_end(counts, betas)
    assert largest <= high
    # 400 random directions in a plane come within a few per cent of the best one
    assert high <= 1.05 * largest


@pytest.mark.parametrize(
    "counts", [[[80, 15, 5], [5, 15, 80]], [[60, 20, 20], [20, 50, 30]], [[300, 90, 0], [10, 0, 200]]]
)
def test_lower_end_of_two_by_three_is_just_below_the_smallest_capacity_of_the_region(counts):
    counts = np.array(counts)
    beta = joint_threshold(counts, 0.025)
    W_hat = counts / counts.sum(axis=1, keepdims=True)

    def rows(z):
        e = np.exp(z.reshape(counts.shape))
        return e / e.sum(axis=1, keepdims=True)

    def value(z):
        return capacity(rows(z), tol=1e-13).lower * NATS_PER_BIT

    def room(z):
        return beta - (counts * (np.log(np.maximum(W_hat, 1e-300)) - np.log(rows(z)))).sum()

    start = np.log((counts + 0.5) / (counts + 0.5).sum(axis=1, keepdims=True)).ravel()
    found = minimize(value, start, method="SLSQP", constraints={"type": "ineq", "fun": room}, options={"maxiter": 300})
    assert room(found.x) > -1e-6
    low = lower_end(counts, beta)
    assert low <= found.fun + 1e-6
    # the optimum, found a second way; bets on smoothed rows give a few per cent away
    assert low >= found.fun - 0.02


@settings(max_examples=25)
@given(st.integers(2, 4), st.integers(2, 4), st.integers(0, 2**32 - 1))
def test_every_channel_of_the_regions_has_its_capacity_between_the_ends(n_inputs, n_outputs, seed):
    rng = np.random.default_rng(seed)
    W = rng.dirichlet(np.full(n_outputs, 0.5), size=n_inputs)
    counts = np.stack([rng.multinomial(rng.integers(1, 300), row) for row in W])
    beta, betas = joint_threshold(counts, 0.05), row_thresholds(counts, 0.05)
    low, high = lower_end(counts, beta), upper_end(counts, betas)
    N = counts.sum(axis=1)
    W_hat = counts / N[:, None]
    others = np.array([
        [boundary_rows(W_hat[x], share * betas[x] / N[x], rng, 1)[0] for x in range(n_inputs)]
        for share in (0.0, 0.1, 0.5, 1.0)
    ])  # fmt: skip
    C = capacities(others, tol=1e-9)
    assert C.lower.max() * NATS_PER_BIT <= high
    P = rng.dirichlet(np.ones(n_inputs))
    low_at, high_at = lower_end(counts, beta, P), upper_end(counts, betas, P)
    for rows in others:
        information = mutual_information(P, rows) * NATS_PER_BIT
        assert information <= high_at
        seen = counts > 0
        assert information >= low_at or beta <= (counts[seen] * np.log(W_hat[seen] / rows[seen])).sum()
    for rows, value in zip(others, C.upper * NATS_PER_BIT, strict=True):
        seen = counts > 0
        assert value >= low or beta <= (counts[seen] * np.log(W_hat[seen] / rows[seen])).sum()


def test_cells_are_where_the_binary_divergence_meets_the_radius():
    low, high = cell_intervals(np.array([[1.0, 0.0]]), np.array([0.1]))
    # d(0, w) = -log(1 - w)
    assert high[0, 1] == pytest.approx(1 - math.exp(-0.1), rel=1e-12)
    assert (low[0, 1], high[0, 0]) == (0.0, 1.0)
    assert low[0, 0] == pytest.approx(math.exp(-0.1), rel=1e-12)


def test_an_input_without_a_count_leaves_the_trivial_upper_end():
    counts = np.array([[90, 10, 0], [0, 0, 0], [10, 90, 0]])
    assert upper_end(counts, row_thresholds(counts, 0.05)) == math.log(3)
    with_two = counts[[0, 2]]
    beta = joint_threshold(counts, 0.05)
    assert beta == joint_threshold(with_two, 0.05)
    assert lower_end(counts, beta) == lower_end(with_two, beta) > 0.0


def test_capacity_of_several_binary_rows_is_that_of_the_two_furthest_apart():
    counts = np.array([[90, 10], [50, 50], [10, 90], [60, 40]]) * 10
    betas = row_thresholds(counts, 0.05)
    assert upper_end(counts, betas) == pytest.approx(upper_end(counts[[0, 2]], betas[[0, 2]]), rel=1e-12)


def test_more_senses_of_the_same_frequencies_narrow_both_ends():
    base = np.array([[8, 1, 1], [1, 8, 1], [1, 1, 8]])
    ends = []
    for times in (1, 10, 100, 10**4, 10**8):
        counts = base * times
        ends.append((lower_end(counts, joint_threshold(counts, 0.05)), upper_end(counts, row_thresholds(counts, 0.05))))
    low, high = zip(*ends, strict=True)
    assert sorted(low) == list(low)
    assert sorted(high, reverse=True) == list(high)
    assert high[-1] - low[-1] < 1e-3


def test_zero_is_excluded_when_the_pooled_row_is_outside():
    counts = np.array([[60, 40], [40, 60]])
    D = 100 * divergences_nats(counts / 100, np.array([0.5, 0.5])).sum()
    assert excludes_zero(counts, D * 0.999)
    assert not excludes_zero(counts, D * 1.001)
