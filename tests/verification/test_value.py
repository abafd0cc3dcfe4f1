"""Capacities of the verifier's own: textbook values, and bounds that hold."""

import math

import numpy as np
import pytest

from bestchannel.verification import NotValidError
from bestchannel.verification.paper_check import capacity
from bestchannel.verification.verdict import Replay

CLOSE = 1e-10


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
def test_capacity_is_that_of_textbook_channels(W, nats):
    W = np.array(W)
    assert capacity(W, Replay.input_of(W)) == pytest.approx(nats, abs=CLOSE)


@pytest.mark.parametrize("seed", range(10))
def test_capacity_of_random_channels_with_idle_inputs_is_found(seed):
    W = np.random.default_rng(seed).dirichlet(np.full(6, 0.5), size=8)
    found = capacity(W, Replay.input_of(W))
    assert 0.0 <= found <= math.log(6)


def test_input_distribution_that_is_not_the_best_shows_no_capacity():
    W = np.array([[0.9, 0.1], [0.3, 0.7]])
    with pytest.raises(NotValidError, match="no input distribution was found"):
        capacity(W, Replay.input_of(W) + np.array([1e-4, -1e-4]))
