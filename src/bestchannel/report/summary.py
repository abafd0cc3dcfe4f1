"""What a page shows of a result, computed once: of an identification, or of an estimate. No drawing here."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from bestchannel.arrays import Floats, Integers
from bestchannel.counts.labelled_counts import LabelledCounts
from bestchannel.errors import InputError
from bestchannel.intervals import ChannelEstimate, Estimate, estimate
from bestchannel.intervals.verdict import one_digit
from bestchannel.policies import ChannelLabels, Identification, Status, Step
from bestchannel.policies.transcript import MOST_COUNTS, share_of, told_counts
from bestchannel.promises import amount, in_words
from bestchannel.questions import AnyQuestion
from bestchannel.report.markup import bits, brief, named, several


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
    ruled_out_after: int | None = None

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


@dataclass(frozen=True, eq=False)
class Summary:
    """A result with its channels, best first, and how it came to that: step by step, or from counts at once.

    `labels` are the channels in the order of the record, by which `told`, the counts of every step, and a `Status`
    number them. `course` is where a policy stood after each step; an `Estimate` has none, and is told once.
    """

    result: Identification | Estimate
    channels: tuple[Measured, ...]
    labels: tuple[ChannelLabels, ...]
    told: tuple[Mapping[int, Integers], ...]
    course: tuple[Status, ...] = ()

    @property
    def estimate(self) -> Estimate | None:
        """The result, where it is one of recorded counts."""
        return self.result if isinstance(self.result, Estimate) else None

    @property
    def policy(self) -> str | None:
        """The policy that sensed."""
        return getattr(self.result, "policy", None)

    @property
    def cost(self) -> float | None:
        """What its senses cost, where they had costs."""
        return getattr(self.result, "cost", None)

    @property
    def question(self) -> AnyQuestion | None:
        """What was asked, where that is something else than the best; the result has findings then."""
        return None if self.result.findings is None else self.result.question

    @property
    def best(self) -> str | None:
        """The channel that is named."""
        return None if self.question is not None or self.result.best is None else str(self.result.best)

    @property
    def candidates(self) -> tuple[str, ...]:
        """The channels of which something is open."""
        return tuple(map(str, self.result.candidates))

    @property
    def marked(self) -> frozenset[str]:
        """The channels that stand out: the candidates, or those that the answer names."""
        found = self.result.findings
        return frozenset(self.candidates if found is None else map(str, found.named))

    @property
    def senses(self) -> int:
        """Those of all channels; shots, where these are what was asked for."""
        return self.course[-1].senses if self.unit == "shot" else sum(channel.senses for channel in self.channels)

    @property
    def unit(self) -> str:
        """What a policy asked for and spent: senses, or shots that all channels answer at once."""
        return self.course[-1].unit if self.course else "sense"

    @property
    def names(self) -> list[str]:
        """The names in the order of the record."""
        return [str(labels.key) for labels in self.labels]

    @property
    def options(self) -> Mapping[str, Any]:
        """Those of the policy, or of the estimate, beyond delta and epsilon."""
        if isinstance(self.result, Identification):
            return self.result.audit.options
        P = self.result.input_distribution
        return {} if P is None else {"input_distribution": list(P)}

    @property
    def input_distribution(self) -> list[float] | None:
        """The P at which I(P;W) was compared, None where capacities were."""
        return self.options.get("input_distribution")

    @property
    def values(self) -> str:
        """What the intervals are of: capacities, unless counts were estimated at one input distribution."""
        return "Capacities" if self.quantity == "capacity" else "Values of I(P;W)"

    @property
    def quantity(self) -> str:
        """The same of one channel."""
        return "capacity" if self.estimate is None else self.estimate.quantity

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the channels, their letters and all counts in their order: the data, however they are stored."""
        letters = [[str(labels.key), labels.inputs, labels.outputs] for labels in self.labels]
        told = [[[channel, step[channel].tolist()] for channel in sorted(step)] for step in self.told]
        return hashlib.sha256(json.dumps([letters, told], separators=(",", ":")).encode()).hexdigest()

    @property
    def verdict(self) -> str:
        """What was found, in one sentence."""
        value = "capacity" if self.input_distribution is None else "I(P;W)"
        if self.question is not None:
            said = self.question.answer(self.result)
            return f"{said[:1].upper()}{said[1:]}."
        if self.best is None:
            left = set(self.candidates)
            names = [channel.name for channel in self.channels if channel.name in left]
            return f"Undecided between {named(names)}." if names else "Undecided."
        if len(self.channels) == 1:
            known = self.channels[0].estimate if self.estimate else None
            alone = "is the only channel" if known is None else f"carries {bits(known.capacity)} bits per channel use"
            return f"{brief(self.best)} {alone}."
        if self.result.epsilon:
            return f"{brief(self.best)} is within {self.result.epsilon:g} bit of the largest {value}."
        return f"{brief(self.best)} has the largest {value}."

    @property
    def promise(self) -> str:
        """The guarantee of the verdict, or what is missing to one."""
        if self.result.decided:
            return in_words(self.result.guarantee)
        if not self.told:
            return "Nothing has been sensed yet."
        more = self.course[-1].more_senses if self.course else None
        if self.estimate is not None and self.question is None:  # of which channel is the best, nothing else
            more = self.estimate.verdict.more_senses
        forecast = f"There is no forecast of the {self.unit}s that it would still take."
        if more is not None:
            forecast = f"Some {several(one_digit(more), f'more {self.unit}')} would decide, if the estimates are right."
        said: list[str | None] = []
        if isinstance(self.result, Identification):
            said = [self.result.proved_so_far, self.result.evidence.words if self.result.evidence else None]
        return " ".join([*map(in_words, filter(None, said)), forecast])

    @property
    def spent(self) -> str:
        """How much was sensed."""
        paid = "" if self.cost is None else f", which cost {amount(self.cost)},"
        sensed = f"{several(self.senses, self.unit)} of {several(len(self.channels), 'channel')}"
        return f"{sensed}{paid} in {several(len(self.course), 'request')}."


def summarise(result: Identification | Estimate) -> Summary:
    """The summary of counts, or of an identification, finished or not; a record that contradicts itself is refused."""
    return _of_counts(result) if isinstance(result, Estimate) else _of_record(result)


def _of_record(result: Identification) -> Summary:
    require_consistent(result)
    steps, tables = result.audit.steps, told_counts(result)
    senses = [sum(map(int, table.sum(axis=1))) for table in tables]
    estimates = _anytime_estimates(result, tables)
    course = tuple(step.status for step in steps)
    channels = [
        Measured(str(c.key), c.inputs, c.outputs, tables[j], senses[j], estimates[j], _ruled_out_after(j, course))
        for j, c in enumerate(result.audit.channels)
    ]
    return Summary(
        result, _best_first(channels, result), result.audit.channels, tuple(step.counts for step in steps), course
    )


MOST = 10**30  # more senses than any record that 64-bit counts can hold


def require_consistent(result: Identification) -> None:
    """Raise `InputError` where a record contradicts itself or has numbers that cannot be; the schema has the rest."""
    nearly, steps = result.nearly_best, result.audit.steps
    right = {
        "decided": result.findings is not None or result.decided == (result.best is not None),
        "senses": 0 <= result.senses <= MOST,
        "rounds": 0 <= result.rounds <= MOST,
        "delta": 0.0 < result.delta < 1.0,
        "epsilon": result.epsilon >= 0.0,
        "cost": result.cost is None or result.cost >= 0.0,
        "nearly_best": nearly is None or nearly.within_bits >= 0.0,
        "evidence": result.evidence is None or (result.evidence.e_value > 1.0 and not result.decided),
    }
    if wrong := [key for key, is_right in right.items() if not is_right]:
        raise InputError(f"{wrong[0]} of the record cannot be right; it is {str(getattr(result, wrong[0]))[:80]!r}")
    names = {str(labels.key) for labels in result.audit.channels}
    if len(names) < len(result.audit.channels):
        raise InputError("the record must have channels whose names differ")
    named = {*map(str, result.candidates), *([] if result.best is None else [str(result.best)])}
    if result.findings is not None:
        result.findings.called(lambda channel: named.add(str(channel)))
    if (named | ({str(nearly.channel)} if nearly else set())) - names:
        raise InputError("the record names a best channel, or a candidate, that is none of its channels")
    for step in steps:
        _require_consistent_step(step, result.audit.channels)
    told = sum(map(_senses_told, steps))
    if told != result.senses:
        raise InputError(
            f"the record contradicts itself: its senses are said to be {result.senses}, and its counts add up to {told}"
        )
    totals = [0, *(step.status.senses for step in steps), result.senses]
    if any(later < earlier for earlier, later in pairwise(totals)):
        raise InputError("the record contradicts itself: its senses must grow from step to step")


def _senses_told(step: Step) -> int:
    """How many senses the counts of a step are of; of shots, those of the channel that they are paired with."""
    paired = step.request.paired
    tables = step.counts.values() if paired is None else [step.counts[paired]]
    return sum(int(row) for table in tables for row in table.sum(axis=1))


def _require_consistent_step(step: Step, channels: Sequence[ChannelLabels]) -> None:
    where, status = f"step {str(step.request.number)[:20]} of the record", step.status
    for channel, table in step.counts.items():
        if table.shape != channels[channel].alphabet or table.min() < 0:
            size = " x ".join(map(str, channels[channel].alphabet))
            raise InputError(f"{where} must have {size} counts >= 0 of channel {str(channels[channel].key)!r}")
    numbers = (step.request.number, status.senses, status.requests, status.rounds, status.next_senses)
    if not all(0 <= number <= MOST for number in (*numbers, status.more_senses or 0)):
        raise InputError(f"{where} has a status that cannot be right")


def _anytime_estimates(result: Identification, tables: Sequence[Integers]) -> list[ChannelEstimate | None]:
    """Of every channel with counts to estimate from: all intervals at once hold with probability 1 - δ, at any time.

    Which channels those are is up to the data, so each gets δ/k as if all k were among them.
    """
    usable = {
        str(j): LabelledCounts(str(j), table.astype(np.int64), labels.inputs, labels.outputs, inferred_outputs=False)
        for j, (labels, table) in enumerate(zip(result.audit.channels, tables, strict=True))
        if 0 < sum(map(int, table.sum(axis=1))) <= MOST_COUNTS
    }
    if not usable:
        return [None] * len(tables)
    answer = estimate(usable, delta=share_of(result.delta, len(usable), len(tables)), design="adaptive")
    known = {channel.name: channel for channel in answer.channels}
    return [known.get(str(j)) for j in range(len(tables))]


def _of_counts(estimate: Estimate) -> Summary:
    channels = [
        Measured(c.name, c.inputs, c.outputs, np.array(c.counts, dtype=np.int64), c.senses, c)
        for c in estimate.channels
    ]
    labels = tuple(ChannelLabels(c.name, c.inputs, c.outputs) for c in channels)
    told = {j: channel.counts for j, channel in enumerate(channels)}
    return Summary(estimate, _best_first(channels, estimate), labels, (told,))


def _ruled_out_after(channel: int, course: Sequence[Status]) -> int | None:
    for earlier in range(len(course), 0, -1):
        if channel in course[earlier - 1].candidates:
            return course[earlier].senses if earlier < len(course) else None
    return course[0].senses if course else None


def _best_first(channels: Iterable[Measured], result: Identification | Estimate) -> tuple[Measured, ...]:
    """The named channel, then the candidates, then the others, each by their estimates."""
    best = None if result.findings is not None else result.best
    left = set(map(str, result.candidates))

    def rank(channel: Measured) -> tuple[bool, bool, float]:
        capacity = channel.estimate.capacity if channel.estimate else -1.0
        return (best is None or channel.name != str(best), channel.name not in left, -capacity)

    return tuple(sorted(channels, key=rank))
