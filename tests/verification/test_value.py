"""Capacities of the verifier's own: textbook values, and bounds that hold."""

import math

import numpy as np
import pytest

from bestchannel.verification.value import binary_value, capacity_bracket, information

CLOSE = 1e-10


def close(low, high):
    return high - low < CLOSE


def entropy(p):
    return -p * math.log(p) - (1 - p) * math.log(1 - p)


@pytest.mark.parametrize(
    ("W", "nats"),
    [
        ([[0.9, 0.1], [0.1, 0.9]], math.log(2) - entropy(0.1)),  # [CT06, 7.1.4]
        ([[1.0, 0.0], [0.3, 0.7]], math.log(1 + 0.7 * 0.3 ** (0.3 / 0.7))),  # Z: the derivative in p is 0 there
        ([[0.6, 0.4, 0.0], [0.0, 0.4, 0.6]], 0.6 * math.log(2)),  # erasures [CT06, 7.1.5]
        (np.eye(5).tolist(), math.log(5)),
        ([[0.2, 0.8]] * 3, 0.0),
    ],
)
def test_bracket_holds_the_capacity_of_textbook_channels(W, nats):
    low, high = capacity_bracket(np.array(W), close)
    assert low - 1e-14 <= nats <= high + 1e-14
    assert high - low < 2 * CLOSE


@pytest.mark.parametrize("seed", range(10))
def test_bracket_closes_for_random_channels_with_idle_inputs(seed):
    W = np.random.default_rng(seed).dirichlet(np.full(6, 0.5), size=8)
    low, high = capacity_bracket(W, close)
    assert 0.0 <= high - low < 1e-6


@pytest.mark.parametrize("seed", range(10))
def test_binary_value_is_the_capacity_of_two_rows(seed):
    a, b = np.random.default_rng(seed).beta(0.3, 0.3, size=2)
    low, high = capacity_bracket(np.array([[1 - a, a], [1 - b, b]]), close)
    found = float(binary_value(np.array([a]), np.array([b]), None)[0])
    assert low - 1e-13 <= found <= high + 1e-13


@pytest.mark.parametrize("p", [0.0, 0.2, 0.5])
def test_binary_value_at_a_fixed_input_is_the_mutual_information(p):
    a, b = 0.1, 0.85
    found = float(binary_value(np.array([a]), np.array([b]), p)[0])
    assert found == pytest.approx(information(np.array([1 - p, p]), np.array([[1 - a, a], [1 - b, b]])), abs=1e-14)


def test_binary_value_of_equal_rows_is_next_to_nothing_and_never_below():
    a = np.array([0.0, 0.3, 1.0])
    assert (binary_value(a, a, None) <= 1e-9).all()
    assert (binary_value(a, a, None) >= 0.0).all()


@pytest.mark.parametrize("b", [1e-10, 1e-9, 2e-9])
def test_binary_value_of_nearly_equal_rows_is_not_below_their_capacity(b):
    # a Z channel: log(1 + b (1-b)^((1-b)/b))
    capacity = math.log1p(b * (1 - b) ** ((1 - b) / b))
    assert capacity <= float(binary_value(np.array([0.0]), np.array([b]), None)[0]) * (1 + 1e-6)
