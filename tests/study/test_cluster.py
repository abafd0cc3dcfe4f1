"""Studies on a Dask cluster: a real scheduler and real workers on loopback, some of which are killed."""

import os
import sys
from concurrent.futures import Future

import dask
import distributed
import numpy as np
import pytest

from bestchannel import InputError
from bestchannel.errors import MissingExtraError
from bestchannel.study import pools, runner
from bestchannel.study.journal import opened
from bestchannel.study.monte_carlo import Piece
from bestchannel.study.pools import Pool, Software, WorkerLostError, software
from bestchannel.study.runner import conduct
from tests.journeys.command import bestchannel, process_of, started
from tests.study.dask_processes import dask_processes
from tests.study.test_monte_carlo import study_of, table


@pytest.fixture(scope="module")
def dask_cluster():
    with dask_processes(2) as processes:
        yield processes


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return study_of(tmp_path_factory.mktemp("study"))


@pytest.fixture(scope="module")
def whole(study, tmp_path_factory):
    """The table of the study in one process."""
    return table(study, tmp_path_factory.mktemp("whole") / "whole.db", workers=1)


def test_table_is_that_of_one_process_though_workers_are_killed(study, whole, dask_cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "PIECE_RUNS", 4)
    killed_at, seen = [0], []

    def kill_now_and_then(done, total):
        seen.append((done, total))
        if killed_at[-1] + 25 <= done < total:
            killed_at.append(done)
            dask_cluster.kill_worker()

    found = table(study, tmp_path / "journal.db", cluster=dask_cluster.address, progress=kill_now_and_then)
    assert found == whole
    assert len(killed_at) > 2
    assert seen == sorted(seen)
    assert seen[-1] == (study.total, study.total)


def test_client_of_the_caller_is_used_and_stays_open(study, whole, dask_cluster, tmp_path):
    with distributed.Client(dask_cluster.address, set_as_default=False) as client:
        assert table(study, tmp_path / "journal.db", cluster=client) == whole
        assert client.status == "running"


def test_killed_client_is_continued_elsewhere(dask_cluster, tmp_path):
    spec = tmp_path / "spec.toml"
    spec.write_text(SPEC)
    process = started("study", spec, "--cluster", dask_cluster.address, "-o", tmp_path / "out")
    wait_until_something_is_stored(tmp_path / "out" / "journal.db")
    process.kill()
    assert process.communicate()[0] == ""
    for folder, where in (("out", ["--cluster", dask_cluster.address]), ("whole", ["--workers", 1])):
        assert bestchannel("study", spec, "-o", tmp_path / folder, *where).returncode == 0
    assert (tmp_path / "out" / "runs.csv").read_bytes() == (tmp_path / "whole" / "runs.csv").read_bytes()


def test_killed_scheduler_ends_resumable_and_the_next_one_continues(study, whole, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "PIECE_RUNS", 4)
    with dask_processes(1) as processes:

        def kill_scheduler(done, total):
            if 8 <= done < total:
                processes.scheduler.kill()

        with (
            opened(tmp_path / "journal.db", study.spec) as journal,
            pytest.raises(WorkerLostError, match=r"the scheduler at tcp://\S+ is gone; what was stored is safe"),
        ):
            conduct(study, journal, cluster=processes.address, progress=kill_scheduler)
        assert 8 <= len(journal_runs(tmp_path / "journal.db", study)) < study.total
    assert table(study, tmp_path / "journal.db", workers=1) == whole


def journal_runs(path, study):
    with opened(path, study.spec) as journal:
        return journal.runs()


SPEC = """
seed = 3
runs = 400
deltas = [0.1]
[[policies]]
policy = "best-chan-id"
[[instances]]
family = "useless-rivals"
gap = 0.2
"""


def wait_until_something_is_stored(path):
    """Wait until the journal holds a run, however long a busy machine takes."""
    import sqlite3
    import time

    while True:
        time.sleep(0.05)
        if path.exists():
            try:
                with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
                    if connection.execute("SELECT count(*) FROM runs").fetchone()[0]:
                        return
            except sqlite3.OperationalError:
                continue  # not made yet


# Refusals.


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("tcp://127.0.0.1:9", r"no Dask scheduler answers at tcp://127.0.0.1:9 \(.*\); `dask scheduler` starts one"),
        ("nonsense://here", r"no Dask scheduler answers at nonsense://here \(unknown address scheme 'nonsense'"),
        (7, "must be the address of a Dask scheduler, a Client or a cluster object; it is 7"),
    ],
)
def test_address_where_no_scheduler_answers_is_refused(study, tmp_path, address, message):
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "0.5s"}),
        opened(tmp_path / "journal.db", study.spec) as journal,
        pytest.raises(InputError, match=message),
    ):
        conduct(study, journal, cluster=address)


def test_refused_address_is_one_sentence_of_the_command_line(tmp_path):
    (tmp_path / "spec.toml").write_text(SPEC)
    soon = {**os.environ, "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "0.5s"}
    run = process_of("study", "spec.toml", "--cluster", "tcp://127.0.0.1:9", cwd=tmp_path, env=soon)
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr.startswith("error: no Dask scheduler answers at tcp://127.0.0.1:9")
    assert run.stderr.count("\n") == 1


OTHER_PACKAGES = {
    "version": (
        "software = lambda: ('0.0.1', *'234', 'code', 'digits')\n",
        r"worker tcp://\S+ has bestchannel 0\.0\.1 and this program 0\.\d",
    ),
    "before clusters": ("", r"worker tcp://\S+ cannot work on this study \(AttributeError: module .* has no attribute"),
}


@pytest.mark.parametrize(("module", "message"), OTHER_PACKAGES.values(), ids=OTHER_PACKAGES.keys())
def test_worker_with_another_version_of_the_package_is_refused(study, tmp_path, module, message):
    other = tmp_path / "bestchannel" / "study"
    other.mkdir(parents=True)
    for name, text in {"../__init__.py": "", "__init__.py": "", "pools.py": module}.items():
        (other / name).write_text(text)
    with dask_processes(0) as processes:
        processes.start_worker(PYTHONPATH=str(tmp_path))
        with (
            opened(tmp_path / "journal.db", study.spec) as journal,
            pytest.raises(InputError, match=message),
        ):
            conduct(study, journal, cluster=processes.address)


@pytest.mark.parametrize("field", Software._fields)
def test_worker_with_other_code_refuses_its_piece(study, field):
    wanted = software()._replace(**{field: "something else"})
    with pytest.raises(InputError, match=f"a worker has {field} .* and this program something el, so that its results"):
        pools._work_there(study, Piece(0, 0, 1), wanted)


def test_arithmetic_with_another_last_digit_is_noticed(monkeypatch):
    ours = pools._arithmetic()
    assert pools._arithmetic() == ours
    log = np.log
    monkeypatch.setattr(np, "log", lambda x: np.nextafter(log(x), 0.0))  # as the code for another processor has it
    assert pools._arithmetic() != ours


def test_piece_that_takes_its_workers_down_every_time_ends_the_study(study, tmp_path):
    class LostError(Exception): ...

    def lost(piece):
        future = Future()
        future.set_exception(LostError())
        return future

    pool = Pool(lost, lambda: 1, passing=(LostError,))
    with pytest.raises(WorkerLostError, match="runs 0 to 3 of condition 2 were lost 11 times with the workers"):
        runner._carry_through(runner.deque([Piece(2, 0, 4)]), list, pool)


def test_workers_and_cluster_are_alternatives(study, tmp_path):
    with opened(tmp_path / "j.db", study.spec) as journal, pytest.raises(InputError, match="give one of the two"):
        conduct(study, journal, workers=2, cluster="tcp://127.0.0.1:9")


def test_missing_package_is_named_with_its_extra(study, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        pytest.raises(MissingExtraError, match=r"a study on a Dask cluster needs .*bestchannel\[cluster\]"),
        pools.dask_cluster(study, "tcp://127.0.0.1:9"),
    ):
        pass
