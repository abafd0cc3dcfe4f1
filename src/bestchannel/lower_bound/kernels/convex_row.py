# mypy: ignore-errors
"""One row of a channel moved elsewhere: the convex minimisations that the bounds are made of (numba).

A row with law W and weight w moves to v at the cost w D(W‖v). With a = wW this is
base - Σ_y a_y log v_y, base = Σ_y a_y log W_y, the same for every v.

    tilted    min_v  w D(W‖v) + ⟨h, v⟩
    sum       min_v  w D(W‖v) + t D(v‖Q)

Each relaxes Σ_y v_y = 1 by a multiplier ν, after which the letters separate. Any ν gives a lower
bound; the best one makes the letters sum to 1. Everything in nats.
"""

import math

from bestchannel.compiled import inner

INFINITY = math.inf
MOST_STEPS = 100
TINY = 1e-300
NEGLIGIBLE = 1e-14
"""A weight t, relative to the one of the row, below which D(v‖Q) moves nothing."""


@inner
def log_of(p):
    """log p, and a very negative number instead of -∞ for p = 0."""
    return math.log(max(p, TINY))


@inner
def raised(bound, new):
    """The larger of two lower bounds; a `new` that is no number changes nothing."""
    return new if new > bound else bound


@inner
def copy(source, target):
    """target = source, for vectors."""
    for y in range(len(source)):
        target[y] = source[y]


@inner
def lowest(values, count):
    """The index of the smallest of the first `count` values."""
    best = 0
    for i in range(1, count):
        if values[i] < values[best]:
            best = i
    return best


@inner
def tilted_row(a, w, h, v):
    """Fill v with argmin w D(W‖v) + ⟨h, v⟩ and return a lower bound of the minimum, base included.

    v = a/(ν+h), and  w - ν + Σ_y a_y log((ν+h_y)/w)  for any ν with ν + h ≥ 0.
    """
    least = INFINITY
    for y in range(len(a)):
        least = min(least, h[y])
    nu = 0.0  # relative to -min h: a small a_y needs ν + h_y to its last digit
    for y in range(len(a)):
        nu = max(nu, a[y] - (h[y] - least))
    total = 0.0
    for _ in range(MOST_STEPS):
        total, slope = 0.0, 0.0
        for y in range(len(a)):
            v[y] = a[y] / (nu + (h[y] - least)) if a[y] > 0.0 else 0.0
            total += v[y]
            slope += v[y] / (nu + (h[y] - least)) if a[y] > 0.0 else 0.0
        if not total > 1.0 + 1e-14:
            break
        nu += (total - 1.0) * total / slope  # Newton's step for 1/Σv = 1, concave in ν: it never goes too far
    value = w - nu + least
    for y in range(len(a)):
        if a[y] > 0.0:
            value += a[y] * math.log((nu + (h[y] - least)) / w)
        elif nu == 0.0 and h[y] == least and total < 1.0:  # a letter that W excludes takes what is left
            v[y] = 1.0 - total
            total = 1.0
    return value


@inner
def next_multiplier(nu, low, high, total, slope, step):
    """Newton's ν for Σ v = 1, kept inside (low, high), which is widened by `step` where it is open."""
    new = nu + (total - 1.0) / slope if slope > 0.0 else INFINITY
    if new > low and new < high:
        return new
    if low == -INFINITY:
        return nu - step
    if high == INFINITY:
        return nu + step
    return 0.5 * (low + high)


@inner
def _sum_with_log(c):
    """log y for the y with y + log y = c, by Newton's steps from above."""
    z = c if c < 1.0 else math.log(c)
    for _ in range(MOST_STEPS):
        step = (z + math.exp(z) - c) / (1.0 + math.exp(z))
        z -= step
        if not step > 1e-14 * (1.0 + abs(z)):
            break
    return z


@inner
def divergence_sum_row(a, w, t, log_Q, v):
    """Fill v with argmin w D(W‖v) + t D(v‖Q), t ≥ 0."""
    if t <= NEGLIGIBLE * w:
        for y in range(len(a)):
            v[y] = a[y] / w
        return
    nu, low, high, step, total = w - t, -INFINITY, INFINITY, 0.5 * (w + t), 1.0
    for _ in range(MOST_STEPS):
        # -a/v + t (log v + 1 - log Q) + ν = 0, which is y + log y = c with y = a/(tv)
        total, slope = 0.0, 0.0
        for y in range(len(a)):
            ratio = log_Q[y] - 1.0 - nu / t
            if a[y] > 0.0:
                ratio = math.log(a[y] / t) - _sum_with_log(math.log(a[y] / t) - ratio)
            v[y] = math.exp(min(ratio, 700.0))
            total += v[y]
            slope += v[y] * v[y] / (a[y] + t * v[y])
        if abs(total - 1.0) < 1e-12:
            break
        low, high = (nu, high) if total > 1.0 else (low, nu)
        nu = next_multiplier(nu, low, high, total, slope, step)
        step *= 2.0
    for y in range(len(a)):
        v[y] /= total
