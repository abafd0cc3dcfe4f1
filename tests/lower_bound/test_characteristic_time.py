"""T* against closed forms, a grid, random alternatives, and proofs checked from outside."""

import dataclasses
import math

import numpy as np
import pytest

import bestchannel as bc
from bestchannel import Channel
from bestchannel.errors import InputError
from bestchannel.lower_bound import alternatives
from bestchannel.lower_bound.characteristic_time import characteristic_time
from bestchannel.lower_bound.known_channels import KnownChannels
from bestchannel.native.lower_bound import PROVED, Certificate
from tests.lower_bound.second_opinion import NATS_PER_BIT, GridGame, faults_of_lower_end, faults_of_upper_end


def binary(a, b):
    """The channel with P(1|0) = a and P(1|1) = b."""
    return Channel.from_rows([[1 - a, a], [1 - b, b]])


def bsc(p):
    return binary(p, 1 - p)


def solved(*channels, **options):
    return characteristic_time(KnownChannels.of(channels), **options)


def random_channels(seed, *shapes, concentration=1.0):
    rng = np.random.default_rng(seed)
    return [Channel.from_rows(rng.dirichlet(np.full(m, concentration), size=n)) for n, m in shapes]


def leader_of(channels):
    return int(np.argmax([bc.capacity(channel).lower for channel in channels]))


@pytest.mark.parametrize(("p", "q"), [(0.1, 0.2), (0.01, 0.3), (0.2, 0.21), (0.001, 0.499)])
def test_two_bscs_take_one_over_the_capacity_of_the_channel_of_their_error_laws(p, q):
    # both channels may become BSC(r): max_w min_r w kl(p,r) + (1-w) kl(q,r) is the capacity of the rows (p), (q)
    T, exact = solved(bsc(p), bsc(q)), 1 / (bc.capacity([[1 - p, p], [1 - q, q]]).lower * NATS_PER_BIT)
    assert T.lower <= exact <= T.upper <= 1.01 * T.lower


@pytest.mark.parametrize(
    ("best", "rival", "known"),
    [((0.1, 0.9), (0.2, 0.8), 100.1), ((0.1, 0.7), (0.3, 0.85), 1433), ((0.001, 0.6), (0.1573, 0.8427), 5410)],
)
def test_known_pairs_of_binary_channels(best, rival, known):
    # computed by an independent program; the last one's rows are rounded to four digits, which moves T* by 0.8 %
    T = solved(binary(*best), binary(*rival))
    assert T.upper <= 1.01 * T.lower
    assert T.lower < 1.01 * known
    assert T.upper > 0.99 * known


@pytest.mark.parametrize(
    ("best", "rival"),
    [((0.1, 0.7), (0.3, 0.85)), ((0.05, 0.8), (0.6, 0.2)), ((0.02, 0.5), (0.5, 0.5)), ((0.1, 0.9), (0.0, 0.55))],
)
def test_grid_of_all_alternatives_and_a_search_over_weights_agree(best, rival):
    T, game = solved(binary(*best), binary(*rival)), GridGame(best, rival)
    # on the grid every alternative is dearer than the true minimum, by at most half a step of 0.001: under 1 %
    assert game.cheapest(np.concatenate(T.allocation)) >= 1 / T.upper
    assert game.cheapest(np.concatenate(T.allocation)) <= 1.02 / T.lower
    assert T.lower / 1.02 <= game.time() <= T.upper


CASES = {
    "three binary": [binary(0.1, 0.9), binary(0.2, 0.75), binary(0.6, 0.05)],
    "different alphabets": random_channels(3, (2, 3), (3, 2), (4, 2)),
    "three inputs": random_channels(5, (3, 3), (3, 3)),
    "noiseless best": [Channel.from_rows(np.eye(3)), *random_channels(7, (3, 3))],
    "noiseless rival": [Channel.from_rows(np.eye(3) * 0.97 + 0.01), Channel.from_rows([[1, 0], [0, 1]])],
    "useless rival": [bsc(0.2), binary(0.3, 0.3)],
    "zeros": [Channel.from_rows([[1, 0], [0.3, 0.7]]), Channel.from_rows([[0.5, 0.5, 0], [0, 0.5, 0.5]])],
}


@pytest.mark.parametrize("channels", CASES.values(), ids=CASES.keys())
def test_both_ends_are_proved(channels):
    T, best = solved(*channels), leader_of(channels)
    assert 0 < T.lower <= T.upper <= 1.01 * T.lower
    assert faults_of_lower_end(T, channels) == []
    assert faults_of_upper_end(T, channels, best, np.random.default_rng(1)) == []


@pytest.mark.parametrize("channels", CASES.values(), ids=CASES.keys())
def test_checks_of_the_proofs_see_a_bound_that_is_two_per_cent_off(channels):
    T, best = solved(*channels), leader_of(channels)
    too_high = dataclasses.replace(T, lower=1.02 * T.lower)
    too_low = dataclasses.replace(T, upper=T.upper / 1.02)
    assert faults_of_lower_end(too_high, channels)
    assert faults_of_upper_end(too_low, channels, best, np.random.default_rng(1), count=1)


def test_certificate_that_agrees_to_everything_is_caught(monkeypatch):
    channels = [binary(0.1, 0.7), binary(0.3, 0.85)]

    def agree(rival, curve, boxes, s, Q, target, alarm):
        return Certificate(PROVED, 1.03 * target, rival.a, rival.w)

    monkeypatch.setattr(alternatives, "certify", agree)
    T = solved(*channels)
    assert faults_of_upper_end(T, channels, 0, np.random.default_rng(1), count=1)
    assert GridGame((0.1, 0.7), (0.3, 0.85)).cheapest(np.concatenate(T.allocation)) < 1 / T.upper


def test_gap_that_rounding_swallows_leaves_a_lower_end_and_no_upper_one():
    p, q = 0.1, 0.1 + 1e-8
    T, exact = solved(bsc(p), bsc(q)), 1 / (bc.capacity([[1 - p, p], [1 - q, q]], rtol=1e-6).lower * NATS_PER_BIT)
    assert 0.99 * exact < T.lower < exact
    assert T.upper == math.inf


def test_equally_good_channels_take_infinitely_long():
    T = solved(bsc(0.1), bsc(0.3), bsc(0.9))
    assert (T.lower, T.upper, T.relative_gap) == (math.inf, math.inf, 0.0)


@pytest.mark.parametrize("rivals", [[], [Channel.from_rows([[0.5, 0.5]])], [Channel.from_rows([[1.0], [1.0]])]])
def test_nothing_need_be_sensed_where_no_other_channel_can_be_the_best(rivals):
    T = solved(bsc(0.1), *rivals)
    assert (T.lower, T.upper) == (0.0, 0.0)


def test_relabelled_inputs_and_outputs_change_nothing():
    first, second = random_channels(11, (3, 2), (2, 3))
    T = solved(first, second)
    other = solved(Channel.from_rows(second.W[::-1, [2, 0, 1]]), Channel.from_rows(first.W[[1, 2, 0]]))
    assert max(T.lower, other.lower) <= min(T.upper, other.upper)


def test_another_rival_makes_it_harder_and_k_copies_of_one_at_most_k_times():
    best, rival = bsc(0.1), bsc(0.2)
    one, three = solved(best, rival), solved(best, rival, rival, rival)
    assert one.upper < three.lower
    assert three.lower < 3 * one.upper


def test_shares_of_the_senses_add_up_to_one_and_useless_channels_get_next_to_none():
    T = solved(bsc(0.1), bsc(0.2), Channel.from_rows([[0.5, 0.5]]))
    assert sum(shares.sum() for shares in T.allocation) == pytest.approx(1.0, rel=1e-12)
    assert T.allocation[2].sum() < 1e-3


def test_looser_bracket_contains_the_tighter_one_in_part_and_is_as_wide_as_asked():
    pair = binary(0.1, 0.7), binary(0.3, 0.85)
    tight, loose = solved(*pair, rtol=0.001), solved(*pair, rtol=0.1)
    assert tight.relative_gap <= 0.001
    assert loose.relative_gap <= 0.1
    assert max(tight.lower, loose.lower) <= min(tight.upper, loose.upper)


def test_progress_counts_the_rivals_proved():
    seen = []
    solved(bsc(0.1), bsc(0.2), bsc(0.3), progress=lambda done, total: seen.append((done, total)))
    assert [step for step in seen if step[0] > 0][:2] == [(1, 2), (2, 2)]


def test_accuracy_out_of_range_is_refused():
    with pytest.raises(InputError, match="rtol must lie in"):
        solved(bsc(0.1), bsc(0.2), rtol=0.0)


@pytest.mark.parametrize(("seed", "shapes"), [(1, [(2, 2)] * 20), (2, [(3, 3)] * 4)])
def test_many_rivals_are_bracketed_within_one_per_cent(seed, shapes):
    channels = random_channels(seed, *shapes)
    T = solved(*channels)
    assert T.relative_gap <= 0.0101
    assert faults_of_lower_end(T, channels) == []
