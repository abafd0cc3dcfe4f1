"""Logs as Parquet, some rows at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bestchannel.counts.columns import Column, Place, cell_numbers, constant, whole_counts
from bestchannel.counts.disk import open_bytes
from bestchannel.counts.labelled_counts import Cells
from bestchannel.counts.pieces import Piece, Progress
from bestchannel.counts.row_forms import log_columns
from bestchannel.errors import InputError, MissingExtraError

ROWS = 2**18
"""Rows read at a time."""


def parquet_log(
    path: Path, cells: Cells, columns: Mapping[str, str] | None, progress: Progress | None
) -> Iterator[Piece]:
    """The rows of a Parquet file; a channel that it does not name is called as the file."""
    names: dict[str, str] = {}
    done = 0
    for batch, part in _batches(path, columns, names):
        piece = _piece(batch, names, cells, path.stem, done)
        done += batch.num_rows
        yield piece
        if progress:
            progress(*part)


def _batches(
    path: Path, columns: Mapping[str, str] | None, names: dict[str, str]
) -> Iterator[tuple[Any, tuple[int, int]]]:
    """The rows with the columns of a log, whose names are put into `names`; about which part of the bytes is read."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtraError("reading Parquet", "parquet") from None
    size = done = 0
    with open_bytes(path) as file:
        try:
            table = pq.ParquetFile(file)
            header = table.schema_arrow.names
            names.update((role, header[i]) for role, i in log_columns(header, columns).items())
            size, n_rows = path.stat().st_size, table.metadata.num_rows
            if n_rows == 0:
                raise InputError("the table must have rows; it has none")
            # pyarrow takes a dot in a name for a way into a nested column
            dotted = any("." in name for name in names.values())
            for batch in table.iter_batches(ROWS, columns=None if dotted else list(names.values())):
                done += batch.num_rows
                yield batch, (size * done // n_rows, size)
        except InputError:
            raise
        except (pa.ArrowException, OSError, ValueError) as error:
            reason = " ".join(str(error).split())
            raise InputError(f"the file must be a Parquet table; reading it failed ({reason})") from None


def _piece(batch: Any, names: Mapping[str, str], cells: Cells, name: str, done: int) -> Piece:
    def place(i: int) -> str:
        return f"row {done + i + 1}"

    found = {role: batch.column(title) for role, title in names.items()}
    for role, values in found.items():
        if values.null_count:
            row = values.is_null().to_pylist().index(True)
            raise InputError(f'{place(row)}, column "{names[role]}" must have a value; it has none')
    x, y = (_column(found[role], names[role]) for role in ("x", "y"))
    channel = _column(found["channel"], names["channel"]) if "channel" in found else constant(name, batch.num_rows)
    counts = _counts(found["count"], names["count"], place) if "count" in found else None
    return Piece(cell_numbers(cells, channel, x, y, place), counts)


def _column(values: Any, name: str) -> Column:
    import pyarrow as pa

    try:
        coded = values.dictionary_encode()
        labels = coded.dictionary.cast("string").to_pylist()
    except (pa.ArrowException, UnicodeDecodeError):
        raise InputError(f'the column "{name}" must hold labels; it holds values of type {values.type}') from None
    if None in labels:
        raise InputError(f'the column "{name}" must have a value in every row; it has none in some')
    return Column(labels, coded.indices.to_numpy().astype(np.int64))


def _counts(values: Any, name: str, place: Place) -> Any:
    import pyarrow as pa

    try:
        numbers = values.cast("double").to_numpy()
    except pa.ArrowException:
        raise InputError(f'the column "{name}" must hold numbers; it holds values of type {values.type}') from None
    return whole_counts(numbers, place)
