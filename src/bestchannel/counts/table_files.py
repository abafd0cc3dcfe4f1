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
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
from numpy.typing import NDArray

from bestchannel.channels import Channel
from bestchannel.counts import table_decoder
from bestchannel.counts.columns import SHOWN
from bestchannel.counts.labelled_counts import LONGEST, MOST_SEEN, Combinations, Hints, RowBlock, label_of
from bestchannel.counts.table import Column, Part, Table, place_from
from bestchannel.disk import MOST_FIELDS, OpenFile, errors_naming, opened
from bestchannel.errors import InputError, MissingExtraError
from bestchannel.process import Progress

_MOST_BYTES, _BYTES_PER_BYTE = 2**29, 8  # what a decoder may take: so much, and so much for every byte of the file
_MOST_SECONDS, _BYTES_PER_SECOND = 30, 2**20
"""Seconds of a processor that a decoder may take: so many, and one for so many bytes of the file."""

_MOST_ROWS, _ROWS_PER_BYTE = 2**27, 64
"""The most rows of a table: a run of equal values takes no room in a file, but its rows take time."""

_OUT_OF_TIME = 24  # the signal that ends a process that has used its time


def read_table(source: OpenFile, hints: Hints, use: str) -> Table:
    """The table of a Parquet or Arrow file."""
    return _Decoded(source).table


def read_parts(folder: Path, hints: Hints, seen: Combinations, progress: Progress | None) -> Iterator[RowBlock]:
    """The rows of all parts of a table, one part after the other.

    A folder `channel=NAME` on the way to a part names the channel of all its rows, as Hive has it; what neither a
    column nor a folder names is called as the folder of the table.
    """
    parts = [part for part in folder.rglob("*.parquet") if not re.search(r"(^|/)[._]", f"{part.relative_to(folder)}")]
    if not parts:
        raise InputError("this is a folder, and a file is required, or a folder of files of counts, trials or channels")
    parts = sorted((part for part in parts if part.is_file()), key=natural)
    said = hints.columns if isinstance(hints.columns, Mapping) else {}
    others = {role: title for role, title in said.items() if role != "channel"}
    done, total = 0, sum(part.stat().st_size for part in parts)
    for part in parts:
        steps = (step.partition("=") for step in part.relative_to(folder).parts[:-1])
        title = said.get("channel", "channel")
        named = next((_unescaped(value) for key, sign, value in steps if sign and key == title), None)
        with errors_naming(part.relative_to(folder)), opened(part) as source:
            decoded = _Decoded(source)
            if decoded.n_rows != 0:  # of an empty part nobody knows of which types its columns are
                yield from decoded.table.log(seen, named or folder.stem, others if named and said else hints.columns)
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


def sheets(source: OpenFile, meant: str | None) -> list[OpenFile]:
    """The sheets of a workbook that have content, or the one that is meant, as texts; one alone is called as it is."""
    decoder, _ = _begun(source, "Excel", "openpyxl", "excel", most_cells=MOST_FIELDS)
    texts = {title: text.encode() for title, text in decoder.received()["sheets"].items() if text.strip(",\r\n ")}
    if meant is not None and meant not in texts:
        raise InputError(f'the workbook must have a sheet "{meant}" with content; it has {", ".join(texts)}')
    if not texts:
        raise InputError("the workbook must have a sheet with content; it has none")
    texts = texts if meant is None else {meant: texts[meant]}
    alone = len(texts) == 1 and meant is None
    return [OpenFile.of_text(source.name if alone else title, text) for title, text in texts.items()]


def _begun(source: OpenFile, kind: str, package: str, extra: str, **limits: int) -> tuple[_Decoder, int]:
    """A decoder that was given the file, until that is closed, and the size of the file."""
    if importlib.util.find_spec(package) is None:
        raise MissingExtraError(f"reading {kind}", extra)
    path, decoder = source.on_disk(), source.enter_context(_decoder())
    size = os.path.getsize(path)
    limits |= {"most_bytes": _MOST_BYTES + _BYTES_PER_BYTE * size}
    limits |= {"most_seconds": _MOST_SECONDS + size // _BYTES_PER_SECOND}
    decoder.send({"path": path, "kind": kind, **limits})
    return decoder, size


class _Decoded:
    """A table that is being decoded: what its columns are called, of which type they are, how many rows it has."""

    def __init__(self, source: OpenFile) -> None:
        kind = "Parquet" if source.ending == ".parquet" else "Arrow"
        self._decoder, size = _begun(source, kind, "pyarrow", "parquet", most_labels=MOST_SEEN, longest=LONGEST)
        self._source, self._most_rows = source, _MOST_ROWS + _ROWS_PER_BYTE * size
        about = self._decoder.received()
        self.names: list[str] = about["names"]
        self.n_rows: int | None = about["rows"]
        self._types, self._plain = about["types"], about["plain"]
        self.table = Table(self.names, self.cells, self.n_rows is not None and self.n_rows <= SHOWN, self.parts)

    def cells(self, i: int) -> list[Any]:
        """The first cells of a column: numbers, or texts up to some length; None in place of anything else."""
        if self.names.count(self.names[i]) > 1 or not self._plain[i]:
            return []
        every = self._answers([(self.names[i], "cells")], SHOWN)
        return [cell for message in every for cell in message["columns"][0]["cells"]]

    def _answers(self, columns: list[tuple[str, str]], most: int = 2**62) -> Iterator[Any]:
        """What is said of columns, some rows at a time; of the first `most` rows."""
        self._decoder.send({"columns": columns, "most": most})
        while "end" not in (message := self._decoder.received()):
            yield message

    def parts(self, columns: Mapping[str, int], gaps: bool) -> Iterator[Part]:
        """The rows of the columns of each role, some at a time; counts and probabilities are numbers, others labels."""
        asked = {"count": "numbers", "p": "numbers", "time": "times"}
        wanted = [(self.names[i], asked.get(role, "gaps" if gaps else "labels")) for role, i in columns.items()]
        for i, (name, what) in zip(columns.values(), wanted, strict=True):
            if not self._plain[i] and what != "times":  # one such value may be as large as a file
                content = "numbers" if what == "numbers" else "labels"
                raise InputError(f'the column "{name}" must hold {content}; it holds values of type {self._types[i]}')
        self._refuse_rows(self.n_rows or 0)
        done = 0
        for message in self._answers(wanted):
            if "missing" in message:
                name, row = message["missing"]
                raise InputError(f'row {done + row + 1}, column "{name}" must have a value; it has none')
            self._refuse_rows(done + message["rows"])
            arrays: dict[str, Any] = {}
            declared = {}
            for (role, i), about in zip(columns.items(), message["columns"], strict=True):
                if "dtype" in about:
                    arrays[role] = self._decoder.array(about["dtype"], message["rows"])
                if "labels" in about:
                    texts = list(map(label_of, about["labels"]))
                    arrays[role] = _column(texts, arrays[role], self.names[i], gaps=gaps)
                    if self._types[i].startswith("dictionary"):
                        declared[role] = list(filter(None, texts))
            yield Part(arrays, message["rows"], partial(place_from, done), declared)
            done += message["rows"]
            if message["share"] is not None:
                self._source.report(int((self._source.size or 0) * message["share"]))

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
    ordered = list(dict.fromkeys(label for k in np.argsort(first).tolist() if (label := found[k]) is not None))
    index: dict[str | None, int] = {None: -1, **{label: i for i, label in enumerate(ordered)}}
    return Column(ordered, np.array([index[label] for label in found], np.int64)[codes])


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
        self._waits_for = "nothing"
        with suppress(OSError):  # where it has ended its answer will be missing, which is said then
            self._to.write(json.dumps(message).encode() + b"\n")
            self._to.flush()

    def received(self) -> Any:
        """What it says next; its refusal, or its end, is a refusal."""
        line = self._from.readline()
        if not line.endswith(b"\n"):
            raise self._ended()
        message = json.loads(line)
        if not message.keys().isdisjoint(("refused", "missing", "sheets")):
            self._waits_for = "file"
        elif not message.keys().isdisjoint(("names", "end")):
            self._waits_for = "question"
        if "refused" in message:
            raise InputError(message["refused"])
        return message

    def array(self, dtype: str, size: int) -> NDArray[Any]:
        """An array of what follows the message."""
        kind = np.dtype(dtype)
        data = self._from.read(kind.itemsize * size)
        if len(data) < kind.itemsize * size:
            raise self._ended()
        return np.frombuffer(data, kind)

    def _ended(self) -> InputError:
        code = self._process.wait()
        what = "takes the decoder too long" if abs(code) % 128 == _OUT_OF_TIME else f"ends the decoder (code {code})"
        return InputError(f"the file is damaged, or too large for its kind: it {what}; write it anew, perhaps as .csv")

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
