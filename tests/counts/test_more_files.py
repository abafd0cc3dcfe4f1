"""Files of more kinds: JSON in its many shapes, packed files, standard input, Arrow, Excel, arrays of NumPy."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import subprocess
import sys

import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pytest

from bestchannel.counts import data_files, read_channels, read_counts, read_trials, write_channels
from bestchannel.errors import InputError

A = [[90, 10], [5, 95]]
ROWS = [{"channel": "q", "x": x, "y": y, "count": A[x][y]} for x in (0, 1) for y in (0, 1)]
TEXT = "channel,x,y,count\n" + "".join(f"q,{r['x']},{r['y']},{r['count']}\n" for r in ROWS)
LINES = "".join(json.dumps(row) + "\n" for row in ROWS)


def tables(path, **options):
    return {name: content.counts.tolist() for name, content in read_counts(path, **options).items()}


@pytest.mark.parametrize(
    ("name", "text", "channel"),
    [
        ("a.json", json.dumps(ROWS), "q"),
        ("a.json", LINES, "q"),
        ("a.jsonl", LINES, "q"),
        ("a.ndjson", "\n" + LINES.replace("\n", "\r\n\r\n"), "q"),
        ("a.json", json.dumps({"0": {"0": 90, "1": 10}, "1": {"0": 5, "1": 95}}), "a"),
        ("a.json", json.dumps({"q": {"0": {"0": 90, "1": 10}, "1": {"0": 5, "1": 95}}}), "q"),
        ("a.json", json.dumps({"channels": {"q": {"0": {"0": 90, "1": 10}, "1": {"0": 5, "1": 95}}}}), "q"),
        ("a.json", json.dumps({"channels": {"q": A}}), "q"),
        ("a.json", json.dumps({"rows": A}), "a"),
        ("a.json", json.dumps(A), "a"),
        ("a.json", json.dumps([A]), "0"),
        ("a.txt", "90 10\n5  95\n", "a"),
        ("a.dat", "  9.0e+01 1.0e+01\n  5.0e+00 9.5e+01 \n", "a"),
        ("a.txt", "channel x y count\n" + TEXT.split("\n", 1)[1].replace(",", "   "), "q"),
        ("a.txt", '"x" "y" "count"\n"0" "0" 90\n"0" "1" 10\n"1" "0" 5\n"1" "1" 95\n', "a"),
    ],
)  # fmt: skip
def test_text_of_every_shape_is_read(tmp_path, name, text, channel):
    (tmp_path / name).write_text(text)
    assert tables(tmp_path / name) == {channel: A}


def test_columns_name_the_keys_of_records(tmp_path):
    renamed = [{"link": r["channel"], "tx": r["x"], "rx": r["y"], "n": r["count"]} for r in ROWS]
    columns = {"channel": "link", "x": "tx", "y": "rx", "count": "n"}
    (tmp_path / "a.json").write_text(json.dumps(renamed))
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in renamed))
    for name in ("a.json", "a.jsonl"):
        with pytest.raises(
            InputError, match=r"the columns are link, tx, rx, n.*--columns channel=link,x=tx,y=rx,count=n "
        ):
            read_counts(tmp_path / name)
        assert tables(tmp_path / name, columns=columns) == {"q": A}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (LINES + "5\n", "line 5 must be a JSON object"),
        (LINES + "{\n", "line 5: the file must be JSON"),
        (LINES + '{"x": 0, "y": 0, "channel": "q"}\n', "row 5, count must be a number; it is None"),
        (LINES + '{"x": null, "y": 0, "channel": "q", "count": 1}\n', "row 5, x must be a label"),
        (LINES + '{"x": 0, "y": 0, "channel": "q", "count": true}\n', "row 5, count must be a number; it is True"),
        (LINES + '{"x": 0, "y": 0, "channel": "q", "count": 0.5}\n', "row 5, count must be a whole number"),
        (LINES + '{"x": 0, "y": 0, "channel": "q", "count": 1e30}\n', r"row 5, count must be at most 2\^53"),
        ("\n", "is empty|there must be records"),
    ],
)
def test_line_at_fault_is_named(tmp_path, text, message):
    (tmp_path / "a.jsonl").write_text(text)
    with pytest.raises(InputError, match=message):
        read_counts(tmp_path / "a.jsonl")


def test_records_of_trials_keep_their_order_and_those_of_probabilities_are_channels(tmp_path):
    (tmp_path / "log.jsonl").write_text('{"x": 0, "y": 1}\n{"x": 0, "y": 0}\n{"x": 1, "y": 1}\n')
    assert read_trials(tmp_path / "log.jsonl").outputs[0][0].tolist() == [1, 0]
    rows = [{"x": 0, "y": 0, "p": 0.9}, {"x": 0, "y": 1, "p": 0.1}, {"x": 1, "y": 1, "p": 1}]
    (tmp_path / "p.json").write_text(json.dumps(rows))
    (tmp_path / "p.jsonl").write_text("".join(map(json.dumps, rows)).replace("}{", "}\n{"))
    for name in ("p.json", "p.jsonl"):
        assert read_channels(tmp_path / name)["p"].W.tolist() == [[0.9, 0.1], [0.0, 1.0]]


def calibration(stay, shots, n):
    cals = [[[np.float32(a / n), np.float32(1) - np.float32(b / n)], [np.float32(1) - np.float32(a / n), np.float32(b / n)]]
            for a, b in stay]  # fmt: skip
    return {"timestamp": "2024-10-01", "backend": "device", "shots": shots, "cals": [None, *np.array(cals).tolist()]}


def test_calibration_of_mthree_is_counts_of_its_shots_and_probabilities(tmp_path):
    path = tmp_path / "cals.json"
    path.write_text(json.dumps(calibration([(9801, 9704), (9012, 8899)], 10_000, 10_000)))
    assert tables(path) == {"q1": [[9801, 199], [296, 9704]], "q2": [[9012, 988], [1101, 8899]]}
    assert read_channels(path)["q1"].W[1] == pytest.approx([0.0296, 0.9704], abs=1e-7)


def test_shots_of_a_balanced_calibration_are_found_or_the_counts_refused(tmp_path):
    path = tmp_path / "cals.json"
    stay = [(9801, 9704), (9012, 8899), (9555, 9444)]
    path.write_text(json.dumps(calibration(stay, 10_000, 10_033)))  # as for 127 qubits: ceil(20000 / 254) * 127
    assert tables(path)["q1"] == [[9801, 232], [329, 9704]]
    path.write_text(json.dumps(calibration(stay[:1], 10_000, 10_033)))
    with pytest.raises(InputError, match="numbers up to twice that do, so that counts are not known"):
        read_counts(path)
    path.write_text(json.dumps(calibration(stay, 10_000, 10_033)["cals"]))
    with pytest.raises(
        InputError, match="the shots of a calibration must be a whole number to give counts; it is None"
    ):
        read_counts(path)
    assert len(read_channels(path)) == 3


PACKERS = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda data: pa.compress(data, "zstd", asbytes=True),
}


@pytest.mark.parametrize("packing", PACKERS)
def test_packed_text_of_every_form_is_unpacked(tmp_path, packing):
    for name, text in {"a.csv": TEXT, "a.jsonl": LINES, "a.json": json.dumps(ROWS), "a": TEXT}.items():
        path = tmp_path / f"{name}{packing}"
        path.write_bytes(PACKERS[packing](text.encode()))
        assert tables(path) == {"q": A}
    path.write_bytes(PACKERS[packing](("x,y\n" + "0,0\n0,1\n" * 10**6).encode()))
    assert tables(path) == {"a": [[10**6, 10**6]]}


@pytest.mark.parametrize("packing", PACKERS)
def test_packed_file_that_ends_early_is_refused(tmp_path, packing):
    rng = np.random.default_rng(1)
    text = "x,y\n" + "".join(f"{x},{y}\n" for x, y in rng.integers(0, 9, size=(20_000, 2)))
    data = PACKERS[packing](text.encode())
    for part in (data[: len(data) // 2], data[:-1], data[:20], b"\0" + data, data[: len(data) // 2] + data):
        (tmp_path / f"a.csv{packing}").write_bytes(part)
        with pytest.raises(InputError, match=r"sound|cannot be read|is empty"):
            read_counts(tmp_path / f"a.csv{packing}")


@pytest.mark.parametrize("write", ["feather", "file", "stream"])
def test_arrow_is_read(tmp_path, write):
    table = pa.table(pd.DataFrame(ROWS))
    path = tmp_path / "a.arrow"
    if write == "feather":
        pyarrow.feather.write_feather(table, path)
    elif write == "file":
        pl.from_arrow(table).write_ipc(path)
    else:
        with pa.ipc.new_stream(path, table.schema) as stream:
            stream.write_table(table)
    assert tables(path) == {"q": A}


def test_arrow_with_categories_and_probabilities_is_read(tmp_path):
    frame = pd.DataFrame(ROWS).astype({"channel": "category", "x": "category"})
    pyarrow.feather.write_feather(pa.table(frame), tmp_path / "a.feather", compression="zstd")
    assert tables(tmp_path / "a.feather") == {"q": A}
    long = pa.table({"x": [0, 0, 1], "y": ["a", "b", "b"], "p": [0.9, 0.1, 1.0]})
    pyarrow.feather.write_feather(long, tmp_path / "p.feather")
    assert read_channels(tmp_path / "p.feather")["p"].W.tolist() == [[0.9, 0.1], [0.0, 1.0]]


def workbook(path, **sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    book.save(path)


def test_workbook_is_read(tmp_path):
    path = tmp_path / "a.xlsx"
    workbook(path, rows=[list(ROWS[0]), *(list(row.values()) for row in ROWS)], empty=[])
    assert tables(path) == {"q": A}
    workbook(path, matrix=[[None, "on", "off"], ["sent on", 90, 10], ["sent off", 5.0, 95]])
    assert tables(path) == {"a": A}
    workbook(path, north=A, south=[[70, 30], [30, 70]])
    assert tables(path) == {"north": A, "south": [[70, 30], [30, 70]]}
    workbook(path, north=[["x", "y", "count"], ["a", "a", 5]], south=A)
    with pytest.raises(InputError, match='rows must be on one sheet; 2 have content, and "north" has rows'):
        read_counts(path)
    path.write_bytes(b"PK\x03\x04")
    with pytest.raises(InputError, match="must be a table of Excel"):
        read_counts(path)


def test_arrays_of_numpy_without_names_are_read(tmp_path):
    np.save(tmp_path / "one.npy", np.array(A))
    np.savez(tmp_path / "lone.npz", np.array(A))
    np.savez_compressed(tmp_path / "two.npz", np.array(A), np.array(A))
    np.savez(tmp_path / "stack.npz", np.array([A, A, A]))
    assert tables(tmp_path / "one.npy") == {"one": A}
    assert tables(tmp_path / "lone.npz") == {"lone": A}
    assert tables(tmp_path / "two.npz") == {"arr_0": A, "arr_1": A}
    assert tables(tmp_path / "stack.npz") == {"0": A, "1": A, "2": A}


def as_bytes(kind):
    buffer = io.BytesIO()
    if kind == "npy":
        np.save(buffer, np.array(A))
    elif kind == "npz":
        np.savez(buffer, q=np.array(A))
    elif kind == "parquet":
        pl.DataFrame(ROWS).write_parquet(buffer)
    elif kind == "xlsx":
        workbook(buffer, rows=[list(ROWS[0]), *(list(row.values()) for row in ROWS)])
    elif kind == "feather":
        pyarrow.feather.write_feather(pa.table(pd.DataFrame(ROWS)), buffer)
    return buffer.getvalue()


def test_standard_input_is_told_by_its_first_bytes():
    program = (
        "import os, sys; from bestchannel.counts import read_counts; import json, struct\n"
        "for _ in range(int(sys.argv[1])):\n"
        "    size, = struct.unpack('<I', os.read(0, 4)); r, w = os.pipe(); saved = os.dup(0)\n"
        "    data = b''\n"
        "    while len(data) < size: data += os.read(0, size - len(data))\n"
        "    os.write(w, data); os.close(w); os.dup2(r, 0)\n"
        "    print(json.dumps({k: c.counts.tolist() for k, c in read_counts('-').items()})); os.dup2(saved, 0)\n"
    )
    texts = [TEXT, LINES, json.dumps(ROWS), json.dumps(A), "90 10\n5 95\n", "\ufeff" + TEXT]
    contents = [text.encode() for text in texts]
    contents += [gzip.compress(TEXT.encode()), PACKERS[".zst"](TEXT.encode())]
    contents += [as_bytes(kind) for kind in ("npy", "npz", "parquet", "xlsx", "feather")]
    sent = b"".join(len(content).to_bytes(4, "little") + content for content in contents)
    run = subprocess.run(
        [sys.executable, "-c", program, str(len(contents))], input=sent, capture_output=True, check=True
    )
    answers = [json.loads(line) for line in run.stdout.splitlines()]
    assert [list(answer.values()) for answer in answers] == [[A]] * len(contents)
    assert {name for answer in answers for name in answer} == {"q", "stdin"}


def test_channels_are_read_from_every_ending_that_counts_are_read_from(tmp_path):
    assert data_files.Format() not in data_files.FORMATS.values()  # which neither rows nor matrices are read from
    with pytest.raises(InputError, match=r"channels are written to .csv, .parquet, .npz, .json; the ending is '.xlsx'"):
        write_channels(tmp_path / "a.xlsx", read_channels_of(tmp_path))


def read_channels_of(folder):
    (folder / "p.csv").write_text("0.5,0.5\n")
    return read_channels(folder / "p.csv")


def test_one_sheet_of_a_workbook_is_named_after_the_file(tmp_path):
    clear, book = [("on", "heard"), ("off", "lost")] * 3, openpyxl.Workbook()
    for title, rows in {"north": [("x", "y"), *clear], "south": [("x", "y"), *clear, ("on", "lost")]}.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    book.save(tmp_path / "book.xlsx")
    with pytest.raises(InputError, match=r"rows must be on one sheet.* as book\.xlsx#north"):
        read_counts(tmp_path / "book.xlsx")
    both = read_counts([tmp_path / "book.xlsx#north", tmp_path / "book.xlsx#south"])
    assert {name: content.counts.tolist() for name, content in both.items()} == {
        "north": [[3, 0], [0, 3]],
        "south": [[3, 1], [0, 3]],
    }
    assert read_trials(f"{tmp_path}/book.xlsx#south").outputs[0][0].tolist() == [0, 0, 0, 1]
    with pytest.raises(InputError, match=r'book\.xlsx#east: the workbook must have a sheet "east" with content'):
        read_counts(tmp_path / "book.xlsx#east")
