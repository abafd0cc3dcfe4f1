"""One row of a rival: how much, at most, it can speak against the bets on its senses, in nats.

Bets on a rival's input x were tilted by ω_e towards an output distribution Q_e in N_e senses; e runs over requests. If
x has the probability p in an optimal input distribution, and the row w, what they have lost is at most

u(p) = max_w p sum_y n_y log w_y - p c + sum_e N_e log z_e(w) + S p D(w‖R),   z_e(w) = sum_y w_y^(1-t_e) Q_e(y)^t_e,

whatever R, with t_e = p ω_e, n = sum_e ω_e n_e and c = sum_ey ω_e n_ey log Q_ey. D is convex and the rest concave in w:
a local maximum proves nothing. With log z <= log z0 + z/z0 - 1 for any z0, and a multiplier λ of sum w = 1, the letters
separate:

u <= λ - p c + sum_e N_e (log z0_e - 1) + sum_y max_{0 < v <= 1} φ_y(v),
φ(v) = p n log v + S p v log(v/R) + sum_e (N_e/z0_e) v^(1-t_e) Q_e^t_e - λ v,

and v φ'' rises with v: φ is concave up to some v and convex from there on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bestchannel.verification.record import Floats, Integers

FARTHEST = 0.7
"""How far log w may go in a step."""

Sensed = tuple[Integers, Floats, Floats]
"""One request: a rival's counts [x, y], the tilts [x] of the bets on them, and the output distribution [y]."""


@dataclass(frozen=True)
class SensedRival:
    """All bets on a rival's senses: per input x and request e, and summed over the requests."""

    senses: Floats  # [x, e] N
    tilts: Floats  # [x, e] ω
    log_outputs: Floats  # [e, y] log Q
    counts: Floats  # [x, y] n, each sense weighted with its tilt
    offsets: Floats  # [x] c
    weight: float  # S

    @classmethod
    def of(cls, alphabet: tuple[int, int], requests: Sequence[Sensed], weight: float) -> SensedRival:
        """The sums, with requests of equal tilts and outputs taken together."""
        alike: dict[bytes, list[Sensed]] = {}
        for request in requests:
            alike.setdefault(request[1].tobytes() + request[2].tobytes(), []).append(request)
        groups = list(alike.values())
        counts = np.array([sum(each[0] for each in group) for group in groups], dtype=np.float64).reshape(-1, *alphabet)
        tilts = np.array([group[0][1] for group in groups]).reshape(-1, alphabet[0])
        log_outputs = np.log(np.array([group[0][2] for group in groups]).reshape(-1, alphabet[1]))
        weighted = tilts[:, :, None] * counts
        offsets = (weighted * log_outputs[:, None, :]).sum(axis=(0, 2))
        return cls(counts.sum(axis=2).T, tilts.T, log_outputs, weighted.sum(axis=0), offsets, weight)


@dataclass(frozen=True)
class Rows:
    """Any number of rows, each of an input with a probability p > 0, and with an R."""

    log_R: Floats  # [row, y]
    senses: Floats  # [row, e] N
    tilts: Floats  # [row, e] t = p ω
    log_outputs: Floats  # [e, y]
    counts: Floats  # [row, y] p n
    offsets: Floats  # [row] p c
    pull: Floats  # [row] S p

    @classmethod
    def of(cls, rival: SensedRival, x: Integers, p: Floats, log_R: Floats) -> Rows:
        """Rows of inputs x at probabilities p."""
        each = p[:, None]
        return cls(
            log_R,
            rival.senses[x],
            each * rival.tilts[x],
            rival.log_outputs,
            each * rival.counts[x],
            p * rival.offsets[x],
            rival.weight * p,
        )

    def part(self, chosen: Integers) -> Rows:
        """Some of them, in that order."""
        kept = {name: field[chosen] for name, field in vars(self).items() if name != "log_outputs"}
        return replace(self, **kept)


@dataclass(frozen=True)
class Profile:
    """φ without its term λ v, and its derivatives, at one v for every row and letter."""

    log_v: Floats  # [row, y]
    z: Floats  # [row, e] z0
    value: Floats  # [row, y] φ
    slope: Floats  # [row, y] v φ'
    bend: Floats  # [row, y] -v² φ''

    def part(self, chosen: Integers) -> Profile:
        """Those of some rows."""
        return Profile(*(field[chosen] for field in vars(self).values()))

    def rise(self, multiplier: Floats) -> Floats:
        """v φ', with λ."""
        return self.slope - multiplier[:, None] * np.exp(self.log_v)


def profile(rows: Rows, log_v: Floats, z: Floats | None = None) -> Profile:
    """φ at v, with z0 = z(v) where none is given."""
    t, v = rows.tilts, np.exp(log_v)
    mixed = np.exp(t[:, :, None] * (rows.log_outputs - log_v[:, None, :]) + log_v[:, None, :])
    z = mixed.sum(axis=2) if z is None else z
    share = rows.senses / z
    sums = np.stack([share, (1.0 - t) * share, t * (1.0 - t) * share], axis=1) @ mixed
    pull, ratio = rows.pull[:, None] * v, log_v - rows.log_R
    return Profile(
        log_v,
        z,
        rows.counts * log_v + pull * ratio + sums[:, 0],
        rows.counts + pull * (ratio + 1.0) + sums[:, 1],
        rows.counts - pull + sums[:, 2],
    )


def apart(rows: Rows, z: Floats) -> Floats:
    """What the bound has beside λ and the letters: sum_e N_e (log z0_e - 1) - p c."""
    return (rows.senses * (np.log(z) - 1.0)).sum(axis=1) - rows.offsets


def value(rows: Rows, at: Profile) -> Floats:
    """What is maximised in u, at rows that sum to 1 and with z0 = z."""
    return at.value.sum(axis=1) + apart(rows, at.z)


def multiplier(at: Profile) -> Floats:
    """The λ at which the bound is least to second order, near rows that sum to 1."""
    w = np.exp(at.log_v)
    scale = w / np.where(at.bend > 1e-6 * w, at.bend, np.inf)
    total = (w * scale).sum(axis=1)
    known = total > 0.0
    return np.where(known, (at.slope * scale).sum(axis=1) / np.where(known, total, 1.0), at.slope.sum(axis=1))


def climbed(at: Profile) -> Floats:
    """log w after a step of Newton's towards larger values, shorter where the maximum is far."""
    rise = at.rise(multiplier(at))
    way = rise / (np.maximum(at.bend, 0.0) + np.abs(rise) + 1e-300)
    log_w = at.log_v + np.clip(way, -FARTHEST, FARTHEST)
    return log_w - np.log(np.exp(log_w).sum(axis=1, keepdims=True))


def quick_upper(rows: Rows, at: Profile) -> Floats:
    """An upper bound of u from one place, close where that is a maximum; infinite where the place does not tell.

    Left of v, -φ'' is at least bend/v²: a falling φ was at most rise²/(2 bend) higher. Right of v, up to v(1 + r), it
    is at least (bend - r S p v)/((1 + r)² v²): where this takes all the rise away, the maximum lies before. From there
    on φ falls, then is convex, so that it is at most φ(1).
    """
    factor, v = multiplier(at), np.exp(at.log_v)
    rise = at.rise(factor)
    r = np.clip(2.0 * rise / np.where(at.bend > 0.0, at.bend, 1.0), 0.0, 0.5)
    least = np.where(at.bend > 0.0, at.bend - r * rows.pull[:, None] * v, 0.0) / (1.0 + r) ** 2
    known = (least > 0.0) & (r * least >= rise)
    higher = np.where(known, 0.5 * rise**2 / np.where(known, least, 1.0), np.inf)
    maxima = np.maximum(at.value - factor[:, None] * v + higher, _at_one(rows, at) - factor[:, None])
    return apart(rows, at.z) + factor + maxima.sum(axis=1)


def relaxed(rows: Rows, at: Profile) -> tuple[Floats, Floats]:
    """What the bound is near a maximum, up to little, and the v of every letter at which it is reached: there or 1."""
    factor = multiplier(at)[:, None]
    here, at_one = at.value - factor * np.exp(at.log_v), _at_one(rows, at) - factor
    v = np.where(at_one > here, 1.0, np.exp(at.log_v))
    return apart(rows, at.z) + factor[:, 0] + np.maximum(here, at_one).sum(axis=1), v


def _at_one(rows: Rows, at: Profile) -> Floats:
    """φ without its term λ v at v = 1."""
    return profile(rows, np.zeros_like(at.log_v), at.z).value
