"""What each question costs at least: its characteristic time, and the senses that follow from it.

Best, Top and Order are told by pairs (b, a) of which b is the better; Above and Within by each channel alone, against
levels, so that their times add up. docs/theory/characteristic-time.md has the proofs.

What a nat costs against levels is how often a channel must be sensed to show on which side of a number it is:

    1/T* = max_w inf{Σ_x w_x D(W_x‖V_x) : C(V) ≤ low or C(V) ≥ high},   low < C(W) < high

A level is a channel of known capacity whose senses cost next to nothing, and T* the time of that pair. Worlds in which
the known channel does not move are among those of the pair, which proves the upper end. For the lower end the pair's
alternatives are moved until a capacity bracket shows that they are past the level themselves.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from bestchannel.arrays import Floats, frozen
from bestchannel.capacity import capacity
from bestchannel.channels import Channel, q_ary_symmetric
from bestchannel.errors import InputError
from bestchannel.information import NATS_PER_BIT, binary_entropy
from bestchannel.lower_bound.alternatives import CAPACITY_TOLERANCE, Alternative, brought_down, cut_of
from bestchannel.lower_bound.characteristic_time import CharacteristicTime, CuttingPlanes, characteristic_time, kl_nats
from bestchannel.lower_bound.known_channels import GaussianTime, KnownChannels, Pair, priced_deviations, small_gap_time
from bestchannel.process import Progress
from bestchannel.questions import Above, AnyQuestion, Best, Order, Top, Within


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
        return _limit(
            characteristic_time(known, pairs_of(question, known), rtol=rtol, progress=progress), kl_nats(delta)
        )
    limits = list[Limit]()
    for j, channel in enumerate(known.apart()):
        if isinstance(question, Above):
            limits.append(_against_a_level(question.ends(j), channel, delta, rtol))
        else:
            limits.append(_to_within(question, channel, delta, rtol))
        if progress:
            progress(len(limits), len(known.W))
    return Limit(added([limit.time for limit in limits]), sum(limit.senses for limit in limits))


def is_bounded(question: AnyQuestion) -> bool:
    """Whether E[τ] ≥ T* kl(δ, 1-δ) on all channels: not where near a level either side may be said, nor of a width."""
    either = question.tolerance if isinstance(question, Above) else question.epsilon
    return not isinstance(question, Within) and either == 0.0


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
    if not isinstance(question, Best | Top):
        raise InputError(f"no lower bound is known for {question!r}")
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
    return _limit(min(sides, key=lambda T: T.lower), kl_nats(delta) if len(sides) == 1 else either)


def _to_within(question: Within, known: KnownChannels, delta: float, rtol: float) -> Limit:
    """One channel to within a width: T* against both ends, a yardstick, and the senses that are proved to be needed."""
    low, high = _ends(question, known)
    time = level_time(known, low, high, rtol)
    if low < 0.0 or math.isinf(high):
        return _limit(time, kl_nats(delta))
    sides = level_time(known, low, math.inf, rtol), level_time(known, -1.0, high, rtol)
    return Limit(time, _senses_between(known, *sides, delta))


def _ends(question: Within, known: KnownChannels) -> tuple[float, float]:
    """Levels that no interval of this width has within it together with the capacity, or both of which it has not."""
    C, (rows,) = known.capacities[0].value, known.W
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
    C = known.capacities[0].value
    if isinstance(question, Within):
        low, high = _ends(question, known)
        return min(abs(C - low), abs(high - C)) if low >= 0.0 else high - C
    return max(C - question.ends(j)["above"], question.ends(j)["below"] - C)


def _limit(time: CharacteristicTime, nats: float) -> Limit:
    """That of so many nats: none for none, also where the time is infinite."""
    return Limit(time, time.lower * nats if nats > 0.0 else 0.0)


KNOWN_PRICE = 1e-6  # of a sense of a channel that is known, relative to the least of the others
MARGIN = 2e-12  # bits by which the known channel lies beyond its level: more than its capacity is uncertain by
TILTS = np.geomspace(1e-7, 10.0, 100)


def level_time(known: KnownChannels, low: float, high: float, rtol: float = 0.01) -> CharacteristicTime:
    """T* of the one channel that is known against a low level and a high one, in bits.

    A level below 0, or one that no channel of this size can pass, stands for none: there is nothing to show.

    >>> link = KnownChannels.of([q_ary_symmetric(2, 0.1)])
    >>> T = level_time(link, 0.5, math.inf)  # BSC(0.110028) has half a bit, and T* = 1/kl(0.1, 0.110028)
    >>> T.lower < 1894.648 < T.upper < 1.01 * T.lower
    True
    """
    (C,), (W,) = known.capacities, known.W
    below = [(low + MARGIN, (0, 1))] if low >= 0.0 else []
    above = [(high - MARGIN, (1 + len(below), 0))] if high < math.log2(min(W.shape)) else []
    levels: list[tuple[float, Pair]] = below + above
    if not levels or not (low < C.lower and C.upper < high):
        T = math.inf if levels else 0.0
        return CharacteristicTime(T, T, (frozen(np.zeros(len(W))),), (), ())
    fixed = KnownChannels.of([channel_of(bits) for bits, _ in levels])
    prices = tuple(np.full(len(rows), KNOWN_PRICE * known.cost.min()) for rows in fixed.W)
    beside = KnownChannels(known.W + fixed.W, known.capacities + fixed.capacities, known.costs + prices)
    return _without_levels(known, characteristic_time(beside, [pair for _, pair in levels], rtol=rtol / 2), low, high)


def _without_levels(known: KnownChannels, found: CharacteristicTime, low: float, high: float) -> CharacteristicTime:
    """The time that was found beside known channels, of the first channel alone."""
    if not found.alternatives:
        return CharacteristicTime(found.lower, found.upper, found.allocation[:1], (), ())
    share = float(found.allocation[0].sum())
    weights = found.allocation[0] / share
    downwards = [next(iter(each.rows)) == 0 for each in found.alternatives]
    moved = zip((each.rows[0] for each in found.alternatives), downwards, strict=True)
    rows = [brought_down(V, low) if down else raised(V, high) for V, down in moved]
    alternatives = tuple(Alternative({0: V}) for V in rows)
    game = CuttingPlanes(known.n_rows)
    game.try_weights(weights)
    game.add_cuts(np.array([cut_of(known, each) / known.cost for each in alternatives]))
    solution = game.solve()
    mixture = tuple(solution.mixture.tolist())
    return CharacteristicTime(1.0 / solution.value, found.upper * share, (frozen(weights),), alternatives, mixture)


def raised(V: Floats, bits: float) -> Floats:
    """The rows tilted away from their output, V_x (V_x/Q)^t, until it is proved that they carry so many bits."""
    C = capacity(V, tol=CAPACITY_TOLERANCE, rtol=1e-6)
    tilted, Q = V, np.maximum(C.output, np.finfo(float).tiny)
    for t in TILTS:
        if C.lower >= bits:
            break
        tilted = V * (V / Q) ** t
        tilted /= tilted.sum(axis=1, keepdims=True)
        C = capacity(tilted, tol=CAPACITY_TOLERANCE, rtol=1e-6)
    return frozen(tilted)


def channel_of(bits: float) -> Channel:
    """A symmetric channel that carries so many bits, of as few letters as can."""
    q = math.floor(2.0**bits) + 1
    low, high = 0.0, 1.0 - 1.0 / q  # error probabilities: more bits, fewer bits
    for _ in range(100):
        p = (low + high) / 2
        low, high = (p, high) if math.log2(q) - binary_entropy(p) - p * math.log2(q - 1) > bits else (low, p)
    return q_ary_symmetric(q, (low + high) / 2)


def added(times: Sequence[CharacteristicTime]) -> CharacteristicTime:
    """T* = Σ_j T*_j of channels that are told each by itself: the senses of one say nothing about another."""
    lower, upper = (sum(getattr(T, end) for T in times) for end in ("lower", "upper"))
    parts = np.array([T.upper if math.isfinite(T.upper) else T.lower for T in times])
    shares = parts / parts.sum() if 0.0 < parts.sum() < math.inf else np.zeros(len(times))
    worlds = [(j, i) for j, T in enumerate(times) for i in range(len(T.mixture)) if math.isfinite(lower)]
    return CharacteristicTime(
        lower,
        upper,
        tuple(frozen(share * T.allocation[0]) for share, T in zip(shares, times, strict=True)),
        tuple(Alternative({j: times[j].alternatives[i].rows[0]}) for j, i in worlds),
        tuple(times[j].lower / lower * times[j].mixture[i] for j, i in worlds),
    )
