"""Logs as text: which form a file has, and its rows, at once if it is short and by blocks if it is long."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from bestchannel.counts.disk import decoded, open_bytes, read_bytes
from bestchannel.counts.labelled_counts import Cells
from bestchannel.counts.pieces import Piece, Progress
from bestchannel.counts.row_forms import Delimited, Pairs, RowForm, count_of, is_pairs
from bestchannel.counts.streamed_text import LongText
from bestchannel.counts.table import delimiter_of
from bestchannel.counts.text_table import is_long_header
from bestchannel.errors import InputError

SHORT = 2**22
"""A file of at most so many bytes is read at once, without waiting for a kernel to load."""

HEAD = 2**20
"""The bytes that show which form a file has."""

_BOM = b"\xef\xbb\xbf"
_LINE_END = re.compile(rb"\r\n|\r|\n")


def find_form(head: bytes, name: str, columns: Mapping[str, str] | None) -> tuple[RowForm | None, int]:
    """How the rows of a text log are read and on which line they start; None for what has no header, a bare matrix."""
    text = head.removeprefix(_BOM).decode(errors="replace")
    if not text.strip():
        raise InputError("the file is empty")
    if is_pairs(text) and columns is None:
        return Pairs(name), 1
    delimiter = delimiter_of(text)
    header, line = _header(text, delimiter)
    if columns is None and not is_long_header(header):
        return None, 1
    return Delimited(header, delimiter, name, columns), line


def _header(text: str, delimiter: str) -> tuple[list[str], int]:
    """The first row that is not blank, and the line after it."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True, strict=True)
    try:
        header = next(row for row in reader if any(map(str.strip, row)))
    except StopIteration:
        raise InputError("the file holds no lines but blank ones") from None
    except csv.Error as error:
        raise InputError(f"line {reader.line_num} cannot be split into cells ({error})") from None
    return header, reader.line_num + 1


def text_log(
    path: Path, cells: Cells, columns: Mapping[str, str] | None, progress: Progress | None
) -> Iterator[Piece] | None:
    """The rows of a text log in their order, or None if the file is a bare matrix."""
    with open_bytes(path) as file:
        form, line = find_form(file.read(HEAD), path.stem, columns)
    if form is None:
        return None
    is_long = path.stat().st_size > SHORT
    return _long(path, form, cells, line, progress) if is_long else _short(path, form, cells, line)


def _short(path: Path, form: RowForm, cells: Cells, line: int) -> Iterator[Piece]:
    text = decoded(read_bytes(path))
    numbers, counts = [], []
    for row, number in form.rows(text):
        if number < line:
            continue
        labels = form.labels(row, f"line {number}")
        if labels is not None:
            numbers.append(cells.number(*labels, f"line {number}"))
            counts.append(count_of(row, form, f"line {number}"))
    yield Piece(np.array(numbers, np.int32), None if form.count is None else np.array(counts, np.float64))


def _long(path: Path, form: RowForm, cells: Cells, line: int, progress: Progress | None) -> Iterator[Piece]:
    with open_bytes(path) as file:
        file.seek(_start_of_line(file.read(HEAD), line))
        yield from LongText(file, form, cells, line).pieces(path.stat().st_size, progress)


def _start_of_line(head: bytes, line: int) -> int:
    """The byte at which the line starts, after a byte-order mark."""
    ends = [0, *(match.end() for match in _LINE_END.finditer(head))]
    return len(_BOM) if line == 1 and head.startswith(_BOM) else ends[min(line, len(ends)) - 1]
