"""Costs from outside: --cost of identify, bound, plan and run new."""

import json

import pytest

from tests.journeys.command import bestchannel, result_of

CHANNELS = {
    "near": [[0.95, 0.05], [0.05, 0.95]],
    "far": [[0.7, 0.3], [0.3, 0.7]],
    "odd:name=1": [[0.6, 0.4], [0.4, 0.6]],
}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "channels.json"
    path.write_text(json.dumps({"channels": CHANNELS}))
    return path


def costs_of(*arguments):
    code, result = result_of("identify", *arguments)
    assert code == 0
    return result["audit"]["options"]["cost"]


def test_costs_are_of_channels_of_inputs_and_1_elsewhere(file):
    assert costs_of("--simulate", file, "--cost", "near=10", "--cost", "far:1=2.5") == [[10, 10], [1, 2.5], [1, 1]]


def test_names_with_the_signs_of_the_form_are_found(file):
    assert costs_of("--simulate", file, "--cost", "odd:name=1=4", "--cost", "odd:name=1:0=7")[2] == [7, 4]


def test_costs_may_stand_in_a_file(file, tmp_path):
    costs = tmp_path / "costs.json"
    costs.write_text('{"near": 10, "far": {"1": 2.5}}')
    assert costs_of("--simulate", file, "--cost", costs) == [[10, 10], [1, 2.5], [1, 1]]


def test_cost_of_an_input_comes_before_that_of_its_channel_in_any_order(file):
    for costs in (("far=3", "far:1=2.5"), ("far:1=2.5", "far=3")):
        assert costs_of("--simulate", file, "--cost", costs[0], "--cost", costs[1])[1] == [3, 2.5]


@pytest.mark.parametrize("place", ["far", "far:1"])
def test_two_costs_of_one_sense_are_refused(file, place):
    answer = bestchannel("identify", "--simulate", file, "--cost", f"{place}=2", "--cost", f"{place}=3")
    assert answer.returncode == 1
    assert f"--cost must name each channel and each input once; '{place}' has two costs" in answer.stderr


def test_bound_and_plan_speak_in_cost(file):
    code, bound = result_of("bound", file, "--cost", "near=10")
    assert code == 0
    assert 0 < bound["cost_lower_bound"] < 10 * bound["senses_lower_bound"]
    assert bound["cost_per_nat"]["lower"] <= bound["cost_per_nat"]["upper"]
    code, plan = result_of("plan", file, "--cost", "near=10", "--runs", 5)
    assert code == 0
    assert plan["cost_lower_bound"] == bound["cost_lower_bound"]
    assert plan["cost_lower_bound"] < plan["policies"][0]["cost"] <= plan["policies"][0]["cost_q95"]
    assert "no policy pays less than" in bestchannel("plan", file, "--cost", "near=10", "--runs", 5).stdout


def test_report_says_what_the_senses_cost(file, tmp_path):
    run, page = tmp_path / "run.db", tmp_path / "report.html"
    words = bestchannel("identify", "--simulate", file, "--cost", "near=10", "--run", run)
    assert ", which cost " in words.stdout
    assert bestchannel("report", run, "-o", page).returncode == 0
    assert "<dt>cost</dt>" in page.read_text()
    assert bestchannel("verify", run).returncode == 0


@pytest.mark.parametrize(
    ("cost", "sentence"),
    [
        ("near=0", "must be a finite number > 0; it is 0"),
        ("near=-2", "must be a finite number > 0; it is -2"),
        ("near=nan", "must be a finite number > 0; it is nan"),
        ("near=inf", "must be a finite number > 0; it is inf"),
        ("nowhere=2", "channel 'nowhere', which takes no part"),
        ("near:9=2", "input '9' of channel 'near', which has 0, 1"),
        ("near=much", "must end with a number"),
        ("missing.json", "there is no such file"),
    ],
)
def test_bad_costs_are_refused_with_one_sentence(file, cost, sentence):
    for verb in (("identify", "--simulate", file), ("bound", file)):
        run = bestchannel(*verb, "--cost", cost)
        assert run.returncode == 1
        assert sentence in run.stderr
        assert len(run.stderr.strip().splitlines()) == 1


def test_policy_without_costs_says_so(file):
    run = bestchannel("identify", "--simulate", file, "--policy", "naive", "--epsilon", 0.1, "--cost", "near=2")
    assert run.returncode == 1
    assert "the policy naive has no option cost" in run.stderr
