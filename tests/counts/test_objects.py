"""What people hold in Python is taken as it is: arrays, lists, dictionaries, cross tables, frames with other names."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bestchannel as bc
from bestchannel.counts.frames import labelled_counts
from bestchannel.errors import InputError

A, B = [[90, 10], [5, 95]], [[70, 30], [30, 70]]
LOG = pd.DataFrame(
    {
        "link": ["n"] * 4 + ["s"] * 4,
        "tx": [0, 0, 1, 1] * 2,
        "rx": [0, 1, 0, 1] * 2,
        "n": [90, 10, 5, 95, 70, 30, 30, 70],
    }
)


def tables(counts, **options):
    return {name: content.counts.tolist() for name, content in labelled_counts(counts, **options).items()}


@pytest.mark.parametrize(
    "stack", [np.array([A, B]), [A, B], (np.array(A), np.array(B)), [pd.DataFrame(A), np.array(B)]]
)
def test_stack_or_list_of_matrices_is_channels_by_number(stack):
    assert tables(stack) == {"0": A, "1": B}


def test_list_may_have_matrices_of_different_shapes():
    assert tables([A, [[1, 2, 3]]]) == {"0": A, "1": [[1, 2, 3]]}


def test_one_matrix_is_one_channel():
    assert tables(np.array(A)) == tables(A) == {"channel": A}


def test_stack_with_the_channels_last_is_asked_for():
    stack = np.moveaxis(np.array([A, B, A]), 0, 2)
    with pytest.raises(InputError, match="channel_axis='first'"):
        bc.estimate(stack)
    assert tables(stack, channel_axis="last") == {"0": A, "1": B, "2": A}


@pytest.mark.parametrize("wrong", [5, "counts", None, [], [1, 2], [[[1, 2], [3]]], np.zeros((2, 2, 2, 2))])
def test_anything_else_is_refused_in_a_sentence(wrong):
    with pytest.raises(InputError):
        bc.estimate(wrong)


def test_nested_dictionaries_are_counts():
    nested = {"0": {"0": 90, "1": 10}, "1": {"0": 5, "1": 95}}
    assert tables(nested) == {"channel": A}
    assert tables({"q0": nested, "q1": {0: {0: 70, 1: 30}, 1: {0: 30, 1: 70}}}) == {"q0": A, "q1": B}
    assert tables({"q0": nested, "q1": np.array(B)}) == {"q0": A, "q1": B}
    result = bc.estimate(nested)
    assert result.inferred_outputs
    assert not bc.estimate(nested, outputs=["0", "1"]).inferred_outputs


def test_counts_of_qiskit_are_read_with_what_was_never_measured():
    prepared = {"00": {"00": 1000}, "01": {"01": 990, "11": 10}, "11": {"11": 900, "00": 100}}
    (content,) = labelled_counts(prepared).values()
    assert content.inputs == content.outputs == ("00", "01", "11")
    assert content.counts.tolist() == [[1000, 0, 0], [0, 990, 10], [100, 0, 900]]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"00": 500, "11": 524}, "must say what was sent"),
        ({"0": {"0": 0.5, "1": 0.5}}, "must be a whole number"),
        ({"0": {"0": 5}, 0: {"0": 7}}, "must have different labels"),
        ({"0": {"a": 5, "a ": 7}}, "must have different labels"),
        ({"0": {}, "1": {}}, "must not be empty"),
        ({"x": {"0": 1, "1": 0}, "y": {"0": 1, "1": 1}}, "may be columns x and y of a frame"),
        ({"0": {(1, 2): 5}}, "must be texts or whole numbers"),
        ({"0": {str(i / 7): 1 for i in range(50)}}, "look like measured values"),
    ],
)
def test_dictionaries_that_may_be_something_else_are_refused(wrong, message):
    with pytest.raises(InputError, match=message):
        bc.estimate(wrong)


def test_cross_tables_of_one_key_and_of_two_are_channels():
    long = LOG.loc[LOG.index.repeat(LOG.n)]
    south = long[long.link == "s"]
    assert tables(pd.crosstab(south.tx, south.rx)) == {"channel": B}
    assert tables(pd.crosstab([long.link, long.tx], long.rx)) == {"n": A, "s": B}
    assert tables(pd.crosstab(long.tx, [long.link, long.rx])) == {"n": A, "s": B}


def test_totals_of_a_cross_table_are_not_counted(tmp_path):
    long = LOG.loc[LOG.index.repeat(LOG.n)]
    with pytest.raises(InputError, match="must be without totals; 'All' is the sum of the others"):
        bc.estimate(pd.crosstab(long.tx, long.rx, margins=True))
    (tmp_path / "m.csv").write_text(",a,b,Total\na,1,2,3\nb,3,4,7\n")
    with pytest.raises(InputError, match="without totals; 'Total'"):
        bc.read_counts(tmp_path / "m.csv")


def test_frame_with_other_names_is_refused_with_the_argument_to_write_and_read_with_it():
    columns = {"channel": "link", "x": "tx", "y": "rx", "count": "n"}
    for frame in (LOG, pl.from_pandas(LOG)):
        with pytest.raises(InputError) as refusal:
            bc.estimate(frame)
        assert "the columns are link, tx, rx, n" in str(refusal.value)
        assert f"columns={columns}" in str(refusal.value)
        assert bc.estimate(frame, columns=columns)["s"].senses == 200
        assert tables(frame, columns=columns) == {"n": A, "s": B}


def test_frame_of_a_confusion_matrix_of_classes_x_and_y_is_a_matrix():
    frame = pd.DataFrame(A, index=["x", "y"], columns=["x", "y"])
    assert tables(frame) == {"channel": A}


def test_frames_without_labels_beside_numbers_are_not_matrices_of_trials():
    with pytest.raises(InputError, match="columns="):
        bc.estimate(pd.DataFrame({"tx": [0, 1] * 50, "rx": [0, 0, 1, 1] * 25}))


def test_labels_that_are_no_sequence_are_refused():
    with pytest.raises(InputError, match="inputs of the channel must be a sequence of labels; it is 2"):
        bc.Channel([[1.0]], inputs=2)


def test_limit_of_senses_may_be_a_number_of_numpy(tmp_path):
    from bestchannel import runs

    sensor = bc.Simulator({"a": [[0.9, 0.1], [0.1, 0.9]], "b": [[0.8, 0.2], [0.2, 0.8]]}, rng=1)
    assert not bc.identify(sensor, bc.Adaptive(sensor.alphabets, delta=0.1), max_senses=np.int64(5)).decided
    with runs.begin(tmp_path / "run.db", bc.Adaptive([(2, 2)] * 2, delta=0.1), max_senses=np.int64(5)):
        pass
    assert runs.view(tmp_path / "run.db").history.max_senses == 5


@pytest.mark.parametrize("kind", [list, tuple, np.array, pd.Series, pl.Series, pa.array])
def test_two_columns_are_the_inputs_and_outputs_of_one_channel(kind):
    sent, received = kind([0, 1] * 50), kind([0, 1] * 45 + [1, 0] * 5)
    assert bc.estimate(sent, received).channels[0].counts == ((45, 5), (5, 45))


@pytest.mark.parametrize(
    ("sent", "received", "said"),
    [
        ([0, 1, 1], [0, 1], "must be equally long"),
        ([], [], "must be senses; there is none"),
        ([[9, 1], [1, 9]], [[8, 2], [2, 8]], "must be what was sent and what was received"),
        ({"near": [[9, 1], [1, 9]]}, [0, 1], "must be what was sent and what was received"),
        ("0110", "0111", "must be what was sent and what was received"),
    ],
)
def test_two_arguments_that_are_no_columns_of_senses_are_refused(sent, received, said):
    with pytest.raises(InputError, match=said):
        bc.estimate(sent, received)


RECEIVED = {
    "Categorical": pd.Categorical(["a", "b"] * 30, categories=["a", "b", "c"]),
    "Series": pd.Series(pd.Categorical(["a", "b"] * 30, categories=["a", "b", "c"])),
    "Enum": pl.Series(["a", "b"] * 30, dtype=pl.Enum(["a", "b", "c"])),
    "dictionary": pa.DictionaryArray.from_arrays(pa.array([0, 1] * 30), pa.array(["a", "b", "c"])),
}


@pytest.mark.parametrize("kind", RECEIVED)
def test_categories_of_a_column_are_outputs_also_where_there_is_no_frame(kind):
    sent, received = [0, 1] * 30, RECEIVED[kind]
    for found in (
        bc.estimate(sent, received),
        bc.estimate({"near": (sent, received)}),
        bc.estimate({"x": sent, "y": received}),
        bc.estimate({"sent": sent, "got": received}, columns={"x": "sent", "y": "got"}),
    ):
        assert found.channels[0].outputs == ("a", "b", "c")
        assert not found.inferred_outputs


def test_texts_of_arrow_are_labels():
    found = bc.estimate(pa.array(["on", "off"] * 30), pa.array(["on", "off"] * 30))
    assert found.channels[0].outputs == ("on", "off")


@pytest.mark.parametrize(
    "mixed", [[True, 1, False, 0], ["True", "true", "False", "false"], ["1", "true", "0", "false"]]
)
def test_truth_values_that_are_spelled_in_two_ways_are_refused(mixed):
    with pytest.raises(bc.InputError, match="may be the same; spell them alike"):
        bc.estimate([1, 1, 0, 0] * 10, mixed * 10)


def test_narrow_numbers_are_counts_without_a_warning(recwarn):
    assert bc.estimate({"a": np.array([[2000, 10], [5, 95]], np.float16)}).channels[0].senses == 2110
    assert not recwarn.list
