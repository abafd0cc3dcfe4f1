"""Estimates of I(P;W) at a fixed input distribution P, in place of capacities."""

import math

import numpy as np
import pytest

import bestchannel as bc
from bestchannel.channels import bsc, z_channel
from bestchannel.errors import InputError
from bestchannel.evidence.recorded_channel import Effort
from bestchannel.intervals.fixed_design import RecordedSet
from tests.statistical.limits import most_failures

DESIGNS = ("fixed", "adaptive")
every_design = pytest.mark.parametrize("design", DESIGNS)


def expected(W, senses):
    """Counts that are as the rows say."""
    return np.rint(np.asarray(W) * senses).astype(int)


def ends(channel):
    return [channel.lower, channel.upper]


@every_design
@pytest.mark.parametrize("error", [0.02, 0.1, 0.3])
def test_at_the_best_input_of_a_symmetric_channel_intervals_are_those_of_the_capacity(design, error):
    tables = {"a": expected(bsc(error).W, 1000)}
    capacity, information = (bc.estimate(tables, design=design, input_distribution=P)["a"] for P in (None, [0.5, 0.5]))
    assert information.capacity == pytest.approx(capacity.capacity, abs=1e-9)
    # nobody has to allow for other inputs, which is worth little here
    assert ends(information) == pytest.approx(ends(capacity), abs=0.1 * (capacity.upper - capacity.lower))


@every_design
def test_z_channel_has_less_capacity_than_a_bsc_and_more_information_at_rare_ones(design):
    tables = {"bsc": expected(bsc(0.1).W, 60_000), "z": expected(z_channel(0.4).W, 60_000)}
    found = [bc.estimate(tables, design=design, rank=True, input_distribution=P) for P in (None, [0.9, 0.1])]
    assert [result.best for result in found] == ["bsc", "z"]
    assert [result.order.settled for result in found] == [(("bsc", "z"),), (("z", "bsc"),)]
    assert found[1]["z"].capacity == pytest.approx(bc.mutual_information([0.9, 0.1], z_channel(0.4)), abs=1e-9)


@every_design
def test_inputs_with_probability_zero_do_not_matter(design):
    two = expected([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1]], 300)
    rival = expected([[0.6, 0.3, 0.1], [0.2, 0.7, 0.1]], 300)
    alone = bc.estimate({"a": two, "b": rival}, input_distribution=[0.3, 0.7], design=design)
    for third in ([0, 0, 0], [0, 1, 300]):
        tables = {"a": np.vstack([two[:1], [third], two[1:]]), "b": np.vstack([rival[:1], [third], rival[1:]])}
        found = bc.estimate(tables, input_distribution=[0.3, 0.0, 0.7], design=design)
        for name in "ab":
            assert ends(found[name]) == ends(alone[name])
            assert found[name].capacity == alone[name].capacity
        assert found.differences == alone.differences
    assert found["a"].senses == alone["a"].senses + 301


@every_design
def test_one_input_alone_tells_nothing(design):
    found = bc.estimate({"a": [[90, 10], [10, 90]], "b": [[0, 0], [3, 90]]}, input_distribution=[1, 0], design=design)
    assert [ends(channel) for channel in found.channels] == [[0.0, 0.0]] * 2
    assert not found["a"].positive
    assert not found.decided


@every_design
def test_input_that_was_not_sensed_leaves_the_upper_end_open_and_its_part_of_the_lower_end(design):
    table = np.array([[450, 50], [50, 450], [0, 0]])
    part, whole = (
        bc.estimate({"a": counts}, input_distribution=P, design=design)["a"]
        for counts, P in ((table, [0.4, 0.4, 0.2]), (table[:2], [0.5, 0.5]))
    )
    # I(P;W) >= 0.8 I(P';W') with the sensed inputs, where a third row between both would add nothing
    assert part.capacity == pytest.approx(0.8 * whole.capacity)
    assert part.upper == 1.0
    assert part.lower == pytest.approx(0.8 * whole.lower, abs=0.02)
    assert part.positive


@every_design
@pytest.mark.parametrize("P", [[1e-12, 1 - 1e-12], [1e-300, 1.0], [0.999, 0.001]])
def test_rare_inputs_are_no_trouble(design, P):
    tables = {"a": [[95, 5], [5, 95]], "b": [[80, 20], [3, 7]], "c": [[0, 0], [20, 30]]}
    found = bc.estimate(tables, input_distribution=P, design=design, rank=True)
    for channel in found.channels:
        assert 0.0 <= channel.lower <= channel.capacity <= channel.upper <= 1.0
    assert not found.order.settled


def test_letters_may_be_numbered_anew_if_probabilities_go_with_their_inputs():
    table, rival = np.array([[50, 9, 2], [4, 60, 8], [6, 5, 70]]), np.array([[40, 19, 2], [14, 50, 8], [16, 5, 60]])
    order, P = [2, 0, 1], np.array([0.2, 0.5, 0.3])
    one = bc.estimate({"a": table, "b": rival}, input_distribution=P)
    other = bc.estimate({"a": table[order][:, [1, 2, 0]], "b": rival[order][:, ::-1]}, input_distribution=P[order])
    for before, after in zip(one.channels, other.channels, strict=True):
        assert ends(after) == pytest.approx(ends(before), abs=1e-6)
    assert other.differences[0].lower == one.differences[0].lower
    unmatched = bc.estimate({"a": table[order]}, input_distribution=P)["a"]
    assert unmatched.capacity != pytest.approx(one["a"].capacity, abs=1e-3)


def test_approximate_intervals_are_withheld():
    found = bc.estimate({"a": [[95, 5], [5, 95]]}, input_distribution=[0.5, 0.5])
    assert found["a"].asymptotic is None
    assert found["a"].withheld == "not measured at a fixed input distribution"
    assert found.asymptotic_verdict is None


def test_words_say_what_is_estimated_and_at_which_input():
    found = bc.estimate({"a": [[95, 5], [5, 95]], "b": [[70, 30], [5, 95]]}, input_distribution=[0.25, 0.75])
    assert found.input_distribution == (0.25, 0.75)
    assert str(found).splitlines()[0].split() == ["channel", "senses", "I(P;W)", "lower", "upper"]
    assert "all values of I(P;W) at P = (0.25, 0.75) are between their lower and upper ends" in found.guarantee
    for words in (str(found), found._repr_html_()):
        assert "apacit" not in words
    assert bc.estimate({"a": [[95, 5], [5, 95]]}).input_distribution is None


@pytest.mark.parametrize(
    ("P", "message"),
    [
        ([0.2, 0.3, 0.5], "the fixed input distribution is one of 3 inputs, and channel 'a' has 2 inputs"),
        ([0.5, 0.6], r"the fixed input distribution must sum to 1 within 1e-09; it sums to 1\.1"),
        ([1.5, -0.5], "must be a finite number >= 0; it is -0.5"),
        ([], "the fixed input distribution must not be empty"),
        (0.5, "the fixed input distribution must be a list of probabilities; it is 0.5"),
        ("0.5,0.5", "the fixed input distribution must be a list of probabilities"),
    ],
)
def test_what_is_no_distribution_over_the_inputs_is_refused(P, message):
    with pytest.raises(InputError, match=message):
        bc.estimate({"a": [[9, 1], [1, 9]], "b": [[9, 1], [1, 9]]}, input_distribution=P)


def test_channel_with_other_inputs_is_named():
    with pytest.raises(InputError, match="channel 'b' has 1 input; it must have a probability for each"):
        bc.estimate({"a": [[9, 1], [1, 9]], "b": [[9, 1]]}, input_distribution=[0.5, 0.5])


# --- how often it is wrong ------------------------------------------------------------------------

P_TIE = np.array([0.8, 0.2])


def level_with(W, P):
    """The Z channel with as much information at P."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        better = bc.mutual_information(P, z_channel(middle)) > bc.mutual_information(P, W)
        low, high = (middle, high) if better else (low, middle)
    return z_channel(low).W


def wrong_at_a_tie(rng, channels, delta):
    """Whether one of two channels with equal I(P;W) is ruled out, and whether an interval is wrong."""
    tables = {name: np.array([rng.multinomial(80, row) for row in W]) for name, W in zip("ab", channels, strict=True)}
    found, value = RecordedSet(tables, Effort(2, 8), 0, P_TIE), bc.mutual_information(P_TIE, channels[0]) * math.log(2)
    missed = any(not low <= value <= high for low, high in (found.interval(name, delta / 2) for name in tables))
    return any(found.lead(*pair, delta) > 0.0 for pair in ("ab", "ba")), missed


def test_at_ties_of_information_errors_are_no_more_frequent_than_delta_and_the_twins_are():
    channels = bsc(0.1).W, level_with(bsc(0.1).W, P_TIE)
    # their capacities are no tie
    assert abs(bc.capacity(channels[0]).value - bc.capacity(channels[1]).value) > 0.09
    rng, runs, delta = np.random.default_rng(13), 60, 0.3
    allowed = most_failures(runs, delta)
    assert max(np.sum([wrong_at_a_tie(rng, channels, delta) for _ in range(runs)], axis=0)) <= allowed
    # the twin asks for log 33 nats less
    assert min(np.sum([wrong_at_a_tie(rng, channels, 10.0) for _ in range(runs)], axis=0)) > allowed
