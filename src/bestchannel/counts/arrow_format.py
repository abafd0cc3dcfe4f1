"""Arrow tables in files (Feather) and streams: counts and logs batch by batch, channels as rows channel, x, y, p."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import Any

from bestchannel.counts.disk import MOST_BYTES, OpenFile
from bestchannel.counts.labelled_counts import MOST_CELLS, Combinations, RowBlock, log_columns
from bestchannel.counts.long_table import NOT_A_MATRIX, place_from, probability_columns
from bestchannel.counts.named_matrix import NamedMatrix
from bestchannel.counts.parquet_format import (
    block_of_batch,
    cells_of,
    declares_outputs,
    long_of_table,
    parquet_errors,
    refuse_types,
)
from bestchannel.errors import InputError
from bestchannel.progress import Progress

_FILE = b"ARROW1"
_CONTINUED = b"\xff\xff\xff\xff"
_DICTIONARY, _BATCH = 2, 3
"""Kinds of messages."""
_KIND, _HEADER, _BODY = 1, 2, 3
"""Fields of a message."""
_BLOCKS = (2, 3)
"""The places of dictionaries and of batches in the table at the end of a file."""
_INNER = 1
"""The batch of a dictionary."""
_BUFFERS, _COMPRESSION = 2, 3
"""Fields of a batch."""


def read_log(source: OpenFile, seen: Combinations, progress: Progress | None) -> Iterator[RowBlock]:
    """The rows of an Arrow table; a channel that it does not name is called as the file."""
    with parquet_errors("reading Arrow"):
        reader = source.parsed(_reader)
        batches, titles = _batches(reader), reader.schema.names
        first = next(batches, None)
        found = log_columns(titles, source.hints.columns, seen, partial(cells_of, first))
        names = {role: titles[i] for role, i in found.items()}
        refuse_types(reader.schema, names)
        done, declares = 0, declares_outputs(reader.schema, names)
        for batch in chain([] if first is None else [first], batches):
            place = partial(place_from, done)
            yield block_of_batch(batch, names, seen, source.name, place, declares=declares)
            done += batch.num_rows
        if not done:
            raise InputError("the table must have rows; it has none")


def read_long(source: OpenFile) -> list[NamedMatrix]:
    """The channels of an Arrow table."""
    if source.hints.transpose:
        raise InputError(NOT_A_MATRIX)
    with parquet_errors("reading Arrow"):
        reader = source.parsed(_reader)
        found = probability_columns(reader.schema.names, source.hints.columns)
        names = {role: reader.schema.names[i] for role, i in found.items()}
        refuse_types(reader.schema, names)
        table = reader.read_all()
    if not 0 < table.num_rows <= MOST_CELLS:
        raise InputError(f"the table must have rows, at most {MOST_CELLS:,}; it has {table.num_rows or 'none'}")
    return list(long_of_table(table, names, source.name).matrices())


def _reader(data: bytes) -> Any:
    """The table, whose batches do not unpack to too much."""
    with parquet_errors("reading Arrow"):
        import pyarrow as pa
        import pyarrow.ipc

        is_file = data.startswith(_FILE)
        total = 0
        for start in _in_file(data) if is_file else _in_stream(data):
            total += sum(_unpacked_sizes(data, start))
            if total > MOST_BYTES:
                raise InputError(f"a table must unpack to at most {MOST_BYTES:,} bytes; this unpacks to more")
        return pa.ipc.open_file(data) if is_file else pa.ipc.open_stream(data)


def _batches(reader: Any) -> Iterator[Any]:
    if hasattr(reader, "num_record_batches"):
        return (reader.get_batch(i) for i in range(reader.num_record_batches))
    return iter(reader)


def _in_file(data: bytes) -> Iterator[int]:
    """Where the messages of a file begin that have buffers, as the table at its end says."""
    end = len(data) - len(_FILE) - 4
    start = end - _number("<i", data, end)
    footer = _FlatTable(data, start + _number("<I", data, start))
    for field in _BLOCKS:
        yield from (place for (place,) in footer.structs(field, "<q", 24))


def _in_stream(data: bytes) -> Iterator[int]:
    """Where the messages of a stream begin."""
    at = 0
    if not data.startswith(_CONTINUED):
        raise InputError("the file must be an Arrow file, or a stream of version 1.0 or later; it begins otherwise")
    while data[at : at + 4] == _CONTINUED and (size := _number("<i", data, at + 4)) > 0:
        yield at
        at += 8 + size + max(0, _message(data, at).number(_BODY, "<q"))


def _message(data: bytes, at: int) -> _FlatTable:
    start = at + 8 if data[at : at + 4] == _CONTINUED else at + 4
    return _FlatTable(data, start + _number("<I", data, start))


def _unpacked_sizes(data: bytes, at: int) -> Iterator[int]:
    """What the buffers of a message unpack to, if they are packed: each begins with that, as a number of 64 bits.

    Messages are flat buffers, in which the places of tables are relative to where they are told.
    """
    message = _message(data, at)
    kind = message.number(_KIND, "<B")
    if kind not in (_DICTIONARY, _BATCH):
        return
    header = message.table(_HEADER)
    batch = header.table(_INNER) if kind == _DICTIONARY else header
    prefix = 8 if data[at : at + 4] == _CONTINUED else 4
    body = at + prefix + _number("<i", data, at + prefix - 4)
    if batch.has(_COMPRESSION):
        yield from (
            max(0, _number("<q", data, body + place)) for place, size in batch.structs(_BUFFERS, "<qq", 16) if size >= 8
        )


def _number(kind: str, data: bytes, at: int) -> int:
    if not 0 <= at <= len(data) - struct.calcsize(kind):
        raise InputError("the Arrow file is damaged: a message ends too early")
    return int(struct.unpack_from(kind, data, at)[0])


class _FlatTable:
    """A table of a flat buffer, whose fields are found through the table of their places."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data, self._at = data, at
        self._places = at - _number("<i", data, at)

    def _place(self, field: int) -> int | None:
        if 4 + 2 * field >= _number("<H", self._data, self._places):
            return None
        offset = _number("<H", self._data, self._places + 4 + 2 * field)
        return self._at + offset if offset else None

    def number(self, field: int, kind: str) -> int:
        """A number; 0 where it is left out."""
        at = self._place(field)
        return 0 if at is None else _number(kind, self._data, at)

    def table(self, field: int) -> _FlatTable:
        """A table inside this one."""
        return _FlatTable(self._data, self._target(field))

    def _target(self, field: int) -> int:
        at = self._place(field)
        if at is None:
            raise InputError("the Arrow file is damaged: a message has no header")
        return at + _number("<I", self._data, at)

    def has(self, field: int) -> bool:
        """Whether the field is there."""
        return self._place(field) is not None

    def structs(self, field: int, kind: str, size: int) -> Iterator[tuple[int, ...]]:
        """The first numbers of every struct of a vector; of one that is left out there are none."""
        if not self.has(field):
            return
        start = self._target(field)
        for i in range(_number("<I", self._data, start)):
            at = start + 4 + size * i
            if at + size > len(self._data):
                raise InputError("the Arrow file is damaged: a list ends too early")
            yield struct.unpack_from(kind, self._data, at)
