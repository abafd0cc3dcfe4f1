"""Trial logs keep their order, channel by channel and input by input."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.io import savemat

from bestchannel.counts import read_trials
from bestchannel.errors import InputError, MissingFileError

LOG = "channel,x,y\nb,0,hi\na,on,7\nb,1,lo\nb,0,lo\na,off,3\nb,0,hi\na,on,3\n"
COLUMNS = {
    "channel": ["b", "a", "b", "b", "a", "b", "a"],
    "x": ["0", "on", "1", "0", "off", "0", "on"],
    "y": ["hi", "7", "lo", "lo", "3", "hi", "3"],
}


def sequences(trials):
    """The labels of the outputs in their order, by channel and input."""
    return {
        letters.key: {
            letters.inputs[x]: [letters.outputs[y] for y in outputs.tolist()] for x, outputs in enumerate(rows)
        }
        for letters, rows in zip(trials.alphabets, trials.outputs, strict=True)
    }


EXPECTED = {"b": {"0": ["hi", "lo", "hi"], "1": ["lo"]}, "a": {"on": ["7", "3"], "off": ["3"]}}


def in_text(path):
    path.write_text(LOG)


def in_parquet(path):
    pq.write_table(pa.table(COLUMNS), path, row_group_size=3)


def in_npz(path):
    np.savez(path, **{name: np.array(labels) for name, labels in COLUMNS.items()})


def in_mat(path):
    savemat(path, {name: np.array(labels, dtype=object) for name, labels in COLUMNS.items()})


@pytest.mark.parametrize(
    ("name", "write"),
    [("log.csv", in_text), ("log.txt", in_text), ("log.parquet", in_parquet), ("log.npz", in_npz), ("log.mat", in_mat)],
)
def test_trials_of_any_file_are_in_their_order_under_their_labels(tmp_path, name, write):
    write(tmp_path / name)
    trials = read_trials(tmp_path / name)
    assert sequences(trials) == EXPECTED
    assert trials.inferred_outputs


def test_declared_outputs_are_the_alphabet_of_every_channel(tmp_path):
    in_text(tmp_path / "log.csv")
    trials = read_trials(tmp_path / "log.csv", outputs=["lo", "hi", "3", "7"])
    assert {letters.outputs for letters in trials.alphabets} == {("lo", "hi", "3", "7")}
    assert sequences(trials) == EXPECTED
    assert not trials.inferred_outputs


def test_columns_may_have_other_names_and_numbers_are_in_numeric_order(tmp_path):
    (tmp_path / "log.tsv").write_text("t\tgot\tsent\n0.1\t10\t2\n0.2\t9\t2\n0.3\t10\t1\n")
    trials = read_trials(tmp_path / "log.tsv", columns={"x": "sent", "y": "got"})
    assert [letters.key for letters in trials.alphabets] == ["log"]
    assert (trials.alphabets[0].inputs, trials.alphabets[0].outputs) == (("1", "2"), ("9", "10"))
    assert [rows.tolist() for rows in trials.outputs[0]] == [[1], [1, 0]]


@pytest.mark.parametrize(("n_outputs", "size"), [(256, 1), (257, 2)])
def test_trial_takes_a_byte_or_two(tmp_path, n_outputs, size):
    (tmp_path / "log.csv").write_text("x,y\n" + "".join(f"0,{y}\n" for y in range(n_outputs)))
    (outputs,) = read_trials(tmp_path / "log.csv").outputs[0]
    assert outputs.itemsize == size
    assert outputs.tolist() == list(range(n_outputs))


def test_long_log_is_read_in_blocks_with_progress_and_in_its_order(tmp_path):
    # about 6 MB, so more than one block
    rng = np.random.default_rng(3)
    channel, x, y = (rng.integers(0, n, 600_000) for n in (7, 3, 5))
    path = tmp_path / "log.csv"
    path.write_text("channel,x,y\n" + "".join(f"link{c},{a},{b}\n" for c, a, b in zip(channel, x, y, strict=True)))
    seen = []
    trials = read_trials(path, progress=lambda done, total: seen.append((done, total)))
    for letters, rows in zip(trials.alphabets, trials.outputs, strict=True):
        own = channel == int(letters.key.removeprefix("link"))
        for a, outputs in enumerate(rows):
            np.testing.assert_array_equal(outputs, y[own & (x == a)])
    size = path.stat().st_size
    assert len(seen) > 1
    assert seen == sorted(seen)
    assert seen[-1] == (size, size)


@pytest.mark.parametrize("line", [2, 250_000, 500_001])
def test_refusal_in_a_long_log_names_its_line(tmp_path, line):
    rows = ["x,y", *["0,1"] * 500_000 * 3]
    rows[line - 1] = "0,1,2"
    path = tmp_path / "log.csv"
    path.write_text("\n".join(rows))
    with pytest.raises(InputError, match=f"log.csv: line {line} must have 2 fields like the header; it has 3"):
        read_trials(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x,y,count\n0,0,5\n", "do not say in which order"),
        ("9,1\n2,8\n", "do not say in which order"),
        ("x,y\n", "there must be trials; there is none"),
        ("x,y\n0,\n", "line 2, y must be a label; it is blank"),
        ("x,y,p\n0,0,1\n", "use `bestchannel capacity`"),
    ],
)
def test_what_is_no_log_is_refused(tmp_path, text, message):
    (tmp_path / "log.csv").write_text(text)
    with pytest.raises(InputError, match=message):
        read_trials(tmp_path / "log.csv")


def test_missing_file_and_folder_are_refused(tmp_path):
    with pytest.raises(MissingFileError, match="there is no such file"):
        read_trials(tmp_path / "none.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError, match="a folder, and a file is required"):
        read_trials(tmp_path / "folder.csv")


def test_measured_value_in_place_of_a_label_is_refused_before_it_fills_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("bestchannel.counts.labelled_counts.MOST_SEEN", 1000)
    (tmp_path / "log.csv").write_text("x,y\n" + "".join(f"0,{i / 7}\n" for i in range(1100)))
    with pytest.raises(InputError, match="line 1002 has the 1,001th different combination of channel, x and y"):
        read_trials(tmp_path / "log.csv")
