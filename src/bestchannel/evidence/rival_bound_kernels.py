# mypy: ignore-errors
"""What the bets against a rival can lose on its own senses at most, over all its rows and inputs, compiled.

F(P) = min_R sum_x u_x(P_x; R), with u_x the bound of a row (`rival_row_kernels`), is bounded from above over all P of
the simplex without an entry above `largest`, by branch and bound over boxes. On a box one R serves all P, u_x is
convex in P_x and so at most its chord, and the largest sum of chords is a fractional knapsack.
docs/theory/adaptive.md, "All inputs".
"""

import math
from typing import NamedTuple

import numpy as np

from bestchannel.arrays import Floats
from bestchannel.compiled import entry, inner
from bestchannel.evidence.rival_loss_kernels import balance, climb, copy, loss, losses_of, new_room

SETTLED = 1e-3
SWEEPS = 6
"""How often, at most, the rows at the ends of a box are computed, each time for another R."""

FIRST_PART, LATER_PART = 0.6, 0.4
"""How much of the way to the R that is best for the present rows is gone; and of that, where it led up."""

WORTH_IT = 0.05
"""Of what a bound is too large, by which it has to fall to be looked at again."""

TOWARDS_KNAPSACK = 0.3
"""How far P goes to the solution of the knapsack before it is balanced."""

CUT = 0.6
"""How far from a face of its box towards the point where most is lost a box is cut."""


class CoveringBoxes(NamedTuple):
    """Boxes of input distributions, each with its R, the rows at its ends and the P where most is lost."""

    ends: Floats  # [box, side, x]
    logR: Floats  # [box, y]
    logw: Floats  # [box, side, x, y]
    P: Floats  # [box, x]
    bound: Floats  # [box]


@inner
def _new_boxes(most, n_inputs, n_outputs):
    return CoveringBoxes(
        np.zeros((most, 2, n_inputs)),
        np.zeros((most, n_outputs)),
        np.zeros((most, 2, n_inputs, n_outputs)),
        np.zeros((most, n_inputs)),
        np.zeros(most),
    )


@inner
def _search(losses, P, logW, logR, largest, target, boxes, room):
    """An upper bound of F over all P, at most `target` where that can be shown.

    P is where F is about largest. Where nothing can be shown, P, the rows and R move to the box with the largest bound.
    """
    _first_box(boxes, P, logW, logR, largest)
    _bound_box(losses, boxes, 0, target, room)
    used = 1
    while True:
        worst = 0
        for box in range(1, used):
            if boxes.bound[box] > boxes.bound[worst]:
                worst = box
        if not boxes.bound[worst] > target:
            return boxes.bound[worst]
        if used == len(boxes.bound):
            copy(boxes.P[worst], P)
            copy(boxes.logR[worst], logR)
            for z in range(len(P)):
                copy(boxes.logw[worst, 1, z], logW[z])
            return boxes.bound[worst]
        x, cut = _cut(losses, boxes, worst, room)
        _copy_box(boxes, worst, used)
        boxes.ends[worst, 1, x] = boxes.ends[used, 0, x] = cut
        before = boxes.bound[worst]
        for box in (worst, used):
            _bound_box(losses, boxes, box, target, room)
            boxes.bound[box] = min(boxes.bound[box], before)
        used += 1


@inner
def _first_box(boxes, P, logW, logR, largest):
    """All input distributions without an entry above `largest`."""
    copy(logR, boxes.logR[0])
    copy(P, boxes.P[0])
    for x in range(len(P)):
        boxes.ends[0, 0, x], boxes.ends[0, 1, x] = 0.0, min(largest, 1.0)
        for side in range(2):
            copy(logW[x], boxes.logw[0, side, x])


@inner
def _copy_box(boxes, box, to):
    """One box in the place of another."""
    copy(boxes.logR[box], boxes.logR[to])
    copy(boxes.P[box], boxes.P[to])
    for side in range(2):
        copy(boxes.ends[box, side], boxes.ends[to, side])
        for x in range(boxes.P.shape[1]):
            copy(boxes.logw[box, side, x], boxes.logw[to, side, x])


@inner
def _bound_box(losses, boxes, box, target, room):
    """Bound F on one box; R moves to where the bound is least, as far as the target demands and allows.

    With the rows as they are the best R belongs to a saddle point that is found at once (`_saddle`); for it the
    rows are computed anew. Where the bound grows, since the rows have moved far, R goes a part of the way only.
    """
    ends, logR, logw, P = boxes.ends[box], boxes.logR[box], boxes.logw[box], boxes.P[box]
    boxes.bound[box] = -np.inf
    if not _tighten(ends):
        return
    best, saddle, part = np.inf, -np.inf, FIRST_PART
    for _ in range(SWEEPS):
        _fill_ends(losses, ends, logR, logw, room)
        value = _knapsack(ends, room)
        if value < best:
            worth_it = best - value > WORTH_IT * (value - target)
            best = value
            if best <= target or saddle > target or not worth_it:
                break
            for y in range(len(logR)):
                room.R[0, y] = math.exp(logR[y])
            saddle = _saddle(losses.weight, ends, logR, P, room)
        else:
            part *= LATER_PART
        for y in range(len(logR)):
            logR[y] = math.log((1.0 - part) * room.R[0, y] + part * room.R[1, y])
    boxes.bound[box] = best


@inner
def _fill_ends(losses, ends, logR, logw, room):
    """u_x at both ends of every input, and p v there, with v where the bound of the row is reached."""
    for side in range(2):
        for x in range(ends.shape[1]):
            room.at_ends[side, x] = loss(losses, x, ends[side, x], logR, logw[side, x], room)
            for y in range(len(logR)):
                room.reached[side, x, y] = ends[side, x] * room.reach[y]


@inner
def _saddle(weight, ends, logR, P, room):
    """The least sum of chords over all R, largest in P, with the rows as they are, from below; P moves there.

    The output at that P, which is the best R, is left in `room.R[1]`.
    """
    n_inputs, n_outputs = room.parts.shape
    constant = 0.0
    for y in range(n_outputs):
        room.rest[y] = 0.0
    for x in range(n_inputs):
        room.ends[0, x], room.ends[1, x] = ends[0, x], ends[1, x]
        P[x] += TOWARDS_KNAPSACK * (room.P[x] - P[x])
        low, high = ends[0, x], ends[1, x]
        width = max(high - low, 1e-12)
        lower, upper = room.at_ends[0, x], room.at_ends[1, x]
        for y in range(n_outputs):
            at_low, at_high = room.reached[0, x, y], room.reached[1, x, y]
            lower += weight * at_low * logR[y]
            upper += weight * at_high * logR[y]
            room.parts[x, y] = (at_high - at_low) / width
            room.rest[y] += at_low
        constant += lower
        room.rises[x] = (upper - lower) / width
    return constant + balance(weight, P, room)


@inner
def _tighten(ends):
    """Shrink the box to what the simplex leaves of it; whether anything is left."""
    low, high = 0.0, 0.0
    for x in range(ends.shape[1]):
        low += ends[0, x]
        high += ends[1, x]
    if low > 1.0 + 1e-12 or high < 1.0 - 1e-12:
        return False
    for x in range(ends.shape[1]):
        least, most = 1.0 - (high - ends[1, x]), 1.0 - (low - ends[0, x])
        ends[0, x], ends[1, x] = max(ends[0, x], least), min(ends[1, x], most)
    return True


@inner
def _knapsack(ends, room):
    """The largest sum of chords over the P of the box, which is left in `room.P`."""
    n_inputs = ends.shape[1]
    value, left = 0.0, 1.0
    for x in range(n_inputs):
        value += room.at_ends[0, x]
        left -= ends[0, x]
        room.P[x] = ends[0, x]
        width = ends[1, x] - ends[0, x]
        room.slopes[x] = (room.at_ends[1, x] - room.at_ends[0, x]) / width if width > 0.0 else -np.inf
    for _ in range(n_inputs):
        steepest = 0
        for x in range(n_inputs):
            if room.slopes[x] > room.slopes[steepest]:
                steepest = x
        if left <= 0.0 or room.slopes[steepest] == -np.inf:
            break
        part = min(left, ends[1, steepest] - ends[0, steepest])
        value += part * room.slopes[steepest]
        room.P[steepest] += part
        left -= part
        room.slopes[steepest] = -np.inf
    return value


@inner
def _cut(losses, boxes, box, room):
    """Which input to cut a box at, and where: that whose chord is furthest above u_x at P, or in the middle."""
    ends, logR, logw, P = boxes.ends[box], boxes.logR[box], boxes.logw[box], boxes.P[box]
    _fill_ends(losses, ends, logR, logw, room)
    widest, where, most = 0, 0.5 * (ends[0, 0] + ends[1, 0]), -1.0
    for x in range(len(P)):
        low, high = ends[0, x], ends[1, x]
        width = high - low
        if width <= 1e-9:
            continue
        middle = P[x] if low + 0.02 * width < P[x] < high - 0.02 * width else 0.5 * (low + high)
        copy(logw[1, x], room.logw)
        chord = room.at_ends[0, x] + (middle - low) / width * (room.at_ends[1, x] - room.at_ends[0, x])
        gap = chord - loss(losses, x, middle, logR, room.logw, room)
        if gap > most:
            widest, most = x, gap
            if middle != P[x]:
                where = middle
            elif middle - low > high - middle:
                where = low + CUT * (middle - low)
            else:
                where = high - CUT * (high - middle)
    return widest, where


# --- called from Python --------------------------------------------------------------------------------------

STACK, MATRIX, VECTOR = "float64[:, :, ::1]", "float64[:, ::1]", "float64[::1]"
BETS = f"{MATRIX}, {VECTOR}, {MATRIX}, {MATRIX}, {MATRIX}, float64, int64"
"""counts [x, y], charged [x], senses [i, x], tilts [i, x] and Q [i, y] of every request, S, and the groups to merge."""


@entry(f"float64({BETS}, {VECTOR}, {MATRIX}, {VECTOR}, float64)")
def climbed(counts, charged, senses, tilts, Q, weight, groups, P, logW, logR, largest):
    """F(P) at a P where it is about largest; P, logW and logR move there. With largest <= 0, P stays."""
    losses = losses_of(counts, charged, senses, tilts, Q, weight, groups)
    room = new_room(losses.senses.shape[1], *logW.shape)
    return climb(losses, P, logW, logR, largest, SETTLED, room)


@entry(f"float64({BETS}, {VECTOR}, {MATRIX}, {VECTOR}, float64, float64, int64)")
def bounded(counts, charged, senses, tilts, Q, weight, groups, P, logW, logR, largest, target, most_boxes):
    """An upper bound of F over all P, at most `target` where that can be shown by so many boxes."""
    losses = losses_of(counts, charged, senses, tilts, Q, weight, groups)
    room, boxes = new_room(losses.senses.shape[1], *logW.shape), _new_boxes(most_boxes, *logW.shape)
    return _search(losses, P, logW, logR, largest, target, boxes, room)
