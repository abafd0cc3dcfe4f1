"""The rival's part of the evidence: what bets on its senses prove, whatever its rows and its optimal inputs are.

With u_x as in `rival_rows`, and C(W) = I(P; W) <= sum_x P_x D(W_x‖R) for any R, the bets have brought at least
-max_P sum_x u_x(P_x; R) nats, the maximum over all P that can be optimal. Different sets of P may have different R.

u_x is convex in P_x, so on a box low <= P <= high it lies below its chord, and the largest sum of chords over the P of
a box is a fractional knapsack. Boxes whose bound is not good enough are halved, until all are proved or one is too
narrow to become better.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bestchannel.verification import rival_rows
from bestchannel.verification.record import Floats, Integers
from bestchannel.verification.rival_rows import Profile, Rows, SensedRival
from bestchannel.verification.row_cells import careful_upper

LARGEST = 1.0 - math.exp(-1.0)
"""No input of an optimal distribution is more probable, where the capacity is not 0 [MR91, SF04]."""

SHELL = 1.3
"""At first, the most probable input has a probability within such a factor."""

NARROW = 0.002
SPARE = 1e-12
"""By which the sum of P may differ from 1, so that rounding loses no P between boxes."""

MOST_BOXES = 100_000
AT_ONCE = 1_500_000
"""Numbers [row, request, letter] that are computed at once."""

MOVES = 6
SETTLING = 3
"""Steps in which R and rows improve in turns, and further ones of the rows alone."""

FIRST_LIFT, LIFTS = 0.3, 10
"""How far R goes, and how often, where bounds of rows exceed their values."""

LEAST_BACK, MOST_BACK = 0.25, 0.75
"""Between which parts of its last step R goes back where that was too long."""

AT_A_POINT = 40
"""Such steps, of either kind, where one input distribution, or next to none beside it, is all there is."""

CLIMBING = 15
BALANCING = 12
"""Steps of R for given rows."""

ROUNDING = 1e-13
"""Relative to the sum of all terms without their signs, by which a bound is raised."""

Place = tuple[NDArray[np.signedinteger], ...]
"""Box, end and input of some rows."""


@dataclass(frozen=True)
class InputBoxes:
    """Input distributions with low <= P <= high, box by box, and where the search for a good bound stands."""

    low: Floats  # [box, x]
    high: Floats  # [box, x]
    log_R: Floats  # [box, y]
    log_w: Floats  # [box, end, x, y] rows that are good for the rival at both ends

    def __len__(self) -> int:
        return len(self.low)

    def part(self, chosen: slice | Integers) -> InputBoxes:
        """Some of them."""
        return InputBoxes(*(field[chosen] for field in vars(self).values()))

    def with_(self, others: InputBoxes) -> InputBoxes:
        """These and others."""
        pairs = zip(vars(self).values(), vars(others).values(), strict=True)
        return InputBoxes(*(np.concatenate(pair) for pair in pairs))


def exceeds(rival: SensedRival, fixed: Floats | None, needed: float) -> bool:
    """Whether the rival's part is proved to be at least `needed` nats, at a fixed input distribution or at any."""
    if not (rival.senses * rival.tilts).any():
        return -rival.weight * _largest_value(rival, fixed) >= needed
    if fixed is None:
        return _proved(rival, beginning(rival, *shells(len(rival.counts))), needed)
    P = (fixed / fixed.sum())[None]
    point, _, bound = bounded(rival, beginning(rival, P, P), needed, AT_A_POINT)
    return bool(_lifted(rival, point, bound, needed, AT_A_POINT)[0] <= -needed)


def least_found(rival: SensedRival, fixed: Floats | None) -> float:
    """The rival's part at the input distribution and rows that are worst for the bets, as far as a search finds them.

    Nothing larger can be proved.
    """
    if not (rival.senses * rival.tilts).any():
        return -rival.weight * _largest_value(rival, fixed)
    n_inputs = len(rival.counts)
    P = 0.8 / n_inputs + 0.2 * np.eye(n_inputs) if fixed is None else (fixed / fixed.sum())[None]
    points, _, _ = bounded(rival, beginning(rival, P, P), math.inf, AT_A_POINT)
    return -float((payoffs(rival, points) if fixed is not None else _climbed(rival, points)).max())


def _climbed(rival: SensedRival, points: InputBoxes) -> Floats:
    """Larger payoffs than those at some points, from steps to the best neighbour in a box that shrinks."""
    reached, radius = payoffs(rival, points), np.full((len(points), 1), 0.2)
    for _ in range(CLIMBING):
        near = np.maximum(points.low - radius, 0.0), np.minimum(points.low + radius, LARGEST)
        _, P, _ = bounded(rival, InputBoxes(*near, points.log_R, points.log_w), math.inf, 0)
        trial, _, _ = bounded(rival, InputBoxes(P, P, points.log_R, points.log_w), math.inf)
        better = payoffs(rival, trial) > reached
        points = points.with_(trial).part(np.arange(len(better)) + np.where(better, len(better), 0))
        reached, radius = payoffs(rival, points), np.where(better[:, None], radius, 0.5 * radius)
    return reached


def payoffs(rival: SensedRival, points: InputBoxes) -> Floats:
    """What speaks against the bets if a point of each box and its rows are the truth: R is their output."""
    P, W = points.high, np.exp(points.log_w[:, 1])
    box, x = np.nonzero(P > 0.0)
    rows = Rows.of(rival, x, P[box, x], np.log(P[:, None, :] @ W)[box, 0])
    each = np.zeros(P.shape)
    each[box, x] = rival_rows.value(rows, rival_rows.profile(rows, points.log_w[box, 1, x]))
    return each.sum(axis=1)


def _largest_value(rival: SensedRival, fixed: Floats | None) -> float:
    """That of a noiseless channel: all that is known of a rival without bets on its senses."""
    n_inputs, n_outputs = rival.counts.shape
    if fixed is None:
        return math.log(min(n_inputs, n_outputs))
    used = fixed[fixed > 0.0]
    return min(float(-(used * np.log(used)).sum()), math.log(n_outputs))


def shells(n_inputs: int) -> tuple[Floats, Floats]:
    """Boxes that hold all P: input m is the most probable one, with a probability in [a, b]."""
    ends, least = [LARGEST], (1.0 - SPARE) / n_inputs
    while ends[-1] > least:
        ends.append(max(ends[-1] / SHELL, least))
    low = np.concatenate([a * np.eye(n_inputs) for a in ends[1:]])
    high = np.repeat(ends[:-1], n_inputs)[:, None] * np.ones(n_inputs)
    return low, high


def beginning(rival: SensedRival, low: Floats, high: Floats) -> InputBoxes:
    """Boxes with rows near the rival's counts."""
    smooth = rival.counts + 0.05 * rival.counts.mean(axis=1, keepdims=True) + 1e-9
    W = smooth / smooth.sum(axis=1, keepdims=True)
    low, high = _reachable(low, high)
    P = (low + high) / (low + high).sum(axis=1, keepdims=True)
    return InputBoxes(low, high, np.log(P @ W), np.tile(np.log(W), (len(low), 2, 1, 1)))


def _reachable(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """The ends that distributions can reach."""
    least = np.maximum(low, 1.0 - SPARE - (high.sum(axis=1, keepdims=True) - high))
    return least, np.minimum(high, 1.0 + SPARE - (low.sum(axis=1, keepdims=True) - low))


def _proved(rival: SensedRival, boxes: InputBoxes, needed: float) -> bool:
    at_once = max(1, AT_ONCE // (2 * rival.senses.size * rival.counts.shape[1]))
    spent = 0
    while len(boxes):
        batch, boxes = boxes.part(slice(at_once)), boxes.part(slice(at_once, None))
        batch, _, bounds = bounded(rival, batch, needed)
        bounds = _lifted(rival, batch, bounds, needed)
        left = batch.part(np.flatnonzero(~(bounds <= -needed)))
        spent += len(batch)
        narrow = (left.high - left.low <= NARROW).all(axis=1)
        if spent > MOST_BOXES or (narrow.any() and not _proved_alone(rival, left.part(np.flatnonzero(narrow)), needed)):
            return False
        left = left.part(np.flatnonzero(~narrow))
        boxes = _halves(left).with_(boxes)
    return True


def _proved_alone(rival: SensedRival, boxes: InputBoxes, needed: float) -> bool:
    """Whether boxes are proved that are too narrow to become better by halving."""
    boxes, _, bounds = bounded(rival, boxes, needed, AT_A_POINT)
    return bool((_lifted(rival, boxes, bounds, needed, AT_A_POINT) <= -needed).all())


def bounded(
    rival: SensedRival, boxes: InputBoxes, needed: float, moves: int = MOVES
) -> tuple[InputBoxes, Floats, Floats]:
    """The boxes with better R and rows, the P of each that is worst for the bets, and an upper bound of the sum of u.

    Where even the rows that were found exceed `-needed`, their value stands for the bound: no proof is possible.
    """
    ends = np.stack([boxes.low, boxes.high], axis=1)
    place = np.nonzero(ends > 0.0)  # u(0) = 0
    boxes, rows, at = _improved(rival, boxes, ends, place, moves)
    u = np.zeros(ends.shape)
    u[place] = rival_rows.value(rows, at)
    _, sums = knapsack(boxes, u)
    worth = np.flatnonzero((sums <= -needed)[place[0]])
    slack = np.maximum(-needed - sums, 1e-3)
    allowed = 0.99 * slack / np.bincount(place[0], minlength=len(boxes))
    box = place[0][worth]
    chosen = tuple(index[worth] for index in place)
    u[chosen] = upper(rows.part(worth), at.part(worth), allowed[box], slack[box])
    return boxes, *knapsack(boxes, u)


def upper(rows: Rows, at: Profile, allowed: Floats, slack: Floats) -> Floats:
    """Upper bounds of u: the quick ones, and the careful ones where these may lose more than is allowed."""
    bounds = rival_rows.quick_upper(rows, at)
    poor = np.flatnonzero(~(bounds <= rival_rows.value(rows, at) + allowed))
    if len(poor):
        careful = careful_upper(rows.part(poor), at.part(poor), allowed[poor], slack[poor])
        bounds[poor] = np.fmin(bounds[poor], careful)
    return bounds + ROUNDING * _size(rows, at)


def _size(rows: Rows, at: Profile) -> Floats:
    """The sum of all terms of a bound, without their signs."""
    own = (rows.counts * np.abs(at.log_v)).sum(axis=1) + (rows.senses * (2.0 + np.abs(np.log(at.z)))).sum(axis=1)
    return own + np.abs(rows.offsets) + rows.pull * np.abs(rows.log_R).max(axis=1)


def _improved(
    rival: SensedRival, boxes: InputBoxes, ends: Floats, place: Place, moves: int
) -> tuple[InputBoxes, Rows, Profile]:
    """R and rows moved in turns towards the least bound; and φ at the last rows."""
    box, _, x = place
    p, log_R, log_w = ends[place], boxes.log_R, boxes.log_w[place]
    u, parts = np.zeros(ends.shape), np.zeros(boxes.log_w.shape)
    for move in range(moves + SETTLING):
        rows = Rows.of(rival, x, p, log_R[box])
        at = rival_rows.profile(rows, log_w)
        if move < moves:
            u[place], parts[place] = rival_rows.value(rows, at), p[:, None] * np.exp(log_w)
            log_R = _balanced(rival.weight, boxes, u, parts, log_R, 2.0 + 0.5 * BALANCING * move)
        log_w = rival_rows.climbed(at)
    every = boxes.log_w.copy()
    every[place] = log_w
    rows = Rows.of(rival, x, p, log_R[box])
    return InputBoxes(boxes.low, boxes.high, log_R, every), rows, rival_rows.profile(rows, log_w)


def _balanced(weight: float, boxes: InputBoxes, u: Floats, parts: Floats, log_R: Floats, count: float) -> Floats:
    """log R at which the knapsack is smaller, with the rows as they are: `parts` are p w.

    The knapsack is convex in log R, and least where R is a mean of the outputs PW that its solutions lead to; R moves
    towards each of them by the share of one in `count`, which grows.
    """
    apart = u + weight * (parts @ log_R[:, None, :, None])[..., 0]
    R = np.exp(log_R)
    for step in range(BALANCING):
        P, _ = knapsack(boxes, apart - weight * (parts @ np.log(R)[:, None, :, None])[..., 0])
        R = R + (_output(boxes, P, parts) - R) / (count + step)
    return np.log(R / R.sum(axis=1, keepdims=True))


def _output(boxes: InputBoxes, P: Floats, parts: Floats) -> Floats:
    """What the chords of `parts`, given at the ends, come to at P."""
    width = boxes.high - boxes.low
    share = (P - boxes.low) / np.where(width > 0.0, width, 1.0)
    return ((1.0 - share)[:, None, :] @ parts[:, 0] + share[:, None, :] @ parts[:, 1])[:, 0]


def _lifted(rival: SensedRival, boxes: InputBoxes, bounds: Floats, needed: float, lifts: int = LIFTS) -> Floats:
    """The bounds, where they prove too little with an R that is better where bounds of rows exceed all their values.

    There a letter's φ is largest at 1, and the derivative of the bound in log R_y is -S p v with v = 1, not w. R goes a
    part of the way to where that leads. Where it went too far it goes back, and no later step is longer than that.
    """
    lifted, left = bounds.copy(), np.flatnonzero(~(bounds <= -needed))
    boxes = boxes.part(left)
    last, part, limit = np.zeros(boxes.log_R.shape), np.zeros((len(left), 1)), np.full((len(left), 1), np.inf)
    for _ in range(lifts):
        if not len(left):
            break
        R = np.exp(boxes.log_R)
        pull = _lifting(rival, boxes) - R
        along, before = _sums(last * pull), _sums(last**2)
        back = np.clip(along / np.minimum(along - before, -1e-300), LEAST_BACK, MOST_BACK)
        limit = np.where(along < 0.0, back * part * np.sqrt(before), limit)
        part = np.minimum(FIRST_LIFT, limit / np.sqrt(_sums(pull**2) + 1e-300))
        lower = InputBoxes(boxes.low, boxes.high, np.log(R + part * pull), boxes.log_w)
        boxes, _, found = bounded(rival, lower, needed, 0)
        lifted[left] = np.minimum(lifted[left], found)
        still = np.flatnonzero(~(lifted[left] <= -needed))
        left, boxes = left[still], boxes.part(still)
        last, part, limit = pull[still], part[still], limit[still]
    return lifted


def _sums(rows: Floats) -> Floats:
    """Of every row, as a column."""
    return rows.sum(axis=1, keepdims=True)


def _lifting(rival: SensedRival, boxes: InputBoxes) -> Floats:
    """The R that is best for the bounds of the rows, their v as they are."""
    ends = np.stack([boxes.low, boxes.high], axis=1)
    place = np.nonzero(ends > 0.0)
    rows = Rows.of(rival, place[2], ends[place], boxes.log_R[place[0]])
    u, parts = np.zeros(ends.shape), np.zeros(boxes.log_w.shape)
    u[place], v = rival_rows.relaxed(rows, rival_rows.profile(rows, boxes.log_w[place]))
    parts[place] = ends[place][:, None] * v
    output = _output(boxes, knapsack(boxes, u)[0], parts)
    return output / output.sum(axis=1, keepdims=True)


def knapsack(boxes: InputBoxes, u: Floats) -> tuple[Floats, Floats]:
    """The P of each box with the largest sum of chords, and that sum: u are the values [box, end, x] at the ends."""
    width = boxes.high - boxes.low
    slopes = (u[:, 1] - u[:, 0]) / np.where(width > 0.0, width, 1.0)
    order = np.argsort(-slopes, axis=1)
    room = np.take_along_axis(width, order, axis=1)
    rest = 1.0 - boxes.low.sum(axis=1, keepdims=True) - (np.cumsum(room, axis=1) - room)
    more = np.empty_like(room)
    np.put_along_axis(more, order, np.clip(rest, 0.0, room), axis=1)
    spare = SPARE * np.abs(slopes).sum(axis=1)
    return boxes.low + more, u[:, 0].sum(axis=1) + (slopes * more).sum(axis=1) + spare


def _halves(boxes: InputBoxes) -> InputBoxes:
    """Both halves of every box, cut at the input that moves the output most."""
    away = (np.exp(boxes.log_w[:, 1]) - np.exp(boxes.log_R)[:, None, :]) ** 2 / np.exp(boxes.log_R)[:, None, :]
    x = ((boxes.high - boxes.low) ** 2 * away.sum(axis=2)).argmax(axis=1)
    each = np.arange(len(boxes))
    below, above = boxes.high.copy(), boxes.low.copy()
    below[each, x] = above[each, x] = 0.5 * (boxes.low + boxes.high)[each, x]
    parts = [(boxes.low, below), (above, boxes.high)]
    first, second = (InputBoxes(*_reachable(*ends), boxes.log_R, boxes.log_w) for ends in parts)
    both = first.with_(second)
    return both.part(np.flatnonzero((both.low <= both.high).all(axis=1)))
