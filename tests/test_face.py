"""What `import bestchannel as bc` gives: as even as the command line, and nothing that is not public."""

import random

import numpy as np
import pytest

import bestchannel as bc

NOISE = {"good": 0.05, "bad": 0.3}
LINKS = {name: [[1 - p, p], [p, 1 - p]] for name, p in NOISE.items()}


def test_completion_offers_public_names_alone():
    assert set(dir(bc)) == {*bc.__all__, "__version__", "channels", "runs"}
    assert all(hasattr(bc, name) for name in dir(bc))


def test_families_plan_verify_and_runs_are_at_the_top():
    assert round(bc.capacity(bc.bsc(0.11)).value, 3) == 0.5
    assert bc.plan({"a": [[0.9, 0.1], [0.1, 0.9]], "b": bc.bec(0.9)}, runs=2).best == "a"
    assert bc.runs.view
    assert bc.verify(bc.identify(bc.Simulator(LINKS, rng=1))).valid


def test_identify_takes_adaptive_with_delta_005_unless_it_is_told_otherwise():
    result = bc.identify(bc.Simulator(LINKS, rng=1))
    same = bc.identify(bc.Simulator(LINKS, rng=1), bc.Adaptive([(2, 2)] * 2, delta=0.05))
    assert (result, result.policy) == (same, "adaptive")
    assert bc.identify(bc.Simulator(LINKS, rng=1), delta=0.2).delta == 0.2
    trials = {name: [(0, 0)] * 99 + [(1, int(name == "good"))] * 99 for name in LINKS}
    assert bc.identify(bc.Recording(trials, alphabets=[(2, 2)] * 2)).best == "good"


def test_delta_beside_a_policy_is_refused():
    with pytest.raises(bc.InputError, match="delta belongs to the policy"):
        bc.identify(bc.Simulator(LINKS, rng=1), bc.Adaptive([(2, 2)] * 2, delta=0.05), delta=0.1)


def test_function_that_senses_once_is_called_with_letters_as_they_are_declared():
    draw, asked = random.Random(1), set()

    def sense(channel, x):
        asked.add((channel, x))
        return {"low": "0", "high": "1"}[x] if draw.random() > NOISE[channel] else "lost"

    letters = ["low", "high"], ["0", "1", "lost"]
    result = bc.identify(sense, channels={"good": letters, "bad": letters})
    assert result.best == "good"
    assert asked == {(name, x) for name in NOISE for x in ("low", "high")}
    assert result.audit.channels[0].outputs == ("0", "1", "lost")
    assert bc.verify(result).valid


def test_function_that_senses_once_is_asked_as_often_as_the_record_says():
    calls = []
    result = bc.identify(
        lambda channel, x: calls.append(channel) or x, channels={0: (2, 2), 1: (2, 2)}, max_senses=100, delta=0.1
    )
    assert len(calls) == result.senses <= 100


BAD = {
    "another output": (
        lambda channel, x: 2,
        {"a": (2, 2), "b": (2, 2)},
        "must answer with one of its outputs, 0, 1; to",
    ),
    "no letters": (lambda channel, x: x, {"a": (0, 2)}, "must have numbers of inputs and outputs, as"),
    "letters twice": (lambda channel, x: x, {"a": ([1, "1"], 2)}, "no two the same"),
    "one number": (lambda channel, x: x, {"a": 2}, "must have numbers of inputs and outputs"),
    "no function": (3, {"a": (2, 2)}, "a function that senses once is called with"),
    "no channel": (lambda channel, x: x, {}, "its channels are a mapping"),
    "nothing declared": (lambda channel, x: x, None, "the letters of the channels must be known"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_does_not_sense_as_declared_is_refused(name):
    sense, channels, sentence = BAD[name]
    with pytest.raises(bc.InputError, match=sentence):
        bc.identify(sense, channels=channels)


def test_capacities_of_a_mapping_are_those_of_each_by_name():
    channels = {"a": LINKS["good"], "b": bc.bec(0.25), "c": np.eye(3)}
    found = bc.capacities(channels, workers=1)
    assert list(found) == ["a", "b", "c"]
    assert all(found[name].value == pytest.approx(bc.capacity(channels[name]).value, abs=1e-9) for name in channels)
    assert bc.capacities({"a": [[0.45, 0.05], [0.05, 0.45]]}, normalize=True)["a"].value == pytest.approx(
        0.531004, abs=1e-6
    )
    with pytest.raises(bc.InputError, match="b"):
        bc.capacities({"a": LINKS["good"], "b": [[0.5, 0.6], [0.5, 0.5]]})


def test_estimate_says_itself_which_is_the_best():
    decided = bc.estimate({"good": [[950, 50], [50, 950]], "bad": [[700, 300], [300, 700]]})
    assert (decided.best, decided.decided) == ("good", True)
    open_ = bc.estimate({"good": [[9, 1], [1, 9]], "bad": [[7, 3], [3, 7]]})
    assert (open_.best, open_.decided) == (None, False)


def test_sensors_and_policies_say_what_they_are():
    simulator = bc.Simulator(LINKS, rng=1)
    assert repr(simulator) == "<Simulator of good (2×2), bad (2×2)>"
    assert repr(bc.Simulator([LINKS["good"]] * 6, rng=1)).endswith("3 (2×2) and 2 others>")
    recording = bc.Recording({"link": [(0, 0), (1, 1), (0, 1)]})
    assert repr(recording) == "<Recording of link (2×2), 3 trials left>"
    policy = bc.NaiveChanSel(simulator.alphabets, delta=0.1, epsilon=0.2)
    assert repr(policy) == "<NaiveChanSel for 2 channels, delta=0.1, epsilon=0.2, told 0 senses>"
    bc.identify(simulator, policy)
    assert f"told {policy.senses:,} senses" in repr(policy)
