"""The log of a run: what was asked and told, in its order, each entry sealed by the one before.

Entries are `limit` (the most senses that the run may spend), `asked` (a request) and `told` (its
answer): a request is asked once, answered once, and the next one is asked afterwards. The seal of an
entry is the SHA-256 of the previous seal and of the entry, so that a log that was damaged is noticed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bestchannel.arrays import Integers
from bestchannel.errors import InputError
from bestchannel.policies import Observation, Policy, Request
from bestchannel.runs.settings import Settings

LIMIT, ASKED, TOLD = "limit", "asked", "told"

Record = tuple[str, int, object]
"""What is to become an entry: kind, request, content."""


@dataclass(frozen=True)
class Entry:
    """One line of the log; `content` is JSON."""

    number: int
    kind: str
    request: int
    content: str
    seal: str


@dataclass(frozen=True, eq=False)
class Answer:
    """The counts of a request, and the random state that the sensor was in after it, where it has one."""

    counts: Mapping[int, Integers]
    state: Any


class History:
    """All that is known of a run: its settings and its log."""

    def __init__(self, settings: Settings, entries: Iterable[Entry] = ()) -> None:
        self.settings = settings
        self.requests: dict[int, Request] = {}
        self.answers: dict[int, Answer] = {}
        self.max_senses: int | None = None
        self.length = 0
        self._seal = _sha256(settings.text())
        for entry in entries:
            self.add(entry)

    @property
    def senses(self) -> int:
        """All senses that were told."""
        return sum(self.requests[number].total for number in self.answers)

    def next_entries(self, *records: Record) -> list[Entry]:
        """The records as the entries that come next, once they are on disk and added."""
        entries, seal = [], self._seal
        asked, told = len(self.requests), len(self.answers)
        for number, (kind, request, content) in enumerate(records, start=self.length + 1):
            asked, told = _after(kind, request, asked, told)
            text = json.dumps(content, allow_nan=False, default=np.ndarray.tolist)
            seal = _sealed(seal, number, kind, request, text)
            entries.append(Entry(number, kind, request, text, seal))
        return entries

    def add(self, entry: Entry) -> None:
        """Take in the next entry; one that does not belong there is refused."""
        try:
            seal = _sealed(self._seal, entry.number, entry.kind, entry.request, entry.content)
            if seal != entry.seal or entry.number != self.length + 1:
                raise ValueError("the seal is broken")
            self._take(entry)
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            raise InputError(
                f"the log of the run is damaged at entry {self.length + 1} ({error}); restore the file from a copy"
            ) from None
        self.length, self._seal = entry.number, seal

    def _take(self, entry: Entry) -> None:
        _after(entry.kind, entry.request, len(self.requests), len(self.answers))
        content = json.loads(entry.content)
        if entry.kind == LIMIT:
            self.max_senses = content
        elif entry.kind == ASKED:
            senses = {channel: tuple(counts) for channel, counts in content}
            self.requests[entry.request] = Request(entry.request, senses)
        else:
            tables = {channel: np.array(table, dtype=np.int64) for channel, table in content["counts"]}
            self.answers[entry.request] = Answer(tables, content["state"])

    def confirm(self, number: int, request: Request | None) -> Request:
        """What the policy asks as request `number`, which must be what the log says was asked, if it says anything."""
        asked = self.requests.get(number, request)
        if request is None or asked != request:
            raise InputError(
                f"the log of the run and its policy disagree about request {number}: the run was begun with another"
                " version of the policy; continue it with that version, or begin another run"
            )
        return request

    def replay(self) -> Policy:
        """A fresh policy, told everything that the log has."""
        policy = self.settings.new_policy()
        for number, answer in self.answers.items():
            self.confirm(number, policy.ask())
            policy.tell(Observation(number, answer.counts))
        if (number := len(self.answers) + 1) in self.requests:
            self.confirm(number, policy.ask())
        return policy


def limit_record(max_senses: int | None) -> Record:
    """The most senses that the run may spend from now on."""
    return LIMIT, 0, max_senses


def asked_record(request: Request) -> Record:
    """A request."""
    return ASKED, request.number, [[channel, list(senses)] for channel, senses in request.senses.items()]


def told_record(number: int, counts: Mapping[int, Integers], state: Any) -> Record:
    """An answer."""
    return TOLD, number, {"counts": [[channel, table.tolist()] for channel, table in counts.items()], "state": state}


def _after(kind: str, request: int, asked: int, told: int) -> tuple[int, int]:
    """How many requests are asked and told after an entry, which must follow upon so many."""
    if kind == LIMIT:
        return asked, told
    if kind == ASKED and asked == told and request == told + 1:
        return request, told
    if kind == TOLD and asked == told + 1 and request == asked:
        return asked, request
    raise ValueError(f"{kind} {request} does not follow upon {asked} asked and {told} told")


def _sealed(previous: str, number: int, kind: str, request: int, content: str) -> str:
    return _sha256(f"{previous} {number} {kind} {request} {content}")


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
