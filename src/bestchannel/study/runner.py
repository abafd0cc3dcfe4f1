"""Carry a study through: over processes, stored piece by piece, to be continued after any interruption."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from multiprocessing.connection import wait as wait_for

from bestchannel.compiled import leave_announcing_to_the_parent, load_room, usable_cores
from bestchannel.errors import BestChannelError, InputError
from bestchannel.lower_bound.bound import lower_bound
from bestchannel.progress import Progress
from bestchannel.study.journal import Journal
from bestchannel.study.monte_carlo import Piece, SimulatedRun, Study

Store = Callable[[list[SimulatedRun]], None]

PIECE_RUNS = 256
"""The most runs that a process is handed at once; it returns after a second, done or not."""

WAITING = 2
"""Pieces in the hands of the pool for every process, so that none is ever idle."""


class WorkerLostError(BestChannelError, RuntimeError):
    """A process of the pool that ended on its own, killed or out of memory."""


def conduct(study: Study, journal: Journal, *, workers: int | None = None, progress: Progress | None = None) -> None:
    """Make every run of the study that the journal lacks, on `workers` processes (by default one for each core).

    `progress(done, total)` counts runs. KeyboardInterrupt is raised again once the pieces in
    progress have been stored: nothing is lost, and calling again continues. A script that calls
    this with several workers requires `if __name__ == "__main__":`, as `multiprocessing` does.
    """
    show = progress or (lambda _done, _total: None)
    _refuse_other_results(study, journal)
    missing = deque(pieces(study, journal))
    done = study.total - sum(piece.last - piece.first for piece in missing)
    show(done, study.total)

    def store(runs: list[SimulatedRun]) -> None:
        nonlocal done
        journal.add(runs)
        done += len(runs)
        show(done, study.total)

    if workers == 1:
        _alone(study, missing, store)
    elif missing:
        _pooled(study, missing, store, min(workers or usable_cores(), len(missing)))


def find_times(study: Study, journal: Journal, *, progress: Progress | None = None) -> None:
    """Store the bracket of T* of every set of channels that lacks one, if the study compares with the lower bound.

    `progress(done, total)` counts sets of channels.
    """
    if study.spec.lower_bound is None:
        return
    every = [(source, j) for source, sets in enumerate(study.instances) for j in range(len(sets))]
    stored = journal.times()
    for done, (source, j) in enumerate(every, start=1):
        if (source, j) not in stored:
            channels = study.instances[source][j].channels
            bound = lower_bound(channels, study.spec.deltas[0], rtol=study.spec.lower_bound)
            journal.add_time(source, j, bound.characteristic_time.lower, bound.characteristic_time.upper)
        if progress:
            progress(done, len(every))


def pieces(study: Study, journal: Journal) -> Iterator[Piece]:
    """The runs that are not in the journal yet, in stretches of at most `PIECE_RUNS`."""
    for condition in study.conditions:
        stored = journal.numbers(condition.number)
        lacking = [number for number in range(condition.source.runs) if number not in stored]
        while lacking:
            first = lacking[0]
            length = next((i for i, n in enumerate(lacking[:PIECE_RUNS]) if n != first + i), len(lacking[:PIECE_RUNS]))
            yield Piece(condition.number, first, first + length)
            lacking = lacking[length:]


def _refuse_other_results(study: Study, journal: Journal) -> None:
    """Repeat one stored run of every condition: a table must not mix the results of two versions of the software."""
    for stored in journal.first_runs():
        again = replace(study.run(stored.condition, stored.number), seconds=stored.seconds)
        if again != stored:
            raise InputError(
                f"{journal.path}: run {stored.number} of condition {stored.condition} took {stored.senses} senses"
                f" when it was stored and takes {again.senses} now, so the software has changed;"
                " write into another folder (-o)"
            )


def _rest(piece: Piece, runs: list[SimulatedRun]) -> list[Piece]:
    """What of the piece is still to be run."""
    first = piece.first + len(runs)
    return [replace(piece, first=first)] if first < piece.last else []


def _alone(study: Study, missing: deque[Piece], store: Store) -> None:
    while missing:
        piece = missing.popleft()
        runs = study.runs(piece)
        store(runs)
        missing.extendleft(_rest(piece, runs))


def _pooled(study: Study, missing: deque[Piece], store: Store, workers: int) -> None:
    """The same over processes, which are spawned: compiled code with threads does not survive a fork."""
    load_room("bestchannel.evidence")  # here, where it is compiled and announced once
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_begin, initargs=(study,)) as pool:
        running: dict[Future[list[SimulatedRun]], Piece] = {}
        try:
            while missing or running:
                while missing and len(running) < WAITING * workers:
                    piece = missing.popleft()
                    running[pool.submit(_work, piece)] = piece
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    runs = future.result()
                    store(runs)
                    missing.extendleft(_rest(running.pop(future), runs))
        except KeyboardInterrupt:
            pool.shutdown(wait=True, cancel_futures=True)
            for future in running:
                if not future.cancelled():
                    store(future.result())
            raise
        except BrokenProcessPool:
            raise WorkerLostError(
                "a process of the study ended on its own (killed, or out of memory); what was stored is safe,"
                " and the same command continues"
            ) from None


_study: Study | None = None
"""In a process of the pool: what it works on."""


def _begin(study: Study) -> None:
    """Prepare a process: Ctrl-C is the parent's to handle, and without a parent there is no use in going on."""
    global _study
    _study = study
    leave_announcing_to_the_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait_for([parent.sentinel])
        os._exit(1)


def _work(piece: Piece) -> list[SimulatedRun]:
    assert _study is not None
    return _study.runs(piece)
