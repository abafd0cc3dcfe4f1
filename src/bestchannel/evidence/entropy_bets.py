"""Bets on how much information senses carry that need not learn the rows: moments of a stable law. In nats.

For b > 0 let T = τ + S, where S has E e^(νS) = e^(bν log ν) for all ν >= 0: the stable law of index 1 that jumps
downwards only. Let v_N = E[T^N; T > 0]. For a count N that is Poisson with the mean μ, whatever that is,

    E v_N = e^(-μ) E[e^(μT); T > 0] <= e^((τ - 1)μ + bμ log μ),

and ε(μ) = E[e^(μT); T <= 0], all that is lost, dies out as μ grows. So a product of such moments over the letters of a
row has a mean that the entropy of the row bounds. docs/theory/recorded-counts.md has the proofs.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.polynomial import chebyshev

from bestchannel.arrays import Floats
from bestchannel.evidence.bets import ROUNDING, log_gamma

NODES, REACH, STEPS = 24, 5.4, 24
"""Of the trapezoidal rule on one side of a saddle point, how far it goes, and Newton's steps to the saddle point."""

QUADRATURE = 1e-9  # by which the logarithm of a moment may be off

TOUCHING, LARGEST_RATIO, DEGREE = 1.0, 1.0, 24
"""The ν where a line touches ε, up to which b it is added, both in units of T, and the degree of the series in b."""

OUTPUTS = np.array([-3, -2, -1.4, -1, -0.7, -0.45, -0.25, -0.1, 0.05, 0.2, 0.4, 0.65, 1, 1.5, 2.2, 3])
MULTIPLIERS = np.geomspace(0.7, 1.4, 15)
"""The log Q_y / Q⁰_y between which bets are interpolated, and multipliers of Σ Q_y = 1 that are tried."""

RIDGE, INPUT_STEPS, LEAST_INPUT = 2.5, 200, 1e-4
ELEMENTS_AT_ONCE = 2**14


def information_bet(counts: Floats, W: Floats, P: Floats, weight: float) -> float:
    """log A with E A <= e^(s I(P; W*)), whatever the true rows W* are, from counts [x, y] of n_x > 0 senses each.

    W > 0 are rows thought to be true, P > 0 sums to 1, and s > 0 is the weight; none of them depends on the counts.
    With b_x = s P_x / n_x and τ_xy = 1 - b_x (log(n_x Q_y) + c_x), the product of all v_N has a mean of at most
    exp(Σ_x s P_x (D(W*_x‖Q) - c_x)), which at Q = PW* is exp(s I(P; W*) - s Σ_x P_x c_x). A is the least for all Q.
    """
    senses = counts.sum(axis=1, keepdims=True)
    Q, b = P @ W, (weight * P / senses.T).T
    centre = 1.0 + (W * np.log(W / Q)).sum(axis=1, keepdims=True)
    at = np.minimum(OUTPUTS[:, None], -np.log(Q))  # [i, y], up to Q_y = 1
    at[-1] = -np.log(Q)
    paid = np.empty(at.shape)
    for some in np.array_split(np.arange(len(at)), max(1, at.size * len(P) // ELEMENTS_AT_ONCE)):
        tau = 1.0 - b * (at[some, None, :] + np.log(senses * Q) + centre)
        paid[some] = log_terms(*np.broadcast_arrays(counts, tau, b)).sum(axis=1)
    rounding = ROUNDING * (float(senses.sum()) + weight) + QUADRATURE * counts.size
    return _least(paid, at, weight * Q) + weight * float(P @ centre[:, 0]) - rounding


def _least(paid: Floats, at: Floats, stakes: Floats) -> float:
    """A lower bound of the least Σ_y f_y(log Q_y/Q⁰_y); f_y is `paid`, linear between the places `at`, constant before.

    It is at least Σ_y min (f_y + ν s Q_y) - ν s for every ν, and the minima are those of a line and an exponential.
    """
    slopes = (paid[:-1] - paid[1:]) / np.maximum(np.diff(at, axis=0), 1e-300)
    best = -math.inf
    for nu in MULTIPLIERS:
        turn = np.log(np.maximum(slopes / (nu * stakes), 1e-300))
        inner = np.clip(turn, at[:-1], at[1:])
        pieces = paid[:-1] - slopes * (inner - at[:-1]) + nu * stakes * np.exp(inner)
        least = np.minimum(pieces.min(axis=0), paid[0])
        best = max(best, float(least.sum() - nu * stakes.sum()))
    return best


def spread_input(W: Floats, senses: Floats, weight: float) -> Floats:
    """A P that is good for rows that are hardly known: about argmax I(P; W) - RIDGE s/2 Σ_x P_x² V_x / n_x.

    V_x is the variance of the log-likelihood ratio of W_x and the mean row. Inputs with next to nothing get nothing.
    """
    n = len(W)
    P, own, g = np.full(n, 1.0 / n), (W * np.log(W)).sum(axis=1), np.log(W / W.mean(axis=0))
    cost = RIDGE * weight * ((W * g * g).sum(axis=1) - (W * g).sum(axis=1) ** 2) / senses
    for _ in range(INPUT_STEPS):
        gain = own - W @ np.log(P @ W) - cost * P
        P = P * np.exp((gain - P @ gain) / (1.0 + float((cost * P).max())))
        P /= P.sum()
    P[P * n < LEAST_INPUT] = 0.0
    spread: Floats = P / P.sum()
    return spread


def log_terms(N: Floats, tau: Floats, b: Floats) -> Floats:
    """log v_N, with what a line below ε allows to add to v_0 and v_1; all of one shape.

    ε is convex: ε(ν) >= ε(ν₀) + (ν - ν₀) ε'(ν₀). So ε(ν₀) - ν₀ ε'(ν₀) may be added to v_0 and ε'(ν₀) < 0 to v_1. With
    ρ + b log ρ = τ, T/ρ is 1 + S with b/ρ in place of b: both terms are functions of b/ρ alone, but for ρ^N.
    """
    terms, few = log_moments(N, tau, b), N < 2.0
    unit = _unit(tau[few], b[few])
    ratio = b[few] / unit
    places = np.minimum(2.0 * ratio / LARGEST_RATIO, 2.0) - 1.0
    zero, one = (chebyshev.chebval(places, series) for series in _touched())
    touched = np.where(N[few] == 0.0, zero, np.log(unit) + one)
    terms[few] = np.where(ratio <= LARGEST_RATIO, touched, terms[few])
    return terms


def log_moments(N: Floats, tau: Floats, b: Floats) -> Floats:
    """log v_N = log E[T^N; T > 0]; all of one shape, b > 0.

    T has the density 1/2πi ∫ e^(-tz + τz + bz log z) dz, so v_N = N!/2πi ∫ e^(τz + bz log z) z^(-N-1) dz. The path is a
    parabola z = r(1 + iu)² through the saddle point r(τ + b + b log r) = max(N, 1), where trapezoids converge fast.
    """
    top = np.maximum(N, 1.0)
    r = top.copy()
    for _ in range(STEPS):
        slope = tau + b * (1.0 + np.log(r))
        r = np.maximum(r - (r * slope - top) / np.maximum(slope + b, 0.1 * b), 0.3 * r)
    step = REACH / NODES / np.sqrt(np.maximum(N + b * r, 1.0))
    turn = 1.0 + 1j * step[..., None] * np.arange(NODES + 1)
    log_z = np.log(r)[..., None] + 2.0 * np.log(turn)
    exponent = (tau[..., None] + b[..., None] * log_z) * np.exp(log_z) - (N[..., None] + 1.0) * log_z
    peak = exponent[..., :1].real
    values = (turn * np.exp(exponent - peak)).real
    integral = (values.sum(axis=-1) - 0.5 * values[..., 0]) * step * r * (2.0 / math.pi)
    return np.log(np.maximum(integral, 1e-300)) + peak[..., 0] + log_gamma(2.0 * N + 2.0)


def _unit(tau: Floats, b: Floats) -> Floats:
    """ρ > 0 with ρ + b log ρ = τ: Newton's method for log ρ, in which the left side is convex, from above."""
    log_unit = np.log(np.maximum(tau, 1.0))
    for _ in range(STEPS):
        unit = np.exp(log_unit)
        log_unit = log_unit - (unit + b * log_unit - tau) / (unit + b)
    return np.exp(log_unit)


@cache
def _touched() -> tuple[Floats, Floats]:
    """log(v_0 + …) and log(v_1 - …) where T = 1 + S, as Chebyshev series in b from 0 to LARGEST_RATIO."""
    places = chebyshev.chebpts1(DEGREE + 1)
    b, k, nu = 0.5 * LARGEST_RATIO * (places + 1.0), np.arange(30.0), TOUCHING
    moments = np.exp(log_moments(*np.broadcast_arrays(k[:, None], 1.0, b)))
    weights = np.exp(k[:-1] * math.log(nu) - log_gamma(2.0 * k[:-1] + 2.0))
    whole = np.exp(nu + b * nu * math.log(nu))
    lost = whole - weights @ moments[:-1]
    slope = whole * (1.0 + b * (1.0 + math.log(nu))) - weights @ moments[1:]
    fitted = (np.log(moments[0] + lost - nu * slope), np.log(moments[1] + slope))
    return chebyshev.chebfit(places, fitted[0], DEGREE), chebyshev.chebfit(places, fitted[1], DEGREE)
