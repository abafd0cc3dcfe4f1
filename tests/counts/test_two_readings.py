"""A text that may be rows or a matrix is told by its whole shape, or refused with both ways to write it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.io import savemat

from bestchannel.counts import read_channels, read_counts, read_trials
from bestchannel.errors import InputError

EITHER = r"may name the columns of rows or the outputs of a matrix; write --columns .* for rows, or --form matrix"
IN_DOUBT = r"may be rows of a log or of counts, or a matrix with \d+ inputs; write .* for rows, or --form matrix"


def read(tmp_path, text, **options):
    path = tmp_path / "file.csv"
    path.write_text(text)
    (content,) = read_counts(path, **options).values()
    return content


@pytest.mark.parametrize("labels", ["xy", "yx", "xyz", "vwxyz", ["x", "y", "count"], ["channel", "x", "y", "p"], "xX"])
@pytest.mark.parametrize("corner", ["", "sent", "x", "X\\Y"])
def test_matrix_with_the_same_labels_on_both_sides_is_a_matrix_whatever_they_are(tmp_path, labels, corner):
    counts = np.arange(1, len(labels) ** 2 + 1).reshape(len(labels), -1)
    lines = [
        ",".join([corner, *labels]),
        *(",".join([a, *map(str, row)]) for a, row in zip(labels, counts, strict=True)),
    ]
    content = read(tmp_path, "\n".join(lines))
    assert content.counts.tolist() == counts.tolist()
    assert content.inputs == content.outputs == tuple(labels)


def test_probabilities_of_classes_x_and_y_are_a_matrix(tmp_path):
    path = tmp_path / "file.csv"
    for text in (",x,y\nx,0.9,0.1\ny,0.2,0.8\n", "x,y\n0.9,0.1\n0.2,0.8\n", ",x,y,p\nx,1,0,0\ny,0,1,0\np,0,0.5,0.5\n"):
        path.write_text(text)
        assert read_channels(path)["file"].outputs[:2] == ("x", "y")


@pytest.mark.parametrize(
    "text",
    [
        "x,y\n90,10\n20,80\n",
        "x;y\n90;10\n20;80\n",
        "x y\n90 10\n20 80\n",
        ",x,y\nlow,9,1\nmid,5,5\nhigh,1,9\n",
        ",x,y\na,0,9\nb,0,7\n",
        ",x,y\n0,0,9\n1,0,7\n",
        ",x,y\n0,90,10\n1,20,80\n2,30,70\n",
        "sent,x,y\nlow,9,1\nhigh,2,8\n",
        "channel,x,y\nx,90,10\ny,20,80\n",
        "x,y\na,90\nb,10\n",
        "v,w,x,y\n5,1,2,3\n6,7,1,1\n8,8,8,1\n1,1,1,9\n",
        "x,count,y\na,9,1\nb,2,8\n",
        "X;Count;Y\n0;9;1\n1;2;8\n",
    ],
)
def test_two_readings_are_refused_and_either_can_be_written(tmp_path, text):
    with pytest.raises(InputError, match=EITHER):
        read(tmp_path, text)
    n_rows = text.count("\n") - 1
    matrix = read(tmp_path, text, form="matrix")
    assert len(matrix.counts) == n_rows
    rows = [
        read_counts(tmp_path / "file.csv", columns={"x": "x", "y": "y", "count": ""}),
        read_counts(tmp_path / "file.csv", form="rows", columns={"count": ""}),
    ]
    assert {sum(int(c.counts.sum()) for c in found.values()) for found in rows} == {n_rows}


@pytest.mark.parametrize(
    "text",
    [
        "x,y\n0,0\n0,1\n1,1\n1,0\n",
        "x,y\na,b\nb,a\n",
        "channel,x,y\na,0,0\nb,1,1\n",
        "x,y,count\n0,0,5\n1,1,5\n2,2,7\n",
        ",x,y\n" + "".join(f"{i},{i % 2},{i % 3}\n" for i in range(10)),
        "time,x,y\n1,0,1\n2,1,0\n",
        ",channel,x,y,count\n0,a,0,0,5\n1,a,1,1,6\n",
    ],
)
def test_logs_remain_logs(tmp_path, text):
    path = tmp_path / "file.csv"
    path.write_text(text)
    if text.startswith("time"):  # a column of numbers under another name than a role, beside few rows
        with pytest.raises(InputError, match=EITHER):
            read_counts(path)
        return
    counted = "count" in text.splitlines()[0]
    expected = sum(int(line.split(",")[-1]) if counted else 1 for line in text.splitlines()[1:])
    assert sum(content.counts.sum() for content in read_counts(path).values()) == expected


@pytest.mark.parametrize("text", ["x,count,y\n0,50,0\n1,48,1\n", "x,count,y\n0,9,0\n0,1,1\n1,2,0\n1,8,1\n"])
def test_counts_between_inputs_and_outputs_remain_counts(tmp_path, text):
    assert read(tmp_path, text).counts.trace() in (98, 17)


@pytest.mark.parametrize("header", ["", "tx,rx\n", "sent,got\n", "a,b\n"])
def test_log_without_known_names_is_not_read_as_a_matrix_with_an_input_per_line(tmp_path, header):
    text = header + "0,1\n1,1\n0,0\n1,0\n" * 25
    with pytest.raises(InputError, match=IN_DOUBT):
        read(tmp_path, text)
    assert read(tmp_path, text, form="matrix").counts.shape == (100, 2)
    if header:
        x, y = header.strip().split(",")
        with pytest.raises(InputError, match=f"--columns x={x},y={y} "):
            read(tmp_path, text)
        assert read(tmp_path, text, columns={"x": x, "y": y}).counts.tolist() == [[25, 25], [25, 25]]


def test_counts_under_other_names_are_not_read_as_a_matrix(tmp_path):
    for header in ("tx,rx,n", "foo,bar,baz"):
        with pytest.raises(InputError, match=IN_DOUBT):
            read(tmp_path, f"{header}\n0,0,90\n0,1,10\n1,0,20\n1,1,80\n")


@pytest.mark.parametrize("text", ["0,1\n90,10\n20,80\n", "0,90,10\n1,20,80\n", "1,2\n90,10\n20,80\n"])
def test_numbers_that_may_be_labels_are_not_counted(tmp_path, text):
    with pytest.raises(InputError, match="may be labels or counts; write --form matrix"):
        read(tmp_path, text)
    assert read(tmp_path, text, form="matrix").counts.size == len(text.replace("\n", ",").split(",")) - 1


def test_array_of_trials_is_not_read_as_a_matrix_with_an_input_per_trial(tmp_path):
    trials = np.random.default_rng(1).integers(0, 2, size=(100, 2))
    np.save(tmp_path / "trials.npy", trials)
    np.savez(tmp_path / "trials.npz", link=trials)
    savemat(tmp_path / "trials.mat", {"link": trials})
    for ending in ("npy", "npz", "mat"):
        path = tmp_path / f"trials.{ending}"
        with pytest.raises(InputError, match=r"may be trials, one a row, or a matrix with 100 inputs"):
            read_counts(path)
        (content,) = read_counts(path, form="matrix").values()
        assert content.counts.shape == (100, 2)


def test_columns_that_nobody_knows_are_listed_with_an_option_to_write(tmp_path):
    path = tmp_path / "file.csv"
    rows = "".join(f"{link},{x},{y}\n" for link in ("a", "b") for x, y in ((0, 0), (0, 1), (1, 1)) * 3)
    expected = {"link,tx,rx": "channel=link,x=tx,y=rx", "foo,bar,baz": "channel=foo,x=bar,y=baz",
                "Device,Stimulus shown,Response": "'channel=Device,x=Stimulus shown,y=Response'"}  # fmt: skip
    for header, option in expected.items():
        path.write_text(f"{header}\n{rows}")
        for read in (read_counts, read_trials):
            with pytest.raises(InputError) as refusal:
                read(path)
            if read is read_counts:
                assert f"the columns are {header.replace(',', ', ')}, " in str(refusal.value)
                assert f"--columns {option} " in str(refusal.value)
        columns = dict(part.split("=") for part in option.strip("'").split(","))
        assert [c.counts.sum() for c in read_counts(path, columns=columns).values()] == [9, 9]


def test_hints_are_checked(tmp_path):
    with pytest.raises(InputError, match="form must be rows or matrix; it is 'table'"):
        read(tmp_path, "x,y\n0,0\n", form="table")
    with pytest.raises(InputError, match="channel_axis must be first or last; it is 0"):
        read(tmp_path, "x,y\n0,0\n", channel_axis=0)
    with pytest.raises(InputError, match="form says that the file is a matrix; give one of them"):
        read(tmp_path, "x,y\n0,0\n", form="matrix", columns={"x": "x"})


def test_numbered_rows_without_a_column_x_are_asked_about(tmp_path):
    # the first column may number the rows, count them, or be labels beside a matrix
    path = tmp_path / "rows.csv"
    rows = "".join(f"{100 + 7 * i},{i % 3},4,{i % 5}\n" for i in range(15))
    path.write_text(f"0,true label,channel,y\n{rows}")
    with pytest.raises(InputError, match="--columns"):
        read_counts(path)


def test_long_vectors_of_any_name_are_no_channels_of_one_input(tmp_path):
    path = tmp_path / "trials.mat"
    savemat(path, {"measured": np.arange(113) % 5, "Bit": np.arange(113) % 3})
    with pytest.raises(InputError, match="--columns"):
        read_counts(path)


def test_counts_in_the_first_column_under_names_that_nobody_knows_are_asked_about(tmp_path):
    rows = "".join(f"{70 - 7 * x + 11 * y};{y};{x}\n" for x in range(3) for y in range(4))
    path = tmp_path / "cells.txt"
    path.write_text(f"how many;rx;foo\n{rows}")
    with pytest.raises(InputError, match=rf"{IN_DOUBT}") as refusal:
        read_counts(path)
    assert "columns={'x': 'rx', 'y': 'foo', 'count': 'how many'}" in str(refusal.value)
    columns = {"x": "foo", "y": "rx", "count": "how many"}
    assert read_counts(path, columns=columns)["cells"].counts.tolist()[0] == [70, 81, 92, 103]
    assert read_counts(path, form="matrix")["cells"].counts.shape == (12, 3)


@pytest.mark.parametrize("names", ["bar,prepared", "foo,bar", "foo,Antwort,times"])
def test_log_whose_lines_hardly_come_again_is_not_a_matrix(tmp_path, names):
    x, y, *others = names.split(",")
    rows = [[5 * (i * i % 5), i % 3, *([i * 7 % 23] if others else [])] for i in range(17)]
    path = tmp_path / "log.csv"
    path.write_text("\n".join([names, *(",".join(map(str, row)) for row in rows), ""]))
    with pytest.raises(InputError, match=r"may be rows of a log .* write --columns .* for rows, or --form matrix"):
        read_counts(path)
    (content,) = read_counts(path, columns={"x": x, "y": y, **dict.fromkeys(["count"] if others else [], "")}).values()
    assert content.counts.sum() == 17
    (content,) = read_counts(path, form="matrix").values()
    assert content.outputs == tuple(names.split(","))


@pytest.mark.parametrize("names", ["foo,rx,size,temperature", "foo,bar,quux,temperature"])
def test_few_cells_of_counts_beside_another_column_are_not_a_matrix(tmp_path, names):
    path = tmp_path / "cells.csv"
    path.write_text(f"{names}\n0,0,2,8\n0,1,0,5\n1,0,0,7\n1,1,2,4\n")
    x, y, n, _ = names.split(",")
    with pytest.raises(InputError, match=rf"write --columns x={x},y={y} .* for rows, or --form matrix"):
        read_counts(path)
    (content,) = read_counts(path, columns={"x": x, "y": y, "count": n}).values()
    assert content.counts.tolist() == [[2, 0], [0, 2]]
    (content,) = read_counts(path, form="matrix").values()
    assert content.outputs == tuple(names.split(","))
