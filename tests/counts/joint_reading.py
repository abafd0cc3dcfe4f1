"""Random joint trials whose meaning is known, read back: `python -m tests.counts.joint_reading TABLES SEED`.

What every channel was sent and answered in every trial is drawn first, then written as people write it: a row per answer
or per trial, with titles, labels, gaps, further columns and formats of their own, in files and in objects. Some tables
are spoilt so that they mean nothing. What is read must be what was drawn, or nothing. Nothing here uses a rule of the
readers.
"""

from __future__ import annotations

import csv
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
from scipy.io import savemat

from bestchannel.counts import read_joint_trials
from bestchannel.counts.frames import joint_trials
from bestchannel.errors import BestChannelError

TEXTS = {"csv": ",", "tsv": "\t", "txt": ";", "dat": ","}
WAYS = [*TEXTS, "json", "jsonl", "npz", "mat", "xlsx", "parquet", "feather", "pandas", "polars", "arrow", "vectors"]
LETTERS = [
    ["0", "1", "2", "3"],
    ["cat", "dog", "a b", "é"],
    ["00", "01", "10", "11"],
    ["-1", "7", "300", "12"],
    [0, 1, 2, 3],
]
NAMES = ["svm", "tree", "q7", "L 1", "3", "é", "A", "x", "forest_2"]
SPOILS = ["again", "other input", "no input", "no trial", "further column", "row again"]


@dataclass
class Drawn:
    """trials[t][channel] is (x, y), y being None where no answer came; `spoilt` says how it was made to mean nothing."""

    trials: list[dict]
    names: list[str]
    way: str = ""
    layout: str = ""
    spoilt: str = ""
    options: dict = field(default_factory=dict)
    content: object = None


def drawn(draw):
    names = draw.sample(NAMES, draw.randint(2, 4))
    inputs, outputs = (draw.choice(LETTERS)[: draw.randint(2, 4)] for _ in range(2))
    trials = []
    for _ in range(draw.randint(12, 40)):
        x = draw.choice(inputs)
        trials.append({name: (x, draw.choice(outputs)) for name in names})
    for name in names:  # so that every letter is there, and counts are no fewer than letters
        for t, y in enumerate(outputs):
            trials[t][name] = (trials[t][name][0], y)
    return Drawn(trials, names)


def written(draw, folder):
    """Somebody's table of drawn trials."""
    table = drawn(draw)
    table.way, table.layout = draw.choice(WAYS), draw.choice(["long", "wide", "own"])
    with_gaps = table.way not in ("npz", "mat") and draw.random() < 0.5
    for trial in table.trials:
        for name, (x, y) in trial.items():
            x = (
                draw.choice([other[name][0] for other in table.trials])
                if table.layout != "wide" and draw.random() < 0.3
                else x
            )
            trial[name] = (x, None if with_gaps and draw.random() < 0.15 else y)
    for name in table.names:
        for t in range(4):  # no letter is lost by a gap
            if table.trials[t][name][1] is None:
                table.trials[t][name] = (table.trials[t][name][0], table.trials[4][name][1] or table.trials[5][name][1])
        if any(table.trials[t][name][1] is None for t in range(4)):
            return written(draw, folder)
    columns, rows = (long_rows if table.layout == "long" else wide_rows)(draw, table)
    if draw.random() < 0.35:
        table.spoilt = draw.choice(SPOILS)
        rows = spoil(draw, table, columns, rows)
        if rows is None:
            return written(draw, folder)
    table.content = put(draw, table, columns, rows, folder)
    return table


def long_rows(draw, table):
    """A row per answer; one that did not come has no row, or a blank one."""
    title = {role: role if draw.random() < 0.7 else other
             for role, other in {"trial": "shot", "channel": "Qubit", "x": "prepared", "y": "read"}.items()}  # fmt: skip
    if renamed := {role: other for role, other in title.items() if role != other}:
        table.options["columns"] = renamed
    numbers = draw.sample(range(1000), len(table.trials)) if draw.random() < 0.5 else range(len(table.trials))
    rows = [[number, name, x, y] for number, trial in zip(numbers, table.trials, strict=True) for name, (x, y) in trial.items()
            if y is not None or draw.random() < 0.5]  # fmt: skip
    if draw.random() < 0.5:
        draw.shuffle(rows)
    return list(title.values()), rows


def wide_rows(draw, table):
    """A row per trial."""
    own, foreign = table.layout == "own", draw.random() < 0.3
    x_title, y_title = (
        ("sent_{}", "{} said") if foreign else (draw.choice(["x_{}", "X_{}"]), draw.choice(["y_{}", "Y_{}"]))
    )
    columns, names = [], draw.sample(table.names, len(table.names))
    with_trial = draw.random() < 0.7
    if foreign:
        table.options["columns"] = {
            "x": x_title.replace("{}", "*") if own else "truth",
            "y": y_title.replace("{}", "*"),
        }
    if with_trial:
        columns.append("item" if foreign else "trial")
        table.options.get("columns", {}).update({"trial": "item"} if foreign else {})
    columns += [] if own else ["truth" if foreign else "x"]
    for name in names:
        columns += [x_title.format(name), y_title.format(name)] if own else [y_title.format(name)]
    rows = []
    for number, trial in enumerate(table.trials):
        pairs = [trial[name] for name in names]
        cells = [cell for pair in pairs for cell in pair] if own else [pairs[0][0], *(y for _, y in pairs)]
        rows.append([number] * with_trial + cells)
    return columns, rows


def spoil(draw, table, columns, rows):
    """The rows so that they mean nothing; None where that cannot be done to these."""
    rows, long = [list(row) for row in rows], table.layout == "long"
    if table.spoilt in ("again", "other input") and long:
        row = list(draw.choice([row for row in rows if row[3] is not None]))
        if table.spoilt == "other input":
            row[2] = draw.choice([other[2] for other in rows if other[2] != row[2]] or [None])
        rows.insert(draw.randrange(len(rows) + 1), row)
        return rows if row[2] is not None else None
    if table.spoilt == "other input" and table.layout == "wide" and "columns" not in table.options:
        columns.append(f"x_{next(title for title in columns if title[:2] in ('y_', 'Y_'))[2:]}")
        return [[*row, row[1]] for row in rows]
    if table.spoilt == "no input" and table.way not in ("npz", "mat"):
        i = columns.index(
            next(c for c in columns if c in ("x", "prepared", "truth") or c.startswith(("x_", "X_", "sent_")))
        )
        answered = [row for row in rows if row[i + 1] is not None]
        draw.choice(answered)[i] = None
        return rows
    if table.spoilt == "no trial" and long:
        columns[:] = columns[1:]
        table.options.get("columns", {}).pop("trial", None)
        return [row[1:] for row in rows]
    if table.spoilt == "further column" and "columns" not in table.options:
        columns.append(draw.choice(["note", "count", "confidence"]))
        return [[*row, draw.choice([1, 2])] for row in rows]
    if table.spoilt == "row again" and columns[0] in ("trial", "item") and not long:
        return [*rows, draw.choice(rows)]
    return None


def put(draw, table, columns, rows, folder):
    """The table in its format."""
    way, path = table.way, folder / f"table.{table.way}"
    if way in TEXTS or way == "xlsx":
        gap = draw.choice(["", "NA", "nan"])
        cells = [columns, *([gap if cell is None else cell for cell in row] for row in rows)]
        if way == "xlsx":
            book = openpyxl.Workbook()
            for row in cells:
                book.active.append(row)
            book.save(path)
        else:
            buffer = io.StringIO(newline="")
            csv.writer(buffer, delimiter=TEXTS[way], lineterminator=draw.choice(["\n", "\r\n"])).writerows(cells)
            path.write_bytes(draw.choice([b"", b"\xef\xbb\xbf"]) + buffer.getvalue().encode())
        return path
    if way in ("json", "jsonl"):
        records = [
            {c: cell for c, cell in zip(columns, row, strict=True) if cell is not None or draw.random() < 0.5}
            for row in rows
        ]
        path.write_text(json.dumps(records) if way == "json" else "\n".join(map(json.dumps, records)))
        return path
    vectors = {c: [row[i] for row in rows] for i, c in enumerate(columns)}
    if way == "vectors":
        return {c: np.array(v, object) if draw.random() < 0.5 else v for c, v in vectors.items()}
    if way in ("npz", "mat"):
        if way == "mat" and not all(c.isascii() and c.isidentifier() for c in columns):
            table.way = "npz"
            path = folder / "table.npz"
        arrays = {c: np.array(v) for c, v in vectors.items()}
        savemat(
            path, {c: v if v.dtype.kind != "U" else v.astype(object) for c, v in arrays.items()}
        ) if path.suffix == ".mat" else np.savez(path, **arrays)
        return path
    frame = pd.DataFrame(vectors)
    if way == "pandas":
        return frame.set_index(columns[0]) if columns[0] in ("trial", "item") and draw.random() < 0.3 else frame
    if way == "polars":
        return pl.DataFrame(vectors, strict=False)
    content = pa.table(vectors)
    if way == "arrow":
        return content
    pq.write_table(content, path) if way == "parquet" else pa.feather.write_feather(content, path)
    return path


def meaning(table):
    """What must be read: of every trial, {channel: (x, y)} of the answers that came; trials in any order."""
    return Counter(
        frozenset((n, str(x), str(y)) for n, (x, y) in trial.items() if y is not None) for trial in table.trials
    )


def read(table):
    """The same of what the package reads."""
    content, options = table.content, table.options
    trials = read_joint_trials(content, **options) if isinstance(content, Path) else joint_trials(content, **options)
    found = Counter()
    for xs, ys in zip(trials.x.tolist(), trials.y.tolist(), strict=True):
        answers = zip(trials.alphabets, xs, ys, strict=True)
        found[frozenset((labels.key, labels.inputs[x], labels.outputs[y]) for labels, x, y in answers if y >= 0)] += 1
    return found


def judged(draw, folder):
    """What became of one table: right, refused, wrong or crashed; and what there is to say."""
    table = written(draw, folder)
    try:
        found = read(table)
    except BestChannelError as error:
        return "refused", table, str(error)
    except Exception:
        return "crashed", table, traceback.format_exc()
    # a trial without any answer has no row in a long table
    right = not table.spoilt and +Counter({k: n for k, n in found.items() if k}) == Counter(
        {k: n for k, n in meaning(table).items() if k}
    )
    return (
        ("right" if right else "wrong"),
        table,
        f"read {found}\nmeant {'nothing' if table.spoilt else meaning(table)}",
    )


def campaign(tables, seed):
    """How many tables had which outcome; which were read wrong or crashed; which were refused and not spoilt."""
    outcomes, bad, pity = Counter(), [], []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(tables):
            outcome, table, said = judged(random.Random(f"{seed}/{number}"), Path(folder))
            outcomes[outcome, bool(table.spoilt)] += 1
            what = f"table {seed}/{number}, {table.layout} as {table.way}, {table.options}, {table.spoilt}: {outcome}\n{said}"
            if outcome in ("wrong", "crashed"):
                bad.append(what)
            elif outcome == "refused" and not table.spoilt:
                pity.append(what)
    return outcomes, bad, pity


if __name__ == "__main__":
    outcomes, bad, pity = campaign(int(sys.argv[1]), sys.argv[2])
    print("\n\n".join([*bad[:5], *pity[:5]]), outcomes, sep="\n")
    sys.exit(bool(bad))
