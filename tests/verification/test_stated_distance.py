"""What an undecided record says of a channel that is nearly the best is checked like everything else."""

import pytest

from bestchannel import Adaptive, InputError
from bestchannel.channels import bsc
from bestchannel.policies.transcript import result_of
from bestchannel.verification import verify
from bestchannel.verification.adaptive_check import check_adaptive
from bestchannel.verification.record import NotValidError, read
from bestchannel.verification.verdict import Replay
from tests.verification.records import document, random_3x3

CASES = {
    "binary": ([bsc(0.1), bsc(0.12), bsc(0.3)], {}),
    "3x3": (random_3x3(1, 2, 5), {"delta": 1e-4}),
    "epsilon": ([bsc(0.1), bsc(0.11)], {"epsilon": 0.01}),
    "fixed input": ([bsc(0.1), bsc(0.12)], {"input_distribution": [0.4, 0.6]}),
}


def undecided(name, limit=700):
    channels, options = CASES[name]
    found = document(Adaptive, channels, options, max_senses=limit)
    assert not found["decided"]
    assert found["nearly_best"] is not None
    return found


@pytest.mark.parametrize("name", CASES)
def test_true_statement_verifies_and_is_the_claim(name):
    result = undecided(name)
    verdict = verify(result)
    assert (verdict.valid, verdict.failure) == (True, None)
    said = result["nearly_best"]
    assert verdict.claim.startswith(f"undecided: {said['channel']} is within {said['within_bits']!r} bit of")


@pytest.mark.parametrize("name", CASES)
def test_evidence_alone_refuses_a_statement_of_half_the_distance(name):
    result = undecided(name)
    result["nearly_best"]["within_bits"] /= 2
    with pytest.raises(NotValidError, match="does not show that"):
        check_adaptive(read(result_of(result)), lambda _: None, Replay(Adaptive, result, lambda _: None))


def test_slightly_smaller_distance_is_refused_by_the_choices():
    result = undecided("binary")
    result["nearly_best"]["within_bits"] *= 0.999
    verdict = verify(result)
    assert not verdict.valid
    assert "nearly_best, within_bits" in verdict.failure


def test_statement_about_a_channel_that_was_not_bet_on_is_refused():
    result = undecided("binary")
    others = [name for name in result["candidates"] if name != result["nearly_best"]["channel"]]
    result["nearly_best"]["channel"] = others[-1]
    assert not verify(result).valid


def test_negative_distance_is_refused():
    result = undecided("binary")
    result["nearly_best"]["within_bits"] = -0.1
    assert "within bits >= 0" in verify(result).failure


@pytest.mark.parametrize("value", [float("inf"), float("nan"), "0.1", True])
def test_distance_that_is_no_number_is_no_record(value):
    result = undecided("binary")
    result["nearly_best"]["within_bits"] = value
    with pytest.raises(InputError, match="must be the JSON of an identification"):
        verify(result)


def test_interval_that_the_answers_do_not_lead_to_is_refused():
    result = undecided("binary")
    result["channels"][0]["lower"] += 0.01
    assert "channels[0], lower" in verify(result).failure
