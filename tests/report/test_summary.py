import json
from dataclasses import replace

import numpy as np
import pytest

from bestchannel import Above, JointAdaptive, Order, Simulator, Top, identify
from bestchannel.intervals import estimate
from bestchannel.policies.transcript import as_document, from_document
from bestchannel.report.page import page
from bestchannel.report.summary import summarise
from tests.report.examples import bsc, by_the_paper, decided, undecided, unsensed, useless


def test_counts_of_a_channel_are_the_sum_over_all_steps():
    result = decided()
    for j, labels in enumerate(result.audit.channels):
        channel = next(c for c in summarise(result).channels if c.name == labels.key)
        told = sum(step.counts[j] for step in result.audit.steps if j in step.counts)
        np.testing.assert_array_equal(channel.counts, told)
        assert channel.senses == told.sum()


def test_senses_of_the_channels_add_up_to_those_of_the_verdict():
    for result in (decided(), undecided(), by_the_paper()):
        assert sum(channel.senses for channel in summarise(result).channels) == result.senses


def test_estimates_are_those_of_estimate_at_the_same_delta():
    summary = summarise(decided())
    known = estimate({c.name: c.counts for c in summary.channels}, delta=decided().delta, design="adaptive")
    for channel in summary.channels:
        assert channel.estimate.lower == known[channel.name].lower
        assert channel.estimate.upper == known[channel.name].upper


def test_a_channel_that_was_never_sensed_leaves_the_others_their_share_of_delta():
    summary = summarise(useless())
    by_name = {channel.name: channel for channel in summary.channels}
    assert by_name["deaf"].estimate is None
    alone = estimate({"clean": by_name["clean"].counts}, delta=useless().delta / 3, design="adaptive")
    assert by_name["clean"].estimate.lower == pytest.approx(alone["clean"].lower, abs=1e-12)


def test_the_named_channel_comes_first_and_candidates_before_the_others():
    assert summarise(decided()).channels[0].name == decided().best
    left = [channel.ruled_out_after is None for channel in summarise(undecided()).channels]
    assert left == sorted(left, reverse=True)


NEAR = {"a": [[990, 10], [10, 990]], "b": [[900, 100], [100, 900]], "c": [[898, 102], [102, 898]]}


def test_counts_say_what_is_open_of_the_question_that_was_asked_and_forecast_none_of_another():
    found = estimate({**NEAR, "d": [[600, 400], [400, 600]]}, question=Top(2))
    summary = summarise(found)
    assert found.verdict.candidates == ("a",)  # the best is decided
    assert summary.verdict.startswith("A among the best 2; undecided between b, c for 1 place; ")
    assert summary.candidates == found.candidates == ("b", "c")
    assert "There is no forecast" in summary.promise
    assert estimate(NEAR, question=Above(0.5)).candidates == ("b", "c")
    assert estimate(NEAR, question=Order()).candidates == ("b", "c")
    assert "best is proved" not in page(found)


def test_a_report_of_shots_counts_shots_as_its_record_does():
    sensor = Simulator({"a": bsc(0.05), "b": bsc(0.12), "c": bsc(0.4)}, rng=1)
    result = identify(sensor, JointAdaptive(sensor.alphabets, delta=0.05), max_senses=100)
    summary = summarise(result)
    assert (summary.senses, summary.unit) == (result.senses, "shot") == (100, "shot")
    assert "more shots would decide" in summary.promise
    assert "100 shots of 3 channels" in page(result)
    assert "senses on average" not in page(result)  # senses one at a time have another bound


def test_a_channel_is_ruled_out_when_it_was_last_a_candidate():
    result = decided()
    names = [labels.key for labels in result.audit.channels]
    for channel in summarise(result).channels:
        out = channel.ruled_out_after
        for step in result.audit.steps:
            candidate = channel.name in [names[c] for c in step.status.candidates]
            if out is not None and step.status.senses >= out:
                assert not candidate
    assert summarise(result).channels[0].ruled_out_after is None


def test_the_fingerprint_is_that_of_the_data_and_not_of_the_file():
    again = from_document(json.loads(json.dumps(as_document(decided()), indent=3)))
    assert summarise(again).fingerprint == summarise(decided()).fingerprint
    assert summarise(undecided()).fingerprint != summarise(decided()).fingerprint


def test_the_fingerprint_sees_a_label_and_the_order_of_counts():
    document = json.loads(json.dumps(as_document(decided())))
    document["audit"]["channels"][0]["outputs"][0] = "zero"
    assert summarise(from_document(document)).fingerprint != summarise(decided()).fingerprint
    audit = decided().audit
    turned = replace(decided(), audit=replace(audit, steps=(*audit.steps[1::-1], *audit.steps[2:])))
    with pytest.raises(ValueError, match="grow from step to step"):
        summarise(turned)


def test_nothing_sensed_is_summarised_too():
    summary = summarise(unsensed())
    assert summary.course == ()
    assert all(channel.estimate is None for channel in summary.channels)
