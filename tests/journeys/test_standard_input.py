"""`-` is standard input for every verb that takes a file of data, and a pipe may stand for any file."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.journeys.command import process_of, result_of

CHANNELS = '{"channels": {"good": [[0.95, 0.05], [0.05, 0.95]], "bad": [[0.6, 0.4], [0.4, 0.6]]}}'
COUNTS = (
    "channel,x,y,count\ngood,0,0,950\ngood,0,1,50\ngood,1,1,1000\nbad,0,0,600\nbad,0,1,400\nbad,1,1,600\nbad,1,0,400\n"
)
TRIALS = "channel,x,y\n" + "good,0,0\ngood,1,1\nbad,0,1\nbad,1,1\nbad,0,0\nbad,1,0\n" * 200


@pytest.mark.parametrize(
    ("words", "text", "codes"),
    [
        (["capacity", "-"], CHANNELS, [0]),
        (["bound", "-"], CHANNELS, [0]),
        (["plan", "-", "--runs", "2"], CHANNELS, [0]),
        (["estimate", "-"], COUNTS, [0]),
        (["identify", "--simulate", "-"], CHANNELS, [0]),
        (["identify", "--replay", "-", "--epsilon", "0.3"], TRIALS, [0, 3]),
        (["run", "new", "lab.db", "--alphabets", "-"], '{"channels": {"a": [2, 2], "b": [2, 2]}}', [0]),
        (["run", "new", "lab.db", "--alphabets", "-"], "channel,n_inputs,n_outputs\na,2,2\nb,2,2\n", [0]),
        (["report", "-", "-o", "report.html"], COUNTS, [0]),
    ],
)  # fmt: skip
def test_verb_reads_standard_input(tmp_path, words, text, codes):
    run = process_of(*words, "--json", input=text, cwd=tmp_path)
    assert run.returncode in codes, run.stderr
    json.loads(run.stdout)


def test_result_told_and_reported_through_pipes_is_verified(tmp_path):
    (tmp_path / "links.json").write_text(CHANNELS)
    code, result = result_of("identify", "--simulate", tmp_path / "links.json", "--delta", "0.1")
    assert code == 0
    for words in (["verify", "-"], ["report", "-", "-o", "report.html"]):
        run = process_of(*words, "--json", input=json.dumps(result), cwd=tmp_path)
        assert run.returncode == 0, run.stderr
    run = process_of("estimate", "-", input=json.dumps(result), cwd=tmp_path)
    assert run.returncode == 1
    assert "this is the result of an identification; save it, and give the file to estimate" in run.stderr


def test_answer_of_a_laboratory_may_come_through_a_pipe(tmp_path):
    (tmp_path / "parties.json").write_text('{"channels": {"a": [2, 2], "b": [2, 2]}}')
    program = f"{sys.executable} -m bestchannel"
    script = f"""
        {program} run new lab.db --alphabets parties.json >/dev/null
        {program} run ask lab.db --json > request.json
        {sys.executable} -c "
import json
for row in json.load(open('request.json'))['senses']:
    print(row['channel'], row['x'], row['x'], row['count'], sep=',')" | cat header.csv - | {program} run tell lab.db - --request 1 --json
    """
    (tmp_path / "header.csv").write_text("channel,x,y,count\n")
    run = subprocess.run(["sh", "-ec", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout.splitlines()[-1])["senses"] > 0


def test_a_run_wants_a_recording_that_is_there_again(tmp_path):
    run = process_of("identify", "--replay", "-", "--run", "run.db", input=TRIALS, cwd=tmp_path)
    assert run.returncode == 1
    assert "so that this must be a file" in run.stderr
    assert not (tmp_path / "run.db").exists()
