"""`bestchannel estimate --design joint` and `report` on trials that all channels answered, from outside."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bestchannel as bc
from tests.journeys.command import bestchannel

DIGITS = Path(__file__).parents[2] / "data/digits"


@pytest.fixture(scope="module")
def trials(tmp_path_factory):
    """300 trials of two channels, the worse of which repeats most errors of the better; three answers are missing."""
    rng = np.random.default_rng(3)
    x = rng.integers(0, 2, 300)
    good = x ^ (rng.random(300) < 0.05)
    bad = good ^ (rng.random(300) < 0.3)
    frame = pd.DataFrame({"trial": range(300), "x": x, "y_good": good, "y_bad": bad}).astype("Int64")
    frame.loc[[5, 70, 71], "y_bad"] = pd.NA
    path = tmp_path_factory.mktemp("joint") / "trials.csv"
    frame.to_csv(path, index=False)
    return path


def test_joint_trials_are_estimated_and_missing_answers_are_said(trials):
    answer = bestchannel("estimate", trials, "--design", "joint", "--json")
    assert answer.returncode == 0
    result = json.loads(answer.stdout)
    assert result["verdict"]["best"] == "good"
    assert [channel["senses"] for channel in result["channels"]] == [300, 297]
    assert result["trials"] == 300
    assert 'channel "bad" has no answer in 3 of 300 trials' in answer.stderr
    assert "if trials are independent of each other and nobody chose their numbers" in result["guarantee"]
    assert "if no answer is missing because of what it would have been" in result["guarantee"]


def test_python_takes_what_was_sent_and_what_all_answered(trials):
    frame = pd.read_csv(trials)
    printed = json.loads(bestchannel("estimate", trials, "--design", "joint", "--json").stdout)
    for result in (
        bc.estimate(frame, design="joint"),
        bc.estimate(frame["x"], frame[["y_good", "y_bad"]].rename(columns=lambda c: c[2:]), design="joint"),
        bc.estimate(frame["x"], {"good": frame["y_good"], "bad": frame["y_bad"]}, design="joint"),
        bc.estimate(bc.read_joint_trials(trials)),
    ):
        assert [c.lower for c in result.channels] == [c["lower"] for c in printed["channels"]]
        assert result.verdict.best == "good"


@pytest.mark.parametrize("options", [["--rank"], ["--epsilon", "0.01"], ["--above", "0.3"], ["--top", "1"], ["--order"], ["--within", "0.9"]])  # fmt: skip
def test_every_question_is_answered_from_joint_trials(trials, options):
    assert bestchannel("estimate", trials, "--design", "joint", *options, "--json").returncode == 0


def test_counts_of_joint_trials_are_shared(trials):
    options = ["--design", "shared", "--input-distribution", "0.5,0.5", "--json"]
    result = json.loads(bestchannel("estimate", trials, *options).stdout)
    assert result["design"] == "shared"
    same = bc.estimate(pd.read_csv(trials), design="shared", input_distribution=[0.5, 0.5])
    assert same["good"].lower == result["channels"][0]["lower"]


def test_report_and_card_say_the_design(trials, tmp_path):
    answer = bestchannel("report", trials, "--design", "joint", "-o", tmp_path / "report.html")
    assert answer.returncode == 0
    page = (tmp_path / "report.html").read_text()
    assert "trials are independent of each other" in page
    assert "bestchannel estimate trials.csv --delta 0.05 --design" in page
    assert "trials are independent of each other" in bc.estimate(bc.read_joint_trials(trials))._repr_html_()


def test_replayed_shots_that_drift_are_warned_of_and_missing_answers_are_called_so(trials, tmp_path):
    rng = np.random.default_rng(4)
    x = rng.integers(0, 2, 3000)
    drifting, steady = (x ^ (rng.random(3000) < error) for error in (np.linspace(0.0, 0.4, 3000), 0.05))
    pd.DataFrame({"x": x, "y_a": drifting, "y_b": steady}).astype(int).to_csv(tmp_path / "shots.csv", index=False)
    answer = bestchannel("identify", "--replay", tmp_path / "shots.csv", "--policy", "joint")
    assert 'channel "a" drifts' in answer.stderr
    answer = bestchannel("identify", "--replay", trials, "--policy", "joint")
    assert answer.returncode == 1
    assert "bad lacks answers" in answer.stderr


REFUSED = {
    "--design fixed": ([], "write `bestchannel estimate --design joint`"),
    "counts": (["--design", "joint"], "these are counts, and a joint design compares the answers of each trial"),
    "bins": (["--design", "joint", "--bins", "4"], "--bins is for other files"),
    "groups": (["--groups", "trial"], "--groups is for trials that all channels answer"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_done_is_refused_in_a_sentence(trials, kind):
    options, sentence = REFUSED[kind]
    answer = bestchannel("estimate", DIGITS / "confusion.csv" if kind == "counts" else trials, *options)
    assert answer.returncode == 1
    assert sentence in answer.stderr


def test_report_of_a_printed_joint_estimate_asks_for_the_trials(trials, tmp_path):
    printed = json.loads(bestchannel("estimate", trials, "--design", "joint", "--json").stdout) | {"design": "joint"}
    (tmp_path / "result.json").write_text(json.dumps(printed))
    answer = bestchannel("report", tmp_path / "result.json", "-o", tmp_path / "report.html")
    assert answer.returncode == 1
    assert "give the file of the trials, with --design joint" in answer.stderr


def test_channels_read_as_one_and_the_single_one_that_promises_more(trials):
    answer = bestchannel("estimate", trials, "--combine", "good,bad", "--json")
    result = json.loads(answer.stdout)
    assert [channel["name"] for channel in result["channels"]] == ["good", "bad", "good+bad"]
    # bad is a worse copy of good, which alone carries as much
    assert result["combined"] == {"name": "good+bad", "single": "good", "beaten": True}
    assert answer.returncode == 3
    said = bestchannel("estimate", trials, "--combine", "good,bad").stdout
    assert "good alone is proved to carry" in said
    assert "4 outputs take more trials to prove it" in said
