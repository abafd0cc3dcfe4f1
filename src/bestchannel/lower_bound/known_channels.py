"""Known channels as the lower bounds see them: rows, capacities, the best one, and the rivals that matter."""

from __future__ import annotations

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

CAPACITY_TOLERANCE = 1e-12
"""Bits: two channels whose capacities are closer than the brackets cannot be told apart."""


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
