"""Where the capacity can be while the rows stay in an anytime-valid region: everything here in **nats**.

For counts n(x, y) of any adaptive sensing, the rows W leave the region sum_x N_x D(Ŵ_x || W_x) < log(1/α) + sum_x R_x
at any time, ever, with probability at most α, where R_x is the redundancy of the KT mixture. Both ends here bound the
capacity over such regions by inequalities that hold for every W, so no optimum has to be found.

From above, C(W) <= max_x D(W_x || Q) for every Q, so what is left is one row: the largest D(w || Q) with
D(ŵ || w) <= r. That is a convex function over a convex set, and its maximum is bounded by Lagrange duality: for every
μ >= 0 and λ,

    D(w || Q) <= μ r + λ + sum_y max_{low_y <= w <= high_y} (w log(w/Q_y) + μ ŵ_y log(w/ŵ_y) - λ w),

where [low_y, high_y] are the values that the letter y can have. Good Q, μ and λ make the bound tight, and any make it
valid. With P > 0 given, all of it holds of I(P; W) in place of C(W), and sum_x P_x D(W_x || Q) bounds it from above.
docs/theory/intervals.md has the statements and proofs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bestchannel.arrays import Floats, Integers
from bestchannel.capacity.stack import solved
from bestchannel.evidence.bets import LOG_GAMMA, leader_bets, log_gamma
from bestchannel.information import NATS_PER_BIT, divergences_nats

SMOOTHING, WEIGHTS = (0.5, 0.1), 25
"""Counts added to each cell of the rows on which the bets of the lower end are placed, and weights of bets; the best
of all is taken."""

CUTS, MOST_IDLE = 16, 3  # how often the output distribution is changed at most, and in a row for next to nothing
MULTIPLIERS = np.array([0.0, *np.geomspace(1 / 16, 16, 13)])
FINER = np.geomspace(0.7, 1.4, 7)
"""The μ that are tried, relative to the best one where the divergence is nearly linear, then to the best of those."""

HALVINGS = 28  # steps towards the best λ; what they leave costs the bound some 1e-7 of the first interval
BETS_AT_ONCE, LETTERS_AT_ONCE = 2**21, 2**19  # elements of the arrays made at a time, for the lower and the upper end
ROUNDING = 1e-12  # relative room that is left for rounding errors


def redundancy(counts: Integers) -> Floats:
    """R_x = sum_y n log(n/N) - log KT(n) of every row, from above; shape (n_inputs,).

    KT(n) = Γ(m/2) / Γ(N + m/2) · prod_y Γ(n_y + ½) / Γ(½), the probability of the senses under the mixture of
    all rows over m outputs with Dirichlet(½, ..., ½) weights [KT81]. About (m-1)/2 · log N.
    """
    n = counts.astype(np.float64)
    N, m = n.sum(axis=1), counts.shape[1]
    best = (n * np.log(np.maximum(n, 1.0))).sum(axis=1) - N * np.log(np.maximum(N, 1.0))
    log_kt = (log_gamma(2 * n + 1) - LOG_GAMMA[1]).sum(axis=1) + log_gamma(np.array(m)) - log_gamma(2 * N + m)
    return np.maximum(best - log_kt, 0.0) + ROUNDING / 100 * N * np.log(N + m)


def joint_threshold(counts: Integers, alpha: float) -> float:
    """log(1/α) + sum_x R_x: the evidence that all rows together exceed with probability at most α."""
    return math.log(1.0 / alpha) + float(redundancy(counts).sum())


def row_thresholds(counts: Integers, alpha: float) -> Floats:
    """log(X/α) + R_x: the evidence that any of the X rows exceeds with probability at most α; shape (n_inputs,)."""
    return math.log(len(counts) / alpha) + redundancy(counts)


class Ends(NamedTuple):
    """Between which ends a value lies, and whether it is above 0, all at once."""

    lower: float
    upper: float
    positive: bool

    def in_bits(self, value: float, ceiling: float) -> tuple[float, float]:
        """Both ends, none beyond the ceiling; an estimate is never outside, since it is biased upwards."""
        return min(self.lower / NATS_PER_BIT, value), max(min(self.upper / NATS_PER_BIT, ceiling), value)


def anytime_ends(counts: Integers, alpha: float, P: Floats | None = None) -> Ends:
    """The ends of C(W), or of I(P; W), each wrong with probability at most α/2 at all times."""
    threshold = joint_threshold(counts, 0.5 * alpha)
    lower = lower_end(counts, threshold, P)
    upper = upper_end(counts, row_thresholds(counts, 0.5 * alpha), P)
    return Ends(lower, upper, lower > 0.0 or excludes_zero(counts, threshold))


def excludes_zero(counts: Integers, threshold: float) -> bool:
    """Whether no channel with equal rows is in the joint region, so that C(W) > 0, and I(P; W) > 0 for P > 0.

    The equal rows nearest to the counts are the pooled ones: sum_x N_x D(Ŵ_x || Q̂) >= threshold.
    """
    n = counts[counts.sum(axis=1) > 0].astype(np.float64)
    N = n.sum(axis=1)
    if len(N) < 2:
        return False
    divergences = divergences_nats(n / N[:, None], n.sum(axis=0) / N.sum())
    return bool(N @ divergences * (1.0 - ROUNDING) >= threshold)


def lower_end(counts: Integers, threshold: float, P: Floats | None = None) -> float:
    """A lower bound of C(W), or of I(P; W), for all W with sum_x N_x D(Ŵ_x || W_x) < threshold.

    C(W) >= (sum n(x, y) pays(x, y) - price - threshold) / s for the bets of every weight s > 0, placed on any rows at
    any input distribution; the largest of those tried. Inputs without a count are left out, which only lowers the
    capacity; I(P; W) is at least the mass of the others times the information at P of these alone.
    """
    sensed = counts.sum(axis=1) > 0
    n = counts[sensed].astype(np.float64)
    if min(n.shape) < 2:
        return 0.0
    mass = 1.0 if P is None else float(P[sensed].sum())
    fixed = None if P is None else P[sensed] / mass
    return mass * max(0.0, *(_best_bet(n, threshold, smoothing, fixed) for smoothing in SMOOTHING))


def _best_bet(n: Floats, threshold: float, smoothing: float, fixed: Floats | None) -> float:
    """The best bound that bets on rows smoothed by so much give, over weights and two input distributions or one."""
    W = (n + smoothing) / (n + smoothing).sum(axis=1, keepdims=True)
    P = _best_input(W) if fixed is None else fixed
    # near Ĉ the bound is Ĉ - s v/2 - threshold/s with v the variance of Ĉ, best at this weight
    center = math.sqrt(2.0 * threshold / max(float(P**2 @ (_variances(W, P @ W) / n.sum(axis=1))), 1e-300))
    best, weight, hardest = _best_weight(n, W, P, threshold, np.geomspace(center / 30, center * 30, WEIGHTS))
    # the rows that the bets are hardest to tell from W have an optimal input of their own
    P = _best_input(hardest) if fixed is None else fixed
    return max(best, _best_weight(n, W, P, threshold, np.geomspace(weight / 2, weight * 2, WEIGHTS))[0])


def _best_input(W: Floats) -> Floats:
    return solved(W[None], 1e-6).input[0]


def _best_weight(n: Floats, W: Floats, P: Floats, threshold: float, weights: Floats) -> tuple[float, float, Floats]:
    """The best bound over the weights, its weight, and the rows W / e^pays there."""
    N = n.sum(axis=1)
    best = (-math.inf, float(weights[0]), W)
    for some in np.array_split(weights, max(1, min(len(weights), weights.size * W.size // BETS_AT_ONCE))):
        bets = leader_bets(W, P, N, some)
        bounds = (bets.settled(n) - threshold - ROUNDING * N.sum()) / some
        i = int(np.argmax(bounds))
        if bounds[i] > best[0]:
            hardest = W / np.exp(bets.pays[i])
            best = (float(bounds[i]), float(some[i]), hardest / hardest.sum(axis=1, keepdims=True))
    return best


def _variances(W: Floats, Q: Floats) -> Floats:
    """V_x = Var_{W_x} log(W_x / Q); shape (n_inputs,)."""
    g = np.log(W / Q)
    return (W * g * g).sum(axis=1) - (W * g).sum(axis=1) ** 2


def upper_end(counts: Integers, thresholds: Floats, P: Floats | None = None) -> float:
    """An upper bound of C(W), or of I(P; W), for all W with N_x D(Ŵ_x || W_x) <= thresholds[x] in every row.

    An input without a count may be anything, so that only log min(n_inputs, n_outputs) is left.
    """
    ceiling = math.log(min(counts.shape))
    N = counts.sum(axis=1).astype(np.float64)
    if ceiling == 0.0 or N.min() == 0.0:
        return ceiling
    W = counts / N[:, None]
    radius = thresholds / N * (1.0 + 1e-9) + ROUNDING / 100
    low, high = cell_intervals(W, radius)
    two = counts.shape[1] == 2 and P is None
    bound = _of_two_outputs(low[:, 1], high[:, 1]) if two else _of_rows(RowRegions(W, low, high, radius), P)
    return bound if bound < ceiling else ceiling  # also where the bound is no number


def cell_intervals(W: Floats, radius: Floats) -> tuple[Floats, Floats]:
    """The ends [x, y] between which d(W(y|x), w) <= radius[x], d the binary divergence.

    D(W_x || w) is at least that of "y or not y" (data processing), so all rows w within the radius have their cells in
    these intervals. By bisection, the ends on the outer side.
    """
    inner, outer = np.stack([W, W]), np.stack([np.zeros_like(W), np.ones_like(W)])
    for _ in range(60):
        w = 0.5 * (inner + outer)
        with np.errstate(divide="ignore", invalid="ignore"):
            yes = np.where(W > 0.0, W * np.log(W / w), 0.0)
            no = np.where(W < 1.0, (1.0 - W) * np.log((1.0 - W) / (1.0 - w)), 0.0)
        inside = yes + no <= radius[:, None]
        inner, outer = np.where(inside, w, inner), np.where(inside, outer, w)
    return outer[0], outer[1]


def _of_two_outputs(low: Floats, high: Floats) -> float:
    """The largest capacity with W(1|x) in [low[x], high[x]]: C is convex, so at a corner of the box.

    Of several inputs the two whose rows are furthest apart reach it, and it grows with their distance: one at its low
    end, another at its high end.
    """
    lowest, highest = np.argsort(low)[:2], np.argsort(-high)[:2]
    ends = [(low[i], high[j]) for i in lowest for j in highest if i != j]
    corners = np.array([[[1.0 - a, a], [1.0 - b, b]] for a, b in ends])
    return float(solved(corners, 1e-9).upper.max()) * NATS_PER_BIT


class RowRegions(NamedTuple):
    """Empirical rows, the intervals of their cells, and how far in divergence the true rows may be."""

    W: Floats
    low: Floats
    high: Floats
    radius: Floats


def _of_rows(rows: RowRegions, P: Floats | None) -> float:
    """The smallest bound over the Q that are tried.

    The Q tried next is the best against the worst rows of all before it: the optimal output of the channel that has
    those rows, or with P given their output. Where that brings nothing, it is half way from the best Q so far.
    """
    n_outputs = rows.W.shape[1]
    near = rows.W + rows.radius[:, None] / n_outputs
    near = near / near.sum(axis=1, keepdims=True)
    worst = np.empty((0, n_outputs))
    best, best_Q, idle = math.inf, np.full(n_outputs, 1.0 / n_outputs), 0
    for _ in range(CUTS):
        if P is None:
            against = np.concatenate([worst, near])
            answer = solved(against[None], 1e-6)
            worst = against[answer.input[0] > 1e-9] if math.isfinite(best) else worst
        Q = answer.output[0] if P is None else P @ near
        Q = Q + 1e-6 / n_outputs
        Q = Q / Q.sum() if idle == 0 else 0.5 * best_Q + 0.5 * Q / Q.sum()
        bounds, near = worst_rows(rows, Q)
        value = float(bounds.max() if P is None else P @ bounds)
        idle = idle + 1 if value > best * (1.0 - 1e-3) else 0
        if value < best:
            best, best_Q = value, Q
        if idle == MOST_IDLE:
            break
    return best


def worst_rows(rows: RowRegions, Q: Floats) -> tuple[Floats, Floats]:
    """For every x a bound of the largest D(w || Q) within the radius, and a row near it."""
    step = max(1, LETTERS_AT_ONCE // (len(MULTIPLIERS) * len(Q)))
    some = [RowRegions(*(part[x : x + step] for part in rows)) for x in range(0, len(rows.W), step)]
    bounds, near = zip(*(_worst_of_some(part, Q) for part in some), strict=True)
    return np.concatenate(bounds), np.concatenate(near)


def _worst_of_some(rows: RowRegions, Q: Floats) -> tuple[Floats, Floats]:
    x, W = np.arange(len(rows.W)), rows.W + 1e-3 * Q
    V = _variances(W / W.sum(axis=1, keepdims=True), Q)
    # √(V_x / 2r) is the best μ where D(w || Q) is linear in w with variance V_x
    coarse = MULTIPLIERS[:, None] * np.sqrt(np.maximum(V, 1e-12) / (2.0 * rows.radius))
    first = _dual(rows, Q, coarse)[0]
    finer = FINER[:, None] * coarse[first.argmin(axis=0), x]
    second, near = _dual(rows, Q, finer)
    best = second.argmin(axis=0)
    row = np.maximum(near[best, x], 1e-12)
    return np.minimum(first.min(axis=0), second[best, x]), row / row.sum(axis=1, keepdims=True)


def _dual(rows: RowRegions, Q: Floats, mu: Floats) -> tuple[Floats, Floats]:
    """The bound for every mu[i, x] at nearly the best λ, and the letters [i, x, y] that reach the maxima.

    The sum of these letters falls with λ, and the bound is smallest where it passes 1: between the λ at which no letter
    is below ŵ, and that at which none is above.
    """
    best_letters = _letters(rows, Q, mu[..., None])
    lowest = np.log(np.where(rows.W > 0.0, np.maximum(rows.low, 1e-300), 1.0) / Q).min(axis=1)
    below, above = 1.0 + mu + lowest, 1.0 + mu + np.log(rows.high / Q).max(axis=1)
    for _ in range(HALVINGS):
        level = 0.5 * (below + above)
        _, w = best_letters(level[..., None], 2)
        too_much = w.sum(axis=2) > 1.0
        below, above = np.where(too_much, level, below), np.where(too_much, above, level)
    gains, w = best_letters(above[..., None], 4)
    return mu * rows.radius + above + gains.sum(axis=2) + ROUNDING * (1.0 + mu + np.abs(above)), w


def _letters(rows: RowRegions, Q: Floats, mu: Floats) -> Callable[[Floats, int], tuple[Floats, Floats]]:
    """The largest f(w) = w log(w/Q) + μ ŵ log(w/ŵ) - λ w of every cell [i, x, y] between its ends, and where it is.

    For several mu[i, x, 1] at once, as a function of λ[i, x, 1] and a number of Newton's steps. f is concave up to
    w = μŵ and convex from there on, so the maximum is at an end or where f' = 0 in the concave part: w = μŵ/u with
    u > 1 and u - log u = λ - 1 - log(μŵ/Q).
    """
    weight, log_Q = mu * rows.W, np.log(Q)
    log_W = np.where(rows.W > 0.0, np.log(np.maximum(rows.W, 1e-300)), 0.0)
    turn = np.log(np.maximum(weight, 1e-300)) - log_Q
    log_low, log_high = np.log(np.maximum(rows.low, 1e-300)), np.log(np.maximum(rows.high, 1e-300))
    at_low = rows.low * (log_low - log_Q) + weight * (log_low - log_W)
    at_high = rows.high * (log_high - log_Q) + weight * (log_high - log_W)

    def best_letters(level: Floats, steps: int) -> tuple[Floats, Floats]:
        u = _root(np.maximum(level - 2.0 - turn, 0.0), steps)
        inner = np.maximum(np.clip(weight / u, rows.low, rows.high), 1e-300)
        log_inner = np.log(inner)
        best, where = at_low - level * rows.low, np.broadcast_to(rows.low, u.shape)
        at_inner = inner * (log_inner - log_Q - level) + weight * (log_inner - log_W)
        for w, value in ((inner, at_inner), (rows.high, at_high - level * rows.high)):
            where = np.where(value > best, w, where)
            best = np.maximum(best, value)
        return best, where

    return best_letters


def _root(t: Floats, steps: int) -> Floats:
    """u >= 1 with u - log u = 1 + t, by Newton's method from above: u <= 1 + √(2t) + t [Cha13]."""
    u = 1.0 + np.sqrt(2.0 * t) + t
    for _ in range(steps):
        u = np.maximum(u - (u - np.log(u) - 1.0 - t) / np.maximum(1.0 - 1.0 / u, 1e-300), 1.0)
    return u
