"""What a policy asks to be sensed, and what came back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from bestchannel.arrays import Integers, numeric_array
from bestchannel.errors import InputError

MOST_SENSES = 2**63 - 1
"""Senses of one (channel, input) in one request: counts are 64-bit integers."""


@dataclass(frozen=True)
class Request:
    """How often to sense each input of some channels: `senses[channel][x]` times. Answered as a whole."""

    number: int
    senses: Mapping[int, tuple[int, ...]]

    def __post_init__(self) -> None:
        object.__setattr__(self, "senses", MappingProxyType(dict(self.senses)))

    @property
    def total(self) -> int:
        """All senses of the request."""
        return sum(map(sum, self.senses.values()))


@dataclass(frozen=True, eq=False)
class Observation:
    """The answer to a request: `counts[channel][x, y]` of its senses gave output y."""

    request: int
    counts: Mapping[int, Integers]


def checked_counts(
    request: Request, observation: Observation, alphabets: Sequence[tuple[int, int]]
) -> dict[int, Integers]:
    """The counts of an observation that answers the request, or an `InputError` that says why it does not."""
    if not isinstance(observation, Observation) or not isinstance(observation.counts, Mapping):
        raise InputError(
            f"request {request.number} requires an Observation with counts by channel; got {observation!r}"
        )
    if observation.request != request.number:
        raise InputError(f"request {request.number} is open; the observation answers request {observation.request}")
    missing = [channel for channel in request.senses if channel not in observation.counts]
    foreign = [channel for channel in observation.counts if channel not in request.senses]
    if missing or foreign:
        what = f"misses channel {missing[0]}" if missing else f"has channel {foreign[0]}, which was not asked for"
        raise InputError(f"the answer to request {request.number} {what}")
    return {
        channel: _checked_table(observation.counts[channel], senses, alphabets[channel], channel, request.number)
        for channel, senses in request.senses.items()
    }


def _checked_table(
    counts: object, senses: tuple[int, ...], alphabet: tuple[int, int], channel: int, number: int
) -> Integers:
    where = f"the counts of channel {channel} in the answer to request {number}"
    table = numeric_array(counts, where)
    if table.shape != alphabet or table.dtype.kind not in "iu":
        wanted = f"{alphabet[0]} x {alphabet[1]} whole numbers"
        raise InputError(f"{where} must be {wanted}; they are {table.dtype} of shape {table.shape}")
    if table.min() < 0:
        x, y = np.argwhere(table < 0)[0]
        raise InputError(f"{where} must not be negative; input x={x} with output y={y} has {table[x, y]}")
    for x, asked in enumerate(senses):
        found = sum(table[x].tolist())
        if found != asked:
            raise InputError(f"{where} must add up to {asked} senses of input x={x}; they add up to {found}")
    return table.astype(np.int64)
