"""Where the capacity can be while the rows stay in an anytime-valid region: everything here in **nats**.

For counts n(x, y) of any adaptive sensing, the rows W leave the region
sum_x N_x D(Ŵ_x || W_x) < log(1/α) + sum_x R_x at any time, ever, with probability at most α, where
R_x is the redundancy of the KT mixture. `lower_end` and `upper_end` bound the capacity over such
regions by inequalities that hold for every W, so no optimum has to be found for them to be valid.
docs/theory/intervals.md has the statements and proofs.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaln

from bestchannel.arrays import Floats, Integers
from bestchannel.capacity import capacities
from bestchannel.confidence.anytime import leader_bets
from bestchannel.information import NATS_PER_BIT, divergences_nats

SMOOTHING = (0.5, 0.1)
"""Counts added to each cell of the rows on which the bets of the lower end are placed; the better is taken."""

WEIGHTS_OF_A_GRID = 25
CELLS_AT_ONCE = 2**21
CUTS = 12
"""How often the output distribution of the upper end is improved."""

ROUNDING = 1e-12
"""Relative room that is left for rounding errors."""


def redundancy(counts: Integers) -> Floats:
    """R_x = sum_y n log(n/N) - log KT(n) of every row, from above; shape (n_inputs,).

    KT(n) = Γ(m/2) / Γ(N + m/2) · prod_y Γ(n_y + ½) / Γ(½), the probability of the senses under the mixture of
    all rows over m outputs with Dirichlet(½, ..., ½) weights [KT81]. About (m-1)/2 · log N.
    """
    n = counts.astype(np.float64)
    N, m = n.sum(axis=1), counts.shape[1]
    best = (n * np.log(np.maximum(n, 1.0))).sum(axis=1) - N * np.log(np.maximum(N, 1.0))
    log_kt = (gammaln(n + 0.5) - gammaln(0.5)).sum(axis=1) + gammaln(m / 2) - gammaln(N + m / 2)
    return np.maximum(best - log_kt, 0.0) + ROUNDING / 100 * N * np.log(N + m)


def joint_threshold(counts: Integers, alpha: float) -> float:
    """log(1/α) + sum_x R_x: the evidence that all rows together exceed with probability at most α."""
    return math.log(1.0 / alpha) + float(redundancy(counts).sum())


def row_thresholds(counts: Integers, alpha: float) -> Floats:
    """log(X/α) + R_x: the evidence that any of the X rows exceeds with probability at most α; shape (n_inputs,)."""
    return math.log(len(counts) / alpha) + redundancy(counts)


def excludes_zero(counts: Integers, threshold: float) -> bool:
    """Whether no channel with equal rows is in the joint region, so that C(W) > 0.

    The equal rows nearest to the counts are the pooled ones: sum_x N_x D(Ŵ_x || Q̂) >= threshold.
    """
    n = counts[counts.sum(axis=1) > 0].astype(np.float64)
    N = n.sum(axis=1)
    divergences = divergences_nats(n / N[:, None], n.sum(axis=0) / N.sum())
    return bool(N @ divergences * (1.0 - ROUNDING) >= threshold)


def lower_end(counts: Integers, threshold: float) -> float:
    """A lower bound of C(W) for all W with sum_x N_x D(Ŵ_x || W_x) < threshold.

    C(W) >= (sum n(x, y) pays(x, y) - price - threshold) / s for the bets of every weight s > 0, placed
    on any rows at any input distribution; the largest that is found. Inputs without a count are left
    out, which only lowers the capacity.
    """
    n = counts[counts.sum(axis=1) > 0].astype(np.float64)
    if min(n.shape) < 2:
        return 0.0
    return max(0.0, *(_best_bet(n, threshold, smoothing) for smoothing in SMOOTHING))


def _best_bet(n: Floats, threshold: float, smoothing: float) -> float:
    """The best bound that bets on rows smoothed by so much give, over weights and two input distributions."""
    N = n.sum(axis=1)
    W = (n + smoothing) / (n + smoothing).sum(axis=1, keepdims=True)
    P = capacities(W[None], tol=1e-6, workers=1).input[0]
    # near Ĉ the bound is Ĉ - s v/2 - threshold/s with v the variance of Ĉ, best at this weight
    center = math.sqrt(2.0 * threshold / max(float(P**2 @ (_spreads(W, P) / N)), 1e-300))
    best, weight, hardest = _best_weight(n, W, P, threshold, np.geomspace(center / 30, center * 30, WEIGHTS_OF_A_GRID))
    # the rows that the bets are hardest to tell from W have an optimal input of their own
    P = capacities(hardest[None], tol=1e-6, workers=1).input[0]
    again, _, _ = _best_weight(n, W, P, threshold, np.geomspace(weight / 2, weight * 2, WEIGHTS_OF_A_GRID))
    return max(best, again)


def _best_weight(n: Floats, W: Floats, P: Floats, threshold: float, weights: Floats) -> tuple[float, float, Floats]:
    """The best bound over the weights, its weight, and the rows W / e^pays there."""
    N = n.sum(axis=1)
    best = (-math.inf, float(weights[0]), W)
    for some in np.array_split(weights, max(1, min(len(weights), weights.size * W.size // CELLS_AT_ONCE))):
        bets = leader_bets(W, P, N, some)
        bounds = (bets.settled(n) - threshold - ROUNDING * N.sum()) / some
        i = int(np.argmax(bounds))
        if bounds[i] > best[0]:
            hardest = W / np.exp(bets.pays[i])
            best = (float(bounds[i]), float(some[i]), hardest / hardest.sum(axis=1, keepdims=True))
    return best


def _spreads(W: Floats, P: Floats) -> Floats:
    """V_x = Var_{W_x} log(W_x / PW); shape (n_inputs,)."""
    g = np.log(W / (P @ W))
    return (W * g * g).sum(axis=1) - (W * g).sum(axis=1) ** 2


def upper_end(counts: Integers, thresholds: Floats) -> float:
    """An upper bound of C(W) for all W with N_x D(Ŵ_x || W_x) < thresholds[x] in every row.

    An input without a count may be anything, so that only log min(n_inputs, n_outputs) is left.
    """
    ceiling = math.log(min(counts.shape))
    if ceiling == 0.0 or counts.sum(axis=1).min() == 0:
        return ceiling
    low, high = cell_intervals(counts, thresholds)
    bound = _upper_of_two_outputs(low[:, 1], high[:, 1]) if counts.shape[1] == 2 else _upper_of_boxes(low, high)
    return min(bound, ceiling)


def cell_intervals(counts: Integers, thresholds: Floats) -> tuple[Floats, Floats]:
    """The ends [x, y] between which N_x d(Ŵ(y|x), W(y|x)) <= thresholds[x], d the binary divergence.

    D(Ŵ_x || W_x) is at least that of "y or not y" (data processing), so the rows of the region have
    all their cells in these intervals. By bisection, ends on the outer side.
    """
    n = counts.astype(np.float64)
    N = n.sum(axis=1, keepdims=True)
    p = n / N
    radius = thresholds[:, None] / N * (1.0 + 1e-9) + ROUNDING / 100
    ends = []
    for outer in (np.zeros_like(p), np.ones_like(p)):
        inner = p.copy()
        for _ in range(60):
            middle = 0.5 * (inner + outer)
            inside = _binary_divergence(p, middle) <= radius
            inner, outer = np.where(inside, middle, inner), np.where(inside, outer, middle)
        ends.append(outer)
    return ends[0], ends[1]


def _binary_divergence(p: Floats, q: Floats) -> Floats:
    """d(p, q) = p log(p/q) + (1-p) log((1-p)/(1-q))."""
    with np.errstate(divide="ignore", invalid="ignore"):
        yes = np.where(p > 0.0, p * np.log(p / q), 0.0)
        no = np.where(p < 1.0, (1.0 - p) * np.log((1.0 - p) / (1.0 - q)), 0.0)
    return yes + no


def _upper_of_two_outputs(low: Floats, high: Floats) -> float:
    """The largest capacity with W(1|x) in [low[x], high[x]]: C is convex, so at a corner of the box.

    Of several inputs the two whose rows are furthest apart reach it, and it grows with their
    distance: one at its low end, another at its high end.
    """
    lowest, highest = np.argsort(low)[:2], np.argsort(-high)[:2]
    ends = [(low[i], high[j]) for i in lowest for j in highest if i != j]
    corners = np.array([[[1.0 - a, a], [1.0 - b, b]] for a, b in ends])
    return float(capacities(corners, tol=1e-9, workers=1).upper.max()) * NATS_PER_BIT


def _upper_of_boxes(low: Floats, high: Floats) -> float:
    """min over some Q of max_x max {D(w || Q): low_x <= w <= high_x, sum w = 1}, from above.

    C(W) <= max_x D(W_x || Q) for every Q. The Q tried next is the best one against the worst rows
    of all before it: the optimal output of the channel that has those rows.
    """
    m = low.shape[1]
    rows, best = np.empty((0, m)), math.inf
    Q = low + (high - low) * ((1.0 - low.sum(axis=1)) / np.maximum((high - low).sum(axis=1), 1e-300))[:, None]
    Q = Q.mean(axis=0) / Q.mean(axis=0).sum()
    for _ in range(CUTS):
        bounds, worst = _worst_rows(low, high, Q)
        if bounds.max() > best - 1e-7 and len(rows) > 4 * len(low):
            break
        best = min(best, float(bounds.max()))
        rows = np.concatenate([rows, worst])
        answer = capacities(rows[None], tol=1e-6, workers=1)
        rows = rows[answer.input[0] > 1e-9]
        Q = (1.0 - 1e-6) * answer.output[0] + 1e-6 / m
        Q = Q / Q.sum()
    return best * (1.0 + ROUNDING) + ROUNDING


def _worst_rows(low: Floats, high: Floats, Q: Floats) -> tuple[Floats, Floats]:
    """For every x a bound of the largest D(w || Q) over its box, and a row near it.

    w log(w/Q_y) is convex, so at most its chord over [low, high]; the chords are linear in w, and
    what is left of sum w = 1 goes to the steepest of them first.
    """
    at_low, at_high = _terms(low, Q), _terms(high, Q)
    room = high - low
    slopes = (at_high - at_low) / np.maximum(room, 1e-300)
    order = np.argsort(-slopes, axis=1)
    sorted_room = np.take_along_axis(room, order, axis=1)
    before = np.cumsum(sorted_room, axis=1) - sorted_room
    spent = np.clip(1.0 - low.sum(axis=1, keepdims=True) - before, 0.0, sorted_room)
    bounds = at_low.sum(axis=1) + (spent * np.take_along_axis(slopes, order, axis=1)).sum(axis=1)
    w = low.copy()
    np.put_along_axis(w, order, np.take_along_axis(low, order, axis=1) + spent, axis=1)
    return bounds, w / w.sum(axis=1, keepdims=True)


def _terms(w: Floats, Q: Floats) -> Floats:
    return w * np.log(np.maximum(w, 1e-300) / Q)
