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

from bestchannel.counts.labelled_counts import Combinations, LabelledCounts, RowBlock, declared_outputs
from bestchannel.counts.long_table import block_of_arrays
from bestchannel.counts.named_matrix import NamedMatrix
from bestchannel.counts.trials import Trials
from bestchannel.errors import InputError

UNNAMED = "channel"
"""What a channel is called that nothing names."""

Labels = tuple[str, ...] | None


def labelled_counts(counts: object, outputs: Sequence[str] | None = None) -> dict[str, LabelledCounts]:
    """The counts of every channel with their labels, whatever they came in; `outputs` declares the outputs of all."""
    declared = None if outputs is None else declared_outputs(outputs)
    if isinstance(counts, Trials):
        found = [_of_value(content.name, content, declared) for content in counts.labelled_counts()]
    elif isinstance(counts, Mapping):
        found = [_of_value(name, value, declared) for name, value in counts.items()]
    elif _is_labelled_array(counts):
        found = _of_labelled_array(counts, declared)
    elif is_frame(counts):
        found = _of_frame(_flat(counts), declared)
    else:
        raise InputError(
            "counts must be a mapping of names to matrices of counts, a data frame or an array with the dimensions"
            f" channel, x and y; it is a {type(counts).__name__}"
        )
    named = {content.name: content for content in found}
    if not named or len(named) < len(found):
        raise InputError(f"counts must hold at least one channel, each once; they hold {len(found)}, called {[*named]}")
    return named


def is_frame(value: object) -> bool:
    """Whether the value is a data frame, or a column of numbers under an index of groups."""
    return _is_lazy(value) or hasattr(value, "columns") or _is_series(value)


def log_of_frame(frame: Any, seen: Combinations) -> RowBlock:
    """The rows of a frame with the columns x, y and perhaps channel."""
    frame = _flat(frame)
    columns = _log_columns(frame)
    if not {"x", "y"} <= columns.keys() or "count" in columns:
        raise InputError(
            "a recording requires one row per sense, with the columns x, y and perhaps channel, but not count; the"
            f" columns are {', '.join(map(str, _names(frame)))}"
        )
    return _rows(columns, seen)


def _of_value(name: object, value: object, declared: Labels) -> LabelledCounts:
    """The counts of one channel of a mapping."""
    if not isinstance(name, str):
        raise InputError(f"the name of a channel must be a text; it is {name!r}")
    if isinstance(value, LabelledCounts):
        if declared is None:
            return replace(value, name=name)
        content = NamedMatrix(name, value.counts, value.inputs, value.outputs).counts(declared)
        return replace(content, binning=value.binning)
    if _is_labelled_array(value):
        matrix = _reordered(value, ("x", "y"))
        return NamedMatrix(name, matrix.values, _coordinate(matrix, "x"), _coordinate(matrix, "y")).counts(declared)
    if is_frame(value):
        content, *others = _of_frame(_flat(value), declared)
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
    levels = [getattr(getattr(frame, side, None), "nlevels", 1) for side in ("index", "columns")]
    if max(levels) > 1:
        raise InputError("the rows and columns of a frame must have one label each; call its reset_index() first")
    return frame


def _names(frame: Any) -> list[Any]:
    return list(frame.column_names if hasattr(frame, "column_names") else frame.columns)


def _log_columns(frame: Any) -> dict[str, NDArray[Any]]:
    """The columns called channel, x, y and count, as far as they are there; capitals do not matter."""
    roles: dict[str, NDArray[Any]] = {}
    for name in _names(frame):
        role = str(name).strip().casefold()
        if role not in ("channel", "x", "y", "count"):
            continue
        if role in roles:
            raise InputError(f'the column "{role}" must occur once; it occurs twice')
        roles[role] = np.asarray(frame[name].to_numpy())
    return roles


def _of_frame(frame: Any, declared: Labels) -> list[LabelledCounts]:
    columns = _log_columns(frame)
    if columns.keys().isdisjoint({"channel", "count"}) and not {"x", "y"} <= columns.keys():
        return [_of_matrix(UNNAMED, frame, declared)]
    if not {"x", "y"} <= columns.keys():
        raise InputError(
            "the columns must be x, y and perhaps channel and count, or those of one matrix; they are"
            f" {', '.join(map(str, _names(frame)))}"
        )
    seen = Combinations(declared)
    return seen.counted([_rows(columns, seen)])


def _rows(columns: Mapping[str, NDArray[Any]], seen: Combinations) -> RowBlock:
    if not len(columns["x"]):
        raise InputError("the frame must have rows; it has none")
    return block_of_arrays(columns, seen, UNNAMED, _place)


def _place(row: int) -> str:
    return f"row {row} of the frame"


def _of_matrix(name: str, frame: Any, declared: Labels) -> LabelledCounts:
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
    return NamedMatrix(name, np.column_stack(arrays), labels, list(map(str, names))).counts(declared)


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
