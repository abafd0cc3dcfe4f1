"""What takes long tells whoever waits: (done, total), which grows to the end."""

import json

import numpy as np
import pytest

import bestchannel as bc
from bestchannel.channels import bsc
from bestchannel.policies.transcript import as_document
from bestchannel.process import part_of
from bestchannel.study.planning import plan
from bestchannel.verification import verify

COUNTS = {"good": [[95, 5], [5, 95]], "bad": [[70, 30], [30, 70]], "worse": [[60, 40], [40, 60]]}


def trials():
    rng = np.random.default_rng(1)
    x = rng.integers(0, 2, 500)
    return bc.quantise({"a": (x, x + rng.normal(0.0, 0.3, 500)), "b": (x, x + rng.normal(0.0, 0.6, 500))}, [0.5])


def record(policy, **options):
    sensor = bc.Simulator({"good": bsc(0.05), "bad": bsc(0.3)}, rng=1)
    return json.loads(json.dumps(as_document(bc.identify(sensor, policy(sensor.alphabets, delta=0.1, **options)))))


WORK = {
    "estimate of counts": lambda progress: bc.estimate(COUNTS, progress=progress),
    "estimate with an order": lambda progress: bc.estimate(COUNTS, rank=True, progress=progress),
    "estimate of an adaptive design": lambda progress: bc.estimate(COUNTS, design="adaptive", progress=progress),
    "estimate of trials": lambda progress: bc.estimate(trials(), progress=progress),
    "estimate without checks": lambda progress: bc.estimate(trials(), checks=False, progress=progress),
    "plan": lambda progress: plan({"a": bsc(0.05), "b": bsc(0.3)}, runs=3, progress=progress),
    "plan with epsilon": lambda progress: plan({"a": bsc(0.1), "b": bsc(0.3)}, epsilon=0.1, runs=3, progress=progress),
    "verify": lambda progress: verify(record(bc.Adaptive), progress=progress),
    "verify the paper's": lambda progress: verify(record(bc.BestChanID), progress=progress),
}


@pytest.mark.parametrize("name", WORK)
def test_progress_grows_in_several_parts_to_the_total(name):
    seen = []
    WORK[name](lambda done, total: seen.append((done, total)))
    (total,) = {total for _, total in seen}
    done = [done for done, _ in seen]
    assert done == sorted(done)
    assert done[-1] == total
    assert len(set(done)) > 1


@pytest.mark.parametrize("name", WORK)
def test_nobody_has_to_watch(name):
    assert WORK[name](None) is not None


def test_part_that_begins_again_never_goes_back():
    seen = []
    part = part_of(lambda *call: seen.append(call), 2, 9)
    for done in (1, 3, 0, 2, 5):
        part(done, 5)
    assert seen == [(3, 9), (5, 9), (5, 9), (5, 9), (7, 9)]
