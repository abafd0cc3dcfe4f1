"""Carry a study through: over processes or a cluster, stored piece by piece, to be continued after any interruption."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import replace
from itertools import pairwise

from bestchannel.arrays import whole_number
from bestchannel.errors import InputError
from bestchannel.lower_bound.bound import lower_bound
from bestchannel.process import Progress, usable_cores
from bestchannel.study.journal import Journal
from bestchannel.study.monte_carlo import Piece, Study
from bestchannel.study.pools import Pool, Runs, WorkerLostError, dask_cluster, processes, this_process

Store = Callable[[Runs], None]

PIECE_RUNS = 256  # the most runs that a process is handed at once; it returns after a second, done or not
MOST_LOSSES = 10  # how often a piece is given to a cluster again after it was lost there with several workers
LOOK_S = 1.0  # how long nothing may come back before the pool is looked at again, which may have grown or gone
CONTINUES = "what was stored is safe, and the same command continues"


def conduct(
    study: Study,
    journal: Journal,
    *,
    workers: int | None = None,
    cluster: object = None,
    progress: Progress | None = None,
) -> None:
    """Make every run of the study that the journal lacks.

    On `workers` processes of this machine (by default one for each core), or on a Dask `cluster`: the address of its
    scheduler, a `distributed.Client`, or a cluster object such as `LocalCluster`. The runs are the same to the bit
    wherever they are made.

    `progress(done, total)` counts runs. KeyboardInterrupt is raised again once the pieces in
    progress have been stored: nothing is lost, and calling again continues, as it does after `WorkerLostError`.
    A script that calls this with several workers requires `if __name__ == "__main__":`, as `multiprocessing` does.
    """
    show = progress or (lambda _done, _total: None)
    if workers is not None and cluster is not None:
        raise InputError("workers are processes of this machine, and a cluster has its own: give one of the two")
    n_workers = usable_cores() if workers is None else whole_number(workers, "workers", at_least=1)
    _refuse_other_results(study, journal)
    # the first runs of everything before the rest of anything: what is interrupted has some of each condition
    missing = deque(sorted(pieces(study, journal), key=lambda piece: piece.first))
    left = sum(piece.last - piece.first for piece in missing)
    show(study.total - left, study.total)

    def store(runs: Runs) -> None:
        nonlocal left
        journal.add(runs)
        left -= len(runs)
        show(study.total - left, study.total)

    if cluster is not None:
        pool = dask_cluster(study, cluster)
    else:
        pool = this_process(study) if workers == 1 else processes(study, min(n_workers, left))
    if missing:
        with pool as ready:
            _carry_through(missing, store, ready)


def find_times(study: Study, journal: Journal, *, progress: Progress | None = None) -> None:
    """Store the bracket of T* of every set of channels that lacks one, of the sources to be compared with it.

    `progress(done, total)` counts sets of channels.
    """
    wanted = {i: source.lower_bound for i, source in enumerate(study.spec.instances) if source.lower_bound is not None}
    every = [(i, j) for i in wanted for j in range(len(study.instances[i]))]
    stored = journal.times()
    for done, (i, j) in enumerate(every, start=1):
        if (i, j) not in stored:
            channels, delta, question = study.instances[i][j].channels, study.spec.deltas[0], study.spec.question
            bound = lower_bound(channels, delta, question=question, rtol=wanted[i])
            journal.add_time(i, j, bound.characteristic_time.lower, bound.characteristic_time.upper)
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


def _shared(missing: deque[Piece], free: int) -> deque[Piece]:
    """The same runs in pieces enough for all that are free: a study of few long runs keeps every process busy."""
    parts = -(-free // len(missing)) if missing else 1
    if parts <= 1:
        return missing
    shared: deque[Piece] = deque()
    for piece in missing:  # as even as can be; where it has fewer runs, one by one
        runs = piece.last - piece.first
        cuts = [piece.first + runs * i // min(parts, runs) for i in range(min(parts, runs) + 1)]
        shared.extend(replace(piece, first=first, last=last) for first, last in pairwise(cuts))
    return shared


def _carry_through(missing: deque[Piece], store: Store, pool: Pool) -> None:
    """Have every piece worked on, and store what comes back as it comes."""
    running: dict[Future[Runs], Piece] = {}
    losses: Counter[Piece] = Counter()
    try:
        while missing or running:
            free = pool.room() - len(running)
            missing = _shared(missing, free)
            for piece in [missing.popleft() for _ in range(min(free, len(missing)))]:
                running[pool.submit(piece)] = piece
            if not running:
                time.sleep(LOOK_S)  # for a cluster that has no workers
            for future in wait(running, LOOK_S, FIRST_COMPLETED).done:
                piece = running.pop(future)
                try:
                    runs = future.result()
                except pool.passing as error:
                    losses[piece] += 1
                    if losses[piece] > MOST_LOSSES:
                        lost = f"runs {piece.first} to {piece.last - 1} of condition {piece.condition} were lost"
                        why = "with the workers that made them (killed, or out of memory)"
                        raise WorkerLostError(f"{lost} {losses[piece]} times {why}; {CONTINUES}") from error
                    runs = []
                if runs:
                    store(runs)
                if (first := piece.first + len(runs)) < piece.last:
                    missing.appendleft(replace(piece, first=first))
    except KeyboardInterrupt:
        for future in [future for future in running if not future.cancel()]:  # begun, and not to be called back
            store(future.result())
        raise
    except pool.final:
        raise WorkerLostError(f"{pool.ended}; {CONTINUES}") from None
