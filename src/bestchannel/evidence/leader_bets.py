"""Evidence that holds at all times and under any adaptive sensing: an e-process in nats.

Let b be a leader and a a rival, and suppose that a's value is at least b's. Before a
request is answered, a policy fixes bets on what the answer will be. On that supposition the
bets win nothing on average, so that what they have paid exceeds 1/δ at any time, ever, with
probability at most δ (Ville). docs/theory/adaptive.md has the proof.

*The leader* is bet on by a linear functional of its rows. For any P and V,
C(W) >= sum_x P_x E_{W_x} g_x with g_x = log(V_x / PV), so a bet that pays
log((ν_x + s P_x g_x(y)) / N_x) on each of N_x senses costs at most s C(W_b) + `price`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bestchannel.arrays import Floats
from bestchannel.compiled import Kernels

kernels = Kernels("bestchannel.evidence.leader_bet_kernels", seconds=2, same_in_python=True)

REFINEMENTS = 12
"""How often, at most, the rows at which a bet is priced are improved."""

ROUNDING = 1e-9
"""Nats that each bet is priced too high, against rounding."""

RELATIVE_ROUNDING = 1e-14
"""The same for each nat that is staked or may be paid."""


@dataclass(frozen=True)
class LeaderBets:
    """Bets on the leader's senses in one request, one for each of several weights."""

    pays: Floats  # [r, x, y] log of what a sense of x that gives y is multiplied by
    price: Floats  # [r] what the bets cost beyond s C(W_b)
    auxiliary: Floats  # [r, x, y] V
    multipliers: Floats  # [r, x] ν

    def settled(self, counts: Floats) -> Floats:
        """What the bets brought: sum n(x, y) pays(x, y) - price, with counts [x, y] for all or [r, x, y] for each."""
        each = "rxy,xy->r" if counts.ndim == 2 else "rxy,rxy->r"
        return np.einsum(each, self.pays, counts) - self.price

    def at(self, places: list[int]) -> LeaderBets:
        """Some of the bets."""
        return LeaderBets(self.pays[places], self.price[places], self.auxiliary[places], self.multipliers[places])


def leader_bets(W: Floats, P: Floats, senses: Floats, weights: Floats) -> LeaderBets:
    """Bets of weight s = weights[r] on the rows W, thought to be true, at the input distribution P.

    pays = log((ν_x + s P_x g_x(y)) / N_x) with g_x = log(V_x/PV) and ν_x such that V_x = W_x / e^pays sums to 1.
    The best V are those very rows, less valuable than W, that the bets are hardest to tell from W; they are
    found by repetition. Whatever V and ν_x, the price
    sum_x max_y (N_x (e^pays - 1) - s P_x g_x(y)) bounds log E exp(sum pays) - s C(W_b) for
    every W_b, since log z <= z - 1. W [x, y], P [x] and N [x] serve all weights; or there is one for each, [r, ...].
    """
    shape = (len(weights), *W.shape[-2:])
    pays, price, V, nu = np.empty(shape), np.empty(len(weights)), np.empty(shape), np.empty(shape[:2])
    rows, inputs, numbers = np.broadcast_to(W, shape), np.broadcast_to(P, shape[:2]), np.broadcast_to(senses, shape[:2])
    given = (np.ascontiguousarray(array, dtype=np.float64) for array in (rows, inputs, numbers, weights))
    kernels().bets(*given, REFINEMENTS, pays, price, V, nu)
    at_stake = weights + np.einsum("rx,rxy->r", numbers, np.abs(pays) * (1.0 + np.exp(pays)))
    return LeaderBets(pays, price + ROUNDING + RELATIVE_ROUNDING * at_stake, V, nu)
