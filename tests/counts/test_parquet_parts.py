"""A Parquet table in parts is the table, however it was cut."""

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bestchannel import InputError, estimate, read_counts, read_trials
from tests.journeys.command import result_of


def log(senses=3000):
    rng = np.random.default_rng(1)
    x = rng.integers(2, size=senses)
    y = np.where(rng.random(senses) < 0.1, 1 - x, x)
    return pd.DataFrame({"channel": rng.choice(["a", "b", "c"], size=senses), "x": x, "y": y})


def counts_of(found):
    return {name: content.counts.tolist() for name, content in sorted(found.items())}


@pytest.fixture
def whole(tmp_path):
    log().to_parquet(tmp_path / "whole.parquet")
    return counts_of(read_counts(tmp_path / "whole.parquet", outputs=["0", "1"]))


WRITERS = {
    "by Dask": lambda table, folder: dd.from_pandas(table, npartitions=12).to_parquet(folder),
    "by Dask, by channel": lambda table, folder: dd.from_pandas(table, npartitions=3).to_parquet(
        folder, partition_on=["channel"]
    ),
    "by pyarrow, by channel": lambda table, folder: pq.write_to_dataset(
        pa.Table.from_pandas(table), folder, partition_cols=["channel"]
    ),
}


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS.keys())
def test_parts_count_as_the_whole(tmp_path, whole, write):
    write(log(), tmp_path / "parts")
    assert counts_of(read_counts(tmp_path / "parts", outputs=["0", "1"])) == whole


def test_empty_parts_and_notes_of_the_writer_are_left_out_and_progress_is_in_bytes(tmp_path, whole):
    folder = tmp_path / "parts.parquet"
    dd.from_pandas(log(), npartitions=2).to_parquet(folder)
    log()[:0].to_parquet(folder / "part.2.parquet")
    (folder / "_SUCCESS").write_text("")
    (folder / "_metadata.parquet").write_text("no table")
    seen = []
    found = read_counts(folder, outputs=["0", "1"], progress=lambda done, total: seen.append((done, total)))
    assert counts_of(found) == whole
    size = sum((folder / f"part.{i}.parquet").stat().st_size for i in range(3))
    assert seen[-1] == (size, size)


def test_parts_that_name_no_channel_are_one_channel_called_as_the_folder(tmp_path):
    dd.from_pandas(log()[["x", "y"]], npartitions=3).to_parquet(tmp_path / "link.parquet")
    assert list(read_counts(tmp_path / "link.parquet")) == ["link"]


def test_folders_with_another_column_name_and_escaped_values_name_channels(tmp_path):
    table = log().rename(columns={"channel": "link"}).replace({"link": {"a": "a/1 ü"}})
    pq.write_to_dataset(pa.Table.from_pandas(table), tmp_path / "parts", partition_cols=["link"])
    found = read_counts(tmp_path / "parts", columns={"channel": "link", "x": "x", "y": "y"})
    assert set(found) == {"a/1 ü", "b", "c"}


def test_estimate_of_the_command_line_takes_a_folder(tmp_path):
    dd.from_pandas(log(), npartitions=3).to_parquet(tmp_path / "parts")
    code, result = result_of("estimate", tmp_path / "parts", "--outputs", "0,1")
    assert code in (0, 3)
    counts = {name: content.counts for name, content in read_counts(tmp_path / "parts", outputs=["0", "1"]).items()}
    assert [c["capacity"] for c in result["channels"]] == [c.capacity for c in estimate(counts).channels]


def test_refusals_name_the_part(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="empty: this is a folder, and a file is required, or a folder of files"):
        read_counts(tmp_path / "empty")
    dd.from_pandas(log(), npartitions=2).to_parquet(tmp_path / "parts")
    assert read_trials(tmp_path / "parts").counts().keys() == {"a", "b", "c"}
    (tmp_path / "parts" / "part.1.parquet").write_bytes(b"damaged")
    with pytest.raises(
        InputError, match=r"parts: part\.1\.parquet: the file must be a table of Parquet; reading it failed"
    ):
        read_counts(tmp_path / "parts")
