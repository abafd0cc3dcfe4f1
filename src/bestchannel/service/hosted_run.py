"""An open run of the service: one thread that alone touches the file, and what others may ask of it.

Offers that arrive while the thread is writing wait together and share the next transaction: an acknowledged piece is on
disk, and the cost of putting it there is shared. The policy thinks in this thread too, away from the event loop.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from itertools import chain
from pathlib import Path
from typing import TypeVar

from msgspec.structs import replace

from bestchannel import runs
from bestchannel.errors import BestChannelError
from bestchannel.information import NATS_PER_BIT
from bestchannel.record import RunStatus
from bestchannel.runs import LaboratoryRun, store
from bestchannel.runs.history import AnswerPiece, History
from bestchannel.service.ledger import Labels, Ledger
from bestchannel.service.messages import PieceOutcome

MOST_AT_ONCE = 512  # offers that share a transaction
FAILED = "failed"  # the state of a run whose file or policy cannot go on; the log says why

Offered = tuple[int, Sequence[AnswerPiece], Future[list[PieceOutcome]]]  # request, pieces, and who waits for them
T = TypeVar("T")


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
        self.status: RunStatus
        self.labels: Labels
        self.in_place: Callable[[], bool]
        self._thread, self._file = ThreadPoolExecutor(1, f"run {name}"), ExitStack()
        self._run: LaboratoryRun | None = None
        self._why_closed: BestChannelError = runs.NotWrittenError("the run was closed meanwhile; try again")
        self._offers: deque[Offered] = deque()

    def start(self) -> Future[None]:
        """Open the file; done, or failed, once the run stands as its log says."""
        return self._thread.submit(self._open)

    def stop(self) -> None:
        """Write what is waiting, and close the file; what is offered later is refused, to be offered again."""
        self._submit(self._close)
        self._thread.shutdown()

    def offer(self, request: int, pieces: Sequence[AnswerPiece]) -> Future[list[PieceOutcome]]:
        """What becomes of the pieces, once those that are kept are on disk."""
        answer: Future[list[PieceOutcome]] = Future()
        offered = request, pieces, answer
        self._offers.append(offered)
        kept = self._submit(self._keep)
        if kept.done() and (closed := kept.exception()):
            with suppress(ValueError):  # where the thread has taken it nevertheless
                self._offers.remove(offered)
                answer.set_exception(closed)
        return answer

    def do(self, work: Callable[[LaboratoryRun], T]) -> Future[T]:
        """What the work comes to, done in the run's own thread; by then the status says where the run stands."""

        def done() -> T:
            run = self._opened()
            try:
                return work(run)
            finally:
                self._or_fail(lambda: self._publish(run))

        return self._submit(done)

    def _submit(self, work: Callable[[], T]) -> Future[T]:
        try:
            return self._thread.submit(work)
        except RuntimeError:  # the thread has ended, or does what was left to do
            refused: Future[T] = Future()
            refused.set_exception(self._why_closed)
            return refused

    def _open(self) -> None:
        try:
            run = self._file.enter_context(runs.open_run(self.path, wait_s=store.BRIEFLY_S))
            self.in_place, self.labels = run.store.in_place, Labels(run.settings.labels)
            self._publish(run)
            self._run = run
        except BaseException:
            self._close()
            raise

    def _close(self) -> None:
        self._run = None
        self._file.close()

    def _opened(self) -> LaboratoryRun:
        if self._run is None:
            raise self._why_closed
        return self._run

    def _keep(self) -> None:
        """Take in the offers that wait, together, and answer them: whoever was first has come for all."""
        waiting = [self._offers.popleft() for _ in range(min(len(self._offers), MOST_AT_ONCE))]
        # from now on an answer cannot be cancelled, as by a client that leaves
        offers = [offer for offer in waiting if offer[-1].set_running_or_notify_cancel()]
        try:
            run = self._opened()
            try:
                outcomes = self._or_fail(lambda: self._kept(run, offers))
            except runs.NotWrittenError:  # a full disk: nothing was kept, and the run goes on without it
                self._or_fail(lambda: self._publish(run, anew=True))
                raise
        except BaseException as error:
            for *_, answer in offers:
                answer.set_exception(error)
            return
        for (*_, answer), became in zip(offers, outcomes, strict=True):
            answer.set_result(became)

    def _kept(self, run: LaboratoryRun, offers: Sequence[Offered]) -> list[list[PieceOutcome]]:
        """What becomes of the pieces of all offers in their order; those that are new are put on disk together."""
        ledger, number = self.ledger, self.ledger.number
        outcomes = [
            [
                ledger.take_in(piece) if request == number else outcome_late(run.history, request, piece)
                for piece in pieces
            ]
            for request, pieces, _ in offers
        ]
        pairs = zip(chain(*(pieces for _, pieces, _ in offers)), chain(*outcomes), strict=True)
        new = [piece for piece, outcome in pairs if outcome.outcome == "kept"]
        if number is not None and new and run.tell_pieces(number, new).complete:
            self._publish(run)
        return outcomes

    def _publish(self, run: LaboratoryRun, anew: bool = False) -> None:
        """Say where the run stands, and begin the ledger where it asks for something else, or anew from the file."""
        request, status = run.ask(), status_of(run, self.name)
        if request is None:
            self.ledger.begin(None)
        elif anew or self.ledger.number != request.number:
            is_on_disk = request.number in run.history.requests
            self.ledger.begin(request, run.history.partial_answer(request.number).pieces.values() if is_on_disk else ())
        self.status = status
        self._changed()

    def _or_fail(self, work: Callable[[], T]) -> T:
        """What the work comes to; where more is wrong than a disk, the run cannot go on, and its status says why."""
        try:
            return work()
        except runs.NotWrittenError:
            raise
        except BaseException as error:
            failed = runs.NotWrittenError(f"the run failed: {error}")
            self._why_closed = error if isinstance(error, BestChannelError) else failed
            self._close()
            self.ledger.begin(None)
            self.status = replace(self.status, state=FAILED, request=None, more_senses=None, error=str(error))
            self._changed()
            raise


def outcome_late(history: History, request: int, piece: AnswerPiece) -> PieceOutcome:
    """What becomes of a piece of a request that is not open: harmless where the run has it."""
    if request not in history.answers:
        return PieceOutcome("refused", f"request {request} is not open")
    if history.partial_answer(request).pieces.get(piece.id) == piece:
        return PieceOutcome("repeated")
    return PieceOutcome("refused", f"request {request} was answered before")
