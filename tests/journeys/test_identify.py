"""`bestchannel identify` from outside."""

import json
from importlib.metadata import version

import numpy as np
import pytest

from tests.journeys.command import bestchannel, result_of

KEYS = {"best", "decided", "senses", "rounds", "policy", "delta", "epsilon", "guarantee"}


@pytest.fixture
def links(tmp_path):
    path = tmp_path / "links.json"
    channels = {"good": [[0.95, 0.05], [0.05, 0.95]], "bad": [[0.7, 0.3], [0.3, 0.7]]}
    path.write_text(json.dumps({"channels": channels}))
    return path


@pytest.mark.parametrize("policy", ["adaptive", "joint", "best-chan-id", "naive", "median"])
def test_every_policy_names_the_better_channel(policy, links):
    accuracy = ["--epsilon", "0.2"] if policy in ("naive", "median") else []
    code, result = result_of("identify", "--simulate", links, "--policy", policy, "--seed", "1", *accuracy)
    assert code == 0
    assert result.keys() >= KEYS
    assert (result["best"], result["decided"], result["policy"]) == ("good", True, policy)


def test_same_seed_gives_the_same_result_and_another_seed_another(links):
    first, again, other = (result_of("identify", "--simulate", links, "--seed", seed)[1] for seed in (3, 3, 4))
    assert first == again
    assert first["senses"] != other["senses"]


def test_limit_of_senses_ends_undecided_with_code_3(links):
    code, result = result_of("identify", "--simulate", links, "--max-senses", "10")
    assert code == 3
    assert (result["best"], result["decided"], result["senses"]) == (None, False, 0)
    assert result["candidates"] == ["good", "bad"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["--policy", "psychic"],
            "the policy must be one of adaptive, joint, best-chan-id, naive, median, or package.module:Class; it is 'psychic'",
        ),
        (["--policy", "naive"], "the policy naive requires the option epsilon"),
        (
            ["--policy", "naive", "--epsilon", "0.1", "--subroutine", "median"],
            "the policy naive has no option subroutine, it has epsilon, input_distribution",
        ),
        (["--policy", "best-chan-id", "--subroutine", "x"], "the subroutine must be one of naive, median; it is 'x'"),
        (["--delta", "1"], "delta (the error probability) must lie in (0, 1); it is 1"),
        (["--policy", "median", "--epsilon", "0"], "epsilon (the accuracy, in bits) must lie in (0, 1e+300]; it is 0"),
        (["--input-distribution", "0.5,0.4,0.1"], "the fixed input distribution must be a vector of 2 probabilities"),
        (["--input-distribution", "half"], "--input-distribution must look like 0.5,0.5; it is 'half'"),
        (["--max-senses", "-1"], "max_senses must be a whole number >= 0; it is -1"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(arguments, sentence, links):
    run = bestchannel("identify", "--simulate", links, *arguments)
    assert run.returncode == 1
    assert run.stdout == ""
    assert sentence in run.stderr
    assert len(run.stderr.strip().splitlines()) == 1


@pytest.fixture
def trials(tmp_path):
    """A thousand trials of each of two links."""
    rng, path = np.random.default_rng(5), tmp_path / "trials.csv"
    lines = ["channel,x,y"]
    for name, error in (("good", 0.05), ("bad", 0.3)):
        x = rng.integers(0, 2, 1000)
        lines += [f"{name},{a},{b}" for a, b in zip(x, x ^ (rng.random(1000) < error), strict=True)]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_recording_is_replayed_to_a_verdict_within_its_condition(trials):
    code, result = result_of("identify", "--replay", trials)
    assert (code, result["best"]) == (0, "good")
    assert result["guarantee"].endswith("conditional on the observed alphabet")
    assert "conditional" not in result_of("identify", "--replay", trials, "--outputs", "0,1")[1]["guarantee"]


def test_replayed_run_goes_on_to_the_same_verdict_and_refuses_another_recording(trials, tmp_path):
    whole, run = result_of("identify", "--replay", trials), tmp_path / "run.db"
    assert result_of("identify", "--replay", trials, "--run", run, "--max-senses", 40)[0] == 3
    del whole[1]["source"]  # a run says it itself
    assert result_of("run", "resume", run, "--max-senses", 10**6) == whole
    with trials.open("a") as file:
        file.write("bad,0,0\n")
    changed = bestchannel("run", "resume", run)
    assert changed.returncode == 1
    assert "the recording must be as it was when the run was begun; it has changed" in changed.stderr
    assert bestchannel("identify", "--replay", trials, "--run", run).returncode == 1


def test_recording_that_runs_out_exits_3_and_says_what_is_missing(trials):
    lines = trials.read_text().splitlines()
    trials.write_text("\n".join([lines[0], *lines[1:21], *lines[1001:1021]]) + "\n")
    ended = bestchannel("identify", "--replay", trials)
    assert ended.returncode == 3
    assert "the recording has" in ended.stderr
    assert "undecided between good, bad" in ended.stdout


def test_recording_that_is_too_short_to_begin_exits_1_and_leaves_no_run(trials, tmp_path):
    short = bestchannel("identify", "--replay", trials, "--policy", "best-chan-id", "--run", tmp_path / "run.db")
    assert short.returncode == 1
    assert "the recording has" in short.stderr
    assert not (tmp_path / "run.db").exists()


def test_undecided_recording_says_whether_it_or_the_limit_has_ended_it(tmp_path):
    equal = tmp_path / "equal.csv"
    rows = [f"{name},{x},{x if n % 10 else 1 - x}\n" for n in range(100) for name in "ab" for x in (0, 1)]
    equal.write_text("channel,x,y\n" + "".join(rows))
    for limit, why, used in [
        (None, "the recording has nothing left that could decide", 400),
        (4000, "the recording has nothing left that could decide", 400),
        (150, "--max-senses 150 allows no more", 150),
        (5, "--max-senses 5 allows no more", 0),
    ]:
        ended = bestchannel("identify", "--replay", equal, *(() if limit is None else ("--max-senses", limit)))
        assert ended.returncode == 3
        assert f"{why}: {used} of 400 trials were used" in ended.stderr


@pytest.mark.parametrize("arguments", [[], ["--simulate", "a.json", "--replay", "b.csv"]])
def test_one_source_of_senses_is_required(arguments):
    run = bestchannel("identify", *arguments)
    assert run.returncode == 1
    assert run.stderr == "error: one of --simulate and --replay is required: known channels, or a trial log\n"


def test_run_that_exists_goes_on_with_the_same_settings_only(links, tmp_path):
    run = tmp_path / "run.db"
    first = result_of("identify", "--simulate", links, "--seed", 3, "--run", run)
    assert result_of("identify", "--simulate", links, "--seed", 3, "--run", run) == first
    other = bestchannel("identify", "--simulate", links, "--seed", 4, "--run", run)
    assert other.returncode == 1
    assert "the run was begun with seed 3, and now it is 4" in other.stderr


def test_version_is_shown():
    run = bestchannel("--version")
    assert (run.returncode, run.stdout) == (0, f"bestchannel {version('bestchannel')}\n")


def test_trials_that_all_channels_answered_are_replayed_as_shots(tmp_path):
    rng, rows = np.random.default_rng(1), ["trial,x,y_good,y_bad"]
    for trial, x in enumerate(rng.integers(2, size=2000).tolist()):
        rows.append(f"{trial},{x},{x ^ int(rng.random() < 0.03)},{x ^ int(rng.random() < 0.3)}")
    path = tmp_path / "joint.csv"
    path.write_text("\n".join(rows) + "\n")
    code, result = result_of("identify", "--replay", path, "--policy", "joint")
    assert (code, result["best"], result["decided"]) == (0, "good", True)
    assert result["senses"] <= 2000


@pytest.mark.parametrize("policy", ["naive", "median", "best-chan-id", "joint"])
def test_a_question_that_a_policy_does_not_answer_is_refused_by_its_option(policy):
    asked = bestchannel("identify", "--simulate", "bsc:0.1", "--simulate", "bsc:0.3", "--policy", policy, "--top", 1)
    assert asked.returncode == 1
    assert "answers no other question; leave out --top, or choose the policy adaptive" in asked.stderr
