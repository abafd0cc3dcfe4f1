"""`bestchannel estimate` from outside."""

import json
import math
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

import bestchannel as bc
from bestchannel.cli import measured
from tests.journeys.command import bestchannel

DIGITS = Path(__file__).parents[2] / "data/digits/confusion.csv"
CLEAR = "channel,x,y,count\na,0,0,950\na,0,1,50\na,1,0,50\na,1,1,950\nb,0,0,700\nb,0,1,300\nb,1,0,300\nb,1,1,700\n"


@pytest.fixture
def counts(tmp_path):
    path = tmp_path / "counts.csv"
    path.write_text(CLEAR)
    return path


def test_decided_counts_give_the_contract_as_json_and_exit_0(counts):
    answer = bestchannel("estimate", counts, "--json")
    result = json.loads(answer.stdout)
    assert answer.returncode == 0
    assert result["unit"] == "bits"
    assert result["delta"] == 0.05
    assert result["verdict"] | {"leader": "a"} == result["verdict"]
    assert (result["verdict"]["decided"], result["verdict"]["best"], result["verdict"]["more_senses"]) == (True, "a", 0)
    assert result["verdict"]["candidates"] == ["a"]
    assert [channel["name"] for channel in result["channels"]] == ["a", "b"]
    for channel in result["channels"]:
        assert channel["lower"] <= channel["capacity"] <= channel["upper"]
        assert channel["asymptotic"].keys() == {"capacity", "lower", "upper"}
        assert channel["senses"] == 2000
    assert result["differences"][0]["rival"] == "b"
    assert result["differences"][0]["lower"] > 0
    assert "conditional on the observed alphabet" in result["guarantee"]


def test_fixed_input_distribution_is_in_words_and_json_and_in_the_report_of_both(counts, tmp_path):
    chosen = ("--input-distribution", "0.9,0.1")
    shown, printed = bestchannel("estimate", counts, *chosen), bestchannel("estimate", counts, *chosen, "--json")
    assert "I(P;W)" in shown.stdout.splitlines()[0]
    assert "capacit" not in shown.stdout + shown.stderr
    document = json.loads(printed.stdout)
    assert document["input_distribution"] == [0.9, 0.1]
    assert document["channels"][0]["capacity"] == pytest.approx(bc.mutual_information([0.9, 0.1], bc.bsc(0.05)))
    (tmp_path / "estimate.json").write_text(printed.stdout)
    for source, options in ((counts, chosen), (tmp_path / "estimate.json", ())):
        assert bestchannel("report", source, *options, "-o", tmp_path / "r.html").returncode == 0
        page = (tmp_path / "r.html").read_text()
        assert "Values of I(P;W)" in page
        assert "All are I(P;W) at P = (0.9, 0.1)." in page
        assert "--input-distribution 0.9,0.1" in page
        assert "apacit" not in page.partition("<main")[2]
    assert json.loads(bestchannel("estimate", counts, "--json").stdout)["input_distribution"] is None


def test_printed_input_distribution_that_is_none_is_refused_in_a_sentence(counts, tmp_path):
    document = json.loads(bestchannel("estimate", counts, "--json").stdout)
    for wrong in ("half", [0.5], [0.5, "half"], [[0.5, 0.5]], {"0": 1}):
        (tmp_path / "estimate.json").write_text(json.dumps(document | {"input_distribution": wrong}))
        answer = bestchannel("report", tmp_path / "estimate.json", "-o", tmp_path / "r.html")
        assert answer.returncode == 1
        assert answer.stderr.startswith("error: ")
        assert "the fixed input distribution" in answer.stderr


def test_declared_outputs_remove_the_condition_and_cost_width(counts):
    declared = json.loads(bestchannel("estimate", counts, "--outputs", "0,1", "--json").stdout)
    wider = json.loads(bestchannel("estimate", counts, "--outputs", "0,1,lost", "--json").stdout)
    assert "conditional" not in declared["guarantee"]
    widths = [sum(c["upper"] - c["lower"] for c in result["channels"]) for result in (declared, wider)]
    assert widths[1] > widths[0]


def test_classifiers_of_digits_are_undecided_and_exit_3():
    answer = bestchannel("estimate", DIGITS, "--json")
    result = json.loads(answer.stdout)
    assert answer.returncode == 3
    assert result["verdict"]["best"] is None
    assert result["verdict"]["more_senses"] > 0
    assert all(channel["upper"] <= math.log2(10) for channel in result["channels"])
    shown = bestchannel("estimate", DIGITS)
    assert shown.returncode == 3
    assert "undecided between" in shown.stdout
    assert "not proved" in shown.stdout


def test_single_matrix_exits_0(tmp_path):
    path = tmp_path / "confusion.csv"
    path.write_text("90,10\n20,80\n")
    answer = bestchannel("estimate", path)
    assert answer.returncode == 0
    assert "one channel: nothing to compare" in answer.stdout


def test_refused_input_exits_1_with_file_line_and_value(tmp_path):
    path = tmp_path / "counts.csv"
    path.write_text(CLEAR.replace("950", "9.5", 1))
    answer = bestchannel("estimate", path, "--json")
    assert answer.returncode == 1
    assert answer.stdout == ""
    assert "counts.csv: line 2" in answer.stderr
    assert "9.5" in answer.stderr
    assert bestchannel("estimate", path, "--delta", 2).returncode == 1
    assert bestchannel("estimate", tmp_path / "none.csv").returncode == 1


def test_what_a_policy_has_sensed_is_an_adaptive_design(tmp_path):
    (tmp_path / "links.json").write_text('{"channels": {"a": [[0.9, 0.1], [0.1, 0.9]], "b": [[0.7, 0.3], [0.3, 0.7]]}}')
    run = tmp_path / "run.db"
    assert bestchannel("identify", "--simulate", tmp_path / "links.json", "--seed", "1", "--run", run).returncode == 0
    result = json.loads(bestchannel("estimate", run, "--json").stdout)
    assert (result["design"], result["shuffles"]) == ("adaptive", None)
    refused = bestchannel("estimate", run, "--design", "fixed")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "a policy chose its senses by looking at outputs" in refused.stderr


def test_ranks_are_shown_and_are_in_the_json():
    shown = bestchannel("estimate", DIGITS, "--rank", "--design", "adaptive")
    assert "of 66 pairs are settled, all at once" in shown.stdout
    order = json.loads(bestchannel("estimate", DIGITS, "--rank", "--design", "adaptive", "--json").stdout)["order"]
    assert order["pairs"] == 66
    assert all(1 <= rank["first"] <= rank["last"] <= 12 for rank in order["ranks"])
    assert len(order["settled"]) == sum(rank["first"] - 1 for rank in order["ranks"])


def test_counts_in_json_are_parsed_once(tmp_path, monkeypatch):
    parsed, parse = [], json.loads
    monkeypatch.setattr(json, "loads", lambda text, **options: parsed.append(text) or parse(text, **options))
    path = tmp_path / "counts.json"
    path.write_text('{"channels": {"cable": [[95, 5], [5, 95]]}}')
    assert bestchannel("estimate", path).returncode == 0
    assert parsed == [path.read_text()]


def test_counts_of_a_channel_called_audit_are_counts(tmp_path):
    path = tmp_path / "counts.json"
    path.write_text('{"channels": {"audit": [[95, 5], [5, 95]]}}')
    assert bestchannel("estimate", path, "--outputs", "0,1").returncode == 0


def test_intervals_that_are_withheld_are_null_in_json_and_judge_nothing(tmp_path):
    few = tmp_path / "few.csv"
    few.write_text("channel,x,y,count\na,0,0,9\na,0,1,1\na,1,0,1\na,1,1,9\nb,0,0,7\nb,0,1,3\nb,1,0,3\nb,1,1,7\n")
    answer = bestchannel("estimate", few, "--json")
    result = json.loads(answer.stdout)
    assert [channel["asymptotic"] for channel in result["channels"]] == [
        {"capacity": None, "lower": None, "upper": None}
    ] * 2
    assert result["asymptotic_verdict"] is None
    shown = bestchannel("estimate", few).stdout
    assert "withheld" in shown
    assert "approximate intervals, not proved" not in shown


def test_the_result_is_said_before_what_it_rests_on(counts):
    lines = bestchannel("estimate", counts).stdout.splitlines()
    assert lines[0].split() == ["channel", "size", "senses", "capacity", "proved", "approximate", "less", "bias"]
    assert lines[3] == "best: a, proved (wrong at most 5 % of the time)"
    assert lines[4].startswith("With probability at least 0.95 all capacities are between their lower and upper ends")
    assert lines[5:] == [
        "Proof: bestchannel explain recorded-counts.",
        "Only the outputs that occur are supposed possible; declare others with --outputs (outputs= in Python).",
    ]


@pytest.mark.parametrize("columns", [{}, {"COLUMNS": "40"}])
def test_no_figure_of_a_table_is_cut_off(tmp_path, columns):
    path = tmp_path / "a_name_that_is_somewhat_longer.csv"
    path.write_text("90,10\n20,80\n")
    shown = bestchannel("estimate", path, env=os.environ | columns).stdout
    whole = json.loads(bestchannel("estimate", path, "--json").stdout)["channels"][0]
    assert "less bias" in shown
    assert f"{whole['corrected']:.4f}" in shown


def test_a_best_whose_interval_or_rank_overlaps_is_explained(capsys):
    clear = bc.estimate({"a": [[950, 50], [50, 950]], "b": [[700, 300], [300, 700]]}, rank=True)
    measured._show(clear)
    assert "overlap" not in capsys.readouterr().out
    first, second = clear.channels
    ranks = tuple(replace(rank, first=1, last=2) for rank in clear.order.ranks)
    overlapping = (first, replace(second, upper=first.upper))
    measured._show(replace(clear, channels=overlapping, order=replace(clear.order, ranks=ranks)))
    shown = capsys.readouterr().out
    assert "intervals overlap, and yet the best is proved: comparing two channels proves more" in shown
    assert "its rank is not settled, and yet the best is proved" in shown


def test_the_answer_of_another_question_comes_first_and_json_has_its_keys(tmp_path):
    counts = tmp_path / "counts.json"
    tables = {"good": [[970, 30], [30, 970]], "fair": [[880, 120], [120, 880]], "bad": [[700, 300], [300, 700]]}
    counts.write_text(json.dumps({"channels": tables}))
    for option, words, key, value in (
        (("--above", "0.6"), "above 0.6 bit: good", "answers", {"good": "above", "fair": "below", "bad": "below"}),
        (("--top", "2"), "best 2: good, fair", "top", ["good", "fair"]),
        (("--order",), "order: good > fair > bad", "order", ["good", "fair", "bad"]),
    ):
        assert words in bestchannel("estimate", counts, *option).stdout.splitlines()[0]
        assert json.loads(bestchannel("estimate", counts, *option, "--json").stdout)[key] == value
    found = json.loads(bestchannel("estimate", counts, "--within", "0.9", "--json").stdout)
    assert found["brackets"] == {c["name"]: {"lower": c["lower"], "upper": c["upper"]} for c in found["channels"]}
    assert found["question"] == {"kind": "within", "width": 0.9, "relative": False}


def test_one_pair_is_settled_and_several_are(tmp_path):
    table = [[900, 100], [100, 900]]
    for names, words in (("ab", "of 1 pair is settled"), ("abc", "of 3 pairs are settled")):
        (tmp_path / "counts.json").write_text(json.dumps({"channels": dict.fromkeys(names, table)}))
        assert words in bestchannel("estimate", tmp_path / "counts.json", "--rank").stdout
        bestchannel("report", tmp_path / "counts.json", "--rank", "-o", tmp_path / "r.html")
        number, verb = words.split(" ", 2)[1], words.split(" ")[-2]
        assert re.search(rf"of {number} pairs? of channels {verb} settled", (tmp_path / "r.html").read_text())
