"""What a sense costs: whatever people write, positive numbers for every input, or one sentence."""

import numpy as np
import pytest

from bestchannel.channels.channel import sense_costs, total_cost
from bestchannel.errors import InputError


def test_mapping_leaves_1_where_nothing_is_said():
    assert sense_costs({"b": 2}, ["a", "b"], [2, 3]) == ((1.0, 1.0), (2.0, 2.0, 2.0))


def test_sequence_is_in_the_order_of_the_channels():
    assert sense_costs([3, np.array([1.0, 0.5])], ["a", "b"], [1, 2]) == ((3.0,), (1.0, 0.5))


def test_array_is_in_the_order_of_the_channels():
    assert sense_costs(np.array([[2, 1], [1, 3]]), ["a", "b"], [2, 2]) == ((2.0, 1.0), (1.0, 3.0))
    with pytest.raises(InputError, match="one for each of 2 channels"):
        sense_costs(np.array(2.0), ["a", "b"], [2, 2])


def test_total_is_the_sum_over_inputs_of_cost_times_senses():
    assert total_cost([[1.0, 10.0], [0.5]], [[3, 2], [4]]) == 25.0


@pytest.mark.parametrize(
    ("cost", "sentence"),
    [
        ({"a": 0}, "channel 'a' must be a finite number > 0; it is 0"),
        ({"a": -1}, "it is -1"),
        ({"a": float("nan")}, "it is nan"),
        ({"a": [1, float("inf")]}, "input x=1 of channel 'a' must be a finite number > 0; it is inf"),
        ({"a": "2"}, "it is '2'"),
        ({"a": True}, "it is True"),
        ({"a": None}, "it is None"),
        ({"a": 1j}, "it is 1j"),
        ({"c": 2}, "there is no channel 'c'"),
        ({"a": [1, 2, 3]}, "one for each of its 2 inputs; it has 3"),
        ({"a": []}, "it has 0"),
        ([1], "one for each of 2 channels"),
        ("12", "one for each of 2 channels"),
        (3, "one for each of 2 channels"),
        ([1e-6, 1e6], "at most 1e\\+09 times the least"),
    ],
)
def test_other_costs_are_refused_with_what_is_wrong(cost, sentence):
    with pytest.raises(InputError, match=sentence):
        sense_costs(cost, ["a", "b"], [2, 2])
