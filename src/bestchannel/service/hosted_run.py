"""An open run of the service: one thread that alone touches the file, and what others may ask of it.

Offers that arrive while the thread is writing wait together and share the next transaction: an acknowledged piece is on
disk, and the cost of putting it there is shared. The policy thinks in this thread too, away from the event loop.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from msgspec.structs import replace

from bestchannel import runs
from bestchannel.errors import BestChannelError
from bestchannel.information import NATS_PER_BIT
from bestchannel.record import RunStatus
from bestchannel.runs import LaboratoryRun, store
from bestchannel.runs.history import AnswerPiece, History
from bestchannel.service.ledger import Labels, Ledger
from bestchannel.service.messages import KEPT, REFUSED, REPEATED, PieceOutcome

MOST_AT_ONCE = 512  # offers that share a transaction
FAILED = "failed"  # the state of a run whose file or policy cannot go on; the log says why

T = TypeVar("T")


@dataclass(frozen=True)
class Offered:
    """Pieces on their way to disk, and who waits for them."""

    request: int
    pieces: tuple[AnswerPiece, ...]
    answer: Future[list[PieceOutcome]]


@dataclass(frozen=True)
class Job:
    """Something to do in the run's own thread, and who waits for it."""

    work: Callable[[LaboratoryRun], Any]
    answer: Future[Any]


Task = Offered | Job | None  # what the thread is given; None ends it


def waited_for(task: Offered | Job) -> bool:
    """Whether somebody still waits for the task; from then on it cannot be cancelled, as by a client that leaves."""
    return task.answer.set_running_or_notify_cancel()


def status_of(run: runs.Run, name: str, error: str = "") -> RunStatus:
    """Where a run stands now, as far as its log says."""
    request, outcome, settings = run.ask(), run.outcome(), run.settings
    steps, nearly = outcome.audit.steps, outcome.nearly_best
    channels = tuple(str(labels.key) for labels in settings.labels)
    status = RunStatus(
        run=name,
        state=run.state,
        policy=settings.policy,
        delta=settings.delta,
        epsilon=settings.epsilon,
        channels=channels,
        candidates=channels,
        best=None if outcome.best is None else str(outcome.best),
        answer="" if outcome.findings is None else outcome.question.answer(outcome),
        nearly_best=None if nearly is None else str(nearly.channel),
        within_bits=None if nearly is None else nearly.within_bits,
        senses=outcome.senses,
        max_senses=run.history.max_senses,
        requests=len(steps),
        request=None if request is None else request.number,
        error=error,
    )
    if not steps:
        return status
    last, rival = steps[-1].status, steps[-1].status.challenger

    def bits(nats: Mapping[int, float]) -> float | None:
        value = math.inf if rival is None else nats[rival]
        return value / NATS_PER_BIT if math.isfinite(value) else None

    return replace(
        status,
        candidates=tuple(channels[c] for c in last.candidates),
        leader=None if last.leader is None else channels[last.leader],
        challenger=None if rival is None else channels[rival],
        evidence_bits=bits(last.evidence_nats),
        threshold_bits=bits(last.threshold_nats),
        more_senses=None if request is None else last.more_senses,
    )


class HostedRun:
    """A run that this service writes to, from `start` until `stop` or its end."""

    def __init__(self, name: str, path: Path, changed: Callable[[], None], lease_s: float) -> None:
        self.name, self.path, self._changed = name, path, changed
        self.ledger = Ledger(lease_s, changed)
        self.paused, self._closed = False, False
        self.status: RunStatus
        self.labels: Labels
        self.in_place: Callable[[], bool]
        self._tasks: SimpleQueue[Task] = SimpleQueue()
        self._started: Future[None] = Future()
        self._thread = threading.Thread(target=self._work, name=f"run {name}", daemon=True)

    def start(self) -> Future[None]:
        """Open the file; done, or failed, once the run stands as its log says."""
        self._thread.start()
        return self._started

    def stop(self) -> None:
        """Write what is waiting, and close the file; what is offered later is refused, to be offered again."""
        self._tasks.put(None)
        self._thread.join()
        self._closed = True
        self._turn_away()

    def offer(self, request: int, pieces: Iterable[AnswerPiece]) -> Future[list[PieceOutcome]]:
        """What becomes of the pieces, once those that are kept are on disk."""
        offered = Offered(request, tuple(pieces), Future())
        self._put(offered)
        return offered.answer

    def do(self, work: Callable[[LaboratoryRun], T]) -> Future[T]:
        """What the work comes to, done in the run's own thread."""
        job = Job(work, Future())
        self._put(job)
        return job.answer

    def _put(self, task: Offered | Job) -> None:
        self._tasks.put(task)
        if self._closed:  # perhaps after `stop` has looked for the last time
            self._turn_away()

    def _turn_away(self) -> None:
        with suppress(Empty):
            while True:
                if (task := self._tasks.get_nowait()) is not None and waited_for(task):
                    task.answer.set_exception(runs.NotWrittenError("the run was closed meanwhile; try again"))

    def _work(self) -> None:
        try:
            with runs.open_run(self.path, wait_s=store.BRIEFLY_S) as run:
                self.in_place = run.in_place
                self.labels = Labels(run.settings.labels)
                self._publish(run)
                self._started.set_result(None)
                self._serve(run)
        except BaseException as error:
            self._fail(error)

    def _serve(self, run: LaboratoryRun) -> None:
        while True:
            batch = [self._tasks.get()]
            with suppress(Empty):
                while len(batch) < MOST_AT_ONCE:
                    batch.append(self._tasks.get_nowait())
            batch = [task for task in batch if task is None or waited_for(task)]
            offers = [task for task in batch if isinstance(task, Offered)]
            if offers:
                self._keep(run, offers)
            for task in batch:
                if task is None:
                    return
                if isinstance(task, Job):
                    try:
                        task.answer.set_result(task.work(run))
                    except BaseException as error:
                        task.answer.set_exception(error)
                    self._publish(run)

    def _keep(self, run: LaboratoryRun, offers: list[Offered]) -> None:
        """Take in the pieces of all offers in their order, and put those that are new on disk together."""
        ledger, number = self.ledger, self.ledger.number
        outcomes = [
            [ledger.take_in(piece) for piece in offer.pieces]
            if offer.request == number
            else [outcome_late(run.history, offer.request, piece) for piece in offer.pieces]
            for offer in offers
        ]
        pairs = zip(chain(*(offer.pieces for offer in offers)), chain(*outcomes), strict=True)
        new = [piece for piece, outcome in pairs if outcome.outcome == KEPT]
        try:
            moved_on = number is not None and bool(new) and run.tell_pieces(number, new).complete
        except BaseException as error:
            for offer in offers:
                offer.answer.set_exception(error)
            if not isinstance(error, runs.NotWrittenError):
                raise
            self._publish(run, anew=True)  # a full disk: nothing was kept, and the run goes on without it
            return
        if moved_on:
            self._publish(run)
        for offer, became in zip(offers, outcomes, strict=True):
            offer.answer.set_result(became)

    def _publish(self, run: LaboratoryRun, anew: bool = False) -> None:
        """Say where the run stands, and begin the ledger where it asks for something else, or anew from the file."""
        request, status = run.ask(), status_of(run, self.name)
        if request is None:
            self.ledger.begin(None)
        elif anew or self.ledger.number != request.number:
            self.ledger.begin(request, run.history.partial_answer(request.number).pieces.values())
        self.status = status
        self._changed()

    def _fail(self, error: BaseException) -> None:
        """Say why the run cannot go on, to all who wait and will ask."""
        if not self._started.done():
            self._started.set_exception(error)
            return
        self.ledger.begin(None)
        self.status = replace(self.status, state=FAILED, request=None, more_senses=None, error=str(error))
        self._changed()
        failure = error if isinstance(error, BestChannelError) else runs.NotWrittenError(f"the run failed: {error}")
        while (task := self._tasks.get()) is not None:
            if waited_for(task):
                task.answer.set_exception(failure)


def outcome_late(history: History, request: int, piece: AnswerPiece) -> PieceOutcome:
    """What becomes of a piece of a request that is not open: harmless where the run has it."""
    if request not in history.answers:
        return PieceOutcome(REFUSED, f"request {request} is not open")
    known = history.partial_answer(request).pieces.get(piece.id)
    return PieceOutcome(REPEATED) if known == piece else PieceOutcome(REFUSED, f"request {request} was answered before")
