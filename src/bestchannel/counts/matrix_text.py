"""Matrices in delimited text, and rows that are read at once.

A confusion matrix whose classes are called x and y begins like a log, and a log without names, or with names that
nobody knows, looks like a matrix. The whole shape decides, and where two readings remain both are shown.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestchannel.arrays import ROUNDING, Floats
from bestchannel.channels import Channel
from bestchannel.counts.columns import SHOWN, are_rows, option, proposal, role_of, say_roles, unknown_columns, way_out
from bestchannel.counts.labelled_counts import Hints, measured
from bestchannel.counts.named_matrix import LONGEST_LOG_ROW, NamedMatrix, refuse_long_side
from bestchannel.counts.table import Part, Place, Table, coded, refuse_not_finite
from bestchannel.counts.text_log import GROUPED, as_number, delimiter_of, either, split_rows, without_comments
from bestchannel.disk import OpenFile, decoded, refuse_too_many_fields
from bestchannel.errors import InputError

_CORNERS = frozenset(["", "x", "input", "inputs", "x\\y", "x/y"])
"""What may stand in the corner above a column of labels, in small letters."""

_BESIDE = ("x", "y", "channel")  # what the title of labels beside a matrix may say that these are
_MOST_COLUMNS = 6  # columns of rows that may be taken for a matrix
_PADDED, _BITS = re.compile(r"0[0-9]+"), re.compile(r"[01]{4,}")
"""What no number of senses looks like, and what none looks like where it is alone in every line."""

_SIGNED = re.compile(r"\s*[+-]?\d*[.,]\d+\s*", re.ASCII)
_NEEDS_QUOTES = re.compile(r'[,;\t"\r\n]|^\s|\s$')
_EXACT = 2.0**53
Cells = Sequence[str]


@dataclass(frozen=True)
class Lines:
    """Rows of fields, blank rows left out; row i starts on line `lines[i]`, counted from 1.

    `gap` is the first blank line with a row before and after it, if there is one.
    """

    rows: list[list[str]]
    lines: Sequence[int]
    decimal_comma: bool = False
    gap: int | None = None

    def number(self, field: str) -> float | None:
        """The number that the field holds, or None."""
        return as_number(field, self.decimal_comma)

    def numbers(self, fields: Cells, place: Callable[[int], str]) -> Floats:
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

    def block(self, start: int, first: int) -> Floats:
        """The numbers from row `start` and column `first` on."""
        where = "of a bare matrix (no header has x, y and p)"
        lines = zip(self.lines[start:], self.rows[start:], strict=True)
        return np.array(
            [self.numbers(row[first:], lambda i, n=n: f"line {n}, column {first + i + 1} {where}") for n, row in lines]  # type: ignore[misc]
        )

    def has_fractions(self, cells: Cells) -> bool:
        """Whether one of the cells holds a number that is not whole."""
        return any(number is not None and not number.is_integer() for number in map(self.number, cells))

    def refuse_grouped(self) -> None:
        """Refuse a number as 1,000 or 1.000, unless another shows that the sign is a decimal one, as in 0,25."""
        signed = [cell for row in self.rows for cell in row if _SIGNED.fullmatch(cell)]
        shown = {sign for cell in signed if not GROUPED.fullmatch(cell) for sign in ".," if sign in cell}
        for cell in signed:
            if GROUPED.fullmatch(cell) and shown.isdisjoint(cell):
                raise InputError(
                    f"numbers must be written without a sign between thousands; {cell.strip()} may be {either(cell)}"
                )

    def refuse_ragged(self, width: int, first: int) -> None:
        """Refuse the first row from number `first` on that has not `width` fields."""
        for line, row in zip(self.lines[first:], self.rows[first:], strict=True):
            if len(row) != width:
                raise InputError(
                    f"line {line} must have {width} fields like the lines before it; it has {len(row)},"
                    f" the first being {reprlib.repr(row[0])}"
                )


def lines_of(data: bytes) -> Lines:
    """Text delimited by commas, semicolons, tabs or spaces, of at least one row.

    With semicolons, numbers may have a decimal comma.
    """
    text = without_comments(decoded(data))
    delimiter = delimiter_of(text)
    refuse_too_many_fields(text, delimiter, "\r", "\n")
    every = [(row, line, any(map(str.strip, row))) for row, line in split_rows(text, delimiter)]
    widths = {len(row) for row, _, filled in every if filled and not row[0].lstrip().startswith(("#", "%"))}
    kept = [(row, line) for row, line, filled in every if filled and len(row) in widths]
    if not kept:
        raise InputError("the file holds no lines but blank ones")
    rows, lines = [row for row, _ in kept], [line for _, line in kept]
    gap = next((line for _, line, filled in every if not filled and lines[0] < line < lines[-1]), None)
    return Lines(rows, lines, delimiter == ";", gap)


def read_matrices(source: OpenFile, hints: Hints, counts: bool) -> list[NamedMatrix]:
    """The matrix of a text file without rows under names of columns."""
    lines: Lines = source.parsed(lines_of)
    lines.refuse_grouped()
    return [bare_matrix(lines, source.name, hints, counts=counts)]


def read_table(source: OpenFile, hints: Hints, use: str) -> Table | None:
    """The rows of a text under names of columns, which `hints.columns` may be; None for a bare matrix."""
    lines, columns = source.parsed(lines_of), hints.columns
    if use == "p":
        lines.refuse_grouped()
        in_doubt = columns is None and hints.form is None
        if hints.form == "matrix" or (in_doubt and not are_rows(lines.rows[0], lines.rows[1:], lines.number, "p")):
            return None
    names = None if isinstance(columns, Mapping | None) else list(columns)
    start, header = (1, lines.rows[0]) if names is None else (0, names)
    rows = lines.rows[start:]
    place: Place = lambda i: f"line {lines.lines[start + i]}"  # noqa: E731

    def parts(found: Mapping[str, int], gaps: bool) -> Iterator[Part]:
        lines.refuse_ragged(len(header), start)
        cells: dict[str, Any] = {role: [row[i] for row in rows] for role, i in found.items()}
        if use == "p":
            title = header[found["p"]].strip()
            cells["p"] = lines.numbers(cells["p"], lambda i: f'{place(i)}, column "{title}"')
        if rows:
            yield Part({r: v if r == "p" else coded(v) for r, v in cells.items()}, len(rows), place)

    return Table(header, lambda i: [row[i] for row in rows[:SHOWN]], len(rows) <= SHOWN, parts)


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


def bare_matrix(table: Lines, name: str, hints: Hints, *, counts: bool = False, titled: bool = False) -> NamedMatrix:
    """The matrix as it stands in the file; `titled` says that the first line is labels."""
    refuse_long_side(name, len(table.rows))
    if table.gap is not None:
        raise InputError(f"line {table.gap} is blank, and a file holds one matrix; remove the line, or split the file")
    if hints.form is None:
        _refuse_texts(table, counts)
    start = 1 if titled or _starts_with_labels(table, hints) else 0
    above = table.rows[0] if start else None
    column, width = [row[0] for row in table.rows[start:]], len(table.rows[0])
    if above is not None and len(table.rows[1]) == width + 1 and not table.has_fractions(column):
        width += 1  # labels above a column of labels may leave the corner out
    table.refuse_ragged(width, start)
    rest = table.block(start, 1)
    beside = column if width > 1 and _is_labels(table, above, column, rest, hints) else None
    rows = table.block(start, 0) if beside is None else rest
    outputs = None if above is None else above[len(above) - rows.shape[1] :]
    corner = above[0] if above is not None and beside is not None and len(above) == width else ""
    if hints.form is None:
        if above is not None:
            refuse_channels(above[0], beside or (), above[1:])
        if above is not None and beside is not None and 2 * len(set(beside)) <= len(beside) > 2:
            raise InputError(_unknown(above, counts))  # labels that come again, as below x,adc
        if beside is not None and outputs is not None and counts:
            refuse_rows_beside(corner, beside, outputs, rows)
        _refuse_bits([row[beside is not None :] for row in table.rows[start:]])
        _refuse_doubt(table, rows, above, beside, counts, hints)
    labels = [*(outputs or ()), *(beside or ())]
    if not all(map(str.strip, labels)):  # a cell that was left out, or a line of labels that looks blank
        raise InputError(f"the labels above and beside a matrix must not be blank; they are {', '.join(labels[:20])}")
    first, _, second = re.sub(r"[\\/|]", "\n", corner).partition("\n")
    sides = (beside, first), (outputs, second)
    (sent, title), (received, other) = reversed(sides) if hints.transpose else sides
    return NamedMatrix(name, rows, sent, received, titles=(title, other), doubtful=hints.form is None)


def _starts_with_labels(table: Lines, hints: Hints) -> bool:
    """Whether the first line is labels: it has a corner, or a text, or a title before numbers that label outputs."""
    (first, *others), numbers = table.rows, [table.number(cell) for cell in table.rows[0]]
    if not others or (len(first) > 1 and _is_corner(first)):
        return bool(others)
    beside, sure = [row[0] for row in others], hints.form is not None
    has_text, plain = None in map(table.number, beside), not table.has_fractions(first)
    if _is_title(first) and None not in numbers[1:] and (plain or not has_text):
        return not has_text or sure or (len(first) > 2 and _may_label(table, first[1:], beside))
    return plain and "" not in first and (None in (numbers[1:] or numbers) or (numbers[0] is None and not has_text))


def _is_labels(table: Lines, above: Cells | None, column: Cells, rest: Floats, hints: Hints) -> bool:
    """Whether the first column is labels: below a corner or a title, all text, or whole beside rows that sum to 1."""
    if above is not None and (len(above) <= rest.shape[1] or _is_corner(above)):
        return True
    whole = len(set(column)) == len(column) and not table.has_fractions(column)
    if above is not None and whole and _is_title(above):
        plain, sure = None not in map(table.number, above[1:]), hints.form is not None
        likely = _may_label(table, column, above[1:]) and (plain or not proposal(above, strict=True))
        if (sure and plain) or (len(above) > 2 and (sure or likely)):
            return True
    numbers = [number for number in map(table.number, column) if number is not None]
    if len(numbers) < len(column):
        return not numbers
    if not whole or len(set(numbers)) < max(2, len(numbers)) or (hints.transpose and sum(numbers) == 1):
        return False
    sums = rest.sum(axis=0 if hints.transpose else 1)
    return bool(np.any(rest % 1)) and bool(np.all(np.abs(sums - 1) <= ROUNDING))


def _is_corner(line: Cells) -> bool:
    """Whether the first cell stands above labels of inputs; x beside y is an output like y."""
    cells = [cell.strip().casefold() for cell in line]
    return cells[0] in _CORNERS and not (cells[0] == "x" and "y" in cells)


def _is_title(line: Cells) -> bool:
    """Whether the first cell says what labels are, as `sent` or `true label`, and is no label itself, as `tx0`."""
    alike = {role_of(line[0])} == {*map(role_of, line[1:])}  # as tx0, tx1
    return role_of(line[0]) in _BESIDE and not alike and not re.search(r"\d", line[0])


def _may_label(table: Lines, cells: Cells, others: Cells) -> bool:
    """Whether cells are no counts, or number letters, or are the labels of the other side too."""
    counts = [n for n in map(table.number, cells) if n is not None and n >= 0 and n % 1 == 0]
    alike = sorted(map(str.strip, cells)) == sorted(map(str.strip, others))
    return len(counts) < len(cells) or alike or _is_numbered(np.array(counts))


def _refuse_texts(table: Lines, counts: bool) -> None:
    """Refuse columns of texts that are no labels beside a matrix: rows, with or without names above them."""
    first, *others = table.rows
    width = len(first)
    if not others or len(others[0]) > width:
        return
    below = [[row[i].strip() for row in others if i < len(row)] for i in range(width)]
    texts = [i for i, column in enumerate(below) if not any(table.number(cell) is not None for cell in column)]
    is_rows = 2 <= width <= LONGEST_LOG_ROW and all(len(row) == width for row in others)
    labelled = width if width - 1 in texts else width - 1
    if texts and is_rows and all(first[i].strip() in below[i] for i in range(labelled)):
        cells = [tuple(map(str.strip, row[:-1])) for row in table.rows]
        counted = width > 2 and width - 1 not in texts and len(set(cells)) == len(cells)
        raise InputError(
            f"the {len(table.rows)} lines look like rows without names above them, as {','.join(first)} comes again;"
            f" write {_unnamed(width, counted=counted)}, or what else their columns are"
        )
    named = all(cell and table.number(cell) is None for cell in first[1:])
    if not first[0] and None in map(table.number, below[0]):
        named = False  # a blank corner, and not the name of an index that pandas or R wrote
    beside = len(texts) == 1 and len(set(below[texts[0]])) == len(below[texts[0]])
    if named and texts and (not beside or width == 2):
        raise InputError(_unknown(first, counts))


def _unknown(above: Cells, counts: bool) -> str:
    """What is said of names above columns that do not say which is x and which is y."""
    missing = [role for role in ("x", "y") if role not in map(str.casefold, map(str.strip, above))]
    return unknown_columns(above, missing, "count" if counts else "p")


def refuse_channels(corner: str, beside: Cells, above: Cells) -> None:
    """Refuse lines of counts that are channels by the title of their labels, as below channel,n00,n01,n10,n11."""
    if role_of(corner) == "channel" and sorted(beside) != sorted(above):
        raise InputError(
            f"the first column is called {corner.strip()}, so that each line may be the counts of one channel; write"
            " these as rows channel,x,y,count, or, if the lines are the inputs of one channel, --form matrix"
            " (form='matrix')"
        )


def _refuse_bits(rows: Sequence[Cells]) -> None:
    """Refuse numbers that begin with 0, and lines of many digits 0 and 1, which are strings of bits and no counts."""
    lines = all(len(row) == 1 and _BITS.fullmatch(row[0].strip()) for row in rows)
    bits = next((cell.strip() for row in rows for cell in row if lines or _PADDED.fullmatch(cell.strip())), None)
    if bits is not None:
        raise InputError(
            f"{bits!r} looks like a string of bits or a label and not like a number of senses; write one sense a line,"
            " what was sent and what came, below the names x,y, or, if it is a number, --form matrix (form='matrix')"
        )


def _refuse_doubt(
    table: Lines, rows: Floats, above: Cells | None, beside: Cells | None, counts: bool, hints: Hints
) -> None:
    """Refuse counts with labels on one side only, numbers that may be labels, and what may be rows of a log."""
    first, whole = rows[0], not np.any(rows % 1)
    if above is None and np.max(first) > 1 and not np.any(first % 1) and len(set(first)) == len(first) and not whole:
        raise InputError(  # which `normalize` would take for probabilities
            f"the first line looks like labels ({_listed(first)}), and a line of labels must have text in it; give it a"
            " blank first cell above a column of input labels, or leave it out"
        )
    # whole numbers are counts, which `normalize` would divide, unless they are the probabilities 0 and 1
    if not counts and not (whole and np.any(rows.sum(axis=0 if hints.transpose else 1) != 1)):
        return
    if beside is None:
        _refuse_rows_in_doubt(above, rows)
    for side, line, rest in (("line", first, rows[1:]), ("column", rows[:, 0], rows[:, 1:])):
        if above is None and beside is None:
            doubtful = _is_numbered(line) and bool(rest.size) and rest.max() > len(line)
        else:  # and there may be labels on the other side too
            doubtful = whole and (above if side == "line" else beside) is None
        if doubtful:
            below, columns = [row[0] for row in table.rows[1:]], proposal(above)
            labels = above is not None and _is_labels(table, above, below, rows[:, 1:], Hints(form="matrix"))
            raise InputError(
                f"the first {side} ({_listed(line)}) may be labels or counts; write"
                f" {f'{option(columns)} for rows, ' if columns else ''}--form matrix (form='matrix') for"
                f" {'labels' if labels else 'counts'}, or put labels above and beside counts, below a blank first cell"
                " (pandas: set_index)"
            )


def _refuse_rows_in_doubt(header: Cells | None, cells: NDArray[Any]) -> None:
    """Refuse numbers that may be rows: below names of columns, or as two columns have labels that come again.

    These are more lines than columns, or the cells of a table of counts, no two of which are the same.
    """
    n_rows, width = cells.shape
    whole, again = not np.any(cells % 1), [i for i in range(width) if _come_again(cells[:, i])]
    some = (p for size in (2, 3) if size < width for p in combinations(again, size))
    labels = next((p for p in some if len(np.unique(cells[:, p], axis=0)) == n_rows), None)
    are_rows = 1 < width <= _MOST_COLUMNS and len(again) > 1 and (n_rows > width or labels is not None)
    # every line but its last cell, which has fractions in some, comes again and again
    is_soft = 1 < width < LONGEST_LOG_ROW and np.any(cells[:, -1] % 1) and not np.any(cells[:, :-1] % 1)
    is_soft = is_soft and not np.all(np.abs(cells.sum(axis=1) - 1) < ROUNDING) and _come_again(cells[:, :-1])
    if (whole and (are_rows or (header and _sound_like_columns(header)))) or (header is None and is_soft):
        columns = proposal(header, strict=labels is not None)
        if columns is None and header and labels:
            columns = dict(zip(("channel", "x", "y")[-len(labels) :], (header[i].strip() for i in labels), strict=True))
            further = [header[i].strip() for i in range(width) if i not in labels]
            columns |= {"count": further[0]} if len(further) == 1 else {}
        way = f"write {option(columns) if columns else _unnamed(width, counted=labels is not None)} for rows"
        if columns is None and header is not None:
            way = way_out(header)
        raise InputError(
            f"the {n_rows} lines may be rows of a log or of counts, or a matrix with {n_rows} inputs; {way}, or"
            " --form matrix (form='matrix')"
        )


def _come_again(lines: NDArray[Any]) -> bool:
    """Whether lines, or numbers, are there twice on average."""
    return 2 * len(np.unique(lines, axis=0)) <= len(lines)


def _sound_like_columns(titles: Cells) -> bool:
    """Whether titles say roles, or one is called as a side, other than true, and the others may be the rest."""
    sides = {role_of(title) for title in titles if title.strip().casefold() != "true"}
    return say_roles(titles) or (not sides.isdisjoint({"x", "y"}) and proposal(titles) is not None)


def _unnamed(width: int, *, counted: bool) -> str:
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


def _listed(line: Floats) -> str:
    return ", ".join(f"{label:g}" for label in line[:5])
