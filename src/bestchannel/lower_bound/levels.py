"""What a nat costs against levels: how often a channel must be sensed to show on which side of a number it is.

    1/T* = max_w inf{Σ_x w_x D(W_x‖V_x) : C(V) ≤ low or C(V) ≥ high},   low < C(W) < high

A level is a channel of known capacity whose senses cost next to nothing, and T* the time of that pair. Worlds in which
the known channel does not move are among those of the pair, which proves the upper end. For the lower end the pair's
alternatives are moved until a capacity bracket shows that they are past the level themselves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from bestchannel.arrays import Floats, frozen
from bestchannel.capacity import capacity
from bestchannel.channels import Channel, q_ary_symmetric
from bestchannel.information import binary_entropy
from bestchannel.lower_bound.alternatives import CAPACITY_TOLERANCE, Alternative, brought_down, cut_of
from bestchannel.lower_bound.characteristic_time import CharacteristicTime, CuttingPlanes, characteristic_time
from bestchannel.lower_bound.known_channels import KnownChannels, Pair

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
