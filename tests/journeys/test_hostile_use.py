"""Whatever is typed, piped or interrupted: a sentence and the right exit code, never a traceback."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from bestchannel.cli import app
from bestchannel.runs.history import History
from tests.journeys.command import bestchannel, process_of

CHANNELS = {"good": [[0.95, 0.05], [0.05, 0.95]], "bad": [[0.7, 0.3], [0.3, 0.7]]}
ESCAPE = "\x1b[31m"
NUMBERS = ["nan", "inf", "-inf", "0", "-1", "1", "5e-324", "1e-17", "1e300", "1e400", "9" * 400, "", "é", "0x10", " ٣"]
OPTIONS = {
    ("capacity", "links.json"): ["--tol", "--rtol", "--columns"],
    ("estimate", "counts.csv"): ["--delta", "--epsilon", "--outputs", "--columns"],
    ("identify", "--max-senses", "500", "--simulate", "links.json"): [
        "--delta",
        "--epsilon",
        "--policy",
        "--subroutine",
        "--sampling",
        "--threshold",
        "--input-distribution",
        "--seed",
        "--max-senses",
    ],
    ("identify", "--max-senses", "500", "--policy", "naive", "--simulate", "links.json"): ["--epsilon", "--delta"],
    ("bound", "links.json"): ["--delta"],
    ("plan", "links.json", "--runs", "1"): ["--delta", "--epsilon", "--seed"],
    ("reproduce", "fig1"): ["--variant", "--seed"],
}
FILES = {
    "empty": b"",
    "binary": bytes(range(256)),
    "nested": b"[" * 100_000,
    "a number of 5000 digits": b'{"channels": {"a": [[%s]]}}' % (b"9" * 5000),
    "a bare number of 5000 digits": b"9" * 5000,
    "a name twice": b'{"best": 1, "best": 2, "channels": {}, "counts": []}',
    "not a number": b'{"channels": {"a": [[NaN, 1]]}}',
    "half a surrogate": b'{"channels": {"\\ud800": [[1]]}}',
    "UTF-16": '{"channels": {}}'.encode("utf-16"),
    "an SQLite file cut off": b"SQLite format 3\0" + bytes(84),
    "half a zip": b"PK\x03\x04",
}
VERBS = [
    ("capacity",),
    ("estimate",),
    ("bound",),
    ("plan",),
    ("verify",),
    ("report",),
    ("study",),
    ("identify", "--replay"),
    ("identify", "--simulate"),
    ("run", "ask"),
    ("run", "resume"),
    ("run", "new", "new.db", "--alphabets"),
]


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory):
    """Where everything below happens, with good files to spoil."""
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "links.json").write_text(json.dumps({"channels": CHANNELS}))
    (folder / "counts.csv").write_text("channel,x,y,count\na,0,0,9\na,1,1,9\nb,0,0,9\nb,1,0,9\nb,1,1,9\n")
    before = Path.cwd()
    os.chdir(folder)
    yield folder
    os.chdir(before)


def answered(*arguments):
    """The result of a command that must have ended in the ways of the contract."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    assert result.exit_code in (0, 1, 2, 3)
    if result.exit_code == 1:
        assert result.stdout == ""
        assert result.stderr.startswith("error: ")
        assert len(result.stderr.splitlines()) == 1
    return result


@settings(max_examples=100)
@given(data=st.data(), value=st.sampled_from(NUMBERS) | st.text(max_size=6))
def test_any_value_of_any_option_is_taken_or_refused(data, value):
    command = data.draw(st.sampled_from(list(OPTIONS)))
    result = answered(*command, data.draw(st.sampled_from(OPTIONS[command])), value, "--json")
    if result.exit_code in (0, 3):
        json.loads(result.stdout, parse_constant=pytest.fail)


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
@pytest.mark.parametrize("content", FILES)
def test_file_that_is_none_of_ours_is_refused_by_every_verb(verb, content, folder):
    path = folder / f"it.{'db' if verb[0] == 'run' and verb[1] != 'new' else 'json'}"
    path.write_bytes(FILES[content])
    assert answered(*verb, path).exit_code == 1
    assert not (folder / "new.db").exists()


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
@pytest.mark.parametrize("path", ["none.json", "none/none.csv", ".", "x" * 300 + ".csv", ""])
def test_path_without_a_file_is_refused_by_every_verb(verb, path):
    assert answered(*verb, path).exit_code == 1


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_file_that_may_not_be_read_is_refused_by_every_verb(verb, folder, monkeypatch):
    # root may read everything, so that what the system would say is said here
    monkeypatch.setattr(os, "access", lambda *_, **__: False)
    (folder / "secret.json").write_text("{}")
    assert answered(*verb, "secret.json").exit_code == 1


@pytest.mark.parametrize("verb", [("capacity",), ("bound",), ("identify", "--simulate")], ids=" ".join)
def test_terminal_does_not_obey_the_names_of_a_file(verb, folder):
    rows = [[0.9, 0.1], [0.1, 0.9]]
    named = {f"a{ESCAPE}\n[bold]": rows, "[/red]": [[1, 0], [0, 1]], f"b{ESCAPE}": rows}
    (folder / "names.json").write_text(json.dumps({"channels": named}))
    result = answered(*verb, "names.json")
    assert result.exit_code == 0
    assert ESCAPE not in result.output
    assert "[/red]" in result.output


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize("json_flag", [[], ["--json"]])
def test_full_disk_under_the_result_is_one_sentence_and_exit_code_1(json_flag):
    with open("/dev/full", "w") as full:
        run = bestchannel_into(full, "capacity", "links.json", *json_flag)
    assert run.returncode == 1
    assert run.stderr.endswith("error: reading or writing failed ([Errno 28] No space left on device)\n")
    assert "Traceback" not in run.stderr


def bestchannel_into(stdout, *arguments):
    command = [sys.executable, "-m", "bestchannel", *arguments]
    return subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False)


def test_closed_stdout_changes_neither_the_sentence_nor_the_exit_code():
    shell = f"{sys.executable} -m bestchannel capacity none.json >&-"
    run = subprocess.run(shell, shell=True, stderr=subprocess.PIPE, text=True, check=False)
    assert (run.returncode, run.stderr) == (1, "error: none.json: there is no such file\n")


@pytest.mark.parametrize("words", ["capacity links.json", "capacity links.json --json", "--version", "--help"])
def test_result_that_a_closed_stdout_lost_is_one_sentence_and_exit_code_1(words):
    shell = f"{sys.executable} -m bestchannel {words} >&-"
    run = subprocess.run(shell, shell=True, stderr=subprocess.PIPE, text=True, check=False)
    assert run.returncode == 1
    said = "error: reading or writing failed (standard output is closed, and the result was to be written to it)\n"
    assert run.stderr.endswith(said)
    assert "Traceback" not in run.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_full_disk_under_the_version_is_one_sentence():
    with open("/dev/full", "w") as full:
        run = bestchannel_into(full, "--version")
    assert (run.returncode, run.stderr) == (
        1,
        "error: reading or writing failed ([Errno 28] No space left on device)\n",
    )


@pytest.mark.parametrize("words", [["--help"], ["explain", "adaptive"], ["capacity", "links.json"]], ids=" ".join)
def test_reader_that_has_seen_enough_is_no_error_to_speak_of(words):
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as pipe:
        run = bestchannel_into(pipe, *words)
    assert run.returncode == 1
    assert "rror" not in run.stderr


def test_report_is_written_into_a_pipe_as_it_is_into_a_file(folder):
    (folder / "counts.csv").write_text("channel,x,y,count\na,0,0,9\na,1,1,9\n")
    run = process_of("report", "counts.csv", "-o", "/dev/stdout", cwd=folder)
    assert (run.returncode, run.stdout[:15]) == (0, "<!DOCTYPE html>")


def test_terminal_without_unicode_gets_what_it_can_show(folder):
    (folder / "unicode.json").write_text(json.dumps({"channels": {"é": [[1, 0], [0, 1]]}}))
    plain = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    table, result = (process_of("capacity", "unicode.json", *json_flag, env=plain) for json_flag in ([], ["--json"]))
    assert (table.returncode, result.returncode) == (0, 0)
    assert table.stdout.splitlines()[1].startswith("? ")
    assert json.loads(result.stdout)["channels"][0]["name"] == "é"


def test_interruption_while_a_run_is_read_ends_resumable(folder, monkeypatch):
    assert answered("identify", "--simulate", "links.json", "--run", "run.db").exit_code == 0

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(History, "replay", interrupted)
    result = CliRunner().invoke(app, ["run", "resume", "run.db"])
    assert (result.exit_code, result.stdout) == (4, "")
    assert result.stderr == "interrupted; to go on: bestchannel run resume run.db\n"
    assert CliRunner().invoke(app, ["run", "status", "run.db"]).exit_code == 130


def test_want_of_memory_is_one_sentence_and_exit_code_1(monkeypatch):
    def huge(*_, **__):
        raise MemoryError("Unable to allocate 32.0 GiB")

    monkeypatch.setattr("bestchannel.cli.reading.read_channels", huge)
    result = answered("capacity", "links.json")
    assert result.exit_code == 1
    assert "this requires more memory than there is (Unable to allocate 32.0 GiB)" in result.stderr


def test_a_log_level_that_is_none_is_refused_in_a_sentence(tmp_path):
    refused = bestchannel("serve", tmp_path / "runs", "--log-level", "loud")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "--log-level must be one of debug, info, warning, error; it is 'loud'" in refused.stderr
