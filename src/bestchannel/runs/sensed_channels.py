"""What the answers of an identification say of every channel: its counts, and its capacity between proved ends."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bestchannel.arrays import Integers
from bestchannel.intervals import ChannelEstimate, estimate
from bestchannel.policies import Identification

MOST_COUNTS = 2**53
"""Senses of a channel from which no capacity is estimated: doubles do not hold them one by one."""


def told_counts(result: Identification) -> list[Integers]:
    """All counts of every channel; beyond 64 bits as Python's integers."""
    kind = object if result.senses > np.iinfo(np.int64).max else np.int64
    totals = [np.zeros(labels.alphabet, dtype=kind) for labels in result.audit.channels]
    for step in result.audit.steps:
        for channel, table in step.counts.items():
            totals[channel] += table
    return totals


def anytime_estimates(result: Identification, tables: Sequence[Integers]) -> list[ChannelEstimate | None]:
    """Of every channel with counts to estimate from: all intervals at once hold with probability 1 - δ, at any time.

    Which channels those are is up to the data, so each gets δ/k as if all k were among them.
    """
    senses = [sum(map(int, table.sum(axis=1))) for table in tables]
    usable = {str(j): table.astype(np.int64) for j, table in enumerate(tables) if 0 < senses[j] <= MOST_COUNTS}
    if not usable:
        return [None] * len(tables)
    answer = estimate(usable, delta=result.delta * len(usable) / len(tables), design="adaptive")
    found = {channel.name: channel for channel in answer.channels}
    return [found.get(str(j)) for j in range(len(tables))]
