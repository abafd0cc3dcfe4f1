# mypy: ignore-errors
"""Binary channels with binary outputs, compiled: how plausible a large value is still left by the counts.

A channel is (a, b): the probabilities of output 1 under input 0 and under input 1. Its value f(a, b), in nats, is
its capacity, or I(P; ·) where the probability p of input 1 is fixed (p >= 0; p = -1 means that it is not).
Counts are n[x, y]. See docs/theory/adaptive.md, "Rivals with two inputs and two outputs".
"""

import math

import numpy as np

from bestchannel.compiled import jit

MOST_TRIANGLES, MOST_WAITING = 20_000, 300
"""Triangles that are looked at, and that wait to be; a hundred and a dozen are usual."""

ACCURACY = 0.05
"""Nats: a triangle whose bound is this close below a known value is not divided."""

SLACK = 1e-12
"""Nats, for each count and each unit of weight, by which a bound is lowered against rounding."""

KT_SLACK = 1e-13
"""Nats, for each count, by which the difference of two log KT is lowered: seven times what rounding was seen to do."""

DESCENTS = 12
FINE, COARSE = 1e-4, 1e-2
"""Nats: a step that gains less than this is the last one."""

EDGE = 1e-12
NEAR_EDGE = 0.02

BELOW_ONE = 1.0 - 2.0**-53
"""The largest number below 1."""


@jit
def _entropy(a):
    """-a log a - (1 - a) log(1 - a)."""
    h = 0.0
    if a > 0.0:
        h -= a * math.log(a)
    if a < 1.0:
        h -= (1.0 - a) * math.log(1.0 - a)
    return h


@jit
def _divergence(a, log_q, log_r):
    """D((1-a, a) ‖ (r, q)) from the logarithms of q and r = 1 - q."""
    return -_entropy(a) - a * log_q - (1.0 - a) * log_r


@jit
def value(a, b, p):
    """f(a, b) from above, the probability of input 1 at which it is reached, and that of output 1.

    For any output distribution the larger divergence from it is at least the capacity, so rounding in q
    raises the value and never lowers it below the truth by more than the rounding of the two divergences.
    """
    if p >= 0.0:
        q = (1.0 - p) * a + p * b
        return max(_entropy(q) - (1.0 - p) * _entropy(a) - p * _entropy(b), 0.0), p, q
    if abs(a - b) < 1e-9:
        return 1e-9, 0.5, 0.5 * (a + b)  # C <= log sum_y max_x W(y|x) = log(1 + |a-b|)
    t = (_entropy(b) - _entropy(a)) / (a - b)  # log q/(1-q) where both divergences are equal
    log_q, log_r = -math.log1p(math.exp(-t)), -math.log1p(math.exp(t))
    q = math.exp(log_q)
    nats = max(_divergence(a, log_q, log_r), _divergence(b, log_q, log_r))
    return max(nats, 0.0), min(max((q - a) / (b - a), 0.0), 1.0), q


@jit
def _row_floor(ones, zeros, slope, low, high):
    """The least of -ones log v - zeros log(1-v) - slope v over [low, high], and where it is.

    Stationary where slope v² + B v - ones = 0, B = ones + zeros - slope; the function is convex.
    """
    B = ones + zeros - slope
    root = math.sqrt(max(B * B + 4.0 * slope * ones, 0.0))
    if B > 0.0:
        v = 2.0 * ones / (B + root)
    elif slope > 0.0:
        v = (root - B) / (2.0 * slope)
    else:
        v = high
    v = min(max(v, low), high)
    if zeros > 0.0:
        v = min(v, BELOW_ONE)  # a root that rounds to 1 must not make the least cost infinite
    return _row_cost(ones, zeros, v) - slope * v, v


@jit
def _row_cost(ones, zeros, v):
    """-ones log v - zeros log(1-v)."""
    cost = 0.0
    if ones > 0.0:
        cost -= ones * math.log(v) if v > 0.0 else -np.inf
    if zeros > 0.0:
        cost -= zeros * math.log(1.0 - v) if v < 1.0 else -np.inf
    return cost


@jit
def tilted(n, weight, p, a, b):
    """-sum n log v - s f(v) at v = (a, b)."""
    return _row_cost(n[0, 1], n[0, 0], a) + _row_cost(n[1, 1], n[1, 0], b) - weight * value(a, b, p)[0]


@jit
def _descended(n, weight, p, a, b, least_gain):
    """A low value of `tilted` from (a, b) downwards: f is replaced by its tangent, over and over."""
    least = tilted(n, weight, p, a, b)
    for _ in range(DESCENTS):
        _, at, q = value(a, b, p)
        odds = math.log(max(1.0 - q, 1e-300) / max(q, 1e-300))
        slope_a = (1.0 - at) * (math.log(max(a, 1e-300) / max(1.0 - a, 1e-300)) + odds)
        slope_b = at * (math.log(max(b, 1e-300) / max(1.0 - b, 1e-300)) + odds)
        to_a = _row_floor(n[0, 1], n[0, 0], weight * slope_a, EDGE, 1.0 - EDGE)[1]
        to_b = _row_floor(n[1, 1], n[1, 0], weight * slope_b, EDGE, 1.0 - EDGE)[1]
        found = tilted(n, weight, p, to_a, to_b)
        if not found < least - least_gain:
            to_a, to_b = 0.5 * (a + to_a), 0.5 * (b + to_b)
            found = tilted(n, weight, p, to_a, to_b)
        if not found < least - least_gain:
            break
        least, a, b = found, to_a, to_b
    return least, a, b


@jit
def lowest(n, weight, p, least_gain=FINE):
    """A low value of `tilted`, and where: from the counts downwards, and from the best of some far points. No bound."""
    a = (n[0, 1] + 0.5) / (n[0, 0] + n[0, 1] + 1.0)
    b = (n[1, 1] + 0.5) / (n[1, 0] + n[1, 1] + 1.0)
    far_a, far_b = NEAR_EDGE, 1.0 - NEAR_EDGE
    far = tilted(n, weight, p, far_a, far_b)
    for other_a, other_b in (
        (1.0 - NEAR_EDGE, NEAR_EDGE),
        (a, NEAR_EDGE if a > 0.5 else 1.0 - NEAR_EDGE),
        (NEAR_EDGE if b > 0.5 else 1.0 - NEAR_EDGE, b),
        (0.5 * a, 0.5 + 0.5 * b),
        (0.5 + 0.5 * a, 0.5 * b),
    ):
        found = tilted(n, weight, p, other_a, other_b)
        if found < far:
            far, far_a, far_b = found, other_a, other_b
    near, near_a, near_b = _descended(n, weight, p, a, b, least_gain)
    far, far_a, far_b = _descended(n, weight, p, far_a, far_b, least_gain)
    if far < near:
        return far, far_a, far_b
    return near, near_a, near_b


@jit
def floor(n, weight, p, known):
    """A proved lower bound of `tilted` over all channels; `known` is a value that it takes.

    The unit square is covered by triangles. f is convex, so on a triangle it lies below the plane through its values
    at the corners; with the plane in place of f the rows separate, and each has its least value over the triangle's
    shadow in closed form. Triangles whose bound is not yet near `known` are halved at their longest side.
    """
    triangles = np.empty((MOST_WAITING, 9))
    corner = value(0.0, 1.0, p)[0]
    triangles[0] = (0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0, corner)
    triangles[1] = (0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, corner)
    left, used, bound = 2, 0, np.inf
    while left > 0:
        left, used = left - 1, used + 1
        triangle = triangles[left].copy()
        below = _triangle_floor(n, weight, triangle)
        if below >= known - ACCURACY or used >= MOST_TRIANGLES or left + 2 > MOST_WAITING:
            bound = min(bound, below)
            continue
        known = min(known, _halve(n, weight, p, triangle, triangles, left))
        left += 2
    return bound - SLACK * (n.sum() + weight)


@jit
def _triangle_floor(n, weight, triangle):
    """The least of `tilted` over the shadow of a triangle, with the plane through its corners in place of f."""
    ax, ay, az, bx, by, bz, cx, cy, cz = triangle
    area = (bx - ax) * (cy - ay) - (cx - ax) * (by - ay)
    slope_x = ((bz - az) * (cy - ay) - (cz - az) * (by - ay)) / area
    slope_y = ((bx - ax) * (cz - az) - (cx - ax) * (bz - az)) / area
    height = az - slope_x * ax - slope_y * ay
    first = _row_floor(n[0, 1], n[0, 0], weight * slope_x, min(ax, bx, cx), max(ax, bx, cx))[0]
    second = _row_floor(n[1, 1], n[1, 0], weight * slope_y, min(ay, by, cy), max(ay, by, cy))[0]
    return first + second - weight * height


@jit
def _halve(n, weight, p, triangle, triangles, at):
    """Write the two halves of a triangle to triangles[at] and triangles[at + 1]; return `tilted` where they meet."""
    ax, ay, az, bx, by, bz, cx, cy, cz = triangle
    ab, bc, ca = (ax - bx) ** 2 + (ay - by) ** 2, (bx - cx) ** 2 + (by - cy) ** 2, (cx - ax) ** 2 + (cy - ay) ** 2
    if bc >= ab and bc >= ca:
        ax, ay, az, bx, by, bz, cx, cy, cz = bx, by, bz, cx, cy, cz, ax, ay, az
    elif ca >= ab:
        ax, ay, az, bx, by, bz, cx, cy, cz = cx, cy, cz, ax, ay, az, bx, by, bz
    mx, my = 0.5 * (ax + bx), 0.5 * (ay + by)
    mz = value(mx, my, p)[0]
    triangles[at] = (mx, my, mz, ax, ay, az, cx, cy, cz)
    triangles[at + 1] = (mx, my, mz, bx, by, bz, cx, cy, cz)
    return _row_cost(n[0, 1], n[0, 0], mx) + _row_cost(n[1, 1], n[1, 0], my) - weight * mz


@jit
def _log_kt(n):
    """Of the rows of a table: log of the Krichevsky-Trofimov probability of the senses, in their order."""
    total = 0.0
    for x in range(2):
        zeros, ones = n[x, 0], n[x, 1]
        total += math.lgamma(zeros + 0.5) + math.lgamma(ones + 0.5) - math.lgamma(zeros + ones + 1.0)
        total -= math.log(math.pi)
    return total


@jit
def likelihood_evidence(counts, starts, weights, p, log_share_all, log_share_since, nats):
    """Fill nats[r]: the rival's part of the evidence, from below; see `evidence.binary_rival.likelihood_evidence`."""
    for r in range(len(counts)):
        n, since = counts[r], counts[r] - starts[r]
        whole = _log_kt(n)
        # the logarithms are as large as those of all counts, and so is what rounding does to their difference
        fresh = whole - _log_kt(starts[r]) - KT_SLACK * starts[r].sum()
        nats[r] = log_share_since + fresh + floor(since, weights[r], p, lowest(since, weights[r], p)[0])
        known = lowest(n, weights[r], p)[0]
        if log_share_all + whole + known > nats[r]:
            nats[r] = max(nats[r], log_share_all + whole + floor(n, weights[r], p, known))


@jit
def balanced_rates(counts, weights, leader_senses, rates, levels, p, met):
    """Fill met[r] with (σ, level, cost): see `evidence.binary_rival.balanced_rates`."""
    last = len(rates) - 1
    for r in range(len(counts)):
        low, high = 0, last
        for_low, for_high = 1.0, -1.0
        while high - low > 1:
            middle = (low + high) // 2
            excess, _, _ = _excess(counts[r], weights[r] + rates[middle] * leader_senses, levels[middle], p)
            if excess > 0.0:
                low, for_low = middle, excess
            else:
                high, for_high = middle, excess
        # both rise and fall nearly straight in the logarithm of the rate between neighbours
        along = for_low / (for_low - for_high)
        met[r, 0] = rates[low] * (rates[high] / rates[low]) ** along
        _, met[r, 1], met[r, 2] = _excess(counts[r], weights[r] + met[r, 0] * leader_senses, 0.0, p)


@jit
def _excess(n, weight, level, p):
    """level - f(v) for the rival's most plausible rows v at this weight; f(v); and sum n D(n_x/n ‖ v_x)."""
    _, a, b = lowest(n, weight, p, COARSE)
    cost = _row_cost(n[0, 1], n[0, 0], a) + _row_cost(n[1, 1], n[1, 0], b)
    for x in range(2):
        cost -= _row_cost(n[x, 1], n[x, 0], n[x, 1] / max(n[x, 0] + n[x, 1], 1e-300))
    reached = value(a, b, p)[0]
    return level - reached, reached, cost


def warm_up():
    """Call every entry once."""
    counts, one, two = np.ones((1, 2, 2)), np.ones(1), np.array([0.1, 0.2])
    likelihood_evidence(counts, 0.5 * counts, one, -1.0, -1.0, -1.0, one.copy())
    balanced_rates(counts, one, 1.0, two, two[::-1].copy(), -1.0, np.empty((1, 3)))
