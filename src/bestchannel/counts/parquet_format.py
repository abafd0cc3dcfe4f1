"""Parquet: channels as a long table with columns channel, x, y, p; counts and logs, some rows at a time."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, BinaryIO

import numpy as np

from bestchannel.arrays import Floats
from bestchannel.channels import Channel
from bestchannel.counts.disk import OpenFile
from bestchannel.counts.labelled_counts import Columns, Combinations, RowBlock, log_columns
from bestchannel.counts.long_table import (
    NOT_A_MATRIX,
    Column,
    LongTable,
    Place,
    coded,
    constant,
    numbers,
    place_from,
    probability_columns,
    refuse_not_finite,
    whole_counts,
)
from bestchannel.counts.named_matrix import NamedMatrix
from bestchannel.errors import InputError, MissingExtraError
from bestchannel.progress import Progress

ROWS = 2**18
"""Rows of a log read at a time."""

_PLACE = partial(place_from, 0)


def read_long(source: OpenFile, columns: Columns, transpose: bool) -> list[NamedMatrix]:
    """The channels of a Parquet file; one that the file does not name is called as the file."""
    if transpose:
        raise InputError(NOT_A_MATRIX)
    with _parquet_errors("reading Parquet"):
        table = _file(io.BytesIO(source.content())).read()
    header = table.column_names
    found = probability_columns(header, columns)
    sides = {role: coded(_cast(table, i, "string").to_pylist()) for role, i in found.items() if role != "p"}
    values: Floats = _cast(table, found["p"], "double").to_numpy()
    refuse_not_finite(values, lambda i: f'{_PLACE(i)}, column "{header[found["p"]]}"')
    channel = sides.get("channel", constant(source.name, len(values)))
    return list(LongTable(channel, sides["x"], sides["y"], values, _PLACE).matrices())


def render(channels: Mapping[str, Channel]) -> bytes:
    """The channels as a long table, one row per cell."""
    every = channels.items()
    content = {
        "channel": [name for name, channel in every for _ in range(channel.W.size)],
        "x": [label for _, channel in every for label in channel.inputs for _ in channel.outputs],
        "y": [label for _, channel in every for _ in channel.inputs for label in channel.outputs],
        "p": np.concatenate([channel.W.ravel() for channel in channels.values()]),
    }
    with _parquet_errors("writing Parquet"):
        import pyarrow as pa
        import pyarrow.parquet as pq

        buffer = io.BytesIO()
        pq.write_table(pa.table(content), buffer)
        return buffer.getvalue()


def read_log(source: OpenFile, seen: Combinations, columns: Columns, progress: Progress | None) -> Iterator[RowBlock]:
    """The rows of a Parquet file; a channel that it does not name is called as the file."""
    with _parquet_errors("reading Parquet"):
        file = _file(source.seekable())
        header = file.schema_arrow.names
        names = {role: header[i] for role, i in log_columns(header, columns).items()}
        done, n_rows = 0, file.metadata.num_rows
        # pyarrow takes a dot in a name for a way into a nested column
        dotted = any("." in name for name in names.values())
        for batch in file.iter_batches(ROWS, columns=None if dotted else list(names.values())):
            yield _block(batch, names, seen, source.name, partial(place_from, done))
            done += batch.num_rows
            if progress and source.size is not None:
                progress(source.size * done // n_rows, source.size)


def _file(content: BinaryIO) -> Any:
    import pyarrow.parquet as pq

    file = pq.ParquetFile(content)
    if file.metadata.num_rows == 0:
        raise InputError("the table must have rows; it has none")
    return file


@contextmanager
def _parquet_errors(action: str) -> Iterator[None]:
    """Turn what pyarrow raises into refusals, and its absence into the name of the extra."""
    try:
        import pyarrow as pa
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError(action, "parquet") from None
    try:
        yield
    except InputError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"the file must be a Parquet table; reading it failed ({reason})") from None


def _block(batch: Any, names: Mapping[str, str], seen: Combinations, name: str, place: Place) -> RowBlock:
    position = {role: batch.schema.get_field_index(title) for role, title in names.items()}
    sides = {role: _column(batch, i, place) for role, i in position.items() if role != "count"}
    channel = sides.get("channel", constant(name, batch.num_rows))
    rows = numbers(seen, channel, sides["x"], sides["y"], place)
    if "count" not in position:
        return RowBlock(rows, None)
    return RowBlock(rows, whole_counts(_cast(batch, position["count"], "double", place).to_numpy(), place))


def _column(table: Any, i: int, place: Place) -> Column:
    import pyarrow as pa

    values, name = _present(table, i, place)
    try:
        coded = values.dictionary_encode()
        labels = coded.dictionary.cast("string").to_pylist()
    except (pa.ArrowException, UnicodeDecodeError):
        raise InputError(f'the column "{name}" must hold labels; it holds values of type {values.type}') from None
    if None in labels:
        raise InputError(f'the column "{name}" must have a value in every row; it has none in some')
    return Column(labels, coded.indices.to_numpy().astype(np.int64))


def _cast(table: Any, i: int, kind: str, place: Place = _PLACE) -> Any:
    """Column i as texts or as numbers."""
    import pyarrow as pa

    values, name = _present(table, i, place)
    try:
        return values.cast(kind)
    except pa.ArrowException:
        content = "numbers" if kind == "double" else "labels"
        raise InputError(f'the column "{name}" must hold {content}; it holds values of type {values.type}') from None


def _present(table: Any, i: int, place: Place) -> tuple[Any, str]:
    """Column i, without a missing value, and its name."""
    values, name = table.column(i), table.schema.names[i]
    if values.null_count:
        row = values.is_null().to_pylist().index(True)
        raise InputError(f'{place(row)}, column "{name}" must have a value; it has none')
    return values, name
