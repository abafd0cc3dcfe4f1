"""Channels as Parquet: the long form with columns channel, x, y, p."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import numpy as np

from bestchannel.arrays import Floats
from bestchannel.channels import Channel
from bestchannel.counts.labelled import LabelledRows
from bestchannel.counts.long_table import NOT_A_MATRIX, LongForm, matrices, probability_columns
from bestchannel.counts.table import refuse_not_finite
from bestchannel.errors import InputError, MissingExtraError


def parse(data: bytes, *, name: str, columns: Mapping[str, str] | None, transpose: bool) -> list[LabelledRows]:
    """The channels of a Parquet file; one that the file does not name is called `name`."""
    if transpose:
        raise InputError(NOT_A_MATRIX)
    table = read(data)
    found = probability_columns(table.column_names, columns)
    x, y, p = (cast(table, found[role], kind) for role, kind in (("x", "string"), ("y", "string"), ("p", "double")))
    names = cast(table, found["channel"], "string").to_pylist() if "channel" in found else [name] * table.num_rows
    values: Floats = p.to_numpy()
    refuse_not_finite(values, lambda i: f'{place(i)}, column "{table.column_names[found["p"]]}"')
    return list(matrices(LongForm(names, x.to_pylist(), y.to_pylist(), values, place)))


def render(channels: Mapping[str, Channel]) -> bytes:
    """The long form of the channels, one row a cell."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtraError("writing Parquet", "parquet") from None
    every = channels.items()
    content = {
        "channel": [name for name, channel in every for _ in range(channel.W.size)],
        "x": [label for _, channel in every for label in channel.inputs for _ in channel.outputs],
        "y": [label for _, channel in every for _ in channel.inputs for label in channel.outputs],
        "p": np.concatenate([channel.W.ravel() for channel in channels.values()]),
    }
    buffer = io.BytesIO()
    pq.write_table(pa.table(content), buffer)
    return buffer.getvalue()


def read(data: bytes) -> Any:
    """The table of a Parquet file, which has at least one row."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtraError("reading Parquet", "parquet") from None
    try:
        table = pq.read_table(pa.BufferReader(data))
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"the file must be a Parquet table; reading it failed ({reason})") from None
    if table.num_rows == 0:
        raise InputError("the table must have rows; it has none")
    return table


def cast(table: Any, column: int, kind: str) -> Any:
    """The column as texts or as numbers, without a missing value."""
    import pyarrow as pa

    name, values = table.column_names[column], table.column(column)
    if values.null_count:
        row = values.is_null().to_pylist().index(True)
        raise InputError(f'{place(row)}, column "{name}" must have a value; it has none')
    try:
        return values.cast(kind)
    except pa.ArrowException:
        wanted = "numbers" if kind == "double" else "labels"
        raise InputError(f'the column "{name}" must hold {wanted}; it holds values of type {values.type}') from None


def place(row: int) -> str:
    """How a row of the table is called, counted from 1."""
    return f"row {row + 1}"
