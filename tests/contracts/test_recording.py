"""A recording answers from its trials, in their order, none twice."""

import numpy as np
import pandas as pd
import pytest

import bestchannel as bc
from bestchannel import InputError
from bestchannel.policies import OutOfSensesError, Request

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
    with pytest.raises(
        OutOfSensesError, match="the policy adaptive requires fewer, and `estimate` uses all that was recorded"
    ) as error:
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
        ({}, None, "a recording requires at least one channel"),
        ({"a": [(0, -1)]}, None, "must be pairs \\(x, y\\) of whole numbers >= 0"),
        ({"a": [(0.5, 1.0)]}, None, "must be pairs \\(x, y\\) of whole numbers >= 0"),
        ({"a": [1, 2, 3]}, None, "must be pairs \\(x, y\\) of whole numbers >= 0"),
        ({"a": []}, None, "must not be empty"),
        ({"a": [(0, 5)]}, [(1, 2)], "must fit its alphabet of 1 input and 2 outputs; they have input 0 or output 5"),
    ],
)
def test_bad_trials_are_refused_by_name(trials, alphabets, sentence):
    with pytest.raises(InputError, match=sentence):
        bc.Recording(trials, alphabets=alphabets)


def write_log(path, trials):
    """The trials as a file, the channels taking turns, each in its order."""
    rows = [(i, name, x, y) for name, log in trials.items() for i, (x, y) in enumerate(log)]
    lines = [f"{name},in{x},out{y}\n" for _, name, x, y in sorted(rows)]
    path.write_text("channel,x,y\n" + "".join(lines))
    return path


def test_recording_from_a_file_answers_as_the_same_trials_do(tmp_path):
    trials = trials_of(LINKS, 2000, 4)
    recorded = bc.Recording.from_file(write_log(tmp_path / "log.csv", trials), outputs=["out0", "out1"])
    given = bc.Recording(trials)
    result, expected = (bc.identify(r, bc.Adaptive(r.alphabets, delta=0.05)) for r in (recorded, given))
    assert (result.best, result.senses, result.decided) == (expected.best, expected.senses, True)
    steps = zip(result.audit.steps, expected.audit.steps, strict=True)
    # labels appear in another order in the other channel, so compare channel by name
    for mine, theirs in steps:
        named = [
            {str(r.keys[c]): t.tolist() for c, t in s.counts.items()} for r, s in ((recorded, mine), (given, theirs))
        ]
        assert named[0] == named[1]


def test_labels_of_a_log_name_the_parties(tmp_path):
    recording = bc.Recording.from_file(write_log(tmp_path / "log.csv", {"link": [(1, 0), (0, 1), (1, 1)]}))
    (labels,) = recording.parties
    assert (labels.key, labels.inputs, labels.outputs) == ("link", ("in1", "in0"), ("out0", "out1"))
    assert recording.inferred_outputs


def test_missing_senses_are_named_by_label(tmp_path):
    recording = bc.Recording.from_file(write_log(tmp_path / "log.csv", {"link": LOG}))
    with pytest.raises(OutOfSensesError, match=r"has 2 more senses of input x=1 \(in1\) of channel 'link'"):
        recording(Request(1, {0: (1, 3)}))


def test_frame_is_a_recording():
    frame = pd.DataFrame(LOG, columns=["x", "y"]).assign(channel="link")
    recording = bc.Recording(frame)
    assert recording.keys == ["link"]
    assert recording(Request(1, {0: (2, 2)}))[0].tolist() == [[1, 1], [1, 1]]
    declared = bc.Recording(frame, outputs=["0", "1", "2"])
    assert (declared.alphabets, declared.inferred_outputs) == ([(2, 3)], False)
    with pytest.raises(InputError, match="a recording requires one row per sense"):
        bc.Recording(frame.assign(count=1))


@pytest.mark.parametrize("each", [30, 400])
def test_replay_and_estimate_on_the_same_counts_agree(tmp_path, each):
    """All trials replayed give the counts that `estimate` reads, and so the same intervals and verdict."""
    path = write_log(tmp_path / "log.csv", trials_of(LINKS, each, 5))
    recording, counts = bc.Recording.from_file(path), bc.read_counts(path)
    replayed = recording(Request(1, {j: (each,) * n_inputs for j, (n_inputs, _) in enumerate(recording.alphabets)}))
    for j, (name, content) in enumerate(counts.items()):
        assert recording.keys[j] == name
        np.testing.assert_array_equal(replayed[j], content.counts)
        np.testing.assert_array_equal(recording.counts[name], content.counts)
        assert (recording.parties[j].inputs, recording.parties[j].outputs) == (content.inputs, content.outputs)
    from_replay = bc.estimate({name: replayed[j] for j, name in enumerate(recording.keys)})
    assert from_replay.verdict == bc.estimate(counts).verdict
    for name in counts:
        mine, theirs = from_replay[name], bc.estimate(counts)[name]
        assert (mine.lower, mine.capacity, mine.upper) == (theirs.lower, theirs.capacity, theirs.upper)


def test_certified_replay_names_the_channel_that_estimate_has_ahead(tmp_path):
    path = write_log(tmp_path / "log.csv", trials_of(LINKS, 5000, 6))
    recording = bc.Recording.from_file(path)
    result = bc.identify(recording, bc.Adaptive(recording.alphabets, delta=0.05))
    estimated = bc.estimate(bc.read_counts(path), delta=0.05)
    assert result.decided
    assert estimated.verdict.decided
    assert result.best == estimated.verdict.best


def test_other_trials_are_refused():
    with pytest.raises(InputError, match=r"trials must map channels to pairs .*; they are a int"):
        bc.Recording(5)
    with pytest.raises(InputError, match="one alphabet for each channel; there are 2 and 1 channel"):
        bc.Recording([LOG], alphabets=[(2, 2), (2, 2)])
    with pytest.raises(InputError, match=r"alphabets must be pairs \(n_inputs, n_outputs\)"):
        bc.Recording([LOG], alphabets=5)
    for y in (2**40, 2**63 + 5):  # a time, say
        with pytest.raises(InputError, match=f"at most 2.27 pairs of them; they have input 0 and output {y}"):
            bc.Recording([np.array([[0, y]], dtype=np.uint64)])
    with pytest.raises(InputError, match="alphabets belongs to pairs of numbers"):
        bc.Recording(pd.DataFrame(LOG, columns=["x", "y"]), alphabets=[(2, 2)])
    with pytest.raises(InputError, match="outputs belongs to a data frame"):
        bc.Recording([LOG], outputs=["0", "1"])
