"""The value of a channel, in nats, between two bounds: its capacity, or I(P; ·) at a fixed P.

For any input distribution p and any output distribution Q [Bla72, Ari72, Csi72],

I(p; W) <= C(W) <= max_x D(W_x‖Q),

so whatever found p and Q, the bounds hold, up to the rounding of a few sums.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bestchannel.verification.record import Floats

MOST_STEPS = 20_000
FLOOR = 1e-18
"""No input becomes less probable than this, so that logarithms stay finite."""

FASTEST = 1e4
"""The largest power to which a step of Blahut and Arimoto is raised."""

Bracket = tuple[float, float]


def capacity_bracket(W: Floats, enough: Callable[[float, float], bool]) -> Bracket:
    """(lower, upper) of the capacity of rows W, as soon as `enough(lower, upper)`, or as close as steps allow.

    The steps are those of [Bla72, Ari72], p_x ∝ p_x exp(μ D(W_x‖pW)), with a power μ that grows while the lower
    bound rises.
    """
    p, power = np.full(len(W), 1.0 / len(W)), 1.0
    D = divergences(W, p @ W)
    lower, upper = max(float(p @ D), 0.0), float(D.max())
    for _ in range(MOST_STEPS):
        if enough(lower, upper) or upper - lower < 1e-15:
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


def binary_value(a: Floats, b: Floats, fixed: float | None) -> Floats:
    """The value of rows (1-a, a) and (1-b, b), elementwise and from above.

    `fixed` is the probability of input 1 for I(P; ·). The capacity is bounded by the larger divergence from
    that Q from which both rows are equally far: log(Q_1/Q_0) = (H(b) - H(a)) / (a - b).
    """
    if fixed is not None:
        return np.maximum(_entropy((1 - fixed) * a + fixed * b) - (1 - fixed) * _entropy(a) - fixed * _entropy(b), 0.0)
    apart = np.abs(a - b) > 1e-9
    odds = (_entropy(b) - _entropy(a)) / np.where(apart, a - b, 1.0)
    log_one, log_zero = -np.logaddexp(0.0, -odds), -np.logaddexp(0.0, odds)
    far = np.maximum(*(-_entropy(v) - v * log_one - (1.0 - v) * log_zero for v in (a, b)))
    # C <= log sum_y max_x W(y|x) = log(1 + |a-b|), for rows that are too close to divide by their difference
    return np.where(apart, np.maximum(far, 0.0), 1e-9)


def _entropy(v: Floats) -> Floats:
    inside = (v > 0.0) & (v < 1.0)
    u = np.where(inside, v, 0.5)
    return np.where(inside, -u * np.log(u) - (1.0 - u) * np.log1p(-u), 0.0)
