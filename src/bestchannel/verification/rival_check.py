"""The rival's part of the evidence: what bets on its senses prove, whatever its rows and its optimal inputs are.

With u_x as in `rival_rows`, and C(W) = I(P; W) <= sum_x P_x D(W_x‖R) for any R, the bets have brought at least
-max_P sum_x u_x(P_x; R) nats, the maximum over all P that can be optimal. Different sets of P may have different R.

u_x is convex in P_x, so on a box low <= P <= high it lies below its chord, and the largest sum of chords over the P of
a box is a fractional knapsack. Which boxes, R and rows show most is for somebody else to find: a `Cover` says it. None
of it is believed: whatever its cuts, their boxes hold all P, and whatever R and rows are, the bounds hold.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Protocol

import numpy as np

from bestchannel.verification.record import Floats
from bestchannel.verification.rival_rows import LOWEST, Rows, SensedRival, upper

LARGEST = 1.0 - math.exp(-1.0)  # no input of an optimal distribution exceeds it, where C > 0 [MR91, SF04]
SPARE = 1e-12  # by which the sum of P may differ from 1, so that rounding loses no P between boxes
AT_ONCE = 1_500_000  # numbers [row, epoch, letter] that are computed at once


class Cover(Protocol):
    """Boxes of input distributions, each the upper part of one before, and what shows the bound of each."""

    cuts: Floats  # [box, 3] after the first: of which box it is the upper part, at which input, and from where on
    log_R: Floats  # [box, y]
    log_w: Floats  # [box, end, x, y] the logarithms of rows that are bad for the bets at both ends


def proved(rival: SensedRival, fixed: Floats | None, covers: Iterable[Cover], needed: float) -> float:
    """Nats that the rival's part is at least, at a fixed input distribution or at any: by the first cover that shows
    what is needed, or by the best of all.
    """
    if not (rival.senses * rival.tilts).any():  # of its value no more is known than that of a noiseless channel
        used = np.ones(len(rival.counts)) / len(rival.counts) if fixed is None else fixed[fixed > 0.0]
        return -rival.weight * min(-float(used @ np.log(used)), math.log(rival.counts.shape[1]))
    most = -math.inf
    for cover in covers:
        most = max(most, shown(rival, fixed, cover))
        if most >= needed:
            break
    return most


def shown(rival: SensedRival, fixed: Floats | None, cover: Cover) -> float:
    """How many nats the rival's part is at least by one cover; what is none shows nothing."""
    (n_inputs, n_outputs), number = rival.counts.shape, len(cover.cuts) + 1
    shapes = cover.cuts.shape[1:], cover.log_R.shape, cover.log_w.shape
    if shapes != ((3,), (number, n_outputs), (number, 2, n_inputs, n_outputs)):
        return -math.inf
    if fixed is None:
        low, high = boxes(n_inputs, cover.cuts)
    else:
        low = high = np.tile(fixed / fixed.sum(), (number, 1))
    at_once = max(1, AT_ONCE // (2 * rival.senses.size * n_outputs))
    parts = [slice(start, start + at_once) for start in range(0, number, at_once)]
    most = [bounds(rival, low[part], high[part], cover.log_R[part], cover.log_w[part]) for part in parts]
    return -float(np.concatenate(most).max())


def boxes(n_inputs: int, cuts: Floats) -> tuple[Floats, Floats]:
    """The ends of boxes [box, x] that hold all P that can be optimal; a cut that is none leaves its box as it is."""
    low, high = np.zeros((len(cuts) + 1, n_inputs)), np.full((len(cuts) + 1, n_inputs), LARGEST)
    for upper_part, (of, at, where) in enumerate(cuts, start=1):
        if 0 <= of < upper_part and 0 <= at < n_inputs and 0.0 <= where <= LARGEST:
            box, x = int(of), int(at)
            low[upper_part], high[upper_part] = low[box], high[box]
            high[box, x], low[upper_part, x] = min(high[box, x], where), max(low[box, x], where)
    least = np.maximum(low, 1.0 - SPARE - (high.sum(axis=1, keepdims=True) - high))
    return least, np.minimum(high, 1.0 + SPARE - (low.sum(axis=1, keepdims=True) - low))


def bounds(rival: SensedRival, low: Floats, high: Floats, log_R: Floats, log_w: Floats) -> Floats:
    """Upper bounds of the sum of u over the P of every box; -inf where no P is in it."""
    ends, filled = np.stack([low, high], axis=1), np.all(low <= high, axis=1)
    box, _, x = place = np.nonzero((ends > 0.0) & filled[:, None, None])  # u(0) = 0
    log_R = log_R - np.log(np.exp(log_R).sum(axis=1, keepdims=True))
    log_w = log_w[place] - np.log(np.exp(log_w[place]).sum(axis=1, keepdims=True))
    u = np.zeros(ends.shape)
    u[place] = upper(Rows.of(rival, x, ends[place], log_R[box]), np.clip(log_w, LOWEST, 0.0))
    return np.where(filled, knapsack(low, high, u), -np.inf)


def knapsack(low: Floats, high: Floats, u: Floats) -> Floats:
    """The largest sum of chords over the P of every box: u are the values [box, end, x] at the ends."""
    width = high - low
    slopes = (u[:, 1] - u[:, 0]) / np.where(width > 0.0, width, 1.0)
    order = np.argsort(-slopes, axis=1)
    room, rise = np.take_along_axis(width, order, axis=1), np.take_along_axis(slopes, order, axis=1)
    rest = 1.0 - low.sum(axis=1, keepdims=True) - (np.cumsum(room, axis=1) - room)
    more = np.clip(rest, 0.0, room)
    return u[:, 0].sum(axis=1) + (rise * more).sum(axis=1) + SPARE * np.abs(slopes).sum(axis=1)
