"""The arguments of capacity, pseudo_capacity and capacities_by_name, and what they answer with."""

import dataclasses

import numpy as np
import pytest

import bestchannel as bc
from bestchannel import Channel, InputError
from bestchannel.capacity import capacities_by_name
from bestchannel.channels import bec, bsc, z_channel

W = [[0.9, 0.1], [0.2, 0.8]]


@pytest.mark.parametrize("tol", [0.0, -1.0, np.nan, np.inf, None, "1e-9", True])
@pytest.mark.parametrize(
    "call", [bc.capacity, bc.capacities, lambda W, **options: bc.pseudo_capacity(W, 0.1, **options)]
)
def test_a_tolerance_must_be_a_number_above_zero(call, tol):
    with pytest.raises(InputError, match=r"^tol \(the widest bracket allowed, in bits\) must (lie in|be a number)"):
        call(W, tol=tol)


@pytest.mark.parametrize("rtol", [0.0, -1.0, 1.5, np.nan, "x"])
def test_a_relative_tolerance_must_lie_between_zero_and_one(rtol):
    with pytest.raises(InputError, match=r"^rtol must (lie in \(0, 1\]|be a number); it is "):
        bc.capacity(W, rtol=rtol)


@pytest.mark.parametrize("eta", [0.0, -0.1, 0.2500001, np.nan, "0.1"])
def test_the_floor_must_lie_above_zero_and_at_most_half_of_uniform(eta):
    with pytest.raises(
        InputError, match=r"^eta \(the least probability of an output\) must (lie in \(0, 0\.25\]|be a num)"
    ):
        bc.pseudo_capacity(W, eta)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cost": [0, 1]}, "a cost and a budget are given together or not at all"),
        ({"budget": 1.0}, "a cost and a budget are given together or not at all"),
        ({"cost": [0, 1, 2], "budget": 1.0}, "the cost must be 2 finite numbers, one per input; it is [0, 1, 2]"),
        ({"cost": [0, np.inf], "budget": 1.0}, "the cost must be 2 finite numbers, one per input; it is [0, inf]"),
        ({"cost": [0, np.nan], "budget": 1.0}, "the cost must be 2 finite numbers, one per input; it is [0, nan]"),
        (
            {"cost": [-1e308, 1e308], "budget": 0.0},
            "the cost of x=0 must lie in [-1e+300, 1e+300]; it is -1e+308: choose another unit",
        ),
        ({"cost": [1, 2], "budget": 0.5}, "the budget must be at least the cheapest input's cost 1; it is 0.5"),
        ({"cost": [1, 2], "budget": "much"}, "the budget must be a number; it is 'much'"),
        ({"cost": [1, 2], "budget": np.nan}, "the budget must lie in (-1e+300, 1e+300]; it is nan"),
    ],
)
def test_a_cost_or_budget_that_makes_no_sense_is_refused(options, message):
    with pytest.raises(InputError) as refused:
        bc.capacity(W, **options)
    assert str(refused.value) == message


def test_costs_that_no_unit_holds_together_are_refused():
    with pytest.raises(InputError, match=r"^the costs must differ from the least by 0, or by 1e-200 .* x=1 differs by"):
        bc.capacity(np.eye(3), cost=[0, 1e-250, 1], budget=0.5)


@pytest.mark.parametrize("call", [bc.capacity, lambda rows: bc.pseudo_capacity(rows, 0.1)])
def test_a_channel_is_refused_by_the_words_of_the_channel(call):
    with pytest.raises(
        InputError, match=r"^row x=1, column y=0 of the channel must be a finite number >= 0; it is -1$"
    ):
        call([[0.5, 0.5], [-1.0, 2.0]])


def test_rows_and_channel_are_answered_alike():
    assert bc.capacity(W).upper == bc.capacity(Channel.from_rows(W)).upper


def test_normalize_divides_the_rows():
    scaled = bc.capacity([[1.8, 0.2], [0.2, 0.8]], normalize=True)
    exact = bc.capacity(W)
    assert scaled.lower <= exact.upper + 1e-15  # 1.8/2 and 0.9 may differ in the last bit
    assert exact.lower <= scaled.upper + 1e-15


def test_answers_are_frozen_and_the_gap_is_the_difference():
    C, many = bc.capacity(W), bc.capacities([W, W])
    assert C.gap == C.upper - C.lower
    assert np.array_equal(many.gap, many.upper - many.lower)
    for answer in (C, many):
        with pytest.raises(dataclasses.FrozenInstanceError):
            answer.lower = 0.0


@pytest.mark.parametrize("tol", [1e-2, 1e-6, 1e-10, 1e-13])
@pytest.mark.parametrize("n", [4, 30, 120])
def test_the_gap_meets_the_tolerance(tol, n):
    rows = np.random.default_rng(n).dirichlet(np.ones(6), n)
    C = bc.capacity(rows, tol=tol)
    assert C.converged
    assert C.gap <= tol


@pytest.mark.parametrize("options", [{"tol": 1e-300}, {"rtol": 1e-300}, {"tol": 1e-300, "rigorous": True}])
@pytest.mark.parametrize("n", [4, 30])
def test_a_tolerance_beyond_double_precision_is_reported_as_not_met_by_a_bracket_that_holds(options, n):
    rows = np.random.default_rng(n).dirichlet(np.ones(6), n)
    C, wide = bc.capacity(rows, **options), bc.capacity(rows)
    assert not C.converged
    assert C.lower <= wide.upper
    assert wide.lower <= C.upper
    assert C.gap <= 1e-9  # and it did its best


def test_both_tolerances_must_be_met():
    rows = [[0.5 + 1e-4, 0.5 - 1e-4], [0.5, 0.5]]  # C = 7e-9 bit
    assert bc.capacity(rows, tol=1e-6).converged
    C = bc.capacity(rows, tol=1e-6, rtol=1e-8)
    assert C.converged
    assert 0.0 < C.gap <= 1e-8 * C.upper


def test_named_channels_of_any_sizes_are_answered_in_their_order():
    named = {"z": z_channel(0.3), "e": bec(0.1), "b": bsc(0.1), "other z": z_channel(0.5)}
    calls = []
    answers = capacities_by_name(named, progress=lambda done, total: calls.append((done, total)))
    assert list(answers) == list(named)
    for name, channel in named.items():
        assert answers[name].upper == bc.capacity(channel).upper
        assert len(answers[name].output) == channel.n_outputs
    assert calls[-1] == (4, 4)


def test_named_channels_can_be_answered_rigorously():
    calls = []
    answers = capacities_by_name(
        {"e": bec(0.1), "b": bsc(0.1)}, rigorous=True, progress=lambda done, total: calls.append((done, total))
    )
    assert all(answer.rigorous for answer in answers.values())
    assert calls == [(1, 2), (2, 2)]
