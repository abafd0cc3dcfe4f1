"""The outcome of an identification as JSON, with the record that `verify` checks and `report` draws.

{"best", "decided", "senses", "rounds", "policy", "delta", "epsilon", "guarantee", "candidates",
 "nearly_best": {"channel", "within_bits"}, "cost", "channels": [{"name", "senses", "capacity", "lower", "upper"}],
 "audit": {"revision", "version", "channels": [{"name", "inputs", "outputs"}], "inferred_outputs", "options",
 "limits": [{"request", "max_senses", "recorded"}], "steps": [{"request", "senses", "stakes", "counts", "status"}],
 "seal"}}: whatever belongs to a channel stands under its name; a limit holds from its request on. The seal is the
SHA-256 of the channels, the limits and all answers in their order.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bestchannel.disk import errors_naming, read_bytes
from bestchannel.errors import InputError
from bestchannel.json_text import finite_or_none, json_of
from bestchannel.policies import Audit, ChannelLabels, Identification, NearlyBest, Request, Status, Step, Supply
from bestchannel.runs.sensed_channels import anytime_estimates, told_counts

Document = dict[str, Any]

OUTCOME = ("best", "decided", "senses", "rounds", "policy", "delta", "epsilon", "guarantee")


@dataclass(frozen=True)
class RecordedStakes:
    """Stakes as a file holds them."""

    content: dict[str, Any]

    def record(self, names: Sequence[str]) -> dict[str, Any]:
        """See `Stakes`."""
        return self.content


def as_document(result: Identification) -> Document:
    """The result in lists, numbers and texts."""
    names = [str(labels.key) for labels in result.audit.channels]
    channels = [{"name": name, **labels.letters()} for name, labels in zip(names, result.audit.channels, strict=True)]
    limits = [_limit_document(request, supply, names) for request, supply in result.audit.limits]
    steps = [_step_document(step, names) for step in result.audit.steps]
    return {
        **{key: getattr(result, key) for key in OUTCOME},
        "best": None if result.best is None else str(result.best),
        "candidates": [str(key) for key in result.candidates],
        "nearly_best": nearly_best_document(result),
        "cost": result.cost,
        "channels": channel_documents(result),
        "audit": {
            "revision": result.audit.revision,
            "version": result.audit.version,
            "channels": channels,
            "inferred_outputs": result.audit.inferred_outputs,
            "options": dict(result.audit.options),
            "limits": limits,
            "steps": steps,
            "seal": _seal(channels, limits, steps),
        },
    }


def nearly_best_document(result: Identification) -> Document | None:
    """The channel that is proved to be the best or nearly that; None where nothing is."""
    nearly = result.nearly_best
    return None if nearly is None else {"channel": str(nearly.channel), "within_bits": nearly.within_bits}


def channel_documents(result: Identification) -> list[Document]:
    """Every channel with its capacity in bits, between ends that hold at any time, for all at once at 1 - δ."""
    tables = told_counts(result)
    return [
        {
            "name": str(labels.key),
            "senses": sum(map(int, table.sum(axis=1))),
            "capacity": found and found.capacity,
            "lower": found and found.lower,
            "upper": found and found.upper,
        }
        for labels, table, found in zip(result.audit.channels, tables, anytime_estimates(result, tables), strict=True)
    ]


def _seal(channels: list[Document], limits: list[Document], steps: list[Document]) -> str:
    answers = [[step["senses"], step["counts"]] for step in steps]
    return hashlib.sha256(json.dumps([channels, limits, answers], sort_keys=True).encode()).hexdigest()


def from_document(document: object) -> Identification:
    """The result that `as_document` wrote, or an `InputError` that says that it is none."""
    try:
        json.dumps(document, allow_nan=False)  # a report holds it, and numbers that are infinite or none have no JSON
        return _parsed(document)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise InputError(
            f"this must be the JSON of an identification (`bestchannel identify --json`); it is not ({error!r})"
        ) from None


def read_result(path: Path) -> Identification:
    """The result in a file."""
    with errors_naming(path):
        return from_document(json_of(read_bytes(path)))


def _limit_document(request: int, supply: Supply, names: list[str]) -> Document:
    recorded = None if supply.each is None else dict(zip(names, map(list, supply.each), strict=True))
    return {"request": request, "max_senses": supply.total, "recorded": recorded}


def _step_document(step: Step, names: list[str]) -> Document:
    status = step.status
    return {
        "request": step.request.number,
        "senses": {names[c]: list(senses) for c, senses in step.request.senses.items()},
        "stakes": None if step.stakes is None else step.stakes.record(names),
        "counts": {names[c]: table.tolist() for c, table in step.counts.items()},
        "status": {
            "senses": status.senses,
            "rounds": status.rounds,
            "candidates": [names[c] for c in status.candidates],
            "next_senses": status.next_senses,
            "leader": None if status.leader is None else names[status.leader],
            "evidence_nats": {names[c]: finite_or_none(nats) for c, nats in status.evidence_nats.items()},
            "threshold_nats": {names[c]: finite_or_none(nats) for c, nats in status.threshold_nats.items()},
            "more_senses": status.more_senses,
        },
    }


def _parsed(document: Any) -> Identification:
    audit = document["audit"]
    parties = tuple(ChannelLabels.with_letters(p["name"], p) for p in audit["channels"])
    number = {labels.key: j for j, labels in enumerate(parties)}
    steps = tuple(_parsed_step(step, i, number) for i, step in enumerate(audit["steps"], start=1))
    return Identification(
        **{key: document[key] for key in OUTCOME},
        candidates=tuple(document["candidates"]),
        audit=Audit(
            channels=parties,
            options=dict(audit["options"]),
            steps=steps,
            limits=tuple(_parsed_limit(limit, parties) for limit in audit.get("limits", ())),
            revision=audit.get("revision"),
            version=audit.get("version"),
            inferred_outputs=audit.get("inferred_outputs", False),
        ),
        nearly_best=_parsed_nearly_best(document.get("nearly_best")),
        cost=document.get("cost"),
    )


def _parsed_nearly_best(nearly: Any) -> NearlyBest | None:
    return None if nearly is None else NearlyBest(nearly["channel"], nearly["within_bits"])


def _parsed_limit(limit: Any, parties: Sequence[ChannelLabels]) -> tuple[int, Supply]:
    recorded = limit["recorded"]
    each = None if recorded is None else tuple(tuple(recorded[labels.key]) for labels in parties)
    return limit["request"], Supply(limit["max_senses"], each)


def _parsed_step(step: Any, count: int, number: Mapping[str, int]) -> Step:
    status, stakes = step["status"], step["stakes"]
    leader = status["leader"]
    return Step(
        Request(step["request"], {number[name]: tuple(senses) for name, senses in step["senses"].items()}),
        None if stakes is None else RecordedStakes(dict(stakes)),
        {number[name]: np.array(table, dtype=np.int64) for name, table in step["counts"].items()},
        Status(
            senses=status["senses"],
            requests=count,
            rounds=status["rounds"],
            candidates=tuple(number[name] for name in status["candidates"]),
            next_senses=status["next_senses"],
            leader=None if leader is None else number[leader],
            evidence_nats=_by_number(status["evidence_nats"], number),
            threshold_nats=_by_number(status["threshold_nats"], number),
            more_senses=status["more_senses"],
        ),
    )


def _by_number(nats: Mapping[str, float | None], number: Mapping[str, int]) -> dict[int, float]:
    return {number[name]: math.nan if value is None else float(value) for name, value in nats.items()}
