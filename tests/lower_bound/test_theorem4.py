"""Theorem 4's bound, against all relabellings tried one by one."""

import itertools
import math

import numpy as np
import pytest

from bestchannel.channels import Channel, bec, binary_asymmetric, bsc, q_ary_symmetric, random_channel, z_channel
from bestchannel.errors import InputError
from bestchannel.lower_bound.theorem4 import theorem4

SHAPES = [(1, 2), (2, 2), (2, 3), (3, 2), (3, 3)]

# Sums of at most a few hundred doubles and a reciprocal each.
ROUNDING = 1e-11


def plain_divergence(p, q):
    """D(p‖q) in nats, term by term."""
    if any(a > 0 and b == 0 for a, b in zip(p, q, strict=True)):
        return math.inf
    return math.fsum(a * math.log(a / b) for a, b in zip(p, q, strict=True) if a > 0)


def reciprocal(value):
    return math.inf if value == 0 else 1 / value


def two_terms(W_a, W_b):
    """(1/max_x D(W_a‖W_b), 1/max_x D(W_b‖W_a)) with the labels as they are."""
    forward = max(plain_divergence(w, v) for w, v in zip(W_a, W_b, strict=True))
    backward = max(plain_divergence(v, w) for w, v in zip(W_a, W_b, strict=True))
    return reciprocal(forward), reciprocal(backward)


def all_two_terms(W_a, W_b):
    """`two_terms` of every relabelling of W_a."""
    rows, columns = (itertools.permutations(range(size)) for size in W_a.shape)
    return [two_terms(W_a[np.ix_(r, c)], W_b) for r, c in itertools.product(rows, list(columns))]


def brute_force(channels, best):
    """[EBWGW24, Thm. 4]'s sum of reciprocals, the largest over all joint relabellings."""
    rivals = [all_two_terms(c.W, channels[best].W) for a, c in enumerate(channels) if a != best]
    return max(sum(f for f, _ in joint) + min(b for _, b in joint) for joint in itertools.product(*rivals))


def reached(channels, best, bound):
    """The sum of reciprocals at the relabellings that a bound reports."""
    terms = [
        two_terms(channel.W[np.ix_(label.inputs, label.outputs)], channels[best].W)
        for channel, label in zip(channels, bound.relabellings, strict=True)
        if label is not None
    ]
    return sum(f for f, _ in terms) + min(b for _, b in terms)


def draw(n_channels, shape, seed, concentration=1.0):
    rng = np.random.default_rng(seed)
    return [random_channel(*shape, rng=rng, concentration=concentration) for _ in range(n_channels)]


def sparse(n_channels, shape, seed):
    """Random channels with about a third of their entries exactly 0."""
    rng = np.random.default_rng(seed)
    kept = [rng.random(shape) > 0.3 for _ in range(n_channels)]
    for mask in kept:
        mask[np.arange(shape[0]), rng.integers(shape[1], size=shape[0])] = True
    return [
        Channel.from_rows(np.where(mask, rng.dirichlet(np.ones(shape[1]), shape[0]) + 1e-3, 0), normalize=True)
        for mask in kept
    ]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n_channels", [2, 3, 4])
@pytest.mark.parametrize("shape", SHAPES)
def test_bound_is_the_maximum_over_all_joint_relabellings(shape, n_channels, seed):
    channels = draw(n_channels, shape, seed)
    bound = theorem4(channels, seed % n_channels, 0.01)
    assert bound.exact
    assert bound.sum_lower == bound.sum_upper == pytest.approx(brute_force(channels, seed % n_channels), rel=ROUNDING)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("shape", [(2, 3), (3, 3)])
def test_bound_with_impossible_outputs_is_the_maximum_over_all_joint_relabellings(shape, seed):
    # Infinite divergences count as 1/∞ = 0.
    channels = sparse(3, shape, seed)
    expected = brute_force(channels, 0)
    assert theorem4(channels, 0, 0.01).sum_lower == pytest.approx(expected, rel=ROUNDING)


@pytest.mark.parametrize("make", [draw, sparse])
@pytest.mark.parametrize("shape", [(3, 3), (4, 4), (4, 6), (7, 3)])
def test_reported_relabellings_reach_the_lower_end(shape, make):
    channels = make(4, shape, 5)
    for max_terms in (2**22, 100):
        bound = theorem4(channels, 1, 0.01, max_terms=max_terms)
        assert bound.relabellings[1] is None
        assert bound.sum_lower == pytest.approx(reached(channels, 1, bound), rel=ROUNDING)


@pytest.mark.parametrize("make", [draw, sparse])
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("shape", [(4, 4), (4, 5), (5, 4), (5, 5)])
@pytest.mark.parametrize("max_terms", [0, 1000])
def test_bracket_without_enumeration_holds_the_exact_value(shape, seed, make, max_terms):
    channels = make(4, shape, seed)
    exact, bracket = theorem4(channels, 0, 0.01), theorem4(channels, 0, 0.01, max_terms=max_terms)
    assert exact.exact
    assert not bracket.exact
    assert bracket.lower <= exact.lower * (1 + ROUNDING)
    assert exact.upper <= bracket.upper * (1 + ROUNDING)


def test_search_finds_a_planted_relabelling():
    # The rivals are the best channel, relabelled at random and blurred by a tenth: the planted relabelling
    # is at hand, and the search must do at least as well as it.
    rng = np.random.default_rng(7)
    W = rng.dirichlet(np.full(12, 0.3), 12)
    blurred = [0.9 * W + 0.1 * rng.dirichlet(np.ones(12), 12) for _ in range(3)]
    shuffled = [V[np.ix_(rng.permutation(12), rng.permutation(12))] for V in blurred]
    bound = theorem4([Channel.from_rows(V, normalize=True) for V in [W, *shuffled]], 0, 0.01)
    planted = [two_terms(V, W) for V in blurred]
    assert not bound.exact
    assert bound.sum_lower >= sum(f for f, _ in planted) + min(b for _, b in planted)


@pytest.mark.parametrize(
    ("best", "rival", "expected", "half_a_digit"),
    [
        # Sums computed by another program before this one was written, to the digits given.
        (bsc(0.1), bsc(0.2), 49.8, 0.05),
        (binary_asymmetric(0.1, 0.7), binary_asymmetric(0.3, 0.85), 174, 0.5),
        (binary_asymmetric(0.001, 0.6), bsc(0.1573), 7.4, 0.05),
    ],
)
def test_bound_of_binary_pairs_is_the_known_sum(best, rival, expected, half_a_digit):
    assert theorem4([best, rival], 0, 0.01).sum_lower == pytest.approx(expected, abs=half_a_digit)


def test_bound_of_two_bscs_is_the_sum_of_two_binary_divergences():
    # Relabelling both inputs, or both outputs, turns p into 1 - p and only lengthens the divergences.
    def kl(p, q):
        return p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))

    bound = theorem4([bsc(0.9), bsc(0.2)], 0, 0.01)
    assert bound.sum_lower == pytest.approx(1 / kl(0.2, 0.1) + 1 / kl(0.1, 0.2), rel=ROUNDING)
    assert bound.lower == bound.upper == pytest.approx(bound.sum_lower * math.log(1 / 0.024), rel=ROUNDING)


@pytest.mark.parametrize("delta", [1 / 2.4, 0.5, 1.0])
def test_bound_is_zero_for_delta_from_one_over_2_4(delta):
    bound = theorem4([bsc(0.1), bsc(0.2)], 0, delta)
    # -log(2.4·(1/2.4)) is 0 up to one ulp.
    assert 0 <= bound.lower <= bound.upper < 1e-13
    assert bound.sum_lower > 49


def test_bound_is_invariant_under_relabelling_a_rival():
    channels = draw(3, (4, 4), 3)
    shuffled = Channel.from_rows(channels[1].W[::-1][:, [2, 0, 3, 1]])
    expected = theorem4(channels, 0, 0.01).sum_lower
    assert theorem4([channels[0], shuffled, channels[2]], 0, 0.01).sum_lower == pytest.approx(expected, rel=ROUNDING)


def test_rival_that_the_best_channel_excludes_leaves_the_other_term():
    # Z(.5) has W(1|0) = 0 and the BSC has no zero: D(BSC‖Z) is infinite whatever the labels, the sum keeps
    # 1/max_x D(Z‖BSC), with D(Z row 0) = log(1/.9) and D(Z row 1) = log(.5/√(.1·.9)), the larger.
    bound = theorem4([z_channel(0.5), bsc(0.1)], 0, 0.01)
    assert bound.sum_lower == pytest.approx(1 / math.log(0.5 / 0.3), rel=ROUNDING)


def test_channels_that_exclude_each_other_give_no_bound():
    # The BEC's two zeros and this rival's never coincide under one relabelling, in either direction.
    rival = Channel.from_rows([[0.5, 0.5, 0], [0.5, 0.5, 0]])
    bound = theorem4([bec(0.5), rival], 0, 0.01)
    assert (bound.lower, bound.upper, bound.sum_lower) == (0, 0, 0)


def test_nearly_equal_channels_keep_their_digits():
    # Two BSCs 2h apart: D = (2h)²/(2p(1-p))·(1 + O(h)) both ways, so the sum is p(1-p)/h² up to O(h) relative.
    h, p = 2.0**-30, 0.25
    bound = theorem4([bsc(p - h), bsc(p + h)], 0, 0.01)
    assert bound.sum_lower == pytest.approx(p * (1 - p) / h**2, rel=100 * h)


def test_relabelled_copy_of_the_best_channel_is_refused():
    channels = draw(2, (3, 3), 1)
    copy = Channel.from_rows(channels[0].W[[1, 2, 0]][:, [2, 0, 1]], name="twin")
    with pytest.raises(InputError, match='channel "twin" is channel 0 with relabelled inputs and outputs'):
        theorem4([*channels, copy], 0, 0.01)


def test_relaxed_upper_end_is_infinite_where_rows_agree_one_by_one():
    # Each row of one channel is a rearranged row of the other, yet no single relabelling fits all rows.
    first = Channel.from_rows([[0.5, 0.3, 0.2], [0.5, 0.3, 0.2]])
    second = Channel.from_rows([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])
    exact, bracket = theorem4([second, first], 0, 0.01), theorem4([second, first], 0, 0.01, max_terms=0)
    assert math.isfinite(exact.upper)
    assert math.isinf(bracket.upper)
    assert math.isfinite(bracket.lower)
    assert theorem4([second, first], 0, 0.9, max_terms=0).upper == 0


def test_rival_with_another_alphabet_is_refused():
    with pytest.raises(InputError, match=r'channel "BEC\(0.1\)" has 2 inputs and 3 outputs, .* requires 2 and 2'):
        theorem4([bsc(0.1), bec(0.1)], 0, 0.01)


@pytest.mark.parametrize(
    ("channels", "best", "delta", "message"),
    [
        ([bsc(0.1)], 0, 0.1, "at least one rival; got 1 channels"),
        ([bsc(0.1), bsc(0.2)], 2, 0.1, "index of one of 2 channels, from 0; it is 2"),
        ([bsc(0.1), bsc(0.2)], -1, 0.1, "index of one of 2 channels, from 0; it is -1"),
        ([bsc(0.1), bsc(0.2)], 0, 0.0, r"delta must lie in \(0, 1\]; it is 0"),
    ],
)
def test_unsuitable_arguments_are_refused(channels, best, delta, message):
    with pytest.raises(InputError, match=message):
        theorem4(channels, best, delta)


def test_ten_channels_with_four_letters_are_few_enough_to_be_enumerated():
    assert theorem4([*draw(9, (4, 4), 11), q_ary_symmetric(4, 0.1)], 9, 0.01).exact
