"""The rival's part of the evidence: what bets on its senses prove, whatever its rows and its optimal inputs are.

*One row.* Bets on a rival's input x were tilted by ω_e towards an output distribution Q_e in the N_e senses of request
e. If x has the probability p in an optimal input distribution, and the row w, what they have lost is at most

u(p) = max_w p sum_y n_y log w_y - p c + sum_e N_e log z_e(w) + S p D(w‖R),   z_e(w) = sum_y w_y^(1-t_e) Q_e(y)^t_e,

whatever R, with t_e = p ω_e, n = sum_e ω_e n_e and c = sum_ey ω_e n_ey log Q_ey. D is convex and the rest concave in w:
a local maximum proves nothing. With log z <= log z0 + z/z0 - 1 for any z0, and any multiplier λ of sum w = 1, the
letters separate:

u <= λ - p c + sum_e N_e (log z0_e - 1) + sum_y max_{0 < v <= 1} φ_y(v),
φ(v) = p n log v + S p v log(v/R) + sum_e (N_e/z0_e) v^(1-t_e) Q_e^t_e - λ v,

and v φ'' rises with v: φ is concave up to some v and convex from there on. z0 and λ are those of a row w that somebody
proposes: the bound holds for every w, and is close to u where w attains it.

*All inputs.* With C(W) = I(P; W) <= sum_x P_x D(W_x‖R) for any R, the bets have brought at least -max_P sum_x
u_x(P_x; R) nats, the maximum over all P that can be optimal. Different sets of P
may have different R.

u_x is convex in P_x, so on a box low <= P <= high it lies below its chord, and the largest sum of chords over the P of
a box is a fractional knapsack. Which boxes, R and rows show most is for somebody else to find: a `Cover` says it. None
of it is believed: whatever its cuts, their boxes hold all P, and whatever R and rows are, the bounds hold.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from bestchannel.record import Floats
from bestchannel.verification.record import ROUNDING, Integers

LOWEST = -600.0  # log v from which on maxima are looked for; what lies below is bounded as a whole
HALVINGS = 40  # at most, of the interval of log v in which φ turns
CLOSE = 1e-8  # nats up to which it is narrowed

Sensed = tuple[Integers, Floats, Floats]
"""One request: a rival's counts [x, y], the tilts [x] of the bets on them, and the output distribution [y]."""


@dataclass(frozen=True)
class Rows:
    """Any number of rows of a rival, each of an input with a probability p > 0, and with an R, in all requests e."""

    senses: Floats  # [row, e] N
    tilts: Floats  # [row, e] t = p ω
    log_outputs: Floats  # [e, y] log Q, of all rows
    counts: Floats  # [row, y] p n, each sense weighted with its tilt
    offsets: Floats  # [row] p c
    pull: Floats  # [row, 1] S p
    log_R: Floats  # [row, y]

    @classmethod
    def of(cls, alphabet: tuple[int, int], requests: Sequence[Sensed], weight: float) -> Rows:
        """The rows of all inputs, with p and R of 1, after so many requests."""
        counts = np.array([request[0] for request in requests], dtype=np.float64).reshape(-1, *alphabet)
        tilts = np.array([request[1] for request in requests]).reshape(-1, alphabet[0])
        log_outputs = np.log([request[2] for request in requests]).reshape(-1, alphabet[1])
        weighted, pull = tilts[:, :, None] * counts, np.full((alphabet[0], 1), weight)
        offsets = (weighted * log_outputs[:, None, :]).sum(axis=(0, 2))
        sums = weighted.sum(axis=0)
        return cls(counts.sum(axis=2).T, tilts.T, log_outputs, sums, offsets, pull, np.zeros(alphabet))

    def at(self, row: Integers, p: Floats, log_R: Floats) -> Rows:
        """Some of the rows, at so much of their probabilities."""
        q, of_all = p[:, None], self.log_outputs
        tilts, counts, offsets = q * self.tilts[row], q * self.counts[row], p * self.offsets[row]
        return Rows(self.senses[row], tilts, of_all, counts, offsets, q * self.pull[row], log_R)

    def part(self, rows: Integers) -> Rows:
        """Some of the rows as they are."""
        return self.at(rows, np.ones(len(rows)), self.log_R[rows])


class Profile(NamedTuple):
    """φ without its term λ v, and its derivatives, at one v for every row and letter."""

    z: Floats  # [row, e] z0
    value: Floats  # [row, y] φ
    slope: Floats  # [row, y] v φ'
    bend: Floats  # [row, y] -v² φ''


def profile(rows: Rows, log_v: Floats, z: Floats | None = None) -> Profile:
    """φ at v, with z0 = z(v) where none is given."""
    t, v = rows.tilts, np.exp(log_v)
    mixed = np.exp(t[:, :, None] * (rows.log_outputs - log_v[:, None, :]) + log_v[:, None, :])
    z = mixed.sum(axis=2) if z is None else z
    share = rows.senses / z
    sums = np.stack([share, (1.0 - t) * share, t * (1.0 - t) * share], axis=1) @ mixed
    pull, ratio = rows.pull * v, log_v - rows.log_R
    slope = rows.counts + pull * (ratio + 1.0) + sums[:, 1]
    return Profile(z, rows.counts * log_v + pull * ratio + sums[:, 0], slope, rows.counts - pull + sums[:, 2])


def upper(rows: Rows, log_w: Floats) -> Floats:
    """Upper bounds of u from one row w each, close to u where w attains it.

    λ is the one at which the bound is least to second order, or so much larger that no letter is better off at v = 1.
    """
    at, w = profile(rows, log_w), np.exp(log_w)
    at_one = profile(rows, np.zeros_like(log_w), at.z).value
    scale = w / np.where(at.bend > 1e-6 * w, at.bend, np.inf)
    total, flat = (w * scale).sum(axis=1, keepdims=True), ~(scale > 0.0).any(axis=1, keepdims=True)
    factor = np.where(flat, at.slope, at.slope * scale / np.where(flat, 1.0, total)).sum(axis=1, keepdims=True)
    larger = np.where(w < 1.0, (at_one - at.value) / (1.0 - w), factor).max(axis=1, keepdims=True)
    bound, some = _dual(rows, log_w, at, at_one, factor), np.flatnonzero(larger > factor)
    of_some = rows.part(some), log_w[some], Profile(*(field[some] for field in at)), at_one[some], larger[some]
    bound[some] = np.fmin(bound[some], _dual(*of_some))
    letters = rows.counts * (1.0 - log_w) + np.abs(at.value) + np.abs(at_one) + rows.pull * (1.0 + np.abs(rows.log_R))
    requests = (rows.senses * (1.0 + np.abs(np.log(at.z)))).sum(axis=1)
    size = 2.0 * letters.sum(axis=1) + requests + np.abs(rows.offsets) + (1 + w.shape[1]) * np.abs(larger[:, 0])
    return bound + ROUNDING * size


def _dual(rows: Rows, log_w: Floats, at: Profile, at_one: Floats, factor: Floats) -> Floats:
    """The bounds of u with these λ, wherever the maxima of φ are.

    φ is concave and rises up to some v, and no longer from there on, or is convex: v lies a step of Newton's from w, or
    is found by halving. φ lies below its tangent until it falls or becomes convex; then it is at most as large as
    there, or as φ(1). Below LOWEST each of its terms is small.
    """
    step = np.clip((at.slope - factor * np.exp(log_w)) / np.where(at.bend > 0.0, at.bend, np.inf), -1.0, 1.0)
    guesses = [np.clip(log_w + step + far, LOWEST, 0.0) for far in (-(step**2), step**2)]
    low, high = np.full(log_w.shape, LOWEST), np.zeros(log_w.shape)
    value, rise, rest = np.full(low.shape, np.inf), np.full(low.shape, np.inf), np.arange(len(low))
    for number in range(HALVINGS):
        some, left, right = rows.part(rest), low[rest], high[rest]
        middle = guesses[number][rest] if number < 2 else left if number == 2 else 0.5 * (left + right)
        now, tilted = profile(some, middle, at.z[rest]), factor[rest] * np.exp(middle)
        lower = (now.bend >= 0.0) & (now.slope >= tilted) | (middle <= left)
        low[rest], high[rest] = np.where(lower, middle, left), np.where(lower, right, middle)
        value[rest] = np.where(lower, now.value - tilted, value[rest])
        rise[rest] = np.where(lower, (now.slope - tilted).clip(0.0), rise[rest])
        above = rise * np.expm1(high - low)
        rest = rest[~(above[rest].sum(axis=1) <= CLOSE)]
        if not rest.size:
            break
    small = np.exp(LOWEST) * (2.0 * rows.pull * (np.abs(rows.log_R) - LOWEST) + np.abs(factor))
    largest = np.maximum(value + above + np.where(low > LOWEST, 0.0, small), at_one - factor)
    apart = (rows.senses * (np.log(at.z) - 1.0)).sum(axis=1) - rows.offsets
    return apart + factor[:, 0] + largest.sum(axis=1)


LARGEST = 1.0 - math.exp(-1.0)  # no input of an optimal distribution exceeds it, where C > 0 [MR91, SF04]
SPARE = 1e-12  # by which the sum of P may differ from 1, so that rounding loses no P between boxes
AT_ONCE = 1_500_000  # numbers [row, request, letter] that are computed at once


class Cover(Protocol):
    """Boxes of input distributions, each the upper part of one before, and what shows the bound of each."""

    cuts: Floats  # [box, 3] after the first: of which box it is the upper part, at which input, and from where on
    log_R: Floats  # [box, y]
    log_w: Floats  # [box, end, x, y] the logarithms of rows that are bad for the bets at both ends


def proved(rival: Rows, fixed: Floats | None, covers: Iterable[Cover], needed: float) -> float:
    """Nats that the rival's part is at least, at a fixed input distribution or at any: by the first cover that shows
    what is needed, or by the best of all.
    """
    if not (rival.senses * rival.tilts).any():  # of its value no more is known than that of a noiseless channel
        used = np.ones(len(rival.counts)) / len(rival.counts) if fixed is None else fixed[fixed > 0.0] / fixed.sum()
        most = min(-float(used @ np.log(used)), math.log(rival.counts.shape[1]))
        return -float(rival.pull[0, 0]) * (most + ROUNDING)
    most = -math.inf
    for cover in covers:
        most = max(most, shown(rival, fixed, cover))
        if most >= needed:
            break
    return most


def shown(rival: Rows, fixed: Floats | None, cover: Cover) -> float:
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


def bounds(rival: Rows, low: Floats, high: Floats, log_R: Floats, log_w: Floats) -> Floats:
    """Upper bounds of the sum of u over the P of every box; -inf where no P is in it."""
    ends, filled = np.stack([low, high], axis=1), np.all(low <= high, axis=1)
    box, _, x = place = np.nonzero((ends > 0.0) & filled[:, None, None])  # u(0) = 0
    u, log_w = np.zeros(ends.shape), np.clip(normalised(log_w[place]), LOWEST, 0.0)
    u[place] = upper(rival.at(x, ends[place], normalised(log_R)[box]), log_w)
    return np.where(filled, knapsack(low, high, u), -np.inf)


def normalised(logs: Floats) -> Floats:
    """The logarithms of distributions, given those of multiples of them, however small or large these are."""
    logs = logs - logs.max(axis=1, keepdims=True)
    return logs - np.log(np.exp(logs).sum(axis=1, keepdims=True))


def knapsack(low: Floats, high: Floats, u: Floats) -> Floats:
    """The largest sum of chords over the P of every box: u are the values [box, end, x] at the ends."""
    width = high - low
    slopes = (u[:, 1] - u[:, 0]) / np.where(width > 0.0, width, 1.0)
    order = np.argsort(-slopes, axis=1)
    room, rise = np.take_along_axis(width, order, axis=1), np.take_along_axis(slopes, order, axis=1)
    rest = 1.0 - low.sum(axis=1, keepdims=True) - (np.cumsum(room, axis=1) - room)
    more = np.clip(rest, 0.0, room)
    return u[:, 0].sum(axis=1) + (rise * more).sum(axis=1) + SPARE * np.abs(slopes).sum(axis=1)
