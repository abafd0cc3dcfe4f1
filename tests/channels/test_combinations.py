"""Channels side by side and one after the other."""

import numpy as np
import pytest

from bestchannel import Channel, InputError
from bestchannel.channels import bec, bsc, cascade, product, random_channel, z_channel

# Entries are sums of a few products of doubles: each rounds by 2^-53 of a number <= 1.
ROUNDING = 8 * 2.0**-53


def test_product_is_the_probability_of_both_outputs():
    first, second = bsc(0.25), bec(0.5)
    both = product(first, second)
    for x1 in range(2):
        for x2 in range(2):
            for y1 in range(2):
                for y2 in range(3):
                    # dyadic entries: every product is exact
                    assert both.W[2 * x1 + x2, 3 * y1 + y2] == first.W[x1, y1] * second.W[x2, y2]


def test_product_labels_are_pairs_and_the_name_says_both():
    both = product(bsc(0.25), bec(0.5))
    assert both.inputs == ("0,0", "0,1", "1,0", "1,1")
    assert both.outputs == ("0,0", "0,?", "0,1", "1,0", "1,?", "1,1")
    assert both.name == "BSC(0.25)×BEC(0.5)"
    assert product(bsc(0.25), Channel.from_rows([[1.0]])).name == ""


def test_product_with_the_channel_of_one_letter_changes_nothing():
    alone = random_channel(3, 4, rng=np.random.default_rng(1))
    one = Channel.from_rows([[1.0]])
    assert np.array_equal(product(alone, one).W, alone.W)
    assert np.array_equal(product(one, alone).W, alone.W)


def test_cascade_of_two_bscs_is_a_bsc():
    # flips meet with probability a(1-b) + b(1-a); dyadic, so exact
    a, b = 0.25, 0.125
    line = cascade(bsc(a), bsc(b))
    assert np.array_equal(line.W, bsc(a * (1 - b) + b * (1 - a)).W)
    assert line.name == "BSC(0.25)→BSC(0.125)"


def test_cascade_keeps_the_outer_labels():
    first = Channel.from_rows([[0.5, 0.5], [0.0, 1.0]], inputs="ab", outputs="cd")
    second = Channel.from_rows([[1.0, 0.0], [0.5, 0.5]], inputs="ef", outputs="gh")
    line = cascade(first, second)
    assert (line.inputs, line.outputs) == (("a", "b"), ("g", "h"))


def test_cascade_with_the_identity_changes_nothing_and_cascades_associate():
    rng = np.random.default_rng(2)
    A, B, C = (random_channel(3, 3, rng=rng) for _ in range(3))
    identity = Channel.from_rows(np.eye(3))
    assert np.array_equal(cascade(A, identity).W, A.W)
    assert np.array_equal(cascade(identity, A).W, A.W)
    left, right = cascade(cascade(A, B), C).W, cascade(A, cascade(B, C)).W
    assert np.abs(left - right).max() <= ROUNDING


def test_a_cascade_of_channels_that_do_not_fit_is_refused():
    with pytest.raises(InputError, match=r"^a cascade requires as many inputs .*; got 2 and 3$"):
        cascade(bec(0.1), z_channel(0.1))
