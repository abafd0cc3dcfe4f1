"""The rival's part of the evidence by its plug-in value, for any alphabet: -G·f(Ŵ), from below.

A bet θ on m senses of each of the rival's inputs allows a weight s <= mθ(1 - Φθ/2) on the leader, with
Φ >= sum_x φ(P*_x) for the capacity, φ(p) = p² log²p / (log(1/p) - 1 + p): docs/theory/adaptive.md, "The rival's part".
"""

from __future__ import annotations

import math

import numpy as np

from bestchannel.verification.record import Floats
from bestchannel.verification.value import capacity_bracket, information

SLACK = 1e-9
"""Relative, by which a weight may exceed its bound; what that costs is taken off the evidence."""


def phi_over_p(p: Floats) -> Floats:
    """φ(p)/p = p t² / (t - 1 + p), t = log 1/p; its limits are 0 at p = 0 and 2 at p = 1."""
    t = -np.log(np.clip(p, 1e-300, 1.0))
    small = t < 1e-4
    exact = p * t * t / np.where(small, 1.0, t + np.expm1(-t))
    return np.where(small, 2.0 * p / (1.0 - t / 3.0), exact)


def spread(fixed: Floats | None) -> float:
    """Φ: for the capacity at most its largest value over two inputs of which none exceeds 1 - 1/e, from above.

    For I(P; ·) at a fixed P it is max_x φ(P_x)/P_x.
    """
    if fixed is not None:
        return float(phi_over_p(fixed).max())
    p = np.linspace(0.5, 1.0 - math.exp(-1.0), 100_001)
    larger, smaller = p * phi_over_p(p), (1.0 - p) * phi_over_p(1.0 - p)
    # φ rises with p, so between two ends each term is largest at one of its ends
    return float((larger[1:] + smaller[:-1]).max())


def allowed_weight(theta: float, rounds: int, phi: float) -> float:
    """The largest s that a bet θ on `rounds` senses of each input allows."""
    return rounds * theta * (1.0 - 0.5 * phi * theta) * (1.0 + SLACK)


def exceeds(counts: Floats, total: float, fixed: Floats | None, room: float) -> bool:
    """Whether G f(Ŵ) <= room is proved: `counts` are weighted with θ, and G = `total` is the sum of each row."""
    if room < 0.0:
        return False
    W = counts / counts.sum(axis=1, keepdims=True)
    if fixed is not None:
        return total * information(fixed, W) <= room
    _, upper = capacity_bracket(W, lambda low, high: total * high <= room or total * low > room)
    return total * upper <= room
