"""Known channels as the lower bounds see them: rows, capacities, the best one, and the time that small gaps take.

[GK16] Garivier, Kaufmann, "Optimal Best Arm Identification with Fixed Confidence".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from bestchannel.arrays import Floats
from bestchannel.capacity import Capacity, capacities_by_name
from bestchannel.channels import Channel
from bestchannel.channels.sense_costs import Costs
from bestchannel.information import NATS_PER_BIT

CAPACITY_TOLERANCE = 1e-12  # bits: two channels whose capacities are closer than the brackets cannot be told apart


@dataclass(frozen=True, eq=False)
class KnownChannels:
    """The rows of every channel, summing to 1, their capacities, and what a sense of each input costs."""

    W: tuple[Floats, ...]
    capacities: tuple[Capacity, ...]
    costs: tuple[Floats, ...]

    @classmethod
    def of(cls, channels: Sequence[Channel], costs: Costs | None = None) -> KnownChannels:
        """These channels, their capacities solved together; every sense costs 1 unless said otherwise."""
        answers = capacities_by_name(
            {str(j): channel for j, channel in enumerate(channels)}, tol=CAPACITY_TOLERANCE, rtol=1e-9
        )
        rows = tuple(channel.W / channel.W.sum(axis=1, keepdims=True) for channel in channels)
        each = [np.ones(len(W)) for W in rows] if costs is None else [np.array(c) for c in costs]
        return cls(rows, tuple(answers.values()), tuple(each))

    @property
    def cost(self) -> Floats:
        """Of a sense of every (channel, input)."""
        return np.concatenate(self.costs)

    @cached_property
    def leader(self) -> int:
        """The channel with the largest capacity, the first of several."""
        return int(np.argmax([(C.lower + C.upper) / 2 for C in self.capacities]))

    @property
    def best(self) -> int | None:
        """The one channel that is better than all others, None where the brackets leave it open."""
        b = self.leader
        others = [C.upper for j, C in enumerate(self.capacities) if j != b]
        return b if all(self.capacities[b].lower > upper for upper in others) else None

    @property
    def gaps(self) -> Floats:
        """Δ_j = C_b - C_j ≥ 0, in bits: the middles of the brackets."""
        middles = np.array([(C.lower + C.upper) / 2 for C in self.capacities])
        return middles[self.leader] - middles

    @property
    def gaps_nats(self) -> Floats:
        """Δ_j in nats."""
        return self.gaps * NATS_PER_BIT

    @cached_property
    def rivals(self) -> tuple[int, ...]:
        """The channels that could be the best one: all but those with a single input or output, which never are."""
        return tuple(j for j, W in enumerate(self.W) if j != self.leader and min(W.shape) > 1)

    @cached_property
    def blocks(self) -> tuple[slice, ...]:
        """Where the inputs of each channel stand in a vector over all (channel, input)."""
        ends = np.cumsum([0] + [len(W) for W in self.W]).tolist()
        return tuple(slice(first, last) for first, last in pairwise(ends))

    @property
    def n_rows(self) -> int:
        """The number of pairs (channel, input)."""
        return self.blocks[-1].stop


HALVINGS = 200


@dataclass(frozen=True, eq=False)
class GaussianTime:
    """The time in senses per nat, and the share of the senses that each channel gets; of the cost, where it has one.

    0 where nothing is noisy: the plug-in capacity then has no variance, and the approximation says nothing.
    """

    time: float
    shares: Floats


def small_gap_time(known: KnownChannels) -> GaussianTime:
    """The approximation of T* for the best channel and those that could be better."""
    sigmas = np.array([each.sum() for each in priced_deviations(known)])
    players = [known.leader, *known.rivals]
    answer = gaussian_time(known.gaps_nats[players], sigmas[players], 0)
    shares = np.zeros(len(sigmas))
    shares[players] = answer.shares
    return GaussianTime(answer.time, shares)


def priced_deviations(known: KnownChannels) -> list[Floats]:
    """P*_x √(V_x c_x) of every input of every channel: with costs c_x, the proportions of what is spent on the inputs.

    Σ_x c_x n_x is least for a given variance Σ_x P*_x² V_x/n_x where n_x is in proportion to P*_x √(V_x/c_x).
    """
    channels = zip(known.W, known.capacities, known.costs, strict=True)
    return [input_deviations(W, C) * np.sqrt(cost) for W, C, cost in channels]


def input_deviations(W: Floats, capacity: Capacity) -> Floats:
    """P*_x √V_x of every input, V_x = Var_{W_x} log(W_x/Q*), in nats; their sum is σ, their proportions the best split.

    By the delta method the variance of the plug-in capacity is Σ_x P*_x² V_x/n_x: the gradient
    of C in the row W_x is P*_x log(W_x/Q*).
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = np.where(W > 0.0, np.log(W / capacity.output), 0.0)
    means = np.sum(W * scores, axis=1, keepdims=True)
    deviations: Floats = capacity.input * np.sqrt(np.sum(W * (scores - means) ** 2, axis=1))
    return deviations


def gaussian_time(gaps_nats: Floats, sigmas: Floats, best: int) -> GaussianTime:
    """1/max_w min_{a≠b} Δ_a²/(2(σ_b²/w_b + σ_a²/w_a)): the best of Gaussian arms with unequal variances [GK16].

    The plug-in capacity of channel j after n senses is about normal around C_j with variance σ_j²/n, when the senses
    are split over the inputs in the best way. To collect one nat against every rival with N_b senses of the best
    channel, rival a needs N_a = σ_a²/(Δ_a²/2 - σ_b²/N_b); the sum of all is convex in N_b, and its derivative is
    1 - Σ_a (σ_a σ_b/(N_b Δ_a²/2 - σ_b²))². Two channels need 2(σ_1+σ_2)²/Δ².

    >>> round(gaussian_time(np.array([0.0, 0.1]), np.array([1.0, 2.0]), 0).time, 9)
    1800.0
    """
    rivals = np.arange(len(gaps_nats)) != best
    half, sigma, b2 = gaps_nats[rivals] ** 2 / 2, sigmas[rivals], float(sigmas[best]) ** 2
    if not len(half):
        return GaussianTime(0.0, np.zeros(len(gaps_nats)))
    if not half.min() > 0.0:
        return GaussianTime(math.inf, np.zeros(len(gaps_nats)))
    N_b = _senses_of_best(half, sigma, b2)
    counts = np.zeros(len(gaps_nats))
    counts[best] = N_b
    room = np.maximum(half - (b2 / N_b if N_b > 0.0 else 0.0), np.finfo(float).tiny)
    counts[rivals] = np.where(sigma > 0.0, sigma**2 / room, 0.0)
    time = float(counts.sum())
    return GaussianTime(time, counts / time if time > 0.0 else counts)


def _senses_of_best(half: Floats, sigma: Floats, b2: float) -> float:
    """The zero of the derivative in N_b, by bisection."""
    low = float(np.max(b2 / half))
    high = float(np.max((b2 + sigma * math.sqrt(b2 * len(half))) / half))
    for _ in range(HALVINGS if high > low else 0):
        middle = (low + high) / 2
        ratios = sigma * math.sqrt(b2) / np.maximum(middle * half - b2, 1e-150)
        low, high = (middle, high) if np.sum(ratios**2) > 1.0 else (low, middle)
    return high
