"""What a plan foretells is what runs then need."""

import numpy as np
import pytest

from bestchannel import (
    Above,
    Adaptive,
    BestChanID,
    InputError,
    MedianChanEl,
    NaiveChanSel,
    Order,
    Simulator,
    Top,
    Within,
    capacity,
    identify,
)
from bestchannel.channels import bsc
from bestchannel.study.planning import plan

CHANNELS = {"good": bsc(0.05), "fair": bsc(0.12), "bad": bsc(0.3)}
DELTA, RUNS = 0.1, 20


@pytest.fixture(scope="module")
def found():
    return plan(CHANNELS, delta=DELTA, runs=RUNS, seed=4)


def by_policy(result):
    return {need.policy: need for need in result.needs}


def test_needs_of_the_papers_policies_are_what_their_runs_use(found):
    alphabets, epsilon = [(2, 2)] * 3, found.gap
    policies = [
        BestChanID(alphabets, delta=DELTA),
        NaiveChanSel(alphabets, delta=DELTA, epsilon=epsilon),
        MedianChanEl(alphabets, delta=DELTA, epsilon=epsilon),
    ]
    for policy in policies:
        run = identify(Simulator(CHANNELS, rng=1), policy)
        need = by_policy(found)[policy.name]
        assert (need.senses, need.simulated, need.undecided) == (run.senses, False, 0)


def test_need_of_adaptive_is_the_median_of_runs_from_the_children_of_the_seed(found):
    children = np.random.SeedSequence(4).spawn(RUNS)
    senses = sorted(
        identify(Simulator(CHANNELS, rng=np.random.default_rng(child)), Adaptive([(2, 2)] * 3, delta=DELTA)).senses
        for child in children
    )
    need = by_policy(found)["adaptive"]
    assert (need.senses, need.q95, need.simulated) == (senses[9], senses[18], True)


def test_plan_names_the_best_channel_its_gap_and_a_bound_below_every_need(found):
    assert found.best == "good"
    assert found.gap == pytest.approx(capacity(bsc(0.05)).lower - capacity(bsc(0.12)).lower, abs=1e-8)
    assert found.bound.senses_lower_bound < min(need.senses for need in found.needs)


def test_accuracy_is_given_to_the_policies_that_have_one_and_there_is_no_bound():
    result = plan(CHANNELS, delta=DELTA, epsilon=0.3, runs=3)
    assert {need.policy: need.epsilon for need in result.needs} == {
        "adaptive": 0.3,
        "best-chan-id": 0.0,
        "naive": 0.3,
        "median": 0.3,
    }
    assert result.bound is None


def test_no_policy_ends_on_a_tie_without_an_accuracy():
    result = plan({"a": bsc(0.1), "b": bsc(0.1)}, delta=DELTA)
    assert result.best is None
    assert [need.senses for need in result.needs] == [None] * 4


def test_tie_with_an_accuracy_ends_for_all_but_best_chan_id():
    needs = by_policy(plan({"a": bsc(0.1), "b": bsc(0.1)}, delta=DELTA, epsilon=0.1, runs=3))
    assert [policy for policy, need in needs.items() if need.senses is None] == ["best-chan-id"]
    assert needs["adaptive"].undecided == 0


def test_runs_beyond_the_limit_count_as_undecided(monkeypatch):
    monkeypatch.setattr("bestchannel.study.planning.MOST_SENSES", 100)
    adaptive = by_policy(plan(CHANNELS, delta=1e-6, runs=3))["adaptive"]
    assert (adaptive.senses, adaptive.undecided) == (100, 3)


@pytest.mark.parametrize(("name", "value"), [("runs", 0), ("runs", -1), ("runs", 2.5), ("seed", -1), ("seed", "x")])
def test_runs_and_seeds_that_are_none_are_refused(name, value):
    with pytest.raises(InputError, match=f"{name} must be a whole number >= "):
        plan({"a": bsc(0.1), "b": bsc(0.3)}, **{name: value})


def test_single_channel_is_refused():
    with pytest.raises(InputError, match="requires at least 2 of them and got 1"):
        plan({"only": bsc(0.1)})


@pytest.mark.parametrize("question", [Above(0.4), Top(2), Order(), Within(0.2)])
def test_other_questions_have_their_own_bound_and_the_need_of_adaptive_alone(question):
    result = plan(CHANNELS, delta=DELTA, question=question, runs=5)
    (need,) = result.needs
    assert (need.policy, result.decided, set(result.still_open.values())) == ("adaptive", 5, {0})
    assert 0 < result.bound.senses_lower_bound < need.senses
    assert result.bound.question == result.question == question


def test_one_channel_can_be_asked_about_a_level_but_not_which_is_the_best():
    assert plan({"good": bsc(0.05)}, question=Above(0.5), runs=3).decided == 3
    with pytest.raises(InputError, match="requires at least 2"):
        plan({"good": bsc(0.05)}, runs=3)


@pytest.mark.parametrize("question", [None, Above(0.4), Top(2)])
def test_a_limit_says_how_often_it_decides_and_what_it_leaves_open(question):
    few, many = (plan(CHANNELS, delta=DELTA, question=question, max_senses=n, runs=6, seed=2) for n in (250, 20_000))
    assert (many.decided, set(many.still_open.values())) == (6, {0})
    assert few.decided < 6
    assert few.needs[0].q95 <= 250
    assert max(few.still_open.values()) == 6 - few.decided
    outcomes = []
    for child in np.random.SeedSequence(2).spawn(6):
        policy = Adaptive([(2, 2)] * 3, delta=DELTA, question=question)
        outcomes.append(identify(Simulator(CHANNELS, rng=np.random.default_rng(child)), policy, max_senses=250))
    assert few.decided == sum(result.decided for result in outcomes)
    for name, runs in few.still_open.items():
        assert runs == sum(name in result.candidates and not result.decided for result in outcomes)
    if question is None:
        assert many.within_bits == 0.0
        said = [0.0 if r.decided else r.nearly_best and r.nearly_best.within_bits for r in outcomes]
        assert few.within_bits == (None if None in said else max(said))


def test_what_never_ends_is_planned_with_a_limit_alone():
    level = capacity(bsc(0.1)).value
    assert plan({"at": bsc(0.1)}, question=Above(level), runs=2).needs[0].senses is None
    assert plan({"at": bsc(0.1)}, question=Above(level), runs=2, max_senses=300).needs[0].senses == 300
