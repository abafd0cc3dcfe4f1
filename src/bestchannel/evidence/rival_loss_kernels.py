# mypy: ignore-errors
"""What the bets against a rival have lost on its own senses if an input distribution P is the truth, compiled.

F(P) = min_R sum_x u_x(P_x; R), with u_x the bound of a row (`rival_row_kernels`), and where it is about largest; that
it is not larger elsewhere is shown in `rival_bound_kernels`.
"""

import math
from typing import NamedTuple

import numpy as np

from bestchannel.arrays import Floats
from bestchannel.compiled import inner
from bestchannel.evidence.rival_row_kernels import row_bound

TOLERANCE = 1e-4
"""Nats by which the bound of a row may exceed the row's largest loss."""

CLIMBS = 30
MOVES = 12
"""How often, at most, P moves; after that only R does."""

LARGEST_PART = 0.5
"""Of the way to the output of the present rows that R goes in one step."""

LEAST_BACK, MOST_BACK = 0.25, 0.75
"""Between which parts of its last step R goes back where that was too long."""

BALANCINGS = 30
BALANCED = 1e-3
"""By which the entries of P still change when it is left as it is."""

BOLDER = 1.3
"""The factor by which steps of P grow while they lead up."""

FITTINGS = 60
LEAST_FACTOR = 1e-13
"""By which input distributions are scaled, at least; and its inverse, at most."""

FITS = 1e-12
"""By which the sum of an input distribution may miss 1."""


class Losses(NamedTuple):
    """The bets on a rival's senses: what was counted, and under which tilts and output distributions."""

    counts: Floats  # [x, y] n̄: every sense weighted with its ω
    charged: Floats  # [x] c: the sum over the senses of ω log Q
    senses: Floats  # [x, e]
    tilts: Floats  # [x, e] ω
    logQ: Floats  # [x, e, y]
    weight: float  # S


@inner
def losses_of(counts, charged, senses, tilts, Q, weight, groups):
    """What the bets of all requests, [i, x] and [i, y], lose at most; more than 2 `groups` of them are merged.

    log z is convex in ω, so that it is at most its chord between the least and the largest ω of a group of requests;
    and z is concave in Q, so that at each of the two the mean of Q serves for all. Requests are grouped in their order,
    the groups about equal in senses.
    """
    n_inputs, n_outputs, n_epochs = *counts.shape, min(len(senses), 2 * groups)
    few_senses, few_tilts = np.empty((n_inputs, n_epochs)), np.empty((n_inputs, n_epochs))
    logQ = np.empty((n_inputs, n_epochs, n_outputs))
    losses = Losses(counts, charged, few_senses, few_tilts, logQ, weight)
    if n_epochs == len(senses):
        for i in range(n_epochs):
            for x in range(n_inputs):
                few_senses[x, i], few_tilts[x, i] = senses[i, x], tilts[i, x]
                for y in range(n_outputs):
                    logQ[x, i, y] = math.log(Q[i, y])
        return losses
    total, so_far, first = 0.0, 0.0, 0
    for i in range(len(senses)):
        total += _sum(senses[i])
    for group in range(groups):
        last = first
        while last < len(senses) and (group == groups - 1 or so_far < total * (group + 1) / groups):
            so_far += _sum(senses[last])
            last += 1
        for x in range(n_inputs):
            for side in range(2):
                _merge(senses, tilts, Q, first, last, x, side, 2 * group + side, losses)
        first = last
    return losses


@inner
def _sum(values):
    total = 0.0
    for i in range(len(values)):
        total += values[i]
    return total


@inner
def _merge(senses, tilts, Q, first, last, x, side, at, losses):
    """The epoch of one end of a chord: at the least ω (side 0) or at the largest (side 1)."""
    low, high, n, logQ = np.inf, -np.inf, 0.0, losses.logQ[x, at]
    for y in range(len(logQ)):
        logQ[y] = 0.0
    for i in range(first, last):
        if senses[i, x] > 0.0:
            low, high = min(low, tilts[i, x]), max(high, tilts[i, x])
    for i in range(first, last):
        upper = (tilts[i, x] - low) / (high - low) if high > low else 0.0
        part = senses[i, x] * (upper if side else 1.0 - upper)
        n += part
        for y in range(len(logQ)):
            logQ[y] += part * Q[i, y]
    losses.tilts[x, at] = (high if side else low) if high >= low else 0.0
    losses.senses[x, at] = n
    for y in range(len(logQ)):
        logQ[y] = math.log(logQ[y] / n) if n > 0.0 else 0.0


class Room(NamedTuple):
    """Arrays to work in."""

    a: Floats  # [y]
    tau: Floats  # [e]
    powers: Floats  # [e, y]
    weights: Floats  # [e]
    logw: Floats  # [y]
    reach: Floats  # [y]
    at_ends: Floats  # [side, x]
    ends: Floats  # [side, x]
    P: Floats  # [x]
    slopes: Floats  # [x]
    rises: Floats  # [x]
    parts: Floats  # [x, y]
    rest: Floats  # [y]
    R: Floats  # [side, y]
    logR: Floats  # [y]
    pulls: Floats  # [2, y]
    reached: Floats  # [side, x, y]


@inner
def copy(source, target):
    """target = source, for vectors."""
    for i in range(len(source)):
        target[i] = source[i]


@inner
def new_room(n_epochs, n_inputs, n_outputs):
    """Space for the rows of one rival."""
    return Room(
        np.zeros(n_outputs),
        np.zeros(n_epochs),
        np.zeros((n_epochs, n_outputs)),
        np.zeros(n_epochs),
        np.zeros(n_outputs),
        np.zeros(n_outputs),
        np.zeros((2, n_inputs)),
        np.zeros((2, n_inputs)),
        np.zeros(n_inputs),
        np.zeros(n_inputs),
        np.zeros(n_inputs),
        np.zeros((n_inputs, n_outputs)),
        np.zeros(n_outputs),
        np.zeros((2, n_outputs)),
        np.zeros(n_outputs),
        np.zeros((2, n_outputs)),
        np.zeros((2, n_inputs, n_outputs)),
    )


@inner
def loss(losses, x, p, logR, logw, room):
    """u_x(p; R), from above; `logw` moves to the row at which it is reached."""
    if p <= 0.0:
        return 0.0
    for y in range(len(room.a)):
        room.a[y] = p * losses.counts[x, y]
    for e in range(len(room.tau)):
        room.tau[e] = p * losses.tilts[x, e]
    bound = row_bound(
        room.a, losses.senses[x], room.tau, losses.logQ[x], p * losses.weight, logR, logw, room.powers, room.weights,
        room.reach, TOLERANCE,
    )  # fmt: skip
    return bound - p * losses.charged[x]


@inner
def climb(losses, P, logW, logR, largest, settled, room):
    """F(P) at a P where it is about largest; P, the rows and R move there. With largest <= 0, P stays."""
    n_inputs, n_outputs = logW.shape
    for x in range(n_inputs):
        room.ends[0, x], room.ends[1, x] = 0.0, min(largest, 1.0)
    for y in range(n_outputs):
        room.rest[y] = room.pulls[0, y] = 0.0
    least, before, part, limit = np.inf, -np.inf, 0.0, np.inf
    for i in range(CLIMBS):
        value = 0.0
        for x in range(n_inputs):
            value += loss(losses, x, P[x], logR, logW[x], room)
            for y in range(n_outputs):
                room.parts[x, y], room.reached[0, x, y] = math.exp(logW[x, y]), room.reach[y]
            room.rises[x] = _rise(losses, x, P[x], logW[x], room)
        if value < least:
            least = value
            copy(logR, room.logR)
        if abs(value - before) < settled:
            break
        before = value
        if largest > 0.0 and i < MOVES:
            copy(P, room.at_ends[0])
            balance(losses.weight, P, room)
            if _distance(P, room.at_ends[0]) > BALANCED:
                least = np.inf  # that was the bound of another P
        part, limit = _pull(P, logR, part, limit, room)
    if least == np.inf:
        return before
    copy(room.logR, logR)
    return least


@inner
def _distance(P, Q):
    """The largest difference of two entries."""
    most = 0.0
    for x in range(len(P)):
        most = max(most, abs(P[x] - Q[x]))
    return most


@inner
def _pull(P, logR, part, limit, room):
    """Move R a part of the way to the output of the rows at which the bounds are reached: the part, and a limit.

    At the best R the two are the same. The rows go where R is small, so that R may go too far; then it goes back to
    about where the pull along the last step vanishes, and no later step is longer than this one. `room.pulls[0]` is
    the last pull.
    """
    total, along, before, square = 0.0, 0.0, 0.0, 0.0
    last, pull = room.pulls[0], room.pulls[1]
    for y in range(len(logR)):
        pull[y] = 1e-300
        for x in range(len(P)):
            pull[y] += P[x] * room.reached[0, x, y]
        total += pull[y]
    for y in range(len(logR)):
        pull[y] = pull[y] / total - math.exp(logR[y])
        along += last[y] * pull[y]
        before += last[y] * last[y]
        square += pull[y] * pull[y]
    if along < 0.0:
        limit = min(max(along / (along - before), LEAST_BACK), MOST_BACK) * part * math.sqrt(before)
    part = min(LARGEST_PART, limit / math.sqrt(square)) if square > 0.0 else 0.0
    for y in range(len(logR)):
        last[y] = pull[y]
        logR[y] = math.log(math.exp(logR[y]) + part * pull[y])
    return part, limit


@inner
def _rise(losses, x, p, logw, room):
    """du_x/dp at the row w = `room.parts[x]` but for the part -S sum_y w_y log R_y of R, after `loss`."""
    rise, w = -losses.charged[x], room.parts[x]
    for y in range(len(logw)):
        rise += (losses.counts[x, y] + losses.weight * w[y]) * logw[y]
    if p > 0.0:
        for e in range(len(room.tau)):
            mean = 0.0
            for y in range(len(logw)):
                mean += w[y] * room.powers[e, y] * (losses.logQ[x, e, y] - logw[y])
            rise += losses.tilts[x, e] * room.weights[e] * mean
    return rise


@inner
def balance(weight, P, room):
    """Move P, within `room.ends`, to the largest value of min_R rises·P - weight sum_y output_y log R_y, returned.

    The output is rest + sum_x (P_x - ends_0x) parts_x, and the best R, `room.R[1]`, is the output, scaled. Steps
    multiply P_x by exp(step slope_x / weight): with the step 1 they always lead up, as in Blahut's and Arimoto's
    algorithm, and with larger ones mostly.
    """
    value, step = -np.inf, 2.0
    _fit(P, room.ends)
    for _ in range(BALANCINGS):
        before, value = value, _output(P, room) * weight
        for x in range(len(P)):
            value += (P[x] - room.ends[0, x]) * room.rises[x]
        step = step * BOLDER if value >= before else max(1.0, 0.5 * step)
        top = _slopes(weight, room)
        for x in range(len(P)):
            room.P[x] = max(P[x], 1e-9) * math.exp(max(step * (room.slopes[x] - top) / weight, -5.0))
        _fit(room.P, room.ends)
        change = 0.0
        for x in range(len(P)):
            change = max(change, abs(room.P[x] - P[x]))
            P[x] = room.P[x]
        if change < BALANCED:
            break
    return value


@inner
def _output(P, room):
    """Fill the output R at P, scaled, and its logarithm, `room.logw`, and return -sum_y output_y log R_y."""
    total, value = 0.0, 0.0
    for y in range(len(room.rest)):
        output = room.rest[y]
        for x in range(len(P)):
            output += (P[x] - room.ends[0, x]) * room.parts[x, y]
        room.R[1, y] = max(output, 1e-300)
        total += room.R[1, y]
    for y in range(len(room.rest)):
        output, room.R[1, y] = room.R[1, y], room.R[1, y] / total
        room.logw[y] = math.log(room.R[1, y])
        value -= output * room.logw[y]
    return value


@inner
def _slopes(weight, room):
    """The slope of the value in every P_x, but for a constant; the largest of them. `room.logw` is log R."""
    top = -np.inf
    for x in range(room.parts.shape[0]):
        slope = room.rises[x]
        for y in range(room.parts.shape[1]):
            slope -= weight * room.parts[x, y] * room.logw[y]
        room.slopes[x] = slope
        top = max(top, slope)
    return top


@inner
def _fit(P, ends):
    """Scale P, cut off at the ends of its box, until it sums to 1.

    The sum is piecewise linear in the factor: that of the present piece is taken, or where it leads out of what is
    known of the factor, one in the middle.
    """
    low, high, factor = LEAST_FACTOR, 1.0 / LEAST_FACTOR, 1.0
    for _ in range(FITTINGS):
        cut, free = 0.0, 0.0
        for x in range(len(P)):
            scaled = P[x] * factor
            if ends[0, x] < scaled < ends[1, x]:
                free += P[x]
            else:
                cut += min(max(scaled, ends[0, x]), ends[1, x])
        missing = 1.0 - cut - factor * free
        if abs(missing) < FITS:
            break
        if missing < 0.0:
            high = factor
        else:
            low = factor
        factor = (1.0 - cut) / free if free > 0.0 else 0.0
        if not low < factor < high:
            factor = math.sqrt(low * high)
    for x in range(len(P)):
        P[x] = min(max(P[x] * factor, ends[0, x]), ends[1, x])
