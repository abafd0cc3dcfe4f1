"""Random sets of channels on which the policies are tried."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from bestchannel.arrays import Floats, Integers, number_in
from bestchannel.capacity import capacities, capacities_by_name
from bestchannel.channels import Channel
from bestchannel.errors import InputError
from bestchannel.information import NATS_PER_BIT

GAP_TOLERANCE = 0.02  # how far, relatively, the smallest gap of an instance may be from the requested one
CAPACITY_TOLERANCE = 1e-12  # bits: far below the gap of any near-tie that a run could resolve


@dataclass(frozen=True)
class Instance:
    """Channels, their capacities in bits, and which of them is the best."""

    channels: tuple[Channel, ...]
    capacities: Floats
    best: int

    @classmethod
    def of(cls, channels: Iterable[Channel]) -> Instance:
        """The channels with their capacities; their alphabets may differ."""
        known = tuple(channels)
        answers = capacities_by_name({str(j): channel for j, channel in enumerate(known)}, tol=CAPACITY_TOLERANCE)
        values = np.array([(answer.lower + answer.upper) / 2 for answer in answers.values()])
        return cls(known, values, int(np.argmax(values)))

    @property
    def gaps(self) -> Floats:
        """Δ_j = max C - C_j, in bits."""
        return self.capacities[self.best] - self.capacities

    @property
    def alphabets(self) -> list[tuple[int, int]]:
        """(n_inputs, n_outputs) of every channel, as policies take it."""
        return [(channel.n_inputs, channel.n_outputs) for channel in self.channels]


def random_binary_channels(rng: np.random.Generator, k: int, gap_nats: float, *, pool: int = 1024) -> Instance:
    """k of `pool` random binary channels, the best one about `gap_nats` ahead of the second [EBWGW24, Sec. IV].

    The rows of the pool are uniform on the simplex. All choices of k channels from it whose
    smallest gap is the requested one within 2 % are equally likely, and so are their orders.

    >>> instance = random_binary_channels(np.random.default_rng(1), 10, 0.13)
    >>> bool(abs(np.sort(instance.gaps)[1] * np.log(2) / 0.13 - 1) < 0.02)
    True
    """
    if not 2 <= k <= pool:
        raise InputError(f"k must be between 2 and the {pool} channels of the pool; it is {k}")
    gap = number_in(gap_nats, "the smallest gap (nats)", low=0.0, high=NATS_PER_BIT) / NATS_PER_BIT
    W = rng.dirichlet([1.0, 1.0], size=(pool, 2))
    values = capacities(W, workers=1).value
    ranked = np.argsort(-values, kind="stable")
    first, second = _leaders(values[ranked], k, gap, rng)
    others = rng.choice(np.arange(second + 1, pool), size=k - 2, replace=False)
    chosen = rng.permutation(ranked[np.array([first, second, *others])])
    return Instance.of(map(Channel.from_rows, W[chosen]))


def _leaders(falling: Floats, k: int, gap: float, rng: np.random.Generator) -> Integers:
    """The ranks of the best two channels: `gap` bits apart, drawn by the number of ways to add k - 2 lesser ones."""
    pool = len(falling)
    apart = falling[:, None] - falling[None, : pool - k + 2]
    fitting = np.argwhere(np.abs(apart - gap) <= GAP_TOLERANCE * gap)
    if not len(fitting):
        raise InputError(
            f"no two of the {pool} random channels are {gap * NATS_PER_BIT:.3g} nats apart with {k - 2} below them;"
            " draw a larger pool, or ask for a smaller gap"
        )

    def log_ways(lesser: int) -> float:
        """log of the binomial coefficient of `lesser` over k - 2."""
        return math.lgamma(lesser + 1) - math.lgamma(k - 1) - math.lgamma(lesser - k + 3)

    ways = np.array([log_ways(pool - 1 - second) for second in fitting[:, 1].tolist()])
    weights = np.exp(ways - ways.max())
    pair: Integers = fitting[rng.choice(len(fitting), p=weights / weights.sum())]
    return pair
