"""Entropy, divergence and mutual information, against ball arithmetic and facts about them."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bestchannel import Channel, InputError, mutual_information
from bestchannel.channels import bsc
from bestchannel.information import binary_entropy, divergences_nats
from tests.properties.channel_strategies import channels, distributions
from tests.reference import ball

EPS = np.finfo(float).eps


@pytest.mark.parametrize("p", [0.0, 5e-324, 1e-300, 1e-9, 0.11, 0.25, 0.5, 0.75, 1 - 2**-53, 1.0])
def test_binary_entropy_is_that_of_two_outcomes(p):
    with ball.precision():
        exact = float(ball.binary_entropy(p))
    # 1-p is rounded by at most eps/2, which moves h by that times log2(1-p) - log2(p) <= 54 where p >= eps/2,
    # and loses p log2(e) below; the logarithms and products round by some eps of numbers <= 1
    assert abs(binary_entropy(p) - exact) <= (54 / 2 + 4) * EPS


def test_binary_entropy_of_a_quarter_is_two_minus_three_quarters_log_three():
    # h(1/4) = 1/4 log2 4 + 3/4 log2(4/3)
    assert binary_entropy(0.25) == pytest.approx(2 - 0.75 * math.log2(3), rel=4 * EPS, abs=0.0)


@given(data=st.data(), W=channels())
def test_divergences_are_what_ball_arithmetic_says(data, W):
    Q = data.draw(distributions(W.shape[1]))
    assume(np.all((Q == 0.0) | (Q > 1e-290)))  # below, W/Q may overflow: a test of its own
    D = divergences_nats(W, Q)
    with ball.precision():
        for x, row in enumerate(W):
            exact = ball.divergence(ball.exact(row), ball.exact(Q)) * ball.flint.arb(2).log()
            if D[x] == math.inf:
                assert exact == ball.flint.arb("inf")
                continue
            # The function adds sum Q - sum W, the defect of the rounded sums, which vanishes for distributions.
            exact = float(exact + sum(ball.exact(Q)) - sum(ball.exact(row)))
            # Every term Q psi(u) is >= 0. 1+u = W/Q is off by eps, which |log| <= 37 multiplies where W < Q;
            # elsewhere the terms are good to some units in the last place.
            assert D[x] == pytest.approx(exact, rel=64 * EPS, abs=0.0)


@pytest.mark.parametrize("d", [1e-1, 1e-4, 1e-8])
def test_divergence_of_nearly_equal_rows_keeps_its_relative_accuracy(d):
    d = 2.0 ** round(math.log2(d))  # dyadic, so that the entries are exact
    W, Q = np.array([[0.5 + d, 0.5 - d]]), np.array([0.5, 0.5])
    with ball.precision():
        exact = float(ball.divergence(ball.exact(W[0]), ball.exact(Q)) * ball.flint.arb(2).log())
    assert divergences_nats(W, Q)[0] == pytest.approx(exact, rel=16 * EPS, abs=0.0)


def test_divergence_is_infinite_where_the_output_cannot_occur():
    D = divergences_nats(np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([1.0, 0.0]))
    assert D.tolist() == [math.inf, 0.0]


def test_divergences_of_a_stack_are_those_of_its_channels():
    rng = np.random.default_rng(3)
    W, Q = rng.dirichlet(np.ones(3), size=(2, 4, 5)), rng.dirichlet(np.ones(3), size=(2, 4))
    D = divergences_nats(W, Q)
    assert D.shape == (2, 4, 5)
    for i in np.ndindex(2, 4):
        assert np.array_equal(D[i], divergences_nats(W[i], Q[i]))


@given(data=st.data(), W=channels())
def test_mutual_information_is_what_ball_arithmetic_says(data, W):
    P = data.draw(distributions(W.shape[0]))
    assume(np.all((P == 0.0) | (P > 1e-290)) and np.all((W == 0.0) | (P[:, None] * W > 1e-290)))  # likewise
    with ball.precision():
        exact = float(ball.mutual_information(P, W))
    # P, W and PW are rounded: some units in the last place of numbers <= 1, times the logarithms' size
    allowed = 16 * len(P) * EPS * (1.0 + math.log2(W.shape[1]))
    assert abs(mutual_information(P, W) - exact) <= allowed


def test_mutual_information_of_a_uniform_input_through_a_bsc_is_one_minus_its_entropy():
    assert mutual_information([0.5, 0.5], bsc(0.25)) == pytest.approx(1 - binary_entropy(0.25), abs=4 * EPS)


def test_mutual_information_does_not_see_inputs_that_are_never_used():
    W = [[0.75, 0.25, 0.0], [0.25, 0.75, 0.0], [0.0, 0.0, 1.0]]
    assert mutual_information([0.5, 0.5, 0.0], W) == mutual_information([0.5, 0.5], bsc(0.25))


def test_mutual_information_is_zero_for_a_sure_input_and_for_a_useless_channel():
    assert mutual_information([0.0, 1.0], bsc(0.1)) == 0.0
    assert mutual_information([0.25, 0.75], [[0.5, 0.5], [0.5, 0.5]]) == 0.0


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("P", "W"),
    [
        ([5e-324, 1.0], [[1.0, 0.0], [0.0, 1.0]]),
        ([1e-310, 1.0], [[1.0, 0.0], [0.0, 1.0]]),
        ([2.3e-308, 1.0], [[1.0, 0.0], [0.0, 1.0]]),
        ([1e-300, 1.0], [[1.0, 1e-30], [1.0, 0.0]]),
    ],
)
def test_mutual_information_is_finite_for_an_input_of_tiny_probability(P, W):
    # I <= h(P_0) < 1100 P_0
    assert 0.0 <= mutual_information(P, W) <= 1100 * P[0]


@pytest.mark.parametrize(
    ("P", "message"),
    [
        ([1.0], "the input distribution must be a vector of 2 probabilities; its shape is (1,)"),
        ([[0.5, 0.5]], "the input distribution must be a vector of 2 probabilities; its shape is (1, 2)"),
        ([0.5, np.nan], "row x=0, column y=1 of the input distribution must be a finite number >= 0; it is nan"),
        ([1.5, -0.5], "row x=0, column y=1 of the input distribution must be a finite number >= 0; it is -0.5"),
        ([], "the input distribution must not be empty; its shape is (0,)"),
    ],
)
def test_what_is_no_input_distribution_is_refused(P, message):
    with pytest.raises(InputError) as refused:
        mutual_information(P, bsc(0.1))
    assert str(refused.value) == message


def test_an_input_that_does_not_sum_to_one_is_refused():
    with pytest.raises(InputError, match=r"the input distribution must sum to 1 within 1e-09; it sums to 0\.9$"):
        mutual_information([0.5, 0.4], Channel.from_rows([[1.0, 0.0], [0.0, 1.0]]))
