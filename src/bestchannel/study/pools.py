"""Where the pieces of a study are worked on: in this process, in others on this machine, or on a Dask cluster.

A `Pool` is what `concurrent.futures` makes of each of them, so that one loop (`runner`) serves all: Dask has an
executor of its own. No result depends on the pool: a piece is a function of the study alone, wherever, whenever and
however often it is worked on.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import wait as wait_for

from bestchannel.errors import BestChannelError
from bestchannel.study.monte_carlo import Piece, SimulatedRun, Study

Runs = list[SimulatedRun]

WAITING = 2
"""Pieces in the hands of the pool for every process, so that none is ever idle."""


class WorkerLostError(BestChannelError, RuntimeError):
    """Processes, or the scheduler of a cluster, that ended on their own: killed, or out of memory."""


@dataclass(frozen=True)
class Pool:
    """`submit(piece)` has a piece worked on, of which there should be `room()` at a time.

    After one of the errors `passing` the piece is to be submitted again; after one of the errors `final` the pool
    is of no more use, for the reason `ended`.
    """

    submit: Callable[[Piece], Future[Runs]]
    room: Callable[[], int]
    passing: tuple[type[BaseException], ...] = ()
    final: tuple[type[BaseException], ...] = ()
    ended: str = ""


@contextmanager
def this_process(study: Study) -> Iterator[Pool]:
    """One piece after the other, here."""

    def submit(piece: Piece) -> Future[Runs]:
        future: Future[Runs] = Future()
        future.set_result(study.runs(piece))
        return future

    yield Pool(submit, lambda: 1)


@contextmanager
def processes(study: Study, workers: int) -> Iterator[Pool]:
    """Processes of this machine, which are spawned: a fork does not have the threads of its parent."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_begin, initargs=(study,)) as executor:
        yield Pool(
            lambda piece: executor.submit(_work, piece),
            lambda: WAITING * workers,
            final=(BrokenProcessPool,),
            ended="a process of the study ended on its own (killed, or out of memory)",
        )


_study: Study | None = None
"""In a process of this machine: what it works on."""


def _begin(study: Study) -> None:
    """Prepare a process: Ctrl-C is the parent's to handle, and without a parent there is no use in going on."""
    global _study
    _study = study
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait_for([parent.sentinel])
        os._exit(1)


def _work(piece: Piece) -> Runs:
    assert _study is not None
    return _study.runs(piece)
