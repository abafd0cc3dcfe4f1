"""Delimited text as one table of fields that know their lines."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from bestchannel.arrays import Floats
from bestchannel.counts.disk import decoded, refuse_too_many_fields
from bestchannel.counts.long_table import refuse_not_finite
from bestchannel.counts.text_log import as_number, delimiter_of, in_doubt, is_comment, split_rows, without_comments
from bestchannel.errors import InputError

_EXACT = 2.0**53


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
        found = [self.number(field) for field in fields]
        if None in found:
            bad = found.index(None)
            raise InputError(f"{place(bad)} must be a number; it is {reprlib.repr(fields[bad])}")
        values = np.array(found, np.float64)
        refuse_not_finite(values, place)
        for i in np.flatnonzero(np.abs(values) >= _EXACT).tolist():
            if fields[i].strip().isdigit() and int(fields[i]) != int(values[i]):
                raise InputError(f"{place(i)} must be at most 2^53 to be read exactly; it is {fields[i].strip()}")
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
    """Text delimited by commas, semicolons, tabs or spaces, as a table of at least one row.

    With semicolons, numbers may have a decimal comma. Spaces before a field are dropped
    unless the field is quoted.
    """
    text = without_comments(decoded(data))
    delimiter = delimiter_of(text)
    refuse_too_many_fields(text, delimiter, "\r", "\n")
    rows: list[list[str]] = []
    lines: list[int] = []
    blank: list[int] = []
    for row, line in split_rows(text, delimiter):
        if any(map(str.strip, row)):
            rows.append(row)
            lines.append(line)
        else:
            blank.append(line)
    widths = {len(row) for row in rows if not is_comment(row, -1)}
    kept = [i for i, row in enumerate(rows) if len(row) in widths]
    rows, lines = [rows[i] for i in kept], [lines[i] for i in kept]
    if not rows:
        raise InputError("the file holds no lines but blank ones")
    doubtful = in_doubt(cell for row in rows for cell in row)
    if doubtful is not None:
        raise InputError(
            f"numbers must be written without a sign between thousands; {doubtful.strip()} may be"
            f" {re.sub('[.,]', '', doubtful).strip()} or {re.sub('[.,].*', '', doubtful).strip()}"
        )
    gap = next((line for line in blank if lines[0] < line < lines[-1]), None)
    return Table(rows, lines, delimiter == ";", gap)
