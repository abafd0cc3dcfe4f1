"""Frames of pandas, polars and pyarrow and arrays of xarray mean what the same counts in lists mean."""

import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import xarray as xr

import bestchannel as bc
from bestchannel.counts.frames import labelled_counts

try:
    import polars as pl
except ImportError:
    pl = None

GOOD, BAD = [[95, 5], [4, 96]], [[70, 30], [25, 75]]
LINES = {
    "channel": ["good"] * 4 + ["bad"] * 4,
    "x": [0, 0, 1, 1] * 2,
    "y": ["no", "yes"] * 4,
    "count": [95, 5, 4, 96, 70, 30, 25, 75],
}
LOG = {
    name: [value for value, n in zip(LINES[name], LINES["count"], strict=True) for _ in range(n)]
    for name in ("channel", "x", "y")
}
EXPECTED = bc.estimate({"good": GOOD, "bad": BAD})

needs_polars = pytest.mark.skipif(pl is None, reason="polars is not installed")
FRAMES = [
    pytest.param(pd.DataFrame, id="pandas"),
    pytest.param(pa.table, id="pyarrow"),
    pytest.param(lambda columns: pl.DataFrame(columns), id="polars", marks=needs_polars),
]


def numbers(result):
    return [(c.name, c.senses, c.capacity, c.lower, c.upper) for c in result.channels]


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("columns", [LINES, LOG], ids=["counts", "log"])
def test_rows_of_a_frame_estimate_as_the_matrices_do(frame, columns):
    result = bc.estimate(frame(columns))
    assert numbers(result) == numbers(EXPECTED)
    assert result["good"].outputs == ("no", "yes")
    assert "conditional on the observed alphabet" in result.guarantee
    declared = bc.estimate(frame(columns), outputs=["yes", "no"])
    assert declared["good"].outputs == ("yes", "no")
    assert "conditional" not in declared.guarantee


@pytest.mark.parametrize("frame", FRAMES)
def test_frame_without_a_channel_is_one_channel(frame):
    content = labelled_counts(frame({"y": [1, 0, 1], "x": ["a", "a", "b"], "time": [0.1, 0.2, 0.3]}))["channel"]
    assert (content.inputs, content.outputs) == (("a", "b"), ("0", "1"))
    assert content.counts.tolist() == [[1, 1], [0, 1]]


@pytest.mark.parametrize("frame", FRAMES)
def test_frame_as_a_confusion_matrix_keeps_its_labels(frame):
    matrix = frame({"input": ["kitten", "puppy"], "cat": [9, 2], "dog": [1, 8]})
    result = bc.estimate({"pets": matrix.set_index("input") if frame is pd.DataFrame else matrix})
    assert (result["pets"].inputs, result["pets"].outputs) == (("kitten", "puppy"), ("cat", "dog"))
    assert "conditional" not in result.guarantee


@pytest.mark.parametrize("frame", FRAMES)
def test_channels_may_have_a_frame_each(frame):
    parts = {
        name: {role: LINES[role][start : start + 4] for role in ("x", "y", "count")}
        for name, start in (("good", 0), ("bad", 4))
    }
    result = bc.estimate({name: frame(part) for name, part in parts.items()})
    assert numbers(result) == numbers(EXPECTED)
    assert "conditional on the observed alphabet" in result.guarantee


def test_groups_counted_by_pandas_are_counts():
    sizes = pd.DataFrame(LOG).groupby(["channel", "x", "y"], sort=False).size()
    assert numbers(bc.estimate(sizes)) == numbers(EXPECTED)


@pytest.mark.parametrize("kind", ["category", "string", object])
def test_columns_of_pandas_may_be_of_many_kinds(kind):
    frame = pd.DataFrame(LINES).astype({"channel": kind, "y": kind})
    assert numbers(bc.estimate(frame)) == numbers(EXPECTED)


def test_whole_numbers_that_became_floats_keep_their_labels():
    content = labelled_counts(pd.DataFrame({"x": [1.0, 2.0], "y": [0.5, 3.0]}))["channel"]
    assert (content.inputs, content.outputs) == (("1", "2"), ("0.5", "3"))


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([-128, 127], np.int8),
        ([2**63 - 1, -(2**63)], np.int64),
        ([2**64 - 1, 2**64 - 3], np.uint64),
        ([7, 10**12], int),
    ],
)
def test_whole_numbers_of_any_size_are_labels(values, dtype):
    content = labelled_counts(pd.DataFrame({"x": np.array(values, dtype), "y": [0, 1]}), form="rows")["channel"]
    assert set(content.inputs) == set(map(str, values))
    assert content.counts.sum(axis=1).tolist() == [1, 1]


def test_xarray_is_read_by_the_names_of_its_dimensions():
    array = xr.DataArray(
        np.array([GOOD, BAD]).transpose(2, 0, 1),
        dims=("y", "channel", "x"),
        coords={"channel": ["good", "bad"], "y": ["no", "yes"]},
    )
    result = bc.estimate(array)
    assert numbers(result) == numbers(EXPECTED)
    assert (result["bad"].inputs, result["bad"].outputs) == (("0", "1"), ("no", "yes"))
    matrices = xr.Dataset({"good": array.sel(channel="good", drop=True), "bad": array.sel(channel="bad", drop=True)})
    assert numbers(bc.estimate(matrices)) == numbers(EXPECTED)
    assert [c.name for c in bc.estimate(array.sel(channel="good", drop=True).rename("qubit")).channels] == ["qubit"]


def test_counts_of_a_file_go_into_estimate_with_labels_and_condition(tmp_path):
    pd.DataFrame(LINES).to_csv(tmp_path / "counts.csv", index=False)
    result = bc.estimate(bc.read_counts(tmp_path / "counts.csv"))
    assert numbers(result) == numbers(EXPECTED)
    assert result["good"].outputs == ("no", "yes")
    assert "conditional on the observed alphabet" in result.guarantee


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        (pd.DataFrame({"x": [0, 1], "y": ["a", None]}), "row 1 of the frame, y must be a label"),
        (pd.DataFrame({"x": [0, 1], "y": [[1], [2]]}), r"row 0 of the frame, y must be a label.*it is \[1\]"),
        (pd.DataFrame({"x": [0], "y": [0], "count": [-1]}), "row 0 of the frame, count must be a whole number"),
        (pd.DataFrame({"x": [0], "y": [0], "count": ["many"]}), "count must be numbers"),
        (pd.DataFrame({"x": [], "y": []}), "there must be rows"),
        (pd.DataFrame({"x": [0], "X": [0], "y": [0]}), 'the column "x" must occur once'),
        (pd.DataFrame({"a": [0.5, 0.5]}), "probabilities are for `capacity`"),
        (pd.DataFrame(), "must not be empty"),
        (pd.crosstab([pd.Series(LOG[k]) for k in ("channel", "x", "y")], pd.Series(LOG["y"])), r"call its reset_index\(\)"),
        (pd.Series([0, 1, 1]).value_counts(), "rows must have the columns x and y, and may have channel and count"),
        ({"a": pd.DataFrame(LINES)}, 'the frame of channel "a" must hold one channel; it holds 2'),
        (xr.DataArray([[[1]], [[1]]], dims=("channel", "x", "y"), coords={"channel": ["a", "a"]}), "must occur once"),
        (xr.DataArray([[1, 2]], dims=("sent", "got")), "the dimensions must be x, y; they are sent, got"),
        ({}, "at least one channel"),
        ({3: GOOD}, "the name of a channel must be a text; it is 3"),
        ({GOOD[0][0]}, "counts must be matrices of counts, by name, in a list or alone, .*; it is a set"),
    ],
)  # fmt: skip
def test_what_is_no_counts_is_refused(counts, message):
    with pytest.raises(bc.InputError, match=message):
        bc.estimate(counts)


@needs_polars
def test_lazy_frame_is_sent_back():
    with pytest.raises(bc.InputError, match=r"call its collect\(\) first"):
        bc.estimate(pl.LazyFrame(LINES))


def test_frames_are_told_without_importing_their_libraries():
    from bestchannel.counts import frames, table

    for module in (frames, table):
        assert not {"pandas", "polars", "pyarrow", "xarray"} & set(vars(module))
    assert "pandas" in sys.modules  # so that the frames above were real
