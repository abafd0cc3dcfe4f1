"""A record holds only with the choices that its policy makes: what was picked afterwards is refused."""

import copy

import numpy as np
import pytest

from bestchannel import InputError
from bestchannel.release import VERSION
from bestchannel.verification import verify
from tests.verification.forged_records import FORGERIES, hindsight_sizes, honest, judged, one_entry
from tests.verification.records import bets_of, record


def first_bet(result):
    """A bet against some rival, the first in the record."""
    step = next(step for step in result["audit"]["steps"] if bets_of(step))
    return next(iter(bets_of(step).values()))


@pytest.mark.parametrize("forge", FORGERIES, ids=lambda forge: forge.__name__)
def test_forged_record_is_not_accepted(forge):
    seeds = range(3 if forge is not one_entry else 30)
    verdicts = [judged(forge(np.random.default_rng(seed))) for seed in seeds]
    assert [valid for _, valid in verdicts] == [False] * len(seeds)


def test_bets_picked_in_hindsight_are_refused_for_nothing_but_that():
    result = hindsight_sizes(np.random.default_rng(1))
    verdict = verify(result)
    assert (result["decided"], verdict.checks, verdict.choices) == (True, ("structure", "adaptive"), None)
    assert "the record must be what the policy adaptive makes of its answers; in request 2" in verdict.failure


@pytest.mark.parametrize("seed", range(40))
def test_honest_record_is_accepted(seed):
    assert verify(honest(np.random.default_rng(1000 + seed))).failure is None


@pytest.mark.parametrize("version", ["0.1.0", None])
def test_choices_of_another_version_are_taken_on_trust(version):
    result = record("binary")
    result["audit"]["version"] = version
    verdict = verify(result)
    assert (verdict.valid, verdict.choices, verdict.checks) == (False, "trusted", ("structure", "adaptive"))
    assert verdict.claim.endswith("error probability of at most 0.05, if its choices are trusted")
    assert "fixed before their answers is taken on trust" in verdict.failure
    assert f"this is version {VERSION}; verify the record with the version that made it" in verdict.failure


def test_record_without_a_version_is_that_of_another():
    result = record("binary")
    del result["audit"]["version"]
    assert "a version that it does not name of bestchannel" in verify(result).failure


def test_trust_does_not_reach_to_the_evidence():
    result = record("binary")
    result["audit"]["version"], result["delta"] = "0.1.0", 1e-9
    assert (verify(result).choices, verify(result).claim) == (None, "nothing is proved")


def test_rounding_of_another_processor_is_no_other_choice():
    result = record("binary")
    bet = first_bet(result)
    bet["weight"] *= 1.0 + 1e-9
    assert verify(result).valid


def another_guarantee(result):
    result["guarantee"] = "the named channel is the best with certainty"


def another_number_of_rounds(result):
    result["rounds"] += 1


def a_comment(result):
    result["comment"] = "checked by hand"


def a_number_as_text(result):
    first_bet(result)["weight"] = str(first_bet(result)["weight"])


def numbers_as_text(result):
    first_bet(result)["multipliers"] = [str(number) for number in first_bet(result)["multipliers"]]


def huge_multipliers(result):
    first_bet(result)["multipliers"] = [1e308 for _ in first_bet(result)["multipliers"]]


def many_restarts(result):
    first_bet(result)["restarts"] = 10**400


def a_letter_twice(result):
    result["audit"]["channels"][0]["inputs"] = ["0", "0"]


def a_letter_that_is_no_text(result):
    result["audit"]["channels"][0]["inputs"] = [0, 1]


def another_option(result):
    result["audit"]["options"]["sampling"] = "uniform"


def an_unknown_option(result):
    result["audit"]["options"]["luck"] = True


def an_option_said_twice(result):
    result["audit"]["options"]["delta"] = 0.05


def outputs_inferred(result):
    result["audit"]["inferred_outputs"] = True


def outputs_inferred_perhaps(result):
    result["audit"]["inferred_outputs"] = 0


CHANGES = {
    another_guarantee: 'in the result, guarantee that is "the named channel is the best with probability',
    another_number_of_rounds: "in the result, rounds that is",
    a_comment: 'in the result, comment that is nothing, and the record has "checked by hand"',
    a_number_as_text: "a number of at most 1e+100 is required",
    numbers_as_text: "a number of at most 1e+100 is required",
    huge_multipliers: "a number of at most 1e+100 is required, not 1e+308",
    many_restarts: "a whole number of at most 1e+100 is required, not 1000000",
    a_letter_twice: "no two inputs of channel '0' may be called the same; two of them are",
    a_letter_that_is_no_text: "a text is required, not 0",
    another_option: "the record must be what the policy adaptive makes of its answers",
    an_unknown_option: "has no option luck",
    an_option_said_twice: "cannot be told to the policy that the record names",
    outputs_inferred: "in the result, guarantee that is",
    outputs_inferred_perhaps: "true or false is required, not 0",
}


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_what_was_altered_is_refused_in_one_sentence(change):
    result = copy.deepcopy(record("binary"))
    change(result)
    try:
        sentence = verify(result).failure
    except InputError as error:
        sentence = str(error)
    assert CHANGES[change] in sentence
