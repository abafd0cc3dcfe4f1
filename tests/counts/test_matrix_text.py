"""A matrix in a CSV file, with every kind of labels around it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bestchannel.counts import read_channels
from bestchannel.errors import InputError

BSC = [[0.9, 0.1], [0.2, 0.8]]


def read(tmp_path: Path, text: str, **options: bool):
    path = tmp_path / "link.csv"
    path.write_bytes(text.encode())
    return read_channels(path, **options)["link"]


@pytest.mark.parametrize(
    ("text", "inputs", "outputs"),
    [
        ("0.9,0.1\n0.2,0.8\n", "01", "01"),
        ("0.9, 0.1\n0.2, 0.8", "01", "01"),
        ("\ufeff0.9,0.1\r\n0.2,0.8\r\n\r\n\r\n", "01", "01"),
        ("\n\n0.9,0.1\n0.2,0.8\n,\n", "01", "01"),
        ("0.9;0.1\n0.2;0.8\n", "01", "01"),
        ("0,9;0,1\n0,2;0,8\n", "01", "01"),
        ("0.9\t0.1\n0.2\t0.8\n", "01", "01"),
        ("9e-1,1E-1\n.2,+0.8\n", "01", "01"),
        ("a,b\n0.9,0.1\n0.2,0.8\n", "01", "ab"),
        ("0,?\n0.9,0.1\n0.2,0.8\n", "01", "0?"),
        ("s,0.9,0.1\nt,0.2,0.8\n", "st", "01"),
        (",a,b\ns,0.9,0.1\nt,0.2,0.8\n", "st", "ab"),
        ("sent,a,b\ns,0.9,0.1\nt,0.2,0.8\n", "st", "ab"),
        (",0,1\n0,0.9,0.1\n1,0.2,0.8\n", "01", "01"),
        ("\t7\t5\n3\t0.9\t0.1\n2\t0.2\t0.8\n", "32", "75"),
        ("X,a,b\n1,0.9,0.1\n2,0.2,0.8\n", "12", "ab"),
        ("sent,0,1\n3,0.9,0.1\n4,0.2,0.8\n", "34", "01"),
        ("sent,a,b\n0,0.9,0.1\n1,0.2,0.8\n", "01", "ab"),
        ("5,0.9,0.1\n4,0.2,0.8\n", "54", "01"),
        ("a,b\ns,0.9,0.1\nt,0.2,0.8\n", "st", "ab"),
        (";a;b\ns;0,9;0,1\nt;0,2;0,8\n", "st", "ab"),
    ],
)
def test_labels_are_told_from_probabilities(tmp_path, text, inputs, outputs):
    channel = read(tmp_path, text)
    np.testing.assert_array_equal(channel.W, BSC)
    assert (channel.inputs, channel.outputs, channel.name) == (tuple(inputs), tuple(outputs), "link")


@pytest.mark.parametrize(
    "text", ["1,0\n0,1\n", "0,1\n1,0\n", "a,b\n0,1\n1,0\n", "a,b\n1,0\n0,1\n", "1\n1\n", "a\n1\n1\n"]
)
def test_rows_of_zeros_and_ones_are_probabilities(tmp_path, text):
    numbers = [line.split(",") for line in text.split() if line[0] in "01"]
    np.testing.assert_array_equal(read(tmp_path, text).W, np.array(numbers, dtype=float))


def test_labels_may_contain_delimiters_and_line_ends(tmp_path):
    channel = read(tmp_path, ',"a,\n""b""","c;\td"\n" s",0.9,0.1\nt,0.2,0.8\n')
    assert channel.outputs == ('a,\n"b"', "c;\td")
    assert channel.inputs == (" s", "t")


@pytest.mark.parametrize(
    "text", ["0.9,0.2\n0.1,0.8\n", ",s,t\na,0.9,0.2\nb,0.1,0.8\n", "a,0.9,0.2\nb,0.1,0.8\n", "s,t\n0.9,0.2\n0.1,0.8\n"]
)
def test_transposed_columns_are_inputs_and_so_are_their_labels(tmp_path, text):
    channel = read(tmp_path, text, transpose=True)
    np.testing.assert_array_equal(channel.W, BSC)
    assert channel.inputs == (("s", "t") if "s" in text else ("0", "1"))
    assert channel.outputs == (("a", "b") if "a" in text else ("0", "1"))


def test_transposed_whole_column_that_sums_to_one_is_an_input(tmp_path):
    np.testing.assert_array_equal(read(tmp_path, "1,0.3\n0,0.7\n", transpose=True).W, [[1, 0], [0.3, 0.7]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0.9,0.1\n0.2,abc\n", r"line 2, column 2 of .* must be a number; it is 'abc'"),
        ("0.9,abc\n0.2,0.8\n", r"line 1, column 2 of .* must be a number; it is 'abc'"),
        ("0.9,0.1\nabc,0.8\n", r"line 2, column 1 of .* must be a number; it is 'abc'"),
        ("0.9,0.1\n0.2,\n", r"line 2, column 2 of .* must be a number; it is ''"),
        ("a,b\n0.1,0.9\n0.9,nan\n", r"line 3, column 2 of .* must be a finite number; it is nan"),
        ("0,9;0,1\n0,2;1.000,8\n", r"line 2, column 2 of .* must be a number; it is '1.000,8'"),
        ("0.9,0.1\n0.2,0.7,0.1\n", r"line 2 must have 2 fields like the lines before it; it has 3"),
        ("a,b\n0.2,0.7,0.1\n", r"line 2 must have 2 fields like the lines before it; it has 3"),
        ('0.9,0.1\n"0.2,0.8\n', r"line 2 cannot be split into fields"),
        ("0.9,0.1\n\n0.2,0.8\n", r"line 2 is blank, and a file holds one matrix"),
        ("0,1,2\n0.9,0.1,0\n0.2,0.8,0\n", r"the first line looks like labels \(0, 1, 2\)"),
        ("12,3\n4,9\n", r'row x=0 of channel "link" looks like counts'),
        ("0.9,0.1\n0.2,0.7\n", r'row x=1 of channel "link" must sum to 1'),
        ("hello\n", r"line 1, column 1 of .* must be a number; it is 'hello'"),
    ],
)
def test_refusal_names_the_file_the_place_and_the_value(tmp_path, text, message):
    with pytest.raises(InputError, match=rf"link\.csv: {message}"):
        read(tmp_path, text)


def test_numeric_labels_are_not_normalized_away(tmp_path):
    channel = read(tmp_path, "0,0.9,0.101\n1,0.2,0.8\n", normalize=True)
    assert channel.W.shape == (2, 2)
    assert channel.rescaled == pytest.approx(0.001, rel=1e-9)  # 0.9 + 0.101 - 1
    with pytest.raises(InputError, match="looks like labels"):
        read(tmp_path, "0,1,2\n0.9,0.1,0\n", normalize=True)
