"""Adaptive makes do with what there is: it never asks for more, and does not stop before it is used up."""

import json

import numpy as np
import pytest

import bestchannel as bc
from bestchannel import runs
from bestchannel.channels import bec, bsc, random_channel
from bestchannel.policies import Observation, Supply
from bestchannel.policies.transcript import as_document
from bestchannel.verification.verdict import Replay

NEAR = [bsc(0.1), bsc(0.12), bsc(0.2)]
THREE = [random_channel(3, 3, rng=np.random.default_rng(seed)) for seed in (1, 2, 5)]
MIXED = [bsc(0.1), bec(0.4), random_channel(3, 4, rng=np.random.default_rng(3))]


def recorded(channels, each, seed=1):
    """So many trials of every input of every channel; `each` may also be one number for each channel."""
    rng = np.random.default_rng(seed)
    sizes = [each] * len(channels) if isinstance(each, int) else each
    trials = [
        [(x, int(y)) for x, row in enumerate(channel.W) for y in rng.choice(len(row), size=n, p=row)]
        for channel, n in zip(channels, sizes, strict=True)
    ]
    return bc.Recording(trials, alphabets=[(channel.n_inputs, channel.n_outputs) for channel in channels])


def replayed(result):
    """Whether the policy, told the same, does the same."""
    Replay(bc.Adaptive, json.loads(json.dumps(as_document(result))), lambda _: None).check()
    return True


@pytest.mark.parametrize("each", [3, 40, [300, 100, 200]], ids=str)
@pytest.mark.parametrize("channels", [NEAR, THREE, MIXED], ids=["near", "3x3", "mixed"])
def test_a_recording_is_used_until_no_bet_can_be_made(channels, each):
    sensor = recorded(channels, each)
    policy = bc.Adaptive(sensor.alphabets, delta=1e-12)
    result = bc.identify(sensor, policy)
    assert not result.decided
    left = policy.left
    rivals = [channel for channel in policy.candidates if channel != policy.leader]
    assert not left.has(policy.leader) or not any(map(left.has, rivals))
    assert [list(rows) for rows in left.each] == sensor.left
    assert replayed(result)


def test_the_inputs_of_leader_and_rival_end_together():
    sensor = recorded(NEAR[:2], 500)
    result = bc.identify(sensor, bc.Adaptive(sensor.alphabets, delta=1e-12))
    assert result.senses >= 0.99 * 2000


def test_a_long_recording_is_not_used_up():
    sensor = recorded([bsc(0.02), bsc(0.3)], 5000)
    result = bc.identify(sensor, bc.Adaptive(sensor.alphabets, delta=0.05))
    assert result.decided
    assert result.senses < 2000


def test_plenty_is_no_limit():
    """Where there is more than is ever asked for, nothing changes."""
    sensor, plenty = bc.Simulator(NEAR, rng=3), bc.Simulator(NEAR, rng=3)
    plenty.left = [[10**9] * 2] * 3
    free, limited = (bc.identify(each, bc.Adaptive(each.alphabets, delta=0.1)) for each in (sensor, plenty))
    assert free == limited
    assert [step.request for step in free.audit.steps] == [step.request for step in limited.audit.steps]


@pytest.mark.parametrize("limit", [36, 37, 500, 4321])
def test_the_limit_is_used_to_the_last_sense(limit):
    sensor = bc.Simulator([bsc(0.1)] * 3, rng=1)
    result = bc.identify(sensor, bc.Adaptive(sensor.alphabets, delta=1e-9), max_senses=limit)
    assert (result.decided, result.senses) == (False, limit)
    assert replayed(result)


def test_nothing_is_sensed_where_the_first_look_is_not_allowed():
    sensor = bc.Simulator(NEAR, rng=1)
    assert bc.identify(sensor, bc.Adaptive(sensor.alphabets, delta=0.1), max_senses=35).senses == 0


def test_a_limit_that_is_raised_goes_on():
    sensor = bc.Simulator([bsc(0.1)] * 2, rng=1)
    policy = bc.Adaptive(sensor.alphabets, delta=1e-9)
    spent = [bc.identify(sensor, policy, max_senses=limit).senses for limit in (300, 300, 777, 5000)]
    assert spent == [300, 300, 777, 5000]
    assert replayed(bc.identify(sensor, policy, max_senses=5000))


def test_a_request_depends_on_the_last_limit_alone():
    """Whatever was planned before: a replay knows only under which limit a request was asked."""
    asked = []
    for limits in ([90], [1000, 45, 90], [None, 90]):
        sensor = bc.Simulator(THREE, rng=1)
        policy = bc.Adaptive(sensor.alphabets, delta=0.01)
        for _ in range(4):
            policy.tell(Observation(policy.ask().number, sensor(policy.ask())))
        for limit in limits:
            policy.limit(Supply(None if limit is None else policy.senses + limit))
        asked.append((policy.ask(), policy.stakes and policy.stakes.record("abc")))
    assert asked[0] == asked[1] == asked[2]


def test_a_run_on_a_recording_is_resumed_to_the_same_end(tmp_path):
    whole = bc.identify(recorded(NEAR, 60), bc.Adaptive([(2, 2)] * 3, delta=1e-6))
    half = whole.senses // 2
    path = tmp_path / "run.db"
    paused = runs.identify_durably(recorded(NEAR, 60), bc.Adaptive([(2, 2)] * 3, delta=1e-6), path, max_senses=half)
    assert paused.senses <= half
    assert runs.view(path).state == runs.LIMITED
    on = runs.identify_durably(
        recorded(NEAR, 60), bc.Adaptive([(2, 2)] * 3, delta=1e-6), path, max_senses=whole.senses + 1
    )
    assert as_document(on) == as_document(whole)
    assert as_document(runs.read_run(path)) == as_document(whole)
    assert runs.view(path).state == "undecided"


@pytest.mark.parametrize("seed", range(4))
def test_a_recording_of_several_sizes_goes_on_when_no_channel_of_one_size_is_left(seed):
    channels = [bsc(0.02), bec(0.9), bec(0.95), random_channel(3, 2, rng=np.random.default_rng(1))]
    result = bc.identify(recorded(channels, 900, seed), bc.Adaptive([(2, 2), (2, 3), (2, 3), (3, 2)], delta=0.1))
    assert result.best == 0
