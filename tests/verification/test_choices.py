"""A record holds only with the choices that its policy makes: what was picked afterwards is refused."""

import copy
import json
from pathlib import Path

import numpy as np
import pytest

from bestchannel import Adaptive, InputError, Policy
from bestchannel.channels import bsc
from bestchannel.policies.catalogue import POLICIES
from bestchannel.policies.transcript import as_document, from_document
from bestchannel.questions import Best
from bestchannel.verification import verify
from bestchannel.verification.verdict import WORDED
from tests.verification.forged_records import (
    FORGERIES,
    WHO_WROTE_IT,
    hindsight_sizes,
    honest,
    judged,
    one_entry,
    one_entry_with_whims,
    with_whims,
)
from tests.verification.records import bets_of, document, record


def first_bet(result):
    """A bet against some rival, the first in the record."""
    step = next(step for step in result["audit"]["steps"] if bets_of(step))
    return next(iter(bets_of(step).values()))


@pytest.mark.parametrize("forge", [*FORGERIES, one_entry_with_whims], ids=lambda forge: forge.__name__)
def test_forged_record_is_not_accepted(forge):
    seeds = range(30 if forge in (one_entry, one_entry_with_whims) else 3)
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


def test_record_whose_limits_were_changed_several_times_before_an_answer_is_accepted():
    records = [with_whims(np.random.default_rng(seed)) for seed in range(60)]
    assert any(result["decided"] for result in records)
    assert any(len(result["audit"]["limits"]) > 3 for result in records)
    assert [verify(result).failure for result in records] == [None] * len(records)


KEPT = sorted((Path(__file__).parent / "records-0.2.0").glob("*.json"))
"""Records that 0.2.0 wrote; should a policy choose otherwise one day, its revision must say so."""


def test_kept_records_are_of_all_policies():
    assert {json.loads(path.read_text())["policy"] for path in KEPT} == set(POLICIES) - {"joint"}  # which came later


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_record_of_an_earlier_version_is_valid_or_its_choices_are_taken_on_trust(path):
    result = json.loads(path.read_text())
    assert "revision" not in result["audit"]
    verdict, revised = verify(result), POLICIES[result["policy"]].revision > 1
    assert (verdict.choices, verdict.valid) == (("trusted", False) if revised else ("replayed", True))
    assert verdict.checks[:2] == ("structure", result["policy"])
    assert as_document(from_document(result))["best"] == result["best"]


NOT_PROTECTED = [*WHO_WROTE_IT, ("audit", "inferred_outputs"), ("checks",), ("source",), *((key,) for key in WORDED)]
"""In a record of another version, as docs/theory/certificate.md says."""


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_record_of_an_earlier_version_that_was_changed_is_refused(path):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        assert not judged(one_entry(rng, lambda _: json.loads(path.read_text()), NOT_PROTECTED))[1]


def test_release_that_changes_no_decision_leaves_records_valid(monkeypatch):
    results = record("binary"), record("best-chan-id")
    monkeypatch.setattr("bestchannel.verification.verdict.VERSION", "9.0.0")
    monkeypatch.setattr(Best, "promise", lambda *_: "in other words")
    assert [verify(result).failure for result in results] == [None, None]


def otherwise_chosen():
    """A record of which the policy of today would have expected another number of senses; its evidence is there."""
    result = record("binary")
    result["audit"]["steps"][0]["status"]["more_senses"] += 1
    return result


def test_choices_that_the_policy_of_today_makes_too_need_no_trust():
    result = record("binary")
    result["audit"]["revision"] = 7
    assert (verify(result).valid, verify(result).choices) == (True, "replayed")


@pytest.mark.parametrize("revision", [7, None])
def test_other_choices_of_another_revision_are_taken_on_trust(revision):
    result = otherwise_chosen()
    result["audit"]["revision"], result["audit"]["version"] = revision, "0.1.0"
    verdict = verify(result)
    assert (verdict.valid, verdict.choices, verdict.checks) == (False, "trusted", ("structure", "adaptive"))
    assert verdict.claim.endswith("error probability of at most 0.05, if its choices are trusted")
    assert "fixed before their answers is taken on trust" in verdict.failure
    named = "revision 7" if revision else "a revision that it does not name"
    assert f"since {named} of the policy adaptive chose them and this is revision 3" in verdict.failure
    assert verdict.failure.endswith("verify the record with bestchannel 0.1.0")


def test_record_without_revision_and_version_is_taken_on_trust():
    result = otherwise_chosen()
    del result["audit"]["version"], result["audit"]["revision"]
    assert verify(result).failure.endswith("verify the record with the version of bestchannel that wrote it")


def test_policy_that_was_revised_trusts_other_choices_from_before(monkeypatch):
    result = otherwise_chosen()
    assert verify(result).choices is None
    monkeypatch.setattr(Adaptive, "revision", 4)
    assert verify(result).choices == "trusted"
    assert record_of_now()["audit"]["revision"] == 4
    assert verify(record_of_now()).valid


def record_of_now():
    return document(Adaptive, [bsc(0.05), bsc(0.3)], {})


class OfAnotherPackage(Policy):
    """Decides nothing, in the fourth way of doing so."""

    name, guarantee, revision = "idle", "none", 4

    def _script(self):
        yield {0: (1, 1)}
        return None


def test_record_has_the_revision_of_a_policy_of_another_package():
    result = document(OfAnotherPackage, [bsc(0.05), bsc(0.3)], {})
    assert result["audit"]["revision"] == 4
    assert "the policy must be one of adaptive" in verify(result).failure


def test_trust_does_not_reach_to_the_evidence():
    result = record("binary")
    result["audit"]["revision"], result["delta"] = 7, 1e-9
    assert (verify(result).choices, verify(result).claim) == (None, "nothing is proved")


def test_trust_does_not_reach_to_answers_that_are_not_those_that_were_sealed():
    result = otherwise_chosen()
    result["audit"]["revision"] = 7
    assert verify(result).choices == "trusted"
    result["audit"]["channels"][0]["inputs"].reverse()
    assert "that the seal of the record is of" in verify(result).failure
    assert verify(result).claim == "nothing is proved"


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
    a_number_as_text: "Expected `float`, got `str` - at `$.bets[...].weight`",
    numbers_as_text: "a number of at most 1e+100 is required",
    huge_multipliers: "a number of at most 1e+100 is required, not [1e+308",
    many_restarts: "Expected `int` <= 300 - at `$.bets[...].restarts`",
    a_letter_twice: "no two inputs of channel '0' may be called the same; two of them are",
    a_letter_that_is_no_text: "Expected `str`, got `int` - at `$.audit.channels[0].inputs[0]`",
    another_option: "the record must be what the policy adaptive makes of its answers",
    an_unknown_option: "has no option luck",
    an_option_said_twice: "in the audit, options, delta that is nothing, and the record has 0.05",
    outputs_inferred: "in the result, guarantee that is",
    outputs_inferred_perhaps: "Expected `bool`, got `int` - at `$.audit.inferred_outputs`",
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
