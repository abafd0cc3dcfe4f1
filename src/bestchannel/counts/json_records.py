"""Rows as JSON: a list of records [{"x": …, "y": …}, …], or one record per line, which may be many."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestchannel.counts.disk import OpenFile
from bestchannel.counts.json_text import json_of
from bestchannel.counts.labelled_counts import SHOWN, Columns, Combinations, RowBlock, log_columns, named_columns
from bestchannel.counts.long_table import (
    LongTable,
    block_of_arrays,
    column,
    constant,
    place_from,
    probability_columns,
    refuse_not_finite,
)
from bestchannel.counts.named_matrix import NamedMatrix
from bestchannel.errors import InputError
from bestchannel.process import Progress

ROWS = 2**16
"""Records read at a time."""

_BLOCK, _LONGEST = 2**20, 2**20
"""Bytes read at a time, and the longest line."""

_SHORT = 2**8
"""Bytes of a line that is worth remembering: most logs have few different ones."""

_NO_RECORDS = "there must be records; there is none"

Record = Mapping[str, Any]


def read_log(source: OpenFile, seen: Combinations, progress: Progress | None) -> Iterator[RowBlock]:
    """The rows of a file with one record per line."""
    return log_of_records(_lines(source, progress), seen, source)


def read_long(source: OpenFile) -> list[NamedMatrix]:
    """The channels of a file with one record channel, x, y, p per line."""
    return long_of_records(list(_lines(source, None)), source)


def are_records(document: object) -> bool:
    """Whether the document is a list of objects."""
    return isinstance(document, list) and bool(document) and all(isinstance(row, dict) for row in document)


def log_of_records(records: Iterator[Record], seen: Combinations, source: OpenFile) -> Iterator[RowBlock]:
    """The rows of records with the keys x and y, and perhaps channel and count."""
    first, columns, done = list(islice(records, ROWS)), source.hints.columns, 0
    if not first:
        raise InputError(_NO_RECORDS)
    header, shown = _keys(first), first[:SHOWN]
    found = log_columns(
        header, columns, seen, lambda i: [record.get(header[i]) for record in shown], are_all=len(first) <= SHOWN
    )
    names = {role: header[i] for role, i in found.items()}
    for some in chain([first], iter(lambda: list(islice(records, ROWS)), [])):
        place = partial(place_from, done)
        _refuse_later_keys(header, [key for key in _keys(some) if key not in header], names, columns)
        yield block_of_arrays(_arrays(some, names, place), seen, source.name, place)
        done += len(some)


def _keys(records: Iterable[Record]) -> list[str]:
    """The keys of all records, in order of first appearance."""
    return list(dict.fromkeys(key for record in records for key in record))


def _refuse_later_keys(header: list[str], later: list[str], names: Mapping[str, str], columns: Columns) -> None:
    """Refuse a key with a role that none of the first records has: these were read without it."""
    for key in later:
        if named_columns([*header, key], columns).keys() != names.keys():
            raise InputError(f"all records must have the same keys; none of the first {ROWS:,} has {reprlib.repr(key)}")


def long_of_records(records: Sequence[Record], source: OpenFile) -> list[NamedMatrix]:
    """The channels of records with the keys x, y, p and perhaps channel."""
    if not records:
        raise InputError(_NO_RECORDS)
    place = partial(place_from, 0)
    header = _keys(records)
    names = {role: header[i] for role, i in probability_columns(header, source.hints.columns).items()}
    found = _arrays(records, names, place)
    sides = {role: column(array, role, place) for role, array in found.items() if role != "p"}
    values = found["p"].astype(np.float64)
    refuse_not_finite(values, lambda i: f"{place(i)}, p")
    channel = sides.get("channel", constant(source.name, len(values)))
    return list(LongTable(channel, sides["x"], sides["y"], values, place).matrices(source.hints.transpose))


def _arrays(records: Sequence[Record], names: Mapping[str, str], place: Any) -> dict[str, NDArray[Any]]:
    """The values of each role, numbers as numbers."""
    found = {}
    for role, name in names.items():
        values = [record.get(name) for record in records]
        if role in ("count", "p"):
            bad = next((i for i, value in enumerate(values) if type(value) not in (int, float)), None)
            if bad is not None:
                raise InputError(f"{place(bad)}, {name} must be a number; it is {reprlib.repr(values[bad])}")
            found[role] = _numbers(values, role, place)
        else:
            found[role] = np.fromiter(values, dtype=object, count=len(values))
    return found


def _numbers(values: list[Any], role: str, place: Any) -> NDArray[Any]:
    """Whole numbers as integers, so that none is rounded."""
    large = next((i for i, value in enumerate(values) if abs(value) >= 2**63), None)
    if large is not None:
        raise InputError(f"{place(large)}, {role} must be at most 2^53; it is {reprlib.repr(values[large])}")
    if role == "count" and all((type(value) is float and value.is_integer()) or type(value) is int for value in values):
        return np.array([int(value) for value in values], np.int64)
    return np.array(values, np.float64)


def _lines(source: OpenFile, progress: Progress | None) -> Iterator[Record]:
    """The record of every line that is not blank; the same line is parsed once."""
    known: dict[bytes, Record] = {}
    for number, line in enumerate(_split(source, progress), 1):
        record = known.get(line)
        if record is not None:
            yield record
        elif line.strip():
            record = _record(line, number)
            if len(line) < _SHORT and len(known) < ROWS:
                known[line] = record
            yield record


def _record(line: bytes, number: int) -> Record:
    try:
        record = json_of(line)
    except InputError as error:
        raise InputError(f"line {number}: {error}") from None
    if not isinstance(record, dict):
        raise InputError(f"line {number} must be a JSON object with the keys x and y; it is {reprlib.repr(record)}")
    return record


def _split(source: OpenFile, progress: Progress | None) -> Iterator[bytes]:
    room, rest = memoryview(bytearray(_BLOCK)), b""
    while n := source.fill(room):
        *lines, rest = (rest + room[:n].tobytes()).split(b"\n")
        yield from lines
        if len(rest) > _LONGEST:
            raise InputError(f"a line of JSON must be shorter than {_LONGEST:,} bytes; one is longer")
        if progress and source.size is not None:
            progress(min(source.done, source.size), source.size)
    yield rest
