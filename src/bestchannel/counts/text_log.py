"""Text logs: which form a file has, and its rows, at once if it is short and in blocks if it is long.

The form is decided here and nowhere else: pairs in brackets, columns under a header, or a bare matrix.
"""

from __future__ import annotations

import csv
import io
import math
import re
import reprlib
from collections.abc import Iterator, Sequence

import numpy as np

from bestchannel.counts.disk import OpenFile, decoded
from bestchannel.counts.labelled_counts import Columns, Combinations, RowBlock, log_columns
from bestchannel.counts.row_forms import Labels, Pairs, RowForm
from bestchannel.counts.streamed_text import StreamedText
from bestchannel.errors import InputError
from bestchannel.progress import Progress

SHORT = 2**22
"""A file of at most so many bytes is read at once, without waiting for a kernel to load."""

HEAD = 2**20
"""The bytes that show which form a file has."""

_BOM = b"\xef\xbb\xbf"
_LINE_END = re.compile(rb"\r\n|\r|\n")
_PAIRS = re.compile(r"\s*(?:(?://|#)[^\r\n]*[\r\n]\s*)*\([^\r\n]*,[^\r\n]*\)")


def read_log(
    source: OpenFile, seen: Combinations, columns: Columns, progress: Progress | None
) -> Iterator[RowBlock] | None:
    """The rows of a text log in their order, or None if the file is a bare matrix."""
    head = source.head(max(HEAD, SHORT + 1))
    form, line = find_form(head[:HEAD], source.name, columns)
    if form is None:
        return None
    if len(head) <= SHORT:
        return _at_once(source, form, seen, line)
    source.skip(_start_of_line(head[:HEAD], line))
    return StreamedText(source, form, seen, line).blocks(progress)


def find_form(head: bytes, name: str, columns: Columns) -> tuple[RowForm | None, int]:
    """How the rows of a text log are read and on which line they start; None for what has no header, a bare matrix."""
    text = head.removeprefix(_BOM).decode(errors="replace")
    if not text.strip():
        raise InputError("the file is empty")
    if columns is None and _PAIRS.match(text):
        return Pairs(name), 1
    delimiter = delimiter_of(text)
    header, line = _header(text, delimiter)
    if columns is None and not is_long_header(header):
        return None, 1
    return Delimited(header, delimiter, name, columns), line


def is_long_header(header: Sequence[str]) -> bool:
    """Whether the first line names the columns of a long table."""
    fields = {field.strip().casefold() for field in header}
    return {"x", "y"} <= fields or ("channel" in fields and not fields.isdisjoint({"x", "y", "p", "count"}))


def _header(text: str, delimiter: str) -> tuple[list[str], int]:
    """The first row that is not blank, and the line after it."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True, strict=True)
    try:
        header = next(row for row in reader if any(map(str.strip, row)))
    except StopIteration:
        raise InputError("the file holds no lines but blank ones") from None
    except csv.Error as error:
        raise InputError(f"line {reader.line_num} cannot be split into fields ({error})") from None
    return header, reader.line_num + 1


def _at_once(source: OpenFile, form: RowForm, seen: Combinations, line: int) -> Iterator[RowBlock]:
    numbers, counts = [], []
    for row, number in form.rows(decoded(source.content())):
        if number < line:
            continue
        labels = form.labels(row, f"line {number}")
        if labels is not None:
            numbers.append(seen.number(*labels, f"line {number}"))
            counts.append(form.count_of(row, f"line {number}"))
    yield RowBlock(np.array(numbers, np.int32), None if form.count is None else np.array(counts, np.float64))


def _start_of_line(head: bytes, line: int) -> int:
    """The byte at which the line starts, after a byte-order mark."""
    ends = [0, *(match.end() for match in _LINE_END.finditer(head))]
    return len(_BOM) if line == 1 and head.startswith(_BOM) else ends[min(line, len(ends)) - 1]


class Delimited:
    """Fields under a header that names the columns."""

    quote: str = '"'

    def __init__(self, header: Sequence[str], delimiter: str, name: str, columns: Columns) -> None:
        found = log_columns(header, columns)
        self.delimiter, self.name, self.width = delimiter, name, len(header)
        self._channel, self._x, self._y = found.get("channel"), found["x"], found["y"]
        self.key: Sequence[int] = sorted(found[role] for role in ("channel", "x", "y") if role in found)
        self.count = found.get("count")

    def rows(self, text: str, line: int = 1) -> Iterator[tuple[list[str], int]]:
        """The rows, refused where fields are missing or cannot be told apart."""
        for row, number in split_rows(text, self.delimiter, line):
            if any(map(str.strip, row)):
                self._refuse_ragged(row, number)
                yield row, number

    def unquoted(self, field: str, line: int) -> str:
        """The field without its quotes."""
        return next(split_rows(field, self.delimiter, line))[0][0] if field.startswith(self.quote) else field

    def labels(self, row: Sequence[str], place: str) -> Labels:
        """The fields of the three columns; without one for the channel, the name of the file."""
        channel = self.name if self._channel is None else row[self._channel]
        return channel, row[self._x], row[self._y]

    def count_of(self, row: Sequence[str], place: str) -> int:
        """The number in the column for counts; 1 where there is none."""
        if self.count is None:
            return 1
        field = row[self.count].strip()
        number = as_number(field, self.delimiter == ";")
        if number is None or not math.isfinite(number):
            kind, found = ("number", reprlib.repr(field)) if number is None else ("finite number", f"{number:g}")
            raise InputError(f"{place}, count must be a {kind}; it is {found}")
        if number < 0 or not number.is_integer():
            raise InputError(f"{place}, count must be a whole number from 0 on; it is {number:.12g}")
        return int(number)

    def _refuse_ragged(self, row: Sequence[str], line: int) -> None:
        if len(row) != self.width:
            raise InputError(
                f"line {line} must have {self.width} fields like the header; it has {len(row)},"
                f" the first being {reprlib.repr(row[0])}"
            )


def split_rows(text: str, delimiter: str, first: int = 1) -> Iterator[tuple[list[str], int]]:
    """The rows of delimited text, blank ones too, each with the line at which it starts; the text starts at `first`."""
    # newline="" leaves the line ends inside quoted fields as they are
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True, strict=True)
    start = first
    try:
        for row in reader:
            yield row, start
            start = first + reader.line_num
    except csv.Error as error:
        raise InputError(f"line {start} cannot be split into fields ({error})") from None


def delimiter_of(text: str) -> str:
    """The delimiter of the first line that is not blank.

    A comma beside a semicolon or a tab is a decimal comma or part of a label.
    """
    unquoted = re.sub(r'"[^"]*"', "", text[:100_000]).lstrip("\r\n ")
    first_line = re.split(r"[\r\n]", unquoted, maxsplit=1)[0]
    return next((sign for sign in ";\t" if sign in first_line), ",")


def as_number(field: str, decimal_comma: bool) -> float | None:
    """The number that the field holds, or None."""
    try:
        return float(field.replace(",", ".") if decimal_comma else field)
    except ValueError:
        return None
