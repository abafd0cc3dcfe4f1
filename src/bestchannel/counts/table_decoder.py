"""A program that decodes tables of Parquet, Arrow and Excel: a file that crashes the decoder ends this program alone.

`table_files` starts it, by its path, and speaks to it through its standard input and output. It imports nothing of
the package, and is quick to start. Every message is a line of JSON, and perhaps bytes:

    {"path", "kind", "most_bytes", "most_seconds", "most_labels", "longest"}  → {"names", "types", "plain", "rows"}
    {"columns": [[name, what], …], "most": number of rows}
        → {"columns": [{"dtype", "labels", "cells"}, …], "rows", "share"}, then bytes, …, {"end"}
    null → nothing; the next message opens another file

What is asked of a column is "labels", or "gaps" where one may be missing, as code -1; "numbers"; "times", of which
nothing comes where one is none; or "cells", numbers and the beginnings of texts.

A workbook is answered at once, by {"sheets": {title: text}}; its request has "most_cells" too.

In place of an answer may come {"refused": sentence} or {"missing": [column, row]}, after which the file is done.
Where processes can fork, each file is decoded in a fork of its own, whose end by a signal ends this program too.
"""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from collections.abc import Iterator
from typing import Any

ROWS = 2**18  # rows in a message
FORKS = sys.platform == "linux"  # whether a fork is safe: elsewhere the libraries below may not survive one
SHOWN_LETTERS = 200  # how much of a text is looked at to find what its column is
SIGNALLED = 128  # what is added to the number of the signal that ended a fork, as shells do
pa: Any = None
pc = pq = ipc = types = openpyxl = pa  # what decodes, once it is imported
_LABELS = ("labels", "gaps")
_questions = io.FileIO(0, closefd=False)  # without a buffer: what comes after a line is for the next who reads
_Wanted = list[tuple[str, str]]  # columns, and what is asked of them
_Batch = tuple[Any, float | None]  # some rows, and the share of all that are done then, if it is known


def main() -> None:
    """Decode one file after the other, until there is no more to do."""
    while (request := _received()) is not None:
        _import_for(request["kind"])
        child = os.fork() if FORKS else 0
        if not child:
            if refusal := _refusal(request):  # said once the memory that the file took is free again
                _send(refusal)
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code:
            os._exit(code if code > 0 else SIGNALLED - code)


def _import_for(kind: str) -> None:
    """Import what decodes files of this kind, so that every fork has it already."""
    global pa, pc, pq, ipc, types, openpyxl
    if kind == "Excel":
        import openpyxl

        return
    os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"  # others set room aside that nobody asked for
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq
    from pyarrow import ipc, types

    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    pa.scalar(0)  # the first one looks for pandas and imports it


def _refusal(request: dict[str, Any]) -> dict[str, Any] | None:
    """Decode one file, and return why not."""
    try:
        _limit(request["most_bytes"], request["most_seconds"])
        if request["kind"] == "Excel":
            with open(request["path"], "rb") as file:  # a path must end in .xlsx, and that of a copy does not
                book = openpyxl.load_workbook(file, read_only=True, data_only=True)
                _send({"sheets": {sheet.title: _text(sheet, request["most_cells"]) for sheet in book.worksheets}})
        else:
            _answer((_Parquet if request["kind"] == "Parquet" else _Arrow)(request["path"]), request)
    except _MissingValueError as error:
        return {"missing": error.args}
    except MemoryError:
        return {"refused": f"the table must be decoded in at most {request['most_bytes']:,} bytes; it takes more"}
    except _NotReadError as error:
        return {"refused": str(error)}
    except Exception as error:  # a damaged file makes the libraries raise many kinds, and all mean the same here
        reason = " ".join(str(error).split())[:500]
        return {"refused": f"the file must be a table of {request['kind']}; reading it failed ({reason})"}
    return None


def _answer(table: _Parquet | _Arrow, limits: dict[str, Any]) -> None:
    """Say what the table has, and give its rows as often as they are asked for."""
    kinds = [field.type for field in table.schema]
    values = [kind.value_type if types.is_dictionary(kind) else kind for kind in kinds]
    # a value takes a few bytes, or the bytes that are there: no lists, runs or nothing
    plain = [_is_text(kind) or _is_number(kind) or types.is_temporal(kind) for kind in values]
    _send({"names": table.schema.names, "types": list(map(str, kinds)), "plain": plain, "rows": table.n_rows})
    while (wanted := _received()) is not None:
        columns, left = wanted["columns"], wanted["most"]
        for batch, share in table.batches(columns):
            some = batch.slice(0, left)
            if some.num_rows:
                _send_rows(some, columns, share, limits)
            left -= some.num_rows
            if not left:
                break
        _send({"end": True})


def _cells(values: Any) -> list[Any]:
    """Numbers, and the beginnings of texts."""
    if types.is_dictionary(values.type):
        labels = _cells(values.dictionary)
        return [None if code is None else labels[code] for code in values.indices.to_pylist()]
    if not _is_text(values.type):
        return [cell if isinstance(cell, int | float | None) else str(cell) for cell in values.to_pylist()]
    texts = values.cast("string") if types.is_string_view(values.type) else values
    starts = pc.binary_slice(texts.cast("large_binary"), 0, SHOWN_LETTERS).to_pylist()
    return [None if start is None else start.decode(errors="replace") for start in starts]


def _limit(most_bytes: int, most_seconds: int) -> None:
    """Bound the memory and the time of the decoder where the system can; a crash leaves no image of the memory."""
    try:
        import resource
    except ImportError:
        return
    wanted = ((resource.RLIMIT_DATA, most_bytes), (resource.RLIMIT_CPU, most_seconds), (resource.RLIMIT_CORE, 0))
    for kind, limit in wanted:
        _, hard = resource.getrlimit(kind)
        resource.setrlimit(kind, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))


class _NotReadError(Exception):
    """A table that cannot be read, and the sentence that says why."""


class _MissingValueError(Exception):
    """The column and the row of a value that is missing."""


class _Parquet:
    """A Parquet file."""

    def __init__(self, path: str) -> None:
        self._path, self._metadata = path, pq.read_metadata(path)
        self.n_rows: int | None = self._metadata.num_rows
        self.schema = self._metadata.schema.to_arrow_schema()

    def batches(self, wanted: _Wanted) -> Iterator[_Batch]:
        """Some rows of these columns at a time."""
        names, done = _names(wanted), 0
        # all columns where Arrow would take a dot in a name for a way into a nested one
        paths = None if any("." in name for name in names) else names
        file = pq.ParquetFile(
            self._path, metadata=self._metadata, read_dictionary=[n for n, what in wanted if what in _LABELS]
        )
        for batch in file.iter_batches(ROWS, columns=paths, use_threads=False):
            done += batch.num_rows
            columns = batch.select(names)
            columns.validate(full=True)  # every offset and index points to what is there
            yield columns, done / max(self.n_rows or 0, done, 1)


def _names(wanted: _Wanted) -> list[str]:
    return list(dict.fromkeys(name for name, _ in wanted))


class _Arrow:
    """An Arrow file or stream; the number of its rows is known if they are few."""

    def __init__(self, path: str) -> None:
        self._content = pa.memory_map(path)
        self.schema = self._reader().schema
        self.n_rows: int | None = 0
        for batch in self._every()[0]:
            self.n_rows += batch.num_rows
            if self.n_rows > ROWS:
                self.n_rows = None
                break

    def _every(self) -> tuple[Iterator[Any], int | None]:
        """The batches, and how many there are if it is known."""
        reader = self._reader()
        total = getattr(reader, "num_record_batches", None)
        return iter(reader) if total is None else (reader.get_batch(i) for i in range(total)), total

    def batches(self, wanted: _Wanted) -> Iterator[_Batch]:
        """Some rows of these columns at a time."""
        every, total = self._every()
        for i, batch in enumerate(every, 1):
            columns = batch.select(_names(wanted))
            columns.validate(full=True)
            for start in range(0, batch.num_rows, ROWS):
                yield columns.slice(start, ROWS), total and i / total

    def _reader(self) -> Any:
        self._content.seek(0)
        is_file = self._content.read(6) == b"ARROW1"
        self._content.seek(0)
        return ipc.open_file(self._content) if is_file else ipc.open_stream(self._content)


def _is_text(kind: Any) -> bool:
    texts = types.is_string, types.is_large_string, types.is_string_view, types.is_binary, types.is_large_binary
    return any(is_kind(kind) for is_kind in texts)


def _is_number(kind: Any) -> bool:
    numbers = types.is_integer, types.is_floating, types.is_boolean, types.is_decimal
    return any(is_kind(kind) for is_kind in numbers)


def _send_rows(batch: Any, wanted: _Wanted, share: float | None, limits: dict[str, Any]) -> None:
    """One message with the rows of a batch, as they are asked for."""
    described: list[dict[str, Any]] = []
    blobs = []
    for name, what in wanted:
        values, array = batch.column(batch.schema.get_field_index(name)), None
        about: dict[str, Any] = {}
        if values.null_count and what in ("labels", "numbers"):
            raise _MissingValueError(name, pc.index(values.is_null(), True).as_py())
        if what in _LABELS:
            about["labels"], array = _labels(values, name, limits)
        elif what == "cells":
            about["cells"] = _cells(values)
        else:
            array = _numbers(values, name) if what == "numbers" else _times(values)
        if array is not None:  # without missing values, as it lies in memory; `to_numpy` would import pandas
            about["dtype"], width = str(array.type), array.type.bit_width // 8
            blobs.append(memoryview(array.buffers()[1])[array.offset * width :][: len(array) * width])
        described.append(about)
    _send({"columns": described, "rows": batch.num_rows, "share": share}, *blobs)


def _times(values: Any) -> Any:
    """Numbers, dates or texts of either as numbers in the order of time; None where one is none."""
    if values.null_count:
        return None
    if types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if types.is_date32(values.type) or types.is_time32(values.type):
        values = values.cast("int32")
    kinds = ["double", pa.timestamp("ns")] if _is_text(values.type) else ["int64", "double"]
    if types.is_floating(values.type):
        kinds = ["double"]
    for kind in kinds:
        try:
            times = values.cast(kind)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            continue
        return times.cast("int64") if types.is_timestamp(times.type) else times
    return None


def _labels(values: Any, name: str, limits: dict[str, Any]) -> tuple[list[str | float | None], Any]:
    """The labels of a column, and which of them each row has; some may come twice, or in no row.

    Numbers are left as they are, so that they become the labels that they are elsewhere.
    """
    if types.is_string_view(values.type):
        values = values.cast("string")
    try:
        encoded = values if types.is_dictionary(values.type) else values.dictionary_encode()
        labels = encoded.dictionary
        if len(labels) > limits["most_labels"]:  # before they are made
            raise _NotReadError(
                f'the column "{name}" must have at most {limits["most_labels"]:,} different labels; it has'
                f" {len(labels):,} (is it a measured value, a time or a running number?)"
            )
        longest = pc.max(pc.binary_length(labels)).as_py() if _is_text(labels.type) else 0
        if (longest or 0) > 4 * limits["longest"]:  # bytes
            raise _NotReadError(f'the column "{name}" must hold labels; one is {longest:,} bytes long')
        found = (labels if _is_number(labels.type) else labels.cast("string")).to_pylist()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, UnicodeDecodeError):
        raise _NotReadError(f'the column "{name}" must hold labels; it holds values of type {values.type}') from None
    if types.is_decimal(labels.type):
        found = [value if value is None else int(value) if value % 1 == 0 else str(value) for value in found]
    return found, encoded.indices.cast("int32").fill_null(-1)


def _numbers(values: Any, name: str) -> Any:
    """The numbers of a column, whole ones as integers."""
    kind = values.type
    is_whole = types.is_integer(kind) or (types.is_decimal(kind) and kind.scale == 0)
    wanted = kind if types.is_unsigned_integer(kind) else "int64" if is_whole else "double"
    try:
        return (values.dictionary_decode() if types.is_dictionary(kind) else values).cast(wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise _NotReadError(f'the column "{name}" must hold numbers; it holds values of type {kind}') from None


def _text(sheet: Any, most_cells: int) -> str:
    """The sheet as text, without empty columns at its right, which it may have after formatting."""
    rows, width, cells = [], 0, 0
    for values in sheet.iter_rows(values_only=True):
        # as Python writes it; a whole number without a point
        row = ["" if v is None else str(int(v) if isinstance(v, float) and v.is_integer() else v) for v in values]
        cells += len(row)
        if cells > most_cells:
            raise _NotReadError(f"a sheet must have at most {most_cells:,} cells; it has more")
        width = max(width, max((i for i, cell in enumerate(row, 1) if cell.strip()), default=0))
        rows.append(row)
    buffer = io.StringIO(newline="")
    csv.writer(buffer, lineterminator="\n").writerows(row[:width] for row in rows)
    return buffer.getvalue()


def _received() -> Any:
    """The next message; None where there is none any more."""
    line = _questions.readline()
    return json.loads(line) if line else None


def _send(message: dict[str, Any], *blobs: Any) -> None:
    for piece in (json.dumps(message).encode(), b"\n", *blobs):
        left = memoryview(piece)
        while left:
            left = left[os.write(1, left) :]


if __name__ == "__main__":
    main()
