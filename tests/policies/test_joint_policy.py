"""Shots that all channels answer at once: what is asked, told and refused."""

import numpy as np
import pytest

import bestchannel as bc
from bestchannel.policies.request import checked_counts, marginals
from bestchannel.runs.results import as_document, from_document

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
