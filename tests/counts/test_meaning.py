"""What a table means: which labels are one, which side is sent, and what frames say beyond the text they would be."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import bestchannel as bc
from bestchannel.counts import read_channels, read_counts
from bestchannel.counts.frames import joint_trials, labelled_counts
from bestchannel.counts.text_log import BLOCK
from bestchannel.errors import InputError

A = [[90, 10], [5, 95]]
LOG = pd.DataFrame({"tx": np.repeat([0, 1], 100), "rx": np.repeat([0, 1, 0, 1], [90, 10, 5, 95])})


def only(content):
    (labelled,) = content.values()
    return labelled


def read(tmp_path, text, **options):
    path = tmp_path / "file.csv"
    path.write_text(text)
    return only(read_counts(path, **options))


def test_cross_table_with_its_index_as_a_column_keeps_its_labels_as_inputs():
    table = pd.crosstab(LOG.tx, LOG.rx)
    for content in (only(labelled_counts(table)), only(labelled_counts(table.reset_index()))):
        assert (content.counts.tolist(), content.inputs, content.outputs) == (A, ("0", "1"), ("0", "1"))
    named = LOG.replace({"tx": {0: "lo", 1: "hi"}})
    content = only(labelled_counts(pd.crosstab(named.tx, named.rx).reset_index()))
    assert (content.counts.tolist(), content.inputs) == (A[::-1], ("hi", "lo"))


def test_pivot_of_polars_is_a_matrix_with_labels_beside_it():
    sizes = pl.from_pandas(LOG).group_by("tx", "rx").len()
    pivot = sizes.sort("tx", "rx").pivot(on="rx", index="tx", values="len")
    content = only(labelled_counts(pivot))
    assert (content.counts.tolist(), content.inputs, content.outputs) == (A, ("0", "1"), ("0", "1"))
    assert only(labelled_counts(pivot.rename({"0": "lo", "1": "hi"}))).outputs == ("lo", "hi")
    with pytest.raises(InputError, match="may be labels or counts"):
        bc.estimate(pivot.rename({"tx": "foo", "0": "lo", "1": "hi"}))


@pytest.mark.parametrize(
    ("header", "first", "in_matrix"),
    [
        (["heard", "11"], [5, 3], "counts"),
        (["heard", "11"], [0, 1], "counts"),
        (["heard", "10", "11"], [3, 5], "counts"),
        (["tx0", "a", "b"], [0, 1], "counts"),
        (["tx0", "tx1", "tx2"], [1, 2], "counts"),
        (["true", "11"], [0, 1], "labels"),
        (["true", "a", "b"], [5, 3], "labels"),
        (["sent", "0", "1"], [3, 5], "labels"),
    ],
)
def test_column_that_may_be_labels_or_counts_is_refused_and_the_proposal_reads_it(tmp_path, header, first, in_matrix):
    cells = [[n, *(10 * n + 40 + i for i in range(len(header) - 1))] for n in first]
    frame = pd.DataFrame(cells, columns=header)
    labelled = in_matrix == "labels"
    path = tmp_path / "file.csv"
    frame.to_csv(path, index=False)
    proposal = rf"may be labels or counts; write .*--form matrix \(form='matrix'\) for {in_matrix}"
    for read in (lambda **o: read_counts(path, **o), *(lambda f=f, **o: labelled_counts(f, **o) for f in (
        frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)))):  # fmt: skip
        with pytest.raises(InputError, match=proposal):
            read()
        content = only(read(form="matrix"))
        assert content.outputs == tuple(header[labelled:])
        assert content.counts.tolist() == [row[labelled:] for row in cells]
    with pytest.raises(InputError, match=proposal):  # nor are they divided by their sum
        read_channels(path, normalize=True)


def test_line_of_counts_below_nothing_is_not_taken_for_labels_of_outputs(tmp_path):
    for text in ("true,7,5\nfalse,8,9\n", "true,5,7\nfalse,8,9\n"):
        with pytest.raises(InputError, match=r"the first line .* may be labels or counts"):
            read(tmp_path, text)
    assert read(tmp_path, "sent,0,1\na,8,9\nb,7,5\n").outputs == ("0", "1")


def test_title_of_labels_stays_one_where_an_output_has_the_same_name(tmp_path):
    content = read(tmp_path, "rx;right;y;low\n1;14;28;56\n2;62;41;7\n", form="matrix")
    assert (content.inputs, content.outputs) == (("1", "2"), ("right", "y", "low"))


def test_index_of_a_frame_of_rows_is_a_column():
    frame = pd.DataFrame({"channel": ["a", "a", "b", "b"], "x": [0, 1, 0, 1], "y": list("uvuv"), "count": [5, 6, 7, 8]})
    found = labelled_counts(frame.set_index("channel"))
    assert {name: content.counts.tolist() for name, content in found.items()} == {
        "a": [[5, 0], [0, 6]],
        "b": [[7, 0], [0, 8]],
    }
    cells = pd.DataFrame({"x": [0, 1], "y": [0, 1], "n": [5, 6]}).set_index(["x", "y"])
    assert only(labelled_counts(cells)).counts.tolist() == [[5, 0], [0, 6]]


ROWS = {"channel": ["q"] * 4, "x": [0, 0, 1, 1], "y": ["ok", "lost", "ok", "ok"]}
DECLARED = ["ok", "lost", "garbled"]


def categorical():
    frame = pd.DataFrame(ROWS)
    frame["y"] = pd.Categorical(frame["y"], categories=DECLARED)
    return frame


@pytest.mark.parametrize("kind", ["pandas", "enum", "arrow", "feather", "parquet"])
def test_category_that_did_not_occur_is_an_output_that_was_declared(tmp_path, kind):
    table = pa.Table.from_pandas(categorical(), preserve_index=False)
    if kind == "pandas":
        content = only(labelled_counts(categorical()))
    elif kind == "enum":
        content = only(labelled_counts(pl.DataFrame(ROWS, schema_overrides={"y": pl.Enum(DECLARED)})))
    elif kind == "arrow":
        content = only(labelled_counts(table))
    elif kind == "feather":
        pa.feather.write_feather(table, tmp_path / "q.feather")
        content = only(read_counts(tmp_path / "q.feather"))
    else:
        pq.write_table(table, tmp_path / "q.parquet")
        content = only(read_counts(tmp_path / "q.parquet"))
    assert content.outputs == tuple(DECLARED)
    assert content.counts.tolist() == [[1, 1, 0], [2, 0, 0]]
    assert not content.inferred_outputs


def test_categories_that_all_occurred_or_are_of_inputs_declare_nothing():
    frame = pd.DataFrame(ROWS).astype({"y": "category"})
    frame["x"] = pd.Categorical(frame["x"], categories=[0, 1, 2])
    content = only(labelled_counts(frame))
    assert content.inferred_outputs
    assert content.inputs == ("0", "1")


X, Y = LOG.tx.to_numpy(), LOG.rx.to_numpy()


@pytest.mark.parametrize(
    "pair", [(X, Y), (X.tolist(), Y.tolist()), (LOG.tx, LOG.rx)], ids=["arrays", "lists", "series"]
)
def test_pair_of_inputs_and_outputs_is_a_log(pair):
    assert only(labelled_counts(pair)).counts.tolist() == A
    assert {k: v.counts.tolist() for k, v in labelled_counts({"near": pair, "far": A}).items()} == {"near": A, "far": A}
    assert [content.counts.tolist() for content in labelled_counts([pair, pair]).values()] == [A, A]
    assert only(labelled_counts({"x": pair[0], "y": pair[1]})).counts.tolist() == A


def test_pair_of_few_numbers_may_be_a_matrix_and_is_asked_for():
    with pytest.raises(InputError, match="may be the inputs and outputs of 2 senses, or the two rows of a matrix"):
        bc.estimate({"near": ((90, 10), (5, 95))})
    assert only(labelled_counts({"near": ((90, 10), (5, 95))}, form="matrix")).counts.tolist() == A
    assert only(labelled_counts({"near": ([0, 1], [0, 1])}, form="rows")).counts.tolist() == [[1, 0], [0, 1]]
    assert only(labelled_counts((["a", "b"], ["u", "v"]))).counts.tolist() == [[1, 0], [0, 1]]
    with pytest.raises(InputError, match=r"equally long; their lengths are \{'x': 3, 'y': 2\}"):
        bc.estimate({"near": (list("abc"), list("uv"))})


def test_array_of_trials_is_refused_as_the_file_of_it_is(tmp_path):
    for trials in (np.column_stack([X, Y]), np.stack([X, Y])):
        np.save(tmp_path / "trials.npy", trials)
        for refused in (lambda: read_counts(tmp_path / "trials.npy"), lambda: bc.estimate(trials),  # noqa: B023
                        lambda: bc.estimate({"near": trials.tolist()})):  # noqa: B023 # fmt: skip
            with pytest.raises(InputError, match="may be trials, one a"):
                refused()
        assert only(labelled_counts(trials, form="matrix")).counts.sum() == trials.sum()


SAME = [("1", "1.0"), ("0.5", "0.50"), ("-1", "-1.0"), ("\u00e9", "e\u0301"), ("1e1", "10")]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_two_spellings_of_one_label_are_refused_in_rows_and_in_matrices(tmp_path, one, other):
    for side in ("x", "y"):
        rows = [{"x": "a", "y": "b", side: label} for label in (one, other)]
        text = "x,y\n" + "".join(f"{row['x']},{row['y']}\n" for row in rows)
        (tmp_path / "file.json").write_text(json.dumps(rows))
        for refused in (
            lambda: read(tmp_path, text, form="rows"),  # noqa: B023
            lambda: read_counts(tmp_path / "file.json"),
            lambda: labelled_counts(pd.DataFrame(rows), form="rows"),  # noqa: B023
        ):
            with pytest.raises(InputError, match=f"{side} is .* and elsewhere .*; spell them alike"):
                refused()
    matrix = {"channels": {"q": {"rows": A, "outputs": [one, other]}}}
    (tmp_path / "file.json").write_text(json.dumps(matrix))
    for refused in (
        lambda: read_counts(tmp_path / "file.json"),
        lambda: labelled_counts(pd.DataFrame(A, index=["a", "b"], columns=[one, other])),
        lambda: labelled_counts({"q": {"a": {one: 5, other: 6}}}),
    ):
        with pytest.raises(InputError, match="spell them alike"):
            refused()


def test_two_spellings_of_one_label_in_a_long_text_are_refused(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("x,y\n" + "a,1\nb,0\n" * (BLOCK // 8 + 1) + "a,1.0\n")
    with pytest.raises(InputError, match=r"y is '1\.0', and elsewhere '1'"):
        read_counts(path)


def test_numbers_of_equal_value_are_one_label_and_strings_of_bits_are_not(tmp_path):
    assert only(labelled_counts(pd.DataFrame({"x": list("abab"), "y": [1, 1.0, 0, 2.5]}))).outputs == ("1", "0", "2.5")
    assert read(tmp_path, "x,y\na,01\na,1\na,0\nb,00\na,01\n").outputs == ("0", "00", "01", "1")
    (tmp_path / "log.jsonl").write_text('{"x": 0, "y": true}\n{"x": 0, "y": 1}\n')
    with pytest.raises(InputError, match="may be the same; spell them alike"):
        read_counts(tmp_path / "log.jsonl")


@pytest.mark.parametrize("title", ["link", "qubit", "Device", "subject_id"])
def test_column_that_may_name_channels_is_not_passed_over(tmp_path, title):
    text = f"{title},x,y\n" + "a,0,0\nb,0,1\na,1,1\n" * 5
    with pytest.raises(InputError, match=rf"'{title}' may name channels; write --columns channel={title} "):
        read(tmp_path, text)
    assert [*read_counts(tmp_path / "file.csv", columns={"channel": title})] == ["a", "b"]
    assert read(tmp_path, text, columns={"channel": ""}).counts.sum() == 15
    with pytest.raises(InputError, match="may name channels"):
        bc.estimate(pd.read_csv(tmp_path / "file.csv"))


def test_column_that_alone_tells_the_rows_of_counts_apart_may_name_channels(tmp_path):
    rows = "".join(f"{k},{x},{y},{3 + x + y}\n" for k in "ab" for x in (0, 1) for y in (0, 1))
    with pytest.raises(InputError, match="'kanal' may name channels"):
        read(tmp_path, f"kanal,x,y,count\n{rows}")


def test_column_that_may_tell_counts_apart_where_it_is_filled_in_is_not_passed_over(tmp_path):
    cells = "0,0,5,\n0,1,7,\n0,0,6,far\n0,1,9,far\n1,0,8,\n1,1,12,near\n1,0,4,far\n1,1,3,far\n"
    with pytest.raises(InputError, match="'Σ' may say how often a row counts"):
        read(tmp_path, f"x,y,Σ,Kanal\n{cells}")
    noted = "".join(f"{x},{y},{t},{'late' * (t == 3)}\n" for t in range(20) for x in (0, 1) for y in (0, 1))
    assert read(tmp_path, f"x,y,t,note\n{noted}").counts.sum() == 80


@pytest.mark.parametrize("titles", [["Actual", "bar"], ["foo", "bar"]])
def test_few_rows_beside_numbers_are_not_a_matrix(tmp_path, titles):
    senses = [[1, 1], [1, 1], [0, 1], [0, 1], [0, 0], [1, 1]]
    frame = pd.DataFrame(senses, columns=titles, index=[0, 7, 11, 31, 21, 34])
    frame.to_csv(tmp_path / "file.csv")
    for read in (lambda **o: labelled_counts(frame, **o), lambda **o: read_counts(tmp_path / "file.csv", **o)):
        with pytest.raises(
            InputError, match=rf"write --columns x={titles[0]},y={titles[1]} .* for rows, or --form matrix"
        ):
            read()
        assert only(read(form="matrix")).outputs == tuple(titles)
        assert only(read(columns=dict(zip("xy", titles, strict=True)))).counts.tolist() == [[1, 2], [0, 3]]


@pytest.mark.parametrize("index", [[0.5, 1.25, 2.5, 3.75], ["t1", "t2", "t3", "t4"], [7, 3, 9, 1]])
@pytest.mark.parametrize("titles", [["output", "x", "counts"], ["tx", "rx", "n"]])
def test_columns_of_rows_beside_an_index_are_not_the_outputs_of_a_matrix(tmp_path, index, titles):
    cells = [[0, 0, 90], [1, 0, 10], [0, 1, 5], [1, 1, 95]]
    frame = pd.DataFrame(cells, columns=titles, index=pd.Index(index, name="phase"))
    frame.to_csv(tmp_path / "file.csv")
    with pytest.raises(InputError):
        read_counts(tmp_path / "file.csv")
    with pytest.raises(InputError, match=r"may be rows .*; write --columns .* for rows, or --form matrix"):
        labelled_counts(frame)
    assert only(labelled_counts(frame, form="matrix")).outputs == tuple(titles)


def test_counts_that_tell_rows_apart_as_the_channels_do_are_not_passed_over(tmp_path):
    cells = "0,0,n,3\n0,0,f,5\n0,1,n,5\n0,1,f,3\n1,0,n,3\n1,0,f,5\n1,1,n,5\n1,1,f,3\n"
    with pytest.raises(InputError, match="'how many' may say how often a row counts"):
        read(tmp_path, f"x,y,Kanal,how many\n{cells}")


def test_header_in_the_middle_of_a_log_is_no_row(tmp_path):
    log = "x,y\n" + "a,u\na,v\n" * 5
    with pytest.raises(InputError, match="line 12 must be a row; it is the header once more"):
        read(tmp_path, log * 2)
    with pytest.raises(InputError, match="it is the header once more"):
        read(tmp_path, "x,y\n" + "a,u\n" * BLOCK + log)


@pytest.mark.parametrize("label", ["NaN", "nan", "NA", "<NA>", "N/A", "NULL", "NaT"])
def test_missing_value_is_no_label_unless_it_is_declared(tmp_path, label):
    text = "x,y\n" + f"a,{label}\na,b\nb,b\n" * 5
    with pytest.raises(InputError, match=f"y must be a label; it is {label}, which stands for a missing value"):
        read(tmp_path, text)
    assert read(tmp_path, text, outputs=["b", label]).outputs == ("b", label)
    with pytest.raises(InputError, match=f"x must be a label; it is {label}"):
        read(tmp_path, text, columns={"x": "y", "y": "x"})
    for refused in (
        lambda: bc.estimate(pd.DataFrame({"x": ["a", "b", "a"], "y": [label, "b", "b"]})),
        lambda: bc.estimate(pd.DataFrame(A, index=["a", "b"], columns=["a", label])),
        lambda: read(tmp_path, f",a,{label}\na,5,6\nb,7,8\n"),
    ):
        with pytest.raises(InputError, match="stands for a missing value"):
            refused()


def test_missing_number_is_no_label_in_a_parquet_file_as_in_a_frame(tmp_path):
    table = pa.table({"x": ["a", "b"], "y": [1.0, float("nan")]})
    pq.write_table(table, tmp_path / "log.parquet")
    with pytest.raises(InputError, match="must have a value in every row"):
        read_counts(tmp_path / "log.parquet")
    with pytest.raises(InputError, match="y must be a label, a text or a number; it is nan"):
        labelled_counts(table, form="rows")


@pytest.mark.parametrize("corner", ["channel", "Channel", "link", "qubit"])
def test_lines_of_channels_are_not_the_inputs_of_one(tmp_path, corner):
    text = f"{corner},n00,n01,n10,n11\nA,90,10,5,95\nB,70,30,30,70\n"
    with pytest.raises(InputError, match="each line may be the counts of one channel"):
        read(tmp_path, text)
    frame = pd.read_csv(tmp_path / "file.csv")
    for table in (frame, frame.set_index(corner), pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        with pytest.raises(InputError, match="each line may be the counts of one channel"):
            bc.estimate(table)
    assert read(tmp_path, text, form="matrix").inputs == ("A", "B")
    assert only(labelled_counts(frame, form="matrix")).counts.shape == (2, 4)


@pytest.mark.parametrize(
    "text",
    [
        "predicted,cat,dog\ncat,90,10\ndog,5,95\n",
        "predicted\\actual,cat,dog\ncat,90,10\ndog,5,95\n",
        "rx,0,1\n0,90,10\n1,5,95\n",
        ",actual cat,actual dog\npredicted cat,90,10\npredicted dog,5,95\n",
        ",tx0,tx1\nrx0,90,10\nrx1,5,95\n",
        ",true_0,true_1\na,90,10\nb,5,95\n",
    ],
)
def test_matrix_whose_labels_say_the_other_way_round_is_refused_and_can_be_transposed(tmp_path, text):
    with pytest.raises(InputError, match=r"says the opposite; write --transpose"):
        read(tmp_path, text)
    assert read(tmp_path, text, transpose=True).counts.tolist() == np.transpose(A).tolist()
    assert read(tmp_path, text, form="matrix").counts.tolist() == A


def test_frame_whose_titles_say_the_other_way_round_is_refused(tmp_path):
    table = pd.crosstab(LOG.rx, LOG.tx)
    with pytest.raises(InputError, match="says the opposite"):
        bc.estimate(table)
    assert only(labelled_counts(table.T)).counts.tolist() == A
    (tmp_path / "w.csv").write_text(",sent 0,sent 1\ngot 0,0.9,0.2\ngot 1,0.1,0.8\n")
    with pytest.raises(InputError, match="says the opposite"):
        read_channels(tmp_path / "w.csv")
    np.testing.assert_array_equal(read_channels(tmp_path / "w.csv", transpose=True)["w"].W, [[0.9, 0.1], [0.2, 0.8]])


@pytest.mark.parametrize(
    "text",
    [
        "actual\\predicted,cat,dog\ncat,90,10\ndog,5,95\n",
        ",pred cat,pred dog\ntrue cat,90,10\ntrue dog,5,95\n",
        "true,true,false\ntrue,90,10\nfalse,5,95\n",
        ",true,false\ntrue,90,10\nfalse,5,95\n",
        ",input 0,input 1\ninput 0,90,10\ninput 1,5,95\n",
    ],
)
def test_matrix_whose_labels_say_nothing_else_is_read(tmp_path, text):
    assert read(tmp_path, text).counts.tolist() == A


def test_names_that_no_file_can_hold_are_refused_of_objects_too():
    for name in ("a\0b", "\ud800"):
        with pytest.raises(InputError, match="must be Unicode text without NUL"):
            bc.estimate({name: A})


@pytest.mark.parametrize("text", ["0110101010\n0110111010\n", "1101010\n1010101\n", "0110 0111\n1001 1001\n"])
def test_strings_of_bits_are_no_counts(tmp_path, text):
    (tmp_path / "bits.txt").write_text(text)
    with pytest.raises(InputError, match="looks like a string of bits"):
        read_counts(tmp_path / "bits.txt")
    assert only(read_counts(tmp_path / "bits.txt", form="matrix")).counts.sum() > 1000


def test_strings_of_bits_may_be_labels_beside_a_matrix(tmp_path):
    assert read(tmp_path, "x,10,00\n10,9,1\n00,2,8\n").inputs == ("10", "00")


WAYS_OUT = {
    "y_true,y_pred\ncat,cat\ncat,dog\ndog,dog\n": "--columns x=y_true,y=y_pred ",
    "neuron,stimulus,spikes\na,on,few\nb,on,many\na,off,few\n": "--columns channel=neuron,x=stimulus,y=spikes ",
    "participant,stimulus,response,rt\na,on,few,1\nb,on,many,3\na,off,few,4\n": "--columns channel=participant,x=stimulus,",
    "secret,time_ns\n0,120\n0,130\n1,170\n": "--columns x=secret,y=time_ns ",
    "channel,x,0,1\na,0,9,1\na,1,2,8\nb,0,7,3\nb,1,4,6\n": "these may be outputs side by side; write one row per cell",
    "90%,10%\n20%,80%\n": "write percentages as fractions of 1, 0.9 in place of 90%",
}


@pytest.mark.parametrize("text", WAYS_OUT)
def test_refusal_of_columns_has_a_way_out_that_leaves_no_column_behind(tmp_path, text):
    with pytest.raises(InputError, match=re.escape(WAYS_OUT[text])):
        read(tmp_path, text)


OTHER_FILES = {
    "dict.json": ('{"a": [[90, 10], [5, 95]], "b": [[80, 20], [15, 85]]}', 'put {"channels": …} around these matrices'),
    "frame.json": ('{"channel": {"0": "a"}, "x": {"0": 1}, "y": {"0": 1}}', 'to_json(path, orient="records")'),
    "trials.pkl": ("", "save it as one of these, or give what it holds to bestchannel.estimate"),
}


@pytest.mark.parametrize("name", OTHER_FILES)
def test_refusal_of_what_others_write_says_how_to_write_it(tmp_path, name):
    text, way = OTHER_FILES[name]
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=re.escape(way)):
        read_counts(tmp_path / name)


def test_refusal_of_pairs_counted_and_of_a_path_names_the_way_out():
    with pytest.raises(InputError, match=r"counts of pairs .* as {sent: {received: n}}"):
        bc.estimate({(0, 0): 9, (0, 1): 1, (1, 1): 8})
    with pytest.raises(InputError, match=r"it is a str; a file is read by bestchannel\.read_counts\(path\)"):
        bc.estimate("log.csv")


def test_truth_values_beside_a_frame_are_labels_and_no_numbers_of_rows():
    frame = pd.DataFrame({"c": [80, 9], "heard": [12, 90]}, index=[False, True])
    assert bc.estimate(frame).channels[0].inputs == ("False", "True")
    with pytest.raises(bc.InputError, match="must be a label; it is blank"):
        bc.estimate(pd.DataFrame({"": [5, 7], "c": [80, 9], "heard": [12, 90]}, index=[False, True]))


@pytest.mark.parametrize(
    "text",
    [
        "x,y,count\n0,0,9\n0,1,1\n0,Total,10\n1,0,2\n1,1,8\n1,Total,10\n",
        "x,y,count\n0,0,9\n0,1,1\n1,0,2\n1,1,8\nAll,0,11\nAll,1,9\n",
        ",Total,a,b\na,10,9,1\nb,10,2,8\n",
        ",a,b,Row total\na,9,1,10\nb,2,8,10\n",
        ",a,b,Summe\na,9,1,10\nb,2,8,10\n",
    ],
)
def test_totals_are_not_counted_as_another_letter_wherever_they_stand(tmp_path, text):
    with pytest.raises(
        InputError, match=r"must be without totals; '(Total|All|Row total|Summe)' is the sum of the others"
    ):
        read(tmp_path, text)
    assert read(tmp_path, text.replace("10", "12").replace("All,0,11", "All,0,12")).counts.sum()


@pytest.mark.parametrize("label", ["near\u200b", "\ufeffnear", "ne\u00adar"])
def test_signs_that_nobody_sees_do_not_make_another_label(tmp_path, label):
    with pytest.raises(InputError, match="which may be the same; spell them alike"):
        read(tmp_path, f"x,y,count\n{label},0,9\nnear,1,1\nfar,0,2\nfar,1,8\n")


@pytest.mark.parametrize("spaces", ["  ", "\u00a0", "\t"])
def test_spaces_between_words_do_not_make_another_label(tmp_path, spaces):
    with pytest.raises(InputError, match="which may be the same; spell them alike"):
        read(tmp_path, f"x,y,count\nfar{spaces}off,0,9\nfar off,1,1\nnear,0,2\nnear,1,8\n")


def test_frames_whose_names_come_twice_are_refused():
    senses = pd.DataFrame({"x": [0, 0, 1], "count": [0, 1, 1]})
    with pytest.raises(InputError, match="the index of the frame must have names of its own"):
        labelled_counts(senses.groupby(["x", "count"]).size())
    with pytest.raises(InputError, match="the columns of the frame must have names that tell them apart; 'x' does not"):
        labelled_counts(pa.table([[0], [1], [2]], names=["x", "x", "y"]))
    part = pd.DataFrame([[1, 2]], columns=["a", float("nan")])
    with pytest.raises(InputError, match=r"must have names that tell them apart; \('far', nan\) does not"):
        joint_trials(pd.concat({"far": part, "near": part}, axis=1))


def test_frame_of_keys_alone_is_refused():
    keys = pd.MultiIndex.from_product([["A", "B"], ["0", "1"]], names=["channel", "tx"])
    with pytest.raises(
        InputError, match='the counts of channel "A" must not be empty; there are keys beside them alone'
    ):
        labelled_counts(pd.DataFrame(index=keys))


def test_values_that_are_no_column_are_refused_in_one_sentence():
    with pytest.raises(InputError, match="must be a rectangular matrix of numbers"):
        bc.quantise({"link": ([0, 1], np.array(None))}, 2)


def test_totals_of_probabilities_are_not_divided_by(tmp_path):
    path = tmp_path / "links.csv"
    path.write_text(",a,b,Total\nu,0.9,0.2,1.1\nv,0.2,0.8,1\n")
    with pytest.raises(InputError, match="must be without totals; 'Total' is the sum of the others"):
        read_channels(path, normalize=True)
