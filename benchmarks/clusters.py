"""A study in local processes and on a Dask cluster of as many workers, in turn: what the cluster costs.

`python -m benchmarks.clusters 500 5 2` (runs in a turn, turns of each, workers of one thread). Settings of Dask come
from the environment, such as `DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED=False`.

Counted is what every process of a kind spends (the program that asks, the workers, the scheduler) from when a fifth of
the runs is stored to when all are: starting processes and loading kernels is left out on both sides.
"""

from __future__ import annotations

import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
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
    """Milliseconds for each run: on the wall, of all processors, and of them within runs."""

    wall: float
    processor: float
    within: float


def spent(pids: Iterable[int]) -> float:
    """Processor time, in seconds, of processes that are there, and of nothing that they started."""
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def turn(runs: int, helpers: Callable[[], list[int]], **where: Any) -> Turn:
    """One study, carried through there by this process and its helpers."""
    marks: list[tuple[float, ...]] = []

    def look(done: int, total: int) -> None:
        if done == total or (done >= total / 5 and not marks):
            within = sum(run.seconds for run in journal.runs())
            marks.append((done, time.monotonic(), spent([os.getpid(), *helpers()]), within))

    with tempfile.TemporaryDirectory() as folder:
        study = Study.of(parse_spec(SPEC | {"runs": runs}, folder=Path(folder)))
        with opened(Path(folder) / "journal.db", study.spec) as journal:
            conduct(study, journal, progress=look, **where)
    done, *taken = (after - before for before, after in zip(*marks, strict=True))
    return Turn(*(1e3 * each / done for each in taken))


def main(runs: int, turns: int, workers: int) -> None:
    """Take turns, and compare."""
    with dask_processes(workers) as dask:
        helpers = [process.pid for process in [dask.scheduler, *dask.workers]]
        turn(runs, lambda: helpers, cluster=dask.address)  # the workers load their kernels
        found = [
            (turn(runs, children, workers=workers), turn(runs, lambda: helpers, cluster=dask.address))
            for _ in range(turns)
        ]
    print("ms for each run: local, Dask, Dask/local (median, least, most)")
    for name in (field.name for field in fields(Turn)):
        pairs = [(getattr(local, name), getattr(clustered, name)) for local, clustered in found]
        ratios = sorted(clustered / local for local, clustered in pairs)
        local, clustered = (statistics.median(column) for column in zip(*pairs, strict=True))
        middle = statistics.median(ratios)
        print(f"{name:9}  {local:6.2f}  {clustered:6.2f}  {middle:.3f} ({ratios[0]:.3f} to {ratios[-1]:.3f})")


def children() -> list[int]:
    """The processes of the local pool that is at work."""
    return [child.pid for child in multiprocessing.active_children() if child.pid]


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
