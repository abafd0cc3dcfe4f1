"""The value of the weights of a pair, proved: a lower bound of the evidence against every alternative.

    Z = inf{ Σ_x w_bx D(W_bx‖u_x) + Σ_x w_ax D(W_ax‖v_x) : C(v) ≥ C(u) }.

With counts as weights this is the evidence that a policy has, and the bound is the certified one
that a proved stop needs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bestchannel.arrays import Floats
from bestchannel.capacity import Capacity, capacity
from bestchannel.information import NATS_PER_BIT
from bestchannel.lower_bound.alternatives import LEAST_ENTRY, Position
from bestchannel.native.lower_bound import PROVED, VIOLATED, Curve, Side, certify

CURVE_RANGE = (1e-6, 1e2)
CURVE_POINTS = 190
"""Prices of capacity at which the leader is solved, relative to its weight: a factor of 1.1 apart."""

CURVE_STEPS, CURVE_TOLERANCE = 500, 1e-7


@dataclass(frozen=True, eq=False)
class Proof:
    """`bound` ≤ min(Z, target), and whether it is the target; by which factor the rival's weights were raised for it.

    Where the search met a pair that seems to cost less, it is `doubt`.
    """

    bound: float
    proved: bool
    doubt: Position | None
    raised: float = 1.0


class Leader:
    """The best channel with its weights, solved once for all rivals."""

    def __init__(self, W: Floats, w: Floats, answer: Capacity) -> None:
        prices = w.sum() * np.geomspace(*CURVE_RANGE, CURVE_POINTS)
        P = np.maximum(answer.input, 1e-6)
        self.curve = Curve.of(Side.of(W, w), prices, W, P / P.sum(), CURVE_STEPS, CURVE_TOLERANCE)

    def prove(
        self, W: Floats, w: Floats, guess: Floats, target: float, *, most_boxes: int, alarm: bool = True
    ) -> Proof:
        """A lower bound of Z against the rival with rows W and weights w, up to the target.

        `guess` are rows near a solution; they change the time, never the validity. Without
        `alarm` the search goes on past rows that seem to cost less than the target.
        """
        answer = capacity(guess, tol=1e-6)
        found = certify(Side.of(W, w), self.curve, most_boxes, self._price(answer), answer.output, target, alarm)
        doubt = self._met(found.v, found.P) if found.end == VIOLATED else None
        return Proof(max(found.bound, 0.0), found.end == PROVED, doubt)

    def _price(self, answer: Capacity) -> float:
        """The price at which the leader comes down to this capacity."""
        nats = answer.lower * NATS_PER_BIT
        return float(np.interp(-nats, -self.curve.capacity, self.curve.s))

    def _met(self, v: Floats, P: Floats) -> Position:
        """A rival with the rows v, and the leader where it has come down to the rival's capacity."""
        laws = np.maximum(v, LEAST_ENTRY)
        laws /= laws.sum(axis=1, keepdims=True)
        price, prices = self._price(capacity(laws, tol=1e-9)), self.curve.s
        i = min(max(int(np.searchsorted(prices, price)), 1), len(prices) - 1)
        r = (price - prices[i - 1]) / (prices[i] - prices[i - 1])
        u, P_u = ((1.0 - r) * values[i - 1] + r * values[i] for values in (self.curve.u, self.curve.P))
        return Position(u, P_u, laws, P)
