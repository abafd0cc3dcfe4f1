"""`bestchannel run` from outside: a laboratory that answers by hand, and runs that are resumed."""

import contextlib
import json
import os
import pty
import re
import subprocess
import sys

import numpy as np
import pytest

from bestchannel import runs
from tests.journeys.command import bestchannel, result_of

CHANNELS = {"cable": {"inputs": ["dot", "dash"], "outputs": ["dot", "dash", "lost"]}, "radio": [2, 2]}
TRUTH = {"cable": [[0.97, 0.01, 0.02], [0.01, 0.97, 0.02]], "radio": [[0.8, 0.2], [0.2, 0.8]]}
VERBS = ["new", "ask", "tell", "amend", "status", "resume"]


@pytest.fixture
def alphabets(tmp_path):
    path = tmp_path / "alphabets.json"
    path.write_text(json.dumps({"channels": CHANNELS}))
    return path


@pytest.fixture
def lab(alphabets, tmp_path):
    run = tmp_path / "lab.db"
    assert bestchannel("run", "new", run, "--alphabets", alphabets, "--policy", "best-chan-id").returncode == 0
    return run


def sensed(senses, rng):
    """What a laboratory counts, as rows channel, x, y, count; rows of 0 are left out."""
    for row in senses:
        letters = CHANNELS[row["channel"]]
        inputs, outputs = (["0", "1"],) * 2 if isinstance(letters, list) else (letters["inputs"], letters["outputs"])
        counts = rng.multinomial(row["count"], TRUTH[row["channel"]][inputs.index(row["x"])])
        yield from ([row["channel"], row["x"], y, int(n)] for y, n in zip(outputs, counts, strict=True) if n)


def write_sheet(path, rows, number):
    if path.suffix == ".csv":
        path.write_text("\n".join(["channel,x,y,count", *(",".join(map(str, row)) for row in rows)]) + "\n")
    elif path.suffix == ".json":
        keys = ("channel", "x", "y", "count")
        path.write_text(json.dumps({"request": number, "counts": [dict(zip(keys, row, strict=True)) for row in rows]}))
    else:
        pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        columns = dict(zip(("channel", "x", "y", "count"), map(list, zip(*rows, strict=True)), strict=True))
        parquet.write_table(pyarrow.table(columns), path)


def test_laboratory_reaches_its_verdict_in_many_sittings(lab, tmp_path):
    rng, sittings = np.random.default_rng(8), 0
    while True:
        code, request = result_of("run", "ask", lab)
        if request["request"] is None:
            break
        sittings += 1
        assert code == 0
        assert request["request"] == sittings
        sheet = tmp_path / f"answer.{('csv', 'json', 'parquet')[sittings % 3]}"
        write_sheet(sheet, list(sensed(request["senses"], rng)), sittings)
        code, status = result_of("run", "tell", lab, sheet, "--request", sittings)
        assert code == 0
    assert status | {"state": "decided", "request": None, "best": "cable"} == status
    assert result_of("run", "status", lab) == (0, status)
    code, result = result_of("run", "resume", lab)
    assert code == 0
    assert (result["best"], result["decided"], result["senses"]) == ("cable", True, status["senses"])
    assert result["audit"]["channels"][0] == {"name": "cable", **CHANNELS["cable"]}


def test_ask_and_status_have_their_contract_and_change_nothing(lab):
    before = lab.read_bytes()
    code, request = result_of("run", "ask", lab)
    assert code == 0
    assert request.keys() == {"request", "senses"}
    assert request["request"] == 1
    assert all(row.keys() == {"channel", "x", "count"} for row in request["senses"])
    assert {row["x"] for row in request["senses"] if row["channel"] == "cable"} == {"dot", "dash"}
    code, status = result_of("run", "status", lab)
    assert code == 0
    assert status | {"state": "open", "request": 1, "senses": 0, "best": None} == status
    assert lab.read_bytes() == before


def test_sheet_is_asked_filled_in_by_halves_and_told_without_naming_its_request(lab, tmp_path):
    sheet = bestchannel("run", "ask", lab, "--csv").stdout.splitlines()
    assert sheet[0] == "request,channel,x,y,count"
    counts = {(row["channel"], row["x"]): row["count"] for row in result_of("run", "ask", lab)[1]["senses"]}
    filled = [sheet[0]]
    for line in sheet[1:]:
        _, channel, x, y, _ = line.split(",")
        filled.append(line + (str(counts[channel, x]) if y == x else ""))
    half, path = 4, tmp_path / "sheet.csv"
    path.write_text("\n".join(filled[:half] + sheet[half:]) + "\n")
    first = bestchannel("run", "tell", lab, path)
    assert first.returncode == 0
    assert "has a part of the answer to request 1" in first.stderr
    assert "are missing" in bestchannel("run", "status", lab).stdout
    assert len(result_of("run", "status", lab)[1]["missing"]) == len(counts) - 1
    assert len(bestchannel("run", "ask", lab, "--csv").stdout.splitlines()) == len(sheet) - 3
    path.write_text("\n".join(filled) + "\n")
    assert "has the answer to request 1" in bestchannel("run", "tell", lab, path).stderr
    again = bestchannel("run", "tell", lab, path)
    assert "which it had been told before" in again.stderr
    assert "channels left: cable, radio" in again.stdout
    other = bestchannel("run", "tell", lab, path, "--request", 2)
    assert "the file answers request 1; request 2 was named" in other.stderr


def test_answer_that_names_no_request_is_refused_with_the_open_one(lab, tmp_path):
    path = tmp_path / "answer.csv"
    path.write_text("channel,x,y,count\ncable,dot,dot,1\n")
    refused = bestchannel("run", "tell", lab, path)
    assert refused.returncode == 1
    assert "does not say which request it answers; request 1 is open; give --request" in refused.stderr


def test_typo_is_amended_and_named_pieces_add_up(alphabets, tmp_path):
    run, path = tmp_path / "lab.db", tmp_path / "answer.csv"
    options = ["--largest-request", 10, "--title", "Attic", "--policy", "best-chan-id"]
    assert bestchannel("run", "new", run, "--alphabets", alphabets, *options).returncode == 0
    assert result_of("run", "ask", run)[1]["senses"] == [{"channel": "cable", "x": "dot", "count": 10}]
    path.write_text("channel,x,y,count\ncable,dot,dot,4\n")
    for name in ("Monday", "Monday", "Tuesday"):
        assert bestchannel("run", "tell", run, path, "--request", 1, "--piece", name).returncode == 0
    assert result_of("run", "status", run)[1]["missing"] == [{"channel": "cable", "x": "dot", "count": 2}]
    path.write_text("channel,x,y,count\ncable,dot,dot,10\n")
    assert "has the answer to request 1" in bestchannel("run", "tell", run, path, "--request", 1).stderr
    assert bestchannel("run", "tell", run, path, "--request", 2).returncode == 0
    path.write_text("channel,x,y,count\ncable,dot,dot,9\ncable,dot,lost,1\n")
    amended = bestchannel("run", "amend", run, path, "--request", 1)
    assert amended.returncode == 0
    assert "has request 1 amended; 1 later answer no longer counts" in amended.stderr
    assert amended.stdout.startswith("Attic\nopen after 10 senses")
    assert result_of("run", "status", run)[1]["request"] == 2


def test_undecided_laboratory_exits_3_from_resume(lab):
    code, result = result_of("run", "resume", lab)
    assert code == 3
    assert (result["best"], result["decided"], result["senses"]) == (None, False, 0)


def test_limit_of_senses_ends_asking_with_3_until_it_is_raised(alphabets, tmp_path):
    run = tmp_path / "lab.db"
    limited = bestchannel("run", "new", run, "--alphabets", alphabets, "--max-senses", 3)
    assert limited.returncode == 3
    assert "the run is limited after 0 senses; its limit is 3" in limited.stderr
    assert result_of("run", "ask", run) == (3, {"request": None, "senses": []})
    assert bestchannel("run", "resume", run, "--max-senses", 10_000).returncode == 3
    assert result_of("run", "ask", run)[0] == 0


@pytest.mark.parametrize("verb", [["run"], *(["run", verb] for verb in VERBS), ["identify"]], ids=" ".join)
def test_help_has_an_example_and_fits_80_columns(verb):
    shown = bestchannel(*verb, "--help", env=os.environ | {"COLUMNS": "80", "NO_COLOR": "1"})
    assert shown.returncode == 0
    assert f"bestchannel {' '.join(verb)}" in shown.stdout
    assert "Example" in shown.stdout
    assert max(map(len, shown.stdout.splitlines())) <= 80


def test_shell_completion_names_the_verbs_of_run():
    words = {"_BESTCHANNEL_COMPLETE": "complete_bash", "COMP_WORDS": "bestchannel run ", "COMP_CWORD": "2"}
    command = [os.path.join(os.path.dirname(sys.executable), "bestchannel")]
    shown = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | words)
    assert set(VERBS) <= set(shown.stdout.split())


def on_a_terminal(arguments, folder):
    """The exit code, stdout, and what is shown on a terminal of 80 columns."""
    parent, child = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "80", "LINES": "24"}
    command, shown = [sys.executable, "-m", "bestchannel", *map(str, arguments)], b""
    with (folder / "stdout").open("w") as stdout:
        process = subprocess.Popen(command, stdout=stdout, stderr=child, env=environment)
    os.close(child)
    with contextlib.suppress(OSError):  # the other end is closed
        while piece := os.read(parent, 65536):
            shown += piece
    os.close(parent)
    return process.wait(), (folder / "stdout").read_text(), shown.decode(errors="replace")


def test_terminal_shows_leader_challenger_evidence_senses_and_forecast(tmp_path):
    channels = tmp_path / "links.json"
    alike = {f"link {i}": [[0.9 - i / 1000, 0.1 + i / 1000], [0.1, 0.9]] for i in range(20)}
    channels.write_text(json.dumps({"channels": alike}))
    code, result, shown = on_a_terminal(
        ["identify", "--simulate", channels, "--max-senses", 200_000, "--json"], tmp_path
    )
    assert code == 3
    assert json.loads(result)["senses"] > 0
    for word in ("leader", "challenger", "evidence", "senses", "to go"):
        assert word in shown
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)
    assert max(map(len, re.split(r"[\r\n]+", text))) <= 80


def test_run_of_a_simulation_can_be_looked_at_and_resumed(tmp_path):
    channels, run = tmp_path / "links.json", tmp_path / "run.db"
    channels.write_text(
        json.dumps({"channels": {"good": [[0.95, 0.05], [0.05, 0.95]], "bad": [[0.7, 0.3], [0.3, 0.7]]}})
    )
    code, limited = result_of("identify", "--simulate", channels, "--run", run, "--max-senses", 30)
    assert (code, limited["decided"]) == (3, False)
    assert bestchannel("run", "status", run).stdout.startswith("limited after")
    again = bestchannel("identify", "--simulate", channels, "--run", run)
    assert again.returncode == 3
    assert "the run has its limit of 30 senses from before; `bestchannel run resume --max-senses N`" in again.stderr
    channels.unlink()  # the run has what it needs
    code, result = result_of("run", "resume", run, "--max-senses", 10**6)
    assert (code, result["best"]) == (0, "good")
    assert runs.read_run(run).senses == result["senses"]
