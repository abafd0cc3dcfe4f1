"""`bestchannel verify` as people use it: from a result in a file to an exit code and one sentence."""

import json
import re

import pytest

from bestchannel.channels import bsc
from bestchannel.counts import write_channels
from tests.journeys.command import bestchannel, result_of


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Links, and the results of three policies on them."""
    folder = tmp_path_factory.mktemp("verify")
    write_channels(folder / "links.json", {name: bsc(p) for name, p in {"copper": 0.2, "fibre": 0.05}.items()})
    for policy, options in {
        "adaptive": ("--delta", "0.01"),
        "best-chan-id": (),
        "naive": ("--epsilon", "0.1"),
        "undecided": ("--max-senses", "100", "--policy", "adaptive"),
    }.items():
        chosen = () if "--policy" in options else ("--policy", policy)
        run = bestchannel("identify", "--simulate", folder / "links.json", *chosen, *options, "--seed", "7", "--json")
        (folder / f"{policy}.json").write_text(run.stdout, encoding="utf-8")
    return folder


@pytest.mark.parametrize("policy", ["adaptive", "best-chan-id", "naive"])
def test_result_of_identify_is_valid(folder, policy):
    run = bestchannel("verify", folder / f"{policy}.json")
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.startswith("valid: fibre is ")


def test_json_says_what_was_checked(folder):
    code, verdict = result_of("verify", folder / "adaptive.json")
    assert code == 0
    assert verdict == {
        "valid": True,
        "checks": ["structure", "adaptive", "choices"],
        "failure": None,
        "claim": "fibre is the best with an error probability of at most 0.01",
        "choices": "replayed",
    }


def test_undecided_result_is_valid_and_claims_how_near_to_the_best_a_channel_is(folder):
    run = bestchannel("verify", folder / "undecided.json")
    assert run.returncode == 0
    assert re.fullmatch(
        r"valid: undecided: fibre is within 0\.\d+ bit of the best with an error probability of at most 0\.05\n",
        run.stdout,
    )


def test_tampered_result_is_exit_code_3_with_one_sentence(folder, tmp_path):
    document = json.loads((folder / "adaptive.json").read_text(encoding="utf-8"))
    document["delta"] = 1e-6
    (tmp_path / "tampered.json").write_text(json.dumps(document), encoding="utf-8")
    run = bestchannel("verify", tmp_path / "tampered.json")
    assert run.returncode == 3
    assert run.stdout.startswith("not valid: channel 'copper' was ruled out after request ")
    code, verdict = result_of("verify", tmp_path / "tampered.json")
    assert (code, verdict["valid"], verdict["checks"]) == (3, False, ["structure"])
    assert f"not valid: {verdict['failure']}\n" == run.stdout


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("{", "the file must be JSON; line 1, column 2 is not JSON"),
        ("[]", "this must be the JSON of an identification"),
        ("", "the file is empty"),
        ('{"best": "a"}', "this must be the JSON of an identification"),
        ("[" * 100_000, "the file must be JSON of a few levels; it is nested too deeply"),
        ("9" * 5000, "a number in the file cannot be read"),
        ('{"best": 1, "best": 2}', "a name must occur once in an object; 'best' occurs more often"),
    ],
)
def test_unreadable_file_is_exit_code_1_and_names_it(tmp_path, content, sentence):
    path = tmp_path / "result.json"
    path.write_text(content, encoding="utf-8")
    run = bestchannel("verify", path)
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr.startswith(f"error: {path}: {sentence}")
    assert "Traceback" not in run.stderr


def test_missing_file_is_exit_code_1(tmp_path):
    run = bestchannel("verify", tmp_path / "none.json")
    assert (run.returncode, run.stdout) == (1, "")
    assert "there is no such file" in run.stderr
