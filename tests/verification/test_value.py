"""Capacities of the verifier's own: textbook values, and bounds that hold."""

import math

import numpy as np
import pytest

from bestchannel.verification.paper_check import capacity_bracket

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
def test_bracket_holds_the_capacity_of_textbook_channels(W, nats):
    low, high = capacity_bracket(np.array(W), CLOSE)
    assert low - 1e-14 <= nats <= high + 1e-14
    assert high - low < 2 * CLOSE


@pytest.mark.parametrize("seed", range(10))
def test_bracket_closes_for_random_channels_with_idle_inputs(seed):
    W = np.random.default_rng(seed).dirichlet(np.full(6, 0.5), size=8)
    low, high = capacity_bracket(W, CLOSE)
    assert 0.0 <= high - low < 1e-6
