"""Tables of Parquet, Arrow and Excel, decoded by another process: a damaged file may end that, and not the caller.

Parquet and Arrow hold rows channel, x, y and count or p, some at a time; a folder of Parquet files, as Dask, Spark and
pyarrow write it, is one table in parts. A sheet of Excel is read as the text that it would be saved as; several sheets
are matrices by name.
"""

from __future__ import annotations

import atexit
import importlib.util
import io
import json
import os
import re
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from bestchannel.channels import Channel
from bestchannel.counts import long_table, table_decoder, text_log
from bestchannel.counts.columns import SHOWN, log_columns, probability_columns
from bestchannel.counts.joint_records import Choose, Table
from bestchannel.counts.labelled_counts import LONGEST, MOST_CELLS, MOST_SEEN, Combinations, Hints, RowBlock, label_of
from bestchannel.counts.long_table import Column
from bestchannel.counts.named_matrix import NamedMatrix
from bestchannel.disk import MOST_FIELDS, OpenFile, errors_naming, opened
from bestchannel.errors import InputError, MissingExtraError
from bestchannel.process import Progress

_MOST_BYTES, _BYTES_PER_BYTE = 2**29, 8  # what a decoder may take: so much, and so much for every byte of the file
_MOST_SECONDS, _BYTES_PER_SECOND = 30, 2**20
"""Seconds of a processor that a decoder may take: so many, and one for so many bytes of the file."""

_MOST_ROWS, _ROWS_PER_BYTE = 2**27, 64
"""The most rows of a table: a run of equal values takes no room in a file, but its rows take time."""

_LENGTH = struct.Struct("<I")
_OUT_OF_TIME = 24  # the signal that ends a process that has used its time


def read_long(source: OpenFile, hints: Hints) -> list[NamedMatrix]:
    """The channels of a table; one that it does not name is called as the file."""
    with _decoded(source) as table:
        found = probability_columns(table.names, hints.columns)
        pieces: list[_Rows] = []
        for rows in table.rows(found, "p"):
            pieces.append(rows)
            if sum(piece.n_rows for piece in pieces) > MOST_CELLS:
                raise InputError(f"the channels of a file must have at most {MOST_CELLS:,} cells; there are more rows")
    place = partial(long_table.place_from, 0)
    values = np.concatenate([rows.number for rows in pieces]).astype(np.float64)
    long_table.refuse_not_finite(values, lambda i: f'{place(i)}, column "{table.names[found["p"]]}"')
    labels = {
        role: long_table.coded([side.labels[code] for side in sides for code in side.codes.tolist()])
        for role in pieces[0].labels
        if (sides := [rows.labels[role] for rows in pieces])
    }
    return long_table.matrices(labels, values, source.name, place, transpose=hints.transpose)


def read_log(source: OpenFile, hints: Hints, seen: Combinations, progress: Progress | None) -> Iterator[RowBlock]:
    """The rows of a table; a channel that it does not name is called as the file."""
    with _decoded(source) as table:
        are_all = table.n_rows is not None and table.n_rows <= SHOWN
        found, done = log_columns(table.names, hints.columns, seen, table.cells, are_all=are_all), 0
        for rows in table.rows(found, "count"):
            numbers = {"count": rows.number, "time": rows.times}
            given: dict[str, Any] = {
                **rows.labels,
                **{role: values for role, values in numbers.items() if values is not None},
            }
            yield long_table.block_of_arrays(given, seen, source.name, partial(long_table.place_from, done))
            if "y2" not in rows.labels:
                seen.expect(rows.declared.get("x" if seen.transpose else "y", ()))
            done += rows.n_rows
            if progress and source.size is not None and rows.share is not None:
                progress(int(source.size * rows.share), source.size)


def read_columns(source: OpenFile, hints: Hints, choose: Choose) -> Table:
    """The columns that are chosen."""
    with _decoded(source) as table:
        chosen = choose(table.names)
        pieces = list(table.rows({str(i): i for i in chosen}, "", gaps=True))
    values = {i: np.concatenate([_values(rows.labels[str(i)]) for rows in pieces]) for i in chosen}
    declared = {i: pieces[0].declared[str(i)] for i in chosen if str(i) in pieces[0].declared}
    return Table(table.names, values, sum(rows.n_rows for rows in pieces), partial(long_table.place_from, 0), declared)


def _values(column: Column) -> NDArray[Any]:
    """The label of each row, None where there is none."""
    return np.array([*column.labels, None], object)[column.codes]


def read_parts(folder: Path, hints: Hints, seen: Combinations, progress: Progress | None) -> Iterator[RowBlock]:
    """The rows of all parts of a table, one part after the other.

    A folder `channel=NAME` on the way to a part names the channel of all its rows, as Hive has it; what neither a
    column nor a folder names is called as the folder of the table.
    """
    parts = [part for part in folder.rglob("*.parquet") if not re.search(r"(^|/)[._]", f"{part.relative_to(folder)}")]
    if not parts:
        raise InputError("this is a folder, and a file is required, or a folder of files of counts, trials or channels")
    parts = sorted((part for part in parts if part.is_file()), key=natural)
    columns = hints.columns if isinstance(hints.columns, Mapping) else {}
    others = replace(hints, columns={r: t for r, t in columns.items() if r != "channel"}) if columns else hints
    done, total = 0, sum(part.stat().st_size for part in parts)
    for part in parts:
        steps = (step.partition("=") for step in part.relative_to(folder).parts[:-1])
        title = columns.get("channel", "channel")
        named = next((_unescaped(value) for key, sign, value in steps if sign and key == title), None)
        with errors_naming(part.relative_to(folder)), opened(part) as source:
            source.name = named or folder.stem
            with _decoded(source) as table:
                has_rows = table.n_rows != 0
            if has_rows:
                yield from read_log(source, others if named else hints, seen, None)
            done += source.size or 0
        if progress:
            progress(done, total)


def _unescaped(value: str) -> str:
    """The value whose letters that a path cannot hold were written as %XX."""
    escape = re.compile(rb"%([0-9A-Fa-f]{2})")
    return escape.sub(lambda found: bytes.fromhex(found[1].decode()), value.encode()).decode(errors="replace")


def natural(part: Path) -> list[tuple[int, str]]:
    """What files are sorted by, so that 10 comes after 9."""
    return [(int(number or 0), text) for text, number in re.findall(r"(\D*)(\d*)", str(part))]


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


def read_log_of_sheet(
    source: OpenFile, hints: Hints, seen: Combinations, progress: Progress | None
) -> Iterator[RowBlock] | None:
    """The rows of the one sheet that has any, or None if it is a matrix or there are several."""
    sheets = _sheets(source, hints)
    if len(sheets) == 1:
        return text_log.read_log(sheets[0], hints, seen, progress)
    for sheet in sheets:
        form, _ = text_log.find_form(sheet.head(text_log.HEAD), sheet.name, hints, seen)
        if form is not None:
            raise InputError(
                f'rows must be on one sheet; {len(sheets)} have content, and "{sheet.name}" has rows; name the one that'
                f" is meant after the file, as {source.name}.xlsx#{sheet.name}, or save each sheet as a .csv file, and"
                " give all of these"
            )
    return None


def read_columns_of_sheet(source: OpenFile, hints: Hints, choose: Choose) -> Table:
    """The columns that are chosen, of the one sheet that has content or is meant."""
    sheets = _sheets(source, hints)
    if len(sheets) > 1:
        raise InputError(
            f"trials must be on one sheet; {len(sheets)} have content; name the one that is meant after the file, as"
            f" {source.name}.xlsx#{sheets[0].name}"
        )
    return text_log.read_columns(sheets[0], hints, choose)


def read_sheets(
    source: OpenFile, hints: Hints, read: Callable[[OpenFile, Hints], list[NamedMatrix]]
) -> list[NamedMatrix]:
    """What `read` finds on all sheets."""
    return [matrix for sheet in _sheets(source, hints) for matrix in read(sheet, hints)]


def _sheets(source: OpenFile, hints: Hints) -> list[OpenFile]:
    """The sheets that have content, as texts, or the one that is meant; the only one is called as the file."""

    def decoded(source: OpenFile) -> dict[str, str]:
        with _begun(source, "Excel", "openpyxl", "excel", most_cells=MOST_FIELDS) as (decoder, _):
            return dict(decoder.received()["sheets"])

    sheets = {title: text.encode() for title, text in source.once(decoded).items() if text.strip(",\r\n ")}
    if hints.sheet is not None:
        if hints.sheet not in sheets:
            raise InputError(f'the workbook must have a sheet "{hints.sheet}" with content; it has {", ".join(sheets)}')
        sheets = {hints.sheet: sheets[hints.sheet]}
    if not sheets:
        raise InputError("the workbook must have a sheet with content; it has none")
    texts = []
    for title, text in sheets.items():
        texts.append(OpenFile(Path("sheet.csv"), io.BufferedReader(cast(Any, io.BytesIO(text))), len(text)))
        texts[-1].name = source.name if len(sheets) == 1 and hints.sheet is None else title
    return texts


@contextmanager
def _decoded(source: OpenFile) -> Iterator[_Table]:
    """The table of a Parquet or Arrow file."""
    kind = "Parquet" if source.ending == ".parquet" else "Arrow"
    with _begun(source, kind, "pyarrow", "parquet", most_labels=MOST_SEEN, longest=LONGEST) as (decoder, size):
        yield _Table(decoder, decoder.received(), _MOST_ROWS + _ROWS_PER_BYTE * size)


@contextmanager
def _begun(source: OpenFile, kind: str, package: str, extra: str, **limits: int) -> Iterator[tuple[_Decoder, int]]:
    """A decoder that was given the file, and the size of that."""
    if importlib.util.find_spec(package) is None:
        raise MissingExtraError(f"reading {kind}", extra)
    with source.on_disk() as path, _decoder() as decoder:
        size = os.path.getsize(path)
        most_bytes = _MOST_BYTES + _BYTES_PER_BYTE * size
        most_seconds = _MOST_SECONDS + size // _BYTES_PER_SECOND
        decoder.send({"path": path, "kind": kind, "most_bytes": most_bytes, "most_seconds": most_seconds, **limits})
        yield decoder, size


class _Rows(NamedTuple):
    """Some rows of a table: labels by role, numbers and times if there are, and the share of all rows that are done.

    `declared` are the labels of a role whose type says which there are, as that of pandas' Categorical does.
    """

    labels: Mapping[str, Column]
    declared: Mapping[str, Sequence[str]]
    number: NDArray[Any] | None
    times: NDArray[Any] | None
    n_rows: int
    share: float | None


class _Table:
    """A table that is being decoded: what its columns are called, of which type they are, how many rows it has."""

    def __init__(self, decoder: _Decoder, about: Mapping[str, Any], most_rows: int) -> None:
        self.names: list[str] = about["names"]
        self.n_rows: int | None = about["rows"]
        self._types, self._plain, self._decoder, self._most_rows = about["types"], about["plain"], decoder, most_rows

    def cells(self, i: int) -> list[Any]:
        """The first cells of a column: numbers, or texts up to some length; None in place of anything else."""
        if self.names.count(self.names[i]) > 1 or not self._plain[i]:
            return []
        self._decoder.send({"shown": self.names[i], "most": SHOWN})
        return list(self._decoder.received()["cells"])

    def rows(self, columns: Mapping[str, int], number: str, *, gaps: bool = False) -> Iterator[_Rows]:
        """The rows of the columns of each role, some at a time; `number` is the role that has numbers.

        With `gaps` a label may be missing: its code is -1.
        """
        for role, i in columns.items():  # of values that are neither labels nor numbers, one may be as large as a file
            if role != "time" and self.names.count(self.names[i]) > 1:
                raise InputError(f'the column "{self.names[i]}" must occur once; it occurs more often')
            if role != "time" and not self._plain[i]:
                content = "numbers" if role == number else "labels"
                raise InputError(
                    f'the column "{self.names[i]}" must hold {content}; it holds values of type {self._types[i]}'
                )
        self._refuse_rows(self.n_rows or 0)
        sides = {role: i for role, i in columns.items() if role not in (number, "time")}
        named = {role: [self.names[i]] for role, i in columns.items()}
        wanted = {"numbers": named.get(number, []), "times": named.get("time", [])}
        self._decoder.send({"labels": [self.names[i] for i in sides.values()], "gaps": gaps, **wanted})
        done = 0
        while "end" not in (message := self._decoder.received()):
            if "missing" in message:
                name, row = message["missing"]
                raise InputError(f'row {done + row + 1}, column "{name}" must have a value; it has none')
            done += message["rows"]
            self._refuse_rows(done)
            arrays = [self._decoder.array(column["dtype"], message["rows"]) for column in message["columns"]]
            labels, declared = {}, {}
            for (role, i), column, codes in zip(sides.items(), message["columns"], arrays, strict=False):
                texts = list(map(label_of, column["labels"]))
                labels[role] = _column(texts, codes, self.names[i], gaps=gaps)
                if self._types[i].startswith("dictionary"):
                    declared[role] = list(filter(None, texts))
            numbers = arrays[len(sides)] if number in columns else None
            times = arrays[-1] if message["timed"] else None
            yield _Rows(labels, declared, numbers, times, message["rows"], message["share"])
        if not done:
            raise InputError("the table must have rows; it has none")

    def _refuse_rows(self, n_rows: int) -> None:
        if n_rows > self._most_rows:
            raise InputError(f"a table of this size must have at most {self._most_rows:,} rows; it has more")


def _column(labels: Sequence[str | None], codes: NDArray[Any], name: str, *, gaps: bool = False) -> Column:
    """Labels in the order in which they come first; a dictionary may have some twice, or others that do not come."""
    used, first, codes = np.unique(codes, return_index=True, return_inverse=True)
    if gaps:
        labels = [*labels, None]  # which -1 is the code of
    if not -gaps <= used[0] <= used[-1] < len(labels):
        raise InputError(f'the column "{name}" is damaged: a row has a label that is not there')
    found = [labels[code] for code in used.tolist()]
    if None in found and not gaps:
        raise InputError(f'the column "{name}" must have a value in every row; it has none in some')
    ordered = dict.fromkeys(label for k in np.argsort(first).tolist() if (label := found[k]) is not None)
    index: dict[str | None, int] = {None: -1, **{label: i for i, label in enumerate(ordered)}}
    texts = list(ordered)
    return Column(texts, np.array([index[label] for label in found], np.int64)[codes])


class _Decoder:
    """The process; it waits for a file, or for a question about one, or is about to answer."""

    def __init__(self) -> None:
        program = [sys.executable, "-P", table_decoder.__file__]
        pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
        self._process = subprocess.Popen(program, stdin=pipe, stdout=pipe, stderr=nothing)
        self._to, self._from = cast(IO[bytes], self._process.stdin), cast(IO[bytes], self._process.stdout)
        self._waits_for = "file"

    def leave(self) -> bool:
        """Be done with a file: whether it can be given another."""
        if self._waits_for == "question":
            self.send(None)
            self._waits_for = "file"
        return self._waits_for == "file" and table_decoder.FORKS and self._process.poll() is None

    def send(self, message: object) -> None:
        """Tell or ask it something."""
        text = json.dumps(message).encode()
        self._waits_for = "nothing"
        with suppress(OSError):  # where it has ended its answer will be missing, which is said then
            self._to.write(_LENGTH.pack(len(text)) + text)
            self._to.flush()

    def received(self) -> Any:
        """What it says next; its refusal, or its end, is a refusal."""
        (length,) = _LENGTH.unpack(self._exactly(_LENGTH.size))
        message = json.loads(self._exactly(length))
        if not message.keys().isdisjoint(("refused", "missing", "sheets")):
            self._waits_for = "file"
        elif not message.keys().isdisjoint(("names", "cells", "end")):
            self._waits_for = "question"
        if "refused" in message:
            raise InputError(message["refused"])
        return message

    def array(self, dtype: str, size: int) -> NDArray[Any]:
        """An array of what follows the message."""
        kind = np.dtype(dtype)
        return np.frombuffer(self._exactly(kind.itemsize * size), kind)

    def _exactly(self, size: int) -> bytes:
        data = self._from.read(size)
        if len(data) == size:
            return data
        code = self._process.wait()
        what = "takes the decoder too long" if abs(code) % 128 == _OUT_OF_TIME else f"ends the decoder (code {code})"
        raise InputError(f"the file is damaged, or too large for its kind: it {what}; write it anew, perhaps as .csv")

    def end(self) -> None:
        """Let it be no more."""
        self._process.kill()
        self._process.wait()
        self._from.close()
        with suppress(OSError):  # what it was not told any more
            self._to.close()


_idle: list[_Decoder] = []  # decoders that have done what they were asked: to start one takes a quarter of a second


@contextmanager
def _decoder() -> Iterator[_Decoder]:
    decoder = next((idle for idle in _taken() if idle.leave()), None) or _Decoder()
    try:
        yield decoder
    finally:
        if decoder.leave():
            _idle.append(decoder)
        else:
            decoder.end()


def _taken() -> Iterator[_Decoder]:
    """The idle decoders, one after the other, each of them taken by nobody else."""
    while _idle:
        yield _idle.pop()


@atexit.register
def end_idle() -> None:
    """End the decoders that nobody uses."""
    for decoder in _taken():
        decoder.end()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)
