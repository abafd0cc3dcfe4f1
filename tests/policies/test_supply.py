"""What there is to be sensed: requests are cut to it, policies may plan by it, nothing is sensed twice."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bestchannel as bc
from bestchannel import InputError
from bestchannel.policies import Supply
from bestchannel.policies.transcript import as_document, from_document

few = st.integers(0, 30)
requests = st.dictionaries(st.integers(0, 2), st.tuples(few, few), min_size=1)


def test_senses_left_in_all_are_those_of_the_tighter_limit():
    assert Supply().senses == math.inf
    assert Supply(total=5, each=((4, 9),)).senses == 5
    assert Supply(each=((4, 9), (1, 0))).senses == 14


@given(requests, st.none() | st.integers(0, 60), st.none() | st.tuples(*[st.tuples(few, few)] * 3))
def test_a_cut_request_has_all_that_was_wanted_and_is_left_and_no_more(senses, total, each):
    cut = Supply(total, each).cut(senses)
    had = {c: tuple(map(min, n, each[c])) if each else n for c, n in senses.items()}
    assert all(cut_to <= most for c in cut for cut_to, most in zip(cut[c], had[c], strict=True))
    most = sum(map(sum, had.values()))
    assert sum(map(sum, cut.values())) == (most if total is None else min(most, total))
    assert all(map(any, cut.values()))


@given(requests, st.integers(1, 60))
def test_a_cut_is_in_proportion(senses, total):
    whole = sum(map(sum, senses.values()))
    cut = Supply(total).cut(senses)
    for channel, wanted in senses.items():
        for x, n in enumerate(wanted):
            part = n * min(1.0, total / whole) if whole else 0.0
            assert abs(cut.get(channel, (0, 0))[x] - part) < 1.0


@pytest.mark.parametrize(
    "supply",
    [
        Supply(-1),
        Supply(1.5),
        Supply(True),
        Supply(each=((1, 1),)),
        Supply(each=((1,), (1, 1))),
        Supply(each=((1, -1),) * 2),
    ],
    ids=str,
)
def test_what_is_no_supply_of_these_channels_is_refused(supply):
    policy = bc.Adaptive([(2, 2)] * 2, delta=0.1)
    with pytest.raises(
        InputError, match="what is left must be a whole number >= 0 of senses in all, and one for every"
    ):
        policy.limit(supply)
    assert policy.limits == []


class Thrifty(bc.Policy):
    """Takes ten senses of everything at a time, as far as there are any, and then names nobody."""

    name, guarantee = "thrifty", "none"

    def _script(self):
        while True:
            yield lambda left: left.cut({j: (10,) * n for j, (n, _) in enumerate(self.alphabets)}) or None


class Stubborn(bc.Policy):
    """Takes ten senses of everything at a time."""

    name, guarantee = "stubborn", "none"

    def _script(self):
        while True:
            yield {j: (10,) * n for j, (n, _) in enumerate(self.alphabets)}


def recording(*sizes, seed=1):
    """As many trials of both inputs of each channel."""
    rng = np.random.default_rng(seed)
    return bc.Recording(
        [[(x, int(y)) for x in (0, 1) for y in rng.integers(2, size=n)] for n in sizes], alphabets=[(2, 2)] * len(sizes)
    )


def test_a_policy_that_plans_takes_all_that_is_left():
    sensor = recording(25, 7)
    result = bc.identify(sensor, Thrifty(sensor.alphabets, delta=0.1))
    assert (result.decided, result.senses, sensor.left) == (False, 64, [[0, 0], [0, 0]])
    assert [step.request.total for step in result.audit.steps] == [34, 20, 10]


def test_another_one_ends_before_the_request_that_is_too_large():
    sensor = recording(25, 17)
    result = bc.identify(sensor, Stubborn(sensor.alphabets, delta=0.1))
    assert (result.senses, sensor.left) == (40, [[15, 15], [7, 7]])


@pytest.mark.parametrize(("policy", "senses", "later"), [(Thrifty, 95, 4), (Stubborn, 80, 3)])
def test_the_limit_of_senses_is_used_up_by_those_who_plan(policy, senses, later):
    sensor = bc.Simulator([np.eye(2), np.eye(2)], rng=1)
    made = policy(sensor.alphabets, delta=0.1)
    assert bc.identify(sensor, made, max_senses=95).senses == senses
    assert bc.identify(sensor, made, max_senses=200).senses == 200
    assert [(request, supply.total) for request, supply in made.limits] == [(1, 95), (later, 200)]


def test_an_open_request_is_planned_anew_when_the_limits_change():
    policy = Thrifty([(2, 2)], delta=0.1)
    assert policy.ask().total == 20
    policy.limit(Supply(7))
    assert policy.ask().senses == {0: (4, 3)}
    policy.limit(Supply(0))
    assert policy.ask() is None
    policy.limit(Supply())
    assert policy.ask().total == 20


def test_a_fresh_recording_goes_on_after_what_the_policy_was_told():
    policy = Thrifty([(2, 2)], delta=0.1)
    once, again = recording(40), recording(40)
    bc.identify(once, policy, max_senses=60)
    result = bc.identify(again, policy)
    assert (result.senses, again.left) == (80, [[0, 0]])
    told = sum(step.counts[0] for step in result.audit.steps)
    np.testing.assert_array_equal(told, next(iter(again.counts.values())))


def test_another_recording_is_used_from_its_beginning():
    policy = Thrifty([(2, 2)], delta=0.1)
    bc.identify(recording(40), policy)
    result = bc.identify(recording(40, seed=2), policy)
    assert result.senses == 160


def test_a_plan_that_fails_breaks_the_policy_off():
    class Failing(bc.Policy):
        name, guarantee = "failing", "none"

        def _script(self):
            yield lambda left: {0: (1, 1)} if left.total is None else {0: 1 / left.total}

    policy = Failing([(2, 2)], delta=0.1)
    with pytest.raises(ZeroDivisionError):
        policy.limit(Supply(0))
    with pytest.raises(InputError, match="broke off"):
        policy.ask()


def test_what_was_left_is_kept_with_the_result():
    sensor = recording(25, 7)
    result = bc.identify(sensor, Thrifty(sensor.alphabets, delta=0.1), max_senses=50)
    document = json.loads(json.dumps(as_document(result)))
    assert document["audit"]["limits"] == [{"request": 1, "max_senses": 50, "recorded": {"0": [25, 25], "1": [7, 7]}}]
    assert from_document(document).audit.limits == result.audit.limits
