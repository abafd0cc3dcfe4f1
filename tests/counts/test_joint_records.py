"""Trials that all channels answer are read as what they are, from files and objects, or refused in a sentence."""

from __future__ import annotations

import random

import numpy as np
import pandas as pd
import pytest

from bestchannel.counts import joint_records, read_counts, read_joint_trials
from bestchannel.counts.frames import joint_trials, labelled_counts
from bestchannel.errors import BestChannelError, InputError
from tests.counts.joint_reading import WAYS, campaign, drawn, meaning, put, read, wide_rows

TABLES = 120
WIDE = "trial,x,y_a,y_b\n0,u,u,v\n1,v,v,\n2,u,u,u\n"
LONG = "trial,channel,x,y\n0,a,u,u\n0,b,u,v\n1,a,v,v\n1,b,v,NA\n2,a,u,u\n2,b,u,u\n"


def saved(folder, text, name="trials.csv"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_no_table_of_joint_trials_is_read_wrong_and_sound_ones_are_read():
    _, bad, pity = campaign(TABLES, "suite")
    assert not bad, bad[0]
    assert not pity, pity[0]


def test_reader_for_which_a_second_answer_replaces_the_first_is_found_out(monkeypatch):
    monkeypatch.setattr(joint_records._Records, "refuse_twice", lambda *_: None)
    assert campaign(TABLES, "suite")[1]


@pytest.mark.parametrize("way", WAYS)
def test_every_format_gives_the_same_trials(tmp_path, way):
    table = drawn(random.Random(3))
    table.way, table.layout = way, "wide"
    columns, rows = wide_rows(random.Random(8), table)
    table.content = put(random.Random(0), table, columns, rows, tmp_path)
    assert read(table) == meaning(table)


def test_a_row_per_answer_and_a_row_per_trial_say_the_same(tmp_path):
    wide, long = (read_joint_trials(saved(tmp_path, text)) for text in (WIDE, LONG))
    for trials in (wide, long):
        assert trials.names == ("a", "b")
        assert trials.missing == {"a": 0, "b": 1}
        assert trials.y.tolist() == [[0, 0], [1, -1], [0, 1]]
        assert trials.inferred_outputs


def test_an_input_that_was_never_answered_is_an_input(tmp_path):
    trials = read_joint_trials(saved(tmp_path, WIDE))
    assert trials.alphabets[1].inputs == ("u", "v")
    assert trials.counts()["b"].tolist() == [[1, 1], [0, 0]]


def test_a_declared_output_is_an_answer_whatever_it_is_called(tmp_path):
    trials = read_joint_trials(saved(tmp_path, LONG), outputs=["u", "v", "NA"])
    assert trials.missing == {"a": 0, "b": 0}
    assert not trials.inferred_outputs


def test_titles_of_others_are_told_with_a_star(tmp_path):
    path = saved(tmp_path, WIDE.replace("trial,x,y_a,y_b", "item,truth,a,b"))
    trials = read_joint_trials(path, columns={"trial": "item", "x": "truth", "y": "*"})
    assert trials.names == ("a", "b")


def test_groups_are_a_column_or_one_label_per_trial(tmp_path):
    path = saved(tmp_path, "x,y_a,y_b,writer\n0,0,1,w\n1,1,1,v\n0,0,0,w\n")
    assert read_joint_trials(path, groups="writer").groups.tolist() == [0, 1, 0]
    answers = {"a": [0, 1, 0], "b": [1, 1, 0]}
    assert joint_trials([0, 1, 0], answers, groups=["w", "v", "w"]).groups.tolist() == [0, 1, 0]


def test_what_was_sent_and_what_was_answered_may_be_arrays_frames_or_columns():
    x, a, b = np.array([0, 1, 0, 1]), np.array([0, 1, 1, 1]), np.array([0, 0, 0, 1])
    by_name = joint_trials(x, {"a": a, "b": b})
    frame = joint_trials(pd.Series(x), pd.DataFrame({"a": a, "b": b}))
    matrix = joint_trials(x.tolist(), np.stack([a, b], axis=1))
    assert by_name.names == frame.names == ("a", "b")
    assert matrix.names == ("0", "1")
    for other in (frame, matrix):
        np.testing.assert_array_equal(other.y, by_name.y)


REFUSED = {
    "second answer": (LONG + "0,a,u,v\n", r'trial 0 must have one answer of channel "a"; it has one in \w+ 2 and another'),
    "second input": (LONG + "0,a,v,v\n", 'trial 0 must have one input of channel "a"'),
    "second row": (WIDE + "0,u,u,u\n", r"trial 0 must have one row; it has \w+ [12] and \w+ [45]"),
    "two inputs": ("x,x_a,y_a,y_b\n0,0,0,0\n", 'channel "a" must have one input; it has the columns x and'),
    "answer without input": ("x_a,y_a,x_b,y_b\n0,0,0,0\n1,1,,1\n", 'channel "b" has an answer and no input'),
    "channel without input": ("x_a,y_a,y_b\n0,0,0\n", 'there is no input of channel "b"'),
    "channel without answers": ("x,y_a,y_b\n0,0,\n1,1,\n", 'channel "b" must have answers; it has none'),
    "further column": ("x,y_a,y_b,note\n0,0,0,k\n", r"the column 'note' is neither .* --columns 'y=y_\*'"),
    "counts": ("x,y_a,y_b,count\n0,0,0,7\n", "the column 'count' is neither"),
    "no trial": ("channel,x,y\na,0,0\n", "there is no trial; say which is which, for instance --columns trial=NAME"),
    "no channel": ("trial,x,y\n0,0,0\n", "there is no channel"),
    "other titles": ("item,truth,a,b\n0,0,0,0\n", r"--columns 'trial=item,x=truth,y=\*'"),
    "title twice": ("x,y_a,y_a\n0,0,0\n", 'the column "y_a" must occur once'),
    "two spellings": ("x,y_a,y_b\n0,1,0\n1,1.0,0\n", "elsewhere '1', which may be the same"),
    "no rows": ("x,y_a,y_b\n", "there must be trials; there is none"),
    "measured": ("x,y_a,y_b\n" + "".join(f"0,{i}.25,0\n" for i in range(99)), "look like measured values"),
}  # fmt: skip


@pytest.mark.parametrize("kind", REFUSED)
def test_what_a_file_is_refused_for_an_object_is_refused_for(tmp_path, kind):
    text, sentence = REFUSED[kind]
    path = saved(tmp_path, text)
    with pytest.raises(InputError, match=sentence):
        read_joint_trials(path)
    if kind not in ("title twice", "two spellings"):  # pandas renames the one and makes numbers of the other
        frame = pd.read_csv(path)
        with pytest.raises(InputError, match=sentence.replace("in \\w+ 2", "in \\w+ 1")):
            joint_trials(frame)


@pytest.mark.parametrize("text", [WIDE, LONG, WIDE.replace("trial,", "n,"), "x_a,y_a,x_b,y_b\n0,1,0,1\n1,1,1,1\n",
                                  "y_true,y_a,y_b\n0,1,0\n1,1,1\n"])  # fmt: skip
def test_joint_trials_are_not_taken_for_separate_senses(tmp_path, text):
    path = saved(tmp_path, text)
    for refused in (lambda: read_counts(path), lambda: labelled_counts(pd.read_csv(path))):
        with pytest.raises(InputError, match=r"`bestchannel estimate --design joint` \(design=\"joint\"\)"):
            refused()


def test_a_matrix_whose_outputs_are_called_y_is_a_matrix(tmp_path):
    counts = read_counts(saved(tmp_path, "x,y_0,y_1\n0,90,10\n1,10,90\n"))
    assert counts["trials"].counts.tolist() == [[90, 10], [10, 90]]


def test_trials_of_equal_numbers_may_have_nothing_in_common(tmp_path):
    path = saved(tmp_path, LONG.replace("NA", "u"))
    assert list(read_counts(path, columns={"trial": ""})) == ["a", "b"]


def test_damaged_tables_are_refused_in_a_sentence(tmp_path):
    draw, said = random.Random(5), []
    for number in range(150):
        text = bytearray(draw.choice([WIDE, LONG]).encode())
        for _ in range(draw.randint(1, 4)):
            i = draw.randrange(len(text))
            text[i : i + draw.randint(0, 3)] = draw.choice(
                [b"", b",", b"\n", b'"', b"\0", b"\xff", b"x", b"y_", b"trial"]
            )
        path = tmp_path / f"{number}.csv"
        path.write_bytes(text)
        try:
            read_joint_trials(path)
        except BestChannelError as error:
            said.append(str(error))
    assert len(said) > 50
    assert not [sentence for sentence in said if "\n" in sentence]
