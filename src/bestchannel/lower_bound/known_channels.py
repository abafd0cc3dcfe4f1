"""Known channels as the lower bounds see them: rows, capacities, the best one, and the time that small gaps take.

[GK16] Garivier, Kaufmann, "Optimal Best Arm Identification with Fixed Confidence".
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from bestchannel.arrays import Floats
from bestchannel.capacity import Capacity, capacities_by_name
from bestchannel.channels import Channel
from bestchannel.channels.channel import Costs
from bestchannel.errors import InputError
from bestchannel.information import NATS_PER_BIT

CAPACITY_TOLERANCE = 1e-12  # bits: two channels whose capacities are closer than the brackets cannot be told apart
STEPS = 200  # of the multipliers of pairs

Pair = tuple[int, int]  # of channels, the better one first


def named_channels(channels: Mapping[str, object] | Sequence[object]) -> dict[Hashable, Channel]:
    """The channels by name, or by their place, in whichever form they come."""
    pairs = channels.items() if isinstance(channels, Mapping) else enumerate(channels)
    given: dict[Hashable, object] = dict(pairs)
    if not given:
        raise InputError("a lower bound requires at least one channel; none was given")
    return {
        name: channel if isinstance(channel, Channel) else Channel.from_rows(channel, name=str(name))
        for name, channel in given.items()
    }


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
    def ranks(self) -> list[int]:
        """The channels by capacity, the largest first."""
        return sorted(range(len(self.W)), key=lambda j: -self.capacities[j].value)

    @property
    def best(self) -> int | None:
        """The one channel that is better than all others, None where the brackets leave it open."""
        b, *others = self.ranks
        return b if all(self.capacities[b].lower > self.capacities[a].upper for a in others) else None

    def apart(self) -> list[KnownChannels]:
        """Every channel by itself."""
        return [KnownChannels((W,), (C,), (c,)) for W, C, c in zip(self.W, self.capacities, self.costs, strict=True)]

    @property
    def gaps(self) -> Floats:
        """Δ_j = C_b - C_j ≥ 0, in bits: the middles of the brackets."""
        middles = np.array([C.value for C in self.capacities])
        return middles.max() - middles

    def best_with_all(self, m: int = 1) -> list[Pair]:
        """Every one of the best m with every other channel."""
        return [(b, a) for b in self.ranks[:m] for a in sorted(self.ranks[m:])]

    @cached_property
    def blocks(self) -> tuple[slice, ...]:
        """Where the inputs of each channel stand in a vector over all (channel, input)."""
        ends = np.cumsum([0] + [len(W) for W in self.W]).tolist()
        return tuple(slice(first, last) for first, last in pairwise(ends))

    @property
    def n_rows(self) -> int:
        """The number of pairs (channel, input)."""
        return self.blocks[-1].stop


@dataclass(frozen=True, eq=False)
class GaussianTime:
    """The time in senses per nat, and the share of the senses that each channel gets; of the cost, where it has one.

    0 where nothing is noisy: the plug-in capacity then has no variance, and the approximation says nothing.
    """

    time: float
    shares: Floats


def small_gap_time(known: KnownChannels, pairs: Sequence[Pair] | None = None) -> GaussianTime:
    """The approximation of T* for pairs whose worse channel could be the better one; of the best without pairs."""
    sigmas = np.array([each.sum() for each in priced_deviations(known)])
    pairs = known.best_with_all() if pairs is None else pairs
    possible = [(b, a) for b, a in pairs if min(known.W[a].shape) > 1]
    nats = known.gaps * NATS_PER_BIT
    return gaussian_time(np.array([nats[a] - nats[b] for b, a in possible]), sigmas, possible)


def priced_deviations(known: KnownChannels) -> list[Floats]:
    """P*_x √(V_x c_x) of every input of every channel: with costs c_x, the proportions of what is spent on the inputs.

    Σ_x c_x n_x is least for a given variance Σ_x P*_x² V_x/n_x where n_x is in proportion to P*_x √(V_x/c_x).
    """
    channels = zip(known.W, known.capacities, known.costs, strict=True)
    return [input_deviations(W, C) * np.sqrt(cost) for W, C, cost in channels]


def input_deviations(W: Floats, capacity: Capacity) -> Floats:
    """P*_x √V_x of every input, V_x = Var_{W_x} log(W_x/Q*), in nats; their sum is σ, their proportions the best split.

    By the delta method the variance of the plug-in capacity is Σ_x P*_x² V_x/n_x: the gradient of C in the row W_x is
    P*_x log(W_x/Q*).
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = np.where(W > 0.0, np.log(W / capacity.output), 0.0)
    means = np.sum(W * scores, axis=1, keepdims=True)
    return capacity.input * np.sqrt(np.sum(W * (scores - means) ** 2, axis=1))


def gaussian_time(gaps_nats: Floats, sigmas: Floats, pairs: Sequence[Pair]) -> GaussianTime:
    """1/max_w min_(b,a) Δ_ba²/(2(σ_b²/w_b + σ_a²/w_a)): Gaussian arms with unequal variances [GK16].

    The plug-in capacity of channel j after n senses is about normal around C_j with variance σ_j²/n, when the senses
    are split over the inputs in the best way. A nat for every pair requires σ_b²/n_b + σ_a²/n_a ≤ Δ_ba²/2. With
    multipliers λ of these, n_j² is σ_j² times the sum of λ over the pairs of j; every λ is multiplied by what its pair
    lacks until none does. Two channels need 2(σ_1+σ_2)²/Δ².

    >>> round(gaussian_time(np.array([0.1]), np.array([1.0, 2.0]), [(0, 1)]).time, 9)
    1800.0
    """
    if not len(pairs):
        return GaussianTime(0.0, np.zeros(len(sigmas)))
    if not gaps_nats.min() > 0.0:
        return GaussianTime(math.inf, np.zeros(len(sigmas)))
    k, v, half = len(sigmas), sigmas**2, gaps_nats**2 / 2
    over, under = np.array(pairs).T
    multipliers = np.maximum(v[over] + v[under], np.finfo(float).tiny) / half**2
    for _ in range(STEPS):
        senses = np.sqrt(v * (np.bincount(over, multipliers, k) + np.bincount(under, multipliers, k)))
        spread = np.divide(v, senses, out=np.zeros(k), where=senses > 0.0)
        lacks = (spread[over] + spread[under]) / half
        multipliers *= np.clip(lacks, 0.05, 20.0) ** 0.9
    senses *= lacks.max()
    time = float(senses.sum())
    return GaussianTime(time, senses / time if time > 0.0 else senses)
