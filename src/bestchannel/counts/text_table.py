"""Delimited text as one table of fields that know their lines."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from bestchannel.arrays import Floats
from bestchannel.counts.disk import decoded
from bestchannel.counts.long_table import refuse_not_finite
from bestchannel.counts.text_log import as_number, delimiter_of, split_rows
from bestchannel.errors import InputError


@dataclass(frozen=True)
class Table:
    """Rows of fields, blank rows left out; row i starts on line `lines[i]`, counted from 1.

    `gap` is the first blank line with a row before and after it, if there is one.
    """

    rows: list[list[str]]
    lines: list[int]
    decimal_comma: bool
    gap: int | None

    def number(self, field: str) -> float | None:
        """The number that the field holds, or None."""
        return as_number(field, self.decimal_comma)

    def numbers(self, fields: Sequence[str], place: Callable[[int], str]) -> Floats:
        """The finite numbers that the fields hold; `place(i)` names field i in a refusal."""
        texts = [field.replace(",", ".") for field in fields] if self.decimal_comma else fields
        try:
            values = np.fromiter(map(float, texts), np.float64, len(texts))
        except ValueError:
            bad = next(i for i, field in enumerate(fields) if self.number(field) is None)
            raise InputError(f"{place(bad)} must be a number; it is {reprlib.repr(fields[bad])}") from None
        refuse_not_finite(values, place)
        return values

    def refuse_ragged(self, width: int, first: int) -> None:
        """Refuse the first row from number `first` on that has not `width` fields."""
        for line, row in zip(self.lines[first:], self.rows[first:], strict=True):
            if len(row) != width:
                raise InputError(
                    f"line {line} must have {width} fields like the lines before it; it has {len(row)},"
                    f" the first being {reprlib.repr(row[0])}"
                )


def read_table(data: bytes) -> Table:
    """Text delimited by commas, semicolons or tabs, as a table of at least one row.

    With semicolons, numbers may have a decimal comma. Spaces before a field are dropped
    unless the field is quoted.
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
