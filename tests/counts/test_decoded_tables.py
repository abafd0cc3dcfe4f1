"""Tables are decoded by a process of their own, whose end is a sentence, and which serves one file after the other."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from bestchannel.counts import read_channels, read_counts, table_decoder, table_files
from bestchannel.counts.columns import SHOWN
from bestchannel.counts.frames import labelled_counts
from bestchannel.counts.labelled_counts import Hints
from bestchannel.disk import opened
from bestchannel.errors import InputError

ROWS = pa.table({"channel": ["q", "q", "r"], "x": ["0", "1", "0"], "y": [0, 1, 0], "count": [3, 4, 5]})
SENTENCE = r"rows\.feather: .*(damaged|reading it failed|must)"


@pytest.fixture
def feather(tmp_path):
    path = tmp_path / "rows.feather"
    pyarrow.feather.write_feather(ROWS, path, compression="uncompressed")
    return path


@pytest.fixture
def parquet(tmp_path):
    path = tmp_path / "rows.parquet"
    pq.write_table(ROWS, path)
    return path


def test_no_changed_byte_of_an_arrow_file_ends_the_process(feather):
    """In a process of its own, because on failure there is nobody left to say so."""
    code = f"""
import bestchannel as bc
from pathlib import Path
path = Path({str(feather)!r})
sound = path.read_bytes()
read = 0
for at in range(0, len(sound), 13):  # an odd stride: every place of a word is hit
    for value in (0x7F, 0xFF):
        changed = bytearray(sound)
        changed[at] = value
        path.write_bytes(changed)
        try:
            bc.read_counts(path)
            read += 1
        except bc.InputError as error:
            assert str(error).startswith(f"{{path}}: "), error
print(read, "read")
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")
    assert "read" in run.stdout


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT, signal.SIGXCPU])
def test_end_of_the_decoder_is_a_sentence_and_the_next_file_is_read(feather, monkeypatch, tmp_path, number):
    program = tmp_path / "decoder.py"
    text = Path(table_decoder.__file__).read_text(encoding="utf-8")
    program.write_text(
        text.replace('    """Decode one file, and return why not."""', f"    os.kill(os.getpid(), {int(number)})")
    )
    table_files.end_idle()
    with monkeypatch.context() as patch:
        patch.setattr(table_decoder, "__file__", str(program))
        how = "takes the decoder too long" if number == signal.SIGXCPU else "ends the decoder"
        with pytest.raises(InputError, match=rf"rows\.feather: the file is damaged.* it {how}"):
            read_counts(feather)
    assert read_counts(feather)["q"].counts.tolist() == [[3, 0], [0, 4]]


def test_one_decoder_serves_many_files_and_refusals(feather, parquet, tmp_path):
    table_files.end_idle()
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(parquet.read_bytes()[:-20] + b"PAR1")
    read_counts(feather)
    (first,) = table_files._idle
    for _ in range(3):
        assert read_counts(parquet)["r"].counts.tolist() == [[5]]
        with pytest.raises(InputError, match="reading it failed"):
            read_counts(broken)
        with pytest.raises(InputError, match="there is no column p"):
            read_channels(feather)
    assert table_files._idle == [first]


def test_decoder_that_was_killed_meanwhile_is_replaced(feather):
    read_counts(feather)
    table_files._idle[-1]._process.kill()
    table_files._idle[-1]._process.wait()
    assert read_counts(feather)["q"].counts.tolist() == [[3, 0], [0, 4]]


def test_threads_have_decoders_of_their_own(feather, parquet):
    together = threading.Barrier(4)

    def read(path):
        together.wait()
        return read_counts(path)["q"].counts.tolist()

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(read, [feather, parquet] * 2)) == [[[3, 0], [0, 4]]] * 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_fork_of_the_caller_does_not_use_its_decoder(feather):
    read_counts(feather)
    child = os.fork()
    if not child:
        try:
            os._exit(table_files._idle != [])
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert table_files._idle


def test_decoder_without_forks_serves_one_file_each(feather, monkeypatch, tmp_path):
    program = tmp_path / "decoder.py"
    text = Path(table_decoder.__file__).read_text(encoding="utf-8")
    program.write_text(text.replace('FORKS = sys.platform == "linux"', "FORKS = False"))
    table_files.end_idle()
    monkeypatch.setattr(table_decoder, "__file__", str(program))
    monkeypatch.setattr(table_decoder, "FORKS", False)
    for _ in range(2):
        assert read_counts(feather)["q"].counts.tolist() == [[3, 0], [0, 4]]
    assert table_files._idle == []


def test_rows_that_take_no_room_are_bounded_by_the_size_of_the_file(parquet, monkeypatch):
    monkeypatch.setattr(table_files, "_MOST_ROWS", 2)
    monkeypatch.setattr(table_files, "_ROWS_PER_BYTE", 0)
    with pytest.raises(InputError, match="a table of this size must have at most 2 rows; it has more"):
        read_counts(parquet)


CELLS = {
    "numbers": ([7, 8, None], [7, 8, None]),
    "fractions": ([0.5, 1.0, None], [0.5, 1.0, None]),
    "texts": (["a" * 500, "b", None], ["a" * 200, "b", None]),
    "bytes": ([b"\xff", b"12", None], ["\ufffd", "12", None]),
    "truth": ([True, False, None], [True, False, None]),
    "dates": ([date(2026, 1, 2), None, None], ["2026-01-02", None, None]),
    "a.b": ([1, 2, 3], [1, 2, 3]),
}


@pytest.mark.parametrize("kind", ["Parquet", "Arrow"])
def test_decoder_shows_the_first_cells_of_a_column_and_then_gives_the_rows(tmp_path, kind):
    dictionary = pa.array(["u", "v" * 500, "u"]).dictionary_encode()
    lists = pa.array([[1], [2], [3]])
    content = {title: given for title, (given, _) in CELLS.items()}
    table = pa.table({**content, "dictionary": dictionary, "lists": lists})
    path = tmp_path / f"table.{kind.lower()}"
    pq.write_table(table, path) if kind == "Parquet" else pyarrow.feather.write_feather(table, path)
    with opened(path) as source:
        decoded = table_files.read_table(source, Hints(), "count")
        shown = dict(zip(decoded.header, map(decoded.cells, range(len(decoded.header))), strict=True))
        assert shown == {title: cells for title, (_, cells) in CELLS.items()} | {
            "dictionary": ["u", "v" * 200, "u"],
            "lists": [],
        }
        (part,) = decoded.parts({"x": decoded.header.index("dictionary")}, False)
        assert part.columns["x"].codes.tolist() == [0, 1, 0]


def test_decoder_shows_so_many_cells_and_no_more(tmp_path):
    pq.write_table(pa.table({"x": range(SHOWN + 5)}), tmp_path / "x.parquet")
    with opened(tmp_path / "x.parquet") as source:
        assert table_files.read_table(source, Hints(), "count").cells(0) == list(range(SHOWN))


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_column_of_lists_beside_a_column_that_may_count_is_refused(tmp_path, kind):
    table = pa.table({"x": [0, 1], "y": [[0], [1]], "n": [5, 6]})
    path = tmp_path / f"rows.{kind}"
    pq.write_table(table, path) if kind == "parquet" else pyarrow.feather.write_feather(table, path)
    with pytest.raises(InputError, match='the column "y" must hold labels; it holds values of type list'):
        read_counts(path)


@pytest.mark.parametrize(
    "labels", [[True, False], [1.0, 2.5], [1e16, 0.1], [Decimal("2.00"), Decimal("2.50")], [date(2026, 1, 2)] * 2]
)
def test_labels_of_a_file_are_those_of_the_frame(tmp_path, labels):
    frame = pd.DataFrame({"x": labels * 3, "y": ["a", "b"] * 3})
    frame.to_parquet(tmp_path / "log.parquet")
    (read,) = read_counts(tmp_path / "log.parquet").values()
    (held,) = labelled_counts(frame).values()
    assert (read.inputs, read.counts.tolist()) == (held.inputs, held.counts.tolist())
