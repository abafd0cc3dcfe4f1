"""What watchers see, prepared once for all of them and sent as server-sent events.

Every event holds the whole of what it is about, so a watcher that was away needs only the last: nothing is queued for
anybody, and a slow watcher misses some. However many watch, a run is looked at and drawn as often as for one of them.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass

from bestchannel.errors import BestChannelError
from bestchannel.service.desk import Desk
from bestchannel.service.drawing_office import DrawingOffice, live_report_of_file, live_report_of_packed, packed_result
from bestchannel.service.messages import LiveReport, Refusal, RunStatus, encoded
from bestchannel.service.standings import all_standings, standing

STATUS_S, LIST_S, REPORT_S = 0.4, 1.0, 1.0
"""Least seconds between two standings of a run, between two lists of all runs, and between two reports."""

SHARE = 0.02
"""Of the time, at most so much is spent on listing or drawing again and again; where a run stands is told at once."""

LONGEST_S = 15.0
"""After which something is drawn again, whatever it costs; a run that has changed its state is drawn at once."""

QUIET_S = 10.0
"""How often a stream says that it is alive."""

LIST = ""
"""The subject of the board that lists all runs; no run has this name."""

Writer = Callable[["Board"], Awaitable[None]]
"""Posts on a board, for ever."""

Mark = tuple[int, str]
"""What a report was drawn of: the answers to so many requests, and the state."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Event:
    """A server-sent event as it is on the wire; `id` is what a watcher that comes back names it by."""

    wire: bytes
    id: str = ""

    @staticmethod
    def of(kind: str, data: bytes, id: str = "") -> Event:
        """An event of a kind; data are JSON, which has no line ends."""
        head = f"event: {kind}\n" + (f"id: {id}\n" if id else "")
        return Event(head.encode() + b"data: " + data + b"\n\n", id)


class Board:
    """The last event of each kind about one subject, which writers keep current while somebody watches."""

    def __init__(self, *writers: Writer, without_paths: Callable[[str], str] = str) -> None:
        self.events: dict[str, Event] = {}
        self._without_paths = without_paths
        self.watchers = 0
        self.news = asyncio.Event()
        self._tasks = [asyncio.create_task(self._written(writer)) for writer in (*writers, _say_alive)]

    def post(self, kind: str, data: bytes, id: str = "") -> None:
        """Show this as the last event of its kind; it is news where it differs from the one before."""
        event = Event.of(kind, data, id)
        if self.events.get(kind) != event:
            self.events[kind] = event
            self.wake()

    def wake(self) -> None:
        """Let all watchers look."""
        news, self.news = self.news, asyncio.Event()
        news.set()

    def close(self) -> None:
        """Stop writing."""
        for task in self._tasks:
            task.cancel()

    async def _written(self, writer: Writer) -> None:
        """Let a writer go on whatever it meets with, as a file that was deleted and comes back."""
        while True:
            try:
                await writer(self)
            except BestChannelError as error:
                self.post("trouble", encoded(Refusal(self._without_paths(str(error)))))
            except Exception:
                log.exception("fault", extra={"fields": {"what": "board"}})
            await asyncio.sleep(LIST_S)


class RunWriter:
    """Keeps the standing and the report of one run on its board."""

    def __init__(self, name: str, desk: Desk, office: DrawingOffice) -> None:
        self._name, self._desk, self._office = name, desk, office
        self._mark: Mark | None = None

    async def tell(self, board: Board) -> None:
        """Say where the run stands, whenever that has changed."""
        while True:
            board.post("status", encoded(await standing(self._desk, self._name)))
            board.events.pop("trouble", None)
            await asyncio.sleep(STATUS_S)

    async def draw(self, board: Board) -> None:
        """Draw the report, as often as that may cost, and at once where the run has changed its state."""
        due = 0.0
        while True:
            _, snapshot = await self._desk.standing(self._name)
            mark = snapshot.requests, snapshot.state
            ended = self._mark is None or self._mark[1] != snapshot.state
            if mark != self._mark and (ended or time.monotonic() >= due):
                report, took = await self._drawn()
                self._mark = mark  # not before: what could not be drawn is drawn later
                board.post("report", encoded(report), f"{mark[0]}-{mark[1]}")
                due = time.monotonic() + _pause(REPORT_S, took)
            await asyncio.sleep(STATUS_S)

    async def _drawn(self) -> tuple[LiveReport, float]:
        """The report, and how much processor time it took."""
        hosted = self._desk.folder.hosted.get(self._name)
        if hosted is None:
            return await self._office.do_for_watchers(live_report_of_file, self._desk.folder.path(self._name))
        packed, packing = await asyncio.wrap_future(hosted.ask(lambda run: packed_result(run, hosted.path)))
        report, drawing = await self._office.do_for_watchers(live_report_of_packed, packed)
        return report, packing + drawing


class ListWriter:
    """Keeps the list of all runs on its board."""

    def __init__(self, desk: Desk, shown: Callable[[Sequence[RunStatus]], str]) -> None:
        self._desk, self._shown = desk, shown

    async def tell(self, board: Board) -> None:
        """Show all runs, as often as that may cost."""
        while True:
            began = time.thread_time()
            board.post("runs", json.dumps(self._shown(await all_standings(self._desk))).encode())
            await asyncio.sleep(_pause(LIST_S, time.thread_time() - began))


class Boards:
    """The boards that somebody watches."""

    def __init__(self, desk: Desk, office: DrawingOffice, shown: Callable[[Sequence[RunStatus]], str]) -> None:
        self._desk, self._office, self._shown = desk, office, shown
        self._boards: dict[str, Board] = {}
        self._closed = False

    @property
    def watchers(self) -> int:
        """How many watch now."""
        return sum(board.watchers for board in self._boards.values())

    def close(self) -> None:
        """End all streams."""
        self._closed = True
        for board in self._boards.values():
            board.wake()
            board.close()

    async def stream(self, subject: str, last: str, kinds: Sequence[str]) -> AsyncIterator[bytes]:
        """Events of these kinds from now on; `last` is the id of the last report that the watcher has seen."""
        if subject != LIST:
            self._desk.folder.path(subject)
        return self._events(subject, last, kinds)

    async def _events(self, subject: str, last: str, kinds: Sequence[str]) -> AsyncIterator[bytes]:
        board = self._boards.get(subject) or self._new_board(subject)
        board.watchers += 1
        seen: dict[str, Event] = {}
        try:
            yield b"retry: 1000\n\n"
            while not self._closed:
                news = board.news
                for kind in kinds:
                    event = board.events.get(kind)
                    if event is not None and event is not seen.get(kind):
                        seen[kind] = event
                        if not event.id or event.id != last:
                            yield event.wire
                await news.wait()
        finally:
            board.watchers -= 1
            if not board.watchers:
                board.close()
                self._boards.pop(subject, None)

    def _new_board(self, subject: str) -> Board:
        writers: tuple[Writer, ...] = (ListWriter(self._desk, self._shown).tell,)
        if subject != LIST:
            writer = RunWriter(subject, self._desk, self._office)
            writers = writer.tell, writer.draw
        board = self._boards[subject] = Board(*writers, without_paths=self._desk.folder.without_paths)
        return board


async def _say_alive(board: Board) -> None:
    beat = 0
    while True:
        await asyncio.sleep(QUIET_S)
        beat += 1
        board.post("quiet", b"%d" % beat)


def _pause(least: float, took: float) -> float:
    """Seconds until something that took so long is done again."""
    return min(max(least, took / SHARE), max(LONGEST_S, least))
