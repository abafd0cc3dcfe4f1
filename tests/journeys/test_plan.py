"""`bestchannel plan` from outside."""

import json

import pytest

from tests.journeys.command import bestchannel, result_of

KEYS = {"delta", "epsilon", "best", "gap", "characteristic_time", "senses_lower_bound", "policies", "advice"}


@pytest.fixture
def write(tmp_path):
    def write(**channels):
        path = tmp_path / "guessed.json"
        path.write_text(json.dumps({"channels": channels}))
        return path

    return write


@pytest.fixture
def guessed(write):
    return write(good=[[0.95, 0.05], [0.05, 0.95]], bad=[[0.7, 0.3], [0.3, 0.7]])


def test_every_policy_has_its_need_beside_the_lower_bound(guessed):
    code, result = result_of("plan", guessed, "--delta", "0.01", "--runs", 10)
    assert code == 0
    assert result.keys() >= KEYS
    assert result["best"] == "good"
    needs = {need["policy"]: need["senses"] for need in result["policies"]}
    assert needs.keys() == {"adaptive", "best-chan-id", "naive", "median"}
    assert 0 < result["senses_lower_bound"] < needs["adaptive"]
    assert 1e4 * needs["adaptive"] < min(needs[policy] for policy in ("best-chan-id", "naive", "median"))
    assert result["advice"].startswith("use adaptive with room for")


def test_same_seed_gives_the_same_plan(guessed):
    first, again = (result_of("plan", guessed, "--runs", 5, "--seed", 3) for _ in range(2))
    assert first == again


def test_counts_of_a_pilot_are_the_guess(tmp_path):
    pilot = tmp_path / "pilot.csv"
    pilot.write_text("channel,x,y,count\na,0,0,95\na,0,1,5\na,1,0,5\na,1,1,95\nb,0,0,7\nb,0,1,3\nb,1,0,3\nb,1,1,7\n")
    known = tmp_path / "known.json"
    known.write_text('{"channels": {"a": [[0.95, 0.05], [0.05, 0.95]], "b": [[0.7, 0.3], [0.3, 0.7]]}}')
    planned = [result_of("plan", path, "--runs", 3)[1] for path in (pilot, known)]
    assert planned[0]["best"] == "a"
    assert planned[0]["policies"] == planned[1]["policies"]
    assert "has counts: the answer is for channels" in bestchannel("plan", pilot, "--runs", 1).stderr


def test_pilot_that_left_an_input_out_is_refused(tmp_path):
    pilot = tmp_path / "pilot.csv"
    pilot.write_text("channel,x,y,count\na,0,0,95\na,0,1,5\na,1,0,0\nb,0,0,7\nb,1,1,3\n")
    refused = bestchannel("plan", pilot)
    assert refused.returncode == 1
    assert 'a pilot must have sensed every input; input 1 of channel "a" has none' in refused.stderr


def test_table_fits_80_columns_and_ends_with_the_advice(guessed):
    run = bestchannel("plan", guessed, "--runs", 5)
    *table, advice = run.stdout.splitlines()
    assert [line.split()[0] for line in table] == ["policy", "lower", "adaptive", "best-chan-id", "naive", "median"]
    assert max(map(len, table)) <= 80
    assert advice.startswith("use adaptive with room for")


def test_tie_is_said_to_be_one(write):
    path = write(a=[[0.9, 0.1], [0.1, 0.9]], b=[[0.1, 0.9], [0.9, 0.1]])
    code, result = result_of("plan", path)
    assert code == 0
    assert (result["best"], result["senses_lower_bound"]) == (None, None)
    assert "give --epsilon" in result["advice"]
    assert "never ends" in bestchannel("plan", path).stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--delta", "1.5"), "delta"),
        (("--epsilon", "-1"), "epsilon"),
    ],
)
def test_refusals_say_what_is_wrong_and_leave_stdout_empty(guessed, arguments, message):
    run = bestchannel("plan", guessed, *arguments)
    assert (run.returncode, run.stdout) == (1, "")
    assert message in run.stderr


def test_single_channel_is_refused(write):
    run = bestchannel("plan", write(only=[[1.0, 0.0], [0.0, 1.0]]))
    assert (run.returncode, run.stdout) == (1, "")
    assert "at least 2" in run.stderr


def test_limit_and_question_are_answered_in_one_sentence(guessed):
    code, result = result_of("plan", guessed, "--above", 0.5, "--max-senses", 120, "--runs", 5)
    assert (code, result["question"]["kind"], result["max_senses"]) == (0, "above", 120)
    assert result["decided"] + max(result["still_open"].values()) >= 5
    assert result["advice"].startswith(f"120 senses decide in {result['decided']} of 5 runs")
    assert "senses decide in" in bestchannel("plan", guessed, "--max-senses", 60, "--runs", 5).stdout
    assert "room for" in bestchannel("plan", guessed, "--order", "--runs", 5).stdout
