"""Parquet: channels as a long table with columns channel, x, y, p; counts and logs, some rows at a time."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from bestchannel.arrays import Floats
from bestchannel.channels import Channel
from bestchannel.counts.disk import MOST_BYTES, OpenFile
from bestchannel.counts.labelled_counts import (
    LONGEST,
    MOST_CELLS,
    MOST_SEEN,
    SHOWN,
    Cells,
    Combinations,
    RowBlock,
    label_of,
    log_columns,
)
from bestchannel.counts.long_table import (
    NOT_A_MATRIX,
    Column,
    LongTable,
    Place,
    constant,
    numbers,
    place_from,
    points,
    probability_columns,
    refuse_not_finite,
    whole_counts,
)
from bestchannel.counts.named_matrix import NamedMatrix
from bestchannel.counts.parquet_pages import refuse_large_pages
from bestchannel.errors import InputError, MissingExtraError
from bestchannel.progress import Progress

ROWS = 2**18
"""Rows of a log read at a time."""

MOST_ROWS = 2**32
"""The most rows of a table: a run of equal values takes no room in a file, but its rows take time."""

_SHOWN_LETTERS = 200
"""How much of a text is looked at to find what its column is."""

_PLACE = partial(place_from, 0)


def read_long(source: OpenFile) -> list[NamedMatrix]:
    """The channels of a Parquet file; one that the file does not name is called as the file."""
    if source.hints.transpose:
        raise InputError(NOT_A_MATRIX)
    with parquet_errors("reading Parquet"):
        file, names, _ = _file(source.seekable(), partial(probability_columns, columns=source.hints.columns))
        if file.metadata.num_rows > MOST_CELLS:
            raise InputError(f"the channels of a file must have at most {MOST_CELLS:,} cells; there are more rows")
        table = file.read(columns=_selected(names))
    return list(long_of_table(table, names, source.name).matrices())


def render(channels: Mapping[str, Channel]) -> bytes:
    """The channels as a long table, one row per cell."""
    every = channels.items()
    content = {
        "channel": [name for name, channel in every for _ in range(channel.W.size)],
        "x": [label for _, channel in every for label in channel.inputs for _ in channel.outputs],
        "y": [label for _, channel in every for _ in channel.inputs for label in channel.outputs],
        "p": np.concatenate([channel.W.ravel() for channel in channels.values()]),
    }
    with parquet_errors("writing Parquet"):
        import pyarrow as pa
        import pyarrow.parquet as pq

        buffer = io.BytesIO()
        pq.write_table(pa.table(content), buffer)
        return buffer.getvalue()


def read_log(source: OpenFile, seen: Combinations, progress: Progress | None) -> Iterator[RowBlock]:
    """The rows of a Parquet file; a channel that it does not name is called as the file."""
    with parquet_errors("reading Parquet"):
        content = source.seekable()
        find = partial(log_columns, columns=source.hints.columns, seen=seen, cells=_cells(content))
        file, names, schema = _file(content, find)
        done, n_rows = 0, file.metadata.num_rows
        for batch in file.iter_batches(ROWS, columns=_selected(names)):
            place = partial(place_from, done)
            yield block_of_batch(batch, names, seen, source.name, place, declares=declares_outputs(schema, names))
            done += batch.num_rows
            if progress and source.size is not None:
                progress(source.size * done // n_rows, source.size)


def has_rows(source: OpenFile) -> bool:
    """Whether the table has any: a part of a table may be empty."""
    with parquet_errors("reading Parquet"):
        import pyarrow.parquet as pq

        return bool(pq.ParquetFile(source.seekable()).metadata.num_rows)


def _file(content: BinaryIO, find: Callable[[Sequence[str]], dict[str, int]]) -> tuple[Any, dict[str, str], Any]:
    """The file, which has rows in pages that are not too large, what its columns are called by role, and its schema."""
    import pyarrow.parquet as pq

    file = pq.ParquetFile(content)
    n_rows, schema = file.metadata.num_rows, file.schema_arrow
    if not 0 < n_rows <= MOST_ROWS:
        raise InputError(f"the table must have rows, at most {MOST_ROWS:,}; it has {n_rows or 'none'}")
    names = {role: schema.names[i] for role, i in find(schema.names).items()}
    refuse_types(schema, names)
    selected = _selected(names) or schema.names
    refuse_large_pages(content, file.metadata, set(selected))
    texts = [name for role, name in names.items() if role not in ("count", "p")]
    return pq.ParquetFile(content, metadata=file.metadata, read_dictionary=texts), names, schema


def declares_outputs(schema: Any, names: Mapping[str, str]) -> bool:
    """Whether the type of the column y says which outputs there are, as that of pandas' Categorical does."""
    import pyarrow as pa

    return pa.types.is_dictionary(schema.field(names["y"]).type) and "y2" not in names


def _selected(names: Mapping[str, str]) -> list[str] | None:
    """The columns to read; all where pyarrow would take a dot in a name for a way into a nested column."""
    return None if any("." in name for name in names.values()) else list(names.values())


def refuse_types(schema: Any, names: Mapping[str, str]) -> None:
    """Refuse columns whose values are neither labels nor numbers, of which a row may be as large as a file."""
    for role, name in names.items():
        if len(schema.get_all_field_indices(name)) > 1:
            raise InputError(f'the column "{name}" must occur once; it occurs more often')
        kind = schema.field(name).type
        if not _is_plain(kind):
            content = "numbers" if role in ("count", "p") else "labels"
            raise InputError(f'the column "{name}" must hold {content}; it holds values of type {kind}')


def _is_plain(kind: Any) -> bool:
    """Whether a value of the type takes a few bytes, or the bytes that are there: no lists, runs or nothing."""
    from pyarrow import types

    inner = kind.value_type if types.is_dictionary(kind) else kind
    numbers = types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_temporal
    texts = types.is_string, types.is_large_string, types.is_string_view, types.is_binary, types.is_large_binary
    return any(is_kind(inner) for is_kind in (*numbers, *texts))


@contextmanager
def parquet_errors(action: str) -> Iterator[None]:
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
        raise InputError(f"the file must be a table; {action} failed ({reason})") from None


def long_of_table(table: Any, names: Mapping[str, str], name: str) -> LongTable:
    """The rows channel, x, y, p of a table of Arrow; a channel that it does not name is called `name`."""
    sides = {role: _column(table, title, _PLACE) for role, title in names.items() if role != "p"}
    values: Floats = _numbers(table, names["p"], _PLACE).astype(np.float64)
    refuse_not_finite(values, lambda i: f'{_PLACE(i)}, column "{names["p"]}"')
    return LongTable(sides.get("channel", constant(name, len(values))), sides["x"], sides["y"], values, _PLACE)


def cells_of(batch: Any, i: int) -> list[Any]:
    """The first cells of a column: numbers, or texts up to some length; nothing in place of anything else."""
    import pyarrow as pa

    if batch is None:
        return []
    cells = batch.column(i).slice(0, SHOWN)
    if not pa.types.is_dictionary(cells.type):
        return _shortened(cells, batch.schema.names[i])
    labels = _shortened(cells.dictionary, batch.schema.names[i])
    return [None if code is None else labels[code] for code in cells.indices.to_pylist()]


def _shortened(cells: Any, name: str) -> list[Any]:
    import pyarrow as pa
    import pyarrow.compute as pc

    if not _is_plain(cells.type):
        return [None] * len(cells)
    cells = _copied(cells, name) if pa.types.is_string_view(cells.type) else cells
    is_text = pa.types.is_string(cells.type) or pa.types.is_large_string(cells.type)
    is_binary = pa.types.is_binary(cells.type) or pa.types.is_large_binary(cells.type)
    short = pc.utf8_slice_codeunits(cells, 0, _SHOWN_LETTERS) if is_text else cells
    return list((pc.binary_slice(cells, 0, _SHOWN_LETTERS) if is_binary else short).to_pylist())


def _cells(content: BinaryIO) -> Cells:
    """The first cells of a column of a file, whose pages are not too large."""
    import pyarrow.parquet as pq

    def cells(i: int) -> list[Any]:
        file = pq.ParquetFile(content)
        name = file.schema_arrow.names[i]
        columns = None if "." in name else [name]
        refuse_large_pages(content, file.metadata, set(columns or file.schema_arrow.names))
        batch = next(file.iter_batches(SHOWN, columns=columns))
        return cells_of(batch, batch.schema.get_field_index(name))

    return cells


def block_of_batch(
    batch: Any, names: Mapping[str, str], seen: Combinations, name: str, place: Place, *, declares: bool
) -> RowBlock:
    """The rows of a batch of Arrow; `declares` says that the dictionary of y has all outputs."""
    sides = {role: _column(batch, title, place) for role, title in names.items() if role != "count"}
    if declares:
        dictionary = batch.column(batch.schema.get_field_index(names["y"])).dictionary
        seen.expect(label for label in _texts(dictionary) if label is not None)
    channel = sides.get("channel", constant(name, batch.num_rows))
    y = points(sides["y"], sides["y2"]) if "y2" in sides else sides["y"]
    rows = numbers(seen, channel, sides["x"], y, place)
    if "count" not in names:
        return RowBlock(rows, None)
    return RowBlock(rows, whole_counts(_numbers(batch, names["count"], place), place))


def _column(table: Any, name: str, place: Place) -> Column:
    """Labels in the order in which they come first; a dictionary may have some twice, or others that do not come."""
    import pyarrow as pa

    values = _present(table, name, place)
    if pa.types.is_string_view(values.type):
        values = _copied(values, name)
    try:
        encoded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
        _refuse_labels(encoded.dictionary, name)
        labels = _texts(encoded.dictionary)
    except (pa.ArrowException, UnicodeDecodeError):
        raise InputError(f'the column "{name}" must hold labels; it holds values of type {values.type}') from None
    used, first, codes = np.unique(encoded.indices.to_numpy(), return_index=True, return_inverse=True)
    found = [labels[code] for code in used.tolist()]
    if None in found:
        raise InputError(f'the column "{name}" must have a value in every row; it has none in some')
    index = {label: i for i, label in enumerate(dict.fromkeys(found[k] for k in np.argsort(first).tolist()))}
    return Column(list(index), np.array([index[label] for label in found], np.int64)[codes])


def _texts(values: Any) -> list[str | None]:
    """Values as labels; numbers as they are in any other table."""
    import pyarrow as pa

    kinds = pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal
    if any(is_kind(values.type) for is_kind in kinds):
        return list(map(label_of, values.to_pylist()))
    return list(values.cast("string").to_pylist())


def _copied(views: Any, name: str) -> Any:
    """Views of texts as texts, if these are not too many: any number of views may show the same long one."""
    lengths = np.frombuffer(views.buffers()[1], "<i4").reshape(-1, 4)[views.offset :][: len(views), 0]
    if int(lengths.sum(dtype=np.int64)) > MOST_BYTES:
        raise InputError(f'the column "{name}" must hold labels; they take more than {MOST_BYTES:,} bytes')
    return views.cast("string")


def _refuse_labels(labels: Any, name: str) -> None:
    """Refuse more labels, or longer ones, than a log may have, before they are made."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if len(labels) > MOST_SEEN:
        raise InputError(
            f'the column "{name}" must have at most {MOST_SEEN:,} different labels; it has {len(labels):,} (is it a'
            " measured value, a time or a running number?)"
        )
    kinds = pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary
    longest = pc.max(pc.binary_length(labels)).as_py() if any(is_kind(labels.type) for is_kind in kinds) else 0
    if (longest or 0) > 4 * LONGEST:  # bytes
        raise InputError(f'the column "{name}" must hold labels; one is {longest:,} bytes long')


def _numbers(table: Any, name: str, place: Place) -> NDArray[Any]:
    """The numbers of a column, whole ones as integers."""
    import pyarrow as pa

    values = _present(table, name, place)
    is_whole = pa.types.is_integer(values.type) or (pa.types.is_decimal(values.type) and values.type.scale == 0)
    kind = values.type if pa.types.is_unsigned_integer(values.type) else "int64" if is_whole else "double"
    try:
        return values.cast(kind).to_numpy(zero_copy_only=False)
    except pa.ArrowException:
        raise InputError(f'the column "{name}" must hold numbers; it holds values of type {values.type}') from None


def _present(table: Any, name: str, place: Place) -> Any:
    """The column as one array, without a missing value."""
    import pyarrow as pa
    import pyarrow.compute as pc

    values = table.column(table.schema.get_field_index(name))
    if values.null_count:
        row = pc.index(values.is_null(), True).as_py()
        raise InputError(f'{place(row)}, column "{name}" must have a value; it has none')
    if isinstance(values, pa.ChunkedArray):
        values = values.unify_dictionaries() if pa.types.is_dictionary(values.type) else values
        values = pa.concat_arrays(values.chunks)
    return values
