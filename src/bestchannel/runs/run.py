"""A run that people answer: in any number of sittings, one request after the other."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from msgspec import structs

from bestchannel.arrays import Integers
from bestchannel.errors import InputError
from bestchannel.policies import ChannelLabels, Identification, Policy, Request
from bestchannel.policies.identify import outcome
from bestchannel.policies.request import Observation, checked_counts
from bestchannel.promises import several
from bestchannel.runs import store
from bestchannel.runs.history import History, amended_record, asked_record, pieces_record, told_record
from bestchannel.runs.pieces import AnswerPiece, PartialAnswer, Rows, as_pieces
from bestchannel.runs.settings import LABORATORY, Settings, refuse_wishes

OPEN, LIMITED, DECIDED, UNDECIDED = "open", "limited", "decided", "undecided"
"""A request waits for its answer; it would pass the limit of senses; a channel is named; the policy gave up."""


class Run:
    """Where a run stands: everything here follows from its log."""

    def __init__(self, history: History) -> None:
        self.history, self.settings = history, history.settings
        self._replay()

    def _replay(self) -> None:
        self._asking = self.history.replay()
        self._policy = self._asking.policy

    @property
    def state(self) -> str:
        """`open`, `limited`, `decided` or `undecided`."""
        request = self._asking.ask()
        if request is None:
            return DECIDED if self._policy.decided else UNDECIDED
        most = self.history.max_senses
        return LIMITED if most is not None and self.history.senses + request.total > most else OPEN

    def ask(self) -> Request | None:
        """The request that waits for an answer; None where the run has ended or reached its limit of senses."""
        return self._asking.ask() if self.state == OPEN else None

    def missing(self) -> dict[int, tuple[int, ...]]:
        """How many senses of each input of each channel the open request still lacks; empty where none is open."""
        request = self.ask()
        if request is None or request.number not in self.history.requests:
            return {} if request is None else dict(request.senses)
        return self.history.partial_answer(request.number).missing

    def outcome(self) -> Identification:
        """What the run has come to so far."""
        return outcome(self._policy, self.settings.labels, inferred_outputs=self.settings.inferred_outputs)

    def standing(self) -> str:
        """Where it stands, in a few words."""
        request = self.ask()
        return f"the run is {self.state}" if request is None else f"request {request.number} is open"


@dataclass(frozen=True)
class Told:
    """What became of an answer, or of pieces of one: whether the run had it already (`repeated`).

    Once a request has its whole answer (`complete`), the policy has moved on.
    """

    request: int
    repeated: bool
    complete: bool = True


class LaboratoryRun(Run):
    """A run that this process, and no other, may tell answers to."""

    def __init__(self, run: store.Store) -> None:
        super().__init__(run.history)
        self._run = run
        self._write_down_request()

    def in_place(self) -> bool:
        """Whether the file is still as this process has left it; any thread may ask."""
        return self._run.in_place()

    def request(self, number: int) -> Request:
        """The request of this number, which is open or answered."""
        request = self.ask()
        if number not in self.history.answers and (request is None or request.number != number):
            raise InputError(f"{self.standing()}; request {number} cannot be answered")
        return self.history.requests[number]

    def tell(self, number: int, counts: Mapping[int, Integers]) -> Told:
        """Answer request `number`; on return the answer is on disk. The same answer again is harmless."""
        request = self.request(number)
        checked = checked_counts(request, Observation(number, counts), self.history.alphabets)
        if number in self.history.answers:
            rows = {(c, x): row for c, table in checked.items() for x, row in enumerate(table.tolist())}
            self._refuse_other(number, rows)
            return Told(number, repeated=True)
        self.history.partial_answer(number).refuse_less(checked)
        self._run.append(told_record(number, checked, None))
        self._move_on(number)
        return Told(number, repeated=False)

    def tell_pieces(self, number: int, pieces: Iterable[AnswerPiece]) -> Told:
        """Add pieces to the answer of request `number`, all or none of them; on return they are on disk.

        A piece that the run has is harmless, one that contradicts it is refused. The policy moves on with the piece
        that completes the answer, and sees their sum: the order of arrival makes no difference.
        """
        self.request(number)
        partial, pieces = self.history.partial_answer(number), list(pieces)
        is_answered = number in self.history.answers
        for piece in pieces:
            if is_answered and piece.id not in partial.pieces:
                raise InputError(f"request {number} was answered before piece {piece.id!r} came; {self.standing()}")
        new = partial.new_among(pieces)
        if not new:
            return Told(number, repeated=True, complete=is_answered)
        complete = sum(piece.senses for piece in new) == partial.total_missing
        told = [told_record(number, partial.counts(new), None)] if complete else []
        self._run.append(pieces_record(number, new), *told)
        if complete:
            self._move_on(number)
        return Told(number, repeated=False, complete=complete)

    def tell_inputs(self, number: int, rows: Rows) -> Told:
        """Answer request `number` for some of its inputs, each with all its senses; on return they are on disk."""
        if number in self.history.answers:
            self.request(number)
            self._refuse_other(number, rows)
            return Told(number, repeated=True)
        return self.tell_pieces(number, as_pieces(rows))

    def amend(self, number: int, rows: Rows) -> Told:
        """Correct what was told of inputs of request `number`; the policy goes on from there.

        The log keeps what was told before. Requests that followed upon the answer are void, and are asked anew.
        """
        history, pieces = self.history, as_pieces(rows)
        was_told = number in history.answers or (number in history.requests and history.partial_answer(number).pieces)
        if not was_told:
            raise InputError(f"nothing was told of request {number}, so nothing can be amended; {self.standing()}")
        request = history.requests[number]
        PartialAnswer(request, history.alphabets).new_among(pieces)  # refuses what does not fit
        for piece in pieces:
            if piece.senses != (asked := request.senses[piece.channel][piece.x]):
                raise InputError(
                    f"input x={piece.x} of channel {piece.channel} must have {several(asked, 'sense')}, as request"
                    f" {number} asks; it has {piece.senses:,}"
                )
        records = [amended_record(number, rows)]
        if number not in history.answers:
            amended = history.partial_answer(number).amended(rows, history.next_amendment)
            records += [] if amended.total_missing else [told_record(number, amended.counts(), None)]
        self._run.append(*records)
        self._replay()
        self._write_down_request()
        return Told(number, repeated=False, complete=number in history.answers)

    def _move_on(self, number: int) -> None:
        self._asking.tell(Observation(number, self.history.answers[number].counts))
        self._write_down_request()

    def limit(self, max_senses: int | None) -> None:
        """Let the run spend at most so many senses; None leaves the limit as it is."""
        self._run.limit(max_senses)

    def _write_down_request(self) -> None:
        request = self._asking.ask()
        if request is not None and request.number not in self.history.requests:
            self._run.append(asked_record(request))

    def _refuse_other(self, number: int, rows: Rows) -> None:
        told = self.history.answers[number].counts
        if any(told[channel][x].tolist() != list(counts) for (channel, x), counts in rows.items()):
            raise InputError(
                f"request {number} was answered otherwise before, and an answer stays (`bestchannel run amend` corrects"
                f" one); {self.standing()}"
            )


def read_run(path: str | os.PathLike[str]) -> Identification:
    """What a run has come to so far, read without disturbing whoever writes to it."""
    return view(path).outcome()


def view(path: str | os.PathLike[str]) -> Run:
    """Where a run stands now, read without disturbing whoever writes to it."""
    return Run(store.read(path))


@contextmanager
def begin(
    path: str | os.PathLike[str],
    policy: Policy,
    parties: Sequence[ChannelLabels] | None = None,
    *,
    max_senses: int | None = None,
    largest_request: int | None = None,
    title: str = "",
    note: str = "",
) -> Iterator[LaboratoryRun]:
    """A new run of a policy that was told nothing yet, for people to answer.

    `max_senses` limits what it may ask, and `largest_request` what it may ask at once; `title` and `note` say what the
    run is about, to whoever reads its report.
    """
    store.refuse_limit(max_senses)
    refuse_wishes(title, note, largest_request)
    unnamed = [ChannelLabels.numbered(j, alphabet) for j, alphabet in enumerate(policy.alphabets)]
    settings = Settings.of(policy, parties or unnamed, LABORATORY)
    wishes = structs.replace(settings, title=title, note=note, largest_request=largest_request)
    with store.begun(path, wishes) as run:
        run.limit(max_senses)
        yield LaboratoryRun(run)


@contextmanager
def open_run(path: str | os.PathLike[str], *, wait_s: float | None = None) -> Iterator[LaboratoryRun]:
    """The run in the file, to tell it answers, once nobody else writes to it: at most `wait_s` seconds from now."""
    with store.opened(path, store.PATIENCE_S if wait_s is None else wait_s) as run:
        if run.history.settings.answers_itself:
            raise InputError(f"{path}: this run answers itself; `bestchannel run resume` goes on with it")
        yield LaboratoryRun(run)


def answers_itself(path: str | os.PathLike[str]) -> bool:
    """Whether `resume` can go on with the run: a simulation or a recording. Its log is not read."""
    return store.read_settings(path).answers_itself
