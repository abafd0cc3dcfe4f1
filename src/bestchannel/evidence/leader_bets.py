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

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bestchannel.arrays import Floats
from bestchannel.native import evidence as kernels


class LeaderBets(NamedTuple):
    """Bets on the leader's senses in one request, one for each of several weights."""

    pays: Floats  # [r, x, y] log of what a sense of x that gives y is multiplied by
    price: Floats  # [r] what the bets cost beyond s C(W_b), and what rounding may add
    auxiliary: Floats  # [r, x, y] V
    multipliers: Floats  # [r, x] ν

    def settled(self, counts: Floats) -> Floats:
        """What the bets brought: sum n(x, y) pays(x, y) - price, for the same counts [x, y] or for those of each."""
        paid: Floats = (self.pays * counts).sum(axis=(1, 2))
        return paid - self.price

    @classmethod
    def joined(cls, bets: Sequence[LeaderBets], places: list[int]) -> LeaderBets:
        """Some of all these bets, by their number."""
        if len(bets) == 1 and places == list(range(len(bets[0].price))):
            return bets[0]
        return cls(*(np.concatenate(part).take(places, axis=0) for part in zip(*bets, strict=True)))


def leader_bets(W: Floats, P: Floats, senses: Floats, weights: Floats) -> LeaderBets:
    """Bets of weight s = weights[r] on the rows W, thought to be true, at the input distribution P.

    W, P and senses are [x, y], [x] and [x] for all weights, or [r, x, y], [r, x] and [r, x] with one for each.

    pays = log((ν_x + s P_x g_x(y)) / N_x) with g_x = log(V_x/PV) and ν_x such that V_x = W_x / e^pays sums to 1.
    The best V are those very rows, less valuable than W, that the bets are hardest to tell from W; they are
    found by repetition. Whatever V and ν_x, the price
    sum_x max_y (N_x (e^pays - 1) - s P_x g_x(y)) bounds log E exp(sum pays) - s C(W_b) for
    every W_b, since log z <= z - 1.
    """
    (n, m), r = W.shape[-2:], len(weights)
    bets = LeaderBets(np.empty((r, n, m)), np.empty(r), np.empty((r, n, m)), np.empty((r, n)))
    rows, inputs, often, sizes = (np.ascontiguousarray(each, dtype=np.float64) for each in (W, P, senses, weights))
    kernels.leader_bets(rows, inputs, often, sizes, bets.pays, bets.price, bets.auxiliary, bets.multipliers)
    return bets
