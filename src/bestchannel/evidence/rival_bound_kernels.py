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
from bestchannel.evidence.rival_row_kernels import row_bound

TOLERANCE = 1e-4
"""Nats by which the bound of a row may exceed the row's largest loss."""

CLIMBS = 60
SETTLED = 1e-4
MIXINGS = 8
"""How often, at most, the R of a box is moved."""

PEELS = (0.6, 0.3, 0.12)
"""How much of the way from a face of the box to P is cut off at a time."""

THIN = 0.02
"""Of an entry of P, by which a face is near enough to it."""

CUT = 0.6
"""How far from a face of its box towards the point where most is lost a box is cut."""


class Losses(NamedTuple):
    """The bets on a rival's senses: what was counted, and under which tilts and output distributions."""

    counts: Floats  # [x, y] n̄: every sense weighted with its ω
    charged: Floats  # [x] c: the sum over the senses of ω log Q
    senses: Floats  # [x, e]
    tilts: Floats  # [x, e] ω
    logQ: Floats  # [x, e, y]
    weight: float  # S


class CoveringBoxes(NamedTuple):
    """CoveringBoxes of input distributions, each with its R and the rows at its ends."""

    ends: Floats  # [box, side, x]
    logR: Floats  # [box, y]
    logw: Floats  # [box, side, x, y]
    bound: Floats  # [box]


class Room(NamedTuple):
    """Arrays to work in."""

    a: Floats  # [y]
    tau: Floats  # [e]
    powers: Floats  # [e, y]
    weights: Floats  # [e]
    at_ends: Floats  # [side, x]
    P: Floats  # [x]
    R: Floats  # [y]
    slopes: Floats  # [x]
    logw: Floats  # [y]


@inner
def _new_boxes(most, n_inputs, n_outputs):
    return CoveringBoxes(
        np.zeros((most, 2, n_inputs)),
        np.zeros((most, n_outputs)),
        np.zeros((most, 2, n_inputs, n_outputs)),
        np.zeros(most),
    )


@inner
def new_room(n_epochs, n_inputs, n_outputs):
    """Space for the rows of one rival."""
    return Room(
        np.zeros(n_outputs),
        np.zeros(n_epochs),
        np.zeros((n_epochs, n_outputs)),
        np.zeros(n_epochs),
        np.zeros((2, n_inputs)),
        np.zeros(n_inputs),
        np.zeros(n_outputs),
        np.zeros(n_inputs),
        np.zeros(n_outputs),
    )


@inner
def _loss(losses, x, p, logR, logw, room):
    """u_x(p; R), from above; `logw` moves to the row at which it is reached."""
    if p <= 0.0:
        return 0.0
    for y in range(len(room.a)):
        room.a[y] = p * losses.counts[x, y]
    for e in range(len(room.tau)):
        room.tau[e] = p * losses.tilts[x, e]
    bound = row_bound(
        room.a, losses.senses[x], room.tau, losses.logQ[x], p * losses.weight, logR, logw, room.powers, room.weights,
        TOLERANCE,
    )  # fmt: skip
    return bound - p * losses.charged[x]


# --- where most is lost ------------------------------------------------------------------------------------


@inner
def climb(losses, P, logW, logR, largest, settled, room):
    """F(P) at a P where it is about largest; P, the rows and R move there. With largest <= 0, P stays."""
    n_inputs, n_outputs = logW.shape
    before = -np.inf
    for step in range(CLIMBS):
        value = 0.0
        room.R[:] = 0.0
        for x in range(n_inputs):
            value += _loss(losses, x, P[x], logR, logW[x], room)
            for y in range(n_outputs):
                room.R[y] += P[x] * math.exp(logW[x, y])
            room.slopes[x] = _derivative(losses, x, P[x], logR, logW[x], room)
        change = _move(P, room.slopes, losses.weight, largest) if largest > 0.0 else 0.0
        for y in range(n_outputs):
            new = math.log(0.5 * (room.R[y] + math.exp(logR[y])))  # undamped it oscillates
            change = max(change, abs(new - logR[y]))
            logR[y] = new
        if change < settled or (step > 3 and abs(value - before) < settled):
            break
        before = value
    value = 0.0
    for x in range(n_inputs):
        value += _loss(losses, x, P[x], logR, logW[x], room)
    return value


@inner
def _derivative(losses, x, p, logR, logw, room):
    """du_x/dp at the row w, by the envelope theorem; `room` is as `_loss` left it."""
    slope = -losses.charged[x]
    for y in range(len(logw)):
        slope += losses.counts[x, y] * logw[y] + losses.weight * math.exp(logw[y]) * (logw[y] - logR[y])
    if p > 0.0:
        for e in range(len(room.tau)):
            mean = 0.0
            for y in range(len(logw)):
                mean += math.exp(logw[y]) * room.powers[e, y] * (losses.logQ[x, e, y] - logw[y])
            slope += losses.tilts[x, e] * room.weights[e] * mean
    return slope


@inner
def _move(P, slopes, weight, largest):
    """A multiplicative step of P up the slopes, within the largest entry allowed; how far it went."""
    top = slopes[0]
    for x in range(len(P)):
        top = max(top, slopes[x])
    total = 0.0
    for x in range(len(P)):
        slopes[x] = max(P[x], 1e-12) * math.exp(max((slopes[x] - top) / weight, -5.0))
        total += slopes[x]
    for x in range(len(P)):
        slopes[x] /= total
    _cap(slopes, largest)
    change = 0.0
    for x in range(len(P)):
        change = max(change, abs(slopes[x] - P[x]))
        P[x] = slopes[x]
    return change


@inner
def _cap(P, largest):
    """Cut the one entry that exceeds the largest, and share what is cut off among the others."""
    for x in range(len(P)):
        if P[x] > largest:
            rest = 1.0 - P[x]
            for other in range(len(P)):
                if other != x:
                    P[other] *= (1.0 - largest) / max(rest, 1e-300)
            P[x] = largest


# --- nowhere is more lost ----------------------------------------------------------------------------------


@inner
def _search(losses, P, logW, logR, largest, target, boxes, room):
    """An upper bound of F over all P, at most `target` where that can be shown.

    P is where F is about largest. What is far from it is cut off first; the rest is divided. Where nothing can be
    shown, P, the rows and R move to the box with the largest bound.
    """
    boxes.ends[0, 0], boxes.ends[0, 1] = 0.0, min(largest, 1.0)
    boxes.logw[0, 0], boxes.logw[0, 1] = logW, logW
    boxes.logR[0] = logR
    _bound_box(losses, boxes, 0, target, room)
    _peel(losses, P, target, boxes, room)
    used = 1
    while True:
        worst = 0
        for box in range(1, used):
            if boxes.bound[box] > boxes.bound[worst]:
                worst = box
        if not boxes.bound[worst] > target:
            return boxes.bound[worst]
        if used == len(boxes.bound):
            _go_to(boxes, worst, P, logW, logR)
            return boxes.bound[worst]
        x, cut = _cut(losses, boxes, worst, P, room)
        _copy(boxes, worst, used)
        boxes.ends[worst, 1, x] = boxes.ends[used, 0, x] = cut
        before = boxes.bound[worst]
        for box in (worst, used):
            _bound_box(losses, boxes, box, target, room)
            boxes.bound[box] = min(boxes.bound[box], before)
        used += 1


@inner
def _peel(losses, P, target, boxes, room):
    """Shrink the first box: slabs at its faces in which at most `target` is lost are cut off, ever thinner ones."""
    for part in PEELS:
        going_on = True
        while going_on and boxes.bound[0] > target:
            going_on = False
            for x in range(len(P)):
                for side in range(2):
                    face = boxes.ends[0, side, x]
                    if abs(P[x] - face) > THIN * max(P[x], THIN):
                        cut = face + part * (P[x] - face)
                        _copy(boxes, 0, 1)
                        boxes.ends[1, 1 - side, x] = cut
                        _bound_box(losses, boxes, 1, target, room)
                        if boxes.bound[1] <= target:
                            boxes.ends[0, side, x] = cut
                            going_on = True
            if going_on:
                _bound_box(losses, boxes, 0, target, room)


@inner
def _copy(boxes, box, to):
    """Make one box like another."""
    boxes.ends[to] = boxes.ends[box]
    boxes.logw[to] = boxes.logw[box]
    boxes.logR[to] = boxes.logR[box]


@inner
def _go_to(boxes, box, P, logW, logR):
    """Move P, the rows and R to the middle of a box."""
    total = 0.0
    for x in range(len(P)):
        P[x] = 0.5 * (boxes.ends[box, 0, x] + boxes.ends[box, 1, x])
        total += P[x]
    for x in range(len(P)):
        P[x] /= total
    logW[:] = boxes.logw[box, 1]
    logR[:] = boxes.logR[box]


@inner
def _bound_box(losses, boxes, box, target, room):
    """Bound F on one box; R moves to where the bound is least."""
    ends, logR, logw = boxes.ends[box], boxes.logR[box], boxes.logw[box]
    n_inputs, n_outputs = logw.shape[1:]
    best = np.inf
    if not _tighten(ends):
        boxes.bound[box] = -np.inf
        return
    for _ in range(MIXINGS):
        for side in range(2):
            for x in range(n_inputs):
                room.at_ends[side, x] = _loss(losses, x, ends[side, x], logR, logw[side, x], room)
        value = _knapsack(ends, room)
        improved = best - value
        best = min(best, value)
        if best <= target or improved < 0.01 * (best - target):
            break
        room.R[:] = 0.0
        for x in range(n_inputs):
            width = ends[1, x] - ends[0, x]
            upper = (room.P[x] - ends[0, x]) / width if width > 0.0 else 0.0
            for y in range(n_outputs):
                room.R[y] += (1.0 - upper) * ends[0, x] * math.exp(logw[0, x, y])
                room.R[y] += upper * ends[1, x] * math.exp(logw[1, x, y])
        for y in range(n_outputs):
            logR[y] = math.log(0.5 * (room.R[y] + math.exp(logR[y])))
    boxes.bound[box] = best


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
def _cut(losses, boxes, box, P, room):
    """Where to cut a box: at the input whose chord is furthest above u_x at P, or in its middle where P is outside."""
    ends, logR, logw = boxes.ends[box], boxes.logR[box], boxes.logw[box]
    n_inputs = len(P)
    for side in range(2):
        for x in range(n_inputs):
            room.at_ends[side, x] = _loss(losses, x, ends[side, x], logR, logw[side, x], room)
    widest, where, most = 0, 0.5 * (ends[0, 0] + ends[1, 0]), -1.0
    for x in range(n_inputs):
        low, high = ends[0, x], ends[1, x]
        width = high - low
        if width <= 1e-9:
            continue
        middle = P[x] if low + 0.02 * width < P[x] < high - 0.02 * width else 0.5 * (low + high)
        room.logw[:] = logw[1, x]
        chord = room.at_ends[0, x] + (middle - low) / width * (room.at_ends[1, x] - room.at_ends[0, x])
        gap = chord - _loss(losses, x, middle, logR, room.logw, room)
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

MATRIX, VECTOR, CUBE = "float64[:, ::1]", "float64[::1]", "float64[:, :, ::1]"
LOSSES = f"{MATRIX}, {VECTOR}, {MATRIX}, {MATRIX}, {CUBE}, float64"


@entry(f"float64({LOSSES}, {VECTOR}, {MATRIX}, {VECTOR}, float64)")
def climbed(counts, charged, senses, tilts, logQ, weight, P, logW, logR, largest):
    """F(P) at a P where it is about largest; P, logW and logR move there. With largest <= 0, P stays."""
    room = new_room(senses.shape[1], *logW.shape)
    return climb(Losses(counts, charged, senses, tilts, logQ, weight), P, logW, logR, largest, SETTLED, room)


@entry(f"float64({LOSSES}, {VECTOR}, {MATRIX}, {VECTOR}, float64, float64, int64)")
def bounded(counts, charged, senses, tilts, logQ, weight, P, logW, logR, largest, target, most_boxes):
    """An upper bound of F over all P, at most `target` where that can be shown by so many boxes."""
    room, boxes = new_room(senses.shape[1], *logW.shape), _new_boxes(most_boxes, *logW.shape)
    losses = Losses(counts, charged, senses, tilts, logQ, weight)
    return _search(losses, P, logW, logR, largest, target, boxes, room)


@inner
def _merge(senses, tilts, Q, side, at, into_senses, into_tilts, into_Q):
    """The epoch of one end of a chord: at the least ω (side 0) or at the largest (side 1)."""
    low, high = np.inf, -np.inf
    for i in range(len(senses)):
        if senses[i] > 0.0:
            low, high = min(low, tilts[i]), max(high, tilts[i])
    into_tilts[at] = (high if side else low) if high >= low else 0.0
    into_senses[at], into_Q[at] = 0.0, 0.0
    for i in range(len(senses)):
        upper = (tilts[i] - low) / (high - low) if high > low else 0.0
        part = senses[i] * (upper if side else 1.0 - upper)
        into_senses[at] += part
        for y in range(Q.shape[1]):
            into_Q[at, y] += part * Q[i, y]
    for y in range(Q.shape[1]):
        into_Q[at, y] = into_Q[at, y] / into_senses[at] if into_senses[at] > 0.0 else 1.0


@entry(f"void({MATRIX}, {MATRIX}, {MATRIX}, {MATRIX}, {MATRIX}, {CUBE})")
def merged(senses, tilts, Q, into_senses, into_tilts, into_Q):
    """Fewer epochs that lose at least as much, [x, e] and [x, e, y], from those of requests [i, x] and [i, y].

    log z is convex in ω, so that it is at most its chord between the least and the largest ω of a group of requests;
    and z is concave in Q, so that at each of the two the mean of Q serves for all. Requests are grouped in their order,
    the groups about equal in senses.
    """
    groups = into_senses.shape[1] // 2
    total, so_far, first = senses.sum(), 0.0, 0
    for group in range(groups):
        last = first
        while last < len(senses) and (group == groups - 1 or so_far < total * (group + 1) / groups):
            so_far += senses[last].sum()
            last += 1
        for x in range(senses.shape[1]):
            for side in range(2):
                at = 2 * group + side
                _merge(
                    senses[first:last, x],
                    tilts[first:last, x],
                    Q[first:last],
                    side,
                    at,
                    into_senses[x],
                    into_tilts[x],
                    into_Q[x],
                )
        first = last
