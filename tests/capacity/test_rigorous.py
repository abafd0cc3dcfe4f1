"""The rigorous mode: a bracket that is a theorem about the doubles given."""

import subprocess
import sys

import flint
import numpy as np
import pytest

import bestchannel as bc
from bestchannel.channels import bsc
from tests.capacity.hostile import KINDS
from tests.reference import ball

SHAPES = [(1, 1), (1, 4), (4, 1), (2, 2), (3, 5), (6, 2), (5, 5)]


def samples(kind):
    rng = np.random.default_rng([13, list(KINDS).index(kind)])
    return [KINDS[kind](rng, 1, n, m)[0] for n, m in SHAPES]


@pytest.mark.parametrize("kind", KINDS)
def test_the_rigorous_bracket_is_proved_by_its_distributions_and_meets_the_plain_one(kind):
    for W in samples(kind):
        rigorous, plain = bc.capacity(W, tol=1e-10, rigorous=True), bc.capacity(W, tol=1e-10)
        assert rigorous.rigorous
        assert not plain.rigorous
        assert rigorous.converged
        assert 0.0 <= rigorous.lower <= rigorous.upper
        assert rigorous.lower <= plain.upper
        assert plain.lower <= rigorous.upper
        with ball.precision():
            assert not ball.surely_below(ball.mutual_information(rigorous.input, W), rigorous.lower)
            assert not ball.surely_below(rigorous.upper, ball.largest_divergence(W, rigorous.output))


def test_the_ends_are_rounded_outwards_and_no_further_than_needed():
    # the uniform input is optimal and found at once: the bracket is the rounding of one number, two steps a side
    C = bc.capacity(bsc(0.25), rigorous=True)
    with ball.precision():
        truth = float(1 - ball.binary_entropy(0.25))
    assert C.lower < truth < C.upper
    assert C.gap <= 4 * np.spacing(truth)


def test_rows_are_divided_by_their_exact_sum():
    # 0.1 + 0.9 in doubles is not 1: the channel is the one of crossover 0.1/(0.1 + 0.9), exactly
    C = bc.capacity([[0.9, 0.1], [0.1, 0.9]], rigorous=True)
    with ball.precision():
        p = ball.rows_of([[0.9, 0.1]])[0][1]
        truth = 1 - ball.binary_entropy(p)
        assert not ball.surely_below(truth, C.lower)
        assert not ball.surely_below(C.upper, truth)


def test_the_precision_of_the_caller_is_left_alone():
    before = flint.ctx.prec
    bc.capacity([[0.9, 0.1], [0.1, 0.9]], rigorous=True)
    assert flint.ctx.prec == before


def floored_value(P, W, eta):
    """min over Q >= eta of sum_x P_x D(W_x || Q), from above and below, in balls.

    The candidate Q = max(q/xi, eta) is tried for the xi of every number of letters at the floor; the largest of
    the Lagrangian bounds is a lower bound, and the smallest value of a feasible candidate an upper one.
    """
    P, rows = ball.scaled(ball.exact(P)), ball.rows_of(W)
    q = [sum((p * row[y] for p, row in zip(P, rows, strict=True)), start=flint.arb(0)) for y in range(len(rows[0]))]
    order = sorted(range(len(q)), key=lambda y: float(q[y]))
    best = None
    for raised in range(len(q)):
        kept = sum((q[y] for y in order[raised:]), start=flint.arb(0))
        xi = kept / (1 - flint.arb(eta) * raised)
        Q = [(v / xi).max(flint.arb(eta)) for v in q]
        value = sum((p * ball.divergence(row, Q) for p, row in zip(P, rows, strict=True) if p != 0), start=flint.arb(0))
        bound = value + xi * (sum(Q) - 1) / flint.arb(2).log()
        best = bound if best is None else best.max(bound)
    return best


@pytest.mark.parametrize("share", [1.0, 0.7, 0.1, 1e-6])
@pytest.mark.parametrize("seed", range(12))
def test_the_rigorous_pseudo_capacity_is_narrow_and_proved(seed, share):
    rng = np.random.default_rng(seed)
    n, m = rng.integers(1, 6, 2)
    W, eta = rng.dirichlet(np.full(m, 0.3), n), share / (2 * m)
    C = bc.pseudo_capacity(W, eta, rigorous=True)
    assert C.converged
    assert C.lower <= C.upper
    with ball.precision():
        assert not ball.surely_below(floored_value(C.input, W, eta), C.lower)
        output = np.maximum(C.output, eta)
        # `output` may be short of eta by a rounding, which the library mends; raising it instead loses m eps
        proved = ball.largest_divergence(W, output) - m * 2.0**-50
        assert not ball.surely_below(C.upper, proved)


# (0, 3/16, 13/16) with eta = 1/6 needs a second round of filling: see the closed forms
def test_the_rigorous_lower_end_finds_every_letter_at_the_floor():
    C = bc.pseudo_capacity([[0.0, 3 / 16, 13 / 16]], 1 / 6, rigorous=True)
    assert C.converged


@pytest.mark.parametrize("W", [[[1.0, 0.0]], [[1.0, 0.0, 0.0]], [[0.75, 0.25, 0.0], [0.25, 0.75, 0.0]]])
@pytest.mark.parametrize("eta", [1e-300, 1e-20, 1 / 7, 1 / 6])
def test_an_output_lifted_to_the_floor_is_still_a_distribution(W, eta):
    # an unused output is held at eta exactly: C_eta = C - log2(1 - unused eta)
    unused = len(W[0]) - len(W)
    C = bc.pseudo_capacity(W, eta, rigorous=True)
    with ball.precision():
        base = ball.flint.arb(0) if len(W) == 1 else 1 - ball.binary_entropy(0.25)
        truth = base - ball.log2(1 - unused * flint.arb(eta))
        assert not ball.surely_below(C.upper, truth)
        assert not ball.surely_below(truth, C.lower)


PRICES = [
    ([0.0, 1.0], 0.3),
    ([0.1, 0.4], 0.2),
    ([1e9, 1e9 + 3.0], 1e9 + 1.0),
    ([-1e-9, 0.1], 0.03),
    ([0.37837681321599664, 6.718991273457003], 0.905574199268903),
    ([-0.0008218717464695766, -0.0003318200008402043], -0.0006957359360480878),
]


@pytest.mark.parametrize(("cost", "budget"), PRICES)
@pytest.mark.parametrize("tol", [1e-9, 1e-16])
def test_the_rigorous_bracket_under_a_cost_holds_for_the_prices_as_given(cost, budget, tol):
    # the noiseless binary channel: C(B) = h(b), b = (B - c0) / (c1 - c0) <= 1/2, for the exact doubles
    C = bc.capacity(np.eye(2), cost=cost, budget=budget, rigorous=True, tol=tol)
    with ball.precision():
        c0, c1, B = (flint.arb(v) for v in (*cost, budget))
        truth = ball.binary_entropy((B - c0) / (c1 - c0))
        assert not ball.surely_below(truth, C.lower)
        assert not ball.surely_below(C.upper, truth)


def test_without_python_flint_the_rigorous_mode_says_what_to_install():
    script = """
import sys
sys.modules["flint"] = None  # as if it were not installed
import bestchannel as bc
from bestchannel.errors import MissingExtraError
assert bc.capacity([[1, 0], [0, 1]]).converged
try:
    bc.capacity([[1, 0], [0, 1]], rigorous=True)
except MissingExtraError as error:
    assert isinstance(error, ImportError) and isinstance(error, bc.BestChannelError)
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout == 'the rigorous mode needs an optional package: pip install "bestchannel[rigorous]"\n'
