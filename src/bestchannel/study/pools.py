"""Where the pieces of a study are worked on: in this process, in others on this machine, or on a Dask cluster.

A `Pool` is what `concurrent.futures` makes of each, so that one loop (`runner`) serves all. No result depends on it: a
piece is a function of the study alone, wherever, whenever and however often it is worked on. A cluster (extra
`cluster`) is sent the study once, as a task that other tasks take it from: when the worker that holds it dies, the
scheduler has it made again elsewhere. Each piece says by which software it is to be worked on, so that a worker with
other code refuses it, also one that joins later.
"""

from __future__ import annotations

import functools
import gc
import importlib
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version
from multiprocessing.connection import wait as wait_for
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bestchannel.errors import BestChannelError, InputError, MissingExtraError
from bestchannel.native import library
from bestchannel.process import logger
from bestchannel.study.monte_carlo import Piece, SimulatedRun, Study

Runs = list[SimulatedRun]

WAITING = 2  # pieces in the hands of the pool for every process, so that none is ever idle


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
            lambda piece: _uninterrupted(executor.submit, _work, piece),
            lambda: WAITING * workers,
            final=(BrokenProcessPool,),
            ended="a process of the study ended on its own (killed, or out of memory)",
        )


def _uninterrupted(submit: Callable[..., Future[Runs]], *work: Any) -> Future[Runs]:
    """Submit while Ctrl-C is held back, which a process inherits that is begun: it may come before `_begin`."""
    if not hasattr(signal, "pthread_sigmask"):
        return submit(*work)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return submit(*work)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_study: Study | None = None  # in a process of this machine: what it works on


def _begin(study: Study) -> None:
    """Prepare a process: Ctrl-C is the parent's to handle, and without a parent there is no use in going on."""
    global _study
    _study = study
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def end_with_parent() -> None:
        if parent := multiprocessing.parent_process():
            wait_for([parent.sentinel])
            os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()
    gc.freeze()  # what is loaded by now stays: no collection need look at it again


def _work(piece: Piece) -> Runs:
    assert _study is not None
    return _study.runs(piece)


FRESH_S = 1.0  # how long the number of workers is believed before the scheduler is asked again


class _SchedulerGoneError(Exception):
    """Asking the scheduler failed."""


class Software(NamedTuple):
    """What the results of a run may depend on."""

    bestchannel: str
    numpy: str
    scipy: str
    code: str  # SHA-256 of every module and every kernel
    arithmetic: str  # see `_arithmetic`


@functools.cache
def software() -> Software:
    """The software of this process."""
    package, code = importlib.import_module("bestchannel"), sha256(library.stamp().encode())
    folder = Path(str(package.__file__)).parent
    for path in sorted(folder.rglob("*.py")):
        code.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return Software(package.__version__, np.__version__, version("scipy"), code.hexdigest(), _arithmetic())


def _arithmetic() -> str:
    """SHA-256 of what elementary functions, sums and products give at some points.

    NumPy and BLAS choose their code by the processor, and a library may have set the processor to take the smallest
    numbers for 0: then the last digits differ, and with them, once in a long while, a run.
    """
    x = np.arange(1.0, 4097.0) / 4097.0
    small = x[:64] * 1e-310
    parts = [np.log(x), np.log1p(x), np.exp(x), np.sqrt(x), x.reshape(512, 8).T @ x.reshape(512, 8), small / 3.0]
    return sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts) + x.sum().tobytes()).hexdigest()


@contextmanager
def dask_cluster(study: Study, cluster: object) -> Iterator[Pool]:
    """The workers of a cluster: of the scheduler at an address, of a `distributed.Client`, or of a cluster object."""
    try:
        distributed = importlib.import_module("distributed")
    except ImportError:
        raise MissingExtraError("a study on a Dask cluster", "cluster") from None
    with _connected(cluster, distributed) as client:
        address, sent = str(client.scheduler.address) if client.scheduler else "the cluster", None
        if not client.nthreads():
            logger.warning(f"the cluster has no workers yet, and the study waits: dask worker {address}")
        executor = client.get_executor(pure=False)

        def submit(piece: Piece) -> Future[Runs]:
            nonlocal sent
            if sent is None or sent.status == "error":  # too many workers died with it: it is not at fault
                sent = client.submit(_kept, study, pure=False)
            future: Future[Runs] = executor.submit(_work_there, sent, piece, software())
            return future

        yield Pool(
            submit,
            _room(client),
            passing=(distributed.KilledWorker,),
            final=(CancelledError, _SchedulerGoneError, distributed.client.ClosedClientError),
            ended=f"the scheduler at {address} is gone",
        )


@contextmanager
def _connected(cluster: object, distributed: Any) -> Iterator[Any]:
    """A client of the cluster; one that was given stays open."""
    if isinstance(cluster, distributed.Client):
        if cluster.asynchronous:
            raise InputError("the client of a cluster must be synchronous; this one was made with asynchronous=True")
        yield cluster
        return
    if not isinstance(cluster, str) and not hasattr(cluster, "scheduler_address"):
        raise InputError(
            f"a cluster must be the address of a Dask scheduler, a Client or a cluster object; it is {cluster!r}"
        )
    try:
        client = distributed.Client(cluster, set_as_default=False, name="bestchannel-study")
    except (OSError, ValueError) as error:  # nobody there; an address of another form
        raise InputError(
            f"no Dask scheduler answers at {cluster} ({_first_line(error)}); `dask scheduler` starts one and says its"
            " address"
        ) from None
    with client:
        yield client


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]


def _refuse_other_software(client: Any, workers: list[str]) -> None:
    """Raise for the first of these workers whose software is not that of this program.

    What they are asked is text, since a worker without the package could not read a function of it.
    """
    question = f"tuple(__import__('importlib').import_module({__name__!r}).software())"
    answers = client.run(eval, question, workers=workers, on_error="return") if workers else {}
    for address, answer in answers.items():
        if isinstance(answer, Exception) and not isinstance(answer, OSError):  # that worker is gone by now
            raise InputError(
                f"worker {address} cannot work on this study ({type(answer).__name__}: {_first_line(answer)}):"
                f" every worker requires bestchannel {software().bestchannel}, as this program has it"
            )
        if not isinstance(answer, Exception):
            _refuse_unless_same(answer, software(), f"worker {address}")


def _refuse_unless_same(theirs: tuple[str, ...], ours: Software, worker: str) -> None:
    for name, there, here in zip(Software._fields, theirs, ours, strict=False):  # another version may tell more
        if there != here:
            raise InputError(
                f"{worker} has {name} {there[:12]} and this program {here[:12]}, so that its results might differ:"
                " every worker requires the same"
            )


def _room(client: Any) -> Callable[[], int]:
    """`WAITING` pieces for every thread of every worker, asked now and then.

    New workers are asked for their software; nothing is submitted before the first has answered, because a worker that
    cannot read what it is sent ends without a word.
    """
    asked, threads, known = -FRESH_S, 0, set[str]()

    def room() -> int:
        nonlocal asked, threads
        if time.monotonic() - asked >= FRESH_S:
            try:
                there = client.nthreads()
                _refuse_other_software(client, sorted(there.keys() - known))
            except OSError:
                raise _SchedulerGoneError from None
            known.update(there)
            asked, threads = time.monotonic(), sum(there.values())
        return WAITING * threads

    return room


def _work_there(study: Study, piece: Piece, wanted: Software) -> Runs:
    """On a worker: what of the piece is done in a second."""
    _refuse_unless_same(software(), wanted, "a worker")
    return study.runs(piece)


def _kept(study: Study) -> Study:
    """On a worker: the study, which other tasks take from here."""
    return study
