"""What clients ask of the service, whatever the protocol: leases, pieces, standings, changes."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from bestchannel.errors import BestChannelError, InputError, MissingFileError
from bestchannel.runs import store
from bestchannel.runs.history import History
from bestchannel.runs.run import OPEN
from bestchannel.runs.settings import Settings
from bestchannel.service.access import Scope
from bestchannel.service.hosted_run import Snapshot, judged_late
from bestchannel.service.letters import Dictionary, Placed
from bestchannel.service.limits import Client, Hold, Places
from bestchannel.service.memory import give_back
from bestchannel.service.messages import KEPT, Change, LeaseWish, Lent, Offer, PieceOutcome, Received
from bestchannel.service.metrics import Metrics
from bestchannel.service.run_folder import RunFolder

log = logging.getLogger(__name__)

TICK_S = 0.5
"""Between two looks for leases that are over and runs that have ended."""

SLICE_S = 0.005
"""Of the event loop that is spent at once on those who wait for work."""

PAUSED, IDLE = "paused", "idle"
"""What a sensor is told of a run whose owner has paused it, and where no run has its channels."""


class ForbiddenError(BestChannelError, PermissionError):
    """What the token does not permit."""


class GoneError(BestChannelError, LookupError):
    """A lease that is over."""


@dataclass(frozen=True)
class Waiting:
    """A sensor that waits for work."""

    wish: LeaseWish
    client: Client
    answer: asyncio.Future[Lent]


class Desk:
    """The service without its protocol."""

    def __init__(self, folder: RunFolder, metrics: Metrics, room: Places) -> None:
        self.folder, self.metrics = folder, metrics
        self._loop: asyncio.AbstractEventLoop | None = None
        self._room = room
        self._waiting: dict[Hold, Waiting] = {}
        self._change = asyncio.Event()
        self._woken = False
        self._ended: dict[tuple[str, int], History] = {}
        self._reading = threading.Lock()
        self._tasks: list[asyncio.Task[None]] = []

    async def open(self) -> None:
        """Host the open runs, and keep time."""
        self._loop = asyncio.get_running_loop()
        await asyncio.to_thread(self.folder.open_all)
        self._tasks = [asyncio.create_task(self._tick()), asyncio.create_task(self._lend())]

    async def close(self) -> None:
        """Put what was offered on disk, and let go of the files."""
        for task in self._tasks:
            task.cancel()
        await asyncio.to_thread(self.folder.close)

    def stop_waiting(self) -> None:
        """Answer all calls that wait for work: there is none now."""
        for waiting in self._waiting.values():
            if not waiting.answer.done():
                waiting.answer.set_result(Lent(waiting.wish.run, OPEN if waiting.wish.run else IDLE))

    def changed(self) -> None:
        """Wake whoever waits for a change; any thread may call it."""
        if self._loop is not None and not self._woken:
            self._woken = True
            self._loop.call_soon_threadsafe(self._wake)

    async def lease(self, wish: LeaseWish, scope: Scope, client: Client) -> Lent:
        """Work for a sensor: now, or as soon as there is some within the time that it waits."""
        for channel in wish.channels:
            if not scope.senses(channel):
                raise ForbiddenError(f"the token does not permit to sense channel {channel!r}")
        if wish.run is not None:
            state = await self._refuse_unknown(wish.run, wish.channels)
            if wish.run not in self.folder.hosted:
                return Lent(wish.run, state)
        lent = self._lent(wish, client)
        if wish.wait <= 0 or _is_final(wish, lent):
            return lent
        async with self._room.held(client) as hold:
            try:
                async with asyncio.timeout(wish.wait):
                    waiting = self._waiting[hold] = Waiting(wish, client, asyncio.get_running_loop().create_future())
                    return await waiting.answer
            except TimeoutError:
                return self._lent(wish, client)
            finally:
                self._waiting.pop(hold, None)

    def renew(self, run: str, lease: str) -> float:
        """Let a lease last for as many seconds again."""
        hosted = self.folder.hosted.get(run)
        if hosted is None or not hosted.renew(lease, time.monotonic()):
            raise GoneError("the lease is over: it has expired, or its request is answered; ask for another")
        return hosted.lease_s

    def give_back(self, run: str, lease: str) -> None:
        """End a lease; one that is over already stays so."""
        hosted = self.folder.hosted.get(run)
        if hosted is not None:
            hosted.give_back(lease)

    async def offer(self, name: str, offer: Offer, scope: Scope) -> Received:
        """Put pieces on disk; what became of each."""
        for piece in offer.pieces:
            if not scope.senses(piece.channel):
                raise ForbiddenError(f"the token does not permit to sense channel {piece.channel!r}")
        hosted = self.folder.hosted.get(name)
        if hosted is None:
            return await asyncio.to_thread(self._late, name, offer)
        pieces, sensor = [hosted.letters.placed(piece) for piece in offer.pieces], hosted.holder(offer.lease)
        judgements = await asyncio.wrap_future(hosted.offer(offer.request, pieces))
        kept = self._count(judgements, pieces)
        if offer.lease is not None and sensor in hosted.sensors:
            hosted.renew(offer.lease, time.monotonic(), answered=kept > 0)
            hosted.sensors[sensor].senses += kept
        return Received(hosted.snapshot.state, tuple(judgements))

    async def standing(self, name: str) -> tuple[Settings | None, Snapshot]:
        """What a run is about and where it stands."""
        if hosted := self.folder.hosted.get(name):
            return hosted.settings, hosted.snapshot
        return await asyncio.to_thread(self.folder.look, name)

    async def alter(self, name: str, change: Change) -> None:
        """Pause a run or let it go on, give it a limit, or end it."""
        if change.paused is not None:
            await asyncio.to_thread(self.folder.pause, name, change.paused)
        if change.end:
            await asyncio.to_thread(self.folder.end, name)
        elif change.max_senses is not None:
            await asyncio.to_thread(self.folder.limit, name, change.max_senses)

    async def _refuse_unknown(self, name: str, channels: Collection[str]) -> str:
        """The state of a run that has one of the channels; any other run is none that the sensor may know of."""
        settings, snapshot = await self.standing(name)
        if settings is None or not Dictionary(settings).numbers(channels):
            raise MissingFileError(f"there is no run {name!r} with such a channel")
        return snapshot.state

    def take_back(self, client: Client) -> None:
        """End all leases of a client."""
        for hosted in self.folder.hosted.values():
            hosted.take_back(client.name)

    def _lent(self, wish: LeaseWish, client: Client) -> Lent:
        """A lease on some work that there is now, or why there is none."""
        state, now, sensor = IDLE, time.monotonic(), (client.name, wish.sensor)
        for name in [wish.run] if wish.run is not None else list(self.folder.hosted):
            hosted = self.folder.hosted.get(name)
            channels = hosted.letters.numbers(wish.channels) if hosted else frozenset[int]()
            if hosted is None or not channels:
                continue
            hosted.heard_of(sensor, channels, now)
            state = PAUSED if hosted.paused else hosted.snapshot.state
            if lent := hosted.lend(sensor, channels, wish.most, now):
                number, lease = lent
                self.metrics.leases += 1
                parts = tuple(map(hosted.letters.lent, lease.parts))
                return Lent(name, state, number, lease.id, hosted.lease_s, parts)
        return Lent(wish.run, state)

    def _late(self, name: str, offer: Offer) -> Received:
        """What becomes of pieces for a run that has ended: those that it has are harmless."""
        settings, snapshot = self.folder.look(name)
        if settings is None:
            raise InputError(f"the run {name} cannot be answered now; {snapshot.error}")
        letters, history = Dictionary(settings), self._history_of_ended(name, snapshot.length)
        pieces = [letters.placed(piece) for piece in offer.pieces]
        judgements = [judged_late(history, offer.request, placed.piece) for placed in pieces]
        return Received(snapshot.state, tuple(judgements))

    def _history_of_ended(self, name: str, length: int) -> History:
        """The log of a run that has ended, read once for all that comes late."""
        with self._reading:
            known = self._ended.get((name, length))
            if known is None:
                self._ended.clear()
                known = self._ended[name, length] = store.read(self.folder.path(name))
            return known

    def _count(self, judgements: Sequence[PieceOutcome], pieces: Sequence[Placed]) -> int:
        """The senses that are kept."""
        self.metrics.pieces.update(judgement.outcome for judgement in judgements)
        pairs = zip(judgements, pieces, strict=True)
        kept = sum(placed.piece.senses for judgement, placed in pairs if judgement.outcome == KEPT)
        self.metrics.senses += kept
        return kept

    def _wake(self) -> None:
        self._woken = False
        self._change.set()

    async def _lend(self) -> None:
        """Give work to those who wait, clients in turn, whenever there may be some; others are heard meanwhile."""
        while True:
            await self._change.wait()
            self._change.clear()
            began = time.perf_counter()
            for hold in list(self._room.in_turn()):
                if time.perf_counter() - began > SLICE_S:
                    await asyncio.sleep(SLICE_S)
                    began = time.perf_counter()
                try:
                    self._try_to_lend(hold)
                except Exception:  # whatever one of them has met with, the others wait
                    log.exception("fault", extra={"fields": {"what": "lease"}})

    def _try_to_lend(self, hold: Hold) -> None:
        waiting = self._waiting.get(hold)
        if waiting is None or waiting.answer.done():
            return
        lent = self._lent(waiting.wish, waiting.client)
        if _is_final(waiting.wish, lent):
            waiting.answer.set_result(lent)

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK_S)
            try:
                self._expire()
                self._wake()  # a lease that never answers may be another's by now
                if await asyncio.to_thread(self.folder.let_go_of_ended):
                    give_back()
            except Exception:  # whatever one run has met with, the others need the next tick
                log.exception("fault", extra={"fields": {"what": "tick"}})

    def _expire(self) -> None:
        for hosted in list(self.folder.hosted.values()):
            for lease in hosted.expire(time.monotonic()):
                self.metrics.expired += 1
                log.info("lease expired", extra={"fields": {"run": hosted.name, "sensor": lease.sensor[1]}})


def _is_final(wish: LeaseWish, lent: Lent) -> bool:
    """Whether waiting longer changes nothing."""
    return bool(lent.parts) or (wish.run is not None and lent.state not in (OPEN, PAUSED))
