"""The inequalities behind `Adaptive`, each computed exactly on many channels: no expectation here is simulated.

docs/theory/adaptive.md has the proofs. An inequality that holds with room to spare would also hold with a
wrong constant, so each comes with a case in which it is nearly an equality, or with a twin that breaks it.
"""

import numpy as np
import pytest

from bestchannel.capacity import capacities
from bestchannel.channels import bsc, z_channel
from bestchannel.evidence.bets import LARGEST_INPUT, leader_bets
from bestchannel.information import NATS_PER_BIT

SIZES = [(n, m) for n in range(2, 7) for m in range(2, 7)]
CONCENTRATIONS = (0.1, 0.3, 1.0, 3.0)
EPS = float(np.finfo(float).eps)


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
    cheap = bets._replace(price=bets.price - 1e-6 * s)
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
