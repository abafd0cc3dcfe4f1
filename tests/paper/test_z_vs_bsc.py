"""The Z-channel against the BSC, with formulas written out once more."""

import math
from itertools import pairwise

import pytest
from z_vs_bsc import z_vs_bsc

from bestchannel import capacity
from bestchannel.channels import bsc, z_channel
from bestchannel.study.spec import bsc_of_capacity, z_capacity


def test_gap_vanishes_while_the_divergence_grows_without_end():
    rows = z_vs_bsc()
    gaps, divergences = [row["gap"] for row in rows], [row["divergence"] for row in rows]
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] < 1e-10
    assert divergences == sorted(divergences)
    # Each factor 10 of the leak adds p log 10 in the end, and p settles at 0.179: 0.412 nats.
    steps = [later - earlier for earlier, later in pairwise(divergences[5:])]
    assert steps == pytest.approx([rows[-1]["p"] * math.log(10)] * len(steps), rel=2e-3)


def test_theorem_4_stays_bounded_while_the_gap_vanishes():
    # One term tends to 0; the other to 1/max_x D(Z row‖BSC row), with rows (1, 0) and (q, 1-q).
    row = z_vs_bsc(0.5, [1e-12])[0]
    p = row["p"]
    flat = max(-math.log(1 - p), 0.5 * math.log(0.5 / p) + 0.5 * math.log(0.5 / (1 - p)))
    # What the vanishing term leaves is 1/divergence.
    assert row["theorem4"] == pytest.approx(1 / flat + 1 / row["divergence"], rel=1e-6)
    assert row["theorem4"] < 5


@pytest.mark.parametrize("q", [0.1, 0.5, 0.9])
def test_divergence_is_the_smaller_of_two_relabellings(q):
    # Relabelling a BSC exchanges p and 1-p, nothing else.
    row = z_vs_bsc(q, [1e-4])[0]

    def worst(p):
        def kl(a, b):
            return a * math.log(a / b) + (1 - a) * math.log((1 - a) / (1 - b))

        return max(kl(p, 1e-4), kl(1 - p, 1 - q))

    assert row["divergence"] == pytest.approx(min(worst(row["p"]), worst(1 - row["p"])), rel=1e-9)


def test_gap_is_the_difference_of_the_certified_capacities():
    row = z_vs_bsc(0.3, [1e-3])[0]
    # Each capacity is certified to 1e-9 bit.
    assert capacity(bsc(row["p"])).lower == pytest.approx(row["capacity_z"] - row["gap"], abs=2e-9)


@pytest.mark.parametrize("q", [0.01, 0.3, 0.5, 0.8])
def test_z_capacity_is_the_certified_one(q):
    answer = capacity(z_channel(q), tol=1e-12)
    assert answer.lower - 1e-14 <= z_capacity(q) <= answer.upper + 1e-14


def test_printed_z_capacity_is_another_number():
    # At q = 1/2: log(1 + 1/4) = 0.2231 nats; the formula in the paper gives log(1 + 1/2) = 0.4055.
    assert z_capacity(0.5) * math.log(2) == pytest.approx(math.log(1.25), rel=1e-14)
    assert math.log(1 + (1 - 0.5) ** 1) == pytest.approx(0.4055, abs=5e-5)


@pytest.mark.parametrize("p", [0.0, 1e-9, 0.11, 0.499])
def test_bsc_of_capacity_inverts_the_capacity(p):
    assert bsc_of_capacity(capacity(bsc(p), tol=1e-13).upper) == pytest.approx(p, abs=1e-10)
