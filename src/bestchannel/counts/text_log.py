"""Text logs: which form a file has, and its rows, at once if it is short and in blocks if it is long.

The form is decided here and nowhere else: pairs in brackets, columns under a header, or a bare matrix.
"""

from __future__ import annotations

import csv
import io
import math
import re
import reprlib
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestchannel.arrays import MOST_SENSES
from bestchannel.counts.disk import NOT_TEXT, Hints, OpenFile, decoded
from bestchannel.counts.labelled_counts import SHOWN, Combinations, RowBlock, log_columns, named_columns
from bestchannel.counts.long_table import times_of
from bestchannel.counts.row_forms import Labels, Pairs, RowForm
from bestchannel.counts.soft_outputs import point
from bestchannel.counts.streamed_text import StreamedText
from bestchannel.errors import InputError
from bestchannel.process import Progress

SHORT = 2**22
"""A file of at most so many bytes is read at once, without waiting for a kernel to load."""

HEAD = 2**20
"""The bytes that show which form a file has."""

MOST_INPUTS = 64
"""A matrix whose outputs are called like columns has at most so many rows, unless it has one for each output."""

_ROLES = frozenset(["channel", "x", "y", "count"])
_BOM = b"\xef\xbb\xbf"
_SIGNS = ("#", "%")
"""What comment lines begin with."""
_LEADING = re.compile(r"(?:[ \t]*(?:[#%][^\r\n]*)?(?:\r\n|\r|\n))+")
_LINE_END = re.compile(rb"\r\n|\r|\n")
_COMMENT = re.compile(r"\s*(?://|#)")
_NUMBER = re.compile(r"\s*[+-]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?|nan|inf|infinity)\s*", re.ASCII | re.IGNORECASE)
_DIGITS = re.compile(r"\s*[+]?\d{1,400}\s*", re.ASCII)
_GROUPED = re.compile(r"\s*[+-]?[1-9]\d{0,2}[.,]\d{3}\s*", re.ASCII)
_SIGNED = re.compile(r"\s*[+-]?\d*[.,]\d+\s*", re.ASCII)
_SPACED = re.compile(r'"((?:[^"]|"")*)"(?=\s|$)|(\S+)')


def read_log(source: OpenFile, seen: Combinations, progress: Progress | None) -> Iterator[RowBlock] | None:
    """The rows of a text log in their order, or None if the file is a bare matrix."""
    head = source.head(max(HEAD, SHORT + 1))
    form, line = find_form(head[:HEAD], source.name, source.hints, seen)
    if form is None:
        return None
    if len(head) <= SHORT:
        return _at_once(source, form, seen, line)
    source.skip(_start_of_line(head[:HEAD], line))
    return StreamedText(source, form, seen, line).blocks(progress)


def start_of_content(source: OpenFile) -> bytes:
    """The first bytes after comments and blank lines."""
    return without_comments(source.head(HEAD).removeprefix(_BOM).decode(errors="replace")).lstrip()[:64].encode()


def find_form(head: bytes, name: str, hints: Hints, seen: Combinations) -> tuple[RowForm | None, int]:
    """How the rows of a text log are read and on which line they start; None for what has no header, a bare matrix."""
    text = without_comments(head.removeprefix(_BOM).decode(errors="replace"))
    if not text.strip():
        raise InputError("the file is empty")
    if "\0" in text and "\n" not in text:
        raise InputError(NOT_TEXT)
    if hints.form == "matrix":
        return None, 1
    if hints.columns is None and _is_pairs(text):
        return Pairs(name), 1
    delimiter = delimiter_of(text)
    header, line = _header(text, delimiter)
    if not isinstance(hints.columns, Mapping | None):
        if is_long_header(header):
            raise InputError(f"the first line names the columns already ({', '.join(header)}); leave columns out")
        return Delimited(list(hints.columns), named_columns(list(hints.columns), None), delimiter, name), 1
    if hints.columns is None and hints.form is None:
        below = _rows_below(text, delimiter, 2 * max(MOST_INPUTS, len(header)))
        if not is_log(header, below, decimal_comma=delimiter == ";"):
            return None, 1
    shown = cache(partial(_rows_below, text, delimiter, SHOWN))

    def cells(i: int) -> list[str]:
        return [row[i] for row in shown() or () if len(row) == len(header)]

    found = log_columns(header, hints.columns, seen, cells, are_all=len(head) < HEAD and len(shown() or ()) < SHOWN - 1)
    return Delimited(header, found, delimiter, name), line


def without_comments(text: str) -> str:
    """The text with blank lines in place of the comments before its first line; one that names columns is that line."""
    leading = _LEADING.match(text)
    if leading is None:
        return text
    start = leading.end()
    last = re.search(r"[#%]+([^\r\n]*)\s*\Z", leading[0])
    if last is not None and start < len(text):
        delimiter = delimiter_of(text[start:])
        names, first = (next(split_rows(line, delimiter))[0] for line in (last[1].strip() or "#", text[start:]))
        if is_long_header(names) and len(names) == len(first):
            start = last.start(1)
    return re.sub(r"[^\r\n]", "", text[:start]) + text[start:]


def is_comment(row: Sequence[str], width: int) -> bool:
    """Whether a row that should have `width` fields is a comment."""
    return len(row) != width and bool(row) and row[0].lstrip().startswith(_SIGNS)


def _is_pairs(text: str) -> bool:
    """Whether the first line that is neither blank nor a comment is a trial in brackets."""
    lines = (line for line in io.StringIO(text, newline=None) if line.strip() and not _COMMENT.match(line))
    first = next(lines, "").strip()
    return first.startswith("(") and 0 < first.find(",") < first.rfind(")")


def is_long_header(header: Sequence[str]) -> bool:
    """Whether the first line may name the columns of a long table."""
    fields = {field.strip().casefold() for field in header}
    return {"x", "y"} <= fields or ("channel" in fields and not fields.isdisjoint({"x", "y", "p", "count"}))


def is_log(header: Sequence[str], some: Sequence[Sequence[str]] | None, *, decimal_comma: bool) -> bool:
    """Whether there are rows under the names of their columns; refused where it may be a matrix as well.

    `some` are the first rows; None where one cannot be split, of which the reader of rows speaks.
    """
    if not is_long_header(header):
        return False
    if some is None:
        return True
    titles = [title.strip() for title in header]
    small = [title.casefold() for title in titles]
    named = small[0] == "channel" or ("count" in small and set(small) <= _ROLES)
    if not some or (named and some[0][0].strip() not in titles):
        return True  # nothing but rows, which is most logs
    from bestchannel.counts import two_readings

    found = two_readings.reading(header, some, partial(_are_whole, decimal_comma))
    if found is None:
        columns = {role: header[i] for role, i in named_columns(header, None).items()}
        two_readings.refuse_either(header, columns)
    return found == "rows"


def _rows_below(text: str, delimiter: str, most: int) -> list[list[str]] | None:
    """The first rows below the header; None where one cannot be split."""
    try:
        rows = (row for row, _ in split_rows(text, delimiter) if any(map(str.strip, row)))
        return list(islice(rows, 1, most))
    except InputError:
        return None


def _are_whole(decimal_comma: bool, cells: Sequence[str]) -> bool:
    numbers = [as_number(cell, decimal_comma) for cell in cells]
    return all(number is not None and number >= 0 and number.is_integer() for number in numbers)


def _header(text: str, delimiter: str) -> tuple[list[str], int]:
    """The first row that is not blank, and the line after it."""
    rows = split_rows(text, delimiter)
    try:
        header = next(row for row, _ in rows if any(map(str.strip, row)))
    except StopIteration:
        raise InputError("the file holds no lines but blank ones") from None
    return header, next(rows, (header, sys.maxsize))[1]


def _at_once(source: OpenFile, form: RowForm, seen: Combinations, line: int) -> Iterator[RowBlock]:
    numbers, counts = [], []
    times: list[str] = []
    for row, number in form.rows(without_comments(decoded(source.content()))):
        if number < line:
            continue
        labels = form.labels(row, f"line {number}")
        if labels is not None:
            numbers.append(seen.number(*labels, f"line {number}"))
            counts.append(form.count_of(row, f"line {number}"))
            if form.time is not None:
                times.append(row[form.time])
    yield RowBlock(
        np.array(numbers, np.int32),
        None if form.count is None else np.array(counts, np.float64),
        form.times(times),
    )


def _start_of_line(head: bytes, line: int) -> int:
    """The byte at which the line starts, after a byte-order mark."""
    ends = [0, *(match.end() for match in _LINE_END.finditer(head))]
    return len(_BOM) if line == 1 and head.startswith(_BOM) else ends[min(line, len(ends)) - 1]


class Delimited:
    """Fields under a header that names the columns."""

    quote: str = '"'

    def __init__(self, header: Sequence[str], found: Mapping[str, int], delimiter: str, name: str) -> None:
        self._header, self.delimiter, self.name, self.width = header, delimiter, name, len(header)
        self._channel, self._x, self._y, self._y2 = found.get("channel"), found["x"], found["y"], found.get("y2")
        self.count, self.time = found.get("count"), found.get("time")
        self.key: Sequence[int] = sorted(place for role, place in found.items() if role not in ("count", "time"))

    def rows(self, text: str, line: int = 1) -> Iterator[tuple[list[str], int]]:
        """The rows, refused where fields are missing or cannot be told apart."""
        for row, number in split_rows(text, self.delimiter, line):
            if any(map(str.strip, row)) and not is_comment(row, self.width):
                self._refuse_ragged(row, number)
                yield row, number

    def unquoted(self, field: str, line: int) -> str:
        """The field without its quotes."""
        return next(split_rows(field, self.delimiter, line))[0][0] if field.startswith(self.quote) else field

    def labels(self, row: Sequence[str], place: str) -> Labels:
        """The fields of the three columns; without one for the channel, the name of the file."""
        if all(row[i].strip() == self._header[i].strip() for i in self.key):
            raise InputError(f"{place} must be a row; it is the header once more (remove it)")
        channel = self.name if self._channel is None else row[self._channel]
        return channel, row[self._x], row[self._y] if self._y2 is None else point(row[self._y], row[self._y2])

    def times(self, fields: Sequence[str]) -> NDArray[Any] | None:
        """What the fields of the column for times say; None where there is none, or one says nothing."""
        texts = [field.strip().replace(",", ".") for field in fields]
        return times_of(np.array(texts)) if self.time is not None and texts else None

    def count_of(self, row: Sequence[str], place: str) -> int:
        """The number in the column for counts; 1 where there is none."""
        if self.count is None:
            return 1
        field = row[self.count].strip()
        if _DIGITS.fullmatch(field):
            return self._refuse_large(int(field), place)
        number = as_number(field, self.delimiter == ";")
        if _GROUPED.fullmatch(field):
            raise InputError(
                f"{place}, count must be written without a sign between its digits; it is {field!r}, which may be"
                f" {re.sub('[.,]', '', field)} or {re.sub('[.,].*', '', field)}"
            )
        if number is None or not math.isfinite(number):
            kind, found = ("number", reprlib.repr(field)) if number is None else ("finite number", f"{number:g}")
            raise InputError(f"{place}, count must be a {kind}; it is {found}")
        if number < 0 or not number.is_integer():
            raise InputError(f"{place}, count must be a whole number from 0 on; it is {number:.12g}")
        return self._refuse_large(int(number), place)

    def _refuse_large(self, count: int, place: str) -> int:
        if count > MOST_SENSES:
            raise InputError(f"{place}, count must be at most 2^53; it is {reprlib.repr(count)}")
        return count

    def _refuse_ragged(self, row: Sequence[str], line: int) -> None:
        if len(row) != self.width:
            raise InputError(
                f"line {line} must have {self.width} fields like the header; it has {len(row)},"
                f" the first being {reprlib.repr(row[0])}"
            )


def split_rows(text: str, delimiter: str, first: int = 1) -> Iterator[tuple[list[str], int]]:
    """The rows of delimited text, blank ones too, each with the line at which it starts; the text starts at `first`."""
    # newline="" leaves the line ends inside quoted fields as they are
    lines = io.StringIO(text, newline="")
    if delimiter == " ":
        for number, content in enumerate(lines, first):
            found = _SPACED.findall(content)
            yield [plain or quoted.replace('""', '"') for quoted, plain in found], number
        return
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True, strict=True)
    start = first
    try:
        for row in reader:
            yield row, start
            start = first + reader.line_num
    except csv.Error as error:
        raise InputError(f"line {start} cannot be split into fields ({error})") from None


def delimiter_of(text: str) -> str:
    """The delimiter of the first line that is not blank: a semicolon, a tab, a comma, or spaces.

    A comma beside a semicolon or a tab is a decimal comma or part of a label.
    """
    unquoted = re.sub(r'"[^"]*"', "q", text[:100_000]).lstrip("\r\n ")
    first_line = re.split(r"[\r\n]", unquoted, maxsplit=1)[0].strip(" ")
    return next((sign for sign in ";\t, " if sign in first_line), ",")


def as_number(field: str, decimal_comma: bool) -> float | None:
    """The number that the field holds, or None."""
    text = field.replace(",", ".") if decimal_comma else field
    return float(text) if _NUMBER.fullmatch(text) else None


def in_doubt(cells: Iterable[str]) -> str | None:
    """The first number as 1,000 or 1.000, unless another shows that the sign is a decimal one, as in 0,25."""
    signed = [cell for cell in cells if _SIGNED.fullmatch(cell)]
    grouped = [cell for cell in signed if _GROUPED.fullmatch(cell)]
    shown = {sign for cell in signed if not _GROUPED.fullmatch(cell) for sign in ".," if sign in cell}
    return next((cell for cell in grouped if shown.isdisjoint(cell)), None)
