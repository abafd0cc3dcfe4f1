"""What watchers of a run see, prepared once for all of them and sent as server-sent events.

Every event holds the whole of what it is about, so a watcher that was away needs only the last: nothing is queued for
anybody, and a slow watcher misses some.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator

from bestchannel.errors import BestChannelError
from bestchannel.report.provenance import origin_of
from bestchannel.service.calls import RefusedError
from bestchannel.service.desk import Desk, happened
from bestchannel.service.drawing_office import DrawingOffice, live_report, live_report_of_file
from bestchannel.service.messages import encoded
from bestchannel.service.standings import run_status

STATUS_S, REPORT_S = 0.25, 1.0
"""Least seconds between two standings, and between two reports."""

SHARE = 0.05
"""Of the time, at most so much is spent on drawing a run again and again; where it stands is told at once."""

LONGEST_S = 15.0
"""After which a report is drawn again, whatever it costs; one of a run that has changed its state is drawn at once."""

QUIET_S = 10.0
"""After which a stream without news says that it is alive."""

MOST_WATCHERS = 500

Mark = tuple[int, str]
"""What a report was drawn of: the answers to so many requests, and the state."""

log = logging.getLogger(__name__)


class Board:
    """The standing and the report of one run, kept current while somebody looks."""

    def __init__(self, name: str, desk: Desk, office: DrawingOffice) -> None:
        self.status, self.report = b"", b""
        self.mark: Mark | None = None
        self.watchers = 0
        self.news = asyncio.Event()
        self._name, self._desk, self._office = name, desk, office
        self._tasks = [asyncio.create_task(self._follow()), asyncio.create_task(self._draw_again())]

    def close(self) -> None:
        """Stop looking."""
        for task in self._tasks:
            task.cancel()

    async def _follow(self) -> None:
        while True:
            settings, snapshot = await self._desk.standing(self._name)
            status = _event("status", encoded(run_status(self._desk.folder, self._name, settings, snapshot)))
            if status != self.status:
                self.status = status
                self._tell()
            await asyncio.sleep(STATUS_S)

    async def _draw_again(self) -> None:
        due = 0.0
        while True:
            _, snapshot = await self._desk.standing(self._name)
            mark = snapshot.requests, snapshot.state
            ended = self.mark is None or self.mark[1] != snapshot.state
            if mark != self.mark and (ended or time.monotonic() >= due):
                took = await self._draw(mark)
                due = time.monotonic() + min(max(REPORT_S, took / SHARE), LONGEST_S)
            await asyncio.sleep(STATUS_S)

    async def _draw(self, mark: Mark) -> float:
        """Draw the report, tell the watchers, and say how much processor time it took."""
        took = 0.0
        try:
            title, body, took = await self._drawn()
            self.report = _event("report", json.dumps({"title": title, "body": body}).encode(), _id(mark))
        except BestChannelError as error:
            log.warning("no report", extra={"fields": {"run": self._name, "error": str(error)}})
        self.mark = mark
        self._tell()
        return took

    async def _drawn(self) -> tuple[str, str, float]:
        hosted = self._desk.folder.hosted.get(self._name)
        if hosted is None:
            return await self._office.do(live_report_of_file, self._desk.folder.path(self._name))
        asked = hosted.ask(lambda run: (run.outcome(), origin_of(run, hosted.path)))
        return await self._office.do(live_report, *await asyncio.wrap_future(asked))

    def _tell(self) -> None:
        event, self.news = self.news, asyncio.Event()
        event.set()


class Boards:
    """The boards of all runs that somebody watches."""

    def __init__(self, desk: Desk, office: DrawingOffice) -> None:
        self._desk, self._office = desk, office
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
            board.news.set()
            board.close()

    async def stream(self, name: str, last: str, with_report: bool) -> AsyncIterator[bytes]:
        """Events of a run from now on; `last` is the id of the last report that the watcher has seen."""
        self._desk.folder.path(name)
        if self.watchers >= MOST_WATCHERS:
            raise RefusedError(503, "watchers", "too many watch now; try again later", {"retry-after": "10"})
        return self._events(name, last, with_report)

    async def _events(self, name: str, last: str, with_report: bool) -> AsyncIterator[bytes]:
        board = self._boards.get(name)
        if board is None:
            board = self._boards[name] = Board(name, self._desk, self._office)
        board.watchers += 1
        try:
            yield b"retry: 1000\n\n"
            status = b""
            while not self._closed:
                news = board.news
                if board.status != status:
                    status = board.status
                    yield status
                if with_report and board.report and (id := _id(board.mark)) != last:
                    last = id
                    yield board.report
                if not await happened(news, QUIET_S):
                    yield b"event: quiet\ndata: {}\n\n"
        finally:
            board.watchers -= 1
            if not board.watchers:
                board.close()
                self._boards.pop(name, None)


def _event(kind: str, data: bytes, id: str | None = None) -> bytes:
    """An event on the wire; JSON has no line ends."""
    named = f"event: {kind}\n" + (f"id: {id}\n" if id is not None else "")
    return named.encode() + b"data: " + data + b"\n\n"


def _id(mark: Mark | None) -> str:
    return "" if mark is None else f"{mark[0]}-{mark[1]}"
