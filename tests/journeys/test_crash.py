"""Runs survive: kill -9 anywhere, a full disk, an interruption, two who tell at once."""

import json
import os
import resource
import signal
import subprocess
import sys
import time

import pytest

from bestchannel import runs
from bestchannel.runs import store
from tests.journeys.command import bestchannel, result_of, started

ALIKE = {f"link {i}": [[0.9, 0.1], [0.1, 0.9]] for i in range(12)}
"""Channels of equal capacity: an identification goes on until its limit of senses."""

KILLS = 30
"""In the default suite; `python -m tests.journeys.crash 300` kills more often."""


@pytest.fixture
def alike(tmp_path):
    path = tmp_path / "alike.json"
    path.write_text(json.dumps({"channels": ALIKE}))
    return path


def identified(channels, run, *more):
    return ["identify", "--simulate", channels, "--seed", 2, "--run", run, *more]


def test_nothing_acknowledged_is_lost_or_counted_twice_by_kill_9():
    command = [sys.executable, "-m", "tests.journeys.crash", str(KILLS)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found["killed"] >= KILLS
    assert min(found["identify"], found["resume"], found["tell"], found["runs compared"]) > 0


@pytest.mark.parametrize(
    ("sabotage", "noticed"),
    [
        ("late", "an acknowledged answer is lost"),
        ("forgetful", "the log is not the beginning of the whole one"),
    ],
)
def test_sabotaged_run_fails_the_test_of_kill_9(sabotage, noticed):
    command = [sys.executable, "-m", "tests.journeys.sabotaged_runs", sabotage]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert noticed in run.stderr


def test_full_disk_ends_in_a_run_that_goes_on_to_the_same_verdict(alike, tmp_path):
    code, whole = result_of(*identified(alike, tmp_path / "whole.db", "--max-senses", 300_000))
    assert code == 3

    def little_room():
        resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))  # the index of the log takes 32 kB

    run = tmp_path / "run.db"
    full = started(*identified(alike, run, "--max-senses", 300_000), preexec_fn=little_room)
    assert full.wait() == 4
    said = full.stderr.read()
    assert "what it holds is safe" in said
    assert f"to go on: bestchannel run resume {run}" in said
    assert 0 < runs.read_run(run).senses < whole["senses"]
    del whole["source"]  # a run says it itself
    assert result_of("run", "resume", run) == (3, whole)


def test_interrupted_run_exits_4_and_goes_on_to_the_same_verdict(alike, tmp_path):
    run = tmp_path / "run.db"
    for arguments, interruption in (
        (identified(alike, run), signal.SIGINT),
        (["run", "resume", run], signal.SIGTERM),
    ):
        before = runs.read_run(run).senses if run.exists() else 0
        process = started(*arguments)
        while not run.exists() or run.stat().st_size == 0 or runs.read_run(run).senses == before:
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(interruption)
        assert process.wait() == 4
        assert process.stdout.read() == ""
        assert process.stderr.read().endswith(f"interrupted; to go on: bestchannel run resume {run}\n")
    limit = 2 * runs.read_run(run).senses + 10_000
    whole = result_of(*identified(alike, tmp_path / "whole.db", "--max-senses", limit))
    del whole[1]["source"]
    assert result_of("run", "resume", run, "--max-senses", limit) == whole


def test_interruption_without_a_run_exits_130(tmp_path):
    pipe = tmp_path / "channels.json"
    os.mkfifo(pipe)
    process = started("identify", "--simulate", pipe)
    with pipe.open("w"):  # returns when the verb has opened the other end
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
    assert process.stderr.read() == "interrupted\n"


@pytest.fixture
def laboratory(tmp_path):
    (tmp_path / "alphabets.csv").write_text("channel,n_inputs,n_outputs\ncable,2,2\nradio,2,2\n")
    run = tmp_path / "lab.db"
    code, request = result_of("run", "new", run, "--alphabets", tmp_path / "alphabets.csv")
    assert code == 0
    return run, request["senses"]


def sheet(path, senses, y):
    """An answer by which every sense gave output y."""
    path.write_text("channel,x,y,count\n" + "".join(f"{s['channel']},{s['x']},{y},{s['count']}\n" for s in senses))
    return path


@pytest.mark.parametrize("other", [0, 1])
def test_of_two_who_tell_at_once_one_wins_and_the_other_is_told_so(other, laboratory, tmp_path):
    run, senses = laboratory
    sheets = [sheet(tmp_path / f"{name}.csv", senses, y) for name, y in (("first", 0), ("second", other))]
    both = [started("run", "tell", run, file, "--request", 1) for file in sheets]
    codes = [process.wait() for process in both]
    said = [process.stderr.read() for process in both]
    assert sorted(codes) == ([0, 1] if other else [0, 0])
    loser = "request 1 was answered otherwise before" if other else "which it had been told before"
    assert sum(loser in text for text in said) == 1
    assert runs.read_run(run).senses == sum(row["count"] for row in senses)


def test_second_writer_is_refused_and_the_first_goes_on(laboratory, tmp_path, monkeypatch):
    run, senses = laboratory
    monkeypatch.setattr(store, "PATIENCE_S", 0.1)
    answer = sheet(tmp_path / "answer.csv", senses, 0)
    with runs.open_run(run) as first:
        second = bestchannel("run", "tell", run, answer, "--request", 1)
        assert second.returncode == 1
        assert "another process writes to this run; wait until it ends" in second.stderr
        assert bestchannel("run", "status", run).returncode == 0
        assert first.ask().number == 1
    assert bestchannel("run", "tell", run, answer, "--request", 1).returncode == 0
