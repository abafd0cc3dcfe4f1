"""One row of a rival: how much, at most, it can speak against the bets on its senses, in nats.

Bets on a rival's input x were tilted by ω_e towards an output distribution Q_e in N_e senses; e runs over epochs. If
x has the probability p in an optimal input distribution, and the row w, what they have lost is at most

u(p) = max_w p sum_y n_y log w_y - p c + sum_e N_e log z_e(w) + S p D(w‖R),   z_e(w) = sum_y w_y^(1-t_e) Q_e(y)^t_e,

whatever R, with t_e = p ω_e, n = sum_e ω_e n_e and c = sum_ey ω_e n_ey log Q_ey. D is convex and the rest concave in w:
a local maximum proves nothing. With log z <= log z0 + z/z0 - 1 for any z0, and any multiplier λ of sum w = 1, the
letters separate:

u <= λ - p c + sum_e N_e (log z0_e - 1) + sum_y max_{0 < v <= 1} φ_y(v),
φ(v) = p n log v + S p v log(v/R) + sum_e (N_e/z0_e) v^(1-t_e) Q_e^t_e - λ v,

and v φ'' rises with v: φ is concave up to some v and convex from there on. z0 and λ are those of a row w that somebody
proposes: the bound holds for every w, and is close to u where w attains it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bestchannel.verification.record import ROUNDING, Floats, Integers

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
