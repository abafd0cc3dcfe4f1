"""Texts that may be rows under the names of their columns, or a matrix under the labels of its outputs.

A confusion matrix whose classes are called x and y begins like a log, and a log without names, or with names that
nobody knows, looks like a matrix. The whole shape decides, and where two readings remain both are shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from bestchannel.arrays import ROUNDING, Floats
from bestchannel.counts.column_names import proposal, say_roles, stated
from bestchannel.counts.count_column import is_count_word
from bestchannel.counts.disk import Hints
from bestchannel.counts.text_log import MOST_INPUTS
from bestchannel.errors import InputError

_FEW = 8
"""Up to so many rows, equal labels do not tell a log from a matrix with an index beside it."""

_MANY = 32
"""From so many columns on, two rows that come again and again are looked at as the inputs and outputs of trials."""

_LONGEST_LOG_ROW = 4
"""channel, x, y, count."""

_WHOLE = re.compile(r"[+-]?[0-9]+")

Cells = Sequence[str]


def reading(header: Cells, rows: Sequence[Cells], fits: Callable[[Cells], bool]) -> str | None:
    """What a text with x and y in its first line is, "rows" or "matrix"; None where it may be either.

    `fits(cells)` says whether the cells can be a row of a matrix.
    """
    titles = [title.strip() for title in header]
    labels = [row[0].strip() for row in rows]
    beside = len(set(labels)) == len(labels) and _fit(rows, len(header), 1, fits)
    if beside and set(labels) == set(titles[1:]) and len(labels) == len(titles) - 1:
        return None if titles[0].casefold() == "channel" else "matrix"
    if len(rows) > MOST_INPUTS:
        return "rows"
    if len(set(map(str.casefold, titles))) < len(titles):
        return None if beside else "rows"
    is_corner = titles[0].casefold() in ("x", "y") or not _is_role(titles[0])
    named = len(titles) > 2 and all(map(_is_role, titles))
    if beside and is_corner and not named and not _is_index_of_log(header, rows, labels):
        return None
    letters = all(len(title) == 1 and title.casefold() != "p" for title in titles)
    return None if letters and _fit(rows, len(header), 0, fits) and not _repeats(header, rows) else "rows"


def _fit(rows: Sequence[Cells], width: int, first: int, fits: Callable[[Cells], bool]) -> bool:
    return width > first and all(len(row) == width and fits(row[first:]) for row in rows)


def _is_role(title: str) -> bool:
    return title.casefold() in ("channel", "x", "y", "p") or (len(title) > 1 and is_count_word(title))


def _is_index_of_log(header: Cells, rows: Sequence[Cells], labels: Cells) -> bool:
    """Whether the first column only numbers the rows of a log, as pandas writes an index."""
    numbered = all(label.lstrip("-").isdigit() for label in labels)
    return (numbered or bool(header[0].strip())) and len(rows) > _FEW and _repeats(header, rows)


def _repeats(header: Cells, rows: Sequence[Cells]) -> bool:
    """Whether inputs, or outputs where no column is called x, come again and again, as in a log."""
    titles = [title.strip().casefold() for title in header]
    letters = next((titles.index(role) for role in ("x", "y") if role in titles), None)
    return letters is not None and 2 * len({row[letters].strip() for row in rows}) <= len(rows)


def refuse_either(header: Cells, columns: dict[str, str]) -> NoReturn:
    """Say that the first line can be read in two ways, and how to write either."""
    raise InputError(
        f"the first line ({', '.join(header[:20])}) may name the columns of rows or the outputs of a matrix; write"
        f" --columns {stated(columns)} (columns={columns} in Python) for rows, or --form matrix (form='matrix')"
    )


def refuse_rows_in_doubt(header: Cells | None, cells: Floats) -> None:
    """Refuse a matrix without labels beside it that looks like rows of a log."""
    whole, counted = not np.any(cells % 1), _looks_like_counts(cells)
    known = header is not None and whole and say_roles(header)
    measured = header is None and _looks_measured(cells)
    if not (known or (whole and (counted or _looks_like_trials(cells))) or measured):
        return
    found = proposal(header) if header is not None else None
    if found is None:
        way = unnamed(cells.shape[1], counted=counted)
    else:
        way = f"--columns {stated(found)} (columns={found} in Python)"
    raise InputError(
        f"the {len(cells)} lines may be rows of a log or of counts, or a matrix with {len(cells)} inputs; write {way}"
        " for rows, or --form matrix (form='matrix')"
    )


def refuse_unnamed(rows: Sequence[Cells], is_number: Callable[[str], bool]) -> None:
    """Refuse rows of labels without a line of names above: a text beside numbers, or labels that come again."""
    width = len(rows[0])
    if not 2 <= width <= _LONGEST_LOG_ROW or len(rows) < 2 or any(len(row) != width for row in rows):
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


def refuse_numbered_rows(beside: Cells, above: Cells) -> None:
    """Refuse a matrix whose outputs are called as columns of rows are, beside numbers that may number these."""
    if say_roles(above) and all(_WHOLE.fullmatch(label.strip()) for label in beside):
        found = proposal(above)
        way = f"write --columns {stated(found)} (columns={found} in Python)" if found else "rename x and y"
        raise InputError(
            f"the {len(beside)} lines may be rows below {', '.join(above[:20])}, or a matrix with these outputs; {way}"
            " for rows, or --form matrix (form='matrix')"
        )


def refuse_trials(array: NDArray[Any], hints: Hints) -> None:
    """Refuse an array without labels that looks like the trials of a log, one a row or one a column."""
    if hints.form is not None or array.ndim != 2 or array.dtype.kind not in "iu":
        return
    one_a_row = 1 < array.shape[1] <= _LONGEST_LOG_ROW and len(array) > _FEW and _come_again(array)
    if one_a_row or (len(array) == 2 and array.shape[1] >= _MANY and _come_again(array.T)):
        raise InputError(
            f"the array of shape {array.shape} may be trials, one a {'row' if one_a_row else 'column'},"
            f" or a matrix with {len(array)} inputs; give trials as vectors x and y (numpy.savez(path, x=…, y=…), or"
            " {'x': …, 'y': …}), or write --form matrix (form='matrix')"
        )


def refuse_pair_in_doubt(name: str, x: NDArray[Any], y: NDArray[Any]) -> None:
    """Refuse a pair (x, y) of numbers that may be the two rows of a matrix of counts."""
    if len(x) != len(y):
        raise InputError(
            f'the senses of channel "{name}" must have one output per input; they have {len(x)} inputs and'
            f" {len(y)} outputs"
        )
    values = [*x.tolist(), *y.tolist()]
    are_counts = all(isinstance(v, int | float) and not isinstance(v, bool) and v >= 0 and v % 1 == 0 for v in values)
    if are_counts and not (len(x) > _FEW and _come_again(np.array(values, np.float64).reshape(2, -1).T)):
        raise InputError(
            f'the pair of channel "{name}" may be the inputs and outputs of {len(x)} senses, or the two rows of a'
            " matrix; say form='rows' or form='matrix'"
        )


def _come_again(lines: NDArray[Any]) -> bool:
    """Whether lines come again and again, also without the one that comes most often, as zeros do in a table."""
    _, times = np.unique(lines, axis=0, return_counts=True)
    return len(times) > 1 and 2 * (len(times) - 1) <= len(lines) - int(times.max())


def _looks_like_trials(cells: NDArray[Any]) -> bool:
    """Whether at most half of the lines are different, where a line may be a trial."""
    n_rows, width = cells.shape
    if not 1 < width <= _LONGEST_LOG_ROW or n_rows <= width or np.any(cells % 1):
        return False
    return 2 * len(np.unique(cells, axis=0)) <= n_rows


def _looks_measured(cells: Floats) -> bool:
    """Whether every line but its last cell, which has fractions in some, comes again and again."""
    n_rows, width = cells.shape
    if not 1 < width < _LONGEST_LOG_ROW or not np.any(cells[:, -1] % 1) or np.any(cells[:, :-1] % 1):
        return False
    sums = np.abs(cells.sum(axis=1) - 1) < ROUNDING
    return not sums.all() and 2 * len(np.unique(cells[:, :-1], axis=0)) <= n_rows


def _looks_like_counts(cells: Floats) -> bool:
    """Whether the columns but the last make every pair of a few labels once."""
    n_rows, width = cells.shape
    if not 2 < width <= _LONGEST_LOG_ROW or n_rows <= width or np.any(cells % 1):
        return False
    sizes = [len(np.unique(column)) for column in cells.T[:-1]]
    return len(np.unique(cells[:, :-1], axis=0)) == n_rows and 2 * max(sizes) <= n_rows
