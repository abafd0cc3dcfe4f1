"""The rival's part of the evidence: what bets on its senses prove, whatever its rows and its optimal inputs are.

*One row.* Bets on a rival's input x were tilted by ω_e towards an output distribution Q_e in N_e senses; e runs over
epochs. If x has the probability p in an optimal input distribution, and the row w, what they have lost is at most

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

GROUPS = 12  # into which requests are put, in their order and about equal in senses; each becomes two epochs
LOWEST = -600.0  # log v from which on maxima are looked for; what lies below is bounded as a whole
HALVINGS = 40  # of the interval of log v in which φ turns
CLOSE = 1e-4  # nats by which a bound from one place may exceed the value there, before maxima are looked for

Sensed = tuple[Integers, Floats, Floats]
"""One request: a rival's counts [x, y], the tilts [x] of the bets on them, and the output distribution [y]."""


@dataclass(frozen=True)
class SensedRival:
    """All bets on a rival's senses: per input x and epoch e, and summed over the requests."""

    senses: Floats  # [x, e] N
    tilts: Floats  # [x, e] ω
    log_outputs: Floats  # [x, e, y] log Q
    counts: Floats  # [x, y] n, each sense weighted with its tilt
    offsets: Floats  # [x] c
    weight: float  # S

    @classmethod
    def of(cls, alphabet: tuple[int, int], requests: Sequence[Sensed], weight: float) -> SensedRival:
        """The sums, with requests merged to epochs that lose at least as much."""
        counts = np.array([request[0] for request in requests], dtype=np.float64).reshape(-1, *alphabet)
        tilts = np.array([request[1] for request in requests]).reshape(-1, alphabet[0])
        outputs = np.array([request[2] for request in requests]).reshape(-1, alphabet[1])
        weighted = tilts[:, :, None] * counts
        offsets = (weighted * np.log(outputs)[:, None, :]).sum(axis=(0, 2))
        return cls(*_epochs(counts.sum(axis=2), tilts, outputs), weighted.sum(axis=0), offsets, weight)


def _epochs(senses: Floats, tilts: Floats, outputs: Floats) -> tuple[Floats, Floats, Floats]:
    """N, ω and log Q of few epochs in place of many requests [i].

    log z is convex in ω, so at most its chord between the least and the largest ω of a group; and concave in Q, so that
    at each end the mean of Q serves for all.
    """
    if len(senses) <= 2 * GROUPS:
        return senses.T, tilts.T, np.broadcast_to(np.log(outputs), (senses.shape[1], *outputs.shape))
    each = senses.sum(axis=1)
    group = np.minimum(GROUPS * (np.cumsum(each) - each) // max(each.sum(), 1.0), GROUPS - 1)
    epochs = []
    for N, w, Q in ((senses[group == g], tilts[group == g], outputs[group == g]) for g in range(GROUPS)):
        high = np.where(N > 0.0, w, 0.0).max(axis=0, initial=0.0)
        low = np.minimum(np.where(N > 0.0, w, np.inf).min(axis=0, initial=np.inf), high)
        share = np.clip((w - low) / np.where(high > low, high - low, np.inf), 0.0, 1.0)
        for tilt, part in ((low, N * (1.0 - share)), (high, N * share)):
            total = part.sum(axis=0)
            mean = np.where(total > 0.0, Q.T @ part / np.where(total > 0.0, total, 1.0), 1.0)
            epochs.append((total, tilt, np.log(mean.T)))
    N, w, log_Q = (np.stack(parts, axis=1) for parts in zip(*epochs, strict=True))
    return N, w, log_Q


@dataclass(frozen=True)
class Rows:
    """Any number of rows, each of an input with a probability p > 0, and with an R."""

    log_R: Floats  # [row, y]
    senses: Floats  # [row, e] N
    tilts: Floats  # [row, e] t = p ω
    log_outputs: Floats  # [row, e, y]
    counts: Floats  # [row, y] p n
    offsets: Floats  # [row] p c
    pull: Floats  # [row, 1] S p

    @classmethod
    def of(cls, rival: SensedRival, x: Integers, p: Floats, log_R: Floats) -> Rows:
        """Rows of inputs x at probabilities p."""
        q, offsets = p[:, None], p * rival.offsets[x]
        of_x = rival.senses[x], q * rival.tilts[x], rival.log_outputs[x], q * rival.counts[x]
        return cls(log_R, *of_x, offsets, rival.weight * q)

    def part(self, chosen: Integers) -> Rows:
        """Some of them, in that order."""
        return Rows(*(field[chosen] for field in vars(self).values()))


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
    apart = (rows.senses * (np.log(at.z) - 1.0)).sum(axis=1) - rows.offsets
    scale = w / np.where(at.bend > 1e-6 * w, at.bend, np.inf)
    total = (w * scale).sum(axis=1)
    least = np.where(
        total > 0.0, (at.slope * scale).sum(axis=1) / np.where(total > 0.0, total, 1.0), at.slope.sum(axis=1)
    )
    over = np.where(w < 1.0, (at_one - at.value) / (1.0 - w) - least[:, None], 0.0)
    factors = least, least + over.max(axis=1).clip(0.0)
    bound = np.fmin(*(apart + factor + _near(rows, at, w, at_one, factor[:, None]).sum(axis=1) for factor in factors))
    poor = np.flatnonzero(~(bound <= at.value.sum(axis=1) + apart + CLOSE))
    for factor in (factor[poor] for factor in factors):
        maxima = np.maximum(_far(rows.part(poor), at.z[poor], factor[:, None]), at_one[poor] - factor[:, None])
        bound[poor] = np.fmin(bound[poor], apart[poor] + factor + maxima.sum(axis=1))
    letters = rows.counts * (1.0 - log_w) + np.abs(at.value) + np.abs(at_one) + rows.pull * (1.0 + np.abs(rows.log_R))
    epochs = (rows.senses * (1.0 + np.abs(np.log(at.z)))).sum(axis=1)
    size = 2.0 * letters.sum(axis=1) + epochs + np.abs(rows.offsets) + (1 + letters.shape[1]) * np.abs(factors[1])
    return bound + ROUNDING * size


def _near(rows: Rows, at: Profile, v: Floats, at_one: Floats, factor: Floats) -> Floats:
    """Upper bounds of max φ from one place, close where that is a maximum; infinite where the place does not tell.

    Left of v, -φ'' is at least bend/v²: a falling φ was at most rise²/(2 bend) higher. Right of v, up to v(1 + r), it
    is at least (bend - r S p v)/((1 + r)² v²): where this takes all the rise away, the maximum lies before. From there
    on φ falls, then is convex, so that it is at most φ(1).
    """
    rise = at.slope - factor * v
    r = np.clip(2.0 * rise / np.where(at.bend > 0.0, at.bend, 1.0), 0.0, 0.5)
    least = np.where(at.bend > 0.0, at.bend - r * rows.pull * v, 0.0) / (1.0 + r) ** 2
    known = (least > 0.0) & (r * least >= rise)
    higher = np.where(known, 0.5 * rise**2 / np.where(known, least, 1.0), np.inf)
    return np.maximum(at.value - factor * v + higher, at_one - factor)


def _far(rows: Rows, z: Floats, factor: Floats) -> Floats:
    """Upper bounds of max φ but for φ(1), wherever it is.

    φ is concave and rises up to some v, and no longer from there on, or is convex: v is found by halving. φ lies below
    its tangent until it falls or becomes convex; then it is at most as large as there, or as φ(1). Below LOWEST each of
    its terms is small.
    """
    low, high = np.full(rows.log_R.shape, LOWEST), np.zeros(rows.log_R.shape)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        at = profile(rows, middle, z)
        rising = (at.bend >= 0.0) & (at.slope - factor * np.exp(middle) >= 0.0)
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
    at, start = profile(rows, low, z), profile(rows, np.full_like(low, LOWEST), z)
    rise = np.maximum(at.slope - factor * np.exp(low), 0.0)
    small = 2.0 * rows.pull * (np.abs(rows.log_R) - LOWEST) + np.abs(factor)
    top = at.value - factor * np.exp(low) + rise * np.expm1(high - low)
    return np.maximum(top, start.value + np.exp(LOWEST) * small)


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
