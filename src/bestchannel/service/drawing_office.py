"""Reports of runs, drawn in a process of its own, so that drawing keeps no sensor waiting."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import TypeVar

from bestchannel import runs
from bestchannel.policies import Identification
from bestchannel.report.page import page, title_and_body
from bestchannel.report.provenance import Provenance, origin_of
from bestchannel.runs.results import as_document
from bestchannel.service.calls import RefusedError

NICENESS = 5
"""Whoever senses comes first."""

MOST_WAITING = 32
"""Reports and results that are drawn or wait for it."""

R = TypeVar("R")


class DrawingOffice:
    """One process that draws, started when it is first needed, and again should it die."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None
        self._waiting = 0

    async def do(self, work: Callable[..., R], *arguments: object) -> R:
        """What the work returns; where too much is waiting, it is refused."""
        if self._waiting >= MOST_WAITING:
            raise RefusedError(503, "busy", "too many reports are being drawn; try again later", {"retry-after": "5"})
        loop = asyncio.get_running_loop()
        self._waiting += 1
        try:
            return await loop.run_in_executor(self._started(), work, *arguments)
        except BrokenProcessPool:
            self.close()
            return await loop.run_in_executor(self._started(), work, *arguments)
        finally:
            self._waiting -= 1

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


def packed_result(result: Identification, origin: Provenance) -> tuple[bytes, float]:
    """A run on its way to the process that draws it, and the processor time that packing took."""
    began = time.thread_time()
    return pickle.dumps((result, origin)), time.thread_time() - began


def live_report_of_packed(packed: bytes) -> tuple[str, str, float]:
    """The live report on a run that was packed, and the processor time that it took."""
    return live_report(*pickle.loads(packed))


def live_report(result: Identification, origin: Provenance) -> tuple[str, str, float]:
    """Title and body of the report on a run (see `without_styles`), and the processor time that it took."""
    began = time.process_time()
    title, body = title_and_body(result, origin)
    return title, without_styles(body), time.process_time() - began


def live_report_of_file(path: Path) -> tuple[str, str, float]:
    """The same of a run as its file stands."""
    run = runs.view(path)
    return live_report(run.outcome(), origin_of(run, path))


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
