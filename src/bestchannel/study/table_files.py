"""The tables of a study as files: CSV always, Parquet where its package is installed."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bestchannel.disk import errors_naming, write_bytes
from bestchannel.errors import InputError, MissingExtraError
from bestchannel.study.journal import Journal
from bestchannel.study.monte_carlo import Study
from bestchannel.study.statistics import run_rows, summaries

Rows = Sequence[Mapping[str, Any]]

LARGEST = 2**63 - 1


def write_tables(folder: Path, study: Study, journal: Journal) -> list[Path]:
    """Write runs and summary; return the files that were written."""
    tables = {"runs": run_rows(study, journal), "summary": [asdict(each) for each in summaries(study, journal)]}
    written = []
    for name, rows in tables.items():
        written.append(_write(folder / f"{name}.csv", as_csv(rows)))
        try:
            written.append(_write(folder / f"{name}.parquet", as_parquet(rows)))
        except MissingExtraError:
            continue  # CSV holds the same
    return written


def as_csv(rows: Rows) -> bytes:
    """The rows with a header; what is None is empty."""
    if not rows:
        raise InputError("a table must have rows; this one has none")
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def as_parquet(rows: Rows) -> bytes:
    """The same columns with their types."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtraError("writing Parquet", "parquet") from None
    columns = {name: _column([row[name] for row in rows]) for name in rows[0]}
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


def _column(values: list[Any]) -> list[Any]:
    """Counts beyond 64 bits, which Parquet has no integers for, as doubles."""
    if any(isinstance(value, int) and value > LARGEST for value in values):
        return [float(value) for value in values]
    return values


def _write(path: Path, data: bytes) -> Path:
    with errors_naming(path):
        write_bytes(path, data)
    return path
