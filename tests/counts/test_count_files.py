"""Counts in files of many origins."""

from __future__ import annotations

import gzip

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bestchannel.counts import read_counts
from bestchannel.errors import InputError, MissingFileError

LINES = "channel,x,y,count\nq,0,0,9\nq,0,1,1\nq,1,0,2\nq,1,1,8\n"
COUNTS = [[9, 1], [2, 8]]


def read(tmp_path, text, **options):
    path = tmp_path / "trials.csv"
    path.write_bytes(text.encode())
    return read_counts(path, **options)


@pytest.mark.parametrize(
    "text",
    [
        LINES,
        "\ufeff" + LINES.replace("\n", "\r\n"),
        LINES.replace(",", ";"),
        LINES.replace(",", "\t"),
        LINES.replace("channel,x,y,count", "Channel,X,Y,Count"),
        LINES.replace(",9\n", ",4\nq,0,0,5\n"),
        LINES.replace(",9", ",9.0"),
        LINES.replace("\nq,0,1", "\r\nq,0,1").replace("\nq,1,1", "\rq,1,1"),
        LINES.replace("q,0,0,9", '"q", "0","0" ,9').replace('" ,', '",'),
        LINES.replace(",", " , ").replace("\n", "  \n"),
        LINES.replace(",", ";").replace(";9", ";9,0"),
    ],
)
def test_lines_of_many_origins_are_one_table(tmp_path, text):
    (content,) = read(tmp_path, text).values()
    np.testing.assert_array_equal(content.counts, COUNTS)
    assert (content.name, content.inputs, content.outputs) == ("q", ("0", "1"), ("0", "1"))
    assert content.inferred_outputs


def test_trial_log_counts_its_lines_and_keeps_its_labels(tmp_path):
    content = read(tmp_path, "x,y\nsent a,heard b\nsent a,heard a\nsent c,heard a\nsent a,heard b\n")["trials"]
    np.testing.assert_array_equal(content.counts, [[2, 1], [0, 1]])
    assert (content.inputs, content.outputs) == (("sent a", "sent c"), ("heard b", "heard a"))


def test_channels_have_their_own_alphabets_in_the_order_of_the_file(tmp_path):
    found = read(tmp_path, "channel,x,y\nb,0,u\na,1,7\na,0,7\nb,0,v\nb,1,u\n")
    assert list(found) == ["b", "a"]
    assert found["b"].outputs == ("u", "v")
    np.testing.assert_array_equal(found["a"].counts, [[1], [1]])


def test_declared_outputs_are_an_alphabet_of_which_some_may_be_unseen(tmp_path):
    content = read(tmp_path, LINES, outputs=["1", "0", "lost"])["q"]
    np.testing.assert_array_equal(content.counts, [[1, 9, 0], [8, 2, 0]])
    assert not content.inferred_outputs


def test_columns_may_have_other_names(tmp_path):
    text = LINES.replace("channel,x,y,count", "link,sent,got,n")
    columns = {"channel": "link", "x": "sent", "y": "got", "count": "n"}
    np.testing.assert_array_equal(read(tmp_path, text, columns=columns)["q"].counts, COUNTS)


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("9,1\n2,8\n", {}),
        (",0,1\n0,9,1\n1,2,8\n", {}),
        ("9,2\n1,8\n", {"transpose": True}),
        ("9;1\n2;8\n", {"outputs": ["0", "1"]}),
    ],
)
def test_bare_confusion_matrix_has_the_outputs_it_shows(tmp_path, text, options):
    content = read(tmp_path, text, **options)["trials"]
    np.testing.assert_array_equal(content.counts, COUNTS)
    assert content.outputs == ("0", "1")
    assert not content.inferred_outputs


def test_labels_of_a_matrix_are_kept_and_follow_declared_outputs(tmp_path):
    text = ",cat,dog,none\nkitten,9,1,0\npuppy,2,8,0\n"
    content = read(tmp_path, text)["trials"]
    assert (content.inputs, content.outputs) == (("kitten", "puppy"), ("cat", "dog", "none"))
    wide = read(tmp_path, text, outputs=["dog", "cat", "none", "other"])["trials"]
    np.testing.assert_array_equal(wide.counts, [[1, 9, 0, 0], [8, 2, 0, 0]])


def test_parquet_and_npz_hold_the_same(tmp_path):
    table = {"channel": ["q"] * 4, "x": [0, 0, 1, 1], "y": ["0", "1", "0", "1"], "count": [9, 1, 2, 8]}
    pq.write_table(pa.table(table), tmp_path / "a.parquet")
    np.savez(tmp_path / "a.npz", q=np.array(COUNTS))
    for ending in ("parquet", "npz"):
        np.testing.assert_array_equal(read_counts(tmp_path / f"a.{ending}")["q"].counts, COUNTS)
    pq.write_table(pa.table({"x": ["a", "a", "b"], "y": ["u", "u", "v"]}), tmp_path / "log.parquet")
    np.testing.assert_array_equal(read_counts(tmp_path / "log.parquet")["log"].counts, [[2, 0], [0, 1]])


def test_parquet_columns_may_have_dots_and_other_kinds_of_labels(tmp_path):
    columns = {"a.sent": [True, True, False], "y": pa.array(["u", "v", "u"]).dictionary_encode(), "a": [1, 2, 3]}
    pq.write_table(pa.table(columns), tmp_path / "log.parquet")
    content = read_counts(tmp_path / "log.parquet", columns={"x": "a.sent", "count": ""})["log"]
    np.testing.assert_array_equal(content.counts, [[1, 1], [1, 0]])
    assert content.inputs == ("True", "False")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"x": ["a", None], "y": [0, 1]}, 'row 2, column "x" must have a value; it has none'),
        ({"x": [[1], [2]], "y": [0, 1]}, 'the column "x" must hold labels; it holds values of type list'),
        (
            {"x": [0], "y": [0], "count": ["many"]},
            'the column "count" must hold numbers; it holds values of type string',
        ),
        ({"x": [0], "y": [0], "count": [-1]}, "row 1, count must be a whole number from 0 on; it is -1"),
        (
            {"x": pa.array([], pa.string()), "y": pa.array([], pa.string())},
            "there must be rows .* there is none",
        ),
        ({"x": [0], "y": [" "]}, "row 1, y must be a label; it is blank"),
    ],
)
def test_refusal_of_parquet_names_row_column_and_value(tmp_path, columns, message):
    pq.write_table(pa.table(columns), tmp_path / "log.parquet")
    with pytest.raises(InputError, match=message):
        read_counts(tmp_path / "log.parquet")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (LINES.replace(",9", ",-9"), "trials.csv: line 2, count must be a whole number from 0 on; it is -9"),
        (LINES.replace(",8", ",0.8"), "line 5, count .* it is 0.8"),
        (LINES.replace(",8", ",many"), "line 5, count must be a number; it is 'many'"),
        (LINES.replace(",8", ",nan"), "line 5, count must be a whole number from 0 on; it is nan"),
        (LINES.replace("q,1,1", "q,1,"), "line 5, y must be a label; it is blank"),
        (LINES.replace(",8", ""), "line 5 must have 4 fields"),
        (LINES.replace("count", "p"), "use `bestchannel capacity`"),
        ("channel,x,count\nq,0,1\n", "y is missing"),
        ("channel,x,y,count\n", "there is none"),
        ("channel,x,y,count\nq,0,0,0\n", 'channel "q" must add up to at least 1'),
        ("0.9,0.1\n0.2,0.8\n", "whole number"),
        ("", "empty"),
        ("\n \n", "empty"),
        ('x,y\n0,1\n0,"1\n', "line 3 cannot be split into fields"),
        ("x,y\n0,1\n0,\0\n", "NUL"),
        ("x,y\n0," + "a" * 20_000, "line 2, y must be a label; it is 20,000 letters long"),
        ("x,y\n0," + "a" * 200_000, "line 2 cannot be split into fields"),
        ("x,y,x\n0,1,2\n", 'the column "x" must occur once; it occurs 2 times'),
    ],
)
def test_refusal_names_the_file_the_line_and_the_value(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read(tmp_path, text)


def test_undeclared_output_is_refused_with_its_line(tmp_path):
    with pytest.raises(InputError, match=r"line 3, y must be one of the declared outputs 0; it is '1'"):
        read(tmp_path, LINES, outputs=["0"])
    with pytest.raises(InputError, match="different labels"):
        read(tmp_path, LINES, outputs=["0", "1", "0"])
    with pytest.raises(InputError, match="for each of their 2 outputs; there are 3: 0, 1, 2"):
        read(tmp_path, "9,1\n2,8\n", outputs=["0", "1", "2"])


@pytest.mark.parametrize("ending", [".zip", ".tar.gz", ".TGZ"])
def test_archive_is_to_be_unpacked_first(tmp_path, ending):
    (tmp_path / f"counts{ending}").write_bytes(gzip.compress(b"x,y\n"))
    with pytest.raises(InputError, match=r"it is .*; unpack it"):
        read_counts(tmp_path / f"counts{ending}")


@pytest.mark.parametrize("ending", [".parquet", ".npz", ".mat", ".json"])
def test_text_under_another_ending_is_refused(tmp_path, ending):
    (tmp_path / f"counts{ending}").write_text(LINES)
    with pytest.raises(InputError, match=f"counts{ending}: "):
        read_counts(tmp_path / f"counts{ending}")


def test_text_that_is_no_utf_8_is_refused_with_its_line(tmp_path):
    (tmp_path / "counts.csv").write_bytes(LINES.replace("q", "ä").encode("latin-1"))
    with pytest.raises(InputError, match="line 2 must be UTF-8 text; it has the byte 0xe4"):
        read_counts(tmp_path / "counts.csv")
    (tmp_path / "counts.csv").write_bytes(LINES.encode("utf-16"))
    with pytest.raises(InputError, match="UTF-8 text"):
        read_counts(tmp_path / "counts.csv")


def test_control_characters_of_a_file_do_not_reach_the_terminal(tmp_path):
    with pytest.raises(InputError) as error:
        read(tmp_path, "channel,x,\x1b[2Jy\n0,0,0\n")
    assert "\\x1b[2Jy" in str(error.value)
    assert "\x1b" not in str(error.value)


def test_other_misuse_is_refused(tmp_path):
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError, match="a folder, and a file is required"):
        read_counts(tmp_path / "folder.csv")
    with pytest.raises(MissingFileError):
        read_counts(tmp_path / "none.csv")
    (tmp_path / "counts.xls").write_text("x,y\n0,1\n")
    with pytest.raises(InputError, match="ending must be one of"):
        read_counts(tmp_path / "counts.xls")
