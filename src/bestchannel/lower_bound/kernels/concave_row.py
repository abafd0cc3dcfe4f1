# mypy: ignore-errors
"""One row of a rival moved away from the output Q, the part of the bounds that is not convex (numba).

    difference    min_v  w D(W‖v) - t D(v‖Q),  low ≤ v ≤ high

A letter's share is convex up to v_y = a_y/t and concave beyond, a = wW, so that its minimum over a
range is known; a range where the multiplier of Σ_y v_y = 1 leaves a gap is cut in two. Everything in nats.
"""

import math
from typing import NamedTuple

import numpy as np

from bestchannel.arrays import Floats
from bestchannel.compiled import inner
from bestchannel.lower_bound.kernels.convex_row import (
    INFINITY,
    MOST_STEPS,
    NEGLIGIBLE,
    copy,
    log_of,
    lowest,
    next_multiplier,
    raised,
)

NARROW = 1e-13
MOST_PARTS = 24
"""Into how many a range is cut at most."""


class Parts(NamedTuple):
    """The parts of a range, each with its ends, the law that nearly has the least value there, and a bound of that."""

    low: Floats  # [part, y]
    high: Floats  # [part, y]
    law: Floats  # [part, y]
    bound: Floats  # [part]
    other: Floats  # [y] scratch


@inner
def _difference_with_log(c):
    """The y ≥ 1 with y - log y = c, by Newton's steps from the bound 1 + √(2u) + 2u/3, u = c - 1 [Cha13]."""
    u = c - 1.0
    if not u > 0.0:
        return 1.0
    y = 1.0 + math.sqrt(2.0 * u) + 2.0 * u / 3.0
    for _ in range(MOST_STEPS):
        step = (y - math.log(y) - c) * y / (y - 1.0)
        y -= step
        if not abs(step) > 1e-13 * y:
            break
    return y


@inner
def _letter_value(a, t, beta, v):
    """-a log v - t v log v + β v."""
    if v > 0.0:
        return -(a + t * v) * math.log(v) + beta * v
    return 0.0 if a == 0.0 else INFINITY


@inner
def _least_letter(a, t, beta, low, high):
    """argmin of -a log v - t v log v + β v over [low, high]: convex up to v = a/t, concave beyond."""
    edge = a / t
    top = min(edge, high)
    v = low
    if low < top:
        if -a / top - t * (math.log(top) + 1.0) + beta <= 0.0:
            return high  # falling up to the edge, and faster beyond
        v = edge / _difference_with_log(beta / t - 1.0 - math.log(edge))
        v = min(max(v, low), top)
    if high <= edge:
        return v
    return v if _letter_value(a, t, beta, v) <= _letter_value(a, t, beta, high) else high


@inner
def _least_letters(a, t, log_Q, nu, low, high, v):
    """Fill v with the letters at ν; their value, their sum and how fast it falls with ν."""
    value, total, slope = -nu, 0.0, 0.0
    for y in range(len(a)):
        beta = t * log_Q[y] + nu
        v[y] = _least_letter(a[y], t, beta, low[y], high[y])
        value += _letter_value(a[y], t, beta, v[y])
        total += v[y]
        if v[y] > low[y] and v[y] < high[y] and a[y] > t * v[y]:
            slope += v[y] * v[y] / (a[y] - t * v[y])
    return value, total, slope


@inner
def _dual_bound(a, w, t, log_Q, low, high, v, other):
    """A lower bound of the least difference, without base, and in v a law near it.

    Where the letters jump past the sum 1, v mixes the two sides: the bound is then one on the
    convex hull, and v costs more than it.
    """
    t = max(t, NEGLIGIBLE * w)  # a larger t only lowers the value
    nu, below, above, step = w + t, -INFINITY, INFINITY, 0.5 * (w + t)
    for y in range(len(a)):
        nu += t * a[y] / w * (log_of(a[y] / w) - log_Q[y])
    best = -INFINITY
    for _ in range(MOST_STEPS):
        value, total, slope = _least_letters(a, t, log_Q, nu, low, high, v)
        best = raised(best, value)
        if abs(total - 1.0) < 1e-10:
            return best
        below, above = (nu, above) if total > 1.0 else (below, nu)
        if above - below < 1e-13 * (abs(nu) + t + w):
            break
        nu = next_multiplier(nu, below, above, total, slope, step)
        step *= 2.0
    _, more, _ = _least_letters(a, t, log_Q, below, low, high, v)
    _, less, _ = _least_letters(a, t, log_Q, above, low, high, other)
    share = min(max((1.0 - less) / (more - less), 0.0), 1.0) if more > less else 0.0
    for y in range(len(a)):
        v[y] = share * v[y] + (1.0 - share) * other[y]
    return best


@inner
def difference_cost(a, t, log_Q, v):
    """-Σ_y a_y log v_y - t D(v‖Q): what v costs, without base."""
    total = 0.0
    for y in range(len(a)):
        total -= a[y] * log_of(v[y])
        if v[y] > 0.0:
            total -= t * v[y] * (math.log(v[y]) - log_Q[y])
    return total


@inner
def tighten(low, high):
    """Shrink the ranges to what Σ v = 1 allows; whether anything is left, up to rounding."""
    least, most = 0.0, 0.0
    for y in range(len(low)):
        least += low[y]
        most += high[y]
    for y in range(len(low)):
        bottom, top = 1.0 - (most - high[y]), 1.0 - (least - low[y])
        low[y], high[y] = max(low[y], bottom), min(high[y], top)
        if not low[y] <= high[y] + 1e-12:
            return False
        high[y] = max(low[y], high[y])
    return True


@inner
def middle_letter(v, low, high):
    """The letter that is farthest inside its range."""
    best, found = -1.0, 0
    for y in range(len(v)):
        inside = min(v[y] - low[y], high[y] - v[y])
        if inside > best:
            best, found = inside, y
    return found


@inner
def between(cut, low, high, margin):
    """The cut, kept at least `margin` of the range away from its ends."""
    room = margin * (high - low)
    return min(max(cut, low + room), high - room)


@inner
def _halve(lows, highs, i, j, y, cut):
    """Cut part i at its letter y; the upper half becomes part j."""
    copy(lows[i], lows[j])
    copy(highs[i], highs[j])
    lows[j, y], highs[i, y] = cut, cut


@inner
def divergence_difference_row(a, w, t, log_Q, low, high, v, parts, tol):
    """A lower bound of min w D(W‖v) - t D(v‖Q) over low ≤ v ≤ high, without base, and in v a law that nearly has it.

    Ranges where the convex hull is more than `tol` too low are cut in two at the offending letter.
    """
    lows, highs, laws, bounds, other = parts.low, parts.high, parts.law, parts.bound, parts.other
    bounds[0] = _dual_bound(a, w, t, log_Q, low, high, v, other)
    reached, count = difference_cost(a, t, log_Q, v), 1
    copy(low, lows[0])
    copy(high, highs[0])
    copy(v, laws[0])
    while count < len(bounds):
        i = lowest(bounds, count)
        y = middle_letter(laws[i], lows[i], highs[i])
        if not reached - bounds[i] > tol or not highs[i, y] - lows[i, y] > NARROW:
            break
        _halve(lows, highs, i, count, y, between(laws[i, y], lows[i, y], highs[i, y], 0.05))
        above = bounds[i]
        for j in (i, count):
            bounds[j] = INFINITY
            if tighten(lows[j], highs[j]):
                bounds[j] = raised(above, _dual_bound(a, w, t, log_Q, lows[j], highs[j], laws[j], other))
                cost = difference_cost(a, t, log_Q, laws[j])
                if cost < reached:
                    reached = cost
                    copy(laws[j], v)
        count += 1
    return bounds[lowest(bounds, count)]


def row_parts(m):
    """Scratch for `divergence_difference_row` with m letters."""
    size = (MOST_PARTS, m)
    return Parts(np.empty(size), np.empty(size), np.empty(size), np.empty(MOST_PARTS), np.empty(m))
