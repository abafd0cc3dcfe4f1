"""What a row of a text log says: what every form of rows offers, and leakiEst's `(input, output)`."""

from __future__ import annotations

import io
import reprlib
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from numpy.typing import NDArray

from bestchannel.errors import InputError

Labels = tuple[str, str, str]
"""Channel, x and y of a row."""

_COMMENTS = ("//", "#", "%")


class RowForm(Protocol):
    """How the rows of a text log are split and understood.

    `delimiter` and `quote` are empty where a row is one field. `key` numbers the columns that
    make the labels, `count` and `time` those with counts and times, if there are such; a row has `width` fields.
    """

    delimiter: str
    quote: str
    width: int
    key: Sequence[int]
    count: int | None
    time: int | None

    def rows(self, text: str, line: int = 1) -> Iterator[tuple[list[str], int]]:
        """The rows of the text that are not blank, each with its line; the text starts at `line`."""

    def unquoted(self, field: str, line: int) -> str:
        """What a field says, as it is spelled in the file."""

    def labels(self, row: Sequence[str], place: str) -> Labels | None:
        """The labels of the row, or None for a comment; only the columns of `key` are looked at."""

    def count_of(self, row: Sequence[str], place: str) -> int:
        """How often the row counts, a whole number from 0 on; 1 where there is no column for it."""

    def times(self, fields: Sequence[str]) -> NDArray[Any] | None:
        """The times that the fields of the column for them say, if there is one and all say one."""


class Pairs:
    """One trial per line, `(input, output)`, as leakiEst's observation files have it [CKN13]; // and # begin comments.

    The comma that divides is the first outside inner brackets, so `((1, 2), a)` has the input `(1, 2)`.
    """

    delimiter: str = ""
    quote: str = ""
    width: int = 1
    key: Sequence[int] = (0,)
    count: int | None = None
    time: int | None = None

    def __init__(self, name: str) -> None:
        self.name = name

    def rows(self, text: str, line: int = 1) -> Iterator[tuple[list[str], int]]:
        """The lines that are not blank."""
        for number, content in enumerate(io.StringIO(text, newline=""), line):
            if content.strip():
                yield [content.rstrip("\r\n")], number

    def unquoted(self, field: str, line: int) -> str:
        """The line as it is."""
        return field

    def labels(self, row: Sequence[str], place: str) -> Labels | None:
        """The channel is named after the file."""
        text = row[0].strip()
        if text.startswith(_COMMENTS):
            return None
        comma = _dividing_comma(text)
        if comma is None:
            raise InputError(f"{place} must be a trial (input, output); it is {reprlib.repr(text)}")
        return self.name, text[1:comma], text[comma + 1 : -1]

    def count_of(self, row: Sequence[str], place: str) -> int:
        """A line is one trial."""
        return 1

    def times(self, fields: Sequence[str]) -> NDArray[Any] | None:
        """None: no line says when it was."""


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
