"""Tables of Parquet, Arrow and Excel, decoded by another process: a damaged file may end that, and not the caller."""

from __future__ import annotations

import atexit
import importlib.util
import json
import os
import struct
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestchannel.counts import table_decoder
from bestchannel.counts.disk import MOST_FIELDS, OpenFile
from bestchannel.counts.labelled_counts import LONGEST, MOST_SEEN, SHOWN, label_of
from bestchannel.counts.long_table import Column
from bestchannel.errors import InputError, MissingExtraError

_MOST_BYTES, _BYTES_PER_BYTE = 2**29, 8
"""What a decoder may take: so much, and so much for every byte of the file."""

_MOST_SECONDS, _BYTES_PER_SECOND = 30, 2**20
"""Seconds of a processor that a decoder may take: so many, and one for so many bytes of the file."""

_MOST_ROWS, _ROWS_PER_BYTE = 2**27, 64
"""The most rows of a table: a run of equal values takes no room in a file, but its rows take time."""

_LENGTH = struct.Struct("<I")
_OUT_OF_TIME = 24
"""The signal that ends a process that has used its time."""


@dataclass(frozen=True)
class DecodedRows:
    """Some rows of a table: labels and numbers by role, times if there are, and the share of all rows that are done.

    `declared` are the labels of a role whose type says which there are, as that of pandas' Categorical does.
    """

    labels: Mapping[str, Column]
    declared: Mapping[str, Sequence[str]]
    numbers: Mapping[str, NDArray[Any]]
    times: NDArray[Any] | None
    n_rows: int
    share: float | None


class DecodedTable:
    """A table that is being decoded: what its columns are called, of which type they are, how many rows it has."""

    def __init__(self, decoder: _Decoder, about: Mapping[str, Any], size: int) -> None:
        self.names: list[str] = about["names"]
        self.types: list[str] = about["types"]
        self.n_rows: int | None = about["rows"]
        self._plain: list[bool] = about["plain"]
        self._decoder, self._most_rows = decoder, _MOST_ROWS + _ROWS_PER_BYTE * size

    def rows(self, columns: Mapping[str, int], number: str, *, whole: bool = False) -> Iterator[DecodedRows]:
        """The rows of the columns of each role, some at a time or the whole; `number` is the role that has numbers."""
        self._refuse(columns, number)
        labels = {role: i for role, i in columns.items() if role not in (number, "time")}
        numbers = {role: i for role, i in columns.items() if role == number}
        times = [self.names[columns["time"]]] if "time" in columns else []
        wanted = {"labels": self._names(labels), "numbers": self._names(numbers), "times": times, "whole": whole}
        self._decoder.send(wanted)
        done = 0
        while "end" not in (message := self._decoder.received()):
            if "missing" in message:
                name, row = message["missing"]
                raise InputError(f'row {done + row + 1}, column "{name}" must have a value; it has none')
            done += message["rows"]
            self._refuse_rows(done)
            arrays = [self._decoder.array(column["dtype"], message["rows"]) for column in message["columns"]]
            texts = [list(map(label_of, column["labels"])) for column in message["columns"][: len(labels)]]
            coded = zip(labels.items(), texts, arrays, strict=False)
            yield DecodedRows(
                {role: _column(every, codes, self.names[i]) for (role, i), every, codes in coded},
                {
                    role: list(filter(None, every))
                    for role, every in zip(labels, texts, strict=True)
                    if self._declares(columns[role])
                },
                dict(zip(numbers, arrays[len(labels) :], strict=False)),
                arrays[-1] if message["timed"] else None,
                message["rows"],
                message["share"],
            )
        if not done:
            raise InputError("the table must have rows; it has none")

    def cells(self, i: int) -> list[Any]:
        """The first cells of a column: numbers, or texts up to some length; None in place of anything else."""
        if self.names.count(self.names[i]) > 1 or not self._plain[i]:
            return []
        self._decoder.send({"shown": self.names[i], "most": SHOWN})
        cells: list[Any] = self._decoder.received()["cells"]
        return cells

    def _declares(self, i: int) -> bool:
        return self.types[i].startswith("dictionary")

    def _names(self, columns: Mapping[str, int]) -> list[str]:
        return [self.names[i] for i in columns.values()]

    def _refuse(self, columns: Mapping[str, int], number: str) -> None:
        """Refuse columns whose values are neither labels nor numbers, of which a row may be as large as a file."""
        for role, i in columns.items():
            if role == "time":
                continue
            if self.names.count(self.names[i]) > 1:
                raise InputError(f'the column "{self.names[i]}" must occur once; it occurs more often')
            if not self._plain[i]:
                content = "numbers" if role == number else "labels"
                raise InputError(
                    f'the column "{self.names[i]}" must hold {content}; it holds values of type {self.types[i]}'
                )
        self._refuse_rows(self.n_rows or 0)

    def _refuse_rows(self, n_rows: int) -> None:
        if n_rows > self._most_rows:
            raise InputError(f"a table of this size must have at most {self._most_rows:,} rows; it has more")


def _column(labels: Sequence[str | None], codes: NDArray[Any], name: str) -> Column:
    """Labels in the order in which they come first; a dictionary may have some twice, or others that do not come."""
    used, first, codes = np.unique(codes, return_index=True, return_inverse=True)
    if not 0 <= used[0] <= used[-1] < len(labels):
        raise InputError(f'the column "{name}" is damaged: a row has a label that is not there')
    found = [labels[code] for code in used.tolist()]
    if None in found:
        raise InputError(f'the column "{name}" must have a value in every row; it has none in some')
    index = {label: i for i, label in enumerate(dict.fromkeys(found[k] for k in np.argsort(first).tolist()))}
    texts = [label for label in index if label is not None]
    return Column(texts, np.array([index[label] for label in found], np.int64)[codes])


@contextmanager
def decoded(source: OpenFile, kind: str) -> Iterator[DecodedTable]:
    """The table of a file of this kind, Parquet or Arrow."""
    with _begun(source, kind, "pyarrow", "parquet", most_labels=MOST_SEEN, longest=LONGEST) as (decoder, size):
        yield DecodedTable(decoder, decoder.received(), size)


def decoded_sheets(source: OpenFile) -> dict[str, str]:
    """The sheets of a workbook of Excel as the texts that they would be saved as, by title."""
    with _begun(source, "Excel", "openpyxl", "excel", most_cells=MOST_FIELDS) as (decoder, _):
        sheets: dict[str, str] = decoder.received()["sheets"]
        return sheets


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


class _Decoder:
    """The process; it waits for a file, or for a question about one, or is about to answer."""

    def __init__(self) -> None:
        program = [sys.executable, "-P", table_decoder.__file__]
        pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
        self._process = subprocess.Popen(program, stdin=pipe, stdout=pipe, stderr=nothing)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to, self._from = self._process.stdin, self._process.stdout
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


_idle: list[_Decoder] = []
"""Decoders that have done what they were asked: to start one takes a quarter of a second."""


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
