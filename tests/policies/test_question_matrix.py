"""Every question with whatever else a run may have: costs, a fixed input, other alphabets, limits, recordings, replays."""

import numpy as np
import pytest

import bestchannel as bc
from bestchannel import Above, Order, Top, Within
from bestchannel.channels import random_channel
from bestchannel.policies import Observation, Supply

QUESTIONS = [Above(0.4), Above(0.4, 0.05), Top(1), Top(1, 0.1), Order(), Order(0.1), Within(0.3), Within(0.6, True)]
BINARY = {"a": bc.bsc(0.05), "b": bc.bsc(0.2)}
MIXED = {"a": bc.bsc(0.05), "b": random_channel(3, 2, rng=np.random.default_rng(4)), "c": bc.bec(0.7)}
WITH = {
    "costs": (BINARY, {"cost": [1.0, [2.0, 5.0]]}, None),
    "a fixed input": (BINARY, {"input_distribution": [0.4, 0.6]}, None),
    "other alphabets": (MIXED, {}, None),
    "a limit": (BINARY, {}, 200),
    "no sense": (BINARY, {}, 0),
}


def truth(channels, options):
    P = options.get("input_distribution")
    return np.array([bc.capacity(c).lower if P is None else bc.mutual_information(P, c) for c in channels.values()])


@pytest.mark.parametrize("question", QUESTIONS, ids=repr)
@pytest.mark.parametrize("beside", WITH)
def test_every_question_goes_with_it_and_its_record_is_valid(question, beside):
    channels, options, limit = WITH[beside]
    sensor = bc.Simulator(channels, rng=3)
    policy = bc.Adaptive(sensor.alphabets, delta=0.05, question=question, **options)
    result = bc.identify(sensor, policy, max_senses=limit)
    assert result.decided or limit is not None
    assert question.is_right(policy, truth(channels, options), 1e-9) or not policy.findings.says_something
    assert bc.verify(result).valid


@pytest.mark.parametrize("question", QUESTIONS, ids=repr)
def test_every_question_is_answered_from_a_recording_and_resumed_from_what_was_told(question):
    rng = np.random.default_rng(2)
    x = rng.integers(0, 2, (2, 4000))
    trials = {
        name: np.stack([x[i], x[i] ^ (rng.random(4000) < p)], axis=1)
        for i, (name, p) in enumerate([("a", 0.05), ("b", 0.2)])
    }
    sensor = bc.Recording(trials)
    policy = bc.Adaptive(sensor.alphabets, delta=0.05, question=question)
    result = bc.identify(sensor, policy)
    assert bc.verify(result).valid
    again = bc.Adaptive(sensor.alphabets, delta=0.05, question=question)
    limits = dict(result.audit.limits)
    for number, step in enumerate(result.audit.steps, start=1):
        if number in limits:
            again.limit(limits[number])
        assert again.ask().senses == step.request.senses
        again.tell(Observation(number, step.counts))
    assert again.findings == policy.findings
    assert isinstance(limits.get(1, Supply()), Supply)
