"""Adaptive where senses cost differently: the least cost, the same promise."""

import json

import numpy as np
import pytest

import bestchannel as bc
from bestchannel import runs
from bestchannel.channels import bsc
from bestchannel.policies.transcript import as_document, from_document
from bestchannel.verification import verify
from tests.policies.cost_study import spent

LINKS = {"a": bsc(0.05), "b": bsc(0.12)}


def run(cost=None, *, channels=LINKS, seed=1, **options):
    sensor = bc.Simulator(channels, rng=seed)
    return bc.identify(sensor, bc.Adaptive(sensor.alphabets, delta=0.05, cost=cost, **options))


def written(result):
    return json.loads(json.dumps(as_document(result)))


@pytest.mark.parametrize("sampling", ["fewest", "uniform", "lucb", "top-two", "track-and-stop"])
def test_cost_1_changes_no_request(sampling):
    plain, priced = run(sampling=sampling), run([1, [1, 1]], sampling=sampling)
    assert [step.request for step in plain.audit.steps] == [step.request for step in priced.audit.steps]
    assert (plain.cost, priced.cost) == (None, priced.senses)


def test_unit_of_the_costs_changes_no_request():
    first, second = run([1, 3]), run([2, 6])
    assert [step.request for step in first.audit.steps] == [step.request for step in second.audit.steps]
    assert second.cost == 2 * first.cost


@pytest.mark.parametrize("costs", [[20, 1], [[1, 20]] * 2])
def test_knowing_the_costs_saves_some(costs):
    # the means of 60 runs differ by 2.4 and 4.6 standard errors
    told, not_told = (spent([bsc(0.05), bsc(0.15)], costs, 60, told=told).mean() for told in (True, False))
    assert told < not_told


def test_dear_input_is_sensed_less_than_the_cheap_one():
    result = run([[1, 10], [1, 10]])
    senses = np.sum([step.request.senses.get(0, (0, 0)) for step in result.audit.steps], axis=0)
    assert senses[1] < 0.5 * senses[0]


def test_cost_is_that_of_all_senses():
    result = run([[1, 10], 3])
    by_hand = sum(
        x0 + 10 * x1 if channel == 0 else 3 * (x0 + x1)
        for step in result.audit.steps
        for channel, (x0, x1) in step.request.senses.items()
    )
    assert result.cost == by_hand
    assert f"which cost {by_hand:,.0f}" in str(result)


def test_record_keeps_the_costs_and_verifies():
    result = run([[1, 10], 3])
    document = written(result)
    assert document["audit"]["options"]["cost"] == [[1.0, 10.0], [3.0, 3.0]]
    assert from_document(document).cost == result.cost
    assert verify(document).valid


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda d: d.update(cost=d["cost"] - 1), "cost that is 3805.0, and the record has 3804.0"),
        (lambda d: d.update(cost=None), "cost that is 3805.0, and the record has null"),
        (lambda d: d["audit"]["options"].pop("cost"), "senses, a[0] that is 3, and the record has 4"),
        (
            lambda d: d["audit"]["options"].update(cost=[[1, -1], [3, 3]]),
            "the cost of a sense of input x=1 of channel 0 must be a finite number > 0; it is -1",
        ),
        (lambda d: (d["audit"]["options"].update(cost=[[1, 1], [1, 1]]), d.update(cost=d["senses"])), "the policy"),
    ],
)
def test_other_costs_afterwards_are_refused(change, sentence):
    document = written(run([[1, 10], 3]))
    change(document)
    assert sentence in verify(document).failure


def test_run_on_disk_keeps_the_costs(tmp_path):
    sensor = bc.Simulator(LINKS, rng=1)
    policy = bc.Adaptive(sensor.alphabets, delta=0.05, cost=[[1, 10], 3])
    with runs.begin(tmp_path / "run.db", policy) as begun:
        while (request := begun.ask()) is not None:
            begun.tell(request.number, sensor(request))
    found = runs.read_run(tmp_path / "run.db")
    assert found.decided
    assert (found.cost, found.audit.options["cost"]) == (run([[1, 10], 3]).cost, [[1.0, 10.0], [3.0, 3.0]])


@pytest.mark.parametrize("cost", [[1], [1, 0], [1, [1, 2, 3]], {2: 1}, "ab", [1, "x"]])
def test_bad_costs_are_refused_before_anything_is_asked(cost):
    with pytest.raises(bc.InputError, match="cost"):
        bc.Adaptive([(2, 2), (2, 2)], delta=0.1, cost=cost)
