"""Hostile channels: every kind converges, by either solver, with bounds that are checked apart from it."""

import numpy as np
import pytest

import bestchannel as bc
from bestchannel import Capacities
from bestchannel.capacity import dense
from bestchannel.capacity.stack import Tolerance, rounding_compensated
from tests.capacity.hostile import (
    GOAL,
    KINDS,
    SHAPES,
    STACK_OPTIONS,
    boundary_ties,
    contradicted,
    cost,
    count_faults,
    divergences,
    exclusions,
    faults,
    floor,
    outside_of_balls,
    unused_outputs,
)
from tests.reference import ball

EACH = -(-100_000 // (len(KINDS) * len(SHAPES)))
"""So many channels a kind and shape make 10^5 together."""


def generator(kind, *more):
    return np.random.default_rng([11, list(KINDS).index(kind), *more])


@pytest.mark.parametrize("kind", KINDS)
def test_a_hundred_thousand_hostile_channels_converge_with_valid_certificates(kind):
    make = KINDS[kind]
    failed = {shape: count_faults(make(generator(kind, *shape), EACH, *shape)) for shape in SHAPES}
    assert {shape: count for shape, count in failed.items() if count} == {}


def by_blas(W):
    """The answers of the dense solver for a stack, as the library would give them."""
    tolerance, (n, m) = Tolerance(GOAL), W.shape[1:]
    rounding = rounding_compensated(n, m)
    goal = tolerance.goal_nats(rounding)
    points = [dense.solve(dense.Problem(V / V.sum(axis=1, keepdims=True)), goal, 1.0) for V in W]
    ends = np.array([[getattr(point, end) for point in points] for end in ("low", "high")])
    bracket = tolerance.bracket(ends, (n, m), rounding)
    return Capacities(*bracket, np.array([point.P for point in points]), np.array([point.Q for point in points]))


@pytest.mark.parametrize("kind", KINDS)
def test_the_dense_solver_converges_on_hostile_channels(kind):
    for shape in SHAPES:
        W = KINDS[kind](generator(kind, *shape, 1), 2, *shape)
        assert not faults(W, by_blas(W)).any(), W[faults(W, by_blas(W))].tolist()


def false_or_wide(W, rtol):
    """Why the answer under a relative tolerance is wrong, or nothing.

    Below 1e-12 bit the rows differ by so little that their own rounding, some 1e-16, is a
    relative 1e-9 of what matters: the bracket must still hold, but need not be narrow.
    """
    answer = bc.capacities(W[None], tol=1.0, rtol=rtol).at(0)
    with ball.precision():
        achieved = ball.mutual_information(answer.input, W)
        proved = ball.largest_divergence(W, answer.output).min(ball.log2(min(W.shape)))
        if ball.surely_below(achieved, answer.lower):
            return f"lower end {answer.lower} but the input achieves {achieved.str(10)}"
        if ball.surely_below(answer.upper, proved):
            return f"upper end {answer.upper} but the output proves {proved.str(10)}"
    if answer.upper > 1e-12 and not (answer.converged and answer.gap <= rtol * answer.upper):
        return f"gap {answer.gap} at {answer.upper}"
    return None


@pytest.mark.parametrize("kind", KINDS)
def test_a_relative_tolerance_is_met_by_a_true_bracket_on_hostile_channels(kind):
    rng = generator(kind, 2)
    for n, m in rng.permutation(SHAPES)[:24]:
        W = KINDS[kind](rng, 1, n, m)[0]
        assert false_or_wide(W, 1e-6) is None, W.tolist()


@pytest.mark.parametrize("shape", [(3, 3), (500, 2), (2, 500), (120, 20), (5000, 2)], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_ball_arithmetic_contradicts_no_bracket(kind, shape):
    W = KINDS[kind](generator(kind, *shape, 3), 1, *shape)
    for options in STACK_OPTIONS:
        assert exclusions(W, bc.capacities(W, **options)) == 0
    if shape != (5000, 2):
        assert not outside_of_balls(W[0], floor)
        assert not outside_of_balls(W[0], cost)


def repeated(rows, times):
    return np.tile(rows, (times, 1))


@pytest.mark.parametrize("options", [{}, {"rtol": 1e-6}, {"cost": [0.0, 1.0] * 2500, "budget": 0.5}], ids=str)
def test_five_thousand_equal_rows_have_capacity_0(options):
    answer = bc.capacity(np.full((5000, 2), 0.5), **options)
    assert answer.lower == 0.0
    assert answer.upper <= 1e-12
    assert bc.pseudo_capacity(np.full((5000, 2), 0.5), 0.25).lower == 0.0


@pytest.mark.parametrize("times", [1, 1000, 30_000, 50_000])
def test_a_symmetric_pair_of_rows_has_its_capacity_however_often_it_is_repeated(times):
    answer = bc.capacity(repeated([[0.9, 0.1], [0.1, 0.9]], times))
    with ball.precision():
        # for the rows divided by their exact sums; both rows hold the same two doubles
        exact = 1 - ball.entropy(ball.scaled(ball.exact([0.9, 0.1])))
        assert ball.surely_below(answer.lower, exact)
        assert ball.surely_below(exact, answer.upper)
    assert answer.converged


def test_what_is_proved_takes_few_inputs_of_many():
    rng = np.random.default_rng(3)
    answer = bc.capacity(rng.dirichlet(np.ones(3), 60_000))
    assert answer.converged
    assert np.count_nonzero(answer.input) <= 500


def test_the_check_in_balls_notices_ends_that_are_off_by_little():
    W = KINDS["uniform_on_the_simplex"](np.random.default_rng(1), 1, 4, 4)
    good = bc.capacities(W)
    fields = {name: getattr(good, name) for name in ("lower", "upper", "converged", "input", "output")}
    assert exclusions(W, good) == 0
    assert exclusions(W, Capacities(**fields | {"lower": good.lower + 1e-12})) == 1
    assert exclusions(W, Capacities(**fields | {"upper": good.upper - 1e-12})) == 1
    assert contradicted(W[0], Capacities(**fields | {"upper": good.upper - 1e-12}).at(0))


@pytest.mark.parametrize("shape", [(100, 100), (300, 20), (20, 300)], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_hostile_channels_of_a_hundred_letters_converge(kind, shape):
    W = KINDS[kind](generator(kind, *shape), 1, *shape)
    assert count_faults(W) == 0


@pytest.mark.parametrize("n", [17, 18, 32, 33, 64, 65])
def test_sizes_at_the_border_between_the_solvers_converge(n):
    # 17 inputs: the last that goes to the lanes alone; 32: the last that does so in a stack
    for count in (1, 7, 8):
        assert count_faults(unused_outputs(np.random.default_rng(n), count, n, 9)) == 0
        assert count_faults(boundary_ties(np.random.default_rng(n), count, n, 9)) == 0


# The generators and the check themselves.


@pytest.mark.parametrize("kind", KINDS)
def test_hostile_channels_are_channels(kind):
    for shape in SHAPES:
        W = KINDS[kind](generator(kind, *shape), 3, *shape)
        assert W.shape == (3, *shape)
        assert np.all(np.isfinite(W) & (W >= 0.0))
        assert np.abs(W.sum(axis=-1) - 1.0).max() <= 1e-9


def test_boundary_ties_have_all_divergences_equal_to_the_capacity():
    for shape in [(3, 3), (8, 4), (5, 8)]:
        W = boundary_ties(np.random.default_rng(5), 20, *shape)
        C = bc.capacities(W, tol=GOAL)
        D = divergences(W, C.output[:, None, :]) / np.log(2.0)
        # bisection meets the divergence to 1e-15; the output is within the gap of the optimal one, and a
        # gap of 1e-10 moves it by at most sqrt(2e-10) = 1.4e-5 (Pinsker), D by as much times log-ratios below 10
        assert np.abs(D - C.upper[:, None]).max() <= 1.5e-4


def test_the_check_notices_bounds_that_are_not_proved():
    W = KINDS["uniform_on_the_simplex"](np.random.default_rng(1), 8, 4, 4)
    good = bc.capacities(W, tol=GOAL)
    assert not faults(W, good).any()
    shift = 1e-11

    def answer(**change):
        fields = {name: getattr(good, name) for name in ("lower", "upper", "converged", "input", "output")}
        return Capacities(**(fields | change))

    assert faults(W, answer(lower=good.lower + shift, upper=good.upper + shift)).all()
    assert faults(W, answer(lower=good.lower - shift, upper=good.upper - shift)).all()
    assert faults(W, answer(lower=good.lower - 2 * GOAL)).all()
    assert faults(W, answer(converged=~good.converged)).all()
    assert faults(W, answer(input=good.input * 1.001)).all()
    assert faults(W, answer(input=good.input[:, ::-1])).all()
    assert faults(W, answer(output=good.output[:, ::-1])).all()
