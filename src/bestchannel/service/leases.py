"""What sensors ask of the service, whatever the protocol: work, time for it, and to take what they have sensed."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Iterable

from bestchannel.errors import InputError, MissingFileError
from bestchannel.record import RunStatus
from bestchannel.runs import store
from bestchannel.runs.history import History
from bestchannel.runs.run import OPEN
from bestchannel.service.access import Scope
from bestchannel.service.hosted_run import outcome_late
from bestchannel.service.limits import Client, Hold, Places
from bestchannel.service.messages import KEPT, LeaseWish, Lent, Metrics, Offer, Received, RefusedError
from bestchannel.service.run_folder import RunFolder

log = logging.getLogger(__name__)

TICK_S = 0.5  # between two looks for leases that are over and runs that have ended
SLICE_S = 0.005  # of the event loop that is spent at once on those who wait for work
PAUSED, IDLE = "paused", "idle"  # what a sensor is told of a paused run, and where no run has its channels


class Leases:
    """Lends the work of the open runs of a folder, and takes what comes of it."""

    def __init__(self, folder: RunFolder, metrics: Metrics, room: Places) -> None:
        self._folder, self._metrics, self._room = folder, metrics, room
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: dict[Hold, tuple[LeaseWish, asyncio.Future[Lent]]] = {}  # sensors that wait for work
        self._change = asyncio.Event()
        self._ended: tuple[RunStatus, History] | None = None  # the last run that was answered late
        self._reading = threading.Lock()
        self._tasks: list[asyncio.Task[None]] = []

    async def open(self) -> None:
        """Host the open runs, and keep time."""
        self._loop = asyncio.get_running_loop()
        await asyncio.to_thread(self._folder.open_all)
        self._tasks = [asyncio.create_task(self._tick()), asyncio.create_task(self._lend_to_waiting())]

    async def close(self) -> None:
        """Put what was offered on disk, and let go of the files."""
        for task in self._tasks:
            task.cancel()
        await asyncio.to_thread(self._folder.close)

    def stop_waiting(self) -> None:
        """Answer all calls that wait for work: there is none now."""
        for wish, answer in self._waiting.values():
            if not answer.done():
                answer.set_result(Lent(wish.run, OPEN if wish.run else IDLE))

    def changed(self) -> None:
        """Wake whoever waits for a change; any thread may call it."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._change.set)

    async def lease(self, wish: LeaseWish, scope: Scope, client: Client) -> Lent:
        """Work for a sensor: now, or as soon as there is some within the time that it waits."""
        _refuse_other_channels(scope, wish.channels)
        if wish.run is not None:
            labels, status = await self._folder.standing(wish.run)
            if labels is None or not labels.numbers(wish.channels):  # a sensor learns of no other run
                raise MissingFileError(f"there is no run {wish.run!r} with such a channel")
            if wish.run not in self._folder.hosted:
                return Lent(wish.run, status.state)
        lent = self._lend(wish, client)
        if wish.wait <= 0 or _is_final(wish, lent):
            return lent
        async with self._room.held(client) as hold:
            try:
                async with asyncio.timeout(wish.wait):
                    _, answer = self._waiting[hold] = wish, asyncio.get_running_loop().create_future()
                    return await answer
            except TimeoutError:
                return self._lend(wish, client)
            finally:
                self._waiting.pop(hold, None)

    async def offer(self, name: str, offer: Offer, scope: Scope) -> Received:
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
        kept = sum(piece.senses for outcome, piece in pairs if outcome.outcome == KEPT)
        self._metrics.senses += kept
        if lease is not None and lease.sensor in ledger.sensors:
            ledger.renew(lease.id, time.monotonic(), answered=kept > 0)
            ledger.sensors[lease.sensor].senses += kept
        return Received(hosted.status.state, tuple(outcomes))

    def _lend(self, wish: LeaseWish, client: Client) -> Lent:
        """A lease on some work that there is now, or why there is none."""
        state, now, sensor = IDLE, time.monotonic(), (client.name, wish.sensor)
        for name in [wish.run] if wish.run is not None else list(self._folder.hosted):
            hosted = self._folder.hosted.get(name)
            channels = hosted.labels.numbers(wish.channels) if hosted else frozenset[int]()
            if hosted is None or not channels:
                continue
            ledger = hosted.ledger
            ledger.hear_of(sensor, channels, now)
            state = PAUSED if hosted.paused else hosted.status.state
            if not hosted.paused and (lease := ledger.lend(sensor, channels, wish.most, now)):
                self._metrics.leases += 1
                parts = tuple(map(hosted.labels.lent, lease.parts))
                return Lent(name, state, lease.request, lease.id, ledger.lease_s, parts)
        return Lent(wish.run, state)

    def _late(self, name: str, offer: Offer) -> Received:
        """What becomes of pieces for a run that has ended, whose log is read once: those that it has are harmless."""
        labels, status = self._folder.host_or_read(name)
        if labels is None:
            raise InputError(f"the run {name} cannot be answered now; {status.error}")
        with self._reading:
            if self._ended is None or self._ended[0] is not status:
                self._ended = status, store.read(self._folder.path(name))
            history = self._ended[1]
        pieces = map(labels.piece, offer.pieces)
        return Received(status.state, tuple(outcome_late(history, offer.request, piece) for piece in pieces))

    async def _lend_to_waiting(self) -> None:
        """Give work to those who wait, clients in turn, whenever there may be some; others are heard meanwhile."""
        while True:
            await self._change.wait()
            self._change.clear()
            began = time.perf_counter()
            for hold in list(self._room.in_turn()):
                if time.perf_counter() - began > SLICE_S:
                    await asyncio.sleep(SLICE_S)
                    began = time.perf_counter()
                wish, answer = self._waiting.get(hold, (None, None))
                if wish is None or answer is None or answer.done():
                    continue
                try:
                    lent = self._lend(wish, hold.client)
                    if _is_final(wish, lent):
                        answer.set_result(lent)
                except Exception:  # whatever one of them has met with, the others wait
                    log.exception("fault", extra={"fields": {"what": "lease"}})

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK_S)
            try:
                for hosted in list(self._folder.hosted.values()):
                    for lease in hosted.ledger.expire(time.monotonic()):
                        self._metrics.expired += 1
                        log.info("lease expired", extra={"fields": {"run": hosted.name, "sensor": lease.sensor[1]}})
                self._change.set()  # a lease that never answers may be another's by now
                await asyncio.to_thread(self._folder.close_ended)
            except Exception:  # whatever one run has met with, the others need the next tick
                log.exception("fault", extra={"fields": {"what": "tick"}})


def _refuse_other_channels(scope: Scope, channels: Iterable[str]) -> None:
    for channel in channels:
        if not scope.senses(channel):
            raise RefusedError(403, "input", f"the token does not permit to sense channel {channel!r}")


def _is_final(wish: LeaseWish, lent: Lent) -> bool:
    """Whether waiting longer changes nothing."""
    return bool(lent.parts) or (wish.run is not None and lent.state not in (OPEN, PAUSED))
