"""T* of the other questions: against closed forms, grids of alternatives, and proofs checked from outside."""

import dataclasses
import itertools
import math

import numpy as np
import pytest

import bestchannel as bc
from bestchannel.channels import bsc, random_channel, z_channel
from bestchannel.errors import InputError
from bestchannel.information import binary_entropy
from bestchannel.lower_bound.characteristic_time import kl_nats
from tests.lower_bound.second_opinion import (
    binary_capacity,
    binary_divergence,
    faults_of_lower_end,
    faults_of_upper_end,
    row_divergences,
)


def carried_by(p):
    """The capacity of BSC(p), in bits."""
    return 1 - binary_entropy(p)


@pytest.mark.parametrize(("p", "q"), [(0.1, 0.15), (0.1, 0.11), (0.2, 0.15), (0.01, 0.3), (0.3, 0.29), (0.5, 0.4)])
def test_a_bsc_against_a_level_takes_one_over_its_divergence_from_the_bsc_at_the_level(p, q):
    # of all channels at the level BSC(q) costs least, and both inputs say the same: T* = 1/kl(p, q)
    T = bc.lower_bound([bsc(p)], 0.05, question=bc.Above(carried_by(q))).characteristic_time
    exact = 1 / binary_divergence(p, q)
    assert T.lower <= exact <= T.upper <= 1.01 * T.lower


@pytest.mark.parametrize("level", [0.15, 0.45])
def test_a_grid_of_all_binary_channels_agrees(level):
    a, b = 0.1, 0.6  # P(1|0), P(1|1): 0.2056 bit
    T = bc.lower_bound([[[1 - a, a], [1 - b, b]]], 0.05, question=bc.Above(level)).characteristic_time
    u, v = np.meshgrid(np.linspace(1e-4, 1 - 1e-4, 1200), np.linspace(1e-4, 1 - 1e-4, 1200))
    bits = binary_capacity(u, v) / math.log(2)
    past = bits <= level if level < 0.2 else bits >= level
    w = T.allocation[0]
    cheapest = np.min(w[0] * binary_divergence(a, u[past]) + w[1] * binary_divergence(b, v[past]))
    assert 1 / T.upper <= cheapest <= 1.03 / T.lower  # a step of the grid moves the cost by less than 3 %


def faults_at_levels(T, channels, level):
    """Why alternatives of single channels, past a level, and their mixture fail to prove `T.lower`."""
    faults, evidence = [], [np.zeros(channel.n_inputs) for channel in channels]
    for chance, other in zip(T.mixture, T.alternatives, strict=True):
        ((j, rows),) = other.rows.items()
        before, after = bc.capacity(channels[j], tol=1e-12), bc.capacity(rows, tol=1e-12)
        if (before.lower > level and after.lower > level) or (before.upper < level and after.upper < level):
            faults.append("an alternative on the same side")
        evidence[j] += chance * row_divergences(channels[j].W, rows)
    if T.lower * max(each.max() for each in evidence) > 1 + 1e-9:
        faults.append("too much evidence")
    return faults if sum(T.mixture) == pytest.approx(1) else [*faults, "no distribution"]


def test_times_of_channels_against_a_level_add_up_and_are_proved():
    rng = np.random.default_rng(5)
    channels = [random_channel(n, m, rng=rng) for n, m in [(2, 2), (3, 3), (2, 4), (4, 2)]]
    level = 0.25
    T = bc.lower_bound(channels, 0.05, question=bc.Above(level)).characteristic_time
    alone = [bc.lower_bound([each], 0.05, question=bc.Above(level)).characteristic_time for each in channels]
    assert T.lower == pytest.approx(sum(each.lower for each in alone))
    assert T.relative_gap <= 0.01
    assert faults_at_levels(T, channels, level) == []
    assert sum(shares.sum() for shares in T.allocation) == pytest.approx(1.0)
    for j, channel in enumerate(channels):  # the upper end, from outside: nothing past the level costs less
        for _ in range(200):
            V = rng.dirichlet(np.full(channel.n_outputs, rng.choice([0.1, 0.3, 1.0])), size=channel.n_inputs)
            V = (1 - (share := 10 ** rng.uniform(-2, 0))) * channel.W + share * V
            if (bc.capacity(V).lower > level) != (bc.capacity(channel).lower > level):
                assert T.upper * T.allocation[j] @ row_divergences(channel.W, V) >= 1 - 1e-9


def test_what_the_alphabet_or_the_tolerance_decides_needs_no_senses():
    channels = {"binary": bsc(0.1), "one input": [[0.5, 0.5]]}
    assert bc.lower_bound(channels, 0.05, question=bc.Above(1.0)).senses_lower_bound == 0.0
    assert bc.lower_bound(channels, 0.05, question=bc.Above(0.2, 0.3)).senses_lower_bound == 0.0


def test_a_level_that_is_the_capacity_takes_infinitely_long():
    bound = bc.lower_bound([bsc(0.1), bsc(0.2)], 0.05, question=bc.Above(bc.capacity(bsc(0.1)).value))
    assert bound.senses_lower_bound == bound.characteristic_time.lower == math.inf


def test_where_either_may_be_said_the_nearer_level_counts_with_the_nats_of_a_coin():
    bound = bc.lower_bound([bsc(0.1)], 0.01, question=bc.Above(carried_by(0.12), 0.1))
    T, level = bound.characteristic_time, carried_by(0.12)
    sides = [bc.lower_bound([bsc(0.1)], 0.01, question=bc.Above(level + s * 0.1)).characteristic_time for s in (1, -1)]
    assert T.lower == pytest.approx(min(side.lower for side in sides))
    assert bound.senses_lower_bound == pytest.approx(T.lower * math.log(1 / (4 * 0.01 * 0.99)) / 2)


SET = [bsc(0.05), z_channel(0.3), bsc(0.12), bsc(0.2), bsc(0.3)]  # 0.714, 0.476 …


@pytest.mark.parametrize("m", [1, 2, 3, 4])
def test_time_of_the_best_m_is_proved_from_both_sides(m):
    T = bc.lower_bound(SET, 0.05, question=bc.Top(m)).characteristic_time
    ranks = sorted(range(5), key=lambda j: -bc.capacity(SET[j]).value)
    assert 0 < T.lower <= T.upper <= 1.01 * T.lower
    assert faults_of_lower_end(T, SET) == []
    assert all(b in ranks[:m] and a in ranks[m:] for b, a in (tuple(each.rows) for each in T.alternatives))
    for b in ranks[:m]:
        rest = [SET[j] if j in {b, *ranks[m:]} else bc.Channel.from_rows([[1.0]]) for j in range(5)]
        assert faults_of_upper_end(T, rest, b, np.random.default_rng(1), count=40) == []


def test_the_best_one_of_two_questions_is_the_same():
    best, top = (bc.lower_bound(SET, 0.05, question=question) for question in (None, bc.Top(1)))
    assert (best.characteristic_time.lower, best.allocation[0].tolist()) == (
        top.characteristic_time.lower,
        top.allocation[0].tolist(),
    )


def test_an_order_is_told_by_its_neighbours():
    T = bc.lower_bound(SET, 0.05, question=bc.Order()).characteristic_time
    ranks = sorted(range(5), key=lambda j: -bc.capacity(SET[j]).value)
    assert T.upper <= 1.01 * T.lower
    assert faults_of_lower_end(T, SET) == []
    assert {tuple(each.rows) for each in T.alternatives} <= set(itertools.pairwise(ranks))
    pairs = [bc.lower_bound([SET[b], SET[a]], 0.05) for b, a in itertools.pairwise(ranks)]
    assert max(pair.characteristic_time.lower for pair in pairs) <= T.upper


def test_checks_see_a_lower_end_that_is_two_per_cent_too_high():
    for question in (bc.Top(2), bc.Order()):
        T = bc.lower_bound(SET, 0.05, question=question).characteristic_time
        assert faults_of_lower_end(dataclasses.replace(T, lower=1.02 * T.lower), SET)
    T = bc.lower_bound(SET, 0.05, question=bc.Above(0.4)).characteristic_time
    assert faults_at_levels(dataclasses.replace(T, lower=1.02 * T.lower), SET, 0.4)


def test_a_tie_at_the_last_place_takes_infinitely_long_and_one_elsewhere_does_not():
    channels = [bsc(0.05), bsc(0.05), bsc(0.1), bsc(0.2)]
    assert bc.lower_bound(channels, 0.05, question=bc.Top(1)).senses_lower_bound == math.inf
    assert bc.lower_bound(channels, 0.05, question=bc.Top(2)).senses_lower_bound < math.inf
    assert bc.lower_bound(channels, 0.05, question=bc.Order()).senses_lower_bound == math.inf


def test_a_width_has_a_yardstick_at_half_of_it_and_a_bound_below_that():
    p, width = 0.1, 0.05
    bound = bc.lower_bound([bsc(p)], 0.01, question=bc.Within(width))
    T = bound.characteristic_time
    # of a symmetric channel all alternatives are BSCs: T* is that of the farther end
    ends = [
        next(q for q in np.linspace(0.02, 0.3, 28001) if carried_by(q) <= carried_by(p) + s * width / 2)
        for s in (1, -1)
    ]
    assert T.lower <= max(1 / binary_divergence(p, q) for q in ends) * 1.001
    assert T.upper >= max(1 / binary_divergence(p, q) for q in ends) * 0.999
    # two points a whole width apart are proved by less; for small widths they take a quarter of T*
    assert 0.25 * T.lower * kl_nats(0.01) < bound.senses_lower_bound < T.lower * kl_nats(0.01)
    assert "a yardstick, not a bound" in str(bound)


def test_a_width_that_holds_all_capacities_needs_nothing():
    assert bc.lower_bound([bsc(0.1)], 0.05, question=bc.Within(1.0)).senses_lower_bound == 0.0


@pytest.mark.parametrize(
    ("question", "message"),
    [(bc.Top(3), "m from 1 to 2"), (bc.Above(-1), "the level"), (bc.Best(0.1), "with epsilon = 0.1 several are right")],
)
def test_questions_without_a_bound_are_refused(question, message):
    with pytest.raises(InputError, match=message):
        bc.lower_bound([bsc(0.1), bsc(0.2)], 0.05, question=question)


def test_costs_multiply_the_time_against_a_level():
    bound = bc.lower_bound({"a": bsc(0.1)}, 0.05, question=bc.Above(0.4), cost={"a": 7})
    assert bound.cost.lower_bound == pytest.approx(7 * bound.senses_lower_bound, rel=1e-6)
