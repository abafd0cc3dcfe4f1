# mypy: ignore-errors
"""One row of a rival, compiled: how much the bets can lose there at most, over all rows that it may truly have.

For the probability p of the input, with τ_e = p ω_e and z_e(w) = sum_y w_y^(1-τ_e) Q_ey^(τ_e),

    f(w) = sum_y a_y log w_y + sum_e N_e log z_e(w) + s sum_y w_y log(w_y / R_y),   a = p n̄, s = p S,

is the row's part of what the evidence loses. It is bounded from above over all distributions w: log z <= log z0 - 1 +
z/z0 and a multiplier λ for sum w = 1 separate the letters, and each is the least value over 0 < v <= 1 of a function

    ψ(v) = λ v - a log v - s v log(v/R) - sum_e (N_e/z0_e) v^(1-τ_e) Q_e^(τ_e),

which is convex up to some point and concave beyond, since v ψ''(v) falls. docs/theory/adaptive.md, "One row".
"""

import math

import numpy as np

from bestchannel.compiled import inner

MOST_STEPS = 40
LEAST_CHANGE, LARGEST_CHANGE = -0.6, 1.0
"""By which a letter's probability may change in one step, relatively."""

STILL = 1e-6
"""Changes below which the row is where most is lost, also where some letter's ψ is concave there."""

LEAST_LOG = -690.0
"""The logarithm of the least probability that a row is given."""

FIRST_PROBABILITY = 1e-12
"""Of a letter, at least, before the first step."""

LOG_OF_A_TENTH = -2.3

HALVINGS = 60


@inner
def row_bound(a, N, tau, logQ, s, logR, logw, powers, weights, reach, tolerance):
    """An upper bound of max_w f(w), within `tolerance` of it where that can be shown; `logw` moves to the maximiser.

    Steps are Newton's for every letter by itself, with λ such that the changes sum to 0. `powers[e, y]`, `weights[e]`
    and `reach[y]` are room to work in; they hold (Q/w)^τ, N/z, and w, afterwards the v at which ψ is least: the
    derivative of the bound in log R_y is -s reach_y.
    """
    n_outputs = logQ.shape[1]
    _lift_letters(a, N, s, logw)
    for _ in range(MOST_STEPS):
        value, multiplier = _normalised_value(a, N, tau, logQ, s, logR, logw, powers, weights, reach)
        allowance, moved, total = 0.0, 0.0, 0.0
        for y in range(n_outputs):
            slope, h = _slope(y, a, tau, s, logR, logw, powers, weights, reach)
            w = reach[y]
            allowance += _allowance(multiplier - slope, h, w, s)
            h = max(h, 0.05 * (h + s) + 1e-300)
            moved += w * slope / h
            total += w / h
        if allowance <= tolerance:
            beyond = _beyond_convexity(a, tau, logQ, s, logR, logw, powers, weights, reach, multiplier, allowance)
            if beyond < np.inf:
                return value + beyond
            break
        target, largest = moved / total, 0.0
        for y in range(n_outputs):
            slope, h = _slope(y, a, tau, s, logR, logw, powers, weights, reach)
            change = min(max((slope - target) / max(h, 0.05 * (h + s) + 1e-300), LEAST_CHANGE), LARGEST_CHANGE)
            largest = max(largest, abs(change))
            logw[y] = max(logw[y] + math.log1p(change), LEAST_LOG)
        if largest < STILL:
            break
    value, multiplier = _normalised_value(a, N, tau, logQ, s, logR, logw, powers, weights, reach)
    return _careful_bound(a, N, tau, logQ, s, logR, weights, reach, multiplier)


@inner
def _lift_letters(a, N, s, logw):
    """A row from earlier counts may have next to nothing where something was counted since: begin with a little."""
    total = s
    for y in range(len(a)):
        total += a[y]
    for e in range(len(N)):
        total += N[e]
    for y in range(len(a)):
        if logw[y] < LOG_OF_A_TENTH:
            logw[y] = max(logw[y], math.log(0.1 * a[y] / total + FIRST_PROBABILITY))


@inner
def _normalised_value(a, N, tau, logQ, s, logR, logw, powers, weights, w):
    """f(w) and λ = sum_y w_y f'_y; fills powers = (Q/w)^τ, weights = N/z and w, which is scaled to sum to 1."""
    n_epochs, n_outputs = logQ.shape
    total = 0.0
    for y in range(n_outputs):
        w[y] = math.exp(logw[y])
        total += w[y]
    shift = math.log(total)
    value, divergence, counted, free = 0.0, 0.0, 0.0, 0.0
    for y in range(n_outputs):
        logw[y] -= shift
        w[y] /= total
        value += a[y] * logw[y]
        counted += a[y]
        divergence += w[y] * (logw[y] - logR[y])
    for e in range(n_epochs):
        z = 0.0
        for y in range(n_outputs):
            powers[e, y] = math.exp(tau[e] * (logQ[e, y] - logw[y]))
            z += w[y] * powers[e, y]
        value += N[e] * math.log(z)
        weights[e] = N[e] / z
        free += N[e] * (1.0 - tau[e])
    return value + s * divergence, counted + free + s * (divergence + 1.0)


@inner
def _slope(y, a, tau, s, logR, logw, powers, weights, w):
    """f'_y and h = v ψ''(v) at the letter y."""
    seen = a[y] / w[y]
    slope, h = seen + s * (logw[y] - logR[y] + 1.0), seen - s
    for e in range(len(tau)):
        term = weights[e] * (1.0 - tau[e]) * powers[e, y]
        slope += term
        h += term * tau[e]
    return slope, h


@inner
def _allowance(slope, h, w, s):
    """By how much ψ may fall below ψ(w) where it is convex, from ψ'(w) and h = w ψ''(w), which falls with w."""
    if not h > 0.0:
        return np.inf
    if slope > 0.0:
        return 0.5 * slope * slope * w / h
    r = -2.0 * slope / h
    curvature = (h - r * s) / ((1.0 + r) * (1.0 + r) * w)  # from below on [w, w(1+r)]
    if not curvature > 0.0 or -slope > curvature * r * w:
        return np.inf
    return 0.5 * slope * slope / curvature


@inner
def _beyond_convexity(a, tau, logQ, s, logR, logw, powers, weights, reach, multiplier, allowance):
    """The allowance of all letters together, also where ψ is concave and so least at 1.

    Where ψ(1) is less than ψ(w), the difference is lost; or a larger λ lifts it by d, at the price of d in every slope.
    """
    lift, lost, lifted = 0.0, 0.0, 0.0
    for y in range(logQ.shape[1]):
        fall = _fall_at_one(y, a, tau, logQ, s, logR, logw, powers, weights, reach[y], multiplier)
        if fall > 0.0:
            lost += fall
            lift = max(lift, fall / (1.0 - reach[y]))
    if lost == 0.0:
        return allowance
    for y in range(logQ.shape[1]):
        slope, h = _slope(y, a, tau, s, logR, logw, powers, weights, reach)
        lifted += _allowance(multiplier + lift - slope, h, reach[y], s)
        if _fall_at_one(y, a, tau, logQ, s, logR, logw, powers, weights, reach[y], multiplier) > 0.0:
            reach[y] = 1.0
    return min(allowance + lost, lifted)


@inner
def _fall_at_one(y, a, tau, logQ, s, logR, logw, powers, weights, w, multiplier):
    """ψ(w) - ψ(1) of the letter y, and 0 where w is 1."""
    at_one, here = multiplier + s * logR[y], multiplier - s * (logw[y] - logR[y])
    for e in range(len(tau)):
        at_one -= weights[e] * math.exp(tau[e] * logQ[e, y])
        here -= weights[e] * powers[e, y]
    return w * here - a[y] * logw[y] - at_one if w < 1.0 else 0.0


@inner
def _careful_bound(a, N, tau, logQ, s, logR, weights, reach, multiplier):
    """The bound of `row_bound` with the least value of every letter found by halving; slow, and always right."""
    bound = multiplier
    for e in range(len(N)):
        bound += N[e] * (math.log(N[e] / weights[e]) - 1.0) if N[e] > 0.0 else 0.0
    for y in range(len(a)):
        least, reach[y] = _least(a[y], tau, logQ[:, y], s, logR[y], weights, multiplier)
        bound -= least
    return bound


@inner
def _least(a, tau, logq, s, logr, weights, multiplier):
    """The least value of ψ on (0, 1], from below, and about where it is."""
    at_one, slope, bending = _letter(0.0, a, tau, logq, s, logr, weights, multiplier)
    end = 0.0 if bending >= 0.0 else _last_convex(a, tau, logq, s, logr, weights, multiplier)
    value, slope_start, bending = _letter(LEAST_LOG, a, tau, logq, s, logr, weights, multiplier)
    where = LEAST_LOG
    if bending < 0.0 or slope_start > 0.0:
        value = min(value, _left_end(LEAST_LOG, tau, logq, s, logr, weights, multiplier))
    else:
        value, slope, _ = _letter(end, a, tau, logq, s, logr, weights, multiplier)
        where = end
        if slope > 0.0:
            low, high = LEAST_LOG, end
            for _ in range(HALVINGS):
                middle = 0.5 * (low + high)
                if _letter(middle, a, tau, logq, s, logr, weights, multiplier)[1] <= 0.0:
                    low = middle
                else:
                    high = middle
            value, slope, _ = _letter(low, a, tau, logq, s, logr, weights, multiplier)
            value += slope * (math.exp(high) - math.exp(low))
            where = low
    return (value, math.exp(where)) if value < at_one else (at_one, 1.0)


@inner
def _last_convex(a, tau, logq, s, logr, weights, multiplier):
    """log v up to which ψ is convex, where it is not so at 1."""
    low, high = LEAST_LOG, 0.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if _letter(middle, a, tau, logq, s, logr, weights, multiplier)[2] >= 0.0:
            low = middle
        else:
            high = middle
    return low


@inner
def _letter(logv, a, tau, logq, s, logr, weights, multiplier):
    """ψ, ψ' and v ψ'' at v = e^logv."""
    v = math.exp(logv)
    ratio = logv - logr
    value, slope, bending = v * (multiplier - s * ratio) - a * logv, multiplier - a / v - s * (ratio + 1.0), a / v - s
    for e in range(len(tau)):
        power = weights[e] * math.exp(tau[e] * (logq[e] - logv))
        value -= v * power
        slope -= power * (1.0 - tau[e])
        bending += power * (1.0 - tau[e]) * tau[e]
    return value, slope, bending


@inner
def _left_end(logv, tau, logq, s, logr, weights, multiplier):
    """A lower bound of ψ on (0, v]."""
    value = -math.exp(logv) * (abs(multiplier) + s * (1.0 + abs(logr)))
    for e in range(len(tau)):
        value -= weights[e] * math.exp(tau[e] * logq[e] + (1.0 - tau[e]) * logv)
    return value
