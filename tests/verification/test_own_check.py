"""A policy of another package brings what checks its records, and is asked only by who names it."""

import copy
import json

import pytest

import bestchannel as bc
from bestchannel.channels import bsc
from bestchannel.policies.transcript import as_document
from bestchannel.verification import NotValidError, verify


class Sure(bc.Policy):
    """Stakes its word on the channel that repeats most of a hundred inputs."""

    name, guarantee, checked_by = "sure", "none", f"{__name__}:check_sure"

    def _script(self):
        counts = yield {channel: (100,) * inputs for channel, (inputs, _) in enumerate(self.alphabets)}
        best = max(counts, key=lambda channel: int(counts[channel].trace()))
        self.candidates = (best,)
        return best


def check_sure(record, watch, replay):
    """No channel repeats more than the named one; `replay` is the policy, told the same."""
    (step,) = record.steps
    repeats = {channel: int(table.trace()) for channel, table in step.counts.items()}
    if record.best is not None and repeats[record.best] < max(repeats.values()):
        raise NotValidError("another channel repeats more")
    if replay.policy.recommendation is None:
        raise NotValidError("the policy is not sure")
    watch(step.request)


class Silent(Sure):
    """Has nobody who checks it."""

    name, checked_by = "silent", None


def record_of(kind):
    sensor = bc.Simulator([bsc(0.3), bsc(0.1)], rng=1)
    return json.loads(json.dumps(as_document(bc.identify(sensor, kind(sensor.alphabets, delta=0.1)))))


def test_record_of_a_policy_that_was_named_is_checked_by_its_own_check_and_replayed():
    verdict = verify(record_of(Sure), policies=[Sure])
    assert (verdict.valid, verdict.failure) == (True, None)
    assert verdict.checks == ("structure", Sure.reference(), "choices")


def test_what_its_check_refuses_is_not_valid():
    result = record_of(Sure)
    swapped = copy.deepcopy(result)
    counts = swapped["audit"]["steps"][0]["counts"]
    counts["0"], counts["1"] = counts["1"], counts["0"]
    verdict = verify(swapped, policies=[Sure])
    assert (verdict.valid, verdict.failure) == (False, "another channel repeats more")


def test_what_only_the_replay_notices_is_not_valid():
    result = record_of(Sure)
    result["guarantee"] = "everything"
    assert "the result, guarantee" in verify(result, policies=[Sure]).failure


def test_policy_that_nobody_named_is_not_asked():
    assert verify(record_of(Sure)).failure.endswith(f"naive, median; it is '{Sure.reference()}'")


def test_policy_without_a_check_proves_nothing():
    failure = verify(record_of(Silent), policies=[Silent]).failure
    assert failure == f"the policy {Silent.reference()} must name what checks its records (checked_by); it does not"


@pytest.mark.parametrize("kind", [bc.Adaptive, bc.BestChanID, bc.NaiveChanSel, bc.MedianChanEl])
def test_every_policy_of_the_project_names_its_check(kind):
    module, _, name = kind.checked_by.partition(":")
    assert module.startswith("bestchannel.verification.")
    assert name.startswith("check_")
