"""The log of a run: what was asked and told, in its order, each entry sealed by the one before.

Entries are `limit` (the most senses that the run may spend), `asked` (a request), `pieces` (some of its
answer) and `told` (all of it): a request is asked once, answered once, and the next one is asked afterwards. After
`amended`, which corrects inputs of an answer, the requests that followed upon it are asked anew. The seal of an entry
is the SHA-256 of the previous seal and of the entry, so that a log that was damaged is noticed. When an entry was
written stands beside it and is not sealed: two runs that were told the same have the same seals.

An answer may arrive in pieces: what each sensor, or each sitting, has counted of a request, under an identifier of its
sender's choice. The answer is their sum, so their order does not matter; a piece that arrives twice counts once; two
pieces with one identifier, or more senses than were asked for, are refused.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

import numpy as np
from msgspec import Meta, Struct, convert

from bestchannel.arrays import Integers
from bestchannel.errors import InputError
from bestchannel.policies import Observation, Policy, Request
from bestchannel.policies.policy import Senses
from bestchannel.policies.request import MOST_SENSES, checked_counts
from bestchannel.promises import several
from bestchannel.runs.settings import Settings
from bestchannel.runs.sqlite_file import LARGEST_VALUE

LONGEST_ID = 200

Whole = Annotated[int, Meta(ge=0, le=MOST_SENSES)]
Rows = Mapping[tuple[int, int], Sequence[int]]  # how often each output came, by (channel, input)


class AnswerPiece(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Some senses of input `x` of a channel, both by number: `counts[y]` of them gave output y.

    Its `id` tells a piece from every other of its request: a piece sent again has the same.

    >>> AnswerPiece("sensor 1, batch 7", channel=0, x=1, counts=(3, 61)).senses
    64
    """

    id: str
    channel: Whole
    x: Whole
    counts: tuple[Whole, ...]

    @property
    def senses(self) -> int:
        """All senses of the piece."""
        return sum(self.counts)


class ToldContent(Struct, frozen=True):
    """The counts[x][y] of every channel of a request, and the random state that the sensor was in after it, if any."""

    counts: list[tuple[Whole, list[list[Whole]]]]
    state: Any


LIMIT, ASKED, PIECES, TOLD, AMENDED = "limit", "asked", "pieces", "told", "amended"
CONTENTS: Mapping[str, Any] = {
    LIMIT: Annotated[int, Meta(ge=0)] | None,  # the most senses that the run may spend
    ASKED: list[tuple[Whole, tuple[Whole, ...]]],  # the senses of each input of each channel
    PIECES: list[AnswerPiece],
    TOLD: ToldContent,
    AMENDED: list[tuple[Whole, Whole, tuple[Whole, ...]]],  # channel, input, and what it has counted in truth
}
"""What an entry of each kind has, as JSON."""

Record = tuple[str, int, object]  # what is to become an entry: kind, request, content


def told_record(number: int, counts: Mapping[int, Integers], state: Any = None) -> Record:
    """The answer to a request, and the random state that the sensor is in after it."""
    return TOLD, number, {"counts": [*counts.items()], "state": state}


def as_pieces(rows: Rows, sender: str = "") -> list[AnswerPiece]:
    """A piece for every input; the same sender has the same pieces again."""
    return [AnswerPiece(f"{sender}channel {c}, input {x}", c, x, tuple(counts)) for (c, x), counts in rows.items()]


class PartialAnswer:
    """The pieces of one request that have arrived."""

    def __init__(self, request: Request, alphabets: Sequence[tuple[int, int]]) -> None:
        self.request = request
        self.pieces: dict[str, AnswerPiece] = {}
        self._alphabets = alphabets
        self._missing = {channel: list(senses) for channel, senses in request.senses.items()}

    @property
    def missing(self) -> dict[int, tuple[int, ...]]:
        """How many senses of each input of each channel are still to come."""
        return {channel: tuple(senses) for channel, senses in self._missing.items()}

    @property
    def total_missing(self) -> int:
        """How many senses are still to come."""
        return sum(map(sum, self._missing.values()))

    def new_among(self, pieces: Iterable[AnswerPiece]) -> list[AnswerPiece]:
        """Those that have not arrived yet, or an `InputError` where one of them can not be added."""
        new: dict[str, AnswerPiece] = {}
        left = {channel: list(senses) for channel, senses in self._missing.items()}
        for piece in pieces:
            known, where = self.pieces.get(piece.id) or new.get(piece.id), f"of request {self.request.number}"
            if known is None:
                self._refuse_unfit(piece)
                missing = left[piece.channel][piece.x]
                if piece.senses > missing:
                    asked = self.request.senses[piece.channel][piece.x]
                    raise InputError(
                        f"piece {piece.id!r} {where} has {several(piece.senses, 'sense')} of input x={piece.x} of"
                        f" channel {piece.channel}; of the {asked:,} that were asked for, {missing:,} are missing"
                    )
                left[piece.channel][piece.x] -= piece.senses
                new[piece.id] = piece
            elif known != piece:
                raise InputError(
                    f"piece {piece.id!r} {where} was told otherwise before; a piece stays as"
                    " it was told, and other counts require another identifier"
                )
        return list(new.values())

    def add(self, pieces: Iterable[AnswerPiece]) -> list[AnswerPiece]:
        """Take in those of the pieces that are new."""
        new = self.new_among(pieces)
        for piece in new:
            self.pieces[piece.id] = piece
            self._missing[piece.channel][piece.x] -= piece.senses
        return new

    def counts(self, more: Iterable[AnswerPiece] = ()) -> dict[int, Integers]:
        """All that the pieces, and some more, have counted, by channel: shape (n_inputs, n_outputs)."""
        tables = {channel: np.zeros(self._alphabets[channel], dtype=np.int64) for channel in self.request.senses}
        for piece in (*self.pieces.values(), *more):
            tables[piece.channel][piece.x] += np.array(piece.counts, dtype=np.int64)
        return tables

    def refuse_less(self, counts: Mapping[int, Integers]) -> None:
        """Refuse a whole answer that leaves out what a piece has counted."""
        for channel, table in self.counts().items():
            for x in np.flatnonzero((table > counts[channel]).any(axis=1)):
                raise InputError(
                    f"the answer to request {self.request.number} must contain what was told of it in pieces; it has"
                    f" {counts[channel][x].tolist()} for input x={x} of channel {channel}, and the pieces have"
                    f" {table[x].tolist()}"
                )

    def _refuse_unfit(self, piece: AnswerPiece) -> None:
        request = self.request
        where = f"piece {str(piece.id)[:LONGEST_ID]!r} of request {request.number}"
        if not isinstance(piece.id, str) or not 0 < len(piece.id) <= LONGEST_ID or not piece.id.isprintable():
            raise InputError(f"{where} must have an identifier of 1 to {LONGEST_ID} visible letters")
        if piece.channel not in request.senses or piece.x not in range(len(request.senses[piece.channel])):
            raise InputError(f"{where} must count what was asked; it counts input {piece.x} of channel {piece.channel}")
        if len(piece.counts) != (n_outputs := self._alphabets[piece.channel][1]):
            raise InputError(f"{where} must have {n_outputs} counts, one for each output; it has {len(piece.counts)}")
        if not all(type(count) is int and count >= 0 for count in piece.counts) or not piece.senses:
            raise InputError(f"{where} must have counts that are whole numbers from 0 on, not all 0")


@dataclass(frozen=True)
class Entry:
    """One line of the log; `content` is JSON, and `time` when it was written, where that is known."""

    number: int
    kind: str
    request: int
    content: str
    seal: str
    time: str | None = None


@dataclass(frozen=True, eq=False)
class Answer:
    """The counts of a request, and the random state that the sensor was in after it, where it has one."""

    counts: Mapping[int, Integers]
    state: Any


class Portions:
    """A policy that is asked and told in portions of at most `largest` senses; None leaves its requests whole.

    Portions have numbers of their own, from 1. Which senses are in a portion follows from the request alone, and the
    policy is told the sum once all have been answered: it sees what it would have seen without portions.
    """

    def __init__(self, policy: Policy, largest: int | None) -> None:
        self.policy = policy
        self._script = self._asking(largest)
        self._open = next(self._script, None)

    def ask(self) -> Request | None:
        """The open portion, the same until it is answered; None when the policy is done."""
        return self._open

    def tell(self, observation: Observation) -> None:
        """Answer the open portion."""
        assert self._open is not None  # the caller has asked
        counts = checked_counts(self._open, observation, self.policy.alphabets)
        try:
            self._open = self._script.send(counts)
        except StopIteration:
            self._open = None

    def _asking(self, largest: int | None) -> Generator[Request, dict[int, Integers], None]:
        number = 0
        while (request := self.policy.ask()) is not None:
            sums = {channel: np.zeros(self.policy.alphabets[channel], dtype=np.int64) for channel in request.senses}
            for senses in [request.senses] if largest is None else _cut(request, largest):
                number += 1
                for channel, table in (yield Request(number, senses)).items():
                    sums[channel] += table
            self.policy.tell(Observation(request.number, sums))


def _cut(request: Request, largest: int) -> Iterator[Senses]:
    """The senses of the request, input after input, in portions of `largest` and a last one of what is left."""
    portion: dict[int, list[int]] = {}
    room = largest
    for channel, senses in request.senses.items():
        for x, left in enumerate(senses):
            while left:
                taken = min(left, room)
                portion.setdefault(channel, [0] * len(senses))[x] += taken
                left, room = left - taken, room - taken
                if not room:
                    yield {c: tuple(counts) for c, counts in portion.items()}
                    portion, room = {}, largest
    if portion:
        yield {c: tuple(counts) for c, counts in portion.items()}


class History:
    """All that is known of a run: its settings and its log."""

    def __init__(self, settings: Settings, entries: Iterable[Entry] = ()) -> None:
        self.settings, self.alphabets = settings, settings.alphabets
        self.requests: dict[int, Request] = {}
        self.answers: dict[int, Answer] = {}
        self.amended: list[int] = []
        self.senses, self.length = 0, 0
        self.max_senses: int | None = None
        self.began: datetime | None = None
        self.told_at: dict[int, datetime] = {}
        self._partial: dict[int, PartialAnswer] = {}
        self._seal = _sha256(settings.text())
        for entry in entries:
            self.add(entry)

    def partial_answer(self, number: int) -> PartialAnswer:
        """What has been told of a request in pieces."""
        return self._partial.get(number) or PartialAnswer(self.requests[number], self.alphabets)

    def partly_amended(self, number: int, rows: Rows) -> PartialAnswer:
        """What has been told of a request in pieces, with these counts in place of all pieces of their inputs."""
        answer, told = PartialAnswer(self.requests[number], self.alphabets), self.partial_answer(number).pieces.values()
        kept = [piece for piece in told if (piece.channel, piece.x) not in rows]
        answer.add([*kept, *as_pieces(rows, f"amendment {len(self.amended) + 1}: ")])
        return answer

    def next_entries(self, *records: Record) -> list[Entry]:
        """The records as the entries that come next, once they are on disk and added."""
        entries, seal = [], self._seal
        asked, told = len(self.requests), len(self.answers)
        for number, (kind, request, content) in enumerate(records, start=self.length + 1):
            asked, told = _after(kind, request, asked, told)
            text = json.dumps(content, allow_nan=False, default=np.ndarray.tolist)
            if len(text) >= LARGEST_VALUE:
                raise InputError(f"an entry of a run has at most {LARGEST_VALUE:,} letters; this has {len(text):,}")
            seal, now = _sealed(seal, number, kind, request, text), datetime.now(UTC).isoformat(timespec="milliseconds")
            entries.append(Entry(number, kind, request, text, seal, now))
        return entries

    def add(self, entry: Entry) -> None:
        """Take in the next entry; one that does not belong there is refused."""
        try:
            seal = _sealed(self._seal, entry.number, entry.kind, entry.request, entry.content)
            if seal != entry.seal or entry.number != self.length + 1:
                raise ValueError("the seal is broken")
            _after(entry.kind, entry.request, len(self.requests), len(self.answers))
            content = convert(json.loads(entry.content), CONTENTS[entry.kind])
            written = None if entry.time is None else datetime.fromisoformat(entry.time)
            if written is not None and written.tzinfo is None:
                raise ValueError("a time must say its zone")
            self.began = self.began or written
            getattr(self, f"_take_{entry.kind}")(entry.request, content)  # one of the kinds that `_after` knows
        except (ValueError, KeyError, TypeError, IndexError, OverflowError, RecursionError) as error:
            raise InputError(
                f"the log of the run is damaged at entry {self.length + 1} ({error}); restore the file from a copy"
            ) from None
        if entry.kind == TOLD and written is not None:
            self.told_at[entry.request] = written
        self.length, self._seal = entry.number, seal

    def _take_limit(self, _: int, most: int | None) -> None:
        self.max_senses = most

    def _take_asked(self, number: int, content: list[tuple[int, tuple[int, ...]]]) -> None:
        for channel, counts in content:
            if len(counts) != self.alphabets[channel][0]:
                raise ValueError(f"channel {channel} has another number of inputs")
        self.requests[number] = Request(number, dict(content))

    def _take_pieces(self, number: int, pieces: list[AnswerPiece]) -> None:
        partial = self._partial[number] = self.partial_answer(number)
        if partial.add(pieces) != pieces:
            raise ValueError("a piece occurs twice")

    def _take_told(self, number: int, content: ToldContent) -> None:
        tables = {channel: np.array(table, dtype=np.int64) for channel, table in content.counts}
        told = checked_counts(self.requests[number], Observation(number, tables), self.alphabets)
        if number in self._partial:
            self._partial[number].refuse_less(told)
        self.answers[number] = Answer(told, content.state)
        self.senses += self.requests[number].total

    def _take_amended(self, number: int, content: list[tuple[int, int, tuple[int, ...]]]) -> None:
        rows = {(channel, x): counts for channel, x, counts in content}
        if number in self.answers:
            self._amend_answer(number, rows)
        else:
            self._partial[number] = self.partly_amended(number, rows)
        self.amended.append(number)

    def _amend_answer(self, number: int, rows: Rows) -> None:
        """Correct an answer, and forget whatever followed upon it."""
        told = self.answers[number]
        tables = {channel: table.copy() for channel, table in told.counts.items()}
        for (channel, x), counts in rows.items():
            tables[channel][x] = counts
        checked = checked_counts(self.requests[number], Observation(number, tables), self.alphabets)
        self.answers[number] = Answer(checked, told.state)
        for later in range(number + 1, len(self.requests) + 1):
            self.senses -= self.requests[later].total if later in self.answers else 0
            for kept in (self.requests, self.answers, self._partial, self.told_at):
                kept.pop(later, None)

    def confirm(self, number: int, request: Request | None) -> Request:
        """What the policy asks as request `number`, which must be what the log says was asked, if it says anything."""
        asked = self.requests.get(number, request)
        if request is None or asked != request:
            raise InputError(
                f"the log of the run and its policy disagree about request {number}: the run was begun with another"
                " version of the policy; continue it with that version, or begin another run"
            )
        return request

    def replay(self) -> Portions:
        """A fresh policy, told everything that the log has."""
        asking = Portions(self.settings.new_policy(), self.settings.largest_request)
        for number, answer in self.answers.items():
            self.confirm(number, asking.ask())
            asking.tell(Observation(number, answer.counts))
        if (number := len(self.answers) + 1) in self.requests:
            self.confirm(number, asking.ask())
        return asking


def _after(kind: str, request: int, asked: int, told: int) -> tuple[int, int]:
    """How many requests are asked and told after an entry, which must follow upon so many."""
    if kind == LIMIT:
        return asked, told
    if kind == ASKED and asked == told and request == told + 1:
        return request, told
    if kind == PIECES and asked == told + 1 and request == asked:
        return asked, told
    if kind == AMENDED and 1 <= request <= asked:
        return (request, request) if request <= told else (asked, told)
    if kind == TOLD and asked == told + 1 and request == asked:
        return asked, request
    raise ValueError(f"{kind} {request} does not follow upon {asked} asked and {told} told")


def _sealed(previous: str, number: int, kind: str, request: int, content: str) -> str:
    return _sha256(f"{previous} {number} {kind} {request} {content}")


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
