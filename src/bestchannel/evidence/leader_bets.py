"""Evidence that holds at all times and under any adaptive sensing: an e-process in nats.

Let b be a leader and a a rival, and suppose that a's value is at least b's. Before a
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
from bestchannel.compiled import Kernels

kernels = Kernels("bestchannel.evidence.leader_bet_kernels", seconds=5)

LARGEST_INPUT = 1.0 - math.exp(-1.0)
"""No input of a capacity-achieving distribution is more probable than this [MR91, SF04]."""

REFINEMENTS = 12
"""How often, at most, the rows at which a bet is priced are improved."""

RATES = np.geomspace(1e-7, 1.5, 41)
"""Nats of weight per sense at which the leader is tried."""

ROUNDING = 1e-9
"""Nats that each bet is priced too high, against rounding."""

RELATIVE_ROUNDING = 1e-14
"""The same for each nat that is staked or may be paid."""


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
    cannot be merged are all below 1/e, where the sum is at most φ(1/e) e < 1). On each part of
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
    """Bets on the leader's senses in one request, one for each of several weights."""

    pays: Floats  # [r, x, y] log of what a sense of x that gives y is multiplied by
    price: Floats  # [r] what the bets cost beyond s C(W_b)
    auxiliary: Floats  # [r, x, y] V
    multipliers: Floats  # [r, x] ν

    def settled(self, counts: Floats) -> Floats:
        """What the bets brought: sum n(x, y) pays(x, y) - price."""
        return np.einsum("rxy,xy->r", self.pays, counts) - self.price


def leader_bets(W: Floats, P: Floats, senses: Floats, weights: Floats) -> LeaderBets:
    """Bets of weight s = weights[r] on the rows W, thought to be true, at the input distribution P.

    pays = log((ν_x + s P_x g_x(y)) / N_x) with g_x = log(V_x/PV) and ν_x such that V_x = W_x / e^pays sums to 1.
    The best V are those very rows, less valuable than W, that the bets are hardest to tell from W; they are
    found by repetition. Whatever V and ν_x, the price
    sum_x max_y (N_x (e^pays - 1) - s P_x g_x(y)) bounds log E exp(sum pays) - s C(W_b) for
    every W_b, since log z <= z - 1.
    """
    shape = (len(weights), *W.shape)
    pays, price, V, nu = np.empty(shape), np.empty(len(weights)), np.empty(shape), np.empty(shape[:2])
    given = (np.ascontiguousarray(array, dtype=np.float64) for array in (W, P, senses, weights))
    kernels().bets(*given, REFINEMENTS, pays, price, V, nu)
    at_stake = weights + np.einsum("x,rxy->r", senses, np.abs(pays) * (1.0 + np.exp(pays)))
    return LeaderBets(pays, price + ROUNDING + RELATIVE_ROUNDING * at_stake, V, nu)


@dataclass(frozen=True)
class LeaderCurve:
    """Where bets push the leader: at rates[i] nats per sense its rows have the value levels[i], at costs[i] nats."""

    rates: Floats
    levels: Floats
    costs: Floats


def leader_curve(W: Floats, P: Floats, senses: Floats) -> LeaderCurve:
    """I(P; V) and the mean over the senses of D(W_x‖V_x) for the rows V = W / e^pays of bets of every rate."""
    share = senses / senses.sum()
    pays = leader_bets(W, P, share, RATES).pays
    V = W / np.exp(pays)
    Q = np.einsum("x,rxy->ry", P, V)
    levels = np.einsum("x,rxy,rxy->r", P, V, np.log(V / Q[:, None, :]))
    levels = np.minimum.accumulate(levels)  # at high rates the repetition may not have settled
    return LeaderCurve(RATES, levels, np.einsum("x,xy,rxy->r", share, W, pays))


def rival_weight(theta: Floats, rounds: Floats, spread: float) -> Floats:
    """s = m θ (1 - Φθ/2): the weight on the leader that a bet θ on m senses of each of the rival's inputs buys."""
    return rounds * theta * (1.0 - 0.5 * spread * theta)
