"""The choices of a record: whether the policy that it names makes them, given the same answers.

Evidence is worth something where the bets were fixed before their answers, which numbers alone cannot show. A policy
of the project is a function of what it was told, so that its requests and stakes can be made again from the answers:
those of an honest record come out, and those that were picked afterwards do not. This is the one module of the room
that uses the policies; what it finds is held against the record entry by entry.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bestchannel.errors import InputError
from bestchannel.json_text import shortened
from bestchannel.policies import Identification, Observation, Policy
from bestchannel.policies.catalogue import policy_class
from bestchannel.policies.identify import outcome
from bestchannel.release import VERSION
from bestchannel.runs.results import as_document, from_document
from bestchannel.runs.settings import LABORATORY, Settings
from bestchannel.verification.record import LARGEST, NotValidError, Record, Watch

CLOSE = 1e-6
"""Relatively: how closely numbers must agree, which another processor may round otherwise."""

TINY, TINY_NATS = 1e-12, 1e-6
"""Absolutely: the same near 0, of what was chosen, and of what is said of the state afterwards."""

Difference = tuple[str, Any, Any]
"""Where two documents differ, and what each has there."""

ABSENT = object()
"""Stands where a document has nothing."""


REVISION_OF_VERSION = {"0.2.0": 1}
"""The revision of all policies in the versions whose records name none."""

WORDED = ("guarantee", "channels")
"""What a result says beyond what was decided: a sentence, and intervals, for which another version may find others."""


def document_of(result: Any) -> Any:
    """The JSON of an identification, of one that was made here too."""
    return as_document(result) if isinstance(result, Identification) else result


def taken_on_trust(record: Record) -> str | None:
    """Why the policy of today may choose otherwise than the record has it, as one sentence; None where it may not."""
    revision, ours = record.revision, policy_class(record.policy).revision
    if revision is None and record.version is not None:
        revision = REVISION_OF_VERSION.get(record.version)
    if revision == ours:
        return None
    made = "a revision that it does not name" if revision is None else f"revision {revision}"
    wrote = "the version of bestchannel that wrote it" if record.version is None else f"bestchannel {record.version}"
    return (
        f"that its requests and bets were fixed before their answers is taken on trust, since {made} of the policy"
        f" {record.policy} chose them and this is revision {ours}; verify the record with {wrote}"
    )


def check_choices(document: Mapping[str, Any], watch: Watch) -> None:
    """Raise `NotValidError` at the first thing that the policy, told the same answers, does otherwise."""
    stated = from_document(document)
    try:
        policy = _settings(stated).new_policy()
        _tell(policy, stated, watch)
    except InputError as error:
        raise NotValidError(f"the answers cannot be told to the policy that the record names: {error}") from None
    result = outcome(policy, stated.audit.channels, inferred_outputs=stated.audit.inferred_outputs)
    written_here = stated.audit.revision is not None and stated.audit.version == VERSION
    for where, ours, theirs in _differences(as_document(result), document, () if written_here else WORDED):
        raise NotValidError(_sentence(stated.policy, where, ours, theirs))


def _settings(stated: Identification) -> Settings:
    audit = stated.audit
    return Settings(audit.channels, stated.policy, stated.delta, stated.epsilon, audit.options, LABORATORY)


def _tell(policy: Policy, stated: Identification, watch: Watch) -> None:
    """Bring the policy to the end of the record, as long as it asks what the record says was asked."""
    names = [labels.key for labels in stated.audit.channels]
    for step in stated.audit.steps:
        _limit(policy, stated)
        request = policy.ask()
        ours = {} if request is None else {names[c]: list(senses) for c, senses in request.senses.items()}
        theirs = {names[c]: list(senses) for c, senses in step.request.senses.items()}
        for where, mine, other in _entries(ours, theirs, f"request {step.request.number}: senses"):
            raise NotValidError(_sentence(stated.policy, where, mine, other))
        policy.tell(Observation(step.request.number, step.counts))
        watch(step.request.number)
    _limit(policy, stated)


def _limit(policy: Policy, stated: Identification) -> None:
    """Tell the policy what there was to be sensed from its next request on."""
    for request, supply in stated.audit.limits:
        if request == len(policy.steps) + 1:
            policy.limit(supply)


def _sentence(policy: str, where: str, ours: Any, theirs: Any) -> str:
    return (
        f"the record must be what the policy {policy} makes of its answers; in {where} that is {_shown(ours)},"
        f" and the record has {_shown(theirs)}"
    )


def _shown(value: Any) -> str:
    return "nothing" if value is ABSENT else shortened(value)


def _differences(ours: Mapping[str, Any], theirs: Mapping[str, Any], free: Sequence[str]) -> Iterator[Difference]:
    """Step by step first, so that the earliest one comes first; keys of the result that are `free` may be anything."""
    for mine, other in zip(ours["audit"]["steps"], theirs["audit"]["steps"], strict=True):
        where = f"request {mine['request']}"
        yield from _entries(_without(mine, "status"), _without(other, "status"), where)
        yield from _entries(mine["status"], other["status"], f"{where}, status", TINY_NATS)
    # who wrote the record decides nothing, and the revision has been compared
    mine, other = (_without(document["audit"], "steps", "revision", "version") for document in (ours, theirs))
    yield from _entries(mine, other, "the audit")
    # checks are of the recording that answered, which the record does not hold
    rest = _without(theirs, "audit", "checks", "source", *free)
    yield from _entries(_without(ours, "audit", *free), rest, "the result")


def _without(document: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {other: value for other, value in document.items() if other not in keys}


def _entries(ours: Any, theirs: Any, where: str, tiny: float = TINY) -> Iterator[Difference]:
    """The places where two values of JSON differ."""
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        for key in [*ours, *(key for key in theirs if key not in ours)]:
            yield from _entries(ours.get(key, ABSENT), theirs.get(key, ABSENT), f"{where}, {key}", tiny)
    elif _is_list(ours) and _is_list(theirs) and len(ours) == len(theirs):
        for place, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
            yield from _entries(mine, other, f"{where}[{place}]", tiny)
    elif not _agree(ours, theirs, tiny):
        yield where, ours, theirs


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _agree(ours: Any, theirs: Any, tiny: float) -> bool:
    """Whether two values are the same; numbers that are not whole need only be close."""
    if isinstance(ours, float) and type(theirs) in (int, float):
        return abs(theirs) <= LARGEST and math.isclose(ours, theirs, rel_tol=CLOSE, abs_tol=tiny)
    return type(ours) is type(theirs) and bool(ours == theirs)
