"""Columns of labels, whole arrays at a time: which cell (channel, x, y) each row has."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestchannel.arrays import Floats, Integers
from bestchannel.counts.labelled_counts import Cells
from bestchannel.errors import InputError

Place = Callable[[int], str]
"""How row i is called in a refusal."""

_DENSE = 2**22
"""Up to so many possible values a table of all of them is quicker than sorting."""


@dataclass(frozen=True)
class Column:
    """A label a row: labels[codes[i]]."""

    labels: Sequence[str]
    codes: Integers


def constant(label: str, size: int) -> Column:
    """The same label in every row."""
    return Column([label], np.zeros(size, np.int64))


def column(values: NDArray[Any], role: str, place: Place) -> Column:
    """Texts, whole numbers, truth values or finite numbers as labels; a missing value is refused."""
    if values.ndim != 1:
        raise InputError(f"{role} must be one column of labels; its shape is {values.shape}")
    if values.dtype.kind in "iu":
        distinct, codes = _distinct_integers(values)
        return Column(list(map(str, distinct)), codes)
    return _column_of_objects(values.tolist(), role, place)


def _distinct_integers(values: NDArray[Any]) -> tuple[list[int], Integers]:
    least, most = int(values.min()), int(values.max())
    if most - least >= _DENSE:
        distinct, codes = np.unique(values, return_inverse=True)
        return distinct.tolist(), codes
    wide = values.astype(np.int64 if values.dtype.kind == "i" else np.uint64)  # small types cannot hold the difference
    shifted = (wide - wide.dtype.type(least)).astype(np.int64)
    present = np.bincount(shifted) > 0
    return [least + i for i in np.flatnonzero(present).tolist()], (np.cumsum(present) - 1)[shifted]


def _column_of_objects(values: list[Any], role: str, place: Place) -> Column:
    try:
        distinct = list(dict.fromkeys(values))
    except TypeError:
        distinct = [None]  # something without a hash, which is no label
    labels = [label for label in map(_label, distinct) if label is not None]
    if len(labels) < len(distinct):
        row = next(i for i, value in enumerate(values) if _label(value) is None)
        raise InputError(f"{place(row)}, {role} must be a label, a text or a number; it is {reprlib.repr(values[row])}")
    index = {value: code for code, value in enumerate(distinct)}
    return Column(labels, np.fromiter(map(index.__getitem__, values), np.int64, len(values)))


def _label(value: object) -> str | None:
    """The value as text; 2.0 is 2, as in a column of whole numbers that became floats for want of one."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return str(int(value)) if value.is_integer() else repr(value)
    return str(value) if isinstance(value, int | np.integer) else None


def whole_counts(values: NDArray[Any], place: Place) -> Floats:
    """The counts, whole numbers from 0 on."""
    if values.dtype.kind not in "iuf":
        raise InputError(f"count must be numbers; they have dtype {values.dtype}")
    numbers = values.astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(numbers) | (numbers < 0) | (numbers != np.floor(numbers)))
    if len(bad):
        row = int(bad[0])
        raise InputError(f"{place(row)}, count must be a whole number from 0 on; it is {numbers[row]:.12g}")
    return numbers


def cell_numbers(cells: Cells, channel: Column, x: Column, y: Column, place: Place) -> Integers:
    """The number of each row's cell; new cells are numbered in the order of the rows."""
    size = len(channel.labels), len(x.labels), len(y.labels)
    keys = (channel.codes * size[1] + x.codes) * size[2] + y.codes
    first, inverse = _first_rows(keys, size[0] * size[1] * size[2])
    numbers = np.empty(len(first), np.int64)
    for k in np.argsort(first).tolist():
        row = int(first[k])
        here = [side.labels[side.codes[row]] for side in (channel, x, y)]
        numbers[k] = cells.number(here[0], here[1], here[2], place(row))
    return numbers[inverse]


def _first_rows(keys: Integers, size: int) -> tuple[Integers, Integers]:
    """The row at which each different key comes first, and which of these keys each row has."""
    if size > _DENSE:
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        return first, inverse
    rows = np.full(size, -1)
    rows[keys[::-1]] = np.arange(len(keys) - 1, -1, -1)  # the last to be written is the first row
    present = rows >= 0
    return rows[present], (np.cumsum(present) - 1)[keys]
