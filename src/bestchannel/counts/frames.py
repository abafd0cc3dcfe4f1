"""Counts and logs as people hold them: matrices by name, frames of pandas, polars or pyarrow, arrays of xarray.

None of these libraries is imported: an object is told by what it offers. A frame has columns that can be
asked for by name and turned into arrays; a labelled array has named dimensions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestchannel.arrays import numeric_array
from bestchannel.counts.labelled_counts import (
    SHOWN,
    Columns,
    Combinations,
    LabelledCounts,
    RowBlock,
    declared_outputs,
    log_columns,
)
from bestchannel.counts.long_table import block_of_arrays
from bestchannel.counts.named_matrix import NamedMatrix
from bestchannel.counts.nested import is_nested, matrices_of, matrix_of
from bestchannel.counts.stacks import matrices_in
from bestchannel.counts.text_log import is_long_header
from bestchannel.counts.trials import NO_ORDER, Trials
from bestchannel.counts.two_readings import refuse_rows_in_doubt
from bestchannel.errors import InputError

UNNAMED = "channel"
"""What a channel is called that nothing names."""

Labels = tuple[str, ...] | None


def labelled_counts(
    counts: object,
    outputs: Sequence[str] | None = None,
    *,
    columns: Columns = None,
    channel_axis: str | None = None,
) -> dict[str, LabelledCounts]:
    """The counts of every channel with their labels, whatever they came in; `outputs` declares the outputs of all.

    `columns` renames the columns of frames, `channel_axis` ("first" or "last") says where the channels of a stack are.
    """
    declared = None if outputs is None else declared_outputs(outputs)
    if isinstance(counts, Trials):
        found = [_of_value(content.name, content, declared) for content in counts.labelled_counts()]
    elif isinstance(counts, Mapping):
        found = _of_mapping(counts, declared, columns)
    elif _is_labelled_array(counts):
        found = _of_labelled_array(counts, declared)
    elif is_frame(counts):
        found = _of_frame(_flat(counts), declared, columns)
    elif isinstance(counts, np.ndarray | list | tuple):
        found = [matrix.counts(declared) for matrix in _unnamed(counts, channel_axis)]
    else:
        raise InputError(
            "counts must be matrices of counts, by name, in a list or alone, {sent: {got: n}}, a data frame or an array"
            f" with the dimensions channel, x and y; it is a {type(counts).__name__}"
        )
    named = {content.name: content for content in found}
    if not named or len(named) < len(found):
        raise InputError(f"counts must hold at least one channel, each once; they hold {len(found)}, called {[*named]}")
    return named


def _of_mapping(counts: Mapping[Any, object], declared: Labels, columns: Columns) -> list[LabelledCounts]:
    nested = matrices_of(counts, UNNAMED)
    if nested is not None:
        return [matrix.counts(declared) for matrix in nested]
    if counts and all(isinstance(n, int | float | np.number) for n in counts.values()):
        raise InputError(
            "counts must say what was sent; these say only what was received, as counts of one circuit do, and are to"
            " be given as {sent: {received: n}}"
        )
    return [_of_value(name, value, declared, columns) for name, value in counts.items()]


def _unnamed(counts: Any, channel_axis: str | None) -> list[NamedMatrix]:
    """A matrix, or a stack or list of them, called 0, 1, 2, ..."""
    if isinstance(counts, list | tuple):
        if counts and all(is_frame(rows) or _is_table(rows) for rows in counts):  # perhaps of different shapes
            return [_matrix_of_rows(str(k), rows) for k, rows in enumerate(counts)]
        counts = numeric_array(counts, "the counts")
    if counts.ndim != 3:
        return [NamedMatrix(UNNAMED, counts)]
    found = matrices_in(counts, "the array of counts", channel_axis, "first")
    return [NamedMatrix(str(k), rows) for k, rows in enumerate(found)]


def _is_table(rows: object) -> bool:
    try:
        return np.ndim(rows) == 2  # type: ignore[arg-type]
    except ValueError:  # rows of different lengths
        return False


def _matrix_of_rows(name: str, rows: Any) -> NamedMatrix:
    return _matrix(name, _flat(rows)) if is_frame(rows) else NamedMatrix(name, rows)


def is_frame(value: object) -> bool:
    """Whether the value is a data frame, or a column of numbers under an index of groups."""
    return _is_lazy(value) or hasattr(value, "columns") or _is_series(value)


def log_of_frame(frame: Any, seen: Combinations, columns: Columns = None) -> RowBlock:
    """The rows of a frame with the columns x, y and perhaps channel."""
    frame = _flat(frame)
    found = _log_columns(frame, columns, seen)
    if "count" in found:
        raise InputError(NO_ORDER)
    return _rows(found, seen)


def _of_value(name: object, value: object, declared: Labels, columns: Columns = None) -> LabelledCounts:
    """The counts of one channel of a mapping."""
    if not isinstance(name, str):
        raise InputError(f"the name of a channel must be a text; it is {name!r}")
    if is_nested(value):
        return matrix_of(name, value).counts(declared)
    if isinstance(value, LabelledCounts):
        if declared is None:
            return replace(value, name=name)
        content = NamedMatrix(name, value.counts, value.inputs, value.outputs).counts(declared)
        return replace(content, binning=value.binning)
    if _is_labelled_array(value):
        matrix = _reordered(value, ("x", "y"))
        return NamedMatrix(name, matrix.values, _coordinate(matrix, "x"), _coordinate(matrix, "y")).counts(declared)
    if is_frame(value):
        content, *others = _of_frame(_flat(value), declared, columns)
        if others:
            raise InputError(f'the frame of channel "{name}" must hold one channel; it holds {1 + len(others)}')
        return replace(content, name=name)
    return NamedMatrix(name, value).counts(declared)


def _is_lazy(value: object) -> bool:
    return hasattr(value, "collect_schema") and not hasattr(value, "to_numpy")


def _is_series(value: object) -> bool:
    return hasattr(value, "reset_index") and hasattr(value, "index") and not hasattr(value, "columns")


def _flat(frame: Any) -> Any:
    """The frame; a series of pandas, as `groupby([...]).size()` gives it, with its index as columns."""
    if _is_lazy(frame):
        raise InputError("a lazy frame has no rows yet; call its collect() first")
    if _is_series(frame):
        frame = frame.reset_index(name="count")
    return frame


def _levels(frame: Any, side: str) -> int:
    """How many keys the rows ("index") or the columns of a frame have."""
    return int(getattr(getattr(frame, side, None), "nlevels", 1))


def _names(frame: Any) -> list[Any]:
    return list(frame.column_names if hasattr(frame, "column_names") else frame.columns)


def _log_columns(frame: Any, columns: Columns, seen: Combinations) -> dict[str, NDArray[Any]]:
    """The columns called channel, x, y and perhaps count, or as `columns` renames them; capitals do not matter."""
    names = _names(frame)
    found = log_columns(list(map(str, names)), columns, seen, lambda i: _array(frame, names[i])[:SHOWN].tolist())
    return {role: _array(frame, names[i]) for role, i in found.items()}


def _array(frame: Any, name: Any) -> NDArray[Any]:
    return np.asarray(frame[name].to_numpy())


def _of_frame(frame: Any, declared: Labels, columns: Columns) -> list[LabelledCounts]:
    if _levels(frame, "index") > 1 or _levels(frame, "columns") > 1:
        return [matrix.counts(declared) for matrix in _of_two_keys(frame)]
    if columns is None and not _may_be_rows(frame):
        return [_matrix(UNNAMED, frame).counts(declared)]
    seen = Combinations(declared)
    return seen.counted([_rows(_log_columns(frame, columns, seen), seen)])


def _may_be_rows(frame: Any) -> bool:
    """Whether the columns are those of rows, and the frame is no matrix with the same labels on both sides."""
    titles = [str(name).strip() for name in _names(frame)]
    if hasattr(frame, "index") and sorted(map(str, frame.index)) == sorted(titles):
        return False
    if is_long_header(titles) or "count" in map(str.casefold, titles):
        return True
    columns = [frame[name].to_numpy() for name in _names(frame)]
    texts = [column for column in columns if column.dtype.kind in "OUT"]
    # labels stand beside a matrix in its index or in one column, and none comes again
    if len(texts) > 1 or (texts and (hasattr(frame, "index") or len(set(texts[0].tolist())) < len(texts[0]))):
        return True
    if not texts and _is_numbered(frame) and columns and columns[0].dtype.kind in "iuf":
        refuse_rows_in_doubt(titles, np.column_stack(columns))
    return False


def _is_numbered(frame: Any) -> bool:
    """Whether nothing but numbers 0, 1, 2, ... stands beside the rows."""
    index = getattr(frame, "index", None)
    return index is None or (getattr(index, "name", None) is None and list(index) == list(range(len(index))))


def _of_two_keys(frame: Any) -> list[NamedMatrix]:
    """Confusion matrices below or beside each other, as pandas' `crosstab` makes them of two keys, channel first."""
    side = "index" if _levels(frame, "index") > 1 else "columns"
    if _levels(frame, "index") + _levels(frame, "columns") != 3:
        raise InputError(
            "a frame of confusion matrices must have two keys on one side, channel and x or channel and y; it has"
            f" {_levels(frame, 'index')} and {_levels(frame, 'columns')} (call its reset_index() for rows)"
        )
    names = list(dict.fromkeys(getattr(frame, side).get_level_values(0)))
    parts = (frame.xs(name, axis=side, level=0) for name in names)
    return [_matrix(str(name), part) for name, part in zip(names, parts, strict=True)]


def _rows(columns: Mapping[str, NDArray[Any]], seen: Combinations) -> RowBlock:
    if not len(columns["x"]):
        raise InputError("the frame must have rows; it has none")
    return block_of_arrays(columns, seen, UNNAMED, _place)


def _place(row: int) -> str:
    return f"row {row} of the frame"


def _matrix(name: str, frame: Any) -> NamedMatrix:
    """A confusion matrix: inputs beside it, as its index or in a first column of texts, and outputs above it."""
    names = _names(frame)
    arrays = [np.asarray(frame[title].to_numpy()) for title in names]
    inputs: Sequence[object] | None = None
    if hasattr(frame, "index"):
        inputs = list(frame.index)
    elif arrays and arrays[0].dtype.kind in "OUT":
        inputs, arrays, names = arrays[0].tolist(), arrays[1:], names[1:]
    if not arrays or not len(arrays[0]):
        raise InputError(f'the counts of channel "{name}" must not be empty; the columns are {_names(frame)}')
    labels = None if inputs is None else list(map(str, inputs))
    return NamedMatrix(name, np.column_stack(arrays), labels, list(map(str, names)))


def _is_labelled_array(value: object) -> bool:
    return hasattr(value, "dims") and hasattr(value, "coords") and hasattr(value, "values")


def _of_labelled_array(array: Any, declared: Labels) -> list[LabelledCounts]:
    if "channel" not in array.dims:
        return [_of_value(str(getattr(array, "name", None) or UNNAMED), array, declared)]
    array = _reordered(array, ("channel", "x", "y"))
    x, y = _coordinate(array, "x"), _coordinate(array, "y")
    names = _coordinate(array, "channel") or [str(j) for j in range(len(array.values))]
    return [NamedMatrix(name, rows, x, y).counts(declared) for name, rows in zip(names, array.values, strict=True)]


def _reordered(array: Any, dims: tuple[str, ...]) -> Any:
    if set(array.dims) != set(dims):
        raise InputError(
            f"the dimensions must be {', '.join(dims)}; they are {', '.join(map(str, array.dims))} (rename them)"
        )
    return array.transpose(*dims)


def _coordinate(array: Any, dim: str) -> list[str] | None:
    return [str(label) for label in array.coords[dim].values.tolist()] if dim in array.coords else None
