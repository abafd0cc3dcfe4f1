"""A study in local processes and on a Dask cluster of as many workers, in turn: what the cluster costs.

`python -m benchmarks.clusters 500 5 2` (runs in a turn, turns of each, workers of one thread). Settings of Dask come
from the environment, such as `DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED=False`.

Counted is the processor time of all processes, from when half of the runs are stored to when all are: starting them
and loading kernels is left out on both sides. What is spent within runs goes by their number; what is spent around them
goes by the clock, because a scheduler and workers tick whether there is work or not. So a busy machine, on which runs
take long on the wall, makes a cluster look dearer than it is on cores of its own; `overhead` is taken there.
"""

from __future__ import annotations

import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bestchannel.study.journal import opened
from bestchannel.study.monte_carlo import Study
from bestchannel.study.runner import conduct
from bestchannel.study.spec import parse_spec
from tests.study.dask_processes import dask_processes

SPEC: dict[str, Any] = {
    "seed": 1, "deltas": [0.01], "policies": [{"policy": "adaptive"}],
    "instances": [{"family": "random-binary", "k": 10, "gap_nats": 0.13, "sets": 20}],
}  # fmt: skip


@dataclass(frozen=True)
class Turn:
    """What a study took: `milliseconds` of processor time within a run, and `around` the runs in parts of a core."""

    milliseconds: float
    around: float
    processor: float  # all of it, in milliseconds for each run
    wall: float  # likewise


@dataclass(frozen=True)
class Compared:
    """The medians of turns in local processes and on a cluster, and those of the ratios cluster / local."""

    local: Turn
    clustered: Turn
    ratios: Turn
    overhead: float  # of a cluster on as many cores as workers that do nothing else, relative to local processes


def measured(runs: int, turns: int, workers: int) -> Compared:
    """Take turns, after one of the cluster in which its workers load their kernels."""
    with dask_processes(workers, nanny=True) as dask:  # as `dask worker` has it
        found = [(_local(runs, workers), _clustered(runs, dask)) for _ in range(turns + 1)][1:]
    ratios = [Turn(*(b / a for a, b in zip(_numbers(one), _numbers(two), strict=True))) for one, two in found]
    return Compared(
        *(_medians(column) for column in zip(*found, strict=True)),
        _medians(ratios),
        statistics.median(
            two.milliseconds / one.milliseconds * (workers - one.around) / (workers - two.around) for one, two in found
        )
        - 1.0,
    )


def _local(runs: int, workers: int) -> Turn:
    return turn(runs, lambda: [child.pid for child in multiprocessing.active_children() if child.pid], workers=workers)


def _clustered(runs: int, dask: Any) -> Turn:
    return turn(
        runs, lambda: _with_children(process.pid for process in [dask.scheduler, *dask.workers]), cluster=dask.address
    )


def turn(runs: int, helpers: Callable[[], list[int]], **where: Any) -> Turn:
    """One study, carried through there by this process and its helpers."""
    marks: list[tuple[float, ...]] = []

    def look(done: int, total: int) -> None:
        if done == total or (done >= total / 2 and not marks):
            within = sum(run.seconds for run in journal.runs())
            marks.append((done, within, spent([os.getpid(), *helpers()]), time.monotonic()))

    with tempfile.TemporaryDirectory() as folder:
        study = Study.of(parse_spec(SPEC | {"runs": runs}, folder=Path(folder)))
        with opened(Path(folder) / "journal.db", study.spec) as journal:
            conduct(study, journal, progress=look, **where)
    done, within, processor, wall = (after - before for before, after in zip(*marks, strict=True))
    return Turn(1e3 * within / done, (processor - within) / wall, 1e3 * processor / done, 1e3 * wall / done)


def spent(pids: Iterable[int]) -> float:
    """Processor time, in seconds, of processes that are there, and of nothing that they started."""
    nanoseconds = 0
    for pid in pids:
        for thread in Path(f"/proc/{pid}/task").iterdir():
            nanoseconds += int((thread / "schedstat").read_text().split()[0])
    return 1e-9 * nanoseconds


def _with_children(pids: Iterable[int]) -> list[int]:
    """Processes, and those that their threads have started."""
    found = list(pids)
    for pid in found:  # grows
        for thread in Path(f"/proc/{pid}/task").iterdir():
            found += map(int, (thread / "children").read_text().split())
    return found


def _numbers(turn: Turn) -> tuple[float, ...]:
    return turn.milliseconds, turn.around, turn.processor, turn.wall


def _medians(turns: Iterable[Turn]) -> Turn:
    return Turn(*map(statistics.median, zip(*map(_numbers, turns), strict=True)))


def main(runs: int, turns: int, workers: int) -> None:
    """Print what was measured."""
    found = measured(runs, turns, workers)
    for name, each in (("local", found.local), ("Dask", found.clustered), ("ratio", found.ratios)):
        print(
            f"{name:5}  within a run {each.milliseconds:7.3f} ms  around {each.around:6.3f} of a core"
            f"  processor {each.processor:7.3f} ms  wall {each.wall:7.3f} ms"
        )
    print(f"overhead on cores that do nothing else: {100 * found.overhead:+.1f} %")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
