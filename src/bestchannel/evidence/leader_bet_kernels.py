# mypy: ignore-errors
"""Bets on the leader's senses, compiled: see `evidence.leader_bets.leader_bets` for what they are."""

import math

import numpy as np

from bestchannel.compiled import entry, inner

NEWTON_STEPS = 60
CLOSE = 1e-12
LINE_SEARCHES = 3
SHORT_OF_END = 0.999
SETTLED = 1e-3
"""The relative change of V below which it is left as it is."""


@inner
def _move(W, P, senses, weight, V, target, Q, trial):
    """Move V towards the target to about where sum_x N_x D(W_x‖V_x) + s I(P; V), which is convex, is least."""
    low, high = 0.0, 1.0
    slope_low = _slope(W, P, senses, weight, V, target, 0.0, Q, trial)
    slope_high = _slope(W, P, senses, weight, V, target, SHORT_OF_END, Q, trial)
    t = 1.0
    if slope_high > 0.0:
        high = SHORT_OF_END
        for _ in range(LINE_SEARCHES):
            t = low + (high - low) * min(max(slope_low / (slope_low - slope_high), 0.1), 0.9)
            slope = _slope(W, P, senses, weight, V, target, t, Q, trial)
            if slope > 0.0:
                high, slope_high = t, slope
            else:
                low, slope_low = t, slope
    for x in range(V.shape[0]):
        for y in range(V.shape[1]):
            V[x, y] = (1.0 - t) * V[x, y] + t * target[x, y]


@inner
def _slope(W, P, senses, weight, V, target, t, Q, trial):
    """The slope of sum_x N_x D(W_x‖V_x) + s I(P; V) from V to the target, a part t of the way."""
    n_inputs, n_outputs = V.shape
    slope = 0.0
    for y in range(n_outputs):
        Q[y] = 0.0
        for x in range(n_inputs):
            trial[x, y] = (1.0 - t) * V[x, y] + t * target[x, y]
            Q[y] += P[x] * trial[x, y]
    for x in range(n_inputs):
        for y in range(n_outputs):
            v = trial[x, y]
            slope += (target[x, y] - V[x, y]) * (weight * P[x] * math.log(v / Q[y]) - senses[x] * W[x, y] / v)
    return slope


@inner
def _stake(V, P, weight, Q, stakes):
    """s P_x log(V_x / PV)."""
    n_inputs, n_outputs = V.shape
    for y in range(n_outputs):
        Q[y] = 0.0
        for x in range(n_inputs):
            Q[y] += P[x] * V[x, y]
    for x in range(n_inputs):
        for y in range(n_outputs):
            stakes[x, y] = weight * P[x] * math.log(V[x, y] / Q[y])


@inner
def _multiply(W, n, stakes, wealth):
    """ν with sum_y W n / (ν + stakes) = 1, and the wealth (ν + stakes) / n.

    Newton's method for the left side, which is convex and falls in ν, climbs to the root from the left: from
    where the term of the smallest stake alone is 1, or from n - sum_y W stakes, where the left side is at
    least 1 by Jensen's inequality. The smallest stake is taken off first: large ones must not swallow a small root.
    """
    least, at, mean = stakes[0], W[0], 0.0
    for y in range(len(W)):
        if stakes[y] < least:
            least, at = stakes[y], W[y]
    for y in range(len(W)):
        mean += W[y] * (stakes[y] - least)
    nu = max(n * at, n - mean)
    for _ in range(NEWTON_STEPS):
        excess, slope = -1.0, 0.0
        for y in range(len(W)):
            odds = W[y] * n / (nu + (stakes[y] - least))
            excess += odds
            slope += odds / (nu + (stakes[y] - least))
        nu += excess / slope
        if not excess >= CLOSE:
            break
    for y in range(len(W)):
        wealth[y] = (nu + (stakes[y] - least)) / n
    return nu - least


@inner
def _price(senses, stakes, wealth, pays):
    """sum_x max_y (N_x (e^pays - 1) - stakes), and the pays themselves."""
    price = 0.0
    for x in range(len(senses)):
        most = -np.inf
        for y in range(stakes.shape[1]):
            pays[x, y] = math.log(wealth[x, y])
            most = max(most, senses[x] * (wealth[x, y] - 1.0) - stakes[x, y])
        price += most
    return price


@entry(  # True: may be read-only
    "void(Array(float64, 3, 'C', True), Array(float64, 2, 'C', True), Array(float64, 2, 'C', True),"
    " Array(float64, 1, 'C', True), int64, float64[:, :, ::1], float64[::1], float64[:, :, ::1], float64[:, ::1])"
)
def bets(rows, inputs, numbers, weights, refinements, pays, price, auxiliary, multipliers):
    """Fill pays[r, x, y], price[r], auxiliary[r, x, y] (V) and multipliers[r, x] (ν) for every weight.

    Each weight has its own rows[r, x, y] W, inputs[r, x] P and numbers[r, x] N of senses.
    """
    _, n_inputs, n_outputs = rows.shape
    shape = (n_inputs, n_outputs)
    stakes, target, trial, Q = np.empty(shape), np.empty(shape), np.empty(shape), np.empty(shape[1])
    wealth = np.empty(shape)
    for r in range(len(weights)):
        W, P, senses, V, nu = rows[r], inputs[r], numbers[r], auxiliary[r], multipliers[r]
        for x in range(shape[0]):
            for y in range(shape[1]):  # an assignment of arrays takes seconds to compile, for its error message
                V[x, y] = W[x, y]
        for left in range(refinements, 0, -1):
            _stake(V, P, weights[r], Q, stakes)
            change = 0.0
            for x in range(shape[0]):
                nu[x] = _multiply(W[x], senses[x], stakes[x], wealth[x])
                for y in range(shape[1]):
                    target[x, y] = W[x, y] / wealth[x, y]
                    change = max(change, abs(target[x, y] - V[x, y]) / V[x, y])
            if left == 1 or change < SETTLED:
                break
            _move(W, P, senses, weights[r], V, target, Q, trial)
        price[r] = _price(senses, stakes, wealth, pays[r])
