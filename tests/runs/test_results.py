import json

import numpy as np
import pytest

from bestchannel import Adaptive, BestChanID, InputError, Simulator, estimate, identify
from bestchannel.channels import Channel, bsc, z_channel
from bestchannel.policies.transcript import as_document, from_document
from bestchannel.runs import read_result

CHANNELS = {"cable": bsc(0.05), "radio é": z_channel(0.5), "relay": Channel.from_rows([[1, 0, 0], [0, 0.5, 0.5]])}


def outcome(policy=Adaptive, **options):
    sensor = Simulator(CHANNELS, rng=3)
    return identify(sensor, policy(sensor.alphabets, delta=0.1, **options))


@pytest.mark.parametrize(("policy", "options"), [(Adaptive, {"epsilon": 0.01}), (BestChanID, {"subroutine": "median"})])
def test_result_read_back_is_the_result_written(tmp_path, policy, options):
    result = outcome(policy, **options)
    (tmp_path / "r.json").write_text(json.dumps(as_document(result), allow_nan=False))
    same = read_result(tmp_path / "r.json")
    assert same == result
    assert same.audit.options == result.audit.options
    assert same.audit.channels == result.audit.channels
    for mine, theirs in zip(same.audit.steps, result.audit.steps, strict=True):
        assert mine.request == theirs.request
        assert mine.status == theirs.status
        assert {j: table.tolist() for j, table in mine.counts.items()} == {
            j: table.tolist() for j, table in theirs.counts.items()
        }


def test_record_holds_every_sense_and_ends_where_the_policy_ended():
    result = outcome()
    steps = result.audit.steps
    assert sum(int(table.sum()) for step in steps for table in step.counts.values()) == result.senses
    assert [step.request.number for step in steps] == list(range(1, len(steps) + 1))
    assert steps[-1].status.senses == result.senses
    assert [result.audit.channels[j].key for j in steps[-1].status.candidates] == [result.best] == ["relay"]
    assert steps[-1].status.next_senses == 0


def test_intervals_of_a_record_are_those_that_counts_chosen_by_looking_have_at_any_time():
    result = outcome()
    document, counts = as_document(result), {}
    for step in result.audit.steps:
        for j, table in step.counts.items():
            counts[str(j)] = counts.get(str(j), 0) + table
    known = estimate(counts, delta=result.delta, design="adaptive").channels
    said = [(channel["capacity"], channel["lower"], channel["upper"]) for channel in document["channels"]]
    assert said == [(channel.capacity, channel.lower, channel.upper) for channel in known]


def test_record_keeps_its_own_counts():
    tables = np.zeros((2, 2, 2), dtype=np.int64)

    def sensor(request):  # answers with the same arrays, over and over
        for j, senses in request.senses.items():
            tables[j] = np.diag(senses)
        return {j: tables[j] for j in request.senses}

    result = identify(sensor, Adaptive([(2, 2)] * 2, delta=0.1), max_senses=10**4)
    assert len(result.audit.steps) > 1
    for step in result.audit.steps:
        assert [int(row.sum()) for row in step.counts[0]] == list(step.request.senses[0])


def broken(change):
    document = json.loads(json.dumps(as_document(outcome())))
    change(document)
    return document


@pytest.mark.parametrize(
    "document",
    [
        None,
        [],
        {"channels": {}},
        broken(lambda d: d.pop("audit")),
        broken(lambda d: d["audit"]["steps"][0].pop("counts")),
        broken(lambda d: d["audit"]["steps"][0]["counts"].update(nobody=[[1]])),
        broken(lambda d: d["audit"]["steps"][0]["counts"].update(cable=[["many"]])),
        broken(lambda d: d["audit"]["steps"][0]["status"].update(leader="nobody")),
        broken(lambda d: d["audit"]["options"].update(cost=float("nan"))),
        broken(lambda d: d["audit"]["steps"][1].update(stakes={"bets": float("inf")})),
    ],
)
def test_what_is_no_result_is_refused(document):
    with pytest.raises(InputError, match="must be the JSON of an identification"):
        from_document(document)


def test_refusal_names_the_file(tmp_path):
    path = tmp_path / "r.json"
    path.write_text("{")
    with pytest.raises(InputError, match=r"r\.json: the file must be JSON"):
        read_result(path)
