"""The careful bound of a rival's row, for letters whose φ has two maxima, one of them at the largest v.

No λ rules out all but one of them, so that the rows are cut into cells, low <= log v <= high for every letter, until
the bound of each cell is close to a row that was found, or too large to be of use.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bestchannel.verification.record import Floats, Integers
from bestchannel.verification.rival_rows import Profile, Rows, apart, multiplier, profile, value

LOWEST = -600.0
"""log v from which on maxima are looked for; what lies below is bounded as a whole."""

CUTS = 8
MULTIPLIERS = 12
"""Values of λ that are tried for a cell."""

SEARCH = 60
EXACT = 1e-5
"""Most steps towards a maximum of φ, and the nats by which its bound may exceed it."""

HALVINGS = 40
SPARE = 1e-12
"""By which the sum of a row may differ from 1, so that rounding loses no row between cells."""

ROUNDING = 1e-13
"""Relative to λ, by which a bound is raised."""


@dataclass(frozen=True)
class Cells:
    """Parts of rows, with z0 and what the search starts from."""

    row: Integers  # [cell]
    low: Floats  # [cell, y]
    high: Floats  # [cell, y]
    z: Floats  # [cell, e]
    factor: Floats  # [cell] λ
    peak: Floats  # [cell, y] log v

    def part(self, chosen: Integers) -> Cells:
        """Some of them."""
        return Cells(*(field[chosen] for field in vars(self).values()))


def careful_upper(rows: Rows, at: Profile, allowed: Floats, slack: Floats) -> Floats:
    """Upper bounds of u, within `allowed` of it where cuts reach that; they stop where u exceeds value + slack."""
    known = value(rows, at)
    useless, bounds = known + slack, np.full(len(known), -np.inf)
    everywhere = np.zeros_like(at.log_v)
    cells = Cells(np.arange(len(known)), everywhere + LOWEST, everywhere, at.z, multiplier(at), at.log_v)
    for cut in range(CUTS + 1):
        these = rows.part(cells.row)
        found, cells = _least_dual(these, cells, (known + allowed)[cells.row])
        place = profile(these, cells.peak - np.log(np.exp(cells.peak).sum(axis=1, keepdims=True)))
        np.maximum.at(known, cells.row, value(these, place))
        left = (found > (known + allowed)[cells.row]) & (known <= useless)[cells.row] & (cut < CUTS)
        np.maximum.at(bounds, cells.row[~left], found[~left])
        if not left.any():
            break
        cells = _cut(cells.part(np.flatnonzero(left)), place.z[left])
    return bounds


def _cut(cells: Cells, z: Floats) -> Cells:
    """Both parts of every cell: cut at the letter that has most room, half way from its peak to the end."""
    room = np.exp(cells.high) - np.exp(cells.peak)
    each, y = np.arange(len(room)), room.argmax(axis=1)
    at = np.log(np.exp(cells.peak) + 0.5 * room)[each, y]
    below, above = cells.high.copy(), cells.low.copy()
    below[each, y], above[each, y] = at, at
    low, high = np.concatenate([cells.low, above]), np.concatenate([below, cells.high])
    both = [np.concatenate([field, field]) for field in (cells.row, z, cells.factor, cells.peak)]
    possible = (np.exp(low).sum(axis=1) <= 1.0 + SPARE) & (np.exp(high).sum(axis=1) >= 1.0 - SPARE)
    return Cells(both[0], *_reachable(low, high), *both[1:]).part(np.flatnonzero(possible))


def _reachable(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """The ends that rows with sum 1 can reach."""
    v, u = np.exp(low), np.exp(high)
    least = np.log(np.maximum(1.0 - SPARE - (u.sum(axis=1, keepdims=True) - u), np.exp(LOWEST)))
    most = np.log(np.maximum(1.0 + SPARE - (v.sum(axis=1, keepdims=True) - v), np.exp(LOWEST)))
    low = np.maximum(low, least)
    return low, np.maximum(low, np.minimum(high, most))


def _least_dual(rows: Rows, cells: Cells, enough: Floats) -> tuple[Floats, Cells]:
    """The bound with the best λ that was found, and the cells with that λ and its peaks.

    The bound is convex in λ with the slope 1 - sum_y v_y. The next λ is where the tangents on both sides meet; a bound
    that is already enough, or cannot become so, is not improved.
    """
    top = np.clip(_turn(rows, cells.z), cells.low, cells.high)
    factor, peak, beside = cells.factor, cells.peak, apart(rows, cells.z)
    best, best_factor, best_peak = np.full(len(factor), np.inf), factor, peak
    left = right = np.full((3, len(factor)), np.nan)  # λ, bound, slope
    reach = 0.1 * (rows.pull + rows.senses.sum(axis=1))
    for _ in range(MULTIPLIERS):
        maxima, v, peak = _maxima(rows, cells, top, factor, peak)
        bound = beside + factor + maxima.sum(axis=1) + ROUNDING * np.abs(factor) * len(v.T)
        better = bound < best
        best, best_factor = np.where(better, bound, best), np.where(better, factor, best_factor)
        best_peak = np.where(better[:, None], peak, best_peak)
        here = np.stack([factor, bound, 1.0 - v.sum(axis=1)])
        falls = here[2] < 0.0
        left, right = np.where(falls, here, left), np.where(falls, right, here)
        meet, floor = _tangents_meet(left, right)
        if ((best <= enough) | (floor > enough) | (best - floor < EXACT)).all():
            break
        factor = np.where(np.isfinite(meet), meet, factor + np.where(falls, reach, -reach))
        reach = 2.0 * reach
    return best, Cells(cells.row, cells.low, cells.high, cells.z, best_factor, best_peak)


def _tangents_meet(left: Floats, right: Floats) -> tuple[Floats, Floats]:
    """Where two lines (place, height, slope) meet, and how high."""
    meet = (right[1] - left[1] + left[2] * left[0] - right[2] * right[0]) / (left[2] - right[2])
    return meet, left[1] + left[2] * (meet - left[0])


def _turn(rows: Rows, z: Floats) -> Floats:
    """log v up to which φ is concave, LOWEST at least."""
    low = np.full(rows.log_R.shape, LOWEST)
    high = np.zeros_like(low)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        concave = profile(rows, middle, z).bend >= 0.0
        low, high = np.where(concave, middle, low), np.where(concave, high, middle)
    return low


def _maxima(rows: Rows, cells: Cells, top: Floats, factor: Floats, start: Floats) -> tuple[Floats, Floats, Floats]:
    """Upper bounds of max φ over the cells, about where it is attained, and log v of the peak in the concave part.

    Up to `top` φ is concave. Above, it is convex: at most φ(top) or φ at the end.
    """
    inner, peak = _concave_maximum(rows, cells, top, factor, start)
    end = profile(rows, cells.high, cells.z).value - factor[:, None] * np.exp(cells.high)
    inner = np.maximum(inner, _below(rows, cells, factor))
    return np.maximum(inner, end), np.where(end > inner, np.exp(cells.high), np.exp(peak)), peak


def _concave_maximum(rows: Rows, cells: Cells, top: Floats, factor: Floats, start: Floats) -> tuple[Floats, Floats]:
    """An upper bound of φ between low and top, where it is concave, and a log v where it is nearly that.

    φ lies below its tangent at any point: between a point where it rises and one where it falls, either will do.
    """
    falls_at_once = profile(rows, cells.low, cells.z).rise(factor) < 0.0
    rises_to_the_end = profile(rows, top, cells.z).rise(factor) >= 0.0
    left = np.where(rises_to_the_end, top, cells.low)
    right = np.where(falls_at_once & ~rises_to_the_end, cells.low, top)
    log_v, bound = np.clip(start, left, right), np.full(top.shape, np.inf)
    for step in range(SEARCH):
        at = profile(rows, log_v, cells.z)
        rise = at.rise(factor)
        rising = rise >= 0.0
        left, right = np.where(rising, log_v, left), np.where(rising, right, log_v)
        over = rise * np.expm1(np.where(rising, right, left) - log_v)
        bound = np.fmin(bound, at.value - factor[:, None] * np.exp(log_v) + over)
        if (over <= EXACT).all():
            break
        newton = log_v - np.log1p(-np.minimum(rise / at.bend, 0.95))
        trusted = (newton > left) & (newton < right) & (step % 4 < 3)
        log_v = np.where(trusted, newton, 0.5 * (left + right))
    return bound, left


def _below(rows: Rows, cells: Cells, factor: Floats) -> Floats:
    """An upper bound of φ for log v <= LOWEST, where the cell goes on to there: each of its terms is small."""
    lowest = np.full_like(cells.low, LOWEST)
    terms = 2.0 * rows.pull[:, None] * (np.abs(rows.log_R) - LOWEST) + np.abs(factor)[:, None]
    bound = profile(rows, lowest, cells.z).value + np.exp(LOWEST) * terms
    return np.where(cells.low <= LOWEST, bound, -np.inf)
