"""A number in a file is read to the last digit, or refused; what may be two numbers is refused."""

from __future__ import annotations

import io
import json
import struct

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.io import savemat

import bestchannel as bc
from bestchannel.counts import read_channels, read_counts, text_log
from bestchannel.errors import InputError

LARGEST = 2**53
TOO_LARGE = LARGEST + 1
"""The first whole number that is no double: read as one it becomes 2^53."""


def total(path, **options):
    return sum(int(content.counts.sum()) for content in read_counts(path, **options).values())


def npz(**arrays):
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def parquet(count):
    buffer = io.BytesIO()
    pq.write_table(pa.table({"x": ["0"], "y": ["0"], "count": pa.array([count], pa.int64())}), buffer)
    return buffer.getvalue()


def mat(**variables):
    buffer = io.BytesIO()
    savemat(buffer, variables)
    return buffer.getvalue()


HOLDING = {
    "rows.csv": lambda n: f"x,y,count\na,a,{n}\n".encode(),
    "matrix.csv": lambda n: f",a,b\na,{n},0\nb,0,0\n".encode(),
    "matrix.txt": lambda n: f"{n} 0\n0 0\n".encode(),
    "counts.json": lambda n: json.dumps({"channels": {"a": [[n, 0]]}}).encode(),
    "counts.npz": lambda n: npz(a=np.array([[n, 0]])),
    "rows.npz": lambda n: npz(x=np.array(["0"]), y=np.array(["0"]), count=np.array([n])),
    "counts.parquet": parquet,
    "counts.mat": lambda n: mat(a=np.array([[n, 0]])),
}


@pytest.mark.parametrize("name", HOLDING)
def test_count_above_the_exact_doubles_is_refused_and_the_last_exact_one_is_kept(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(HOLDING[name](LARGEST))
    assert total(path) == LARGEST
    path.write_bytes(HOLDING[name](TOO_LARGE))
    with pytest.raises(InputError, match=r"2\^53"):
        read_counts(path)


@pytest.mark.parametrize("short", [True, False], ids=["at once", "in blocks"])
def test_rows_that_add_up_to_more_than_the_exact_doubles_are_refused(tmp_path, monkeypatch, short):
    if not short:
        monkeypatch.setattr(text_log, "BLOCK", 256)
    path = tmp_path / "rows.csv"
    path.write_text(f"x,y,count\na,a,{LARGEST - 1}\na,a,1\n")
    assert total(path) == LARGEST
    path.write_text(f"x,y,count\na,a,{LARGEST}\na,a,1\n")
    with pytest.raises(InputError, match=r"2\^53"):
        read_counts(path)


def test_counts_in_memory_are_as_exact():
    with pytest.raises(InputError, match=r"from 0 to 2\^53; it is 9007199254740993"):
        bc.estimate({"a": [[TOO_LARGE, 1]]})
    with pytest.raises(InputError, match=r"at most 2\^53"):
        bc.estimate({"a": [[LARGEST, 1]]})


@pytest.mark.parametrize("number", ["1,000", "1.000", "12,345", "+3.141"])
@pytest.mark.parametrize("short", [True, False], ids=["at once", "in blocks"])
def test_sign_before_three_digits_may_divide_thousands_and_is_refused(tmp_path, monkeypatch, number, short):
    if not short:
        monkeypatch.setattr(text_log, "BLOCK", 256)
    path = tmp_path / "rows.csv"
    digits = number.lstrip("+").replace(",", "").replace(".", "")
    path.write_text(f"x;y;count\n0;0;5\n0;1;{number}\n")
    with pytest.raises(InputError, match=rf"line 3, count must be written without .* which may be \+?{digits} or"):
        read_counts(path)
    path.write_text(f";a;b\na;{number};5\nb;5;7\n")
    with pytest.raises(InputError, match=rf"without a sign between thousands; .* may be \+?{digits} or"):
        read_counts(path)


def test_sign_that_another_number_shows_to_be_decimal_is_decimal(tmp_path):
    path = tmp_path / "matrix.csv"
    path.write_text("1,000;0,000\n0,250;0,750\n")
    assert read_channels(path)["matrix"].W.tolist() == [[1, 0], [0.25, 0.75]]
    path.write_text("1.000,0.000\n0.250,0.750\n")
    assert read_channels(path)["matrix"].W.tolist() == [[1, 0], [0.25, 0.75]]
    path.write_text("12.0,3\n4,9\n")
    assert read_counts(path)["matrix"].counts.tolist() == [[12, 3], [4, 9]]


@pytest.mark.parametrize("number", ["1_000", "١٢", "1 000", "1'000", "0x10", "1,000,000"])
def test_other_spellings_of_numbers_are_refused(tmp_path, number):
    path = tmp_path / "rows.csv"
    path.write_text(f'x;y;count\n0;0;5\n0;1;"{number}"\n')
    with pytest.raises(InputError, match="line 3, count must be a number"):
        read_counts(path)
    path.write_text(f';a;b\na;"{number}";5\nb;5;7\n')
    with pytest.raises(InputError, match="must be a number"):
        read_counts(path)


def element(kind, data):
    return struct.pack("<II", kind, len(data)) + data + bytes(-len(data) % 8)


def variable(name, kind, stored, values):
    """A 1×n matrix of the class `kind` as MAT files have it, its values stored as `stored`."""
    data = np.array(values).astype({9: "<f8", 3: "<i2"}[stored]).tobytes()
    parts = [(6, struct.pack("<II", kind, 0)), (5, struct.pack("<ii", 1, len(values))), (1, name), (stored, data)]
    return element(14, b"".join(element(*part) for part in parts))


def write_mat(path, *variables):
    path.write_bytes(b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM" + b"".join(variables))


UINT8, DOUBLE = 9, 6
AS_DOUBLES, AS_INT16 = 9, 3


@pytest.mark.parametrize(("stored", "value"), [(AS_DOUBLES, 300), (AS_DOUBLES, 1.5), (AS_INT16, -1), (AS_INT16, 256)])
def test_values_of_a_mat_file_that_do_not_fit_their_class_are_refused(tmp_path, stored, value):
    path = tmp_path / "counts.mat"
    write_mat(path, variable(b"a", UINT8, stored, [5, 7]))
    assert total(path) == 12
    write_mat(path, variable(b"a", UINT8, stored, [5, value]))
    with pytest.raises(InputError, match="the variable a has values that do not fit its class u1"):
        read_counts(path)


def test_two_variables_of_one_name_are_refused(tmp_path):
    path = tmp_path / "counts.mat"
    write_mat(path, variable(b"a", DOUBLE, AS_INT16, [5, 7]), variable(b"a", DOUBLE, AS_INT16, [1, 1]))
    with pytest.raises(InputError, match="each variable must have its own name; a occurs twice"):
        read_counts(path)


MASKED = np.ma.MaskedArray([[90, 10], [5, 95]], mask=[[0, 0], [1, 0]])
PROBABILITIES = np.ma.MaskedArray([[0.9, 0.1], [0.2, 0.8]], mask=[[0, 0], [1, 0]])


@pytest.mark.parametrize(
    "use",
    [
        lambda: bc.estimate({"a": MASKED}),
        lambda: bc.estimate({"a": [MASKED[0], MASKED[1]]}),
        lambda: bc.Channel(PROBABILITIES),
        lambda: bc.capacity(PROBABILITIES),
        lambda: bc.capacities(PROBABILITIES[None]),
        lambda: bc.Recording({"a": MASKED}),
    ],
)
def test_masked_cells_are_refused(use):
    with pytest.raises(InputError, match="must have no masked cells"):
        use()


def test_masked_array_without_masked_cells_is_an_array():
    assert bc.Channel(np.ma.MaskedArray([[0.9, 0.1], [0.2, 0.8]])).n_inputs == 2


STACK = np.arange(1, 13).reshape(3, 2, 2)


def test_stack_of_matlab_with_the_channels_first_is_refused_until_the_axis_is_told(tmp_path):
    path = tmp_path / "links.mat"
    savemat(path, {"links": STACK})
    with pytest.raises(
        InputError, match=r"first axis \(3 of 2×2\) or along its last \(2 of 3×2\); write --channel-axis"
    ):
        read_counts(path)
    assert [c.counts.tolist() for c in read_counts(path, channel_axis="first").values()] == STACK.tolist()
    last = read_counts(path, channel_axis="last")
    assert [c.counts.tolist() for c in last.values()] == np.moveaxis(STACK, 2, 0).tolist()
    assert list(last) == ["links(1)", "links(2)"]


def test_labels_tell_the_axis_of_a_stack(tmp_path):
    path = tmp_path / "links.mat"
    labels = np.array(["on", "off"], dtype=object)
    savemat(path, {"links": STACK, "inputs": labels, "outputs": labels})
    assert [c.counts.tolist() for c in read_counts(path).values()] == STACK.tolist()


def test_stack_of_numpy_has_its_channels_first_unless_it_looks_like_one_of_matlab(tmp_path):
    path = tmp_path / "links.npy"
    for stack in (STACK, np.ones((2, 2, 2), int), np.ones((4, 2, 3), int)):
        np.save(path, stack)
        assert [c.counts.tolist() for c in read_counts(path).values()] == stack.tolist()
    np.save(path, np.moveaxis(STACK, 0, 2))
    with pytest.raises(InputError, match="--channel-axis"):
        read_counts(path)
    assert [c.counts.tolist() for c in read_counts(path, channel_axis="last").values()] == STACK.tolist()
