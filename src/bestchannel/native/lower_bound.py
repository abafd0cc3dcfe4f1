"""What it costs to make a rival as good as the leader: the kernels of `lower_bound`, in nats.

docs/theory/characteristic-time.md has the mathematics.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bestchannel.arrays import Floats
from bestchannel.native.library import FLOAT, INTEGER, POINTER, floats, function, require_positive
from bestchannel.native.mathematics import log

PROVED, VIOLATED, EXHAUSTED = range(3)
"""How a search ended: the target holds; rows were found that cost less; neither within the boxes allowed."""

_curve_room = function("leader_curve_room", *[INTEGER] * 2, returns=INTEGER)
_leader_curve = function("leader_curve", *[INTEGER] * 3, *[POINTER] * 9, INTEGER, FLOAT, POINTER)
_phi_at = function("phi_at", *[INTEGER] * 3, *[POINTER] * 5, FLOAT, POINTER, returns=FLOAT)
_certify_room = function("certify_room", *[INTEGER] * 5, returns=INTEGER)
_certify = function(
    "certify", *[INTEGER] * 3, *[POINTER] * 7, *[INTEGER] * 2, *[POINTER] * 2, FLOAT, FLOAT, POINTER, FLOAT,
    INTEGER, INTEGER, *[POINTER] * 4, returns=INTEGER,
)  # fmt: skip
_pair_room = function("pair_search_room", *[INTEGER] * 4, returns=INTEGER)
_pair_search = function(
    "pair_search", *[INTEGER] * 2, *[POINTER] * 2, *[INTEGER] * 2, *[POINTER] * 2, FLOAT, *[POINTER] * 4, INTEGER,
    FLOAT, POINTER, returns=FLOAT,
)  # fmt: skip
_tilted_row = function("tilted_row", INTEGER, POINTER, FLOAT, *[POINTER] * 2, returns=FLOAT)
_divergence_sum_row = function("divergence_sum_row", INTEGER, POINTER, FLOAT, FLOAT, *[POINTER] * 2)
_difference_room = function("difference_row_room", INTEGER, returns=INTEGER)
_difference_row = function(
    "difference_row", INTEGER, POINTER, FLOAT, FLOAT, *[POINTER] * 4, FLOAT, POINTER, returns=FLOAT
)


class Side(NamedTuple):
    """The rows of one channel with their weights: a = w W, and base = Σ a log W."""

    a: Floats  # [x, y]
    w: Floats  # [x]
    base: float

    @classmethod
    def of(cls, W: Floats, w: Floats) -> Side:
        """The rows W with the weights w."""
        # an entry p adds at most p log 1/p to a divergence: below 1e-18 less than the rounding of the others
        a = np.ascontiguousarray(np.where(W > 1e-18, W, 0.0) * w[:, None])
        base = float(np.sum(a[a > 0.0] * log(W[a > 0.0])))
        return cls(a, np.ascontiguousarray(w, dtype=np.float64), base)

    def arguments(self) -> tuple[int, int]:
        """The addresses of a and w."""
        n, m = self.a.shape
        require_positive(n, m)
        return floats(self.a, n, m), floats(self.w, n)


@dataclass(frozen=True, eq=False)
class Curve:
    """The leader at every price of a grid: φ(s) = min_u Σ w D(W‖u) + s C(u), and where it is reached."""

    side: Side
    s: Floats  # rising
    phi: Floats  # proved lower bounds
    capacity: Floats  # C(u), falling
    u: Floats  # [s, x, y]
    P: Floats  # [s, x] the best input of u

    @classmethod
    def of(cls, side: Side, s: Floats, u: Floats, P: Floats, most: int, tol: float) -> Curve:
        """The curve over the prices s, followed from the rows u and the input P by up to so many steps for each."""
        (n, m), count = side.a.shape, len(s)
        require_positive(n, m, count - 1)
        prices, rows, inputs = (np.array(each, dtype=np.float64) for each in (s, u, P))
        curve = cls(side, prices, np.empty(count), np.empty(count), np.empty((count, n, m)), np.empty((count, n)))
        room = np.empty(int(_curve_room(n, m)))
        _leader_curve(
            n, m, count, *side.arguments(), floats(curve.s, count), floats(curve.phi, count),
            floats(curve.capacity, count), floats(curve.u, count, n, m), floats(curve.P, count, n), floats(rows, n, m),
            floats(inputs, n), most, tol, floats(room, len(room)),
        )  # fmt: skip
        return curve

    def phi_at(self, s: float) -> float:
        """A lower bound of φ at any price."""
        (n, m), count = self.side.a.shape, len(self.s)
        room = np.empty(int(_curve_room(n, m)))
        return float(
            _phi_at(
                n, m, count, *self.side.arguments(), floats(self.s, count), floats(self.u, count, n, m),
                floats(self.P, count, n), s, floats(room, len(room)),
            )
        )  # fmt: skip


class Certificate(NamedTuple):
    """How a search ended, a proved lower bound of min(Z, target), and rows and inputs that seem to cost less."""

    end: int
    bound: float
    v: Floats
    P: Floats


def certify(rival: Side, curve: Curve, boxes: int, s: float, Q: Floats, target: float, alarm: bool) -> Certificate:
    """A lower bound of Z against a rival, from a first guess (s, Q), with so many boxes.

    With `alarm` it ends as VIOLATED once some rows seem to cost less than the target.
    """
    (n_b, m_b), (n, m), count = curve.side.a.shape, rival.a.shape, len(curve.s)
    require_positive(n, m, boxes, count - 1)
    bound, v, P = np.empty(1), np.empty((n, m)), np.empty(n)
    room, guess = np.empty(int(_certify_room(n_b, m_b, n, m, boxes))), np.array(Q, dtype=np.float64)
    end = _certify(
        n_b, m_b, count, *curve.side.arguments(), floats(curve.s, count), floats(curve.phi, count),
        floats(curve.capacity, count), floats(curve.u, count, n_b, m_b), floats(curve.P, count, n_b), n, m,
        *rival.arguments(), rival.base, s, floats(guess, m), target, alarm, boxes, floats(bound, 1), floats(v, n, m),
        floats(P, n), floats(room, len(room)),
    )  # fmt: skip
    return Certificate(int(end), float(bound[0]), v, P)


def search_pair(
    leader: Side, rival: Side, s: float, u: Floats, P_u: Floats, v: Floats, P_v: Floats, most: int, tol: float
) -> float:
    """Move the leader's rows u with their input and the rival's v with theirs to a local solution; the price there."""
    (n_b, m_b), (n, m) = leader.a.shape, rival.a.shape
    room = np.empty(int(_pair_room(n_b, m_b, n, m)))
    return float(
        _pair_search(
            n_b, m_b, *leader.arguments(), n, m, *rival.arguments(), s, floats(u, n_b, m_b), floats(P_u, n_b),
            floats(v, n, m), floats(P_v, n), most, tol, floats(room, len(room)),
        )
    )  # fmt: skip


def tilted_row(a: Floats, w: float, h: Floats, v: Floats) -> float:
    """Fill v with argmin w D(W‖v) + ⟨h, v⟩ and return a lower bound of the minimum."""
    m = len(a)
    return float(_tilted_row(m, floats(a, m), w, floats(h, m), floats(v, m)))


def divergence_sum_row(a: Floats, w: float, t: float, log_Q: Floats, v: Floats) -> None:
    """Fill v with argmin w D(W‖v) + t D(v‖Q)."""
    m = len(a)
    _divergence_sum_row(m, floats(a, m), w, t, floats(log_Q, m), floats(v, m))


def divergence_difference_row(
    a: Floats, w: float, t: float, log_Q: Floats, low: Floats, high: Floats, v: Floats, tol: float
) -> float:
    """A lower bound of min w D(W‖v) - t D(v‖Q) over low ≤ v ≤ high, without base; fills v with a law near it."""
    m = len(a)
    room = np.empty(int(_difference_room(m)))
    rows = (floats(each, m) for each in (log_Q, low, high, v))
    return float(_difference_row(m, floats(a, m), w, t, *rows, tol, floats(room, len(room))))
