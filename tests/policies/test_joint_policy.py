"""Shots that all channels answer at once: what is asked, told and refused."""

import sys

import numpy as np
import pytest

import bestchannel as bc
from bestchannel.channels import random_channel
from bestchannel.counts.joint_trials import JointTrials
from bestchannel.lower_bound.characteristic_time import least_shots
from bestchannel.policies import ChannelLabels
from bestchannel.policies.identify import SingleSenses
from bestchannel.policies.request import checked_counts, marginals
from bestchannel.policies.transcript import as_document, from_document

CHANNELS = {"good": bc.bsc(0.05), "fair": bc.bsc(0.15), "bad": bc.bsc(0.3)}


def identified(rng=1, correlation=0.0, channels=CHANNELS, max_senses=None, **options):
    sensor = bc.Simulator(channels, rng=rng, correlation=correlation)
    policy = bc.JointAdaptive(sensor.alphabets, delta=0.05, **options)
    return bc.identify(sensor, policy, max_senses=max_senses)


@pytest.mark.parametrize("correlation", [-0.9, 0.0, 0.9])
def test_the_best_is_named_from_shots(correlation):
    result = identified(correlation=correlation)
    assert (result.best, result.policy) == ("good", "joint")
    assert f"after {result.senses:,} shots" in str(result)


def test_senses_are_shots_and_every_channel_of_a_request_answers_all_of_them():
    steps = identified().audit.steps
    for step in steps:
        assert len(set(step.request.senses.values())) == 1
        assert step.request.total == sum(step.request.senses[step.request.paired])
    assert steps[-1].status.senses == sum(step.request.total for step in steps)


def test_to_look_at_what_is_proved_by_now_changes_no_later_request():
    def asked(look):
        sensor, requests = (
            bc.Simulator([random_channel(3, 3, rng=np.random.default_rng(i)) for i in (1, 2, 4)], rng=2),
            [],
        )
        policy = bc.JointAdaptive(sensor.alphabets, delta=0.05, epsilon=0.05)
        while (request := policy.ask()) is not None:
            requests.append(request)
            policy.tell(bc.Observation(request.number, sensor(request)))
            seen.append(policy.nearly_best if look else None)
        return requests

    seen = []
    assert asked(look=False) == asked(look=True)
    assert any(seen)


def test_a_limit_counts_shots():
    result = identified(max_senses=40, channels={"a": bc.bsc(0.1), "b": bc.bsc(0.1)})
    assert not result.decided
    assert result.senses == 40


def test_channels_of_other_inputs_are_refused():
    with pytest.raises(bc.InputError, match="must have the same inputs; channel 0 has 2 of them and channel 1 has 3"):
        bc.JointAdaptive([(2, 2), (3, 3)], delta=0.1)


def test_a_channel_without_capacity_takes_no_shots():
    sensor = bc.Simulator({"good": bc.bsc(0.1), "constant": [[1.0], [1.0]]}, rng=1)
    result = bc.identify(sensor, bc.JointAdaptive(sensor.alphabets, delta=0.05))
    assert result.best == "good"
    assert all(1 not in step.request.senses for step in result.audit.steps)


def test_a_record_of_shots_is_read_as_it_was_written():
    result = identified()
    again = from_document(as_document(result))
    assert again.senses == result.senses
    assert again.audit.steps[-1] == result.audit.steps[-1] or as_document(again) == as_document(result)


def test_pairs_must_agree_with_what_they_are_paired_with():
    request = bc.Request(1, {0: (2, 1), 1: (2, 1)}, paired=0)
    counts = {0: np.array([[2, 0], [0, 1]]), 1: np.array([[[1, 1], [0, 0]], [[1, 0], [0, 0]]])}
    with pytest.raises(
        bc.InputError, match="must have the answers of channel 0 as that channel's own counts have them"
    ):
        checked_counts(request, bc.Observation(1, counts), [(2, 2), (2, 2)])


@pytest.mark.parametrize("sensor", [lambda request: {c: np.diag(n) for c, n in request.senses.items()}])
def test_a_sensor_that_answers_no_shots_is_refused(sensor):
    with pytest.raises(bc.InputError, match="must be 2 x 2 x 2 whole numbers"):
        bc.identify(sensor, bc.JointAdaptive([(2, 2), (2, 2)], delta=0.1))


def test_a_recording_of_single_senses_is_refused():
    recording = bc.Recording({name: [(0, 0), (1, 1)] * 20 for name in "ab"})
    with pytest.raises(bc.InputError, match="cannot answer shots"):
        bc.identify(recording, bc.JointAdaptive(recording.alphabets, delta=0.1))


def test_a_function_answers_a_shot_for_all_channels_by_name():
    rng, noise = np.random.default_rng(1), {"good": 0.03, "bad": 0.3}

    def shot(x):
        return {name: x ^ int(rng.random() < level) for name, level in noise.items()}

    channels = {"good": (2, 2), "bad": (2, 2)}
    assert bc.identify(shot, bc.JointAdaptive([(2, 2)] * 2, delta=0.05), channels=channels).best == "good"
    with pytest.raises(bc.InputError, match="a shot must answer for every channel; to input 0 'bad' is missing"):
        bc.identify(lambda x: {"good": x}, bc.JointAdaptive([(2, 2)] * 2, delta=0.05), channels=channels)


def test_a_function_is_asked_for_each_sense_and_its_outputs_are_counted_in_pieces(monkeypatch):
    monkeypatch.setattr(sys.modules[SingleSenses.__module__], "SENSES_AT_ONCE", 3)
    single = SingleSenses(lambda _, x: x, {"a": (2, 2), "b": (2, 3)})
    assert single(bc.Request(1, {0: (7, 0), 1: (3, 4)}))[0].tolist() == [[7, 0], [0, 0]]
    assert single(bc.Request(1, {0: (7, 0), 1: (3, 4)}))[1].tolist() == [[3, 0, 0], [0, 4, 0]]
    shots = SingleSenses(lambda x: {"a": x, "b": 2}, {"a": (2, 2), "b": (2, 3)})(
        bc.Request(1, {0: (4, 5), 1: (4, 5)}, paired=0)
    )
    assert shots[0].tolist() == [[4, 0], [0, 5]]
    assert shots[1].tolist() == [[[0, 0, 4], [0, 0, 0]], [[0, 0, 0], [0, 0, 5]]]


@pytest.mark.parametrize("correlation", [-0.9, 0.0, 0.9])
def test_simulated_shots_have_the_rows_and_the_sign_of_the_correlation(correlation):
    """Counts are within 5.3 standard deviations, which happens by chance once in ten million."""
    W, n = np.array([[[0.7, 0.3, 0.0], [0.2, 0.3, 0.5]], [[0.4, 0.4, 0.2], [0.1, 0.0, 0.9]]]), 20_000
    request = bc.Request(1, {0: (n, n), 1: (n, n)}, paired=0)
    counts = bc.Simulator(list(W), rng=3, correlation=correlation)(request)
    for channel, table in marginals(counts).items():
        assert (np.abs(table - n * W[channel]) <= 5.3 * np.sqrt(n * W[channel] * (1 - W[channel]))).all()
    first = counts[1][0] / n
    lean = first[0, 0] - first.sum(axis=1)[0] * first.sum(axis=0)[0]
    assert np.sign(np.round(lean, 2)) == np.sign(correlation)


def recorded(n=3000, missing=False, groups=None):
    """Trials of two channels that answered the same inputs."""
    rng = np.random.default_rng(1)
    x = rng.integers(2, size=n)
    y = np.stack([x ^ (rng.random(n) < level) for level in (0.03, 0.25)], axis=1)
    y[0, 0] = -1 if missing else y[0, 0]
    labels = tuple(ChannelLabels.numbered(name, (2, 2)) for name in ("good", "bad"))
    return JointTrials(labels, x=np.stack([x, x], axis=1), y=y, groups=groups)


def test_joint_trials_are_replayed_and_none_is_given_twice():
    recording = bc.JointRecording(recorded())
    result = bc.identify(recording, bc.JointAdaptive(recording.alphabets, delta=0.05))
    assert result.best == "good"
    assert sum(recording.left[0]) == 3000 - result.senses


def test_a_policy_goes_on_with_the_same_recording_read_again():
    alphabets, whole = [(2, 2)] * 2, bc.JointRecording(recorded())
    policy = bc.JointAdaptive(alphabets, delta=1e-9)
    bc.identify(whole, policy, max_senses=100)
    again = bc.JointRecording(recorded())
    result = bc.identify(again, policy)
    assert sum(again.left[0]) == 3000 - result.senses
    told = [np.sum([step.counts[j] for step in policy.steps], axis=0) for j in range(2)]
    first = bc.JointRecording(recorded())
    first.go_on_after(told)
    assert first.left == again.left


def test_a_recording_of_shots_that_begins_otherwise_is_another_one():
    policy = bc.JointAdaptive([(2, 2)] * 2, delta=1e-9)
    bc.identify(bc.Simulator({"good": bc.bsc(0.03), "bad": bc.bsc(0.25)}, rng=1), policy, max_senses=100)
    other = bc.JointRecording(recorded())
    result = bc.identify(other, policy)
    assert sum(other.left[0]) == 3000 - (result.senses - 100)


def test_a_recording_of_shots_that_ends_leaves_the_question_open():
    recording = bc.JointRecording(recorded(n=30))
    result = bc.identify(recording, bc.JointAdaptive(recording.alphabets, delta=0.001))
    assert not result.decided
    assert result.senses <= 30


def test_trials_that_are_no_shots_are_refused():
    with pytest.raises(bc.InputError, match="an answer of each, and no groups; good lacks answers"):
        bc.JointRecording(recorded(missing=True))
    with pytest.raises(bc.InputError, match="these have groups"):
        bc.JointRecording(recorded(groups=np.zeros(3000, dtype=np.int64)))
    recording = bc.JointRecording(recorded())
    with pytest.raises(bc.InputError, match="joint trials answer shots, of all channels at once"):
        bc.identify(recording, bc.Adaptive(recording.alphabets, delta=0.05))


def test_a_shot_tells_as_much_as_a_sense_of_each_channel():
    """One sense of each of two BSC at 1/2 : 1/2 is a shot: T* in shots is half of that in senses, and no policy beats it."""
    pair = {"a": bc.bsc(0.1), "b": bc.bsc(0.2)}
    least, senses = least_shots(pair, 0.05), bc.lower_bound(pair, 0.05).characteristic_time
    assert 0.45 * senses.lower <= least.per_nat <= 0.51 * senses.upper
    shots = [identified(rng=seed, channels=pair).senses for seed in range(10)]
    assert np.mean(shots) > least.lower_bound
