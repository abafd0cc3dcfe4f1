"""A recording answers from its trials, in their order, none twice."""

import numpy as np
import pytest

import bestchannel as bc
from bestchannel import InputError
from bestchannel.identification import OutOfSensesError, Request

LOG = [(0, 0), (1, 1), (0, 1), (0, 1), (1, 0)]


def trials_of(channels, each, seed):
    """`each` trials of every input of every channel."""
    rng = np.random.default_rng(seed)
    return {
        name: [(x, int(y)) for x, row in enumerate(W) for y in rng.choice(len(row), size=each, p=row)]
        for name, W in channels.items()
    }


LINKS = {"good": [[0.95, 0.05], [0.05, 0.95]], "bad": [[0.7, 0.3], [0.3, 0.7]]}


def test_trials_are_used_in_order_and_once():
    recording = bc.Recording({"link": LOG})
    assert recording(Request(1, {0: (1, 1)}))[0].tolist() == [[1, 0], [0, 1]]
    assert recording(Request(2, {0: (2, 1)}))[0].tolist() == [[0, 2], [1, 0]]


def test_request_that_cannot_be_answered_uses_no_trial():
    recording = bc.Recording({"link": LOG})
    with pytest.raises(OutOfSensesError):
        recording(Request(1, {0: (1, 3)}))
    assert recording(Request(1, {0: (3, 2)}))[0].tolist() == [[1, 2], [1, 1]]


def test_recording_too_short_for_a_policy_says_what_it_wants_and_what_to_use_instead():
    recording = bc.Recording(trials_of(LINKS, 50, 1))
    policy = bc.BestChanID(recording.alphabets, delta=0.05)
    wanted = policy.ask().senses[0][0]
    with pytest.raises(OutOfSensesError, match="the policy adaptive wants fewer, and `estimate` makes do") as error:
        bc.identify(recording, policy)
    assert f"{wanted:,}" in str(error.value)
    assert "has 50 more senses of input x=0 of channel 'good'" in str(error.value)


def test_long_recording_lets_adaptive_decide():
    recording = bc.Recording(trials_of(LINKS, 5000, 2))
    result = bc.identify(recording, bc.Adaptive(recording.alphabets, delta=0.05))
    assert (result.best, result.decided) == ("good", True)


def test_recording_that_runs_out_leaves_it_undecided_with_what_was_used():
    recording = bc.Recording(trials_of(LINKS, 10, 3))
    result = bc.identify(recording, bc.Adaptive(recording.alphabets, delta=1e-9))
    assert not result.decided
    assert 0 < result.senses <= 40


def test_declared_alphabet_holds_letters_that_never_came():
    recording = bc.Recording([LOG], alphabets=[(2, 4)])
    assert recording(Request(1, {0: (1, 0)}))[0].shape == (2, 4)


@pytest.mark.parametrize(
    ("trials", "alphabets", "sentence"),
    [
        ({}, None, "a recording wants at least one channel"),
        ({"a": [(0, -1)]}, None, "must be pairs \\(x, y\\) of whole numbers >= 0"),
        ({"a": [(0.5, 1.0)]}, None, "must be pairs \\(x, y\\) of whole numbers >= 0"),
        ({"a": [1, 2, 3]}, None, "must be pairs \\(x, y\\) of whole numbers >= 0"),
        ({"a": []}, None, "must not be empty"),
        ({"a": [(0, 5)]}, [(1, 2)], "must fit its alphabet of 1 inputs and 2 outputs; they have input 0 or output 5"),
    ],
)
def test_bad_trials_are_refused_by_name(trials, alphabets, sentence):
    with pytest.raises(InputError, match=sentence):
        bc.Recording(trials, alphabets=alphabets)
