"""Guarantees are literally true, and one sentence wherever they are read."""

import json
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bestchannel as bc
from bestchannel.policies.transcript import as_document
from bestchannel.promises import confidence, criterion, in_words
from bestchannel.report.page import page
from bestchannel.verification import verify
from tests.journeys.command import result_of

PERFECT = [[1.0, 0.0], [0.0, 1.0]]
POOR = [[0.6, 0.4], [0.4, 0.6]]


@given(st.floats(min_value=1e-300, max_value=1.0, exclude_max=True))
def test_a_confidence_is_exactly_one_less_delta(delta):
    minuend, _, subtrahend = confidence(delta).partition(" - ")
    # the shortest decimal that tells δ from its neighbours stands for δ
    assert Fraction(Decimal(minuend)) - Fraction(Decimal(subtrahend or "0")) == 1 - Fraction(Decimal(repr(delta)))
    assert confidence(delta) != "1"


def test_many_probabilities_are_not_written_out():
    words = criterion([1 / 1000] * 1000)
    assert "1000 inputs" in words
    assert len(words) < 200


@pytest.mark.parametrize("delta", [0.05, 1e-8])
def test_every_place_gives_the_same_confidence(delta):
    sensor = bc.Simulator([PERFECT, POOR], rng=1)
    result = bc.identify(sensor, bc.Adaptive(sensor.alphabets, delta=delta))
    words = {0.05: "probability at least 0.95 ", 1e-8: "probability at least 1 - 1e-08 "}[delta]
    assert words in result.guarantee
    assert words in bc.estimate({"a": [[9, 1], [1, 9]]}, delta=delta).guarantee
    source = page(result)
    assert source.count(words.strip()) >= 3  # the lead, the intervals, the guarantee
    assert "at least 1 " not in source.replace("at least 1 - 1e-08", "")
    assert verify(json.loads(json.dumps(as_document(result)))).claim.endswith(f"at most {delta!r}")


@pytest.mark.parametrize(
    ("policy", "options", "what"),
    [
        (bc.Adaptive, {}, "has the largest I(P;W) at P = (0.9, 0.1)"),
        (bc.Adaptive, {"epsilon": 0.25}, "is within 0.25 bit of the largest I(P;W) at P = (0.9, 0.1)"),
        (bc.BestChanID, {}, "has the largest I(P;W) at P = (0.9, 0.1)"),
        (bc.NaiveChanSel, {"epsilon": 0.5}, "is within 0.5 bit of the largest I(P;W) at P = (0.9, 0.1)"),
        (bc.MedianChanEl, {"epsilon": 0.5}, "is within 0.5 bit of the largest I(P;W) at P = (0.9, 0.1)"),
    ],
)
def test_a_fixed_input_distribution_is_named_where_it_decides(policy, options, what):
    guarantee = policy([(2, 2)] * 2, delta=0.1, input_distribution=(0.9, 0.1), **options).guarantee
    assert what in guarantee
    assert "the best" not in guarantee


def test_the_verified_claim_names_the_fixed_input_distribution():
    # C(poor) > C(perfect) does not hold, but the claim is about I(P; W) alone either way
    sensor = bc.Simulator({"a": PERFECT, "b": POOR}, rng=1)
    result = bc.identify(sensor, bc.Adaptive(sensor.alphabets, delta=0.1, input_distribution=(0.5, 0.5)))
    claim = verify(json.loads(json.dumps(as_document(result)))).claim
    assert claim == "a has the largest I(P;W) at P = (0.5, 0.5) with an error probability of at most 0.1"


@pytest.fixture
def trials(tmp_path):
    rng, path = np.random.default_rng(1), tmp_path / "trials.csv"
    x = rng.integers(0, 2, 4000)
    rows = [f"{'good' if i % 2 else 'bad'},{a},{a if i % 2 else rng.integers(0, 2)}" for i, a in enumerate(x)]
    path.write_text("\n".join(["channel,x,y", *rows]))
    return path


def test_python_and_the_command_line_say_the_same_of_a_recording(trials, tmp_path):
    for outputs, conditional in ((None, True), (["0", "1"], False)):
        recording = bc.Recording.from_file(trials, outputs=outputs)
        result = bc.identify(recording, bc.Adaptive(recording.alphabets, delta=0.05))
        assert result.guarantee.endswith(", conditional on the observed alphabet") == conditional
        declared = ["--outputs", "0,1"] if outputs else []
        kept = ["--run", tmp_path / f"{conditional}.db"]
        for options in ([], kept, kept):  # in memory, begun, and read again
            assert result_of("identify", "--replay", trials, *declared, *options)[1]["guarantee"] == result.guarantee


def test_the_report_reads_a_conditional_guarantee_as_a_sentence(trials):
    recording = bc.Recording.from_file(trials)
    source = page(bc.identify(recording, bc.Adaptive(recording.alphabets, delta=0.05)))
    assert "at least 0.95. Proof: bestchannel explain adaptive. Only the outputs that occur are supposed" in source


def test_what_is_calibrated_is_not_called_a_proof():
    guarantee = bc.Adaptive([(2, 2)] * 2, delta=0.05, threshold="calibrated").guarantee
    assert "Proof" not in in_words(guarantee)
    assert in_words(guarantee).endswith("This is calibrated by simulation, not proved.")
