"""The promise of Proposition 1: its interval misses the capacity with probability at most alpha.

300 draws a channel, number of senses and alpha. An interval that keeps its promise misses more than
36 times at alpha = 0.05, or more than 129 at alpha = 0.3, once in a million. Up to about 10^4 senses
the interval is the trivial one; at 10^6 it is still over a hundred standard errors wide.
The twin, a thousand times narrower, misses in more than half of the draws everywhere; a rate of
0.55 is noticed with probability 1 - 2e-5 at alpha = 0.3.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np
import pytest

from bestchannel import Simulator
from bestchannel.capacity import capacity
from bestchannel.channels import bsc, random_channel, z_channel
from bestchannel.information import binary_entropy
from bestchannel.intervals.paper_bounds import Rate
from bestchannel.intervals.plug_in import Functional, proposition_1
from bestchannel.policies import Request
from tests.statistical.limits import most_failures, power

DRAWS = 300
ALPHAS = (0.05, 0.3)
SENSES_PER_INPUT = (3, 30, 1000, 10**6)
THREE_BY_THREE = random_channel(3, 3, rng=np.random.default_rng(11))

# The capacities of the first two are their textbook formulas, that of the third a certified bracket 1e-12 wide.
CHANNELS = {
    "BSC(0.1)": (bsc(0.1), 1 - binary_entropy(0.1)),
    "Z(0.5)": (z_channel(0.5), math.log2(1 + 0.5 * 0.5)),
    "random 3x3": (THREE_BY_THREE, capacity(THREE_BY_THREE, tol=1e-12).lower),
}


class NarrowRate(Rate):
    def clipped_deviation(self, n, alpha):
        return super().clipped_deviation(n, alpha) / 1000


@dataclass(frozen=True)
class Overconfident(Functional):
    """A sabotaged capacity: Proposition 1 with a thousandth of its width."""

    def rate(self, n_inputs, n_outputs):
        return NarrowRate(n_inputs, n_outputs)


def misses(name, senses, alpha, functional):
    """How many of the draws give an interval without the true capacity."""
    channel, true_capacity = CHANNELS[name]
    sensor = Simulator([channel], rng=2024)
    request = Request(1, {0: (senses,) * channel.n_inputs})
    intervals = [proposition_1(sensor(request)[0], alpha, functional) for _ in range(DRAWS)]
    return sum(not found.lower <= true_capacity <= found.upper for found in intervals)


in_every_setting = pytest.mark.parametrize(
    ("name", "senses", "alpha"), list(itertools.product(CHANNELS, SENSES_PER_INPUT, ALPHAS))
)


def test_limits_and_power_are_those_of_the_docstring():
    assert [most_failures(DRAWS, alpha) for alpha in ALPHAS] == [36, 129]
    assert power(DRAWS, 0.3, 0.55) > 1 - 3e-5


@in_every_setting
def test_interval_misses_no_more_often_than_alpha(name, senses, alpha):
    assert misses(name, senses, alpha, Functional()) <= most_failures(DRAWS, alpha)


@in_every_setting
def test_interval_a_thousand_times_narrower_is_noticed(name, senses, alpha):
    assert misses(name, senses, alpha, Overconfident()) > most_failures(DRAWS, alpha)
