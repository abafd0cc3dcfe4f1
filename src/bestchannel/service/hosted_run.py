"""An open run of the service: one thread that alone touches the file, and what others may ask of it.

Offers that arrive while the thread is writing wait together and share the next transaction: an acknowledged piece is on
disk, and the cost of putting it there is shared. The policy thinks in this thread too, away from the event loop.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable
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
from bestchannel.json_text import finite_or_none
from bestchannel.record import RunStatus, SensorStatus
from bestchannel.runs import LaboratoryRun, store
from bestchannel.runs.history import History
from bestchannel.runs.pieces import AnswerPiece
from bestchannel.service.ledger import Labels, Lease, Ledger, Sensor
from bestchannel.service.messages import KEPT, REFUSED, REPEATED, PieceOutcome

MOST_AT_ONCE = 512  # offers that share a transaction
MOST_LEASES, MOST_LEASES_OF_ONE = 1000, 500  # of a run, and of the bearers of one token
MOST_PARTS, MOST_SENSORS = 256, 1000  # parts of a lease, and sensors of a run that are remembered
RECENT_S = 60.0  # a sensor that was not heard of for so long does not share in the work
FAILED = "failed"  # the state of a run whose file or policy cannot go on; the log says why
QUIET_LEASES = 10
"""Times of a lease after which one that was renewed and not answered goes to a sensor with another token without any.

Not sooner: whoever takes longer for some answers than for others would lose these more often.
"""

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
    last = steps[-1].status
    rival, evidence, threshold = last.challenger, last.evidence_nats, last.threshold_nats
    return replace(
        status,
        candidates=tuple(channels[c] for c in last.candidates),
        leader=None if last.leader is None else channels[last.leader],
        challenger=None if rival is None else channels[rival],
        evidence_bits=None if rival is None else finite_or_none(evidence[rival] / NATS_PER_BIT),
        threshold_bits=None if rival is None else finite_or_none(threshold[rival] / NATS_PER_BIT),
        more_senses=None if request is None else last.more_senses,
    )


@dataclass
class SeenSensor:
    """A sensor that was heard of: its channels by number, when last, and how many senses it has answered."""

    channels: frozenset[int]
    seen: float
    senses: int = 0


class HostedRun:
    """A run that this service writes to, from `start` until `stop` or its end."""

    def __init__(self, name: str, path: Path, changed: Callable[[], None], lease_s: float) -> None:
        self.name, self.path, self.lease_s, self._changed = name, path, lease_s, changed
        self.paused, self._closed = False, False
        self.sensors: dict[Sensor, SeenSensor] = {}
        self.status: RunStatus
        self.labels: Labels
        self.in_place: Callable[[], bool]
        self._ledger: Ledger | None = None
        self._lock = threading.Lock()
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
                if (task := self._tasks.get_nowait()) is not None:
                    task.answer.set_exception(runs.NotWrittenError("the run was closed meanwhile; try again"))

    def lend(self, sensor: Sensor, channels: Collection[int], most: int, now: float) -> tuple[int, Lease] | None:
        """A lease on some of the open request, with its number.

        What is open is shared among the tokens whose sensors can reach these channels, and then among those of each.
        """
        with self._lock:
            ledger = self._ledger
            if ledger is None or self.paused or not self._has_room(ledger, sensor[0], channels, now):
                return None
            share = min(most, self._share(ledger, sensor[0], channels, now))
            lease = ledger.lend(secrets.token_urlsafe(12), sensor, channels, share, MOST_PARTS, now + self.lease_s, now)
            return None if lease is None else (ledger.number, lease)

    def renew(self, id: str, now: float, *, answered: bool = False) -> bool:
        """Let a lease last again; whether there is one."""
        with self._lock:
            lease = self._ledger and self._ledger.leases.get(id)
            if lease:
                lease.expires = now + self.lease_s
                lease.answered = now if answered else lease.answered
            return bool(lease)

    def holder(self, id: str | None) -> Sensor | None:
        """The sensor that has a lease."""
        with self._lock:
            lease = self._ledger.leases.get(id) if self._ledger and id else None
            return lease.sensor if lease else None

    def give_back(self, id: str) -> None:
        """End a lease; one that is over already stays so."""
        with self._lock:
            ended = self._ledger is not None and self._ledger.give_back(id)
        if ended:
            self._changed()

    def expire(self, now: float) -> list[Lease]:
        """End the leases whose time is over."""
        with self._lock:
            over = self._ledger.expire(now) if self._ledger else []
        if over:
            self._changed()
        return over

    def take_back(self, token: str) -> None:
        """End all leases of the bearers of a token, and forget their sensors."""
        self.sensors = {sensor: seen for sensor, seen in self.sensors.items() if sensor[0] != token}
        for lease in self.work_left()[2]:
            if lease.sensor[0] == token:
                self.give_back(lease.id)

    def heard_of(self, sensor: Sensor, channels: Collection[int], now: float) -> None:
        """Remember a sensor; of too many, one of the token that has the most is forgotten, the longest silent."""
        known = self.sensors.pop(sensor, None)
        self.sensors[sensor] = SeenSensor(frozenset(channels), now, known.senses if known else 0)
        if len(self.sensors) > MOST_SENSORS:
            [(most, _)] = Counter(token for token, _ in self.sensors).most_common(1)
            self.sensors.pop(next(seen for seen in self.sensors if seen[0] == most))

    def work_left(self) -> tuple[int, int, list[Lease]]:
        """Senses of the open request, those answered, and its leases."""
        with self._lock:
            if (ledger := self._ledger) is None:
                return 0, 0, []
            return ledger.asked_senses, ledger.answered_senses, list(ledger.leases.values())

    def sensor_statuses(self, leases: Iterable[Lease]) -> tuple[SensorStatus, ...]:
        """The sensors that were heard of, in the order of their names."""
        leased, now = Counter[Sensor](), time.monotonic()
        for lease in leases:
            leased[lease.sensor] += sum(part.count for part in lease.parts)
        known = sorted(self.sensors.items(), key=lambda item: item[0][1])
        channels = [tuple(self.status.channels[j] for j in sorted(seen.channels)) for _, seen in known]
        return tuple(
            SensorStatus(sensor[1], reached, seen.senses, leased[sensor], int(now - seen.seen))
            for (sensor, seen), reached in zip(known, channels, strict=True)
        )

    def _share(self, ledger: Ledger, token: str, channels: Collection[int], now: float) -> int:
        """Senses that a sensor with this token may have now."""
        recent = ((owner, seen) for (owner, _), seen in self.sensors.items() if now - seen.seen < RECENT_S)
        colleagues = Counter(owner for owner, seen in recent if not seen.channels.isdisjoint(channels))
        free, lent = ledger.free_in(channels), ledger.lent_in(channels)
        tokens = len({token, *colleagues})
        due = -(-(free + lent.total()) // tokens) - lent[token]
        return max(0, -(-min(free, due) // max(1, colleagues[token])))

    def _has_room(self, ledger: Ledger, token: str, channels: Collection[int], now: float) -> bool:
        """Whether a sensor with this token may have a lease, if need be instead of one of the token with the most."""
        leases = list(ledger.leases.values())
        held = Counter(lease.sensor[0] for lease in leases)
        if len(leases) >= MOST_LEASES:
            over = [lease for lease in leases if held[lease.sensor[0]] > held[token] + 1]
        elif not held[token] and not ledger.free_in(channels):
            long_ago = now - QUIET_LEASES * self.lease_s
            over = [lease for lease in leases if lease.answered < long_ago and lease.senses_of(channels)]
        else:
            return held[token] < MOST_LEASES_OF_ONE
        if over:
            ledger.give_back(max(over, key=lambda lease: held[lease.sensor[0]]).id)  # the oldest of them
        return bool(over)

    def _work(self) -> None:
        try:
            with runs.open_run(self.path, wait_s=store.BRIEFLY_S) as run:
                self.in_place = run.in_place
                self.labels = Labels(run.settings.labels)
                self._stand(run)
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
                    self._stand(run)

    def _keep(self, run: LaboratoryRun, offers: list[Offered]) -> None:
        """Take in the pieces of all offers in their order, and put those that are new on disk together."""
        ledger, late = self._ledger, run.history
        with self._lock:
            outcomes = [
                [ledger.take_in(piece) for piece in offer.pieces]
                if ledger is not None and offer.request == ledger.number
                else [outcome_late(late, offer.request, piece) for piece in offer.pieces]
                for offer in offers
            ]
        pairs = zip(chain(*(offer.pieces for offer in offers)), chain(*outcomes), strict=True)
        new = [piece for piece, outcome in pairs if outcome.outcome == KEPT]
        try:
            moved_on = ledger is not None and bool(new) and run.tell_pieces(ledger.number, new).complete
        except BaseException as error:
            for offer in offers:
                offer.answer.set_exception(error)
            if not isinstance(error, runs.NotWrittenError):
                raise
            self._stand(run, anew=True)  # a full disk: nothing was kept, and the run goes on without it
            return
        if moved_on:
            self._stand(run)
        for offer, became in zip(offers, outcomes, strict=True):
            offer.answer.set_result(became)

    def _stand(self, run: LaboratoryRun, anew: bool = False) -> None:
        """Say where the run stands, and begin a ledger where it asks for something else, or anew from the file."""
        request, status = run.ask(), status_of(run, self.name)
        pieces = [] if request is None else list(run.history.partial_answer(request.number).pieces.values())
        with self._lock:
            if request is None:
                self._ledger = None
            elif anew or self._ledger is None or self._ledger.number != request.number:
                self._ledger = Ledger(request, pieces)
            self.status = status
        self._changed()

    def _fail(self, error: BaseException) -> None:
        """Say why the run cannot go on, to all who wait and will ask."""
        if not self._started.done():
            self._started.set_exception(error)
            return
        with self._lock:
            self._ledger = None
            self.status = replace(self.status, state=FAILED, request=None, more_senses=None, error=str(error))
        self._changed()
        failure = error if isinstance(error, BestChannelError) else runs.NotWrittenError(f"the run failed: {error}")
        while (task := self._tasks.get()) is not None:
            task.answer.set_exception(failure)


def outcome_late(history: History, request: int, piece: AnswerPiece) -> PieceOutcome:
    """What becomes of a piece of a request that is not open: harmless where the run has it."""
    if request not in history.answers:
        return PieceOutcome(REFUSED, f"request {request} is not open")
    known = history.partial_answer(request).pieces.get(piece.id)
    return PieceOutcome(REPEATED) if known == piece else PieceOutcome(REFUSED, f"request {request} was answered before")
