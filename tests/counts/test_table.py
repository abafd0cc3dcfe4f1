"""Lines `channel,x,y,p`, in CSV and in Parquet."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bestchannel.counts import read_channels
from bestchannel.errors import InputError, MissingExtraError

LINES = "channel,x,y,p\nq,0,0,0.9\nq,0,1,0.1\nq,1,0,0.2\nq,1,1,0.8\n"
BSC = [[0.9, 0.1], [0.2, 0.8]]


def read(tmp_path: Path, text: str, **options):
    path = tmp_path / "links.csv"
    path.write_bytes(text.encode())
    return read_channels(path, **options)


def read_parquet(tmp_path: Path, content: dict, **options):
    path = tmp_path / "links.parquet"
    pq.write_table(pa.table(content), path)
    return read_channels(path, **options)


@pytest.mark.parametrize(
    "text",
    [
        LINES,
        "\ufeff" + LINES.replace("\n", "\r\n") + "\r\n\r\n",
        LINES.replace(",", ";"),
        LINES.replace(",", ";").replace("0.", "0,"),
        LINES.replace(",", "\t"),
        LINES.replace(",", ", "),
        LINES.replace("channel,x,y,p", "Channel,X,Y,P"),
        LINES.replace("\nq,1,0", "\n\nq,1,0"),
        "p,y,x,note,channel\n0.9,0,0,,q\n0.1,1,0,hm,q\n0.2,0,1,,q\n0.8,1,1,,q\n",
    ],
)
def test_text_of_many_origins_is_one_channel(tmp_path, text):
    (channel,) = read(tmp_path, text).values()
    np.testing.assert_array_equal(channel.W, BSC)
    assert (channel.name, channel.inputs, channel.outputs) == ("q", ("0", "1"), ("0", "1"))


def test_channel_without_a_column_is_named_after_the_file(tmp_path):
    assert list(read(tmp_path, "x,y,p\n0,0,1\n")) == ["links"]
    assert list(read_parquet(tmp_path, {"x": ["0"], "y": ["0"], "p": [1.0]})) == ["links"]


def test_channels_keep_the_order_of_the_file_and_their_own_alphabets(tmp_path):
    channels = read(tmp_path, "channel,x,y,p\nb,s,u,0.5\na,0,0,1\nb,s,v,0.25\na,1,7,1\nb,s,w,0.25\n")
    assert list(channels) == ["b", "a"]
    assert channels["b"].outputs == ("u", "v", "w")
    np.testing.assert_array_equal(channels["a"].W, np.eye(2))
    assert channels["a"].outputs == ("0", "7")


def test_integer_labels_are_in_numeric_order_and_others_in_order_of_appearance(tmp_path):
    channel = read(tmp_path, "x,y,p\n10,b,1\n-2,a,1\n9,10,1\n")["links"]
    assert channel.inputs == ("-2", "9", "10")
    assert channel.outputs == ("b", "a", "10")
    np.testing.assert_array_equal(channel.W, [[0, 1, 0], [0, 0, 1], [1, 0, 0]])


def test_cell_without_a_line_has_probability_zero(tmp_path):
    np.testing.assert_array_equal(read(tmp_path, "x,y,p\n0,0,1\n1,0,0.5\n1,1,0.5\n")["links"].W, [[1, 0], [0.5, 0.5]])


def test_columns_may_have_other_names(tmp_path):
    columns = {"channel": "link", "x": "sent", "y": "got", "p": "prob"}
    text = LINES.replace("channel,x,y,p", "link,Sent,got,prob")
    np.testing.assert_array_equal(read(tmp_path, text, columns=columns)["q"].W, BSC)
    table = {"link": ["q"], "sent": [0], "got": [0], "prob": [1]}
    assert read_parquet(tmp_path, table, columns=columns)["q"].W == [[1.0]]


def test_columns_may_exchange_x_and_y(tmp_path):
    channel = read(tmp_path, "x,y,p\n0,0,0.9\n1,0,0.1\n0,1,0.2\n1,1,0.8\n", columns={"x": "y", "y": "x"})["links"]
    np.testing.assert_array_equal(channel.W, BSC)


def test_normalize_keeps_what_it_removed(tmp_path):
    channel = read(tmp_path, "x,y,p\n0,0,0.5\n0,1,0.25\n", normalize=True)["links"]
    assert channel.rescaled == 0.25
    assert channel.W.sum() == pytest.approx(1, abs=2**-52)


def test_duplicate_cell_is_refused_with_both_lines(tmp_path):
    with pytest.raises(
        InputError, match=r'x=0, y=1 of channel "q" must have one value; .* line 3 and another in line 7'
    ):
        read(tmp_path, LINES + "\nq,0,1,0.1\n")
    table = {"x": [0, 0], "y": [0, 0], "p": [1.0, 1.0]}
    with pytest.raises(InputError, match="row 1 and another in row 2"):
        read_parquet(tmp_path, table)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("channel,x,y,p\nq,0,0,high\n", r"line 2, column \"p\" must be a number; it is 'high'"),
        ("channel,x,y,p\nq,0,0,\n", r"line 2, column \"p\" must be a number; it is ''"),
        ("channel,x,y,p\nq,0,0,0,9\n", r"line 2 must have 4 fields like the lines before it; it has 5"),
        ('x,y,p\n"0\n0",0,1\n0,0,inf\n', r"line 4, column \"p\" must be a finite number; it is inf"),
        ("channel,x,y,p\n", r"there must be rows; there is none"),
        ("channel,x,y,p\nq,0,0,0.9\n", r'row x=0 of channel "q" must sum to 1 within 1e-09; it sums to 0.9'),
        ("channel,x,y,p\nq,0,0,-0.5\nq,0,1,1.5\n", r"row x=0, column y=0 of channel \"q\" must be .* >= 0; it is -0.5"),
        ("channel,x,p\nq,0,1\n", r"rows must have the columns x, y and p, .* y is missing"),
        ("x,y,p,P\n0,0,1,1\n", r'the column "p" must occur once; it occurs 2 times'),
        ("channel,x,y,count\nq,0,0,12\n", r"this looks like counts, .* use `bestchannel estimate`"),
        ("channel,x,y\nq,0,0\n", r"this looks like a trial log, .* use `bestchannel estimate`"),
        ("x,y\n0,0\n", r"this looks like a trial log"),
    ],
)
def test_refusal_names_the_file_the_place_and_the_way_out(tmp_path, text, message):
    with pytest.raises(InputError, match=rf"links\.csv: .*{message}"):
        read(tmp_path, text)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"x": [0, None], "y": [0, 0], "p": [1.0, 1.0]}, 'row 2, column "x" must have a value; it has none'),
        ({"x": [0], "y": [0], "p": [float("nan")]}, 'row 1, column "p" must be a finite number; it is nan'),
        ({"x": [0], "y": [0], "p": ["high"]}, 'column "p" must hold numbers; it holds values of type string'),
        ({"x": [[0]], "y": [0], "p": [1.0]}, 'column "x" must hold labels; it holds values of type list'),
        ({"x": [0], "y": [0], "count": [3]}, "looks like counts"),
        (
            {"x": pa.array([], pa.string()), "y": pa.array([], pa.string()), "p": pa.array([], pa.float64())},
            "there must be rows; there is none",
        ),
    ],
)
def test_parquet_refusal_names_the_row_and_the_column(tmp_path, table, message):
    with pytest.raises(InputError, match=rf"links\.parquet: .*{message}"):
        read_parquet(tmp_path, table)


def test_parquet_labels_may_be_integers_categories_or_bytes(tmp_path):
    labels = pa.array(["s", "t"]).dictionary_encode()
    channel = read_parquet(tmp_path, {"x": labels, "y": pa.array([b"u", b"v"]), "p": pa.array([1, 1])})["links"]
    assert (channel.inputs, channel.outputs) == (("s", "t"), ("u", "v"))


@pytest.mark.parametrize(
    ("columns", "message"),
    [({"z": "x"}, "may rename channel, x, y, p; it renames 'z'"), ({"x": "sent"}, 'must be the column "sent"')],
)
def test_columns_that_do_not_fit_are_refused(tmp_path, columns, message):
    with pytest.raises(InputError, match=message):
        read(tmp_path, LINES, columns=columns)


def test_transposed_long_form_has_its_inputs_in_y(tmp_path):
    found = read(tmp_path, "x,y,p\na,sent,0.9\nb,sent,0.1\na,other,0.25\nb,other,0.75\n", transpose=True)
    (channel,) = found.values()
    assert (channel.inputs, channel.outputs) == (("sent", "other"), ("a", "b"))
    assert channel.W.tolist() == [[0.9, 0.1], [0.25, 0.75]]
    (channel,) = read_parquet(tmp_path, {"x": [0, 1], "y": [0, 0], "p": [0.5, 0.5]}, transpose=True).values()
    assert channel.W.tolist() == [[0.5, 0.5]]


def test_parquet_without_its_package_names_the_extra(tmp_path, monkeypatch):
    path = tmp_path / "links.parquet"
    path.write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"reading Parquet needs .*bestchannel\[parquet\]"):
        read_channels(path)
