"""Where the capacity can be while the rows stay in an anytime-valid region: everything here in **nats**.

For counts n(x, y) of any adaptive sensing, the rows W leave the region
sum_x N_x D(Ŵ_x || W_x) < log(1/α) + sum_x R_x at any time, ever, with probability at most α, where
R_x is the redundancy of the KT mixture. `lower_end`, and `upper_end` in a module of its own, bound the capacity over
such regions by inequalities that hold for every W, so no optimum has to be found for them to be valid.
docs/theory/intervals.md has the statements and proofs.
"""

from __future__ import annotations

import math

import numpy as np

from bestchannel.arrays import Floats, Integers
from bestchannel.capacity import capacities
from bestchannel.evidence.leader_bets import leader_bets
from bestchannel.information import divergences_nats

SMOOTHING = (0.5, 0.1)
"""Counts added to each cell of the rows on which the bets of the lower end are placed; the better is taken."""

WEIGHTS_OF_A_GRID = 25
CELLS_AT_ONCE = 2**21

ROUNDING = 1e-12
"""Relative room that is left for rounding errors."""


def redundancy(counts: Integers) -> Floats:
    """R_x = sum_y n log(n/N) - log KT(n) of every row, from above; shape (n_inputs,).

    KT(n) = Γ(m/2) / Γ(N + m/2) · prod_y Γ(n_y + ½) / Γ(½), the probability of the senses under the mixture of
    all rows over m outputs with Dirichlet(½, ..., ½) weights [KT81]. About (m-1)/2 · log N.
    """
    from scipy.special import gammaln  # deferred: slow to import, and only estimates need it

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
