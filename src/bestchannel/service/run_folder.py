"""The runs of a folder, `NAME.db` each: those that are open are hosted, and their work is lent; the others are read.

What changes a run may wait for its file, so the event loop calls it in another thread; what only looks does not wait.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import json
import logging
import math
import os
import re
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from msgspec.json import decode
from msgspec.structs import replace

from bestchannel import runs
from bestchannel.disk import read_bytes, write_bytes
from bestchannel.errors import BestChannelError, InputError, MissingFileError
from bestchannel.policies import make_policy
from bestchannel.policies.catalogue import POLICIES
from bestchannel.record import RunStatus
from bestchannel.runs import store
from bestchannel.runs.history import History
from bestchannel.runs.laboratory_files import channel_labels
from bestchannel.runs.run import OPEN
from bestchannel.service import messages as m
from bestchannel.service.access import Scope
from bestchannel.service.hosted_run import FAILED, HostedRun, outcome_late, status_of
from bestchannel.service.ledger import Labels
from bestchannel.service.limits import Client, Places, Turns

MOST_RUNS = 1000  # of a folder: creation is refused beyond
MOST_CELLS = 2**22  # inputs times outputs of all channels of a run that is created over the network
RETRY_S = 30.0  # after which a run that could not be opened, as another program wrote to it, is tried again
TICK_S = 0.5  # between two looks for leases that are over and runs that have ended
PAUSED, IDLE = "paused", "idle"  # what a sensor is told of a paused run, and where no run has its channels

log = logging.getLogger(__name__)

Stamp = tuple[int, int]  # when a file was written to, in nanoseconds, and its size


@dataclass(frozen=True)
class ClosedRun:
    """A run that is not hosted: it has ended, answers itself, or cannot be read. It is read again `until` then."""

    stamp: Stamp
    labels: Labels | None
    status: RunStatus
    until: float = math.inf


class RunFolder:
    """What the service serves."""

    def __init__(self, folder: Path, lease_s: float, changed: Callable[[], None]) -> None:
        folder = folder.absolute()
        self.folder, self.hosted = folder, dict[str, HostedRun]()
        self._lease_s, self._changed = lease_s, changed
        self._closed: dict[str, ClosedRun] = {}
        self._lock = threading.RLock()
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{folder}: the folder of the runs cannot be made ({error.strerror})") from None
        self._paused_file = file = folder / ".paused.json"
        try:
            self.paused = set(decode(read_bytes(file), type=list[str])) if file.exists() else set[str]()
        except ValueError:
            wanted = "the file must hold the names of the paused runs as a list in JSON"
            raise InputError(f"{file}: {wanted}; mend or delete it") from None

    def without_paths(self, text: str) -> str:
        """A sentence without where the folder is, which is nobody's business."""
        return text.replace(f"{self.folder}{os.sep}", "")

    def names(self) -> list[str]:
        """The runs that there are, in the order of their names."""
        return sorted(
            path.stem for path in self.folder.glob("*.db") if re.fullmatch(m.NAME, path.stem) and path.is_file()
        )

    def path(self, name: str) -> Path:
        """The file of a run, which must be there."""
        if re.fullmatch(m.NAME, name) and (path := self.folder / f"{name}.db").is_file():
            return path
        raise MissingFileError(f"there is no run {name[:64]!r}")

    def close(self) -> None:
        """Let go of every run; what was offered is on disk before."""
        with self._lock:
            for hosted in self.hosted.values():
                hosted.stop()
            self.hosted.clear()

    def create(self, wish: m.NewRun) -> None:
        """Begin a run; on return it is on disk and hosted."""
        if wish.policy not in POLICIES:
            raise InputError(f"the policy must be one of {', '.join(POLICIES)}; it is {wish.policy!r}")
        if len(self.names()) >= MOST_RUNS:
            raise InputError(f"the folder has {MOST_RUNS:,} runs, and takes no more; move some of them elsewhere")
        cells = sum(len(labels.inputs) * len(labels.outputs) for labels in wish.channels.values())
        if cells > MOST_CELLS:
            most = f"the channels of a run have at most {MOST_CELLS:,} pairs of letters"
            raise InputError(f"{most}; these have {cells:,}")
        channels = [channel_labels(name, list(of.inputs), list(of.outputs)) for name, of in wish.channels.items()]
        alphabets = [labels.alphabet for labels in channels]
        asked = {} if wish.question is None else {"question": wish.question}
        policy = make_policy(wish.policy, alphabets, delta=wish.delta, epsilon=wish.epsilon, **asked)
        path = self.folder / f"{wish.name}.db"
        with self._lock:
            self.close_ended()  # also of a run whose file, and with it the name, is gone
            if os.path.lexists(path) and not _is_empty(path):
                raise InputError(f"there is a run {wish.name!r} already; choose another name")
            with runs.begin(path, policy, channels, max_senses=wish.max_senses):
                pass
            self._note_paused(wish.name, False)  # as an earlier run of this name may have been
            self.host_or_read(wish.name)

    def alter(self, name: str, change: m.Change) -> None:
        """Pause a run or let it go on, limit it, or end it at what it has spent; on return that is on disk."""
        self.path(name)
        with self._lock:
            if change.end or change.max_senses is not None:
                hosted = self.hosted.get(name) or self._host(name)
                if hosted is None:
                    raise InputError(f"the run {name} cannot be changed here; {self._closed[name].status.error}")
                limit = None if change.end else change.max_senses
                hosted.do(lambda run: run.limit(run.history.senses if limit is None else limit)).result()
                self._let_go_unless_open(hosted)
            if change.paused is not None:
                self._note_paused(name, change.paused)
        self._changed()

    def host_or_read(self, name: str) -> tuple[Labels | None, RunStatus]:
        """The labels of a run and where it stands; one that is open and not hosted yet is, from now on."""
        known = self._known(name)
        if known is None:
            with self._lock:
                if self._known(name) is None:  # nor has somebody else looked meanwhile
                    self._let_go_unless_open(self._host(name))
            known = self.hosted.get(name) or self._closed.get(name)
            if known is None:
                raise MissingFileError(f"there is no run {name!r} any more")
        return known.labels, known.status

    def close_ended(self) -> None:
        """Close the files of hosted runs that have nothing more to ask, or are no longer where they were."""
        with self._lock:
            ended = [hosted for hosted in self.hosted.values() if _has_ended(hosted) or not hosted.in_place()]
            for hosted in ended:
                self._close(hosted)
        if ended:  # their memory goes back to the system, so that a service stays as small as its open runs
            gc.collect()  # a run and its policy refer to each other
            with suppress(AttributeError, OSError, TypeError):
                ctypes.CDLL(None).malloc_trim(0)

    async def standing(self, name: str) -> tuple[Labels | None, RunStatus]:
        """The labels of a run and where it stands, at once where it is hosted."""
        if hosted := self.hosted.get(name):
            return hosted.labels, hosted.status
        return await asyncio.to_thread(self.host_or_read, name)

    async def statuses(self) -> list[RunStatus]:
        """Where all runs stand; sensors are heard between any two of them."""
        listed = []
        for name in await asyncio.to_thread(self.names):
            with suppress(MissingFileError):  # deleted meanwhile
                listed.append(await self.status(name))
            await asyncio.sleep(0)
        return listed

    async def status(self, name: str) -> RunStatus:
        """All that is told of a run."""
        _, status = await self.standing(name)
        hosted = self.hosted.get(name)
        asked, answered, sensors = hosted.ledger.standing(hosted.status.channels) if hosted else (0, 0, ())
        return replace(
            status,
            paused=name in self.paused,
            asked=asked,
            answered=answered,
            last_activity=datetime.fromtimestamp(self._last_written(name), UTC).isoformat(timespec="seconds"),
            sensors=sensors,
            error=self.without_paths(status.error),
        )

    def _last_written(self, name: str) -> float:
        """When the file of a run was last written to, in seconds since 1970."""
        path = self.path(name)
        with suppress(FileNotFoundError):  # there is a log beside it while it is written to
            return max(path.stat().st_mtime, path.with_name(f"{path.name}-wal").stat().st_mtime)
        return _stamp(path)[0] / 1e9

    def _known(self, name: str) -> HostedRun | ClosedRun | None:
        """A run that is hosted, or was read and has not changed since."""
        if hosted := self.hosted.get(name):
            return hosted
        closed, stamp = self._closed.get(name), _stamp(self.path(name))
        return closed if closed and closed.stamp == stamp and time.monotonic() < closed.until else None

    def _note_paused(self, name: str, paused: bool) -> None:
        if paused != (name in self.paused):
            now = self.paused ^ {name}
            write_bytes(self._paused_file, json.dumps(sorted(now)).encode())
            self.paused = now

    def _let_go_unless_open(self, hosted: HostedRun | None) -> None:
        if hosted is not None and _has_ended(hosted):
            self._close(hosted)
        self._changed()

    def _host(self, name: str) -> HostedRun | None:
        """The run, hosted from now on; None where it cannot be written to."""
        path = self.path(name)
        stamp = _stamp(path)
        try:
            if runs.answers_itself(path):
                run = runs.view(path)
                status = status_of(run, name, "it answers itself")
                self._closed[name] = ClosedRun(stamp, Labels(run.settings.labels), status)
                return None
            hosted = HostedRun(name, path, self._changed, self._lease_s)
            hosted.start().result()
        except Exception as error:  # whatever one run has met with, the others are served
            if not isinstance(error, BestChannelError):
                log.exception("fault", extra={"fields": {"what": "run", "run": name}})
            failed = RunStatus(run=name, state=FAILED, error=str(error) or type(error).__name__)
            self._closed[name] = ClosedRun(stamp, None, failed, time.monotonic() + RETRY_S)
            return None
        self.hosted[name] = hosted
        return hosted

    def _close(self, hosted: HostedRun) -> None:
        del self.hosted[hosted.name]  # from now on others wait until it can be read
        hosted.stop()
        self._closed.pop(hosted.name, None)
        if hosted.in_place():
            self._closed[hosted.name] = ClosedRun(_stamp(hosted.path), hosted.labels, hosted.status)
        else:
            why = "its file was moved, deleted or overwritten; what is there now is served as it is"
            log.warning("run replaced", extra={"fields": {"run": hosted.name, "why": why}})


def _has_ended(hosted: HostedRun) -> bool:
    return hosted.status.state not in (OPEN, FAILED)


def _is_empty(path: Path) -> bool:
    """Whether a file is what a full disk has left of a run that was begun."""
    return path.is_file() and not path.is_symlink() and path.stat().st_size == 0


def _stamp(path: Path) -> Stamp:
    try:
        status = path.stat()
    except FileNotFoundError:
        raise MissingFileError(f"there is no run {path.stem!r} any more") from None
    return status.st_mtime_ns, status.st_size


class Leases:
    """Lends the work of the open runs of a folder, and takes what comes of it."""

    def __init__(self, folder: RunFolder, metrics: m.Metrics, room: Places) -> None:
        self._folder, self._metrics, self._room = folder, metrics, room
        self._loop: asyncio.AbstractEventLoop | None = None
        self._turns, self._change, self._ending = Turns(), asyncio.Event(), False
        self._ended: tuple[RunStatus, History] | None = None  # the last run that was answered late
        self._reading = threading.Lock()

    async def open(self) -> None:
        """Host the open runs, and keep time."""
        self._loop = asyncio.get_running_loop()
        for name in self._folder.names():
            await asyncio.to_thread(self._folder.host_or_read, name)
        self._ticking = asyncio.create_task(self._tick())

    async def close(self) -> None:
        """Put what was offered on disk, and let go of the files."""
        self._ticking.cancel()
        await asyncio.to_thread(self._folder.close)

    def stop_waiting(self) -> None:
        """Answer all calls that wait for work: there is none now."""
        self._ending = True
        self._wake()

    def changed(self) -> None:
        """Wake whoever waits for a change; any thread may call it."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        change, self._change = self._change, asyncio.Event()
        change.set()

    async def lease(self, wish: m.LeaseWish, scope: Scope, client: Client, left: Callable[[], bool]) -> m.Lent:
        """Work for a sensor: now, or as soon as there is some within the time that it waits, unless it has `left`."""
        _refuse_other_channels(scope, wish.channels)
        if wish.run is not None:
            labels, status = await self._folder.standing(wish.run)
            if labels is None or not labels.numbers(wish.channels):  # a sensor learns of no other run
                raise MissingFileError(f"there is no run {wish.run!r} with such a channel")
            if wish.run not in self._folder.hosted:
                return m.Lent(wish.run, status.state)
        lent = self._lend(wish, client)
        if wish.wait <= 0 or _is_final(wish, lent):
            return lent
        async with self._room.held(client):
            with suppress(TimeoutError):
                async with asyncio.timeout(wish.wait):
                    while not (self._ending or _is_final(wish, lent)):
                        await self._change.wait()
                        await self._turns.take(Client(client.name))  # the owner's sensors too come one by one
                        if left():
                            raise m.RefusedError(400, "gone", "the client left before it was answered")
                        lent = self._lend(wish, client)
        return lent

    async def offer(self, name: str, offer: m.Offer, scope: Scope) -> m.Received:
        """Put pieces on disk; what became of each."""
        _refuse_other_channels(scope, (piece.channel for piece in offer.pieces))
        hosted = self._folder.hosted.get(name)
        if hosted is None:
            return await asyncio.to_thread(self._late, name, offer)
        ledger, pieces = hosted.ledger, [hosted.labels.piece(piece) for piece in offer.pieces]
        lease = ledger.leases.get(offer.lease or "")
        outcomes = await asyncio.wrap_future(hosted.offer(offer.request, pieces))
        self._metrics.pieces.update(outcome.outcome for outcome in outcomes)
        pairs = zip(outcomes, pieces, strict=True)
        kept = sum(piece.senses for outcome, piece in pairs if outcome.outcome == "kept")
        self._metrics.senses += kept
        if lease is not None and lease.sensor in ledger.sensors:
            ledger.renew(lease.id, time.monotonic(), answered=kept > 0)
            ledger.sensors[lease.sensor].senses += kept
        return m.Received(hosted.status.state, tuple(outcomes))

    def _lend(self, wish: m.LeaseWish, client: Client) -> m.Lent:
        """A lease on some work that there is now, or why there is none."""
        state, now, sensor = IDLE, time.monotonic(), (client.name, wish.sensor)
        for name in [wish.run] if wish.run is not None else list(self._folder.hosted):
            hosted = self._folder.hosted.get(name)
            channels = hosted.labels.numbers(wish.channels) if hosted else frozenset[int]()
            if hosted is None or not channels:
                continue
            ledger = hosted.ledger
            ledger.hear_of(sensor, channels, now)
            state = PAUSED if name in self._folder.paused else hosted.status.state
            if state != PAUSED and (lease := ledger.lend(sensor, channels, wish.most, now)):
                self._metrics.leases += 1
                parts = tuple(hosted.labels.lent(*part) for part in ledger.parts_of(lease))
                return m.Lent(name, state, lease.request, lease.id, ledger.lease_s, parts)
        return m.Lent(wish.run, state)

    def _late(self, name: str, offer: m.Offer) -> m.Received:
        """What becomes of pieces for a run that has ended, whose log is read once: those that it has are harmless."""
        labels, status = self._folder.host_or_read(name)
        if labels is None:
            raise InputError(f"the run {name} cannot be answered now; {status.error}")
        with self._reading:
            if self._ended is None or self._ended[0] is not status:
                self._ended = status, store.read(self._folder.path(name))
            history = self._ended[1]
        pieces = map(labels.piece, offer.pieces)
        return m.Received(status.state, tuple(outcome_late(history, offer.request, piece) for piece in pieces))

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK_S)
            try:
                for hosted in list(self._folder.hosted.values()):
                    for lease in hosted.ledger.expire(time.monotonic()):
                        self._metrics.expired += 1
                        log.info("lease expired", extra={"fields": {"run": hosted.name, "sensor": lease.sensor[1]}})
                self._wake()  # a lease that never answers may be another's by now, and who waits may have left
                await asyncio.to_thread(self._folder.close_ended)
            except Exception:  # whatever one run has met with, the others need the next tick
                log.exception("fault", extra={"fields": {"what": "tick"}})


def _refuse_other_channels(scope: Scope, channels: Iterable[str]) -> None:
    for channel in channels:
        if not scope.senses(channel):
            raise m.RefusedError(403, "input", f"the token does not permit to sense channel {channel!r}")


def _is_final(wish: m.LeaseWish, lent: m.Lent) -> bool:
    """Whether waiting longer changes nothing."""
    return bool(lent.parts) or (wish.run is not None and lent.state not in (OPEN, PAUSED))
