"""Evidence against binary rivals: the floor by a search that shares nothing with it, and the inequality behind it.

docs/theory/adaptive.md, "Rivals with two inputs and two outputs", has the proof.
"""

import math

import numpy as np
import pytest

from bestchannel import capacity, mutual_information
from bestchannel.evidence.binary_rival import ANY_INPUT, balanced_rates, likelihood_evidence
from bestchannel.evidence.binary_rival import kernels as binary
from bestchannel.evidence.leader_bets import leader_curve
from bestchannel.information import NATS_PER_BIT

KERNELS = binary()


def rows(a, b):
    return [[1.0 - a, a], [1.0 - b, b]]


def hostile_counts(seed):
    """(counts, weight, p): from a handful of senses to millions, rows at the edges, weights from tiny to absurd."""
    rng = np.random.default_rng([4, seed])
    N = np.floor(10 ** rng.uniform(0, 6, 2)) if seed % 5 else np.array([0.0, rng.integers(0, 3)])
    a, b = rng.random(2) if seed % 2 else 10.0 ** -rng.uniform(0, 6, 2)
    b = 1.0 - b if seed % 3 else b
    ones = rng.binomial(N.astype(int), [a, b]).astype(float)
    counts = np.column_stack([N - ones, ones])
    return counts, (N.sum() + 1.0) * 10 ** rng.uniform(-4, 1), ANY_INPUT if seed % 4 else rng.random()


@pytest.mark.parametrize("p", [ANY_INPUT, 0.0, 0.3, 0.5])
def test_value_is_the_capacity_or_the_information(p):
    edges = [[0, 1], [0, 0.5], [1e-9, 1e-8], [0.3, 0.3001]]
    for a, b in [*np.random.default_rng(1).random((200, 2)).tolist(), *edges]:
        found, at, q = KERNELS.value(a, b, p)
        if p == ANY_INPUT:
            exact = capacity(rows(a, b), tol=1e-13)
            assert exact.lower * NATS_PER_BIT - 1e-15 <= found <= exact.upper * NATS_PER_BIT + 1e-9
        else:
            assert found == pytest.approx(mutual_information([1 - p, p], rows(a, b)) * NATS_PER_BIT, abs=1e-14)
        assert q == pytest.approx((1 - at) * a + at * b, abs=1e-7)


def test_value_on_and_near_the_diagonal_is_not_below_the_capacity():
    # C <= log(1 + |a - b|), and about (a - b)² / (8 a (1 - a))
    for a in (0.0, 1e-12, 0.2, 0.5, 1.0 - 1e-10):
        for apart in (0.0, 1e-13, 1e-10, 9e-10, 1.1e-9, 1e-7, 1e-5):
            b = min(a + apart, 1.0)
            least = (a - b) ** 2 / (8 * max(a * (1 - a), 1e-30)) * 0.9 if apart < 1e-3 * a else 0.0
            assert KERNELS.value(a, b, ANY_INPUT)[0] >= least - 1e-15


@pytest.mark.parametrize("seed", range(150))
def test_floor_is_below_every_value_and_close_to_the_least(seed):
    counts, weight, p = hostile_counts(seed)
    floor = KERNELS.floor(counts, weight, p, KERNELS.lowest(counts, weight, p)[0])
    edge = np.geomspace(1e-9, 0.4, 40)
    grid = np.concatenate([[0.0], edge, np.linspace(0.42, 0.58, 9), 1 - edge[::-1], [1.0]])
    values = [KERNELS.tilted(counts, weight, p, a, b) for a in grid for b in grid]
    least = min(*values, KERNELS.lowest(counts, weight, p)[0])
    rounding = 1e-11 * (counts.sum() + weight)
    assert floor <= least
    # a triangle is left alone within 0.05 nat
    assert floor >= least - 0.05 - rounding


def test_floor_without_the_search_far_away_would_be_too_high():
    # few counts and a large weight: the least value is far from the counts, at a noiseless channel
    counts, weight = np.array([[3.0, 2.0], [3.0, 2.0]]), 40.0
    near = min(
        KERNELS.tilted(counts, weight, ANY_INPUT, 0.4 + a, 0.4 + b) for a in (-0.1, 0, 0.1) for b in (-0.1, 0, 0.1)
    )
    assert KERNELS.floor(counts, weight, ANY_INPUT, near) < near - 3.0


def test_row_that_hardly_ever_errs_does_not_make_the_floor_infinite():
    # the root of the row's cost rounds to 1, where the cost is infinite
    counts = np.array([[[1.0, 1e17], [5e16, 5e16]]])
    assert likelihood_evidence(counts, np.ones((1, 2, 2)), np.ones(1))[0] < 0.0


@pytest.mark.parametrize("size", [1e9, 1e12, 1e14, 1e16])
def test_few_senses_after_very_many_are_no_evidence_without_weight(size):
    starts = np.floor(size * np.array([[[0.9, 0.1], [0.1, 0.9]], [[0.7, 0.3], [0.4, 0.6]], [[0.99, 0.01], [0.5, 0.5]]]))
    counts = starts + np.array([[9.0, 1.0], [1.0, 9.0]])
    assert likelihood_evidence(counts, starts, np.full(3, 1e-6)).max() < math.log(0.9)


def outcomes(n, v):
    """(counts, probability) of n senses of each input of the channel v."""
    for first in range(n + 1):
        for second in range(n + 1):
            chance = 1.0
            for ones, p in ((first, v[0]), (second, v[1])):
                chance *= math.comb(n, ones) * p**ones * (1 - p) ** (n - ones)
            yield np.array([[n - first, first], [n - second, second]], dtype=float), chance


@pytest.mark.parametrize("weight", [0.0, 0.5, 3.0, 20.0])
@pytest.mark.parametrize("v", [(0.2, 0.9), (0.5, 0.5), (0.0, 1.0), (0.02, 0.4)])
def test_stake_grows_on_average_by_no_more_than_the_value_allows(v, weight):
    # 2 senses of each input are learned from, 4 are bet on: every outcome with its probability
    value = KERNELS.value(*v, ANY_INPUT)[0]
    starts, later = list(outcomes(2, v)), list(outcomes(4, v))
    cases = [(start, start + new, p * q) for start, p in starts for new, q in later]
    nats = likelihood_evidence(
        np.stack([counts for _, counts, _ in cases]), np.stack([s for s, _, _ in cases]), np.full(len(cases), weight)
    )
    mean = math.fsum(chance * math.exp(x) for x, (_, _, chance) in zip(nats, cases, strict=True))
    assert len(cases) == 9 * 25
    assert mean <= math.exp(-weight * value) * (1 + 1e-9)


def test_predictions_begun_from_what_was_learned_cost_half_a_logarithm_a_row():
    # at weight 0 the evidence is the redundancy alone: 2 · ½ log(n/n⁰) of predictions, up to a constant below ½ a row
    counts, starts = np.array([[[8000.0, 2000.0], [3000.0, 7000.0]]]), np.array([[[80.0, 20.0], [30.0, 70.0]]])
    cost = -likelihood_evidence(counts, starts, np.zeros(1))[0] + math.log(0.9)
    assert cost == pytest.approx(math.log(10_000 / 100), abs=1.0)


def test_leader_and_rival_meet_at_the_same_value():
    W, P = np.array(rows(0.05, 0.9)), np.array([0.5, 0.5])
    curve = leader_curve(W, P, np.array([100.0, 100.0]))
    rng = np.random.default_rng(7)
    for _ in range(50):
        a, N = rng.uniform(0.15, 0.5, 2), 10 ** rng.uniform(2, 4)
        counts = N * np.array([rows(a[0], 1 - a[1])])
        rate, level, cost = balanced_rates(counts, np.zeros(1), 4 * N, curve.rates, curve.levels)[0]
        leader = np.interp(math.log(rate), np.log(curve.rates), curve.levels)
        assert level == pytest.approx(leader, abs=0.02)
        assert cost >= 0.0
