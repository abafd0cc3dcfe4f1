"""Random tables whose meaning is known, read back: `python -m tests.counts.second_reading TABLES SEED`.

A table is drawn first as what was counted, then written as people write it: as counts or as a log, with names, labels,
further columns, orders and formats of their own, in files and in objects. What is read must be what was counted, or
nothing: a table may be refused, but never be something else. Nothing here uses a rule of the readers.

A table is `plain` where nobody would expect a refusal, so that these can be counted too.
"""

from __future__ import annotations

import csv
import datetime
import io
import json
import random
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import xarray as xr
from scipy.io import savemat

from bestchannel.counts import read_counts, text_log
from bestchannel.counts.frames import labelled_counts
from bestchannel.errors import BestChannelError

SIDES = {
    "x": ["tx", "sent", "input", "prepared", "stimulus", "Actual", "true label", "foo", "Bit"],
    "y": ["rx", "got", "output", "measured", "response", "Predicted", "prediction", "bar", "Antwort"],
    "channel": ["link", "qubit", "device", "Subject", "baz", "Kanal"],
}
COUNTED = ["n", "N", "counts", "freq", "frequency", "Freq", "weight", "shots", "len", "size", "0", "number", "hits", "num",
           "occurrences", "times", "total", "events", "Counts", "n_shots", "hit count"]  # fmt: skip
UNHEARD = ["anzahl", "k", "quux", "how many", "z", "Σ"]
FURTHER = ["time", "seed", "temperature", "note", "session", "user id", "t", "w", "phase", "Unnamed: 0"]
WORDS = ["heard", "lost", "a", "b", "c", "é", "日本", "a b", "yes", "no", "left", "right", "A", "x", "y", "count", "tx0", "rx1",
         "00", "01", "10", "11", "+", "-", "None", "true", "low", "Total", "0x1", "#1"]  # fmt: skip
TEXTS = {"csv": ",", "tsv": "\t", "txt": ";", "dat": ","}
ROWS_IN = [*TEXTS, "json", "jsonl", "npz", "mat", "xlsx", "parquet", "feather", "pandas", "polars", "arrow", "index", "vectors",
           "streamed"]  # fmt: skip
MATRICES_IN = [*TEXTS, "json", "labelled json", "nested json", "npz", "npy", "mat", "xlsx", "array", "list", "mapping", "nested",
               "pandas", "reset_index", "pivot", "crosstab", "two keys", "xarray", "arrow"]  # fmt: skip


@dataclass
class Table:
    """counts[channel][i, j] of inputs[i] and outputs[j]; `way` is the format, `options` what the reader is told.

    `refused` says that it means nothing and every reading is wrong, `plain` that a refusal is a pity.
    """

    counts: dict[str, np.ndarray]
    inputs: list
    outputs: list
    way: str = ""
    plain: bool = True
    refused: bool = False
    unnamed: bool = False
    options: dict = field(default_factory=dict)
    content: object = None
    shown: str = ""


def labels(draw, size):
    """Labels of one kind, whether they are odd, and whether no reading is right."""
    kind = draw.choices(["int", "word", "bit", "offset", "float", "whole", "bool", "date", "space", "two", "missing"],
                        [30, 25, 5, 8, 6, 6, 5, 3, 5, 4, 3])[0]  # fmt: skip
    if kind == "bool" and size == 2:
        return [False, True], False, False
    if kind == "word":
        return draw.sample(WORDS, size), False, False
    if kind == "bit":
        return [format(i, "03b") for i in draw.sample(range(8), size)], False, False
    if kind == "offset":
        return sorted(draw.sample(range(-5, 300), size)), False, False
    if kind == "float":
        return [i + 0.5 for i in draw.sample(range(-9, 9), size)], False, False
    if kind == "whole":
        return [float(i) for i in draw.sample(range(9), size)], False, False
    if kind == "date":
        return [datetime.date(2024, 1, d) for d in sorted(draw.sample(range(1, 28), size))], True, False
    if kind == "space":
        return [f"  {word} " for word in draw.sample(WORDS[:8], size)], True, False
    if kind == "two" and size > 1:
        return ["1", "1.0", "2", "3", "4"][:size], True, True
    if kind == "missing":
        return (
            [draw.choice(["NaN", "nan", "", None, float("nan"), "NA"]), *draw.sample(WORDS[:8], size - 1)],
            True,
            True,
        )
    return list(range(size)), False, False


def drawn(draw):
    """What was counted."""
    sizes = draw.randint(2, 4), draw.randint(2, 5)
    (inputs, odd, bad), (outputs, odd2, bad2) = labels(draw, sizes[0]), labels(draw, sizes[1])
    if draw.random() < 0.3:
        inputs = ["NaN" if label in ("", None) else label for label in inputs]  # a row of nothing is a blank line
        outputs, odd2, bad2 = inputs, odd, bad
    names = draw.sample(["near", "far", "q7", "L 1", "3", "4", "é"], draw.choice([1, 1, 1, 2, 3]))
    largest = draw.choice([3, 12, 100, 5000])
    counts = {}
    for name in names:
        table = np.array([[draw.randint(0, largest) for _ in outputs] for _ in inputs])
        table[:, table.sum(axis=0) == 0] = 1  # every label is there
        table[table.sum(axis=1) == 0] = 1
        counts[name] = table
    return Table(counts, inputs, outputs, plain=not odd and not odd2, refused=bad or bad2)


# ------------------------------------------------------------------ rows


def rows_of(draw, table):
    """Columns by title, as lists, and what the reader is told; the table becomes a log or a table of counts."""
    cells = [(name, i, j, int(n)) for name, counts in table.counts.items() for (i, j), n in np.ndenumerate(counts)]
    is_log = sum(n for *_, n in cells) <= 400 and draw.random() < 0.4
    table.unnamed = len(table.counts) == 1 and draw.random() < 0.6
    if is_log:
        cells = [(name, i, j, 1) for name, i, j, n in cells for _ in range(n)]
        draw.shuffle(cells)
    else:
        cells = [cell for cell in cells if cell[3] or draw.random() < 0.5]
        if draw.random() < 0.5:
            draw.shuffle(cells)
    title = {role: role if draw.random() < 0.75 else draw.choice(names) for role, names in SIDES.items()}
    columns = {"x": [table.inputs[i] for _, i, _, _ in cells], "y": [table.outputs[j] for _, _, j, _ in cells]}
    if not table.unnamed:
        columns["channel"] = [name for name, *_ in cells]
    said = {role: title[role] for role in columns if title[role] != role}
    unheard = is_log and len(table.counts) > 1 and title["channel"] in ("baz", "Kanal")
    if said and (draw.random() < 0.8 or unheard):  # nothing else says that a column of a log names channels
        table.options["columns"] = said
    elif said:
        table.plain = False
        table.unnamed |= len(table.counts) == 1 and "channel" in said
    named = {title[role]: values for role, values in columns.items()}
    if not is_log:
        name = draw.choice(["count", "Count", *COUNTED, *COUNTED, *UNHEARD])
        values = [n for *_, n in cells]
        if name in UNHEARD or draw.random() < 0.2:
            if draw.random() < 0.7:
                table.options["columns"] = {**table.options.get("columns", {}), "count": name}
            elif name in UNHEARD:
                table.plain = False
        named[name if name not in named else "counts"] = values
        table.plain &= sorted(values) not in ([*range(len(values))], [*range(1, len(values) + 1)])
        table.plain &= not (len(values) > 4 and values == sorted(set(values)))
        if name in ("n_shots", "hit count"):
            table.plain &= "count" in table.options.get("columns", {})
    comes_again = len(set(cells)) < len(cells)
    for name in draw.sample(FURTHER, draw.choice([0, 0, 0, 1, 2])):
        kind = draw.choice(["float", "running", "text", "few"])
        table.plain &= name != "user id" or not table.unnamed
        n = len(cells)
        named[name] = {
            "float": [round(draw.random() * 100, 3) + 0.0001 for _ in range(n)],
            "running": list(range(1, n + 1)),
            "text": [draw.choice(["ok", "late", "warm"]) for _ in range(n)],
            "few": [draw.randint(0, 9) for _ in range(n)],
        }[kind]
        if kind in ("running", "few") and not (is_log and comes_again):
            table.plain &= "count" in table.options.get("columns", {}) or (
                not is_log and bool({"count", "Count"} & set(named))
            )
    if is_log and comes_again and draw.random() < 0.05:
        named[draw.choice(COUNTED)] = [draw.randint(1, 9) for _ in cells]  # rows say that this is something else
        table.plain = False
    if is_log and not comes_again:
        table.plain = False
    order = list(named)
    if draw.random() < 0.5:
        draw.shuffle(order)
    if {"x", "y"} <= {str(v) for v in (*table.inputs, *table.outputs)}:
        table.plain = False
    if len(cells) < 9:  # few rows of numbers may be a matrix as well
        table.plain = False
    return {name: named[name] for name in order}


def text(value):
    return "" if value is None else str(value)


def delimited(rows, delimiter, draw):
    buffer = io.StringIO(newline="")
    quoting = draw.choice([csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC])
    csv.writer(buffer, delimiter=delimiter, quoting=quoting, lineterminator=draw.choice(["\n", "\r\n"])).writerows(rows)
    return (draw.choice(["", "", "\ufeff"]) + buffer.getvalue()).encode()


def jsonable(value):
    return str(value) if isinstance(value, datetime.date) else value


def write_rows(draw, table, folder):
    columns = rows_of(draw, table)
    table.way = way = draw.choice(ROWS_IN)
    if way not in ("json", "jsonl") and draw.random() < 0.06:  # cells that nobody filled in
        key = draw.choice(list(columns))
        cells = [v if draw.random() < 0.5 else None for v in columns[key]]
        if None in cells and any(v is not None for v in cells):
            columns[key] = cells
            table.plain, table.refused = False, table.refused or key not in FURTHER
            table.options.setdefault("lacks", key)
    lines = list(zip(*columns.values(), strict=True))
    path = folder / f"table.{way if way != 'streamed' else 'csv'}"
    if way in TEXTS or way == "streamed":
        rows = [list(columns), *([text(v) for v in line] for line in lines)]
        path.write_bytes(delimited(rows, TEXTS.get(way, ","), draw))
    elif way in ("json", "jsonl"):
        records = [{key: jsonable(v) for key, v in zip(columns, line, strict=True)} for line in lines]
        if draw.random() < 0.2 and len(records) > 1:  # not every record has every key, as where nothing was to be said
            key = draw.choice(list(columns))
            kept = draw.randrange(len(records))  # a key that no record has is none that somebody had
            records = [
                {k: v for k, v in r.items() if k != key or i == kept or draw.random() < 0.5}
                for i, r in enumerate(records)
            ]
            table.plain = table.plain and all(key in r for r in records)
            table.refused |= key not in FURTHER and any(key not in r for r in records)
            table.options.setdefault("lacks", key)
        path.write_text(json.dumps(records) if way == "json" else "".join(json.dumps(r) + "\n" for r in records))
    elif way in ("npz", "mat"):
        arrays = {key: vector(values) for key, values in columns.items()}
        if way == "mat":
            arrays = {key: array for key, array in arrays.items() if key.isidentifier() and key.isascii()}
            table.plain &= len(arrays) == len(columns)
            table.refused |= len(arrays) < len(columns) and not {"x", "y"} <= set(arrays)
            if len(arrays) < len(columns):
                return None
            arrays = {k: np.array(a, object) if a.dtype.kind == "U" else a for k, a in arrays.items()}
        np.savez(path, **arrays) if way == "npz" else savemat(path, arrays)
    elif way == "xlsx":
        book = openpyxl.Workbook()
        for row in [list(columns), *lines]:
            book.active.append(["" if isinstance(v, float) and v != v else v for v in row])
        book.save(path)
    elif way in ("parquet", "feather", "arrow"):
        content = pa.table({key: arrow(values) for key, values in columns.items()})
        if way == "parquet":
            pq.write_table(content, path, row_group_size=draw.choice([3, 1000]))
        elif way == "feather":
            pa.feather.write_feather(content, path)
        else:
            return content
    elif way == "polars":
        return pl.DataFrame({key: [jsonable(v) for v in values] for key, values in columns.items()}, strict=False)
    elif way == "vectors":
        if not {"x", "y"} <= set(columns):
            return None
        return columns
    else:
        frame = pd.DataFrame(columns)
        if draw.random() < 0.3:
            frame = frame.astype({key: "category" for key in columns if key in ("x", "y")})
        if draw.random() < 0.2:
            frame = frame.rename(columns={"0": 0})
        if draw.random() < 0.2:
            frame.index = draw.sample(range(10 * len(frame)), len(frame))
        return frame.set_index(draw.choice(list(frame.columns))) if way == "index" and len(columns) > 2 else frame
    return path


def vector(values):
    if any(v is None for v in values) or len({type(v) for v in values}) > 1 or isinstance(values[0], datetime.date):
        return np.array([text(v) for v in values])
    return np.array(values)


def arrow(values):
    return pa.array(values if len({type(v) for v in values}) == 1 else [None if v is None else text(v) for v in values])


# ------------------------------------------------------------------ matrices


def write_matrix(draw, table, folder):
    table.way = way = draw.choice(MATRICES_IN)
    name, counts = next(iter(table.counts.items()))
    many = way in (
        "labelled json",
        "json",
        "npz",
        "mat",
        "mapping",
        "two keys",
        "xarray",
        "npy",
        "list",
        "nested json",
        "nested",
    )
    if not many:
        table.counts, table.unnamed = {name: counts}, True
    path = folder / f"table.{way.split()[-1]}"
    inputs, outputs = table.inputs, table.outputs
    if way in TEXTS or way == "xlsx":
        corner = draw.choice(
            ["", "", "x", "x\\y", "sent", "tx", "actual\\predicted", "foo", "channel", "predicted", "rx", "y"]
        )
        turned = draw.random() < 0.25
        above, beside, cells = (inputs, outputs, counts.T) if turned else (outputs, inputs, counts)
        if turned:
            corner = draw.choice(["predicted", "rx", "y", "predicted/actual", "got\\sent", "output"])
            if draw.random() < 0.5:
                table.options["transpose"] = True
        elif corner in ("predicted", "rx", "y") and not table.refused:
            corner, above, beside = "", [f"rx {v}" for v in outputs], [f"tx {v}" for v in inputs]
            table.options["prefix"] = ("tx ", "rx ")
        elif corner in ("predicted", "rx", "y", "channel"):
            table.options["form"] = "matrix"
        if corner == "foo" and any(not isinstance(v, str) or v.isdigit() for v in (*above, *beside)):
            corner = "x"  # nothing else says that numbers above or beside are not counts
        table.plain &= not turned and corner in ("", "x", "x\\y") and min(counts.shape) > 1
        table.plain &= not any(str(v).strip() in ("x", "y", "count", "Total", "#1") for v in (*above, *beside))
        rows = [[corner, *map(text, above)], *([text(a), *map(int, row)] for a, row in zip(beside, cells, strict=True))]
        if way == "xlsx":
            book = openpyxl.Workbook()
            for row in rows:
                book.active.append(row)
            book.save(path)
        else:
            path.write_bytes(delimited(rows, TEXTS[way], draw))
        return path
    sides = [text(v) for v in inputs], [text(v) for v in outputs]
    if way in ("pandas", "crosstab", "reset_index", "pivot", "arrow", "two keys"):
        return frame_of(draw, table, way)
    if way == "xarray":
        stack = np.stack(list(table.counts.values()))
        coords = {"channel": list(table.counts), "x": sides[0], "y": sides[1]}
        array = xr.DataArray(stack, dims=("channel", "x", "y"), coords=coords)
        return array.transpose(*draw.sample(["channel", "x", "y"], 3))
    if way in ("nested", "nested json"):
        nested = {n: {a: {b: int(c) for b, c in zip(sides[1], row, strict=True)} for a, row in zip(sides[0], t, strict=True)}
                  for n, t in table.counts.items()}  # fmt: skip
        table.plain &= not {"x", "y"} <= set(sides[0])
        if way == "nested":
            return nested
        path.write_text(json.dumps(nested))
        return path
    if way == "labelled json":
        content = {n: {"rows": t.tolist(), "inputs": sides[0], "outputs": sides[1]} for n, t in table.counts.items()}
        path.write_text(json.dumps({"channels": content}))
        return path
    table.inputs, table.outputs, table.refused = list(range(len(inputs))), list(range(len(outputs))), False
    table.plain = max(t.max() for t in table.counts.values()) > 12
    if way == "json":
        path.write_text(json.dumps({"channels": {n: t.tolist() for n, t in table.counts.items()}}))
    elif way == "npz":
        if draw.random() < 0.3:
            table.plain = False
        np.savez(path, **table.counts)
    elif way == "npy":
        stack = np.stack(list(table.counts.values()))
        table.counts = {str(k): t for k, t in enumerate(stack)}
        np.save(path, stack)
        table.plain &= stack.shape[0] != stack.shape[1] or stack.shape[1] == stack.shape[2]
    elif way == "mat":
        table.counts = {f"link{k}": t for k, t in enumerate(table.counts.values())}
        savemat(path, table.counts)
    elif way == "array":
        return counts
    elif way == "list":
        tables = list(table.counts.values())
        if len(tables) == 1:
            table.unnamed = True
            table.plain &= len(counts) > 2  # a tuple of two may be a pair
            return draw.choice([counts.tolist(), tuple(map(tuple, counts.tolist())), list(map(tuple, counts.tolist()))])
        table.plain &= len(counts) > 2
        table.counts = {str(k): t for k, t in enumerate(tables)}
        return [draw.choice([t, t.tolist(), tuple(map(tuple, t.tolist()))]) for t in tables]
    else:
        table.plain &= len(counts) > 2
        return {n: draw.choice([t, t.tolist(), tuple(map(tuple, t.tolist()))]) for n, t in table.counts.items()}
    return path


def frame_of(draw, table, way):
    (counts, *_), inputs, outputs = list(table.counts.values()), table.inputs, table.outputs
    if way == "two keys":
        parts = {n: pd.DataFrame(t, index=inputs, columns=outputs) for n, t in table.counts.items()}
        return pd.concat(parts, axis=draw.choice([0, 1]))
    titles = draw.choice([(None, None), ("tx", "rx"), ("sent", None), ("actual", "predicted"), ("foo", "bar")])
    frame = pd.DataFrame(counts, index=pd.Index(inputs, name=titles[0]), columns=pd.Index(outputs, name=titles[1]))
    if draw.random() < 0.15 and titles == ("tx", "rx"):
        frame, table.plain = frame.T, False  # and its titles say so
    table.plain &= not {"x", "y", "count", "Total"} & {str(v) for v in (*inputs, *outputs)}
    if titles[0] is None and outputs[0] == "x":
        frame.index.name = "sent"  # nothing else says that x is not the title of labels
    if way in ("pandas", "crosstab"):
        return frame
    if titles[0] == "foo" and any(not isinstance(v, str) for v in inputs):
        frame.index.name = "sent"  # nothing else says that numbers beside are not counts
    title = frame.index.name or draw.choice(["input", "x"])
    if {"y", "count"} == {str(v) for v in outputs}:
        title = "input"  # x, y and count are what the columns of rows are called
    flat = frame.rename_axis(index=title).reset_index()
    table.plain &= way == "reset_index" and titles[1] is not None
    if way == "reset_index":
        return flat
    flat.columns = list(map(text, flat.columns))
    if way == "pivot":
        return pl.DataFrame({key: [jsonable(v) for v in flat[key].tolist()] for key in flat.columns}, strict=False)
    return pa.table({key: arrow(flat[key].tolist()) for key in flat.columns})


# ------------------------------------------------------------------ lines of channels, pairs


def write_other(draw, table, folder):
    name, counts = next(iter(table.counts.items()))
    kind = draw.choice(["pair", "pair", "wide"])
    table.way = kind
    if kind == "wide":
        table.refused = True
        table.inputs = table.inputs[:2]
        rows = [[draw.choice(["channel", "Link", "qubit"]), "n00", "n01", "n10", "n11"]]
        rows += [[n, *(draw.randint(0, 99) for _ in range(4))] for n in ["A", "B", "C"][: draw.randint(1, 3)]]
        table.plain = False
        if draw.random() < 0.5:
            path = folder / "table.csv"
            path.write_bytes(delimited(rows, ",", draw))
            return path
        return pd.DataFrame(rows[1:], columns=rows[0])
    senses = [(i, j) for (i, j), n in np.ndenumerate(counts) for _ in range(min(int(n), 60))]
    draw.shuffle(senses)
    table.counts = {name: np.zeros_like(counts)}
    for i, j in senses:
        table.counts[name][i, j] += 1
    x, y = [table.inputs[i] for i, _ in senses], [table.outputs[j] for _, j in senses]
    table.plain &= len(senses) > 4 * counts.size
    as_arrays = draw.random() < 0.5 and len({type(v) for v in (*x, *y)}) == 1 and not isinstance(x[0], datetime.date)
    pair = (np.array(x), np.array(y)) if as_arrays else (x, y)
    if draw.random() < 0.5:
        return {name: pair}
    table.unnamed = True
    return pair


# ------------------------------------------------------------------ reading and judging


def spellings(label):
    """All texts that a reader may call the label."""
    if isinstance(label, bool):
        return {str(label), str(label).lower(), str(int(label))}
    if isinstance(label, datetime.date):
        return {label.isoformat()[:10]}
    if isinstance(label, float) and label.is_integer():
        return {repr(label), str(int(label))}
    return {text(label).strip()}


def meaning(table):
    """What must be read: {(channel, x, y): count} by the spelling of labels."""
    before = table.options.get("prefix", ("", ""))
    found = Counter()
    for name, counts in table.counts.items():
        for (i, j), n in np.ndenumerate(counts):
            sides = [min(spellings(side[k])) for side, k in ((table.inputs, i), (table.outputs, j))]
            found["" if table.unnamed else name, before[0] + sides[0], before[1] + sides[1]] += int(n)
    return {key: n for key, n in found.items() if n}


def read(table):
    """The same of what the package reads."""
    options = {key: value for key, value in table.options.items() if key not in ("lacks", "prefix")}
    if isinstance(table.content, Path):
        content = read_counts(table.content, **options)
    else:
        content = labelled_counts(table.content, **{k: v for k, v in options.items() if k in ("columns", "form")})
    before = table.options.get("prefix", ("", ""))
    names = [
        {s: min(spellings(label)) for label in side for s in spellings(label)} for side in (table.inputs, table.outputs)
    ]
    found = Counter()
    for name, labelled in content.items():
        for (i, j), n in np.ndenumerate(labelled.counts):
            sides = []
            for label, prefix, known in (
                (labelled.inputs[i], before[0], names[0]),
                (labelled.outputs[j], before[1], names[1]),
            ):
                short = label.strip().removeprefix(prefix).strip()
                sides.append(prefix + known.get(short, known.get(short[:10], short)))
            found["" if table.unnamed and len(content) == 1 else name, *sides] += int(n)
    return {key: n for key, n in found.items() if n}


def generated(draw, folder):
    """A table as somebody has it."""
    while True:
        table = drawn(draw)
        write = draw.choices([write_rows, write_matrix, write_other], [60, 35, 5])[0]
        table.content = write(draw, table, folder)
        if table.content is not None:
            return table


def judged(draw, folder):
    """What became of one table: right, refused, wrong or crashed; and what there is to say."""
    try:
        table = generated(draw, folder)
    except (OverflowError, pa.ArrowException, TypeError, ValueError) as error:
        return "not written", None, repr(error)
    text_log.BLOCK = 2**10 if table.way == "streamed" else 2**22
    try:
        found = read(table)
    except BestChannelError as error:
        return "refused", table, str(error)
    except Exception:
        return "crashed", table, traceback.format_exc()
    finally:
        text_log.BLOCK = 2**22
    if not table.refused and found == meaning(table):
        return "right", table, ""
    return "wrong", table, f"read {found}\nmeant {'nothing' if table.refused else meaning(table)}"


def campaign(tables, seed):
    """How many tables had which outcome, also by format; which were read wrong or crashed; which were refused and plain."""
    outcomes, plain, bad, pity = Counter(), Counter(), [], []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(tables):
            outcome, table, said = judged(random.Random(f"{seed}/{number}"), Path(folder))
            outcomes[outcome] += 1
            if table is not None and table.plain and not table.refused:
                plain[table.way, outcome] += 1
            if outcome in ("wrong", "crashed"):
                bad.append(
                    f"table {seed}/{number} as {table.way}, {table.options}: {outcome}\n{_content(table)}\n{said}"
                )
            elif outcome == "refused" and table.plain and not table.refused:
                pity.append(f"table {seed}/{number} as {table.way}, {table.options}: {said}\n{_content(table)}")
    return outcomes, plain, bad, pity


def _content(table):
    if isinstance(table.content, Path) and table.content.suffix[1:] in (*TEXTS, "json", "jsonl"):
        return table.content.read_text()[:600]
    return repr(table.content)[:900]


def main(tables, seed, show):
    outcomes, plain, bad, pity = campaign(tables, seed)
    print("\n\n".join([*bad[:show], *pity[:show]]))
    print(f"{tables} tables from seed {seed}:", dict(outcomes))
    ways = sorted({way for way, _ in plain})
    refused = {way: plain[way, "refused"] for way in ways}
    total = {way: sum(n for (w, _), n in plain.items() if w == way) for way in ways}
    print(f"refused of plain tables: {sum(refused.values())} of {sum(total.values())};",
          ", ".join(f"{way} {refused[way]}/{total[way]}" for way in ways))  # fmt: skip
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 5))
