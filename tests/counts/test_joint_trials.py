"""Trials that several channels answer."""

import numpy as np
import pytest

import bestchannel as bc
from bestchannel.counts import ChannelLabels, JointTrials

LABELS = (ChannelLabels("a", ("cat", "dog"), ("cat", "dog")), ChannelLabels("b", ("0", "1"), ("0", "1", "lost")))
X = np.array([[0, 0], [0, 1], [1, 1], [1, 0], [-1, 1]])
Y = np.array([[0, 2], [1, 1], [1, -1], [1, 0], [-1, 2]])


def test_counts_are_those_of_the_answers_that_came():
    trials = JointTrials(LABELS, X, Y)
    assert {name: table.tolist() for name, table in trials.counts().items()} == {
        "a": [[1, 1], [0, 2]], "b": [[1, 0, 1], [0, 1, 1]]}  # fmt: skip
    assert trials.missing == {"a": 1, "b": 1}
    assert [content.outputs for content in trials.labelled_counts()] == [("cat", "dog"), ("0", "1", "lost")]


def test_a_pair_has_the_trials_that_both_answered():
    pair = JointTrials(LABELS, X, Y, groups=np.arange(5)).pair("b", "a")
    assert [column.tolist() for column in pair] == [[0, 1, 0], [2, 1, 0], [0, 0, 1], [0, 1, 1], [0, 1, 3]]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"y": Y[:, :1]},
            r"y must be whole numbers \[trial, channel\] of shape \(5, 2\); it is int64 of shape \(5, 1\)",
        ),
        ({"y": Y + 1}, 'y of channel "a" must be from 0 to 1, or -1 where there is none; in trial 1 it is 2'),
        ({"x": X - 1}, 'x of channel "a" must be from 0 to 1, or -1 where there is none; in trial 4 it is -2'),
        ({"x": X * 1.0}, "x must be whole numbers"),
        ({"x": np.where(Y == 2, -1, X)}, "x must be known wherever an answer came"),
        ({"groups": np.arange(4)}, r"groups must have an entry per trial, 5; its shape is \(4,\)"),
    ],
)
def test_what_is_no_table_of_trials_is_refused(change, sentence):
    with pytest.raises(bc.InputError, match=sentence):
        JointTrials(**{"alphabets": LABELS, "x": X, "y": Y, **change})
