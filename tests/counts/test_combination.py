"""Channels that are read as one."""

from collections import Counter

import numpy as np
import pytest

import bestchannel as bc
from bestchannel.counts import combined, read_joint_trials
from bestchannel.counts.frames import joint_trials
from bestchannel.errors import InputError


def noisy(n, seed, *flips):
    """n trials of as many binary symmetric channels as there are flips, independent given the input."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 2, n)
    return x, {f"c{j}": x ^ (rng.random(n) < p) for j, p in enumerate(flips)}


def test_counts_are_those_of_the_tuples_that_all_answered():
    x, answers = noisy(200, 1, 0.1, 0.2, 0.3)
    answers = {name: np.where(np.arange(200) % 7 == j, None, y) for j, (name, y) in enumerate(answers.items())}
    trials = combined(joint_trials(x, answers), ["c2", "c0"])
    assert trials.names == ("c2", "c0", "c2+c0")
    labels, counts = trials.alphabets[2], trials.counts()["c2+c0"]
    read = {
        (a, b): n
        for a, row in zip(labels.inputs, counts.tolist(), strict=True)
        for b, n in zip(labels.outputs, row, strict=True)
        if n
    }
    rows = zip(x.tolist(), answers["c2"], answers["c0"], strict=True)
    assert read == Counter((str(a), f"({int(b)}, {int(c)})") for a, b, c in rows if b is not None and c is not None)


def test_two_looks_are_proved_better_than_one_and_within_what_they_carry():
    x, answers = noisy(4000, 2, 0.15, 0.15)
    result = bc.estimate(combined(joint_trials(x, answers), ["c0", "c1"]), design="shared")
    # given x the answers are independent: the rows are products
    one = np.array([[0.85, 0.15], [0.15, 0.85]])
    both = bc.capacity(np.einsum("xa,xb->xab", one, one).reshape(2, 4))
    whole = result["c0+c1"]
    assert whole.lower <= both.lower <= both.upper <= whole.upper
    assert result.verdict.best == "c0+c1"


def test_declared_outputs_make_all_tuples_possible():
    trials = joint_trials([0, 1], {"a": ["u", "u"], "b": ["v", "u"]}, outputs=["u", "v"])
    assert combined(trials, ["a", "b"]).alphabets[2].outputs == ("(u, u)", "(u, v)", "(v, u)", "(v, v)")


def test_inputs_are_told_by_their_labels_and_not_by_their_numbers(tmp_path):
    path = tmp_path / "trials.csv"
    path.write_text("x_a,y_a,x_b,y_b\nu,0,u,0\nv,1,v,0\nv,1,v,1\n,,v,1\n")
    trials = read_joint_trials(path)
    assert combined(trials, ["a", "b"]).counts()["a+b"].sum() == 3
    path.write_text("x_a,y_a,x_b,y_b\nu,0,u,0\nv,1,u,0\n")
    with pytest.raises(InputError, match=r"must have one input; trial 2 sent v to a, u to b"):
        combined(read_joint_trials(path), ["a", "b"])


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        (["c0", "q"], "there is no channel 'q' to combine; there are c0, c1"),
        (["c0"], "at least two different channels are read as one; these are c0"),
        (["c0", "c0"], "at least two different channels"),
    ],
)
def test_what_cannot_be_combined_is_refused(names, sentence):
    with pytest.raises(InputError, match=sentence):
        combined(joint_trials(*noisy(20, 3, 0.1, 0.1)), names)


def test_too_many_letters_are_named():
    rng = np.random.default_rng(4)
    answers = {name: rng.integers(0, 30, 3000) for name in "ab"}
    with pytest.raises(InputError, match=r"a\+b would have 8\d\d outputs, and channels are read as one up to 256"):
        combined(joint_trials(rng.integers(0, 2, 3000), answers), ["a", "b"])
