"""Matrices as delimited text: one bare matrix, with or without labels above and beside it, or rows channel, x, y, p."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from bestchannel.arrays import ROUNDING, Floats
from bestchannel.channels import Channel
from bestchannel.counts.column_names import proposal, role_of, stated
from bestchannel.counts.disk import Hints, OpenFile
from bestchannel.counts.labelled_counts import Columns, unknown_columns
from bestchannel.counts.long_table import LongTable, coded, constant, probability_columns
from bestchannel.counts.named_matrix import NamedMatrix, refuse_long_side
from bestchannel.counts.text_log import as_number, is_long_header
from bestchannel.counts.text_table import Table, read_table
from bestchannel.counts.two_readings import (
    reading,
    refuse_either,
    refuse_numbered_rows,
    refuse_rows_in_doubt,
    refuse_unnamed,
)
from bestchannel.errors import InputError

_CORNERS = frozenset(["", "x", "input", "inputs", "x\\y", "x/y"])
"""What may stand in the corner above a column of labels, in small letters."""

_BESIDE = ("x", "y", "channel")
"""What the title of labels beside a matrix may say that these are."""

_PADDED = re.compile(r"0[0-9]+")
_BITS = re.compile(r"[01]{4,}")
"""What no number of senses looks like, and what none looks like where it is alone in every line."""

_NEEDS_QUOTES = re.compile(r'[,;\t"\r\n]|^\s|\s$')


def read_matrices(source: OpenFile) -> list[NamedMatrix]:
    """The matrix of a text file that is no log."""
    return [bare_matrix(read_table(source.content()), source.name, source.hints, counts=True)]


def read_long(source: OpenFile) -> list[NamedMatrix]:
    """The channels of a text file, one row per cell under a header, or one bare matrix."""
    table, hints = read_table(source.content()), source.hints
    if hints.form == "matrix" or (hints.columns is None and hints.form is None and not _is_long(table)):
        return [bare_matrix(table, source.name, hints)]
    columns = hints.columns
    if not isinstance(columns, Mapping | None):
        table, columns = replace(table, rows=[list(columns), *table.rows], lines=[0, *table.lines]), None
    return list(_long_table(table, source.name, columns).matrices(hints.transpose))


def _is_long(table: Table) -> bool:
    """Whether the table has rows channel, x, y, p; refused where it may be a matrix as well."""
    header, *rows = table.rows
    if not is_long_header(header) or not rows:
        return is_long_header(header)
    found = reading(header, rows, partial(_are_probabilities, table))
    titles = [title.strip().casefold() for title in header]
    if found is None and {"x", "y", "p"} <= set(titles):
        refuse_either(header, {role: role for role in ("channel", "x", "y", "p") if role in titles})
    return found == "rows"


def _are_probabilities(table: Table, cells: Sequence[str]) -> bool:
    numbers = [table.number(cell) for cell in cells]
    return all(number is not None and number >= 0 for number in numbers) and (
        abs(sum(number or 0.0 for number in numbers) - 1) <= ROUNDING
    )


def _long_table(table: Table, name: str, columns: Columns) -> LongTable:
    header, rows = table.rows[0], table.rows[1:]
    found = probability_columns(header, columns)
    table.refuse_ragged(len(header), 1)
    if not rows:
        raise InputError("there must be lines after the header; there is none")

    def place(i: int) -> str:
        return f"line {table.lines[i + 1]}"

    sides = {role: coded([row[i] for row in rows]) for role, i in found.items() if role != "p"}
    p = found["p"]
    return LongTable(
        sides.get("channel", constant(name, len(rows))),
        sides["x"],
        sides["y"],
        table.numbers([row[p] for row in rows], lambda i: f'{place(i)}, column "{header[p].strip()}"'),
        place,
    )


def render(channels: Mapping[str, Channel]) -> bytes:
    """The channels as a long table, one line per cell."""
    lines = ["channel,x,y,p"]
    for name, channel in channels.items():
        lines.extend(_cell_lines(name, channel))
    return "\n".join([*lines, ""]).encode()


def _cell_lines(name: str, channel: Channel) -> Iterator[str]:
    outputs = [_quoted(label) for label in channel.outputs]
    for label, row in zip(channel.inputs, channel.W.tolist(), strict=True):
        start = f"{_quoted(name)},{_quoted(label)}"
        yield from (f"{start},{output},{p!r}" for output, p in zip(outputs, row, strict=True))


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if _NEEDS_QUOTES.search(text) else text


def bare_matrix(table: Table, name: str, hints: Hints, *, counts: bool = False, titled: bool = False) -> NamedMatrix:
    """The matrix as it stands in the file; `titled` says that the first line is labels.

    The first line is labels if its first cell is a blank corner, or if it has text and
    whole numbers only. The first column is labels if it stands below a corner, if it is
    all text, or if it is distinct whole numbers beside rows that sum to 1 without it.
    """
    refuse_long_side(name, len(table.rows))
    if table.gap is not None:
        raise InputError(f"line {table.gap} is blank, and a file holds one matrix; remove the line, or split the file")
    if hints.form is None:
        refuse_unnamed(table.rows, lambda cell: table.number(cell) is not None)
    start = 1 if titled or _starts_with_labels(table) else 0
    above = table.rows[0] if start else None
    if hints.form is None:
        _refuse_other_columns(table, above, counts)
    column = [row[0] for row in table.rows[start:]]
    width = _refuse_ragged(table, above, column)
    rest = _numbers(table, start, 1)
    labelled = width > 1 and (
        _has_corner(table, above, column, width, hints) or _is_labels(table, column, rest, hints.transpose)
    )
    rows, beside = (rest, column) if labelled else (_numbers(table, start, 0), None)
    corner = above[0] if above is not None and beside is not None and len(above) == width else ""
    if hints.form is None and above is not None:
        refuse_channels(above[0], beside or (), above[1:])
        if beside is not None and counts:
            refuse_numbered_rows(beside, above[len(above) - rows.shape[1] :])
    if hints.form is None:
        _refuse_bits([row if beside is None else row[1:] for row in table.rows[start:]])
        _refuse_doubt(rows, above, beside, counts)
    if above is not None:
        above = above[len(above) - rows.shape[1] :]
    _refuse_blank([*(above or ()), *(beside or ())])
    first, _, second = re.sub(r"[\\/|]", "\n", corner).partition("\n")
    if hints.transpose:
        return NamedMatrix(name, rows, above, beside, titles=(second, first), doubtful=hints.form is None)
    return NamedMatrix(name, rows, beside, above, titles=(first, second), doubtful=hints.form is None)


def refuse_channels(corner: str, beside: Sequence[str], above: Sequence[str]) -> None:
    """Refuse lines of counts that are channels by the title of their labels, as below channel,n00,n01,n10,n11."""
    if role_of(corner) == "channel" and sorted(beside) != sorted(above):
        raise InputError(
            f"the first column is called {corner.strip()}, so that each line may be the counts of one channel; write"
            " these as rows channel,x,y,count, or, if the lines are the inputs of one channel, --form matrix"
            " (form='matrix')"
        )


def _refuse_bits(rows: Sequence[Sequence[str]]) -> None:
    """Refuse numbers that begin with 0, and lines of many digits 0 and 1, which are strings of bits and no counts."""
    lines = all(len(row) == 1 and _BITS.fullmatch(row[0].strip()) for row in rows)
    bits = next((cell.strip() for row in rows for cell in row if lines or _PADDED.fullmatch(cell.strip())), None)
    if bits is not None:
        raise InputError(
            f"{bits!r} looks like a string of bits or a label and not like a number of senses; write one sense a line,"
            " what was sent and what came, below the names x,y, or, if it is a number, --form matrix (form='matrix')"
        )


def _refuse_blank(labels: Sequence[str]) -> None:
    """Refuse a label of nothing: it may be a cell that was left out, or a line of labels that looks blank."""
    if not all(map(str.strip, labels)):
        raise InputError(f"the labels above and beside a matrix must not be blank; they are {', '.join(labels[:20])}")


def _refuse_other_columns(table: Table, above: Sequence[str] | None, counts: bool) -> None:
    """Refuse names above columns of text that are no labels: more than one, or one in which texts come again."""
    if above is None or len(table.rows[1]) > len(above) or any(not c or table.number(c) is not None for c in above):
        return
    below = [[row[i] for row in table.rows[1:] if i < len(row)] for i in range(len(above))]
    texts = [column for column in below if not any(table.number(cell) is not None for cell in column)]
    if len(texts) > 1 or (texts and (len(above) == 2 or len(set(texts[0])) < len(texts[0]))):
        missing = [role for role in ("x", "y") if role not in map(str.casefold, map(str.strip, above))]
        raise InputError(unknown_columns(above, missing, "count" if counts else "p"))


def _refuse_doubt(rows: Floats, above: Sequence[str] | None, beside: Sequence[str] | None, counts: bool) -> None:
    """Refuse what may be a log, or labels where numbers are."""
    if above is None:
        _refuse_counting(rows)
    if counts and beside is not None and above is None and (_rises(rows[0]) or role_of(beside[0]) == "x"):
        raise InputError(_labels_or_counts("line", rows[0]))
    if counts and beside is None:
        refuse_rows_in_doubt(above, rows)
        if above is None:
            _refuse_numbered(rows)
        elif _may_be_labels(rows) or (rows.shape[1] > 1 and role_of(above[0]) in ("x", "y")):
            raise InputError(_labels_or_counts("column", rows[:, 0], proposal(above)))


def _refuse_numbered(rows: Floats) -> None:
    """Refuse a first line or a first column 0, 1, 2, ... of counts, which may be labels."""
    for side, line, rest in (("line", rows[0], rows[1:]), ("column", rows[:, 0], rows[:, 1:])):
        numbered = any(np.array_equal(line, np.arange(len(line)) + first) for first in (0, 1))
        if len(line) > 1 and min(rest.shape) > 0 and numbered and rest.max() > len(line):
            raise InputError(_labels_or_counts(side, line))


def _may_be_labels(rows: Floats) -> bool:
    """Whether the first column numbers the rows, or rises beside a square matrix."""
    first = rows[:, 0]
    if min(rows.shape) < 2:
        return False
    numbered = any(np.array_equal(first, np.arange(len(first)) + start) for start in (0, 1))
    return numbered or (rows.shape[1] == len(rows) + 1 and _rises(first))


def _rises(line: Floats) -> bool:
    return len(line) > 1 and bool(np.all(np.diff(line) > 0))


def _labels_or_counts(side: str, line: Floats, columns: Mapping[str, str] | None = None) -> str:
    rows = f"--columns {stated(columns)} (columns={columns} in Python) for rows, " if columns else ""
    return (
        f"the first {side} ({', '.join(f'{label:g}' for label in line[:5])}) may be labels or counts; write {rows}"
        "--form matrix (form='matrix') for counts, or begin with a blank cell above and beside labels"
    )


def _starts_with_labels(table: Table) -> bool:
    first, *others = table.rows
    if not others:
        return False
    if len(first) > 1 and _is_corner(first):
        return True
    if "" in first or _has_fractions(table, first):
        return False
    numbers = [table.number(cell) for cell in first]
    if None in (numbers[1:] or numbers):
        return True
    # text above numbers, as in `sent,0,1` above `0,0.9,0.1`
    return numbers[0] is None and None not in [table.number(row[0]) for row in others]


def _is_corner(line: Sequence[str]) -> bool:
    """Whether the first cell stands above labels of inputs; x beside y is an output like y."""
    cells = [cell.strip().casefold() for cell in line]
    if cells[0] in _CORNERS:
        return not (cells[0] == "x" and "y" in cells)
    return role_of(cells[0]) in _BESIDE and all(as_number(cell, False) is not None for cell in cells[1:])


def _refuse_ragged(table: Table, above: Sequence[str] | None, column: Sequence[str]) -> int:
    """The number of cells of each line; labels above a column of labels may leave the corner out."""
    start = 0 if above is None else 1
    width = len(table.rows[0])
    if above is not None and len(table.rows[1]) == width + 1 and not _has_fractions(table, column):
        width += 1
    table.refuse_ragged(width, start)
    return width


def _has_fractions(table: Table, cells: Sequence[str]) -> bool:
    return any(number is not None and not number.is_integer() for number in map(table.number, cells))


def _has_corner(table: Table, above: Sequence[str] | None, column: Sequence[str], width: int, hints: Hints) -> bool:
    if above is None:
        return False
    if len(above) < width or _is_corner(above):
        return True
    is_matrix = hints.form is not None or proposal(above, strict=True) is None
    if width > 2 and role_of(above[0]) in _BESIDE and is_matrix:
        return len(set(column)) == len(column) and not _has_fractions(table, column)
    only_text = table.number(above[0]) is None and None not in map(table.number, above[1:])
    return only_text and not _has_fractions(table, column)


def _is_labels(table: Table, column: Sequence[str], rest: Floats, transpose: bool) -> bool:
    numbers = [number for number in map(table.number, column) if number is not None]
    if len(numbers) < len(column):
        return not numbers
    if _has_fractions(table, column) or len(set(numbers)) < max(2, len(column)) or not np.any(rest % 1):
        return False
    if transpose and sum(numbers) == 1:
        return False
    sums = rest.sum(axis=0 if transpose else 1)
    return bool(np.all(np.abs(sums - 1) <= ROUNDING))


def _numbers(table: Table, start: int, first: int) -> Floats:
    """The numbers from row `start` and column `first` on."""

    def place(line: int, i: int) -> str:
        return f"line {line}, column {first + i + 1} of a bare matrix (no header has x, y and p)"

    lines = zip(table.lines[start:], table.rows[start:], strict=True)
    return np.array([table.numbers(row[first:], partial(place, line)) for line, row in lines])


def _refuse_counting(rows: Floats) -> None:
    """Refuse a first row 0, 1, 2, ... above fractions, which `normalize` would take for probabilities."""
    first = rows[0]
    if np.max(first) > 1 and not np.any(first % 1) and len(set(first)) == len(first) and np.any(rows % 1):
        raise InputError(
            f"the first line looks like labels ({', '.join(f'{label:g}' for label in first[:5])}), and a line of labels"
            " must have text in it; give it a blank first cell above a column of input labels, or leave it out"
        )
