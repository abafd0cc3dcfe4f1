"""A study while workers, clients and schedulers are killed: the table must be that of one process, to the bit.

By hand: `python -m tests.study.killed_cluster 20 3 2` (workers, clients, schedulers to kill).
"""

import sys
import tempfile
import time
from pathlib import Path

from bestchannel.errors import BestChannelError
from bestchannel.study import runner
from bestchannel.study.journal import opened
from bestchannel.study.monte_carlo import Study
from bestchannel.study.runner import conduct
from bestchannel.study.spec import read_spec
from bestchannel.study.statistics import as_csv, run_rows
from tests.journeys.command import started
from tests.study.dask_processes import dask_processes

SPEC = """
seed = 11
runs = 300
deltas = [0.1, 0.01]
[[policies]]
policy = "adaptive"
[[instances]]
family = "random-binary"
k = 5
gap = 0.15
sets = 10
"""


def main(workers: int, clients: int, schedulers: int) -> None:
    """Kill so many of each, evenly over the study, and compare."""
    runner.PIECE_RUNS = 4
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "spec.toml"
        path.write_text(SPEC)
        study = Study.of(read_spec(path))
        whole = _table(study, Path(folder) / "whole.db", workers=1)
        journal = Path(folder) / "results" / "journal.db"
        journal.parent.mkdir()
        killed = {"workers": 0, "clients": 0, "schedulers": 0}
        events = sorted(
            (study.total * (i + 0.5) / many, kind)
            for kind, many in (("workers", workers), ("clients", clients), ("schedulers", schedulers))
            for i in range(many)
        )
        while events:
            with dask_processes(2) as dask:
                _until_the_scheduler_is_killed(study, path, journal, dask, events, killed)
        with dask_processes(2) as dask:
            same = _table(study, journal, cluster=dask.address) == whole
    print(f"{study.total} runs, killed {killed}: {'the same to the bit' if same else 'DIFFERENT'}")
    sys.exit(not same)


def _until_the_scheduler_is_killed(study, path, journal, dask, events, killed):
    while events and dask.scheduler.poll() is None:
        if events[0][1] == "clients":
            _kill_client(path, journal, dask.address, study, events.pop(0)[0])
            killed["clients"] += 1
        else:
            _conduct(study, journal, dask, events, killed)


class _EnoughError(Exception):
    """The next to be killed is a client, which has to be another process."""


def _conduct(study, journal, dask, events, killed):
    """Conduct the study here, killing what is due, until a client is due, the scheduler dies, or it is done."""

    def kill(done, total):
        while events and done >= events[0][0] and events[0][1] != "clients":
            kind = events.pop(0)[1]
            killed[kind] += 1
            if kind == "workers":
                dask.kill_worker()
            else:
                dask.scheduler.kill()
                dask.scheduler.wait()
                return
        if events and done >= events[0][0]:
            raise _EnoughError

    try:
        _table(study, journal, cluster=dask.address, progress=kill)
        events.clear()
    except _EnoughError:
        return
    except BestChannelError:
        if dask.scheduler.poll() is None:
            raise


def _kill_client(path, journal, address, study, at):
    process = started("study", path, "--cluster", address, "-o", journal.parent)
    while process.poll() is None and _stored(study, journal) < at + 4:
        time.sleep(0.05)
    process.kill()
    process.communicate()


def _stored(study, journal):
    with opened(journal, study.spec) as found:
        return len(found.runs())


def _table(study, path, **options):
    with opened(path, study.spec) as journal:
        conduct(study, journal, **options)
        return as_csv(run_rows(study, journal))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
