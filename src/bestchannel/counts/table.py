"""Tables: named columns of labels or numbers, some rows at a time, and the log or the matrices that their rows are.

Parquet and Arrow, records of JSON, vectors of NumPy and MATLAB, data frames, and texts that are read at once become
such tables; which column is what, what is missing and what is no number is found here, and alike for all.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bestchannel.arrays import MOST_SENSES, Floats, Integers
from bestchannel.counts.columns import (
    SHOWN,
    Cells,
    is_count_word,
    log_columns,
    named_columns,
    probability_columns,
    say_roles,
    unknown_columns,
)
from bestchannel.counts.labelled_counts import (
    MOST_CELLS,
    Columns,
    Combinations,
    Hints,
    RowBlock,
    alphabet,
    is_missing,
    label_of,
    point,
    refuse_too_many_cells,
)
from bestchannel.counts.named_matrix import NamedMatrix
from bestchannel.errors import InputError

ROWS = 2**20  # rows of vectors numbered at a time
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)?Z?")
_DENSE = 2**22  # up to so many possible values a table of all of them is quicker than sorting
_LONG = 32  # numbers in a vector from which on it is no row of a channel with one input, whatever it is called
Place = Callable[[int], str]  # how row i is called in a refusal


class Column(NamedTuple):
    """One label per row, labels[codes[i]]; -1 where there is none, in a column that may have gaps."""

    labels: Sequence[str]
    codes: Integers


class Part(NamedTuple):
    """Some rows: what was asked for, by its role, as a `Column` or as the values that there are.

    Row i is called `place(i)` in a refusal; `declared` are the labels that the type of a column says there are.
    """

    columns: Mapping[str, Any]
    n_rows: int
    place: Place
    declared: Mapping[str, Sequence[str]] = {}

    def labels(self) -> dict[str, Column]:
        """The columns that are neither counts, probabilities nor times."""
        sides = {role: side for role, side in self.columns.items() if role not in ("count", "p", "time")}
        return {role: column(side, role, self.place) for role, side in sides.items()}


@dataclass(frozen=True, eq=False)
class Table:
    """What columns are called, and what is in them.

    `cells(i)` are the first cells of column i, and `are_all` says that there are no others. `parts(columns, gaps)` are
    the rows of columns by their role, some at a time; with `gaps` a label may be missing.
    """

    header: Sequence[str]
    cells: Cells
    are_all: bool
    parts: Callable[[Mapping[str, int], bool], Iterator[Part]]

    def log(self, seen: Combinations, name: str, columns: Columns) -> Iterator[RowBlock]:
        """The rows of a log; a channel that the table does not name is called `name`."""
        found = log_columns(self.header, columns, seen, self.cells, are_all=self.are_all)
        for part in self.parts(found, False):
            yield _block(part, seen, name)
            if "y2" not in found:
                seen.expect(part.declared.get("x" if seen.transpose else "y", ()))

    def matrices(self, name: str, hints: Hints) -> list[NamedMatrix]:
        """The channels whose probabilities the rows are; one that the table does not name is called `name`."""
        found = probability_columns(self.header, hints.columns)
        every, title = self.whole(found, most=MOST_CELLS), self.header[found["p"]].strip()
        values = every.columns["p"].astype(np.float64)
        refuse_not_finite(values, lambda i: f'{every.place(i)}, column "{title}"')
        return _matrices(every.labels(), values, name, every.place, transpose=hints.transpose)

    def whole(self, columns: Mapping[str, int], *, gaps: bool = False, most: int | None = None) -> Part:
        """All rows of these columns at once; at most so many."""
        parts: list[Part] = []
        for part in self.parts(columns, gaps):
            parts.append(part)
            if most is not None and sum(part.n_rows for part in parts) > most:
                raise InputError(f"the channels of a file must have at most {most:,} cells; there are more rows")
        if not parts:
            raise InputError(f"there must be {'trials' if gaps else 'rows'}; there is none")
        if len(parts) == 1:
            return parts[0]
        joined = {role: np.concatenate([_values(part.columns[role]) for part in parts]) for role in columns}
        return Part(joined, sum(part.n_rows for part in parts), partial(place_from, 0), parts[0].declared)


def _values(column: Any) -> NDArray[Any]:
    """The label of each row, None where there is none; or the values as they are."""
    return np.array([*column.labels, None], object)[column.codes] if isinstance(column, Column) else column


def constant(label: str, size: int) -> Column:
    """The same label in every row."""
    return Column([label], np.zeros(size, np.int64))


def coded(texts: Sequence[str]) -> Column:
    """Texts as labels, numbered in order of first appearance."""
    index = {text: code for code, text in enumerate(dict.fromkeys(texts))}
    return Column(list(index), np.fromiter(map(index.__getitem__, texts), np.int64, len(texts)))


def _points(first: Column, second: Column) -> Column:
    """Points of the plane, one coordinate in each column."""
    pairs = zip(first.codes.tolist(), second.codes.tolist(), strict=True)
    return coded([point(first.labels[a], second.labels[b]) for a, b in pairs])


def column(values: NDArray[Any] | Column, role: str, place: Place, known: Collection[str] | None = None) -> Column:
    """Texts, whole numbers, truth values or finite numbers as labels; a missing value is refused.

    Where labels are `known`, any value may be missing, and one that stands for a missing one and is not known is.
    """
    if isinstance(values, Column):
        if known is None:
            return values
        distinct, codes = [*values.labels, None], values.codes
    else:
        try:
            distinct, codes = _distinct(values)
        except TypeError:  # something without a hash, which is no label
            distinct, codes = values.tolist(), np.arange(len(values))
    if known is not None:
        there = [not _is_gap(value, known) for value in distinct]
        distinct = [value for value, is_there in zip(distinct, there, strict=True) if is_there]
        codes = np.where(there, np.cumsum(there) - 1, -1)[codes]
    labels = list(map(label_of, distinct))
    found = [label for label in labels if label is not None]
    if len(found) < len(labels):
        wrong = labels.index(None)
        place_of_it, shown = place(int(np.argmax(codes == wrong))), reprlib.repr(distinct[wrong])
        raise InputError(f"{place_of_it}, {role} must be a label, a text or a number; it is {shown}")
    return Column(found, codes)


def _distinct(values: NDArray[Any]) -> tuple[list[Any], Integers]:
    """The different values, numbers in their order and others as they come first, and which of them each row has."""
    if values.dtype.kind in "iu":
        least, most = int(values.min()), int(values.max())
        wide: NDArray[Any] = values.astype(
            np.int64 if values.dtype.kind == "i" else np.uint64
        )  # which holds the differences
        first, codes = _first_rows(
            wide if most - least >= _DENSE else (wide - least).astype(np.int64), most - least + 1
        )
        return values[first].tolist(), codes
    objects = (values.astype(str) if values.dtype.kind in "bmM" else values).tolist()
    if bool in set(map(type, objects)):  # as keys True is 1
        objects = [str(value) if isinstance(value, bool) else value for value in objects]
    distinct, codes = coded(objects)
    return list(distinct), codes


def _is_gap(value: object, known: Collection[str]) -> bool:
    """Whether a value stands for a missing one."""
    if value is None or value != value or type(value).__name__ == "NAType":
        return True
    text = value.strip() if isinstance(value, str) else label_of(value)
    return text is not None and text not in known and (not text or is_missing(text))


def _whole_counts(values: NDArray[Any], place: Place) -> Floats:
    """The counts, whole numbers from 0 to 2^53, which doubles hold exactly."""
    if values.dtype.kind not in "iuf":
        raise InputError(f"count must be numbers; they have dtype {values.dtype}")
    bad = np.flatnonzero(~((values >= 0) & (values <= MOST_SENSES) & (values == np.floor(values))))
    if len(bad):
        raise InputError(no_count(place(int(bad[0])), values[bad[0]].item()))
    return values.astype(np.float64)


def no_count(place: str, number: float) -> str:
    """What is said of a number that is no count."""
    found = f"{number:.12g}" if isinstance(number, float) else reprlib.repr(number)
    wanted = "at most 2^53" if number > MOST_SENSES else "a whole number from 0 on"
    return f"{place}, count must be {wanted}; it is {found}"


def refuse_not_finite(values: Floats, place: Place) -> None:
    """Refuse the first NaN or infinity; `place(i)` names value i."""
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise InputError(f"{place(int(bad[0]))} must be a finite number; it is {values[bad[0]]:g}")


def _block(part: Part, seen: Combinations, name: str) -> RowBlock:
    """Rows from labels, counts and times by role; without labels for the channel, all are of the channel `name`."""
    labels = part.labels()
    channel = labels.get("channel", constant(name, part.n_rows))
    y = _points(labels["y"], labels["y2"]) if "y2" in labels else labels["y"]
    counts, times = part.columns.get("count"), part.columns.get("time")
    return RowBlock(
        numbered(seen, {"channel": channel, "x": labels["x"], "y": y}, part.place),
        None if counts is None else _whole_counts(counts, part.place),
        None if times is None else times_of(times),
    )


def times_of(values: NDArray[Any]) -> NDArray[Any] | None:
    """Numbers, dates or texts of either as numbers in the order of time; None where one is none."""
    if values.dtype.kind in "iu":
        return values
    if values.dtype.kind in "OUT":
        texts = values.astype(np.str_)
        try:
            values = texts.astype(np.float64)
        except ValueError:
            if not all(map(_DATE.fullmatch, texts.tolist())):
                return None
            values = np.array([text.rstrip("Z") for text in texts.tolist()], "datetime64[ns]")
    if values.dtype.kind == "M":
        return None if np.isnat(values).any() else values.astype("datetime64[ns]").astype(np.int64)
    return values if values.dtype.kind == "f" and np.isfinite(values).all() else None


def numbered(seen: Combinations, sides: Mapping[str, Column], place: Place) -> Integers:
    """The number of each row's combination; new ones are numbered in the order of the rows."""
    keys, size = np.zeros(1, np.int64), 1
    for role, side in sides.items():
        if len(set(map(str.strip, side.labels))) < len(side.labels):
            raise InputError(f"the labels of {role} must differ by more than the spaces around them; two do not")
        keys, size = keys * len(side.labels) + side.codes, size * len(side.labels)
    first, inverse = _first_rows(keys, size)
    found = np.empty(len(first), np.int64)
    for k in np.argsort(first).tolist():
        row = int(first[k])
        channel, x, y = (side.labels[side.codes[row]] for side in sides.values())
        found[k] = seen.number(channel, x, y, place(row))
    return found[inverse]


def _first_rows(keys: Integers, size: int) -> tuple[Integers, Integers]:
    """The row at which each different key comes first, and which of these keys each row has."""
    if size > _DENSE:
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        return first, inverse
    rows = np.full(size, -1)
    rows[keys[::-1]] = np.arange(len(keys) - 1, -1, -1)  # the last to be written is the first row
    present = rows >= 0
    return rows[present], (np.cumsum(present) - 1)[keys]


def log_of_vectors(
    arrays: Mapping[str, NDArray[Any]], columns: Columns, declared: Mapping[str, Sequence[str]] | None = None
) -> Table | None:
    """The table of vectors x and y, and perhaps channel and count, of one length; None where x or y is missing."""
    vectors = {key: vector for key, array in arrays.items() if (vector := _flat(array)).ndim == 1}
    header, lengths = list(vectors), list(map(len, vectors.values()))
    if columns is None and not {"x", "y"} <= vectors.keys():
        # vectors of one length that are called as columns are, or are long, would be channels of one input
        alike = len(header) == len(arrays) > 1 == len(set(lengths)) and lengths[0] > 1
        if alike and (say_roles(header) or any(map(is_count_word, header)) or lengths[0] >= _LONG):
            raise InputError(unknown_columns(header, [role for role in ("x", "y") if role not in header], "count"))
        return None
    return table_of_vectors(vectors, declared, lengths[named_columns(header, columns)["x"]])


def table_of_vectors(
    arrays: Mapping[str, NDArray[Any]], declared: Mapping[str, Sequence[str]] | None = None, n_rows: int | None = None
) -> Table:
    """The table with these columns; those that are used have so many rows, or as many as the longest."""
    header, columns = list(arrays), list(map(_flat, arrays.values()))
    longest = max((len(array) for array in columns if array.ndim), default=0)
    known = declared or {}
    size = longest if n_rows is None else n_rows
    return table_of(header, columns.__getitem__, size, lambda i: known.get(header[i], ()))


def _flat(array: NDArray[Any]) -> NDArray[Any]:
    """A matrix with one row or one column as a vector."""
    return array.ravel() if array.ndim == 2 and 1 in array.shape else array


def table_of(
    header: Sequence[str],
    vector: Callable[[int], NDArray[Any]],
    n_rows: int,
    declared: Callable[[int], Sequence[str]] = lambda _: (),
    **first: Any,
) -> Table:
    """The table with the columns vector(i), whose types declare labels; `first` says how its first row is called."""

    def cells(i: int) -> list[Any]:
        return vector(i)[:SHOWN].tolist() if vector(i).shape == (n_rows,) else []

    def parts(columns: Mapping[str, int], gaps: bool) -> Iterator[Part]:
        arrays = {role: vector(i) for role, i in columns.items()}
        if any(array.ndim != 1 for array in arrays.values()):
            title, shape = next((header[columns[r]], a.shape) for r, a in arrays.items() if a.ndim != 1)
            raise InputError(f"the column {title.strip()!r} must have one value per row; its shape is {shape}")
        lengths = {header[columns[role]]: len(array) for role, array in arrays.items()}
        if set(lengths.values()) - {n_rows}:
            raise InputError(f"the vectors of a log must be equally long; their lengths are {lengths}")
        known = {role: declared(i) for role, i in columns.items()}
        for start in range(0, n_rows, ROWS):
            some = {role: array[start : start + ROWS] for role, array in arrays.items()}
            yield Part(some, min(ROWS, n_rows - start), partial(place_from, start, **first), known)

    return Table(header, cells, n_rows <= SHOWN, parts)


def place_from(start: int, i: int, first: int = 1, of: str = "") -> str:
    """How row i after the first `start` rows is called."""
    return f"row {start + i + first}{of}"


def _matrices(
    sides: Mapping[str, Column], values: Floats, name: str, place: Place, *, transpose: bool
) -> list[NamedMatrix]:
    """One matrix per channel, in order of first appearance; cells without a row are 0. Row i stands at `place(i)`.

    Each channel has its own alphabets: the labels of its rows in order of first appearance, or in numeric order if all
    are integers. Rows that name no channel are of the channel `name`; with `transpose`, y is what was sent.
    """
    channel, found = sides.get("channel", constant(name, len(values))), []
    ends = np.cumsum(np.bincount(channel.codes))
    parts = np.split(np.argsort(channel.codes, kind="stable"), ends[:-1])
    sized = [[_own_letters(sides[role], members) for role in ("x", "y")] for members in parts]
    refuse_too_many_cells((own, len(x[0]), len(y[0])) for own, (x, y) in zip(channel.labels, sized, strict=True))
    for own, members, ((inputs, x), (outputs, y)) in zip(channel.labels, parts, sized, strict=True):
        cells = x * len(outputs) + y
        order = np.argsort(cells, kind="stable")
        repeats = np.flatnonzero(np.diff(cells[order]) == 0)
        if len(repeats):
            first, second = (int(members[order[repeats[0] + i]]) for i in (0, 1))
            letters = (side.labels[side.codes[first]] for side in (sides["x"], sides["y"]))
            raise InputError(
                f'x={next(letters)}, y={next(letters)} of channel "{own}" must have one value;'
                f" it has one in {place(first)} and another in {place(second)}"
            )
        rows = np.zeros((len(inputs), len(outputs)))
        rows[x, y] = values[members]
        found.append(NamedMatrix(own, rows, *((outputs, inputs) if transpose else (inputs, outputs))))
    return found


def _own_letters(side: Column, members: Integers) -> tuple[list[str], Integers]:
    """The alphabet of these rows, and where in it each row's label stands."""
    codes = side.codes[members].tolist()
    letters = alphabet(side.labels[code] for code in codes)
    index = {letter: i for i, letter in enumerate(letters)}
    return letters, np.fromiter((index[side.labels[code]] for code in codes), np.int64, len(codes))
