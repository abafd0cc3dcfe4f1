"""Matrices as delimited text: one bare matrix, with or without labels above and beside it, or rows channel, x, y, p.

A confusion matrix whose classes are called x and y begins like a log, and a log without names, or with names that
nobody knows, looks like a matrix. The whole shape decides, and where two readings remain both are shown.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestchannel.arrays import ROUNDING, Floats
from bestchannel.channels import Channel
from bestchannel.counts import long_table, text_log
from bestchannel.counts.columns import is_count_word, option, probability_columns, proposal, role_of, say_roles, way_out
from bestchannel.counts.columns import unknown_columns as unknown
from bestchannel.counts.labelled_counts import Hints, measured
from bestchannel.counts.long_table import Place, refuse_not_finite
from bestchannel.counts.named_matrix import LONGEST_LOG_ROW, NamedMatrix, refuse_long_side
from bestchannel.counts.text_log import MOST_INPUTS, as_number, is_long_header
from bestchannel.disk import OpenFile, decoded, refuse_too_many_fields
from bestchannel.errors import InputError

_CORNERS = frozenset(["", "x", "input", "inputs", "x\\y", "x/y"])
"""What may stand in the corner above a column of labels, in small letters."""

_BESIDE = ("x", "y", "channel")  # what the title of labels beside a matrix may say that these are
_CELLS, _MOST_COLUMNS = 4, 6  # cells of the least table of counts, and columns of rows that may be taken for a matrix
_FEW = 8  # up to so many rows, equal labels do not tell a log from a matrix with an index beside it
_PADDED, _BITS = re.compile(r"0[0-9]+"), re.compile(r"[01]{4,}")
"""What no number of senses looks like, and what none looks like where it is alone in every line."""

_NEEDS_QUOTES = re.compile(r'[,;\t"\r\n]|^\s|\s$')
_EXACT = 2.0**53
_SIGNED = re.compile(r"\s*[+-]?\d*[.,]\d+\s*", re.ASCII)
Cells = Sequence[str]


def read_matrices(source: OpenFile, hints: Hints) -> list[NamedMatrix]:
    """The matrix of a text file that is no log."""
    return [bare_matrix(read_table(source.content()), source.name, hints, counts=True)]


def read_long(source: OpenFile, hints: Hints) -> list[NamedMatrix]:
    """The channels of a text file, one row per cell under a header, or one bare matrix."""
    table = read_table(source.content())
    if hints.form == "matrix" or (hints.columns is None and hints.form is None and not _is_long(table)):
        return [bare_matrix(table, source.name, hints)]
    columns = hints.columns
    if not isinstance(columns, Mapping | None):
        table, columns = replace(table, rows=[list(columns), *table.rows], lines=[0, *table.lines]), None
    header, *rows = table.rows
    found = probability_columns(header, columns)
    table.refuse_ragged(len(header), 1)
    if not rows:
        raise InputError("there must be lines after the header; there is none")
    place: Place = lambda i: f"line {table.lines[i + 1]}"  # noqa: E731
    p = found["p"]
    values = table.numbers([row[p] for row in rows], lambda i: f'{place(i)}, column "{header[p].strip()}"')
    sides = {role: long_table.coded([row[i] for row in rows]) for role, i in found.items() if role != "p"}
    return long_table.matrices(sides, values, source.name, place, transpose=hints.transpose)


def _is_long(table: Table) -> bool:
    """Whether the table has rows channel, x, y, p; refused where it may be a matrix as well."""
    header, *rows = table.rows
    if not is_long_header(header) or not rows:
        return is_long_header(header)

    def are_probabilities(cells: Cells) -> bool:
        numbers = [-1.0 if number is None else number for number in map(table.number, cells)]
        return min(numbers) >= 0 and abs(sum(numbers) - 1) <= ROUNDING

    kind = reading(header, rows, are_probabilities)
    titles = [title.strip().casefold() for title in header]
    if kind is None and {"x", "y", "p"} <= set(titles):
        refuse_either(header, {role: role for role in ("channel", "x", "y", "p") if role in titles})
    return kind == "rows"


def render(channels: Mapping[str, Channel]) -> bytes:
    """The channels as a long table, one line per cell."""
    lines = ["channel,x,y,p"]
    for name, channel in channels.items():
        sides = product(map(_quoted, channel.inputs), map(_quoted, channel.outputs))
        cells = zip(sides, channel.W.ravel().tolist(), strict=True)
        lines += [f"{_quoted(name)},{x},{y},{p!r}" for (x, y), p in cells]
    return "\n".join([*lines, ""]).encode()


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if _NEEDS_QUOTES.search(text) else text


def reading(header: Cells, rows: Sequence[Cells], fits: Callable[[Cells], bool]) -> str | None:
    """What a text with x and y in its first line is, "rows" or "matrix"; None where it may be either.

    `fits(cells)` says whether the cells can be a row of a matrix.
    """
    titles, width = [title.strip() for title in header], len(header)
    labels = [row[0].strip() for row in rows]

    def fit(first: int) -> bool:
        return width > first and all(len(row) == width and fits(row[first:]) for row in rows)

    beside = len(set(labels)) == len(labels) and fit(1)
    if beside and set(labels) == set(titles[1:]) and len(labels) == len(titles) - 1:
        return None if titles[0].casefold() == "channel" else "matrix"
    if len(rows) > MOST_INPUTS:
        return "rows"
    if len(set(map(str.casefold, titles))) < len(titles):
        return None if beside else "rows"
    is_corner = titles[0].casefold() in ("x", "y") or not _is_role(titles[0])
    named = len(titles) > 2 and all(map(_is_role, titles))
    numbered = bool(titles[0]) or all(label.lstrip("-").isdigit() for label in labels)
    is_index = numbered and len(rows) > _FEW and _repeats(header, rows)  # numbers the rows of a log, as pandas' index
    if beside and is_corner and not named and not is_index:
        return None
    letters = all(len(title) == 1 and title.casefold() != "p" for title in titles)
    return None if letters and fit(0) and not _repeats(header, rows) else "rows"


def _is_role(title: str) -> bool:
    return title.casefold() in ("channel", "x", "y", "p") or (len(title) > 1 and is_count_word(title))


def _repeats(header: Cells, rows: Sequence[Cells]) -> bool:
    """Whether inputs, or outputs where no column is called x, come again and again, as in a log."""
    titles = [title.strip().casefold() for title in header]
    letters = next((titles.index(role) for role in ("x", "y") if role in titles), None)
    return letters is not None and 2 * len({row[letters].strip() for row in rows if letters < len(row)}) <= len(rows)


def refuse_either(header: Cells, columns: dict[str, str]) -> None:
    """Say that the first line can be read in two ways, and how to say which."""
    raise InputError(
        f"the first line ({', '.join(header[:20])}) may name the columns of rows or the outputs of a matrix; write"
        f" {option(columns)} for rows, or --form matrix (form='matrix')"
    )


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
        _refuse_unnamed(table.rows, lambda cell: table.number(cell) is not None)
    start = 1 if titled or _starts_with_labels(table, hints) else 0
    above = table.rows[0] if start else None
    if hints.form is None:
        _refuse_other_columns(table, above, counts)
    column = [row[0] for row in table.rows[start:]]
    width = len(table.rows[0])
    if above is not None and len(table.rows[1]) == width + 1 and not _has_fractions(table, column):
        width += 1  # labels above a column of labels may leave the corner out
    table.refuse_ragged(width, start)
    rest = _numbers(table, start, 1)
    labelled = width > 1 and (
        _has_corner(table, above, column, width, hints) or _is_labels(table, column, rest, hints.transpose)
    )
    rows, beside = (rest, column) if labelled else (_numbers(table, start, 0), None)
    corner = above[0] if above is not None and beside is not None and len(above) == width else ""
    if hints.form is None and above is not None:
        refuse_channels(above[0], beside or (), above[1:])
        if beside is not None and 2 * len(set(beside)) <= len(beside) > 2:
            raise InputError(_unknown(above, counts))  # labels that come again, as below x,adc
        if beside is not None and counts:
            refuse_rows_beside(corner, beside, above[len(above) - rows.shape[1] :], rows)
    if hints.form is None:
        _refuse_bits([row if beside is None else row[1:] for row in table.rows[start:]])
        _refuse_doubt(table, rows, above, beside, counts, hints)
    if above is not None:
        above = above[len(above) - rows.shape[1] :]
    labels = [*(above or ()), *(beside or ())]
    if not all(map(str.strip, labels)):  # a cell that was left out, or a line of labels that looks blank
        raise InputError(f"the labels above and beside a matrix must not be blank; they are {', '.join(labels[:20])}")
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


def _refuse_other_columns(table: Table, above: Cells | None, counts: bool) -> None:
    """Refuse names above columns of text that are no labels: more than one, or one in which texts come again."""
    if above is None or len(table.rows[1]) > len(above) or any(not c or table.number(c) is not None for c in above[1:]):
        return
    below = [[row[i] for row in table.rows[1:] if i < len(row)] for i in range(len(above))]
    if not above[0] and None in map(table.number, below[0]):
        return  # a blank corner, and not the name of an index that pandas or R wrote
    texts = [column for column in below if not any(table.number(cell) is not None for cell in column)]
    if len(texts) > 1 or (texts and (len(above) == 2 or len(set(texts[0])) < len(texts[0]))):
        raise InputError(_unknown(above, counts))


def _unknown(above: Cells, counts: bool) -> str:
    """What is said of names above columns that do not say which is x and which is y."""
    missing = [role for role in ("x", "y") if role not in map(str.casefold, map(str.strip, above))]
    return unknown(above, missing, "count" if counts else "p")


def _refuse_doubt(
    table: Table, rows: Floats, above: Cells | None, beside: Cells | None, counts: bool, hints: Hints
) -> None:
    """Refuse what may be a log, or labels where numbers are."""
    first, whole = rows[0], not np.any(rows % 1)
    if above is None and np.max(first) > 1 and not np.any(first % 1) and len(set(first)) == len(first) and not whole:
        raise InputError(  # which `normalize` would take for probabilities
            f"the first line looks like labels ({_listed(first)}), and a line of labels must have text in it; give it a"
            " blank first cell above a column of input labels, or leave it out"
        )
    # whole numbers are counts, which `normalize` would divide, unless they are the probabilities 0 and 1
    if not counts and not (whole and np.any(rows.sum(axis=0 if hints.transpose else 1) != 1)):
        return
    if beside is not None:
        if above is None and (_rises(first) or role_of(beside[0]) in _BESIDE):
            raise InputError(_labels_or_counts("line", first))
        return
    _refuse_rows_in_doubt(above, rows)
    if above is None:
        for side, line, rest in (("line", first, rows[1:]), ("column", rows[:, 0], rows[:, 1:])):
            if min(rest.shape) > 0 and _is_numbered(line) and rest.max() > len(line):
                raise InputError(_labels_or_counts(side, line))
        return
    # a title above labels, or an output beside others that are called by numbers
    odd_one = table.number(above[0]) is None and None not in map(table.number, above[1:])
    n_rows, width, column = *rows.shape, rows[:, 0]
    numbered = _is_numbered(column) or (width == n_rows + 1 and _rises(column))  # or rises beside a square matrix
    if width > 1 and (numbered or odd_one or role_of(above[0]) in ("x", "y")):
        labels = _has_corner(table, above, [row[0] for row in table.rows[1:]], len(above), Hints(form="matrix"))
        raise InputError(_labels_or_counts("column", column, proposal(above), "labels" if labels else "counts"))


def _refuse_rows_in_doubt(header: Cells | None, cells: NDArray[Any]) -> None:
    """Refuse a matrix without labels beside it, or with an index, that looks like rows of a log."""
    n_rows, width = cells.shape
    whole, few = not np.any(cells % 1), 1 < width <= LONGEST_LOG_ROW and n_rows > width
    before = cells[:, :-1]
    trials = few and 2 * len(np.unique(cells, axis=0)) <= n_rows
    if 1 < width <= _MOST_COLUMNS and n_rows > max(_FEW, 2 * width):  # senses beside something else that was noted
        trials = trials or sum(2 * len(np.unique(column)) <= n_rows for column in cells.T) > 1
    labels = None  # of cells: under names they may be anywhere, otherwise they are before the counts
    if whole and 2 < width <= _MOST_COLUMNS and n_rows >= _CELLS:
        places = range(width if header else width - 1)
        some = (p for size in (2, 3) if size < width for p in combinations(places, size))
        labels = next((p for p in some if _are_pairs(cells[:, p])), None)
    # every line but its last cell, which has fractions in some, comes again and again
    is_soft = 1 < width < LONGEST_LOG_ROW and np.any(cells[:, -1] % 1) and not np.any(before % 1)
    measured = is_soft and not np.all(np.abs(cells.sum(axis=1) - 1) < ROUNDING)
    measured = measured and 2 * len(np.unique(before, axis=0)) <= n_rows
    known = header is not None and whole and _sound_like_columns(header)
    if known or (whole and (labels or trials)) or (header is None and measured):
        columns = proposal(header, strict=labels is not None)
        if columns is None and header and labels:
            columns = dict(zip(("channel", "x", "y")[-len(labels) :], (header[i].strip() for i in labels), strict=True))
            further = [header[i].strip() for i in range(width) if i not in labels]
            columns |= {"count": further[0]} if len(further) == 1 else {}
        way = f"write {option(columns) if columns else unnamed(width, counted=labels is not None)} for rows"
        if columns is None and header is not None:
            way = way_out(header)
        raise InputError(
            f"the {n_rows} lines may be rows of a log or of counts, or a matrix with {n_rows} inputs; {way}, or"
            " --form matrix (form='matrix')"
        )


def _sound_like_columns(titles: Cells) -> bool:
    """Whether titles say roles, or one is called as a side, other than true, and the others may be the rest."""
    sides = {role_of(title) for title in titles if title.strip().casefold() != "true"}
    return say_roles(titles) or (not sides.isdisjoint({"x", "y"}) and proposal(titles) is not None)


def _are_pairs(cells: NDArray[Any]) -> bool:
    """Whether the lines are all different, and made of few labels each."""
    few = all(2 * len(np.unique(column)) <= len(cells) for column in cells.T)
    return few and len(np.unique(cells, axis=0)) == len(cells)


def _refuse_unnamed(rows: Sequence[Cells], is_number: Callable[[str], bool]) -> None:
    """Refuse rows of labels without a line of names above: a text beside numbers, or labels that come again."""
    width = len(rows[0])
    if not 2 <= width <= LONGEST_LOG_ROW or len(rows) < 2 or any(len(row) != width for row in rows):
        return
    columns = [[row[i].strip() for row in rows] for i in range(width)]
    texts = [i for i, column in enumerate(columns) if not any(map(is_number, column[1:]))]
    beside = texts == [0] and len(set(columns[0])) == len(rows)  # the labels of a matrix
    labels = [i for i in range(width) if i in texts or i < width - 1]
    if texts and not beside and all(columns[i][0] in columns[i][1:] for i in labels):
        pairs = list(zip(*columns[:-1], strict=True))
        counted = width > 2 and width - 1 not in texts and len(set(pairs)) == len(pairs)
        raise InputError(
            f"the {len(rows)} lines look like rows without names above them, as {','.join(rows[0])} comes again; write"
            f" {unnamed(width, counted=counted)}, or what else their columns are"
        )


def unnamed(width: int, *, counted: bool) -> str:
    """How to say what the columns of rows without a header are."""
    names = {2: ["x", "y"], 3: ["x", "y", "count"] if counted else ["channel", "x", "y"]}
    found = names.get(width, ["channel", "x", "y", "count"])
    return f"--columns {','.join(found)} (columns={found} in Python)"


def refuse_rows_beside(title: str, beside: Cells, above: Cells, cells: NDArray[Any]) -> None:
    """Refuse a matrix that may be rows beside an index of theirs, by the names of its outputs or by its cells."""
    if sorted(beside) == sorted(above):
        return
    proposed, numbers = proposal(above), all(measured(label) is not None for label in beside)
    if numbers and role_of(title) is None and cells.dtype.kind in "iuf":
        _refuse_rows_in_doubt(above, cells)
    if (numbers and _sound_like_columns(above)) or (say_roles(above) and proposed):
        raise InputError(
            f"the {len(beside)} lines may be rows below {', '.join(above[:20])}, or a matrix with these outputs;"
            f" {f'write {option(proposed)}' if proposed else 'rename x and y'} for rows, or --form matrix"
            " (form='matrix')"
        )


def _is_numbered(line: Floats) -> bool:
    return len(line) > 1 and any(np.array_equal(line, np.arange(len(line)) + first) for first in (0, 1))


def _rises(line: Floats) -> bool:
    return len(line) > 1 and bool(np.all(np.diff(line) > 0))


def _labels_or_counts(
    side: str, line: Floats, columns: Mapping[str, str] | None = None, in_matrix: str = "counts"
) -> str:
    """What is said of a line or column that may be either; in a matrix by `form` it is `in_matrix`."""
    rows = f"{option(columns)} for rows, " if columns else ""
    other = "leave the cell above labels blank (pandas: set_index)"
    if in_matrix == "labels":
        other = "put input labels under a blank cell before counts (pandas: as the index)"
    elif side == "line":
        other = "begin with a blank cell above and beside labels"
    return (
        f"the first {side} ({_listed(line)}) may be labels or counts; write {rows}--form matrix (form='matrix') for"
        f" {in_matrix}, or {other}"
    )


def _listed(line: Floats) -> str:
    return ", ".join(f"{label:g}" for label in line[:5])


def _starts_with_labels(table: Table, hints: Hints) -> bool:
    first, *others = table.rows
    if not others:
        return False
    numbers = [table.number(cell) for cell in first]
    if len(first) > 1 and (_is_corner(first) or _is_titled(table, first, first[1:], [row[0] for row in others], hints)):
        return True
    if "" in first or _has_fractions(table, first):
        return False
    if None in (numbers[1:] or numbers):
        return True
    # text above numbers, as in `sent,0,1` above `0,0.9,0.1`
    return numbers[0] is None and None not in [table.number(row[0]) for row in others]


def _is_corner(line: Sequence[str]) -> bool:
    """Whether the first cell stands above labels of inputs; x beside y is an output like y."""
    cells = [cell.strip().casefold() for cell in line]
    return cells[0] in _CORNERS and not (cells[0] == "x" and "y" in cells)


def _is_titled(table: Table, line: Cells, labels: Cells, others: Cells, hints: Hints) -> bool:
    """Whether the line begins with a title as `sent`, goes on with numbers, and `labels` are such and not counts.

    Whole numbers may be counts, unless they number the letters or are the `others` too, or `form` says that the title
    is one.
    """
    if not _is_title(line) or None in map(table.number, line[1:]):
        return False
    return hints.form is not None or (len(line) > 2 and _are_labels(table, labels, others))


def _is_title(line: Cells) -> bool:
    """Whether the first cell says what labels are, as `sent` or `true label`, and is no label itself, as `tx0`."""
    alike = {role_of(line[0])} == {*map(role_of, line[1:])}  # as tx0, tx1
    return role_of(line[0]) in _BESIDE and not alike and not re.search(r"\d", line[0])


def _are_labels(table: Table, cells: Cells, others: Cells) -> bool:
    """Whether cells are no counts, or number letters, or are the labels of the other side too."""
    counts = [n for n in map(table.number, cells) if n is not None and n >= 0 and n % 1 == 0]
    alike = sorted(map(str.strip, cells)) == sorted(map(str.strip, others))
    return len(counts) < len(cells) or alike or _is_numbered(np.array(counts))


def _has_fractions(table: Table, cells: Sequence[str]) -> bool:
    return any(number is not None and not number.is_integer() for number in map(table.number, cells))


def _has_corner(table: Table, above: Cells | None, column: Sequence[str], width: int, hints: Hints) -> bool:
    """Whether what stands above the first column says that it is labels."""
    if above is None:
        return False
    if len(above) < width or _is_corner(above) or _is_titled(table, above, column, above[1:], hints):
        return True
    if hints.form is None and (proposal(above, strict=True) or not _are_labels(table, column, above[1:])):
        return False
    return width > 2 and _is_title(above) and len(set(column)) == len(column) and not _has_fractions(table, column)


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
    text = text_log.without_comments(decoded(data))
    delimiter = text_log.delimiter_of(text)
    refuse_too_many_fields(text, delimiter, "\r", "\n")
    every = [(row, line, any(map(str.strip, row))) for row, line in text_log.split_rows(text, delimiter)]
    widths = {len(row) for row, _, filled in every if filled and not text_log.is_comment(row, -1)}
    rows = [row for row, _, filled in every if filled and len(row) in widths]
    lines = [line for row, line, filled in every if filled and len(row) in widths]
    if not rows:
        raise InputError("the file holds no lines but blank ones")
    _refuse_grouped(rows)
    gap = next((line for _, line, filled in every if not filled and lines[0] < line < lines[-1]), None)
    return Table(rows, lines, delimiter == ";", gap)


def _refuse_grouped(rows: Sequence[Cells]) -> None:
    """Refuse a number as 1,000 or 1.000, unless another shows that the sign is a decimal one, as in 0,25."""
    signed = [cell for row in rows for cell in row if _SIGNED.fullmatch(cell)]
    shown = {sign for cell in signed if not text_log.GROUPED.fullmatch(cell) for sign in ".," if sign in cell}
    for cell in signed:
        if text_log.GROUPED.fullmatch(cell) and shown.isdisjoint(cell):
            raise InputError(
                f"numbers must be written without a sign between thousands; {cell.strip()} may be"
                f" {text_log.either(cell)}"
            )
