"""What a study's file may say, and how it is refused."""

import json
import re

import pytest

from bestchannel import BestChanID, InputError, Simulator, Top, identify
from bestchannel.channels import bsc
from bestchannel.errors import MissingFileError
from bestchannel.study.spec import parse_spec, read_spec
from tests.study.hasty import HASTE

SMALL = """
seed = 1
runs = 10
deltas = [0.1]
[[policies]]
policy = "adaptive"
[[instances]]
family = "near-tie"
"""


def spec_of(tmp_path, text):
    path = tmp_path / "tie.toml"
    path.write_text(text)
    return read_spec(path)


def test_defaults_are_the_families_and_the_name_is_the_files(tmp_path):
    spec = spec_of(tmp_path, SMALL)
    (source,) = spec.instances
    assert (spec.name, spec.seed, spec.deltas) == ("tie", 1, (0.1,))
    assert (source.name, source.sets, source.runs, source.max_senses) == ("near-tie", 1, 10, None)
    assert source.lower_bound is None
    assert source.numbers == {"k": 2, "gap": 1e-4, "capacity": 0.3}


def test_source_may_have_its_own_name_runs_sets_limit_and_bound(tmp_path):
    own = 'name = "tie"\nruns = 3\nsets = 2\nmax_senses = 7\nlower_bound = 0.2\ngap_nats = 0.6931471805599453'
    spec = spec_of(tmp_path, SMALL + own)
    (source,) = spec.instances
    assert (source.name, source.sets, source.runs, source.max_senses) == ("tie", 2, 3, 7)
    assert source.lower_bound == 0.2
    assert source.numbers["gap"] == 1.0  # log 2 nats


def test_channels_are_read_from_a_file_beside_the_specification(tmp_path):
    rows = {"a": [[0.9, 0.1], [0.1, 0.9]], "b": [[0.5, 0.5], [0.5, 0.5]]}
    (tmp_path / "links.json").write_text(json.dumps({"channels": rows}))
    spec = spec_of(tmp_path, SMALL.replace('family = "near-tie"', 'channels = "links.json"'))
    assert (spec.instances[0].name, spec.instances[0].rows) == ("links", rows)


def test_epsilon_of_the_study_goes_to_the_policies_that_have_one(tmp_path):
    text = "epsilon = 0.2\n" + SMALL + '[[policies]]\npolicy = "naive"\n[[policies]]\npolicy = "best-chan-id"\n'
    made = [choice.make([(2, 2)] * 2, 0.1) for choice in spec_of(tmp_path, text).policies]
    assert [policy.epsilon for policy in made] == [0.2, 0.2, 0.0]


def test_question_of_the_study_goes_to_its_policies_and_those_that_name_the_best_are_refused(tmp_path):
    asked = 'question = { kind = "top", m = 3 }\n' + SMALL
    (choice,) = spec_of(tmp_path, asked).policies
    assert choice.make([(2, 2)] * 4, 0.1).question == Top(3)
    with pytest.raises(InputError, match="names the best channel, and question asks for something else"):
        spec_of(tmp_path, asked.replace('"adaptive"', '"best-chan-id"'))
    with pytest.raises(InputError, match="a question must be Above, Top, Order or Within"):
        spec_of(tmp_path, asked.replace("top", "bottom"))
    with pytest.raises(InputError, match="question must be a table"):
        spec_of(tmp_path, "question = 3\n" + SMALL)


def test_policy_options_reach_the_policy(tmp_path):
    text = SMALL.replace('"adaptive"', '"best-chan-id"\nsubroutine = "median"\nname = "paper"')
    (choice,) = spec_of(tmp_path, text).policies
    policy = choice.make([(2, 2)] * 2, 0.1)
    assert choice.name == "paper"
    assert isinstance(policy, BestChanID)
    assert policy.subroutine == "median"


@pytest.mark.parametrize("threshold", ["proved", "calibrated"])
def test_sabotaged_policy_is_content_with_a_fifth_of_the_evidence(tmp_path, threshold):
    wanted = []
    for policy in ("adaptive", "tests.study.hasty:Hasty"):
        (choice,) = spec_of(tmp_path, SMALL.replace('"adaptive"', f'"{policy}"\nthreshold = "{threshold}"')).policies
        made = choice.make([(2, 2)] * 2, 0.01)
        identify(Simulator([bsc(0.3), bsc(0.3)], rng=1), made, max_senses=24)  # its first request
        wanted += made.threshold_nats.values()
    whole, fifth = wanted
    assert fifth == pytest.approx(whole / HASTE)


REFUSED = {
    "missing key": ("seed = 1\n", "", "seed is missing; a study requires it"),
    "unknown key": ("seed = 1", "seed = 1\nsede = 2", "sede = 2 means nothing here; leave it out"),
    "no whole number": ("runs = 10", "runs = 1.5", "runs must be a whole number >= 1; it is 1.5"),
    "truth as number": ("runs = 10", "runs = true", "runs must be a whole number >= 1; it is True"),
    "no list": ("[0.1]", "0.1", "deltas must be a list of error probabilities; it is 0.1"),
    "delta out of range": ("[0.1]", "[0.1, 0.7]", "deltas[1] must lie in (0, 0.5]; it is 0.7"),
    "bracket too narrow": (
        "seed = 1",
        "seed = 1\nlower_bound = 1e-5",
        "lower_bound must lie in [0.0001, 1]; it is 1e-05",
    ),
    "question in a word": (
        '"adaptive"',
        '"adaptive"\nquestion = "top"',
        "policies[0].policy = 'adaptive': a question must be Above",
    ),
    "no number": ("seed = 1", "seed = 1\nlower_bound = true", "lower_bound must be a number; it is True"),
    "one table": ("[[policies]]", "[policies]", "policies must be one or more tables [[policies]]"),
    "unknown policy": ('"adaptive"', '"oracle"', "policies[0].policy = 'oracle': the policy must be one of adaptive"),
    "foreign option": (
        '"adaptive"',
        '"adaptive"\nsubroutine = "naive"',
        "policies[0].subroutine = 'naive' means nothing here; there are policy, name, epsilon",
    ),
    "epsilon missing": ('"adaptive"', '"naive"', "the policy naive requires the option epsilon"),
    "unknown option": ('"adaptive"', '"adaptive"\nspeed = 3', "policies[0].speed = 3 means nothing here; there are"),
    "option of another kind": (
        '"adaptive"',
        '"adaptive"\nepsilon = "x"',
        "epsilon (the accuracy, in bits) must be a number",
    ),
    "option that is no JSON": (
        '"adaptive"',
        '"adaptive"\nepsilon = nan',
        "policies[0].policy = 'adaptive': epsilon (the accuracy",
    ),
    "module missing": (
        '"adaptive"',
        '"no.such:Policy"',
        "policies[0].policy = 'no.such:Policy': the policy no.such:Policy cannot",
    ),
    "unknown family": ('"near-tie"', '"far-tie"', "instances[0].family must be one of random-binary, random"),
    "foreign number": (
        '"near-tie"',
        '"near-tie"\nq = 0.5',
        "instances[0].q = 0.5 means nothing here; there are k, gap",
    ),
    "both gaps": ('"near-tie"', '"near-tie"\ngap = 1.0\ngap_nats = 1.0', "instances[0].gap_nats = 1.0 means nothing"),
    "number missing": ('"near-tie"', '"random-binary"\ngap = 0.1', "instances[0].k is missing"),
    "number out of range": ('"near-tie"', '"near-tie"\ngap = -1', "instances[0].gap must lie in (0, 64]; it is -1"),
    "k too small": ('"near-tie"', '"near-tie"\nk = 1', "instances[0].k must be a whole number >= 2; it is 1"),
    "policy that is not there": (
        '"near-tie"',
        '"near-tie"\npolicies = ["naive"]',
        "instances[0].policies must be a list of names of policies, adaptive; it is ['naive']",
    ),
    "policies as text": ('"near-tie"', '"near-tie"\npolicies = "adaptive"', "instances[0].policies must be a list of"),
    "not TOML": ("seed = 1", "seed 1", "the file must be TOML"),
}


@pytest.mark.parametrize(
    "option", ["question = { kind = 'above', level = 0.3, rates = [1, 2, 3] }", "cost = [1, 2, 3]"]
)
def test_a_policy_for_three_channels_is_read(tmp_path, option):
    (path := tmp_path / "study.toml").write_text(SMALL.replace('"adaptive"', f'"adaptive"\n{option}'))
    assert len(read_spec(path).policies[0].example().alphabets) == 3


@pytest.mark.parametrize(("old", "new", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_refusal_names_file_key_value_and_what_is_required(tmp_path, old, new, message):
    assert old in SMALL
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        spec_of(tmp_path, SMALL.replace(old, new))
    assert str(caught.value).startswith(str(tmp_path / "tie.toml"))


def test_repeated_name_is_refused():
    twice = {"seed": 1, "runs": 1, "deltas": [0.1], "policies": [{"policy": "adaptive"}] * 2}
    with pytest.raises(InputError, match=r"policies\[1\].name must differ from the others; 'adaptive' occurs twice"):
        parse_spec(twice | {"instances": [{"family": "near-tie"}]}, folder=None)


def test_missing_files_are_named(tmp_path):
    with pytest.raises(MissingFileError, match=r"none\.toml: there is no such file"):
        read_spec(tmp_path / "none.toml")
    with pytest.raises(MissingFileError, match=r"links\.json: there is no such file"):
        spec_of(tmp_path, SMALL.replace('family = "near-tie"', 'channels = "links.json"'))
