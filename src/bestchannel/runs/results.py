"""The outcome of an identification and its record, each made of the other, and what the answers say of channels."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from bestchannel.arrays import Integers
from bestchannel.disk import errors_naming, read_bytes
from bestchannel.errors import InputError
from bestchannel.intervals import Estimate
from bestchannel.intervals.plug_in import capacities_at_counts
from bestchannel.intervals.region import anytime_ends
from bestchannel.json_text import json_of
from bestchannel.policies import Audit, ChannelLabels, Identification, NearlyBest, Request, Status, Step, Supply
from bestchannel.questions import Best, Evidence, Findings
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
    result_of,
)

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
        **findings_record(result),
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


def findings_record(result: Identification | Estimate) -> dict[str, Any]:
    """What a record says of another question than for the best."""
    if result.findings is None:
        return {}
    findings = result.findings.called(str)
    said = {name: part for name in FINDINGS if (part := getattr(findings, name)) is not None}
    if findings.brackets is not None:
        said["brackets"] = {name: BracketRecord(*map(float, ends)) for name, ends in findings.brackets.items()}
    return {"question": result.question, **said}


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
    told = msgspec.to_builtins([channels, limits, [[step.senses, step.counts] for step in steps]])
    seal = hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()
    about = _alike(audit, AUDIT) | {"options": dict(audit.options)}
    return AuditRecord(**about, channels=channels, limits=limits, steps=steps, seal=seal)


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


def from_document(document: object) -> Identification:
    """The result that `as_document` wrote, or an `InputError` that says that it is none."""
    record = result_of(document)
    try:
        json.dumps(document, allow_nan=False)  # a report holds it, and numbers that are infinite or none have no JSON
        return identification_of(record)
    except (KeyError, ValueError, OverflowError) as error:
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


def read_result(path: Path) -> Identification:
    """The result in a file."""
    with errors_naming(path):
        return from_document(json_of(read_bytes(path)))


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
