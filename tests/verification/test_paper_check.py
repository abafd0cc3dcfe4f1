"""The paper's three policies: their records are followed to the letter, and what departs from it is named."""

import copy

import pytest

from bestchannel.verification import verify
from tests.verification.records import record

PAPER = ["best-chan-id", "best-chan-id, median", "naive", "median"]


def steps(result):
    return result["audit"]["steps"]


def assert_fails(result, sentence):
    verdict = verify(result)
    assert not verdict.valid
    assert sentence in verdict.failure


def add_up(result):
    """Put the totals right after senses were changed."""
    result["senses"] = 0
    for step in steps(result):
        result["senses"] += sum(map(sum, step["senses"].values()))
        step["status"]["senses"] = result["senses"]


def take(step, name, x, n):
    """Take n senses of an input away, from its most frequent output."""
    row = step["counts"][name][x]
    row[row.index(max(row))] -= n
    step["senses"][name][x] -= n


@pytest.mark.parametrize("name", PAPER)
def test_senses_short_of_the_formula_fail(name):
    result = record(name)
    for step in steps(result):
        for channel, senses in step["senses"].items():
            for x, n in enumerate(list(senses)):
                take(step, channel, x, n // 1000)
    add_up(result)
    assert_fails(result, "must sense each input of channel")


@pytest.mark.parametrize("name", PAPER)
def test_more_senses_than_the_formula_wants_are_welcome_if_all_inputs_have_them(name):
    result = record(name)
    for step in steps(result):
        for x in range(2):
            take(step, "0", x, -1)
    add_up(result)
    assert verify(result).checks == ("structure", result["policy"])  # only the replay notices
    take(steps(result)[0], "0", 0, -1)
    add_up(result)
    assert_fails(result, "must sense each input of channel '0'")


@pytest.mark.parametrize("name", PAPER)
def test_channel_left_out_fails(name):
    result = record(name)
    del steps(result)[0]["senses"]["1"], steps(result)[0]["counts"]["1"]
    add_up(result)
    assert_fails(result, "request 1 must sense the candidates")


def test_channel_that_goes_within_a_round_of_best_chan_id_fails():
    result = record("best-chan-id")
    steps(result)[0]["status"]["candidates"].remove("1")
    assert_fails(result, "before request 2 no candidate must go or come; one does")


def test_channel_that_stays_or_goes_against_its_estimate_fails():
    result = record("best-chan-id")
    last = len(steps(result)) - 1
    places = [i for i in range(1, last, 2) if len(steps(result)[i]["status"]["candidates"]) > 1]
    assert places  # rounds after which several are left
    gone, come = copy.deepcopy(result), copy.deepcopy(result)
    for i in range(places[-1], last):
        left = steps(gone)[i]["status"]["candidates"]
        left.remove(next(name for name in left if name != result["best"]))
    assert_fails(gone, "goes in round")
    steps(come)[last]["status"]["candidates"] = come["candidates"] = steps(come)[last - 1]["status"]["candidates"]
    come.update({"best": None, "decided": False})
    assert_fails(come, "stays in round")


def test_median_must_keep_the_better_half():
    result = record("median")
    worse = [name for name in "0123" if name not in steps(result)[0]["status"]["candidates"]]
    steps(result)[0]["status"]["candidates"][0] = worse[0]
    assert_fails(result, "median must keep the 3 largest of 5 estimates after request 1")
    result = record("median")
    steps(result)[0]["status"]["candidates"].pop()
    assert_fails(result, "median must keep the 3 largest of 5 estimates after request 1")


@pytest.mark.parametrize("name", PAPER)
def test_smaller_delta_requires_more_senses(name):
    result = record(name)
    result["delta"] /= 10.0
    assert_fails(result, "must sense each input of channel")


@pytest.mark.parametrize("name", ["naive", "median"])
def test_accuracy_of_0_is_no_promise(name):
    result = record(name)
    result["epsilon"] = 0.0
    assert_fails(result, "requires an epsilon above 0")


def test_unknown_subroutine_fails():
    result = record("best-chan-id")
    result["audit"]["options"]["subroutine"] = "oracle"
    assert_fails(result, "the subroutine must be naive or median; it is 'oracle'")


@pytest.mark.parametrize("name", PAPER)
def test_answers_that_make_another_channel_best_fail(name):
    result = record(name)
    best = result["best"]
    for step in steps(result):
        if best in step["counts"]:  # every row the same: worth nothing
            table = step["counts"][best]
            step["counts"][best] = [[n, *[0] * (len(table[0]) - 1)] for n in step["senses"][best]]
    assert not verify(result).valid


@pytest.mark.parametrize("name", PAPER)
def test_record_that_ends_early_or_goes_on_fails(name):
    result = record(name)
    longer = copy.deepcopy(steps(result)[-1])
    longer["request"] += 1
    longer["status"]["senses"] += sum(map(sum, longer["senses"].values()))
    early = record(name)
    early["senses"] -= sum(map(sum, steps(early).pop()["senses"].values()))
    if steps(early):
        steps(early)[-1]["status"]["candidates"] = early["candidates"]
    steps(result).append(longer)
    result["senses"] = longer["status"]["senses"]
    assert not verify(result).valid
    assert not verify(early).valid


def test_rounds_of_best_chan_id_are_counted():
    result = record("best-chan-id")
    result["rounds"] += 1
    assert_fails(result, "rounds of best-chan-id")
