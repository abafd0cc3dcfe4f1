"""The promise of `estimate`: no interval ever misses, with probability 1 - δ, however one senses and whenever one looks.

An adversary senses mostly the input whose answers look cleanest so far, and looks after every block
of senses; a run misses if any look does. 60 runs at δ = 0.1: an interval that keeps its promise
misses more than 19 times once in a million. The twin has a tenth of the threshold. Where the
interval is dear to compute, 30 runs may miss 13 times, and the twin has a twentieth.
"""

import numpy as np
import pytest

from bestchannel.capacity import capacity
from bestchannel.channels import bsc, random_channel, z_channel
from bestchannel.information import NATS_PER_BIT
from bestchannel.intervals.region import joint_threshold, lower_end, row_thresholds, upper_end
from tests.statistical.limits import most_failures

DELTA, LOOKS = 0.1, 7

CASES = {
    "BSC(0.1)": (bsc(0.1), 60, 10.0),
    "Z(0.5)": (z_channel(0.5), 60, 10.0),
    "random 2x3": (random_channel(2, 3, rng=np.random.default_rng(3)), 30, 20.0),
    "useless": (bsc(0.5), 60, 10.0),
}
"""The channel, how many runs it takes, and what the threshold of the twin is divided by."""

every_case = pytest.mark.parametrize(("channel", "runs", "divisor"), CASES.values(), ids=CASES)


def ever_misses(W, true, rng, divisor):
    counts = np.stack([rng.multinomial(8, row) for row in W])
    for _ in range(LOOKS):
        low = lower_end(counts, joint_threshold(counts, DELTA / 2) / divisor)
        high = upper_end(counts, row_thresholds(counts, DELTA / 2) / divisor)
        if not low <= true.upper * NATS_PER_BIT or not true.lower * NATS_PER_BIT <= high:
            return True
        block = int(counts.sum() // 2)
        frequencies = counts / counts.sum(axis=1, keepdims=True)
        x = int(np.argmax(frequencies.max(axis=1)))
        shares = np.full(len(W), block // 4)
        shares[x] = block
        counts = counts + np.stack([rng.multinomial(n, row) for n, row in zip(shares, W, strict=True)])
    return False


def misses(W, runs, divisor):
    true = capacity(W, tol=1e-12)
    rng = np.random.default_rng(77)
    return sum(ever_misses(W, true, rng, divisor) for _ in range(runs))


def test_limits_are_those_of_the_docstring():
    assert [most_failures(runs, DELTA) for runs in (60, 30)] == [19, 13]


@every_case
def test_interval_ever_misses_no_more_often_than_delta(channel, runs, divisor):
    assert misses(channel.W, runs, 1.0) <= most_failures(runs, DELTA)


@every_case
def test_interval_with_a_fraction_of_the_threshold_is_noticed(channel, runs, divisor):
    assert misses(channel.W, runs, divisor) > most_failures(runs, DELTA)
