"""A column of counts that is not called count is read or refused, in every format; it is never passed over."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from scipy.io import savemat

import bestchannel as bc
from bestchannel.counts import read_counts, read_trials
from bestchannel.counts.frames import labelled_counts
from bestchannel.counts.text_log import BLOCK
from bestchannel.errors import InputError

COUNTS = [[90, 10], [5, 95]]
CELLS = {"x": [0, 0, 1, 1], "y": [0, 1, 0, 1]}
VALUES = [90, 10, 5, 95]
NAMES = [
    "n",
    "N",
    "counts",
    "freq",
    "frequency",
    "Freq",
    "weight",
    "shots",
    "len",
    "size",
    "0",
    "number",
    "hits",
    "occurrences",
    "times",
    "num",
    "total",
    "events",
]


def written(folder, kind, name, cells=CELLS, values=VALUES):
    """The table in a file of the kind."""
    table = {**cells, name: values}
    frame, path = pd.DataFrame(table), folder / f"link.{kind}"
    records = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    if kind in ("csv", "tsv"):
        frame.to_csv(path, index=False, sep="," if kind == "csv" else "\t")
    elif kind == "xlsx":
        frame.to_excel(path, index=False)
    elif kind == "json":
        path.write_text(json.dumps(records))
    elif kind == "jsonl":
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
    elif kind == "parquet":
        pq.write_table(pa.table(table), path)
    elif kind == "feather":
        pa.feather.write_feather(pa.table(table), path)
    elif kind == "npz":
        np.savez(path, **{key: np.array(column) for key, column in table.items()})
    elif kind == "mat":
        savemat(path, {key: np.array(column) for key, column in table.items()})
    return path


def tables(content):
    return [labelled.counts.tolist() for labelled in content.values()]


KINDS = ["csv", "tsv", "xlsx", "json", "jsonl", "parquet", "feather", "npz", "mat"]


@pytest.mark.parametrize("kind", KINDS)
def test_column_with_a_name_of_counts_is_the_count_in_every_format(tmp_path, kind):
    names = NAMES if kind == "csv" else NAMES[KINDS.index(kind) % 4 :: 4]  # what a name means, one module says for all
    for name in [name for name in names if (kind, name) != ("mat", "0")]:
        assert tables(read_counts(written(tmp_path, kind, name))) == [COUNTS], name
        with pytest.raises(InputError, match="these are counts"):
            read_trials(tmp_path / f"link.{kind}")


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_column_with_a_name_of_counts_is_the_count_in_every_frame(frame):
    for name in NAMES:
        assert tables(labelled_counts(frame({**CELLS, name: VALUES}))) == [COUNTS], name


def test_groups_counted_by_pandas_and_polars_are_counts():
    log = pd.DataFrame({side: np.repeat(cells, VALUES) for side, cells in CELLS.items()})
    assert tables(labelled_counts(log.groupby(["x", "y"]).size().reset_index())) == [COUNTS]
    assert tables(labelled_counts(log.value_counts().reset_index())) == [COUNTS]
    assert tables(labelled_counts(log.value_counts())) == [COUNTS]
    assert tables(labelled_counts(pl.from_pandas(log).group_by("x", "y").len())) == [COUNTS]


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "feather", "npz", "mat", "xlsx"])
def test_whole_numbers_under_another_name_are_refused_and_either_proposal_is_followed(tmp_path, kind):
    path = written(tmp_path, kind, "anzahl")
    with pytest.raises(InputError, match=r"'anzahl' may say how often a row counts.*--columns count=anzahl .*count= "):
        read_counts(path)
    assert tables(read_counts(path, columns={"count": "anzahl"})) == [COUNTS]
    assert tables(read_counts(path, columns={"count": ""})) == [[[1, 1], [1, 1]]]


def test_frame_with_whole_numbers_under_another_name_is_refused_as_the_file_is():
    frame = pd.DataFrame({**CELLS, "anzahl": VALUES})
    with pytest.raises(InputError, match="'anzahl' may say how often a row counts"):
        bc.estimate(frame)
    assert bc.estimate(frame, columns={"count": "anzahl"}).channels[0].senses == 200
    with pytest.raises(InputError, match="'anzahl' may say how often"):
        bc.Recording(frame)


def test_renamed_columns_do_not_hide_a_column_of_counts(tmp_path):
    path = tmp_path / "link.csv"
    path.write_text("tx,rx,n\n0,0,90\n0,1,10\n1,0,5\n1,1,95\n")
    assert tables(read_counts(path, columns={"x": "tx", "y": "rx"})) == [COUNTS]
    path.write_text("tx,rx,k\n0,0,90\n0,1,10\n1,0,5\n1,1,95\n")
    with pytest.raises(InputError, match=r"--columns x=tx,y=rx,count=k "):
        read_counts(path, columns={"x": "tx", "y": "rx"})


@pytest.mark.parametrize(
    "values", [[1, 2, 3, 4], [0, 1, 2, 3], [2, 4, 1, 3]], ids=["from 1", "from 0", "in another order"]
)
def test_numbers_of_trials_are_not_counts(tmp_path, values):
    with pytest.raises(InputError, match="may say how often a row counts"):
        read_counts(written(tmp_path, "csv", "n", values=values))


def test_logs_keep_their_further_columns(tmp_path):
    cells = {side: column * 5 for side, column in CELLS.items()}
    for name in ("time", "seed", "trial", "temperature"):
        path = written(tmp_path, "csv", name, cells, list(range(20)))
        assert tables(read_counts(path)) == [[[5, 5], [5, 5]]]
        assert read_trials(path).outputs[0][0].tolist() == [0, 1] * 5
    with pytest.raises(InputError, match="'shots' may say how often a row counts"):
        read_counts(written(tmp_path, "csv", "shots", cells, VALUES * 5))
    index = pd.DataFrame({"channel": ["a"] * 4, "x": list("abab"), "y": list("aabb")})
    index.to_csv(tmp_path / "log.csv")
    assert tables(read_counts(tmp_path / "log.csv")) == [[[1, 1], [1, 1]]]


@pytest.mark.parametrize(("name", "read"), [("n", True), ("anzahl", False)])
def test_long_text_is_judged_as_a_short_one_is(tmp_path, name, read):
    path, side = tmp_path / "long.csv", 800
    rows = "".join(f"{x},{y},7\n" for x in range(side) for y in range(side))
    path.write_text(f"x,y,{name}\n{rows}")
    assert path.stat().st_size > BLOCK
    if read:
        assert read_counts(path)["long"].counts.sum() == 7 * side**2
    else:
        with pytest.raises(InputError, match="--columns count=anzahl"):
            read_counts(path)


@pytest.mark.parametrize("kind", ["json", "jsonl"])
@pytest.mark.parametrize("key", ["count", "channel", "n"])
def test_key_that_the_first_record_lacks_is_not_passed_over(tmp_path, kind, key):
    records = [{"x": x, "y": y, key: 5} for x in (0, 1) for y in (0, 1)]
    del records[0][key]
    path = tmp_path / f"link.{kind}"
    path.write_text(json.dumps(records) if kind == "json" else "\n".join(map(json.dumps, records)))
    with pytest.raises(InputError, match=rf"row 1, {key} must be"):
        read_counts(path)


def test_key_that_appears_late_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("bestchannel.counts.json_format.ROWS", 3)
    path = tmp_path / "log.jsonl"
    path.write_text('{"x": 0, "y": 0}\n' * 5 + '{"x": 0, "y": 0, "channel": "b"}\n')
    with pytest.raises(InputError, match="none of the first 3 has 'channel'"):
        read_counts(path)


def test_measured_outputs_do_not_make_a_running_number_a_count(tmp_path):
    rng = np.random.default_rng(1)
    x = rng.integers(0, 2, 400)
    frame = pd.DataFrame({"sample": np.arange(400), "x": x, "y": x + rng.normal(size=400)})
    frame.to_csv(tmp_path / "soft.csv", index=False)
    with pytest.raises(InputError, match="look like measured values"):
        read_counts(tmp_path / "soft.csv")
    assert read_counts(tmp_path / "soft.csv", bins=4, set_aside=50)["soft"].counts.sum() == 300
    assert bc.estimate(bc.quantise(frame, 4, set_aside=50)).channels[0].senses == 300


@pytest.mark.parametrize("kind", ["csv", "tsv", "xlsx", "json", "jsonl", "parquet", "feather"])
def test_rows_that_lack_the_one_name_of_a_further_column_are_asked_about(tmp_path, kind):
    cells = {side: column * 5 for side, column in CELLS.items()}
    path = written(tmp_path, kind, "Kanal", cells, ["near", "near", None, *["near"] * 17])
    with pytest.raises(
        InputError, match=r"'Kanal' may name channels, as 'near', and row 3 has no.*--columns channel= "
    ):
        read_counts(path)
    assert tables(read_counts(path, columns={"channel": ""})) == [[[5, 5], [5, 5]]]
    assert tables(read_counts(written(tmp_path, kind, "note", cells, ["late", *[None] * 19]))) == [[[5, 5], [5, 5]]]


@pytest.mark.parametrize("none", [None, float("nan"), pd.NA, pd.NaT, "", "NA"])
def test_frame_that_lacks_the_one_name_of_a_further_column_is_asked_about(none):
    frame = pd.DataFrame({"x": [0, 1] * 10, "y": [0, 1] * 10, "Kanal": [none, *["near"] * 19]})
    with pytest.raises(InputError, match="'Kanal' may name channels, as 'near', and row 1 has no value"):
        labelled_counts(frame)


def test_counts_that_lack_the_names_of_channels_are_asked_about(tmp_path):
    path = tmp_path / "links.csv"
    path.write_text("x,y,count,Kanal\n0,0,9,near\n0,1,1,near\n0,0,5,4\n0,1,5,\n1,1,7,\n1,1,8,\n")
    with pytest.raises(InputError, match="'Kanal' may name channels, as 'near', and row 4 has no value"):
        read_counts(path)


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "feather", "npz"])
def test_log_sorted_by_link_is_not_one_channel_because_its_first_rows_are(tmp_path, kind, monkeypatch):
    cells = {side: column * 5 for side, column in CELLS.items()}
    path = written(tmp_path, kind, "link", cells, ["near"] * 19 + ["far"])
    for module in ("text_log", "json_format", "table_files", "table"):
        monkeypatch.setattr(f"bestchannel.counts.{module}.SHOWN", 15)
    with pytest.raises(InputError, match="'link' may name channels"):
        read_counts(path)
    assert list(read_counts(path, columns={"channel": "link"})) == ["near", "far"]


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "npz"])
def test_two_roles_of_one_column_are_refused(tmp_path, kind):
    """A text ended in a traceback, and other formats read the column twice."""
    path = written(tmp_path, kind, "count", CELLS, [1] * len(CELLS["x"]))
    with pytest.raises(InputError, match='channel and x must be different columns; both are "x"'):
        read_counts(path, columns={"channel": "x"})
