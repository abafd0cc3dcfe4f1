"""What a row of a text log says: columns under a header, or leakiEst's `(input, output)`."""

from __future__ import annotations

import io
import re
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from bestchannel.counts.long_table import find_columns
from bestchannel.counts.table import as_number, finite_or_refused, split_rows
from bestchannel.errors import InputError

Labels = tuple[str, str, str]
"""Channel, x and y of a row."""

_ROLES = ("channel", "x", "y", "count")
_PAIRS = re.compile(r"\s*(?:(?://|#)[^\r\n]*[\r\n]\s*)*\([^\r\n]*,[^\r\n]*\)")
_COMMENTS = ("//", "#")


class RowForm(Protocol):
    """How the rows of a text log are split and understood.

    `delimiter` and `quote` are empty where a row is one cell. `key` numbers the columns that
    make the labels, `count` the one with counts, if there is one; a row has `width` cells.
    """

    delimiter: str
    quote: str
    width: int
    key: Sequence[int]
    count: int | None

    def rows(self, text: str, line: int = 1) -> Iterator[tuple[list[str], int]]:
        """The rows of the text that are not blank, each with its line; the text starts at `line`."""

    def unquoted(self, cell: str, line: int) -> str:
        """What a cell says, as it is spelled in the file."""

    def labels(self, row: Sequence[str], place: str) -> Labels | None:
        """The labels of the row, or None for a comment; only the columns of `key` are looked at."""


class Delimited:
    """Cells under a header that names the columns."""

    quote: str = '"'

    def __init__(self, header: Sequence[str], delimiter: str, name: str, columns: Mapping[str, str] | None) -> None:
        found = log_columns(header, columns)
        self.delimiter, self.name, self.width = delimiter, name, len(header)
        self._channel, self._x, self._y = found.get("channel"), found["x"], found["y"]
        self.key: Sequence[int] = sorted(found[role] for role in ("channel", "x", "y") if role in found)
        self.count = found.get("count")

    def rows(self, text: str, line: int = 1) -> Iterator[tuple[list[str], int]]:
        """The rows, refused where cells are missing or cannot be told apart."""
        for row, number in split_rows(text, self.delimiter, line):
            if any(map(str.strip, row)):
                self._refuse_ragged(row, number)
                yield row, number

    def unquoted(self, cell: str, line: int) -> str:
        """The cell without its quotes."""
        return next(split_rows(cell, self.delimiter, line))[0][0] if cell.startswith(self.quote) else cell

    def labels(self, row: Sequence[str], place: str) -> Labels:
        """The cells of the three columns; without one for the channel, the name of the file."""
        channel = self.name if self._channel is None else row[self._channel]
        return channel, row[self._x], row[self._y]

    def _refuse_ragged(self, row: Sequence[str], line: int) -> None:
        if len(row) != self.width:
            raise InputError(
                f"line {line} must have {self.width} cells like the header; it has {len(row)},"
                f" the first being {reprlib.repr(row[0])}"
            )


class Pairs:
    """One trial a line, `(input, output)`, as leakiEst's observation files have it [CKN13]; // and # begin comments.

    The comma that divides is the first outside inner brackets, so `((1, 2), a)` has the input `(1, 2)`.
    """

    delimiter: str = ""
    quote: str = ""
    width: int = 1
    key: Sequence[int] = (0,)
    count: int | None = None

    def __init__(self, name: str) -> None:
        self.name = name

    def rows(self, text: str, line: int = 1) -> Iterator[tuple[list[str], int]]:
        """The lines that are not blank."""
        for number, content in enumerate(io.StringIO(text, newline=""), line):
            if content.strip():
                yield [content.rstrip("\r\n")], number

    def unquoted(self, cell: str, line: int) -> str:
        """The line as it is."""
        return cell

    def labels(self, row: Sequence[str], place: str) -> Labels | None:
        """The channel is named after the file."""
        text = row[0].strip()
        if text.startswith(_COMMENTS):
            return None
        comma = _dividing_comma(text)
        if comma is None:
            raise InputError(f"{place} must be a trial (input, output); it is {reprlib.repr(text)}")
        return self.name, text[1:comma], text[comma + 1 : -1]


def is_pairs(text: str) -> bool:
    """Whether the first line that is no comment is a pair in brackets."""
    return _PAIRS.match(text) is not None


def count_of(row: Sequence[str], form: RowForm, place: str) -> int:
    """The count that the row has, a whole number from 0 on; 1 where there is no column for it."""
    if form.count is None:
        return 1
    cell = row[form.count].strip()
    number = finite_or_refused(as_number(cell, form.delimiter == ";"), cell, f"{place}, count")
    if number < 0 or not number.is_integer():
        raise InputError(f"{place}, count must be a whole number from 0 on; it is {number:.12g}")
    return int(number)


def log_columns(header: Sequence[str], columns: Mapping[str, str] | None) -> dict[str, int]:
    """Where x, y and, if there, channel and count are; probabilities are sent to `capacity`."""
    found = find_columns(header, _ROLES, columns)
    missing = [role for role in ("x", "y") if role not in found]
    if missing:
        raise InputError(
            f"the columns must be x, y and perhaps channel and count; {' and '.join(missing)} is missing from"
            f" {', '.join(header[:20])} (columns= or --columns renames)"
        )
    if "count" not in found and any(cell.strip().casefold() == "p" for cell in header):
        raise InputError(
            "there is a column p and none called count, so these look like probabilities, and estimates want"
            " counts; use `bestchannel capacity`, or say which column is count (columns= or --columns)"
        )
    return found


def _dividing_comma(text: str) -> int | None:
    """The place of the first comma inside one pair of brackets, if the text is `(..., ...)`."""
    if not text.startswith("(") or not text.endswith(")"):
        return None
    depth = 0
    for i, sign in enumerate(text):
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and depth == 1:
            return i
    return None
