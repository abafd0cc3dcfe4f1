"""From counts to values and intervals."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from bestchannel import InputError, capacity, mutual_information
from bestchannel.channels import bsc, random_channel
from bestchannel.information import binary_entropy
from bestchannel.intervals.paper_bounds import Rate
from bestchannel.intervals.plug_in import (
    PLUG_IN_TOLERANCE,
    Functional,
    Interval,
    empirical,
    functional_for,
    plug_in,
    proposition_1,
)

# A handful of operations on numbers near 1.
ROUNDING = 1e-14

tables = array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=5).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.integers(0, 10**6))
)


class Spy(Functional):
    """Capacity, remembering the stacks it was asked about."""

    def __init__(self):
        self.__dict__["shapes"] = []  # the base is frozen

    def values(self, stack):
        self.shapes.append(stack.shape)
        return super().values(stack)


def random_counts(n_inputs, n_outputs, seed):
    rng = np.random.default_rng(seed)
    return rng.multinomial(10**6, random_channel(n_inputs, n_outputs, rng=rng).W)


def test_empirical_channel_divides_every_row_by_its_senses():
    counts = np.array([[[3, 1], [0, 5]], [[1, 1], [2, 8]]])
    assert empirical(counts).tolist() == [[[0.75, 0.25], [0, 1]], [[0.5, 0.5], [0.2, 0.8]]]


def test_empirical_channel_of_more_counts_than_doubles_hold_is_a_channel():
    W = empirical(np.array([[2**62, 2**62 - 1], [1, 2**62]]))
    assert W.sum(axis=1) == pytest.approx(1, rel=ROUNDING)


def test_plug_in_is_the_capacity_of_the_empirical_channel():
    # 1 - h(0.1) [CT06, 7.1.4], inside a bracket no wider than asked for
    value = plug_in({0: np.array([[9, 1], [1, 9]])}, Functional())[0]
    assert value.lower <= 1 - binary_entropy(0.1) <= value.upper
    assert value.upper - value.lower <= PLUG_IN_TOLERANCE


def test_plug_in_evaluates_channels_of_one_size_together():
    spy = Spy()
    counts = {9: (2, 2), 3: (3, 2), 5: (2, 2), 0: (2, 3), 7: (2, 2)}
    plug_in({channel: random_counts(*shape, seed=channel) for channel, shape in counts.items()}, spy)
    assert sorted(spy.shapes) == [(1, 2, 3), (1, 3, 2), (3, 2, 2)]


def test_plug_in_gives_every_channel_its_own_value():
    shapes = {9: (2, 2), 3: (3, 2), 5: (2, 2), 0: (2, 3), 7: (1, 4), 6: (2, 2)}
    counts = {channel: random_counts(*shape, seed=channel) for channel, shape in shapes.items()}
    together = plug_in(counts, Functional())
    assert together.keys() == counts.keys()
    for channel, table in counts.items():
        alone = capacity(table / table.sum(axis=1, keepdims=True))
        # two brackets of one number overlap
        assert together[channel].lower <= alone.upper
        assert alone.lower <= together[channel].upper


@pytest.mark.parametrize("counts", [[[5]], [[1, 2, 3]], [[4], [5]], [[0, 0]], [[0], [3]]])
@pytest.mark.parametrize("functional", [Functional(), Functional((0.4, 0.6))])
def test_channel_with_one_input_or_output_has_value_0(functional, counts):
    assert plug_in({2: np.array(counts)}, functional) == {2: Interval(0.0, 0.0)}
    assert proposition_1(np.array(counts), 0.1, functional) == Interval(0.0, 0.0)


def test_plug_in_of_nothing_is_nothing():
    assert plug_in({}, Functional()) == {}


@pytest.mark.parametrize("row", [[2, 3], [5, 3], [4, 5], [5, 6]])
def test_plug_in_of_equal_rows_is_zero(row):
    value = plug_in({0: np.array([row, row])}, Functional())[0]
    assert value.lower <= 0 <= value.upper <= PLUG_IN_TOLERANCE


@pytest.mark.parametrize("P", [(0.5, 0.5), (0.4, 0.6), (1.0, 0.0)])
def test_fixed_input_functional_is_mutual_information(P):
    tables = {0: random_counts(2, 2, 1), 1: random_counts(2, 2, 2), 2: random_counts(2, 5, 3)}
    for channel, value in plug_in(tables, Functional(P)).items():
        information = mutual_information(P, empirical(tables[channel]))
        assert value == Interval(information, information)


def test_fixed_input_functional_has_the_rate_of_remark_1():
    assert Functional((0.4, 0.6)).rate(2, 3) == Rate(2, 3, fixed_input=True)
    assert Functional().rate(2, 3) == Rate(2, 3)


def test_fixed_input_functional_refuses_another_alphabet():
    with pytest.raises(InputError, match="the fixed input distribution must be a vector of 3 probabilities"):
        Functional((0.4, 0.6)).rate(3, 3)


def test_functional_is_capacity_unless_an_input_distribution_is_given():
    assert functional_for(None) == Functional()
    assert functional_for([0.4, 0.6]) == Functional((0.4, 0.6))


@pytest.mark.parametrize("ragged", [[[1], [1, 2]], [0.5, [0.5]], [[]], 0.5])
def test_input_distribution_that_is_no_list_of_numbers_is_refused(ragged):
    with pytest.raises(InputError, match="the fixed input distribution must be a list of probabilities"):
        functional_for(ragged)


def test_interval_is_the_plug_in_value_plus_and_minus_proposition_1():
    # [EBWGW24, Prop. 1] in nats, with g and t written out; 10^9 senses make it narrow enough not to be clipped
    n, alpha = 10**9, 0.05
    g, t = 16 * math.log(2 / alpha), (math.e**2 / math.log(2 / alpha)) ** 0.2
    margin = (1.25 * math.sqrt(g) * math.log(n * t) / math.sqrt(n) + g / n) / math.log(2)
    found = proposition_1(np.array([[9, 1], [1, 9]]) * (n // 20), alpha, Functional())
    centre = 1 - binary_entropy(0.1)
    assert found.lower == pytest.approx(centre - margin, abs=PLUG_IN_TOLERANCE)
    assert found.upper == pytest.approx(centre + margin, abs=PLUG_IN_TOLERANCE)


def test_unequal_counts_have_the_width_of_the_least_sensed_input():
    few = np.array([[9, 1], [1, 9]]) * 10**8
    uneven = few * np.array([[1], [1000]])
    assert proposition_1(uneven, 0.05, Functional()) == proposition_1(few, 0.05, Functional())
    assert proposition_1(few * 1000, 0.05, Functional()) != proposition_1(few, 0.05, Functional())


@pytest.mark.parametrize("functional", [Functional(), Functional((0.2, 0.3, 0.5))])
def test_input_without_a_sense_gives_the_trivial_interval(functional):
    counts = np.array([[10**9, 0, 0, 0], [0, 10**9, 0, 0], [0, 0, 0, 0]])
    assert proposition_1(counts, 0.05, functional) == Interval(0.0, math.log2(3))


def test_few_senses_give_the_trivial_interval():
    # n < 2|Y|: the proof has nothing to say
    assert proposition_1(np.array([[1, 0], [0, 1]]), 0.05, Functional()) == Interval(0.0, 1.0)


@given(tables, st.floats(1e-6, 1))
def test_interval_stays_where_capacities_are_and_holds_the_plug_in_value(counts, alpha):
    found = proposition_1(counts, alpha, Functional())
    assert 0 <= found.lower <= found.upper <= math.log2(min(counts.shape))
    if counts.sum(axis=1).min() > 0:
        value = plug_in({0: counts}, Functional())[0]
        assert found.lower <= value.lower
        assert found.upper >= min(value.upper, math.log2(min(counts.shape)))


@given(st.integers(1, 10**6), st.floats(1e-6, 0.5))
def test_interval_narrows_with_senses_and_widens_with_confidence(n, alpha):
    counts = np.array([[9, 1], [1, 9]]) * n
    wide = proposition_1(counts, alpha, Functional())
    for more_senses, less_confidence in ((2, 1), (1, 2)):
        narrower = proposition_1(more_senses * counts, less_confidence * alpha, Functional())
        assert wide.lower <= narrower.lower
        assert narrower.upper <= wide.upper


def test_bsc_has_the_same_value_under_capacity_and_the_uniform_input():
    counts = {0: np.rint(bsc(0.2).W * 10**6).astype(np.int64)}
    value = plug_in(counts, Functional((0.5, 0.5)))[0].lower
    bracket = plug_in(counts, Functional())[0]
    assert bracket.lower - ROUNDING <= value <= bracket.upper + ROUNDING
