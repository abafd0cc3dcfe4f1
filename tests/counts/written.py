"""Counts and channels written as other programs write them: one function per kind of file, by the name of the kind."""

from __future__ import annotations

import csv
import gzip
import io
import json

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq


def cells(counts, inputs, outputs):
    """The rows x, y, count of a matrix."""
    return [(a, b, int(counts[i][j])) for i, a in enumerate(inputs) for j, b in enumerate(outputs)]


def delimited(rows, delimiter=","):
    buffer = io.StringIO(newline="")
    csv.writer(buffer, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return buffer.getvalue().encode()


def matrix_rows(counts, inputs, outputs, corner=""):
    return [[corner, *outputs], *([a, *map(int, row)] for a, row in zip(inputs, counts, strict=True))]


def long_rows(counts, inputs, outputs):
    return [("channel", "x", "y", "count"), *(("link", *cell) for cell in cells(counts, inputs, outputs))]


def records(counts, inputs, outputs):
    return [{"channel": "link", "x": a, "y": b, "count": n} for a, b, n in cells(counts, inputs, outputs)]


def frame(counts, inputs, outputs):
    return pd.DataFrame(records(counts, inputs, outputs))


def parquet(counts, inputs, outputs):
    buffer = io.BytesIO()
    pq.write_table(pa.table(frame(counts, inputs, outputs)), buffer)
    return buffer.getvalue()


def feather(counts, inputs, outputs):
    buffer = io.BytesIO()
    pyarrow.feather.write_feather(pa.table(frame(counts, inputs, outputs)), buffer)
    return buffer.getvalue()


def npz(counts, inputs, outputs):
    buffer = io.BytesIO()
    np.savez(buffer, **{"link": counts, "link.inputs": np.array(inputs), "link.outputs": np.array(outputs)})
    return buffer.getvalue()


def vectors(counts, inputs, outputs):
    buffer = io.BytesIO()
    x, y, n = map(list, zip(*cells(counts, inputs, outputs), strict=True))
    np.savez(buffer, x=np.array(x), y=np.array(y), count=np.array(n))
    return buffer.getvalue()


def workbook(rows):
    book, buffer = openpyxl.Workbook(), io.BytesIO()
    for row in rows:
        book.active.append(list(row))
    book.save(buffer)
    return buffer.getvalue()


def nested(counts, inputs, outputs):
    return {a: {b: int(n) for b, n in zip(outputs, row, strict=True)} for a, row in zip(inputs, counts, strict=True)}


def labelled(counts, inputs, outputs):
    return {
        "channels": {"link": {"rows": np.asarray(counts).tolist(), "inputs": list(inputs), "outputs": list(outputs)}}
    }


KINDS = {
    "matrix.csv": lambda *m: delimited(matrix_rows(*m)),
    "semicolons.csv": lambda *m: delimited(matrix_rows(*m), ";"),
    "tabs.tsv": lambda *m: delimited(matrix_rows(*m), "\t"),
    "corner.csv": lambda *m: delimited(matrix_rows(*m, corner="sent")),
    "pandas.csv": lambda *m: pd.DataFrame(m[0], m[1], m[2]).to_csv().encode(),
    "rows.csv": lambda *m: delimited(long_rows(*m)),
    "rows.tsv": lambda *m: delimited(long_rows(*m), "\t"),
    "indexed.csv": lambda *m: frame(*m).to_csv().encode(),
    "rows.csv.gz": lambda *m: gzip.compress(delimited(long_rows(*m))),
    "rows.jsonl": lambda *m: "".join(json.dumps(row) + "\n" for row in records(*m)).encode(),
    "records.json": lambda *m: json.dumps(records(*m)).encode(),
    "nested.json": lambda *m: json.dumps(nested(*m)).encode(),
    "labelled.json": lambda *m: json.dumps(labelled(*m)).encode(),
    "rows.parquet": parquet,
    "rows.feather": feather,
    "matrix.npz": npz,
    "vectors.npz": vectors,
    "matrix.xlsx": lambda *m: workbook(matrix_rows(*m)),
    "rows.xlsx": lambda *m: workbook(long_rows(*m)),
}
"""What writes counts[x][y] with the labels of inputs and outputs; the name ends as the file does."""
