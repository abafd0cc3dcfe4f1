"""The inequalities behind `Adaptive`, each computed exactly on many channels: no expectation here is simulated.

docs/theory/adaptive.md has the proofs. An inequality that holds with room to spare would also hold with a
wrong constant, so each comes with a case in which it is nearly an equality, or with a twin that breaks it.
"""

import math
from dataclasses import replace
from decimal import Decimal, localcontext

import numpy as np
import pytest

from bestchannel.capacity import capacities
from bestchannel.channels import bsc, z_channel
from bestchannel.evidence.leader_bets import (
    CAPACITY_SPREAD,
    LARGEST_INPUT,
    information_spread,
    leader_bets,
    phi_per_input,
    rival_weight,
)
from bestchannel.information import NATS_PER_BIT

SIZES = [(n, m) for n in range(2, 7) for m in range(2, 7)]
CONCENTRATIONS = (0.1, 0.3, 1.0, 3.0)
THETAS = (1e-3, 0.05, 0.3, 0.6, 0.9)
"""Bets up to `LARGEST_BET` of the policy."""

EPS = float(np.finfo(float).eps)


def phi(p):
    """φ(p) = p² log²p / (log(1/p) - 1 + p), and 0 at p = 0, of every entry, with 60 digits."""
    return np.vectorize(lambda value: float(_decimal_phi(value)), otypes=[float])(p)


def _decimal_phi(p):
    with localcontext() as context:
        context.prec = 60
        p = Decimal(float(p))
        return p * p * p.ln() ** 2 / (-p.ln() - 1 + p) if p else Decimal(0)


def random_stack(size, concentration, count, seed):
    n, m = size
    return np.random.default_rng([seed, n, m, int(10 * concentration)]).dirichlet([concentration] * m, (count, n))


def log_ratios(W, Q):
    """log(W_x/Q) of every row, 0 where W is: there it has no weight."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(W > 0.0, np.log(W / Q[..., None, :]), 0.0)


def information_nats(P, W):
    """I(P; W) of every channel of a stack."""
    return np.einsum("cx,cxy,cxy->c", P, W, log_ratios(W, np.einsum("cx,cxy->cy", P, W)))


@pytest.mark.parametrize(
    "p", [1e-300, 1e-20, 1e-3, 0.1, 1 / math.e, 0.5, LARGEST_INPUT, 0.9, 0.9048, 0.905, 0.99, 1 - 1e-9]
)
def test_phi_per_input_is_its_closed_form(p):
    with localcontext() as context:
        context.prec = 60
        exact = float(_decimal_phi(p) / Decimal(p))
    # below t = 0.1 the sum of the series loses nothing; above, (t - 1) e^t + 1 cancels at most t²/2 = 1/200 of 1
    assert phi_per_input(p) == pytest.approx(exact, rel=1000 * EPS)


@pytest.mark.parametrize("t", [1e-12, 1e-3, 0.05, 0.0999, 0.1001, 0.5, 2.0, 10.0, 40.0])
def test_phi_per_input_is_its_series(t):
    series = sum(math.exp((k - 2) * math.log(t) + math.log(k - 1) - math.lgamma(k + 1)) for k in range(2, 300))
    # lgamma and the powers are good to some 100 roundings; p = e^-t is off by a rounding, t by EPS / t of itself
    assert phi_per_input(math.exp(-t)) == pytest.approx(1.0 / series, rel=2000 * EPS + 2 * EPS * (1 + t))


def test_phi_per_input_rises_from_0_to_2():
    p = np.concatenate([np.geomspace(1e-12, 0.5, 1000), np.linspace(0.5, 1.0, 2001)[1:]])
    values = np.array([phi_per_input(value) for value in p])
    assert np.all(np.diff(values) > 0.0)
    assert values[0] < 1e-9
    assert values[-1] == pytest.approx(2.0, rel=4 * EPS)


def largest_pair():
    p = np.linspace(0.5, LARGEST_INPUT, 401)
    return (phi(p) + phi(1.0 - p)).max()


def allowed_inputs(n, rng):
    """Distributions without an entry above 1 - 1/e: random ones, evenly spaced ones, and those at the limit."""
    P = [rng.dirichlet([concentration] * n, 400) for concentration in (0.1, 0.3, 1.0, 10.0)]
    limit = rng.dirichlet([0.3] * (n - 1), 200) / math.e
    P.append(np.column_stack([np.full(len(limit), LARGEST_INPUT), limit]))
    grid = np.stack(np.meshgrid(*[np.linspace(0.0, 1.0, 13)] * (n - 1)), axis=-1).reshape(-1, n - 1)[:3000]
    P.append(np.column_stack([grid, 1.0 - grid.sum(axis=1)]))
    every = np.concatenate(P)
    return np.maximum(every[(every.max(axis=1) <= LARGEST_INPUT) & (every.min(axis=1) > -EPS)], 0.0)


@pytest.mark.parametrize("n_inputs", range(2, 7))
def test_capacity_spread_is_above_every_sum_of_phi(n_inputs):
    P = allowed_inputs(n_inputs, np.random.default_rng(n_inputs))
    assert len(P) > 300
    sums = [sum(p * phi_per_input(p) for p in row if p > 0.0) for row in P.tolist()]
    assert max(sums) <= CAPACITY_SPREAD


def test_capacity_spread_is_the_worst_case_of_two_inputs():
    # from above, and within the width of a cell: 3.3e-5 times the slopes of φ, at most 2
    assert 0.0 <= CAPACITY_SPREAD - largest_pair() < 1e-4


def test_information_spread_is_above_every_phi_per_input():
    for P in np.random.default_rng(5).dirichlet([0.5] * 4, 200):
        assert information_spread(tuple(P)) >= (phi(P[P > 0]) / P[P > 0]).max() * (1 - 1000 * EPS)
    assert information_spread((1.0, 0.0)) == 2.0


@pytest.mark.parametrize("concentration", CONCENTRATIONS)
def test_no_input_of_an_optimal_distribution_exceeds_1_minus_1_over_e(concentration):
    for size in SIZES:
        found = capacities(random_stack(size, concentration, 40, 1), tol=1e-13, workers=1)
        # within sqrt(gap / C) of an optimum; where the capacity is nearly 0, every distribution is nearly optimal
        carries = found.lower > 1e-3
        assert found.input[carries].max(initial=0.0) <= LARGEST_INPUT + 1e-5


def test_largest_input_is_approached():
    # the Z channel that hardly ever gets its input through: P -> 1 - 1/e for the input that never errs
    assert capacities(z_channel(0.999).W[None], tol=1e-13).input.max() == pytest.approx(LARGEST_INPUT, abs=1e-3)


def rival_bets(W, theta):
    """(log E exp(θ P_x (C - ℓ_x)), C θ² φ(P_x)/2, θ times the gap) of every channel and input, in nats."""
    found = capacities(W, tol=1e-12, workers=1)
    C, P = found.lower * NATS_PER_BIT, found.input
    ratios = log_ratios(W, np.einsum("cx,cxy->cy", P, W))
    moments = (W * np.exp(theta * P[..., None] * (C[:, None, None] - ratios))).sum(axis=2)
    phis = np.array([[p * phi_per_input(p) if p > 1e-300 else 0.0 for p in row] for row in P.tolist()])
    return np.log(moments), C[:, None] * theta**2 * phis / 2, theta * found.gap[:, None] * NATS_PER_BIT


@pytest.mark.parametrize("theta", THETAS)
@pytest.mark.parametrize("concentration", CONCENTRATIONS)
def test_bet_on_an_input_of_the_rival_costs_no_more_than_phi(concentration, theta):
    for size in SIZES:
        cost, bound, gap = rival_bets(random_stack(size, concentration, 10, 2), theta)
        # P is optimal but for the gap: sum_x P_x (C - D_x) <= gap; and a dozen roundings of numbers about 1
        assert np.all(cost <= bound + gap + 20 * EPS)


@pytest.mark.parametrize("theta", THETAS)
@pytest.mark.parametrize("concentration", CONCENTRATIONS)
def test_bet_on_all_inputs_of_the_rival_costs_no_more_than_the_spread(concentration, theta):
    for size in SIZES:
        W = random_stack(size, concentration, 10, 2)
        cost, _, gap = rival_bets(W, theta)
        C = capacities(W, tol=1e-12, workers=1).upper * NATS_PER_BIT
        assert np.all(cost.sum(axis=1) <= C * CAPACITY_SPREAD * theta**2 / 2 + gap[:, 0] + 20 * size[0] * EPS)


def test_phi_of_a_bet_on_an_input_of_the_rival_is_hardly_too_large():
    # nearly useless Z channels and tiny bets come within 1 % of the bound: a φ 1 % smaller would be noticed
    cost, bound, _ = rival_bets(np.stack([z_channel(q).W for q in (0.9, 0.99, 0.995)]), 0.05)
    assert (cost / bound).max() > 0.99


@pytest.mark.parametrize("theta", THETAS)
@pytest.mark.parametrize("concentration", CONCENTRATIONS)
def test_bet_on_a_rival_at_fixed_inputs_costs_no_more_than_its_spread(concentration, theta):
    for size in SIZES:
        W = random_stack(size, concentration, 10, 3)
        P = np.random.default_rng(4).dirichlet([0.5] * size[0], len(W))
        ratios = log_ratios(W, np.einsum("cx,cxy->cy", P, W))
        D = (W * ratios).sum(axis=2)
        cost = np.log((W * np.exp(theta * P[..., None] * (D[..., None] - ratios))).sum(axis=2)).sum(axis=1)
        spreads = np.array([information_spread(tuple(p)) for p in P])
        assert np.all(cost <= (P * D).sum(axis=1) * spreads * theta**2 / 2 + 20 * size[0] * EPS)


@pytest.mark.parametrize("concentration", CONCENTRATIONS)
def test_mean_of_the_rivals_log_ratios_is_at_most_the_value_of_its_empirical_rows(concentration):
    rng = np.random.default_rng(6)
    for size in SIZES:
        W = random_stack(size, concentration, 10, 7)
        P = capacities(W, tol=1e-9, workers=1).input
        ratios = log_ratios(W, np.einsum("cx,cxy->cy", P, W))
        for senses in (1, 3, 30, 1000):
            W_hat = rng.multinomial(senses, W / W.sum(axis=2, keepdims=True)) / senses
            mean = np.einsum("cx,cxy,cxy->c", P, W_hat, ratios)
            assert np.all(mean <= capacities(W_hat, workers=1).upper * NATS_PER_BIT + 100 * EPS)
            assert np.all(mean <= information_nats(P, W_hat) + 100 * EPS)  # for a fixed P
        # an equality for the true rows
        assert np.einsum("cx,cxy,cxy->c", P, W, ratios) == pytest.approx(information_nats(P, W), abs=100 * EPS)


def hostile_rows(rng, n, m):
    """Rows of all kinds, every entry positive as those of the policy are: even, sparse, nearly noiseless, nearly equal."""
    kind = rng.integers(5)
    W = rng.dirichlet([10 ** rng.uniform(-1.5, 0.5)] * m, n)
    if kind == 0:
        W = 1e-6 * W + np.eye(n, m) + 1e-9
    if kind == 1:
        W = W[:1] + 1e-5 * W
    if kind == 2:
        W = W + 10.0 ** -rng.uniform(2, 30, (n, m))
    return (W + 1e-30) / (W + 1e-30).sum(axis=1, keepdims=True)


def hostile_case(seed):
    """(W, P, N, s): any rows, any inputs, 1 to 10^6 senses, bets from tiny to absurd."""
    rng = np.random.default_rng([8, seed])
    n, m = rng.integers(2, 7, 2)
    W, P = hostile_rows(rng, n, m), rng.dirichlet([10 ** rng.uniform(-1, 1)] * n)
    N = np.floor(10 ** (rng.uniform(0, 6, n) if seed % 3 else np.zeros(n)))
    return rng, W, P, N, 10 ** rng.uniform(-3, 5, 6)


def leaders(rng, W, bets):
    """True rows that the leader might have: the assumed ones, those hardest to tell from them, and any others."""
    V = W / np.exp(bets.pays)
    corners = np.eye(W.shape[1])[rng.integers(W.shape[1], size=(8, len(W)))]
    others = np.stack([hostile_rows(rng, *W.shape) for _ in range(12)])
    return np.concatenate([W[None], V / V.sum(axis=2, keepdims=True), corners, 0.5 * corners + 0.5 * W, others])


def excess(bets, P, N, s, rows):
    """log E exp(sum pays) - price - s I(P; W_b) [leader, rival]: at most 0, and so also with s C(W_b) for s I."""
    means = np.einsum("cxy,rxy->crx", rows, np.exp(bets.pays))
    value = information_nats(np.broadcast_to(P, (len(rows), len(P))), rows)
    return np.log(means) @ N - bets.price - s * value[:, None]


def rounding(N, s):
    """What rounding may add: some 30 operations on terms of the size of s, N log means and the price."""
    return 30 * EPS * (N.sum() + s)


def test_bets_on_the_leader_cost_at_most_their_price_whatever_its_rows():
    # 1500 cases x 6 bets x (1 + 6 + 8 + 8 + 12) leaders: 315,000 combinations
    for seed in range(1500):
        rng, W, P, N, s = hostile_case(seed)
        bets = leader_bets(W, P, N, s)
        assert np.all(np.isfinite(bets.pays))
        assert np.all(excess(bets, P, N, s, leaders(rng, W, bets)) <= rounding(N, s)), seed


def test_capacity_is_no_less_than_what_the_bets_on_the_leader_are_priced_at():
    # the inequality of the policy, s C(W_b) and not s I(P; W_b), with certified capacities
    for seed in range(300):
        rng, W, P, N, s = hostile_case(seed)
        bets = leader_bets(W, P, N, s)
        rows = leaders(rng, W, bets)
        means = np.einsum("cxy,rxy->crx", rows, np.exp(bets.pays))
        C = capacities(rows, workers=1).upper * NATS_PER_BIT
        assert np.all(np.log(means) @ N - bets.price <= s * C[:, None] + rounding(N, s)), seed


def test_bets_on_the_leader_are_hardly_priced_too_high():
    # at the rows hardest to tell from W nothing is lost but rounding and what the repetition has not found
    for p in (0.05, 0.2):
        W, P, N, s = bsc(p).W, np.array([0.5, 0.5]), np.array([1000.0, 1000.0]), np.array([3.0])
        bets = leader_bets(W, P, N, s)
        V = W / np.exp(bets.pays)
        assert -1e-6 < excess(bets, P, N, s, V)[0, 0] <= 0.0


def test_bets_priced_a_millionth_too_low_are_noticed():
    # the twin of the two tests above: it fails at the rows hardest to tell from W
    W, P, N, s = bsc(0.1).W, np.array([0.5, 0.5]), np.array([1000.0, 1000.0]), np.array([3.0])
    bets = leader_bets(W, P, N, s)
    cheap = replace(bets, price=bets.price - 1e-6 * s)
    assert excess(cheap, P, N, s, W / np.exp(bets.pays)).max() > rounding(N, s)


def test_what_the_bets_brought_is_pays_of_every_sense_less_the_price():
    _, W, P, N, s = hostile_case(1)
    bets, counts = leader_bets(W, P, N, s), np.arange(W.size).reshape(W.shape)
    by_hand = [(counts * pays).sum() - price for pays, price in zip(bets.pays, bets.price, strict=True)]
    assert bets.settled(counts.astype(float)) == pytest.approx(by_hand, rel=100 * EPS)


def test_bets_of_one_rival_do_not_depend_on_the_others():
    _, W, P, N, s = hostile_case(2)
    together = leader_bets(W, P, N, s)
    for i in range(len(s)):
        alone = leader_bets(W, P, N, s[i : i + 1])
        # the root is found to 1e-12 of N, however many rivals are priced at once
        assert alone.pays[0] == pytest.approx(together.pays[i], rel=1e-9, abs=1e-9)
        assert alone.price[0] == pytest.approx(together.price[i], rel=1e-9, abs=1e-8)


@pytest.mark.parametrize("gap_share", [1e-3, 1e-2])
def test_evidence_grows_where_the_leader_is_as_assumed_and_better(gap_share):
    # θ = Δ/(ΦC + m v): the expected growth is m θ Δ/2 to second order in Δ; the bias of C(Ŵ) is not counted here
    for seed in range(200):
        rng = np.random.default_rng([9, seed])
        n, m = rng.integers(2, 7, 2)
        W = rng.dirichlet([rng.uniform(0.3, 3.0)] * m, n) + 1e-4
        W = W / W.sum(axis=1, keepdims=True)
        found = capacities(W[None], workers=1)
        C, P, N = found.lower[0] * NATS_PER_BIT, found.input[0], np.floor(10 ** rng.uniform(1, 4, n))
        ratios = log_ratios(W, P @ W)
        variances = (W * ratios**2).sum(axis=1) - (W * ratios).sum(axis=1) ** 2
        rounds, gap = np.floor(10 ** rng.uniform(0, 4)), gap_share * C
        theta = gap / (CAPACITY_SPREAD * C + rounds * (P**2 * variances / N).sum())
        weight = rival_weight(np.array([theta]), np.array([rounds]), CAPACITY_SPREAD)
        bets = leader_bets(W, P, N, weight)
        growth = bets.settled(N[:, None] * W)[0] - rounds * theta * (C - gap)
        # the third order is small where the gap is; each bet loses 1e-9 nat to rounding
        assert growth > 0.9 * rounds * theta * gap / 2 - 2e-9, seed


def test_weight_on_the_leader_is_what_the_bet_on_the_rival_pays_for():
    theta, rounds = np.array([0.0, 0.1, 0.9]), np.array([5.0, 7.0, 1.0])
    assert rival_weight(theta, rounds, 1.25) == pytest.approx([0.0, 0.7 * 0.9375, 0.9 * 0.4375], rel=4 * EPS)
