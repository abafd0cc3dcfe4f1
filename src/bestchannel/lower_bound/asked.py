"""What each question costs at least: its characteristic time, and the senses that follow from it.

Best, Top and Order are told by pairs (b, a) of which b is the better; Above and Within by each channel alone, against
levels, so that their times add up. docs/theory/characteristic-time.md has the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from bestchannel.arrays import Floats
from bestchannel.errors import InputError
from bestchannel.information import NATS_PER_BIT
from bestchannel.lower_bound.alternatives import cut_of
from bestchannel.lower_bound.characteristic_time import CharacteristicTime, characteristic_time
from bestchannel.lower_bound.known_channels import GaussianTime, KnownChannels, Pair, priced_deviations, small_gap_time
from bestchannel.lower_bound.levels import added, level_time
from bestchannel.process import Progress
from bestchannel.questions import Above, AnyQuestion, Order, Top, Within


def kl_nats(delta: float) -> float:
    """kl(δ, 1-δ) = (1-2δ) log((1-δ)/δ), and 0 from δ = 1/2 on, where guessing one of two is good enough.

    >>> round(kl_nats(0.01), 4)
    4.5032
    """
    return (1.0 - 2.0 * delta) * math.log((1.0 - delta) / delta) if delta < 0.5 else 0.0


@dataclass(frozen=True, eq=False)
class Limit:
    """T* of a question, and the senses below which no policy stays on average; cost, where senses have costs."""

    time: CharacteristicTime
    senses: float


def limit_of(
    question: AnyQuestion, known: KnownChannels, delta: float, *, rtol: float, progress: Progress | None = None
) -> Limit:
    """The limit of a question about known channels."""
    if question.epsilon:
        given = f"epsilon = {question.epsilon:g}"
        raise InputError(f"a lower bound is for the answer itself; with {given} several are right: leave it out")
    if not isinstance(question, Above | Within):
        time = characteristic_time(known, pairs_of(question, known), rtol=rtol, progress=progress)
        return Limit(time, _product(time.lower, kl_nats(delta)))
    limits = list[Limit]()
    for j, channel in enumerate(known.apart()):
        if isinstance(question, Above):
            limits.append(_against_a_level(question.ends(j), channel, delta, rtol))
        else:
            limits.append(_to_within(question, channel, delta, rtol))
        if progress:
            progress(len(limits), len(known.W))
    return Limit(added([limit.time for limit in limits]), sum(limit.senses for limit in limits))


def small_gap_limit(question: AnyQuestion, known: KnownChannels) -> GaussianTime:
    """T* for small gaps: an approximation."""
    if not isinstance(question, Above | Within):
        return small_gap_time(known, pairs_of(question, known))
    sigmas = np.array([each.sum() for each in priced_deviations(known)])
    gaps = NATS_PER_BIT * np.array([_gap(question, j, channel) for j, channel in enumerate(known.apart())])
    with np.errstate(divide="ignore", invalid="ignore"):
        senses = np.where(sigmas > 0.0, 2.0 * (sigmas / gaps) ** 2, 0.0)
    time = float(senses.sum())
    return GaussianTime(time, senses / time if 0.0 < time < math.inf else np.zeros(len(senses)))


def pairs_of(question: AnyQuestion, known: KnownChannels) -> list[Pair]:
    """The pairs that must be told apart: any other answer has the worse of one of them at least as good."""
    if isinstance(question, Order):
        return list(pairwise(known.ranks))
    return known.best_with_all(question.m if isinstance(question, Top) else 1)


def _against_a_level(ends: Mapping[str, float], known: KnownChannels, delta: float, rtol: float) -> Limit:
    """One channel above or below a level.

    Where it is so near that both may be said, one of them is said with probability at least 1/2, though with at most δ
    beyond the other level: what takes less time has kl(1/2, δ) nats.
    """
    (C,), low, high = known.capacities, ends["above"], ends["below"]
    sides = []
    if not C.upper <= low:
        sides.append(level_time(known, low, math.inf, rtol))
    if not C.lower >= high or not sides:
        sides.append(level_time(known, -1.0, high, rtol))
    either = -0.5 * math.log(4.0 * delta * (1.0 - delta)) if delta < 0.5 else 0.0
    nats = kl_nats(delta) if len(sides) == 1 else either
    time = min(sides, key=lambda T: T.lower)
    return Limit(time, _product(time.lower, nats))


def _to_within(question: Within, known: KnownChannels, delta: float, rtol: float) -> Limit:
    """One channel to within a width: T* against both ends, a yardstick, and the senses that are proved to be needed."""
    low, high = _ends(question, known)
    time = level_time(known, low, high, rtol)
    if low < 0.0 or math.isinf(high):
        return Limit(time, _product(time.lower, kl_nats(delta)))
    sides = level_time(known, low, math.inf, rtol), level_time(known, -1.0, high, rtol)
    return Limit(time, _senses_between(known, *sides, delta))


def _ends(question: Within, known: KnownChannels) -> tuple[float, float]:
    """Levels that no interval of this width has within it together with the capacity, or both of which it has not."""
    C, (rows,) = (known.capacities[0].lower + known.capacities[0].upper) / 2, known.W
    width, most = question.width * (C if question.relative else 1.0), math.log2(min(rows.shape))
    low = max(C - width / 2, 0.0)
    if not known.capacities[0].lower > 0.0:
        return -1.0, C + width
    return (low, low + width) if low + width < most else (C - width, math.inf)


def _senses_between(known: KnownChannels, below: CharacteristicTime, above: CharacteristicTime, delta: float) -> float:
    """The N with log 1/(2δ) = N d + ½ √(N v), below which no interval is both narrow enough and right.

    d is the most evidence that a sense brings against either of two mixtures, of channels below and above, and v the
    largest variance of their log-likelihood ratio in a sense.
    """
    W, nats = known.W[0], -math.log(2.0 * delta)
    if nats <= 0.0 or not (below.mixture and above.mixture):
        return 0.0 if nats <= 0.0 else min(below.lower, above.lower)
    (d_below, log_below), (d_above, log_above) = _mixed(known, below), _mixed(known, above)
    ratio = np.where(W > 0.0, log_above - log_below, 0.0)
    variance = np.sum(W * ratio**2, axis=1) - np.sum(W * ratio, axis=1) ** 2
    d, v = np.maximum(d_below, d_above).max(), (variance / known.cost).max() / 16.0
    return float(((math.sqrt(v + d * nats) - math.sqrt(v)) / d) ** 2)


def _mixed(known: KnownChannels, time: CharacteristicTime) -> tuple[Floats, Floats]:
    """The evidence per input against the mixture that proves a time, and the mean of log V over it."""
    cuts = np.array([cut_of(known, each) / known.cost for each in time.alternatives])
    with np.errstate(divide="ignore"):
        logs = np.log([each.rows[0] for each in time.alternatives])
    return time.mixture @ cuts, np.tensordot(time.mixture, logs, axes=1)


def _gap(question: Above | Within, j: int, known: KnownChannels) -> float:
    """The distance in bits that must be told apart; infinite where nothing need be."""
    C = (known.capacities[0].lower + known.capacities[0].upper) / 2
    if isinstance(question, Within):
        low, high = _ends(question, known)
        return min(abs(C - low), abs(high - C)) if low >= 0.0 else high - C
    return max(C - question.ends(j)["above"], question.ends(j)["below"] - C)


def _product(time: float, nats: float) -> float:
    """Senses for so many nats: none for none, also where the time is infinite."""
    return time * nats if nats > 0.0 else 0.0
