"""A path is opened once: what a pipe gives is read whole, in whatever format and however long it is."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import numpy as np
import pytest

from bestchannel.channels import Channel
from bestchannel.counts import read_channels, read_counts, read_trials, write_channels

ROWS = 300_000


@pytest.fixture(autouse=True)
def second_opening_fails(monkeypatch):
    """Whoever opens a pipe a second time would wait for ever; let it fail in place of that."""
    opened, real = set(), Path.open

    def once(path, mode="r", *args, **options):
        if mode == "rb" and path.is_fifo():
            assert path not in opened, "the pipe is opened twice"
            opened.add(path)
        return real(path, mode, *args, **options)

    monkeypatch.setattr(Path, "open", once)


def piped(path, data):
    """A pipe at the path, which a thread fills and closes."""
    os.mkfifo(path)
    threading.Thread(target=path.write_bytes, args=[data], daemon=True).start()


def log_of(rows):
    cells = np.random.default_rng(5).integers(0, 3, size=(rows, 2)).tolist()
    return "channel,x,y\n" + "".join(f"link with a name that takes room,{x},{y}\n" for x, y in cells)


@pytest.mark.parametrize("rows", [ROWS, 1000], ids=["in blocks", "at once"])
def test_a_pipe_gives_every_row_once(tmp_path, rows):
    piped(tmp_path / "log.csv", log_of(rows).encode())
    told = []
    (content,) = read_counts(tmp_path / "log.csv", progress=lambda *part: told.append(part)).values()
    assert content.counts.sum() == rows
    assert told == []  # how much will come is not known


def test_a_pipe_of_trials_keeps_their_order(tmp_path):
    text = log_of(ROWS)
    (tmp_path / "file.csv").write_text(text)
    piped(tmp_path / "pipe.csv", text.encode())
    from_pipe, from_file = (read_trials(tmp_path / name).outputs for name in ("pipe.csv", "file.csv"))
    for a, b in zip(from_pipe[0], from_file[0], strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize("ending", [".csv", ".json", ".npz", ".parquet"])
def test_channels_come_through_a_pipe_in_every_format(tmp_path, ending):
    links = {"link": Channel.from_rows([[0.9, 0.1], [0.2, 0.8]])}
    write_channels(tmp_path / f"file{ending}", links)
    piped(tmp_path / f"pipe{ending}", (tmp_path / f"file{ending}").read_bytes())
    found = read_channels(tmp_path / f"pipe{ending}")
    assert found["link"].W.tolist() == links["link"].W.tolist()


def test_counts_as_parquet_and_as_a_matrix_come_through_a_pipe(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"x": ["0", "1"], "y": ["a", "b"], "count": [3, 4]}), tmp_path / "file.parquet")
    contents = {"pipe.parquet": (tmp_path / "file.parquet").read_bytes(), "pipe.csv": b",a,b\n0,3,0\n1,0,4\n"}
    for name, data in contents.items():
        piped(tmp_path / name, data)
        (content,) = read_counts(tmp_path / name).values()
        assert content.counts.tolist() == [[3, 0], [0, 4]]
