"""The value of a channel, in nats, between two bounds: its capacity, or I(P; ·) at a fixed P.

For any input distribution p and any output distribution Q [Bla72, Ari72, Csi72],

I(p; W) <= C(W) <= max_x D(W_x‖Q),

so whatever found p and Q, the bounds hold, up to the rounding of a few sums.
"""

from __future__ import annotations

import numpy as np

from bestchannel.verification.record import Floats

MOST_STEPS = 20_000
FLOOR = 1e-18
"""No input becomes less probable than this, so that logarithms stay finite."""

FASTEST = 1e4
"""The largest power to which a step of Blahut and Arimoto is raised."""

Bracket = tuple[float, float]


def capacity_bracket(W: Floats, width: float) -> Bracket:
    """(lower, upper) of the capacity of rows W, as soon as they are nearer than `width`, or as near as steps allow.

    The steps are those of [Bla72, Ari72], p_x ∝ p_x exp(μ D(W_x‖pW)), with a power μ that grows while the lower
    bound rises.
    """
    p, power = np.full(len(W), 1.0 / len(W)), 1.0
    D = divergences(W, p @ W)
    lower, upper = max(float(p @ D), 0.0), float(D.max())
    for _ in range(MOST_STEPS):
        if upper - lower < max(width, 1e-15):
            break
        trial = _tilted(p, power * D)
        D_trial = divergences(W, trial @ W)
        upper = min(upper, float(D_trial.max()))
        if float(trial @ D_trial) < lower and power > 1.0:
            power = 1.0
            continue
        p, D, power = trial, D_trial, min(2.0 * power, FASTEST)
        lower = max(lower, float(p @ D))
    return lower, upper


def _tilted(p: Floats, exponents: Floats) -> Floats:
    tilted = np.maximum(p * np.exp(exponents - exponents.max()), FLOOR)
    return tilted / tilted.sum()


def divergences(W: Floats, Q: Floats) -> Floats:
    """D(W_x‖Q) for every row."""
    positive = W > 0.0
    return (W * np.log(np.where(positive, W, 1.0) / np.where(positive, Q, 1.0))).sum(axis=1)


def information(P: Floats, W: Floats) -> float:
    """I(P; W) = sum_x P_x D(W_x‖PW)."""
    used = P > 0.0
    return max(float(P[used] @ divergences(W[used], P[used] @ W[used])), 0.0)
