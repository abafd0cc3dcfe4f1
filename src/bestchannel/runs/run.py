"""A run that people answer: in any number of sittings, one request after the other."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from bestchannel.arrays import Integers
from bestchannel.errors import InputError
from bestchannel.policies import ChannelLabels, Identification, Policy, Request
from bestchannel.policies.identify import outcome
from bestchannel.policies.request import Observation, checked_counts
from bestchannel.runs import store
from bestchannel.runs.durable import refuse_limit, set_limit
from bestchannel.runs.history import History, asked_record, pieces_record, told_record
from bestchannel.runs.pieces import AnswerPiece
from bestchannel.runs.settings import LABORATORY, Settings
from bestchannel.runs.sources import BY_THEMSELVES

OPEN, LIMITED, DECIDED, UNDECIDED = "open", "limited", "decided", "undecided"
"""A request waits for its answer; it would pass the limit of senses; a channel is named; the policy gave up."""


class Run:
    """Where a run stands: everything here follows from its log."""

    def __init__(self, history: History) -> None:
        self.history = history
        self._policy = history.replay()

    @property
    def settings(self) -> Settings:
        """What the run is about."""
        return self.history.settings

    @property
    def state(self) -> str:
        """`open`, `limited`, `decided` or `undecided`."""
        request = self._policy.ask()
        if request is None:
            return UNDECIDED if self._policy.recommendation is None else DECIDED
        most = self.history.max_senses
        return LIMITED if most is not None and self._policy.senses + request.total > most else OPEN

    def ask(self) -> Request | None:
        """The request that waits for an answer; None where the run has ended or reached its limit of senses."""
        return self._policy.ask() if self.state == OPEN else None

    def missing(self) -> dict[int, tuple[int, ...]]:
        """How many senses of each input of each channel the open request still lacks; empty where none is open."""
        request = self.ask()
        if request is None or request.number not in self.history.requests:
            return {} if request is None else dict(request.senses)
        return self.history.partial_answer(request.number).missing

    def outcome(self) -> Identification:
        """What the run has come to so far."""
        settings = self.settings
        return outcome(self._policy, settings.parties, inferred_outputs=settings.inferred_outputs)


@dataclass(frozen=True)
class Told:
    """What became of an answer, or of pieces of one.

    Attributes
    ----------
    request
        The number of the request.
    repeated
        Whether the run had it already.
    complete
        Whether the request has its whole answer, so that the policy has moved on.
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

    def request(self, number: int) -> Request:
        """The request of this number, which is open or answered."""
        request = self.ask()
        if number not in self.history.answers and (request is None or request.number != number):
            raise InputError(f"{self._standing()}; request {number} cannot be answered")
        return self.history.requests[number]

    def tell(self, number: int, counts: Mapping[int, Integers]) -> Told:
        """Answer request `number`; on return the answer is on disk. The same answer again is harmless."""
        request = self.request(number)
        checked = checked_counts(request, Observation(number, counts), self.history.alphabets)
        if number in self.history.answers:
            self._refuse_other(number, checked)
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
        if number in self.history.answers:
            self._refuse_late(number, pieces)
        new = partial.new_among(pieces)
        if not new:
            return Told(number, repeated=True, complete=number in self.history.answers)
        complete = sum(piece.senses for piece in new) == sum(map(sum, partial.missing.values()))
        told = [told_record(number, partial.counts(new), None)] if complete else []
        self._run.append(pieces_record(number, new), *told)
        if complete:
            self._move_on(number)
        return Told(number, repeated=False, complete=complete)

    def _move_on(self, number: int) -> None:
        self._policy.tell(Observation(number, self.history.answers[number].counts))
        self._write_down_request()

    def limit(self, max_senses: int | None) -> None:
        """Let the run spend at most so many senses; None leaves the limit as it is."""
        set_limit(self._run, max_senses)

    def _write_down_request(self) -> None:
        request = self._policy.ask()
        if request is not None and request.number not in self.history.requests:
            self._run.append(asked_record(request))

    def _refuse_late(self, number: int, pieces: Iterable[AnswerPiece]) -> None:
        known = self.history.partial_answer(number).pieces
        for piece in pieces:
            if piece.id not in known:
                raise InputError(f"request {number} was answered before piece {piece.id!r} came; {self._standing()}")

    def _refuse_other(self, number: int, counts: Mapping[int, Integers]) -> None:
        told = self.history.answers[number].counts
        if any((told[channel] != table).any() for channel, table in counts.items()):
            raise InputError(f"request {number} was answered otherwise before, and an answer stays; {self._standing()}")

    def _standing(self) -> str:
        request = self.ask()
        return f"the run is {self.state}" if request is None else f"request {request.number} is open"


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
) -> Iterator[LaboratoryRun]:
    """A new run of a policy that was told nothing yet, for people to answer; `max_senses` limits what it may ask."""
    refuse_limit(max_senses)
    unnamed = [ChannelLabels.numbered(j, alphabet) for j, alphabet in enumerate(policy.alphabets)]
    with store.begun(path, Settings.of(policy, parties or unnamed, LABORATORY)) as run:
        set_limit(run, max_senses)
        yield LaboratoryRun(run)


@contextmanager
def open_run(path: str | os.PathLike[str]) -> Iterator[LaboratoryRun]:
    """The run in the file, to tell it answers."""
    with store.opened(path) as run:
        if run.history.settings.source["kind"] in BY_THEMSELVES:
            raise InputError(f"{path}: this run answers itself; `bestchannel run resume` goes on with it")
        yield LaboratoryRun(run)


def answers_itself(path: str | os.PathLike[str]) -> bool:
    """Whether `resume` can go on with the run: a simulation or a recording. Its log is not read."""
    return store.read_settings(path).source["kind"] in BY_THEMSELVES
