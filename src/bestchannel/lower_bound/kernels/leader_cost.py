# mypy: ignore-errors
"""What it costs to bring the best channel down: φ(s) = min_u Σ_x w_x D(W_x‖u_x) + s C(u) at a price s (numba).

Convex, and solved once for all rivals on a grid of prices. Everything in nats.

[Ari72] Arimoto, "An algorithm for computing the capacity of arbitrary discrete memoryless channels".
[Bla72] Blahut, "Computation of channel capacity and rate-distortion functions".
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bestchannel.arrays import Floats
from bestchannel.compiled import inner, jit
from bestchannel.lower_bound.kernels.convex_row import TINY, copy, divergence_sum_row, log_of, tilted_row

INPUT_RATE = 1.5
"""Exponent of the steps of Blahut and Arimoto: 1 is theirs, and below 2 they converge."""

LEAST_INPUT = 1e-30
"""So that an input which a step has ruled out can come back."""


class Side(NamedTuple):
    """The rows of one channel with their weights: a = w W, and base = Σ a log W."""

    a: Floats  # [x, y]
    w: Floats  # [x]
    base: float


def new_side(W, w):
    """The rows W with the weights w."""
    # an entry p adds at most p log 1/p to a divergence: below 1e-18 less than the rounding of the others
    a = np.ascontiguousarray(np.where(W > 1e-18, W, 0.0) * w[:, None])
    base = float(np.sum(a[a > 0.0] * np.log(W[a > 0.0])))
    return Side(a, np.ascontiguousarray(w, dtype=np.float64), base)


@inner
def output(v, P, Q):
    """Q = Pv."""
    for y in range(v.shape[1]):
        Q[y] = 0.0
        for x in range(v.shape[0]):
            Q[y] += P[x] * v[x, y]


@inner
def improve_input(v, P, Q):
    """One step P ← P exp(rate D(v_x‖Pv)) of Blahut and Arimoto [Bla72, Ari72], and how far it went."""
    n, m = v.shape
    output(v, P, Q)
    total, change = 0.0, 0.0
    new = np.empty(n)
    for x in range(n):
        D = 0.0
        for y in range(m):
            if v[x, y] > 0.0:
                D += v[x, y] * (math.log(v[x, y]) - log_of(Q[y]))
        new[x] = P[x] * math.exp(INPUT_RATE * min(D, 100.0))
        total += new[x]
    for x in range(n):
        new[x] = max(new[x] / total, LEAST_INPUT)
        change = max(change, abs(new[x] - P[x]))
        P[x] = new[x]
    return change


@inner
def spread(weights, h):
    """Σ_y weight (h - mean h)²: how fast ⟨h, v⟩ follows its price along one row."""
    total, mean, square = TINY, 0.0, 0.0
    for y in range(len(h)):
        total += weights[y]
        mean += weights[y] * h[y]
        square += weights[y] * h[y] * h[y]
    return max(square - mean * mean / total, 0.0)


@inner
def leader_step(side, s, u, P, Q, new):
    """The rows at the price s while Q = Pu stays: a descent step, as C(u) is a minimum over Q as well.

    Returns Σ_x P_x D(new_x‖Q) and how fast it falls with s.
    """
    n, m = u.shape
    output(u, P, Q)
    log_Q, h, weights = np.empty(m), np.empty(m), np.empty(m)
    for y in range(m):
        log_Q[y] = log_of(Q[y])
    information, slope = 0.0, 0.0
    for x in range(n):
        t = s * P[x]
        divergence_sum_row(side.a[x], side.w[x], t, log_Q, new[x])
        for y in range(m):
            h[y] = P[x] * (log_of(new[x, y]) - log_Q[y])
            weights[y] = new[x, y] * new[x, y] / max(side.a[x, y] + t * new[x, y], TINY)
            information += h[y] * new[x, y]
        slope += spread(weights, h)
    return information, slope


@inner
def leader_bound(side, s, u, P):
    """A lower bound of φ(s), and the information of (P, u).

    C ≥ Σ_x P_x E_{·|x} log(u_x/Pu) for every P and u: a linear function, and the rows separate.
    """
    n, m = u.shape
    Q, tilt, v = np.empty(m), np.empty(m), np.empty(m)
    output(u, P, Q)
    bound, information = 0.0, 0.0
    for x in range(n):
        for y in range(m):
            h = P[x] * (log_of(u[x, y]) - log_of(Q[y]))
            tilt[y] = s * h
            information += u[x, y] * h
        bound += tilted_row(side.a[x], side.w[x], tilt, v)
    return bound, information


class Curve(NamedTuple):
    """The leader at every price of a grid: φ(s) = min_u Σ w D(W‖u) + s C(u), and where it is reached."""

    side: Side
    s: Floats  # rising
    phi: Floats  # proved lower bounds
    capacity: Floats  # C(u), falling
    u: Floats  # [s, x, y]
    P: Floats  # [s, x] the best input of u


def new_curve(side, s):
    """The curve over the prices s, still empty."""
    n, m = side.a.shape
    return Curve(side, s, np.empty(len(s)), np.empty(len(s)), np.empty((len(s), n, m)), np.empty((len(s), n)))


@inner
def move(old, new):
    """old = new, and how far that was."""
    change = 0.0
    for x in range(old.shape[0]):
        for y in range(old.shape[1]):
            change = max(change, abs(new[x, y] - old[x, y]))
        copy(new[x], old[x])
    return change


@jit
def fill_curve(curve, u, P, most, tol):
    """Follow the leader from the first price on, started at the rows u and the input P, which it overwrites."""
    new, Q = np.empty_like(u), np.empty(u.shape[1])
    for i in range(len(curve.s)):
        for _ in range(most):
            change = improve_input(u, P, Q)
            leader_step(curve.side, curve.s[i], u, P, Q, new)
            if max(change, move(u, new)) < tol:
                break
        curve.phi[i], curve.capacity[i] = leader_bound(curve.side, curve.s[i], u, P)
        copy(P, curve.P[i])
        move(curve.u[i], u)


@inner
def segment(values, x):
    """The i with x between values[i] and values[i + 1] of a monotone list; the first or last where x is outside."""
    low, high = 0, len(values) - 1
    falling = values[low] > values[high]
    while high - low > 1:
        middle = (low + high) // 2
        if (values[middle] <= x) != falling:
            low = middle
        else:
            high = middle
    return low


@inner
def phi_at(curve, s):
    """A lower bound of φ at any price, one step from what lies between the two nearest of the grid."""
    i = segment(curve.s, s)
    r = min(max((s - curve.s[i]) / (curve.s[i + 1] - curve.s[i]), 0.0), 1.0)
    u, P = np.empty_like(curve.u[i]), np.empty_like(curve.P[i])
    for x in range(len(P)):
        P[x] = (1.0 - r) * curve.P[i, x] + r * curve.P[i + 1, x]
        for y in range(u.shape[1]):  # small entries are about exponential in s
            u[x, y] = math.exp((1.0 - r) * log_of(curve.u[i, x, y]) + r * log_of(curve.u[i + 1, x, y]))
    new = np.empty_like(u)
    leader_step(curve.side, s, u, P, np.empty(u.shape[1]), new)
    return leader_bound(curve.side, s, new, P)[0]


@inner
def leader_cost(curve, c):
    """F(c) = min{Σ w D(W‖u): C(u) ≤ c} = max_s φ(s) - sc about, the price s that gives it, and F''(c).

    Only a guide: φ between the prices of the grid is Hermite's cubic, with φ' = C(u).
    """
    last = len(curve.s) - 1
    if not c < curve.capacity[0]:
        return 0.0, curve.s[0], 0.0
    if not c > curve.capacity[last]:
        return curve.phi[last] - curve.s[last] * c, curve.s[last], 0.0
    i = segment(curve.capacity, c)
    width, rise = curve.s[i + 1] - curve.s[i], curve.phi[i + 1] - curve.phi[i]
    first, last = width * curve.capacity[i], width * curve.capacity[i + 1]
    # φ(s_i + r width) = φ_i + first r + square r² + cube r³, and its slope is to be c
    square, cube = 3.0 * rise - 2.0 * first - last, first + last - 2.0 * rise
    excess = first - width * c
    r = excess / (math.sqrt(max(square * square - 3.0 * cube * excess, 0.0)) - square)
    if not (r >= 0.0 and r <= 1.0):
        r = excess / (first - last)
    bend = -(square + 3.0 * cube * r) * 2.0
    phi = curve.phi[i] + r * (first + r * (square + r * cube))
    s = curve.s[i] + r * width
    return phi - s * c, s, width * width / max(bend, 0.1 * (first - last))
