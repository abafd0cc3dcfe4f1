"""The rival's part of the evidence where it has two inputs and two outputs: the likelihood of its rows.

A channel is v = (a, b), the probabilities of output 1 under inputs 0 and 1. What is proved is

T(v) = -sum_x sum_y n(x, y) log v_x(y) - s f(v) >= target   for every v in [0, 1]².

The square is cut into rectangles. f is convex, so it is convex in a and in b alone and lies, on a rectangle, below the
bilinear function through its values at the corners: at most m + α(a - a_c) + β(b - b_c) + |κ|/4, with their mean m and
their mixed difference κ. With that in place of f the rows separate, and each row's cost is convex: it lies above
its tangent at any point.
"""

from __future__ import annotations

import math

import numpy as np

from bestchannel.verification.record import Floats
from bestchannel.verification.value import binary_value

MOST_CELLS = 300_000
ROUNDING = 1e-13
"""Nats, for each sense and each unit of weight, by which a bound is lowered: some hundred times what doubles lose."""

START = 8
"""Boxes along each side at first."""


def log_kt(n: Floats) -> float:
    """log of the probability that the mixture of Krichevsky and Trofimov gives to the senses of both rows [KT81]."""
    return math.fsum(
        math.lgamma(zeros + 0.5) + math.lgamma(ones + 0.5) - math.lgamma(zeros + ones + 1.0) - math.log(math.pi)
        for zeros, ones in n.tolist()
    )


def exceeds(n: Floats, weight: float, fixed: float | None, target: float) -> bool:
    """Whether T(v) >= target is proved for all v; False where a v contradicts it or the boxes were spent."""
    target += ROUNDING * (float(n.sum()) + weight)
    edges = np.linspace(0.0, 1.0, START + 1)
    low_a, low_b = (side.ravel() for side in np.meshgrid(edges[:-1], edges[:-1]))
    boxes = np.stack([low_a, low_a + 1.0 / START, low_b, low_b + 1.0 / START])
    spent = 0
    while boxes.shape[1]:
        spent += boxes.shape[1]
        bounds, a, b = box_bounds(boxes, n, weight, fixed)
        if spent > MOST_CELLS or (tilted(n, weight, fixed, a, b) < target).any():
            return False
        boxes = halves(boxes[:, ~(bounds >= target)])
    return True


def box_bounds(boxes: Floats, n: Floats, weight: float, fixed: float | None) -> tuple[Floats, Floats, Floats]:
    """A lower bound of T on every box (a_low, a_high, b_low, b_high), and a point of it where T is nearly that."""
    a0, a1, b0, b1 = boxes
    f = [[binary_value(a, b, fixed) for b in (b0, b1)] for a in (a0, a1)]
    mean = (f[0][0] + f[0][1] + f[1][0] + f[1][1]) / 4.0
    mixed = np.abs(f[1][1] - f[1][0] - f[0][1] + f[0][0])
    slope_a = (f[1][0] + f[1][1] - f[0][0] - f[0][1]) / (2.0 * (a1 - a0))
    slope_b = (f[0][1] + f[1][1] - f[0][0] - f[1][0]) / (2.0 * (b1 - b0))
    least_a, a = row_floor(n[0], weight * slope_a, a0, a1)
    least_b, b = row_floor(n[1], weight * slope_b, b0, b1)
    middle = mean - slope_a * (a0 + a1) / 2.0 - slope_b * (b0 + b1) / 2.0
    return least_a + least_b - weight * (middle + mixed / 4.0), a, b


def row_floor(counts: Floats, slope: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """A lower bound of φ(v) = -ones log v - zeros log(1-v) - slope v on [low, high], and about where φ is least.

    φ is convex, so φ(v) >= φ(u) + φ'(u)(v - u) for any u of the interval: also where u is not quite its lowest point.
    """
    zeros, ones = counts
    u = np.clip(_stationary(ones, zeros, slope), low, high)
    derivative = (zeros / (1.0 - u) if zeros else 0.0) - (ones / u if ones else 0.0) - slope
    drop = np.minimum(derivative * (low - u), derivative * (high - u))
    return row_cost(counts, u) - slope * u + drop, u


def _stationary(ones: float, zeros: float, slope: Floats) -> Floats:
    """The root in [0, 1] of slope v² + (ones + zeros - slope) v - ones, where φ' is 0."""
    linear = ones + zeros - slope
    root = np.sqrt(np.maximum(linear * linear + 4.0 * slope * ones, 0.0))
    falling = linear < 0.0
    above = np.where(falling, root - linear, 2.0 * ones)
    below = np.where(falling, 2.0 * slope, linear + root)
    return above / np.where(below == 0.0, 1.0, below)


def row_cost(counts: Floats, v: Floats) -> Floats:
    """-ones log v - zeros log(1-v)."""
    zeros, ones = counts
    with np.errstate(divide="ignore"):
        first = -ones * np.log(v) if ones else np.zeros_like(v)
        return first - zeros * np.log1p(-v) if zeros else first


def tilted(n: Floats, weight: float, fixed: float | None, a: Floats, b: Floats) -> Floats:
    """T at v = (a, b)."""
    return row_cost(n[0], a) + row_cost(n[1], b) - weight * binary_value(a, b, fixed)


def halves(boxes: Floats) -> Floats:
    """The boxes, each cut across its longer side."""
    a0, a1, b0, b1 = boxes
    a, b = (a0 + a1) / 2.0, (b0 + b1) / 2.0
    wide = a1 - a0 >= b1 - b0
    first = np.stack([a0, np.where(wide, a, a1), b0, np.where(wide, b1, b)])
    second = np.stack([np.where(wide, a, a0), a1, np.where(wide, b0, b), b1])
    return np.concatenate([first, second], axis=1)
