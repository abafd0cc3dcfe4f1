"""What it costs to make a rival as good as the leader: the kernels of `lower_bound`, in nats.

docs/theory/characteristic-time.md has the mathematics.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bestchannel.arrays import Floats
from bestchannel.native.library import Kernel, log

PROVED, VIOLATED, EXHAUSTED = range(3)
"""How a search ended: the target holds; rows were found that cost less; neither within the boxes allowed."""

_leader_curve = Kernel(
    "leader_curve",
    "n m k a[nm] w[n] s[k] >phi[k] >capacity[k] >u[knm] >P[kn] rows[nm] inputs[n] most tol. room(nm)",
    positive="nm",
)
_certify = Kernel(
    "certify",
    "a b k a_b[ab] w_b[a] prices[k] phi[k] capacity[k] u[kab] P_b[ka] n m a_a[nm] w[n] base. s. Q[m] target. alarm"
    " x >bound[1] >v[nm] >P[n] room(abnmx)",
    ctypes.c_int64,
    positive="abnmx",
)
_pair_search = Kernel(
    "pair_search",
    "a b a_b[ab] w_b[a] n m a_a[nm] w_a[n] s. u[ab] P_u[a] v[nm] P_v[n] most tol. room(abnm)",
    ctypes.c_double,
    positive="abnm",
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


@dataclass(frozen=True, eq=False)
class Curve:
    """The leader at every price of a grid: φ(s) = min_u Σ w D(W‖u) + s C(u), and where it is reached."""

    side: Side
    s: Floats  # rising
    phi: Floats  # proved lower bounds
    capacity: Floats  # C(u), falling
    u: Floats  # [s, x, y]
    P: Floats  # [s, x] the best input of u

    def __post_init__(self) -> None:
        if len(self.s) < 2:
            raise ValueError(f"a curve requires at least 2 prices; it was given {len(self.s)}")

    @classmethod
    def of(cls, side: Side, s: Floats, u: Floats, P: Floats, most: int, tol: float) -> Curve:
        """The curve over the prices s, followed from the rows u and the input P by up to so many steps for each."""
        prices, rows, inputs = (np.array(each, dtype=np.float64) for each in (s, u, P))
        return cls(side, prices, *_leader_curve(side.a, side.w, prices, rows, inputs, most, tol))


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
    leader = *curve.side[:2], curve.s, curve.phi, curve.capacity, curve.u, curve.P
    end, bound, v, P = _certify(*leader, *rival, s, np.array(Q, dtype=np.float64), target, alarm, x=boxes)
    return Certificate(int(end), float(bound[0]), v, P)


def search_pair(
    leader: Side, rival: Side, s: float, u: Floats, P_u: Floats, v: Floats, P_v: Floats, most: int, tol: float
) -> float:
    """Move the leader's rows u with their input and the rival's v with theirs to a local solution; the price there."""
    return float(_pair_search(*leader[:2], *rival[:2], s, u, P_u, v, P_v, most, tol))
