"""Evidence that holds at all times and under any adaptive sensing: an e-process in nats.

Let b be a leader and a a rival, and suppose that a is worth at least as much as b. Before a
request is answered, a policy fixes bets on what the answer will be. On that supposition the
bets win nothing on average, so that what they have paid exceeds 1/δ at any time, ever, with
probability at most δ (Ville). docs/theory/adaptive.md has the proof.

*The leader* is bet on by a linear functional of its rows. For any P and V,
C(W) >= sum_x P_x E_{W_x} g_x with g_x = log(V_x / PV), so a bet that pays
log((ν_x + s P_x g_x(y)) / N_x) on each of N_x senses costs at most s C(W_b) + `price`.

*The rival* is bet on through its plug-in value. With (P, Q) optimal for its true rows,
ℓ_x = log(W_x/Q) has mean C, ℓ_x <= log 1/P_x and E exp(-ℓ_x) <= 1, whence
log E exp(θ P_x (C - ℓ_x)) <= C θ² φ(P_x)/2; and sum_x P_x mean(ℓ_x) <= C(Ŵ).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bestchannel.arrays import Floats

LARGEST_INPUT = 1.0 - math.exp(-1.0)
"""No input of a capacity-achieving distribution is more probable than this [MR91, SF04]."""

REFINEMENTS = 5
"""How often the rows at which a bet is priced are improved."""

ROUNDING = 1e-9
"""Nats that each bet is priced too high, against rounding."""


def phi_per_input(p: float) -> float:
    """φ(p)/p for φ(p) = p² log²p / (log(1/p) - 1 + p): with t = log 1/p, 1 / sum_{k>=2} t^(k-2) (k-1)/k!.

    The series shows that it falls with t and so rises with p, from 0 to 2.
    """
    t = -math.log(p)
    if t > 0.1:
        return t * t / (1.0 + (t - 1.0) * math.exp(t))
    return 1.0 / sum(t ** (k - 2) * (k - 1) / math.factorial(k) for k in range(2, 14))


def _capacity_spread() -> float:
    """max over input distributions with P_x <= 1 - 1/e of sum_x φ(P_x), from above.

    φ(p)/p rises, so merging inputs raises the sum: two inputs are the worst case (three that
    cannot be merged are all below 1/e, where the sum is at most φ(1/e) e < 1). On each cell of
    [1/2, 1 - 1/e] both terms are bounded by their larger end.
    """
    p = np.linspace(0.5, LARGEST_INPUT, 4001)
    phi = np.array([value * phi_per_input(value) for value in p])
    phi_rest = np.array([(1.0 - value) * phi_per_input(1.0 - value) for value in p])
    return float((phi[1:] + phi_rest[:-1]).max())


CAPACITY_SPREAD = _capacity_spread()
"""Φ for the capacity: log E exp(θ sum_x P_x (C - ℓ_x)) <= C Φ θ²/2 for one sense of each input."""


def information_spread(P: tuple[float, ...]) -> float:
    """Φ for I(P; W) at a fixed P, where D_x differs from input to input: max_x φ(P_x)/P_x."""
    return phi_per_input(max(P))


@dataclass(frozen=True)
class LeaderBets:
    """Bets on the leader's senses in one request, one for each of k rivals."""

    pays: Floats  # [rival, x, y] log of what a sense of x that gives y is multiplied by
    price: Floats  # [rival] what the bets cost beyond s C(W_b)

    def settled(self, counts: Floats) -> Floats:
        """What the bets brought, of each rival: sum n(x, y) pays(x, y) - price."""
        return np.einsum("rxy,xy->r", self.pays, counts) - self.price


def leader_bets(W: Floats, P: Floats, senses: Floats, weights: Floats) -> LeaderBets:
    """Bets of weight s = weights[r] on the rows W, thought to be true, at the input distribution P.

    pays = log((ν_x + s P_x g_x(y)) / N_x) with g_x = log(V_x/PV). The best V are the rows
    V_x = W_x / e^pays, less valuable than W, that the bets are hardest to tell from W; they are
    found by repetition. Whatever V and ν_x, the price
    sum_x max_y (N_x (e^pays - 1) - s P_x g_x(y)) bounds log E exp(sum pays) - s C(W_b) for
    every W_b, since log z <= z - 1.
    """
    N = senses[:, None]
    V = np.broadcast_to(W, (len(weights), *W.shape))
    for _ in range(REFINEMENTS):
        g = np.log(V / np.einsum("x,rxy->ry", P, V)[:, None, :])
        stakes = weights[:, None, None] * P[:, None] * g
        wealth = _wealth(W, N, stakes)
        V = 0.5 * V + 0.5 * W / wealth
    price = (N * (wealth - 1.0) - stakes).max(axis=2).sum(axis=1)
    return LeaderBets(np.log(wealth), price + ROUNDING)


def _wealth(W: Floats, N: Floats, stakes: Floats) -> Floats:
    """(ν_x + stakes) / N_x with ν_x such that W_x / wealth sums to 1.

    Newton's method for sum_y W N / (ν + stakes) = 1, whose left side is convex and falls in ν, climbs
    to the root from the left: from where the term of the smallest stake alone is 1, or from
    N - sum_y W stakes, where the left side is at least 1 by Jensen's inequality.
    """
    at = np.take_along_axis(np.broadcast_to(W, stakes.shape), stakes.argmin(axis=2)[..., None], axis=2)
    stakes = stakes - stakes.min(axis=2, keepdims=True)  # large ones must not swallow a small root
    nu = np.maximum(N * at, N - (W * stakes).sum(axis=2, keepdims=True))
    for _ in range(40):
        odds = W * N / (nu + stakes)
        excess = odds.sum(axis=2, keepdims=True) - 1.0
        nu = nu + excess / (odds / (nu + stakes)).sum(axis=2, keepdims=True)
        if np.all(excess < 1e-12):
            break
    return (nu + stakes) / N


def rival_weight(theta: Floats, rounds: Floats, spread: float) -> Floats:
    """s = m θ (1 - Φθ/2): the weight on the leader that a bet θ on m senses of each of the rival's inputs buys."""
    return rounds * theta * (1.0 - 0.5 * spread * theta)
