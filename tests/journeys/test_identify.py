"""`bestchannel identify` from outside."""

import json

import pytest

from tests.journeys.command import bestchannel, result_of

KEYS = {"best", "decided", "senses", "rounds", "policy", "delta", "epsilon", "guarantee"}


@pytest.fixture
def links(tmp_path):
    path = tmp_path / "links.json"
    channels = {"good": [[0.95, 0.05], [0.05, 0.95]], "bad": [[0.7, 0.3], [0.3, 0.7]]}
    path.write_text(json.dumps({"channels": channels}))
    return path


@pytest.mark.parametrize("policy", ["adaptive", "best-chan-id", "naive", "median"])
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
        (["--policy", "psychic"], "the policy must be one of adaptive, best-chan-id, naive, median; it is 'psychic'"),
        (["--policy", "naive"], "the policy naive wants an epsilon"),
        (["--policy", "naive", "--epsilon", "0.1", "--subroutine", "median"], "the policy naive has no subroutine"),
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
