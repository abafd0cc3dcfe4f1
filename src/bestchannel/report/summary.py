"""What a report shows, computed once from the record of an identification: no drawing here."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bestchannel.arrays import Floats, Integers
from bestchannel.intervals import ChannelEstimate, Estimate
from bestchannel.policies import Identification, Status
from bestchannel.report.sound_record import require_sound
from bestchannel.runs.results import anytime_estimates, told_counts


@dataclass(frozen=True, eq=False)
class Measured:
    """One channel with all its counts.

    `estimate` is None where it was never sensed, or more often than doubles can count.
    `ruled_out_after` is the number of senses, of all channels, after which it was no candidate any more.
    """

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    counts: Integers
    senses: int
    estimate: ChannelEstimate | None
    ruled_out_after: int | None

    @property
    def by_input(self) -> Floats:
        """The senses of every input."""
        return self.counts.sum(axis=1, dtype=float)

    @property
    def W_hat(self) -> Floats:
        """The relative frequencies counts[x, y] / Σ_y counts[x, y]; NaN in a row that was not sensed."""
        with np.errstate(invalid="ignore"):
            rows: Floats = self.counts / self.counts.sum(axis=1, keepdims=True, dtype=float)
        return rows


def values_of(found: Estimate | None) -> str:
    """What an estimate has found, of all channels."""
    return "Capacities" if found is None or found.input_distribution is None else "Values of I(P;W)"


@dataclass(frozen=True, eq=False)
class Summary:
    """An identification with its channels, best first, and where it stood after each step.

    `found` is the estimate of counts that came without a course.
    """

    result: Identification
    channels: tuple[Measured, ...]
    course: tuple[Status, ...]
    found: Estimate | None = None

    @property
    def names(self) -> list[str]:
        """The names in the order of the record, by which a `Status` numbers the channels."""
        return [str(labels.key) for labels in self.result.audit.channels]

    @property
    def best(self) -> Measured | None:
        """The channel that the verdict names."""
        return self.channels[0] if self.result.decided else None

    @property
    def more_senses(self) -> int | None:
        """About how many senses more would decide, by the last forecast."""
        if self.found is not None:
            return self.found.verdict.more_senses
        return self.course[-1].more_senses if self.course else None

    @property
    def input_distribution(self) -> list[float] | None:
        """The P at which I(P;W) was compared, None where capacities were."""
        return self.result.audit.options.get("input_distribution")

    @property
    def values(self) -> str:
        """What the intervals are of: capacities, unless counts were estimated at one input distribution."""
        return values_of(self.found)

    @property
    def quantity(self) -> str:
        """The same of one channel."""
        return "capacity" if self.found is None else self.found.quantity

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the channels, their letters and all counts in their order: the data, however they are stored."""
        parties = [[str(p.key), p.inputs, p.outputs] for p in self.result.audit.channels]
        told: list[object] = [
            [[channel, step.counts[channel].tolist()] for channel in sorted(step.counts)]
            for step in self.result.audit.steps
        ]
        if self.found is not None:
            tables = {channel.name: channel.counts.tolist() for channel in self.channels}
            told = [[[j, tables[name]] for j, name in enumerate(self.names)]]
        return hashlib.sha256(json.dumps([parties, told], separators=(",", ":")).encode()).hexdigest()


def summarise(result: Identification) -> Summary:
    """The summary of a finished or unfinished identification; a record that contradicts itself is refused."""
    require_sound(result)
    parties = result.audit.channels
    tables = told_counts(result)
    senses = [sum(map(int, table.sum(axis=1))) for table in tables]
    estimates = anytime_estimates(result, tables)
    course = tuple(step.status for step in result.audit.steps)
    channels = [
        Measured(str(p.key), p.inputs, p.outputs, tables[j], senses[j], estimates[j], _ruled_out_after(j, course))
        for j, p in enumerate(parties)
    ]
    return Summary(result, tuple(best_first(channels, result)), course)


def _ruled_out_after(channel: int, course: Sequence[Status]) -> int | None:
    for earlier in range(len(course), 0, -1):
        if channel in course[earlier - 1].candidates:
            return course[earlier].senses if earlier < len(course) else None
    return course[0].senses if course else None


def best_first(channels: Sequence[Measured], result: Identification) -> list[Measured]:
    """The named channel, then the candidates, then the others, each by their estimates."""
    left = {str(key) for key in result.candidates}

    def rank(channel: Measured) -> tuple[bool, bool, float]:
        named = result.decided and channel.name == str(result.best)
        capacity = channel.estimate.capacity if channel.estimate else -1.0
        return (not named, channel.name not in left, -capacity)

    return sorted(channels, key=rank)
