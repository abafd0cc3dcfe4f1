"""`bestchannel study` from outside, also interrupted and killed."""

import csv
import json
import os
import signal
import time
from pathlib import Path

import pytest

from bestchannel.study.journal import opened
from bestchannel.study.monte_carlo import Study
from bestchannel.study.spec import read_spec
from tests.journeys.command import bestchannel, result_of, started

STUDIES = Path(__file__).parents[2] / "studies"

SPEC = """
seed = 3
runs = 30
deltas = [0.1]
lower_bound = 0.01
[[policies]]
policy = "adaptive"
[[policies]]
policy = "best-chan-id"
[[instances]]
channels = "links.json"
"""


@pytest.fixture
def spec(tmp_path):
    channels = {"good": [[0.95, 0.05], [0.05, 0.95]], "bad": [[0.7, 0.3], [0.3, 0.7]]}
    (tmp_path / "links.json").write_text(json.dumps({"channels": channels}))
    path = tmp_path / "links.toml"
    path.write_text(SPEC)
    return path


def long_study(path, runs):
    path.write_text(SPEC.replace("runs = 30", f"runs = {runs}"))


def test_result_is_alone_on_stdout_and_the_folder_gets_the_tables(spec, tmp_path):
    code, result = result_of("study", spec, "-o", tmp_path / "new" / "out", "--workers", 1)
    assert code == 0
    assert result["study"] == "links"
    conditions = {condition["policy"]: condition for condition in result["cells"]}
    assert (conditions["adaptive"]["runs"], conditions["adaptive"]["wrong"]) == (30, 0)
    assert conditions["adaptive"]["ratio"] > 1.0
    assert conditions["best-chan-id"]["mean_senses"] > 1e5 * conditions["adaptive"]["mean_senses"]
    with (tmp_path / "new" / "out" / "runs.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["best"] for row in rows] == ["good"] * 60
    assert (tmp_path / "new" / "out" / "summary.parquet").exists()


def test_table_fits_80_columns(spec, tmp_path):
    run = bestchannel("study", spec, "-o", tmp_path / "out", "--workers", 1)
    lines = run.stdout.splitlines()
    assert lines[0] == "links"
    assert lines[2].split()[:4] == ["adaptive", "0.1", "30", "0"]
    assert max(map(len, lines)) <= 80


def wait_for_runs(process, journal):
    """Wait until the first piece is stored."""
    spec = read_spec(journal.parents[1] / "links.toml")
    while True:
        assert process.poll() is None, process.communicate()
        if journal.exists():
            with opened(journal, spec) as found:
                if found.first_runs():
                    return
        time.sleep(0.1)


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 4), (signal.SIGKILL, -signal.SIGKILL)])
def test_interrupted_or_killed_study_continues_to_the_table_of_the_whole(spec, tmp_path, sent, code):
    long_study(spec, 300)
    out = tmp_path / "out"
    process = started("study", spec, "-o", out, "--workers", 2, start_new_session=True)
    wait_for_runs(process, out / "journal.db")
    if sent == signal.SIGINT:
        os.killpg(process.pid, sent)  # as a terminal does: the workers hear it too
    else:
        process.kill()
    stdout, stderr = process.communicate()
    assert (process.returncode, stdout) == (code, "")
    if sent == signal.SIGINT:
        assert "of 600 runs; the same command continues" in stderr
        assert "Traceback" not in stderr
    assert not (out / "runs.csv").exists()
    assert bestchannel("study", spec, "-o", out, "--workers", 1).returncode == 0
    study = Study.of(read_spec(spec))
    with (out / "runs.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 600
    for number in (0, 200, 299, 599):
        assert int(rows[number]["senses"]) == study.run(number // 300, number % 300).senses


def test_changed_specification_is_refused_with_code_1(spec, tmp_path):
    assert bestchannel("study", spec, "-o", tmp_path / "out", "--workers", 1).returncode == 0
    spec.write_text(SPEC.replace("seed = 3", "seed = 4"))
    run = bestchannel("study", spec, "-o", tmp_path / "out", "--workers", 1)
    assert (run.returncode, run.stdout) == (1, "")
    assert "these runs belong to a study with seed = 3, and the specification now has 4" in run.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("none.toml",), 1, "none.toml: there is no such file"),
        (("links.toml", "--workers", 0), 2, "--workers"),
        (("links.toml", "-o", "/dev/null/out"), 1, "/dev/null/out: the folder cannot be made (Not a directory)"),
    ],
)
def test_refusals_say_what_is_wrong_and_leave_stdout_empty(spec, arguments, code, message):
    run = bestchannel("study", *arguments, cwd=spec.parent)
    assert (run.returncode, run.stdout) == (code, "")
    assert message in run.stderr


@pytest.mark.parametrize("path", sorted(STUDIES.glob("*.toml")), ids=lambda path: path.stem)
def test_example_specifications_can_be_read_and_their_first_run_made(path):
    study = Study.of(read_spec(path))
    assert study.run(0, 0).senses > 0
