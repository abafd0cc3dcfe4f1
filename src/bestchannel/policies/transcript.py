"""What was asked and told, step by step: from it an outcome is drawn, reported and verified; and its record."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Protocol

import msgspec
import numpy as np

from bestchannel.arrays import ChannelLabels, Integers
from bestchannel.display import Tabulated, Valued, on_one_line
from bestchannel.errors import InputError
from bestchannel.intervals.plug_in import capacities_at_counts
from bestchannel.intervals.region import anytime_ends
from bestchannel.json_text import sorted_text
from bestchannel.policies.request import Request, Supply, marginals
from bestchannel.promises import amount, conditional, in_words, several
from bestchannel.questions import AnyQuestion, Best, Evidence, Findings, NearlyBest
from bestchannel.record import (
    AuditRecord,
    BracketRecord,
    ChannelRecord,
    EvidenceRecord,
    Limit,
    MeasuredRecord,
    NearlyBestRecord,
    Result,
    StatusRecord,
    StepRecord,
)

Alphabet = tuple[int, int]


class Stakes(Protocol):
    """What a policy commits itself to before the answer to a request, so that the answer can be held against it."""

    def record(self, names: Sequence[str]) -> dict[str, Any]:
        """The stakes in lists, numbers and texts, as JSON holds them; channel j is called names[j]."""


@dataclass(frozen=True)
class Status:
    """Where an identification stands, for whoever watches it.

    `evidence_nats` against every rival of the leader, where the policy weighs any, has to reach
    `threshold_nats`. `more_senses` is about how many senses more would decide, None without a forecast.
    """

    senses: int
    requests: int
    rounds: int
    candidates: tuple[int, ...]
    next_senses: int
    leader: int | None
    evidence_nats: Mapping[int, float]
    threshold_nats: Mapping[int, float]
    more_senses: int | None
    unit: str = "sense"  # or "shot", which all channels of a request answer at once

    @property
    def challenger(self) -> int | None:
        """The rival of the leader that is furthest from being ruled out."""
        rivals = [channel for channel in self.evidence_nats if channel in self.candidates]
        return min(rivals, key=lambda c: self.evidence_nats[c] - self.threshold_nats[c], default=None)


@dataclass(frozen=True, eq=False)
class Step(Valued):
    """One answered request, what the policy had staked on its answer beforehand, and where the answer left it."""

    request: Request
    stakes: Stakes | None
    told: Mapping[int, Integers]  # as an `Observation` has it: of shots, pairs of answers
    status: Status

    @property
    def counts(self) -> dict[int, Integers]:
        """counts[x, y] of every channel that was asked for."""
        return marginals(self.told)


@dataclass(frozen=True, eq=False)
class Audit(Valued):
    """All that an outcome follows from: what the policy was, what it asked and was told.

    `options` are those that the policy was made with beyond delta and epsilon; `limits` is how much there was to be
    sensed, and from which request on; `revision` is that of the policy, None where a record does not say, and `version`
    that of the library that wrote it; `inferred_outputs` says that the outputs are only those that were seen. Steps
    number the channels as here.
    """

    channels: tuple[ChannelLabels, ...]
    options: Mapping[str, Any]
    steps: tuple[Step, ...]
    limits: tuple[tuple[int, Supply], ...]
    revision: int | None
    version: str | None
    inferred_outputs: bool


@dataclass(frozen=True)
class Identification(Tabulated):
    """The outcome of an identification: the best channel or "undecided", its cost, its promise, its record.

    Attributes
    ----------
    best
        The key of the named channel in the collection that the sensor was given (its name or its position), None while
        undecided, and where something else is asked for.
    decided
        Whether the question is answered.
    senses
        How many senses were taken.
    rounds
        How many rounds the policy finished.
    policy
        The name of the policy.
    question
        What was asked.
    delta
        The error probability that the policy was made with.
    guarantee
        What the name promises, and where the proof is, in one sentence.
    candidates
        The keys of the channels that are not ruled out.
    audit
        All that the outcome follows from: what was asked, staked and told, step by step; `verify` checks it.
    nearly_best
        The `channel` that is proved to be the best or `within_bits` of the best, whatever ended the run; None where
        nothing of the kind is proved.
    cost
        What the senses cost, in the unit of the policy's costs; None where it was given none.
    findings
        What is proved where something else than the best is asked for: `answers`, `top`, `order` or `brackets`.
    evidence
        What speaks for the likeliest `answer` where nothing is decided: an `e_value` against whatever contradicts it.

    Examples
    --------
    >>> import bestchannel as bc
    >>> sensor = bc.Simulator({"good": [[0.95, 0.05], [0.05, 0.95]], "bad": [[0.7, 0.3], [0.3, 0.7]]}, rng=1)
    >>> result = bc.identify(sensor, bc.NaiveChanSel(sensor.alphabets, delta=0.1, epsilon=0.2))
    >>> str(result).splitlines()[:2]
    ['best: good', 'after 363,459,060 senses in 1 round of naive']
    """

    best: Any
    decided: bool
    senses: int
    rounds: int
    policy: str
    delta: float
    question: AnyQuestion
    guarantee: str
    candidates: tuple[Any, ...]
    audit: Audit = field(repr=False, compare=False)
    nearly_best: NearlyBest | None = None
    cost: float | None = None
    findings: Findings | None = None
    evidence: Evidence | None = None

    @property
    def epsilon(self) -> float:
        """Within how many bits the answer may be."""
        return self.question.epsilon

    @property
    def proved_so_far(self) -> str | None:
        """What is proved though nothing is decided, in one sentence; None where nothing is."""
        said = self.question.proved_so_far(self, self.delta, self.audit.options.get("input_distribution"))
        conditions = (labels.condition for labels in self.audit.channels)
        return said and conditional(said, self.audit.inferred_outputs, conditions)

    def __str__(self) -> str:
        paid = "" if self.cost is None else f", which cost {amount(self.cost)},"
        unit = self.audit.steps[-1].status.unit if self.audit.steps else "sense"
        cost = f"after {several(self.senses, unit)}{paid} in {several(self.rounds, 'round')} of {self.policy}"
        proved = self.guarantee if self.decided else self.proved_so_far
        unproved = self.evidence and in_words(self.evidence.words)
        lines = (self.question.answer(self), cost, proved and in_words(proved), unproved)
        return "\n".join(on_one_line(line) for line in lines if line)


# --- an outcome and its record, each made of the other --------------------------------------------

# what an outcome and its record, and their parts, have alike
OUTCOME = ("decided", "senses", "rounds", "policy", "delta", "guarantee", "cost")
AUDIT, STATUS = ("revision", "version", "inferred_outputs"), ("senses", "rounds", "next_senses", "more_senses")
MOST_COUNTS = 2**53  # senses of a channel from which no capacity is estimated: doubles do not hold them one by one
FINDINGS = tuple(part.name for part in fields(Findings) if part.name != "decided")


@dataclass(frozen=True)
class RecordedStakes:
    """Stakes as a file holds them."""

    content: dict[str, Any]

    def record(self, names: Sequence[str]) -> dict[str, Any]:
        """See `Stakes`."""
        return self.content


def as_document(result: Identification) -> dict[str, Any]:
    """The record in lists, numbers and texts, as JSON holds it."""
    document: dict[str, Any] = msgspec.to_builtins(record_of(result))
    return document


def record_of(result: Identification) -> Result:
    """The record of a result; its channels between ends that hold at any time, for all at once at 1 - δ."""
    nearly, audit = result.nearly_best, result.audit
    names = [str(labels.key) for labels in audit.channels]
    return Result(
        **_alike(result, OUTCOME),
        best=None if result.best is None else str(result.best),
        epsilon=result.epsilon,
        **findings_record(result.question, result.findings),
        candidates=tuple(map(str, result.candidates)),
        nearly_best=None if nearly is None else NearlyBestRecord(str(nearly.channel), nearly.within_bits),
        evidence=_evidence_record(result.evidence),
        channels=tuple(_measured(result, names)),
        audit=_audit_record(audit, names),
    )


def _measured(result: Identification, names: Sequence[str]) -> Iterator[MeasuredRecord]:
    """Every channel between ends that hold at any time, for all at once at 1 - δ; without counts, nothing is known.

    Which channels have counts is up to the data, so each gets δ/k as if all k had.
    """
    tables = told_counts(result)
    senses = [sum(map(int, table.sum(axis=1))) for table in tables]
    usable = {j: tables[j].astype(np.int64) for j, total in enumerate(senses) if 0 < total <= MOST_COUNTS}
    values = dict(zip(usable, capacities_at_counts([*usable.values()]), strict=True))
    alpha = share_of(result.delta, len(usable), len(tables)) / max(len(usable), 1)
    for j, (name, total) in enumerate(zip(names, senses, strict=True)):
        if j not in usable:
            yield MeasuredRecord(name, total, None, None, None)
            continue
        ceiling = math.log2(min(usable[j].shape))
        capacity = min(values[j].capacity, ceiling)
        yield MeasuredRecord(name, total, capacity, *anytime_ends(usable[j], alpha).in_bits(capacity, ceiling))


def share_of(delta: float, usable: int, channels: int) -> float:
    """The part of δ that intervals of so many of the channels have, as if all had one."""
    return delta * usable / channels


def _evidence_record(found: Evidence | None) -> EvidenceRecord | msgspec.UnsetType:
    if found is None:
        return msgspec.UNSET
    return EvidenceRecord(found.answer, found.e_value, math.log(found.e_value), found.MEANS)


def _alike(content: object, keys: Iterable[str]) -> dict[str, Any]:
    return {key: getattr(content, key) for key in keys}


def findings_record(question: AnyQuestion | None, found: Findings | None) -> dict[str, Any]:
    """What a record says of another question than for the best."""
    if found is None:
        return {}
    findings = found.called(str)
    said = {name: part for name in FINDINGS if (part := getattr(findings, name)) is not None}
    if findings.brackets is not None:
        said["brackets"] = {name: BracketRecord(*map(float, ends)) for name, ends in findings.brackets.items()}
    return {"question": question, **said}


def _findings(record: Result) -> Findings | None:
    if record.question is msgspec.UNSET or isinstance(record.question, Best):
        return None
    said = {name: part for name in FINDINGS if (part := getattr(record, name)) is not msgspec.UNSET}
    if "brackets" in said:
        said["brackets"] = {name: (ends.lower, ends.upper) for name, ends in said["brackets"].items()}
    return Findings(record.decided, **said)


def _audit_record(audit: Audit, names: Sequence[str]) -> AuditRecord:
    channels = tuple(
        ChannelRecord(name=name, inputs=labels.inputs, outputs=labels.outputs, condition=labels.condition)
        for name, labels in zip(names, audit.channels, strict=True)
    )
    limits = tuple(
        Limit(request, supply.total, None if supply.each is None else dict(zip(names, supply.each, strict=True)))
        for request, supply in audit.limits
    )
    steps = tuple(_step_record(step, names) for step in audit.steps)
    about = _alike(audit, AUDIT) | {"options": dict(audit.options)}
    record = AuditRecord(**about, channels=channels, limits=limits, steps=steps)
    return msgspec.structs.replace(record, seal=seal_of(record))


def seal_of(audit: AuditRecord) -> str:
    """The SHA-256 of the channels, the limits and all answers in their order."""
    told = msgspec.to_builtins([audit.channels, audit.limits, [[step.senses, step.counts] for step in audit.steps]])
    return hashlib.sha256(sorted_text(told).encode()).hexdigest()


def _step_record(step: Step, names: Sequence[str]) -> StepRecord:
    status = step.status
    evidence, threshold = (
        {names[c]: nats if math.isfinite(nats) else None for c, nats in values.items()}
        for values in (status.evidence_nats, status.threshold_nats)
    )
    return StepRecord(
        request=step.request.number,
        senses={names[c]: senses for c, senses in step.request.senses.items()},
        stakes=None if step.stakes is None else step.stakes.record(names),
        counts={names[c]: table.tolist() for c, table in step.told.items()},
        paired=msgspec.UNSET if step.request.paired is None else names[step.request.paired],
        status=StatusRecord(
            **_alike(status, STATUS),
            candidates=tuple(names[c] for c in status.candidates),
            leader=None if status.leader is None else names[status.leader],
            evidence_nats=evidence,
            threshold_nats=threshold,
        ),
    )


def result_of(document: object) -> Result:
    """The result in a document that JSON could hold, or an `InputError` that says why there is none."""
    try:
        return msgspec.convert(document, Result)
    except (msgspec.ValidationError, RecursionError, UnicodeEncodeError) as error:
        raise InputError(
            f"this must be the JSON of an identification (`bestchannel identify --json`); it is not ({error})"
        ) from None


def from_document(document: object) -> Identification:
    """The result that `as_document` wrote, or an `InputError` that says that it is none."""
    record = result_of(document)
    try:
        sorted_text(document)  # a report holds it, and numbers that are infinite or none have no JSON
        return identification_of(record)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"this must be the JSON of an identification (`bestchannel identify --json`); it is not ({error!r})"
        ) from None


def identification_of(record: Result) -> Identification:
    """The result that a record is of."""
    audit, nearly = record.audit, record.nearly_best
    channels = tuple(ChannelLabels(c.name, c.inputs, c.outputs, c.condition) for c in audit.channels)
    number = {labels.key: j for j, labels in enumerate(channels)}
    return Identification(
        **_alike(record, (*OUTCOME, "best", "candidates")),
        question=record.question or Best(record.epsilon),
        audit=Audit(
            **_alike(audit, (*AUDIT, "options")),
            channels=channels,
            steps=tuple(_step(step, i, number) for i, step in enumerate(audit.steps, start=1)),
            limits=tuple((limit.request, _supply(limit, channels)) for limit in audit.limits),
        ),
        nearly_best=None if nearly is None else NearlyBest(nearly.channel, nearly.within_bits),
        findings=_findings(record),
        evidence=Evidence(record.evidence.answer, record.evidence.e_value) if record.evidence else None,
    )


def _supply(limit: Limit, channels: Iterable[ChannelLabels]) -> Supply:
    recorded = limit.recorded
    return Supply(limit.max_senses, None if recorded is None else tuple(recorded[labels.key] for labels in channels))


def _step(step: StepRecord, count: int, number: Mapping[str, int]) -> Step:
    status = step.status

    def nats(values: Mapping[str, float | None]) -> dict[int, float]:
        return {number[name]: math.nan if value is None else value for name, value in values.items()}

    paired = None if step.paired is msgspec.UNSET else number[step.paired]
    return Step(
        Request(step.request, {number[name]: senses for name, senses in step.senses.items()}, paired),
        None if step.stakes is None else RecordedStakes(step.stakes),
        {number[name]: np.array(table, dtype=np.int64) for name, table in step.counts.items()},
        Status(
            **_alike(status, STATUS),
            requests=count,
            unit="sense" if paired is None else "shot",
            candidates=tuple(number[name] for name in status.candidates),
            leader=None if status.leader is None else number[status.leader],
            evidence_nats=nats(status.evidence_nats),
            threshold_nats=nats(status.threshold_nats),
        ),
    )


def told_counts(result: Identification) -> list[Integers]:
    """All counts of every channel; beyond 64 bits as Python's integers."""
    kind = object if result.senses > np.iinfo(np.int64).max else np.int64
    totals = [np.zeros(labels.alphabet, dtype=kind) for labels in result.audit.channels]
    for step in result.audit.steps:
        for channel, table in step.counts.items():
            totals[channel] += table
    return totals
