"""Records of questions other than for the best: honest ones hold, and evidence that was made up is seen for itself."""

import copy
import json
import re

import numpy as np
import pytest

import bestchannel as bc
from bestchannel import Above, Order, Top, Within
from bestchannel.evidence.bets import covers_of
from bestchannel.policies.adaptive.adaptive_policy import Adaptive
from bestchannel.policies.transcript import as_document, result_of
from bestchannel.report.cards import identification_card
from bestchannel.report.page import capacities
from bestchannel.report.summary import summarise
from bestchannel.verification.adaptive_check import check_adaptive
from bestchannel.verification.record import NotValidError, check_structure, read, reading
from bestchannel.verification.rival_check import Rows, proved
from bestchannel.verification.verdict import Replay
from tests.verification.forged_records import QUESTION_FORGERIES, judged

LINKS = {"a": bc.bsc(0.02), "b": bc.bsc(0.1), "c": bc.bsc(0.1001), "d": bc.bsc(0.4)}
ONE_OUTPUT = bc.Channel.from_rows([[1.0], [1.0]])


def document(question, channels=LINKS, *, seed=1, max_senses=3000, **options):
    sensor = bc.Simulator(channels, rng=seed)
    policy = bc.Adaptive(sensor.alphabets, question=question, **{"delta": 0.05, **options})
    return json.loads(json.dumps(as_document(bc.identify(sensor, policy, max_senses=max_senses))))


def evidence_alone(said):
    """Whether stakes and answers prove what is said, whoever chose them: all that other revisions' records rest on."""
    record = read(result_of(said))
    with np.errstate(all="ignore"), reading():
        check_structure(record)
        check_adaptive(record, lambda _: None, Replay(Adaptive, said, lambda _: None))


def wagers(said):
    for step in said["audit"]["steps"]:
        if step["stakes"]:
            yield step["stakes"]["wagers"]


@pytest.mark.parametrize(
    ("question", "channels", "seed", "max_senses"),
    [
        (Within(0.2), {"useless": bc.bsc(0.5)}, 0, None),
        (Within(0.02), {"useless": bc.bsc(0.5)}, 2, None),
        (Within(0.02), {"nearly": bc.bsc(0.49)}, 2, None),
        (Within(0.2), {"": bc.bsc(0.1)}, 1, None),
        (Top(2), {"live": bc.bsc(0.1), "dead": ONE_OUTPUT, "gone": ONE_OUTPUT}, 1, 20),
        (Top(2), LINKS, 1, 3000),
        (Top(2), LINKS, 1, 0),
        (Order(), LINKS, 1, 3000),
        (Top(2, 0.05), LINKS, 1, None),
        (Top(2, 0.05), LINKS, 1, 2000),
        (Order(0.2), LINKS, 1, 20_000),
        (Above(0.531), LINKS, 1, 3000),
    ],
)
def test_honest_records_hold(question, channels, seed, max_senses):
    said = document(question, channels, seed=seed, max_senses=max_senses)
    evidence_alone(said)
    assert bc.verify(said).valid


def test_bets_on_the_same_senses_are_not_multiplied():
    said = document(Within(0.1), {"a": bc.bsc(0.1)}, max_senses=250)
    for bets in wagers(said):
        bets |= {f"{name} again": copy.deepcopy(bet) for name, bet in bets.items()}
    said["brackets"]["a"]["lower"] += 0.05
    with pytest.raises(NotValidError, match="several bets for one claim"):
        evidence_alone(said)


def test_a_channel_that_is_named_twice_is_one():
    said = document(Top(2))
    said |= {"top": ["a", "a"], "decided": True}
    with pytest.raises(NotValidError, match="none of them twice"):
        evidence_alone(said)


@pytest.mark.parametrize("seed", [4, 22, 110, 192, 331])
def test_what_is_stated_of_an_answer_that_is_not_decided_can_be_checked(seed):
    """Seeds at which a search for a bound ended early, so that another, aimed at the same bound, did not get there."""
    rows = np.random.default_rng(seed)
    links = {name: bc.Channel.from_rows(rows.dirichlet([0.5, 0.5], 2)) for name in "ab"}
    said = document(Top(1, 0.02), links, seed=seed, max_senses=500 + 2 * seed, delta=1e-3)
    assert said["nearly"]
    assert bc.verify(said).valid


def test_candidates_that_an_undecided_record_drops_are_missed():
    said = document(Top(2))
    said["candidates"] = said["candidates"][:1]
    with pytest.raises(NotValidError, match="candidates"):
        evidence_alone(said)


def test_a_question_that_cannot_be_asked_proves_nothing():
    said = document(Top(2))
    said |= {"question": {"kind": "top", "m": 9}, "top": [], "out": ["a"], "decided": False}
    with pytest.raises(NotValidError, match="cannot be asked"):
        evidence_alone(said)


@pytest.mark.parametrize(
    ("question", "forged"),
    [
        (Top(2), {"nearly": ["c", "d"], "within_bits": 0.001}),
        (Order(), {"nearly": ["d", "c", "b", "a"], "within_bits": 0.001}),
        (Order(), {"order": ["d"]}),
        (Order(0.2), {"order": []}),
        (Order(), {"pairs": [["d", "d"]]}),
        (Order(), {"pairs": [["a", "d"], ["a", "d"]]}),
        (Above(0.5), {"top": ["d"]}),
        (Top(2), {"question": {"kind": "best"}, "top": [], "candidates": ["d"]}),
        (Order(0.2), {"question": {"kind": "best", "epsilon": 0.2}, "candidates": ["d"]}),
    ],
)
def test_what_is_no_part_of_an_answer_is_not_claimed_where_choices_are_trusted(question, forged):
    said = document(question, max_senses=1500) | forged
    said["audit"] |= {"revision": 1, "seal": None}
    checked = bc.verify(said)
    assert checked.claim == "nothing is proved"
    assert re.search("no part of an answer|all channels, each|none of them twice|nothing is known of", checked.failure)


def test_no_channel_is_called_none():
    said = document(Top(1), {"None": bc.bsc(0.1), "x": bc.bsc(0.3)})
    for bet in (bet for bets in wagers(said) for bet in bets.values()):
        bet |= {"under": None} if bet["under"] == "None" else {"over": None}
    with pytest.raises(NotValidError, match="no channel over another"):
        evidence_alone(said)


def test_shares_and_parts_that_are_zero_are_refused_without_a_traceback():
    said = document(Above(0.4))
    sure = said | {"question": {"kind": "above", "level": 1.0, "tolerance": 0.0}}
    sure["answers"] = dict.fromkeys(LINKS, "below")
    assert not bc.verify(sure).valid
    for bet in (bet for bets in wagers(said) for bet in bets.values()):
        bet["starts"] = 400
    with pytest.raises(bc.InputError):
        bc.verify(said)


def test_a_policy_that_names_the_best_answers_no_other_question():
    sensor = bc.Simulator(LINKS, rng=1)
    policy = bc.NaiveChanSel(sensor.alphabets, delta=0.1, epsilon=0.3)
    said = as_document(bc.identify(sensor, policy))
    said |= {"best": None, "nearly_best": None, "question": {"kind": "top", "m": 2}, "top": ["c", "d"], "out": []}
    said["audit"]["revision"] = 0
    checked = bc.verify(said)
    assert not checked.valid
    assert checked.claim == "nothing is proved"


def test_what_is_claimed_has_the_condition_of_its_outputs_and_nothing_is_claimed_where_nothing_is_proved():
    assert bc.verify(document(Above(0.5), max_senses=60)).claim == "undecided: nothing is claimed"
    rng = np.random.default_rng(3)
    x = rng.integers(0, 2, 600)
    trials = {"one": np.stack([x, x ^ (rng.random(600) < 0.02)], axis=1)}
    sensor = bc.Recording(trials)
    result = bc.identify(sensor, bc.Adaptive(sensor.alphabets, delta=0.05, question=Above(0.3)))
    assert result.audit.inferred_outputs
    assert bc.verify(result).claim.endswith("conditional on the observed alphabet")


@pytest.mark.parametrize(
    ("channel", "width"), [(bc.z_channel(0.999), 0.05), (bc.z_channel(0.99), 0.02), (bc.bsc(0.0), 0.05)]
)
def test_ends_meet_where_bets_are_too_large_for_what_there_is_to_win(channel, width):
    sensor = bc.Simulator({"link": channel}, rng=1)
    result = bc.identify(sensor, bc.Adaptive(sensor.alphabets, delta=0.05, question=Within(width)), max_senses=40_000)
    assert result.decided


def test_a_bound_is_found_for_few_and_uneven_counts():
    counts = [[[0, 4], [0, 4]]] * 2 + [[[1, 3], [0, 4]]] + [[[0, 4], [0, 4]]] * 3
    tilts = [[0.976, 0.783]] + [[1.0, 0.8]] * 4 + [[0.989, 0.8]]
    first = (0.243, 0.182, 0.144, 0.144, 0.121, 0.103)
    bets = [(np.array(n), np.array(w), np.array([q, 1.0 - q])) for n, w, q in zip(counts, tilts, first, strict=True)]
    rival = Rows.of((2, 2), bets, 23.91)
    assert proved(rival, None, covers_of((2, 2), bets, 23.91, None, 3.0), -3.0) >= -3.0


@pytest.mark.parametrize("question", [Above(0.4), Top(1), Order(), Within(0.3)])
def test_a_report_says_the_answer_and_names_no_best_channel(question):
    channels = {"good": bc.bsc(0.02), "bad": bc.bsc(0.4)}
    sensor = bc.Simulator(channels, rng=1)
    result = bc.identify(sensor, bc.Adaptive(sensor.alphabets, delta=0.05, question=question))
    summary = summarise(result)
    assert summary.result.decided
    assert summary.verdict.lower() == f"{question.answer(result)}.".lower()
    assert "the best is proved" not in str(capacities(summary))
    assert "is the best." not in identification_card(result)


@pytest.mark.parametrize("forge", QUESTION_FORGERIES)
def test_forged_records_are_refused(forge):
    assert [judged(forge(np.random.default_rng(seed)))[1] for seed in range(6)] == [False] * 6


def test_an_answer_within_epsilon_rests_on_all_of_its_pairs():
    said = document(Top(2, 0.05), max_senses=None)
    assert said["decided"]
    for bets in wagers(said):
        for name in [name for name, bet in bets.items() if bet["under"] == "d"]:
            del bets[name]
    with pytest.raises(NotValidError, match="do not show"):
        evidence_alone(said)


def test_an_answer_keeps_its_number():
    said = document(Top(2, 0.05), max_senses=None)
    steps = [step["stakes"] for step in said["audit"]["steps"] if step["stakes"] and step["stakes"]["wagers"]]
    steps[-1]["answer"] = {"number": steps[-1]["answer"]["number"], "named": ["b", "d"]}
    with pytest.raises(NotValidError, match="is another"):
        evidence_alone(said)


def test_a_later_answer_has_a_smaller_share():
    said = document(Top(1, 0.02), {"a": bc.bsc(0.1), "b": bc.bsc(0.2)}, max_senses=None)
    evidence_alone(said)
    for step in said["audit"]["steps"]:
        if step["stakes"]:
            step["stakes"]["answer"]["number"] = 9
    with pytest.raises(NotValidError, match="do not show"):
        evidence_alone(said)


@pytest.mark.parametrize("question", [None, Top(1), Above(0.6)])
def test_evidence_of_a_budget_is_made_again_and_a_larger_one_is_refused(question):
    sensor = bc.Simulator({"good": bc.bsc(0.05), "bad": bc.bsc(0.2)}, rng=3)
    policy = bc.Adaptive(sensor.alphabets, delta=1e-9, question=question)
    document = as_document(bc.identify(sensor, policy, max_senses=260))
    assert document["evidence"]["e_value"] > 1.0
    assert bc.verify(document).valid
    forged = document | {"evidence": document["evidence"] | {"e_value": 2.0 * document["evidence"]["e_value"]}}
    assert not bc.verify(forged).valid
    silent = {key: value for key, value in document.items() if key != "evidence"}
    assert bc.verify(silent).valid
