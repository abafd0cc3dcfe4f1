"""What must add up in every record: each thing that does not is named."""

import pytest

from bestchannel import Adaptive, InputError
from bestchannel.channels import bsc
from bestchannel.verification import verify
from tests.verification.records import ONE_OUTPUT, document, record


def first(result):
    return result["audit"]["steps"][0]


def undecide(result):
    result["decided"] = False


def unname(result):
    result["best"] = None


def claim_less(result):
    result["best"], result["decided"] = None, False


def keep_two(result):
    names = [channel["name"] for channel in result["audit"]["channels"]][:2]
    result["candidates"] = result["audit"]["steps"][-1]["status"]["candidates"] = names
    result["best"] = names[0]


def keep_none(result):
    first(result)["status"]["candidates"] = []


def answer_too_little(result):
    del first(result)["counts"]["0"]


def answer_another_size(result):
    first(result)["counts"]["0"] = [[*row, 0] for row in first(result)["counts"]["0"]]


def answer_another_input(result):
    first(result)["counts"]["0"].append([0, 0])
    first(result)["senses"]["0"].append(0)


def miscount_a_step(result):
    first(result)["status"]["senses"] += 1


def fix_another_input(result):
    result["audit"]["options"]["input_distribution"] = [0.2, 0.3, 0.5]


def fix_no_distribution(result):
    result["audit"]["options"]["input_distribution"] = [0.5, 0.6]


def name_twice(result):
    result["audit"]["channels"][1]["name"] = "0"


def name_nobody(result):
    result["best"] = "nobody"


def no_promise(result):
    result["delta"] = 1.0


def negative_accuracy(result):
    result["epsilon"] = -0.1


FAULTS = {
    undecide: "a decided record names a best channel",
    unname: "a decided record names a best channel",
    claim_less: "decided means that one candidate is left; decided is False, and the candidates number 1",
    keep_two: "decided means that one candidate is left; decided is True, and the candidates number 2",
    keep_none: "no candidate is left after request 1",
    answer_too_little: "request 1 must be answered for the channels that it asks for, and no other",
    answer_another_size: "the counts of channel '0' in request 1 must be a table of (2, 2)",
    answer_another_input: "the counts of channel '0' in request 1 must be a table of (2, 2)",
    fix_another_input: "the fixed input distribution must be one of the inputs of '0'; it is [0.2, 0.3, 0.5]",
    fix_no_distribution: "the fixed input distribution must be one of the inputs of '0'; it is [0.5, 0.6]",
    name_twice: "two channels of the record have the same name",
    name_nobody: "best of the record names channel 'nobody', which took no part",
    no_promise: "delta must lie between 0 and 1; the record has 1",
    negative_accuracy: "epsilon must not be negative; the record has -0.1",
}


@pytest.mark.parametrize("name", ["binary", "naive"])
@pytest.mark.parametrize("change", FAULTS, ids=lambda change: change.__name__)
def test_what_does_not_add_up_is_named(change, name):
    result = record(name)
    change(result)
    verdict = verify(result)
    assert not verdict.valid
    assert FAULTS[change] in verdict.failure
    assert verdict.checks == ()


@pytest.mark.parametrize("name", ["binary", "naive"])
def test_senses_that_do_not_add_up_are_named(name):
    result = record(name)
    miscount_a_step(result)
    assert "request 1, status, senses that is" in verify(result).failure


def test_a_claim_without_a_single_step_fails_unless_all_have_capacity_0():
    result = document(Adaptive, [bsc(0.1), ONE_OUTPUT], {}, max_senses=0)
    assert verify(result).valid
    result.update({"best": "0", "decided": True, "candidates": ["0"], "nearly_best": None})
    assert "must be those after the last request" in verify(result).failure
    worthless = document(Adaptive, [ONE_OUTPUT] * 2, {})
    assert verify(worthless).valid
    worthless["best"] = worthless["nearly_best"]["channel"] = "1"  # as good as the other, but not what the policy names
    assert verify(worthless).checks == ("structure", "adaptive")


@pytest.mark.parametrize("side", ["inputs", "outputs"])
def test_channel_without_letters_is_none(side):
    result = record("binary")
    result["audit"]["channels"][0][side] = []
    with pytest.raises(InputError, match=r"must be the JSON of an identification.*length >= 1"):
        verify(result)
