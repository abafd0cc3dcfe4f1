"""Reports of runs, drawn in a process of its own, so that drawing keeps no sensor waiting."""

from __future__ import annotations

import asyncio
import heapq
import multiprocessing
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from bestchannel import runs
from bestchannel.policies import Identification
from bestchannel.report.page import page, title_and_body
from bestchannel.report.provenance import Provenance, origin_of
from bestchannel.runs.results import as_document
from bestchannel.service.limits import Client, Places
from bestchannel.service.messages import LiveReport

NICENESS = 5
"""Whoever senses comes first."""

R = TypeVar("R")


class DrawingOffice:
    """One process that draws, started when it is first needed, and again should it die.

    It draws for the owner first, then for those who watch, of whom many are shown one drawing, then for the others.
    """

    def __init__(self, room: Places) -> None:
        self._pool: ProcessPoolExecutor | None = None
        self._room = room
        self._queue: list[tuple[int, int, asyncio.Future[Any], Callable[[], Any]]] = []
        self._asked = 0
        self._drawing: asyncio.Task[None] | None = None

    async def do(self, client: Client, work: Callable[..., R], *arguments: object) -> R:
        """What the work returns; where too much is waiting, it is refused."""
        async with self._room.held(client):
            return await self._in_turn(0 if client.owns else 2, partial(work, *arguments))

    async def do_for_watchers(self, work: Callable[..., R], *arguments: object) -> R:
        """What the work returns."""
        return await self._in_turn(1, partial(work, *arguments))

    async def _in_turn(self, rank: int, work: Callable[[], R]) -> R:
        self._asked += 1
        answer: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._queue, (rank, self._asked, answer, work))
        if self._drawing is None or self._drawing.done():
            self._drawing = asyncio.create_task(self._draw())
        return await answer

    async def _draw(self) -> None:
        while self._queue:
            _, _, answer, work = heapq.heappop(self._queue)
            if answer.done():  # nobody waits for it any more
                continue
            try:
                drawn, error = await self._drawn(work), None
            except Exception as raised:
                drawn, error = None, raised
            if not answer.done() and error is not None:
                answer.set_exception(error)
            elif not answer.done():
                answer.set_result(drawn)

    async def _drawn(self, work: Callable[[], R]) -> R:
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._started(), work)
        except BrokenProcessPool:
            self.close()
            return await loop.run_in_executor(self._started(), work)

    def close(self) -> None:
        """End the process."""
        if self._pool:
            self._pool.shutdown(wait=False, cancel_futures=True)
        self._pool = None

    def _started(self) -> ProcessPoolExecutor:
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(1, mp_context=context, initializer=_begin)
        return self._pool


def packed_result(run: runs.Run, path: Path) -> tuple[bytes, float]:
    """A run as it stands, on its way to the process that draws it, and the processor time that packing took."""
    began = time.thread_time()
    return pickle.dumps((run.outcome(), origin_of(run, path), datetime.now(UTC))), time.thread_time() - began


def live_report_of_packed(packed: bytes) -> tuple[LiveReport, float]:
    """The live report on a run that was packed, and the processor time that it took."""
    return live_report(*pickle.loads(packed))


def live_report(result: Identification, origin: Provenance, stood: datetime) -> tuple[LiveReport, float]:
    """The report on a run as it stood at that time (see `without_styles`), and the processor time that it took."""
    began = time.process_time()
    title, body = title_and_body(result, origin)
    report = LiveReport(title, without_styles(body), result.senses, stood.isoformat(timespec="seconds"))
    return report, time.process_time() - began


def live_report_of_file(path: Path) -> tuple[LiveReport, float]:
    """The same of a run as its file stands."""
    run, stood = runs.view(path), datetime.now(UTC)
    return live_report(run.outcome(), origin_of(run, path), stood)


def without_styles(body: str) -> str:
    """The markup with its few style attributes under another name, which the page's script puts back.

    The content-security policy of the service permits no styles within markup; `"` is escaped in every text.
    """
    return body.replace(' style="', ' data-style="')


def report_of_file(path: Path) -> str:
    """The report on a run as its file stands, the one that `bestchannel report` writes."""
    run = runs.view(path)
    return page(run.outcome(), origin=origin_of(run, path))


def result_of_file(path: Path) -> dict[str, object]:
    """What a run has come to, as `bestchannel run resume --json` prints it."""
    return as_document(runs.read_run(path))


def _begin() -> None:
    os.nice(NICENESS)
    for number in (signal.SIGINT, signal.SIGTERM):  # the service says when to end
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(0)
