"""Delimited text: bytes become rows of cells that know their lines."""

from __future__ import annotations

import csv
import io
import math
import re
import reprlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bestchannel.arrays import Floats
from bestchannel.counts.disk import decoded
from bestchannel.errors import InputError


@dataclass(frozen=True)
class Table:
    """Rows of cells, blank rows left out; row i starts on line `lines[i]`, counted from 1.

    `gap` is the first blank line with a row before and after it, if there is one.
    """

    rows: list[list[str]]
    lines: list[int]
    decimal_comma: bool
    gap: int | None

    def number(self, cell: str) -> float | None:
        """The number that the cell holds, or None."""
        return as_number(cell, self.decimal_comma)

    def numbers(self, cells: Sequence[str], place: Callable[[int], str]) -> Floats:
        """The finite numbers that the cells hold; `place(i)` names cell i in a refusal."""
        texts = [cell.replace(",", ".") for cell in cells] if self.decimal_comma else cells
        try:
            values = np.fromiter(map(float, texts), np.float64, len(texts))
        except ValueError:
            bad = next(i for i, cell in enumerate(cells) if self.number(cell) is None)
            raise InputError(f"{place(bad)} must be a number; it is {reprlib.repr(cells[bad])}") from None
        refuse_not_finite(values, place)
        return values

    def refuse_ragged(self, width: int, first: int) -> None:
        """Refuse the first row from number `first` on that has not `width` cells."""
        for line, row in zip(self.lines[first:], self.rows[first:], strict=True):
            if len(row) != width:
                raise InputError(
                    f"line {line} must have {width} cells like the lines before it; it has {len(row)},"
                    f" the first being {reprlib.repr(row[0])}"
                )


def read_table(data: bytes) -> Table:
    """Text delimited by commas, semicolons or tabs, as a table of at least one row.

    With semicolons, numbers may have a decimal comma. Spaces before a cell are dropped
    unless the cell is quoted.
    """
    text = decoded(data)
    delimiter = delimiter_of(text)
    rows: list[list[str]] = []
    lines: list[int] = []
    blank: list[int] = []
    for row, line in split_rows(text, delimiter):
        if any(map(str.strip, row)):
            rows.append(row)
            lines.append(line)
        else:
            blank.append(line)
    if not rows:
        raise InputError("the file holds no lines but blank ones")
    gap = next((line for line in blank if lines[0] < line < lines[-1]), None)
    return Table(rows, lines, delimiter == ";", gap)


def split_rows(text: str, delimiter: str, first: int = 1) -> Iterator[tuple[list[str], int]]:
    """The rows of delimited text, blank ones too, each with the line at which it starts; the text starts at `first`."""
    # newline="" leaves the line ends inside quoted cells as they are
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True, strict=True)
    start = first
    try:
        for row in reader:
            yield row, start
            start = first + reader.line_num
    except csv.Error as error:
        raise InputError(f"line {start} cannot be split into cells ({error})") from None


def as_number(cell: str, decimal_comma: bool) -> float | None:
    """The number that the cell holds, or None."""
    try:
        return float(cell.replace(",", ".") if decimal_comma else cell)
    except ValueError:
        return None


def finite_or_refused(number: float | None, cell: str, place: str) -> float:
    """The number that the cell holds, refused where there is none or no finite one."""
    if number is None:
        raise InputError(f"{place} must be a number; it is {reprlib.repr(cell)}")
    if not math.isfinite(number):
        raise InputError(f"{place} must be a finite number; it is {number:g}")
    return number


def refuse_not_finite(values: Floats, place: Callable[[int], str]) -> None:
    """Refuse the first NaN or infinity; `place(i)` names value i."""
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise InputError(f"{place(int(bad[0]))} must be a finite number; it is {values[bad[0]]:g}")


def delimiter_of(text: str) -> str:
    """The delimiter of the first line that is not blank.

    A comma beside a semicolon or a tab is a decimal comma or part of a label.
    """
    unquoted = re.sub(r'"[^"]*"', "", text[:100_000]).lstrip("\r\n ")
    first_line = re.split(r"[\r\n]", unquoted, maxsplit=1)[0]
    return next((sign for sign in ";\t" if sign in first_line), ",")
