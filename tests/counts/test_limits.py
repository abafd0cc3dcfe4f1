"""Small files that ask for much room are refused before room is made; what has no end is read to a limit."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from bestchannel import disk
from bestchannel.counts import labelled_counts, named_matrix, read_channels, read_counts, read_trials, text_log
from bestchannel.errors import InputError
from tests.counts.bombs import BOMBS

ROOM = 600 * 10**6
"""Bytes: what is read at once may take 2^28, and some of it twice."""

REFUSED = {
    "deflate.npz": "at most 16,777,216 cells",
    "bzip2.npz": "must be stored or deflated",
    "lzma.npz": "must be stored or deflated",
    "texts.npz": "must take at most 268,435,456 bytes",
    "nothing.npz": "at most 16,777,216 cells",
    "claimed.npy": "at most 16,777,216 cells",
    "zeros.mat": "at most 16,777,216 cells",
    "cells.mat": "at most 65,536 members",
    "fields.mat": "at most 65,536 members",
    "dimensions.mat": "does not fit into its data",
    "labels.parquet": "one is 1,000,000 bytes long",
    "lying.parquet": "the file must be a table of Parquet; reading it failed",
    "buffer.arrow": "must be decoded in at most 537,266,960 bytes; it takes more",
    "sheet.xlsx": "the file must be a table of Excel; reading it failed",
    "formats.xlsx": "must be decoded in at most",
    "cells.xlsx": "must be decoded in at most",
    "letters.mat": "must have at most 262,144 inputs, and as many outputs; it has 16,777,216",
    "lines.jsonl.gz": "a line of JSON must be shorter than",
    "matrix.csv.gz": "must have at most 268,435,456 bytes",
    "rows.csv.gz": "must be shorter than 4,194,304 bytes",
    "document.json.gz": "must have at most 268,435,456 bytes",
    "numbers.json.xz": "must have at most 8,388,608 fields; it has 20,000,000",
}
"""What `read_counts` says of each; of the others any refusal will do."""


@pytest.fixture(scope="module")
def readings(tmp_path_factory):
    """What the readers, in a process of their own, said of every file, and what that took."""
    folder = tmp_path_factory.mktemp("bombs")
    for name, made in BOMBS.items():
        (folder / name).write_bytes(made())
    root = Path(__file__).parents[2]
    run = subprocess.run(
        [sys.executable, "-m", "tests.counts.bombs", str(folder)], cwd=root, capture_output=True, text=True, check=True
    )
    return {line["name"]: line for line in map(json.loads, run.stdout.splitlines())}


@pytest.mark.parametrize("name", BOMBS)
def test_file_that_unpacks_to_gigabytes_is_refused_before_they_are_there(readings, name):
    line = readings[name]
    assert "read" not in line["said"]
    assert line["risen"] < ROOM
    assert REFUSED.get(name, "") in line["said"][0]


def test_nothing_of_a_large_size_is_read_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(disk, "MOST_BYTES", 20)
    (tmp_path / "counts.json").write_text(json.dumps({"channels": {"a": [[1, 2], [3, 4]]}}))
    with pytest.raises(InputError, match="must have at most 20 bytes; it has 3"):
        read_counts(tmp_path / "counts.json")


@pytest.mark.parametrize("ending", ["csv", "json", "npz", "mat", "parquet", ""])
def test_zeros_without_an_end_are_refused(tmp_path, ending):
    path = tmp_path / f"zeros.{ending}"
    path.symlink_to("/dev/zero")
    with pytest.raises(InputError, match=r"NUL|at most|is empty"):
        read_counts(path)


@pytest.mark.parametrize("read", [read_counts, read_trials])
def test_pipe_without_an_end_is_read_to_a_limit(tmp_path, monkeypatch, read):
    monkeypatch.setattr(disk, "MOST_STREAMED", 10**7)
    os.mkfifo(tmp_path / "log.csv")

    def fill():
        with contextlib.suppress(BrokenPipeError), (tmp_path / "log.csv").open("wb") as pipe:
            pipe.write(b"x,y\n")
            while True:
                pipe.write(b"0,1\n0,0\n1,1\n" * 10**4)

    threading.Thread(target=fill, daemon=True).start()
    with pytest.raises(InputError, match="must end within 10,000,000 bytes; there are more"):
        read(tmp_path / "log.csv")


def test_labels_take_bounded_room_however_they_are_spelled(tmp_path, monkeypatch):
    path = tmp_path / "log.csv"
    path.write_text("x,y\n" + "".join(f"{'a' * n},0\n" for n in range(1, 500)))
    monkeypatch.setattr(labelled_counts, "MOST_LETTERS", 10_000)
    with pytest.raises(InputError, match="line 138 brings the labels to more than 10,000 letters"):
        read_counts(path)
    path.write_text("x,y\n" + "".join(f"a{' ' * n},0\n" for n in range(1, 500)))
    monkeypatch.setattr(labelled_counts.Combinations, "most_spelled", 100)
    with pytest.raises(InputError, match="spellings of labels"):
        read_counts(path)


def test_pair_in_brackets_is_found_without_going_back(tmp_path):
    """Counted in looks at letters: a pattern that tries every comma with every end takes the square of them."""

    class Line(str):
        looks = 0

        def __iter__(self):
            for sign in super().__iter__():
                Line.looks += 1
                yield sign

        def strip(self, *signs):
            return self

    line = Line("(" + "," * 10_000)
    with pytest.raises(InputError, match="must be a trial"):
        text_log._Pairs("pairs").labels([line], "line 1")
    assert Line.looks <= len(line)
    (tmp_path / "pairs.txt").write_text("(" + "," * 100_000 + "\n(1, 2)\n")
    with pytest.raises(InputError):
        read_counts(tmp_path / "pairs.txt")


def test_archives_are_parsed_once(tmp_path, monkeypatch):
    parsed, real = [], np.lib.format.read_magic
    monkeypatch.setattr(np.lib.format, "read_magic", lambda content: parsed.append(1) or real(content))
    np.savez(tmp_path / "links.npz", a=np.eye(2, dtype=int))
    read_counts(tmp_path / "links.npz")
    assert len(parsed) == 1


@pytest.mark.parametrize(("ending", "most"), [("csv", 2**30), ("jsonl", 2**28)])
def test_packed_file_unpacks_to_a_bounded_length(tmp_path, ending, most):
    path = tmp_path / f"log.{ending}.gz"
    path.write_bytes(gzip.compress(b"x,y\n0,1\n"))
    with disk.opened(path) as source:
        assert source.most == most + 64 * path.stat().st_size
        source.most = 3
        with pytest.raises(InputError, match="must end within 3 bytes; there are more"):
            source.fill(memoryview(bytearray(10)))


def test_matrix_of_very_many_lines_is_refused_before_its_numbers_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr(named_matrix, "MOST_SIDE", 3)
    (tmp_path / "matrix.csv").write_text("a,b\n" + "oops,1\n" * 4)
    with pytest.raises(InputError, match="must have at most 3 inputs, and as many outputs; it has 5"):
        read_counts(tmp_path / "matrix.csv", form="matrix")


@pytest.mark.parametrize(
    ("rows", "reads"),
    [
        ("x,y\n" + "".join(f"in{i},out{i}\n" for i in range(13)) * 2, (read_counts, read_trials)),
        ("x,y,count\n" + "".join(f"in{i},out{i},2\n" for i in range(13)), (read_counts,)),
        # each of the two alone would be small enough
        ("channel,x,y\n" + "".join(f"{c},in{i},out{i}\n" for c in "ab" for i in range(10)), (read_counts, read_trials)),
        ("channel,x,y,p\n" + "".join(f"{c},in{i},out{i},1\n" for c in "ab" for i in range(10)), (read_channels,)),
    ],
)
def test_few_rows_that_span_huge_matrices_are_refused_before_these_are_made(tmp_path, monkeypatch, rows, reads):
    monkeypatch.setattr(labelled_counts, "MOST_CELLS", 150)
    (tmp_path / "log.csv").write_text(rows)
    for read in reads:
        with pytest.raises(InputError, match="at most 150 cells; they have more with channel"):
            read(tmp_path / "log.csv")
