"""Tables of Parquet and Arrow: channels as rows channel, x, y, p; counts and logs, some rows at a time."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np

from bestchannel.channels import Channel
from bestchannel.counts.decoded_tables import DecodedRows, decoded
from bestchannel.counts.disk import OpenFile
from bestchannel.counts.labelled_counts import MOST_CELLS, SHOWN, Combinations, RowBlock, log_columns
from bestchannel.counts.long_table import (
    LongTable,
    Place,
    constant,
    numbers,
    place_from,
    points,
    probability_columns,
    refuse_not_finite,
    times_of,
    whole_counts,
)
from bestchannel.counts.named_matrix import NamedMatrix
from bestchannel.errors import InputError, MissingExtraError
from bestchannel.process import Progress


def read_long(source: OpenFile) -> list[NamedMatrix]:
    """The channels of a table; one that it does not name is called as the file."""
    with decoded(source, _kind(source)) as table:
        found = probability_columns(table.names, source.hints.columns)
        if (table.n_rows or 0) > MOST_CELLS:
            raise InputError(f"the channels of a file must have at most {MOST_CELLS:,} cells; there are more rows")
        (rows,) = table.rows(found, "p", whole=True)
    place = partial(place_from, 0)
    values = rows.numbers["p"].astype(np.float64)
    refuse_not_finite(values, lambda i: f'{place(i)}, column "{table.names[found["p"]]}"')
    channel = rows.labels.get("channel", constant(source.name, rows.n_rows))
    return list(LongTable(channel, rows.labels["x"], rows.labels["y"], values, place).matrices(source.hints.transpose))


def read_log(source: OpenFile, seen: Combinations, progress: Progress | None) -> Iterator[RowBlock]:
    """The rows of a table; a channel that it does not name is called as the file."""
    with decoded(source, _kind(source)) as table:
        done = 0
        for rows in table.rows(
            log_columns(
                table.names,
                source.hints.columns,
                seen,
                table.cells,
                are_all=table.n_rows is not None and table.n_rows <= SHOWN,
            ),
            "count",
        ):
            yield _block(rows, seen, source.name, partial(place_from, done))
            done += rows.n_rows
            if progress and source.size is not None and rows.share is not None:
                progress(int(source.size * rows.share), source.size)


def has_rows(source: OpenFile) -> bool:
    """Whether the table has any: a part of a table may be empty."""
    with decoded(source, _kind(source)) as table:
        return table.n_rows != 0


def _kind(source: OpenFile) -> str:
    return "Parquet" if source.ending == ".parquet" else "Arrow"


def _block(rows: DecodedRows, seen: Combinations, name: str, place: Place) -> RowBlock:
    channel, x, y = rows.labels.get("channel", constant(name, rows.n_rows)), rows.labels["x"], rows.labels["y"]
    y = points(y, rows.labels["y2"]) if "y2" in rows.labels else y
    numbered = numbers(seen, channel, x, y, place)
    if "y2" not in rows.labels:
        seen.expect(rows.declared.get("x" if seen.transpose else "y", ()))
    counts = rows.numbers.get("count")
    if counts is not None:
        return RowBlock(numbered, whole_counts(counts, place))
    return RowBlock(numbered, None, None if rows.times is None else times_of(rows.times))


def render(channels: Mapping[str, Channel]) -> bytes:
    """The channels as a long table, one row per cell."""
    every = channels.items()
    content = {
        "channel": [name for name, channel in every for _ in range(channel.W.size)],
        "x": [label for _, channel in every for label in channel.inputs for _ in channel.outputs],
        "y": [label for _, channel in every for _ in channel.inputs for label in channel.outputs],
        "p": np.concatenate([channel.W.ravel() for channel in channels.values()]),
    }
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtraError("writing Parquet", "parquet") from None
    buffer = io.BytesIO()
    try:
        pq.write_table(pa.table(content), buffer)
    except pa.ArrowException as error:
        raise InputError(f"the channels cannot be written as Parquet ({' '.join(str(error).split())})") from None
    return buffer.getvalue()
