"""Counts and logs as people hold them: matrices by name, frames of pandas, polars or pyarrow, arrays of xarray.

None of these libraries is imported: an object is told by what it offers. A frame has columns that can be
asked for by name and turned into arrays; a labelled array has named dimensions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestchannel.arrays import numeric_array, refuse_masked
from bestchannel.counts import named_matrix
from bestchannel.counts.columns import MOST_INPUTS, are_rows
from bestchannel.counts.joint_records import joint_trials_of
from bestchannel.counts.joint_trials import JointTrials
from bestchannel.counts.labelled_counts import (
    Columns,
    Combinations,
    Hints,
    LabelledCounts,
    RowBlock,
    Trials,
    by_name,
    declared_outputs,
    label_of,
)
from bestchannel.counts.matrix_text import Lines, bare_matrix, refuse_channels, refuse_rows_beside
from bestchannel.counts.named_matrix import NamedMatrix
from bestchannel.counts.table import Table, log_of_vectors, table_of, table_of_vectors
from bestchannel.counts.text_log import as_number
from bestchannel.errors import InputError

UNNAMED = "channel"  # what a channel is called that nothing names
Labels = tuple[str, ...] | None


def labelled_counts(
    counts: object,
    outputs: Sequence[str] | None = None,
    *,
    columns: Columns = None,
    channel_axis: str | None = None,
    form: str | None = None,
) -> dict[str, LabelledCounts]:
    """The counts of every channel with their labels, whatever they came in; `outputs` declares the outputs of all.

    `columns` renames the columns of frames, `channel_axis` ("first" or "last") says where the channels of a stack are,
    `form` ("rows" or "matrix") what an object is that may be either.
    """
    declared = None if outputs is None else declared_outputs(outputs)
    hints = Hints(columns, form=form, channel_axis=channel_axis)
    if isinstance(counts, Trials | JointTrials):
        found = [_of_value(content.name, content, declared, hints) for content in counts.labelled_counts()]
    elif isinstance(counts, Mapping):
        found = _of_mapping(counts, declared, hints)
    elif _is_labelled_array(counts) and "channel" in getattr(counts, "dims", ()):
        array, names, *sides = _labelled(counts, "channel", "x", "y")
        every = zip(names or map(str, range(len(array))), array, strict=True)
        found = [NamedMatrix(name, rows, *sides).counts(declared) for name, rows in every]
    elif _is_labelled_array(counts):
        found = [_of_value(str(getattr(counts, "name", None) or UNNAMED), counts, declared, hints)]
    elif is_frame(counts):
        found = _of_frame(counts, declared, hints)
    elif isinstance(counts, np.ndarray | list | tuple):
        found = _unnamed(counts, declared, hints)
    else:
        raise InputError(
            "counts must be matrices of counts, by name, in a list or alone, {sent: {got: n}}, a data frame or an array"
            f" with the dimensions channel, x and y; it is a {type(counts).__name__}; a file is read by"
            " bestchannel.read_counts(path)"
        )
    return by_name(found)


def _of_mapping(counts: Mapping[Any, object], declared: Labels, hints: Hints) -> list[LabelledCounts]:
    nested = named_matrix.matrices_of(counts, UNNAMED)
    if nested is not None:
        return [matrix.counts(declared) for matrix in nested]
    if counts and all(isinstance(n, int | float | np.number) for n in counts.values()):
        raise InputError(
            "counts must say what was sent, and counts of pairs (sent, received) as those of a circuit, which say only"
            " what was received, are to be given as {sent: {received: n}}"
        )
    if counts and all(map(_is_column, counts.values())):
        arrays, declared_by_type = _columns_of(counts)
        table = log_of_vectors(arrays, hints.columns, declared_by_type)
        if table is not None:
            return _counted(table, declared, hints)
    return [_of_value(name, value, declared, hints) for name, value in counts.items()]


def _counted(table: Table, declared: Labels, hints: Hints, name: str = UNNAMED) -> list[LabelledCounts]:
    """The counts of the channels whose log the table is."""
    seen = Combinations(declared)
    return seen.counted(table.log(seen, name, hints.columns), order=True)


def _unnamed(counts: Any, declared: Labels, hints: Hints) -> list[LabelledCounts]:
    """A matrix or a log, or a stack or list of them, called 0, 1, 2, ..."""
    if isinstance(counts, list | tuple) and not _is_pair(counts):
        if counts and all(is_frame(rows) or _is_pair(rows) or _is_matrix(rows) for rows in counts):
            return [_of_value(str(k), rows, declared, hints) for k, rows in enumerate(counts)]
        counts = numeric_array(counts, "the counts")
    if isinstance(counts, tuple) or counts.ndim != 3:
        return [_of_value(UNNAMED, counts, declared, hints)]
    stack = named_matrix.matrices_in(counts, "the array of counts", hints.channel_axis, "first")
    return [NamedMatrix(str(k), rows).counts(declared) for k, rows in enumerate(stack)]


def _is_matrix(rows: object) -> bool:
    try:
        return np.ndim(rows) == 2  # type: ignore[arg-type]
    except ValueError:  # rows of different lengths
        return False


def _is_column(values: object) -> bool:
    """Whether the values may be the labels of one column."""
    if isinstance(values, np.ndarray) or hasattr(values, "to_numpy"):
        return not hasattr(values, "columns") and np.ndim(values) == 1  # type: ignore[arg-type]
    return isinstance(values, list | tuple) and not any(isinstance(v, list | tuple | np.ndarray) for v in values)


def _vector(values: Any) -> NDArray[Any]:
    refuse_masked(values, "a column of labels")
    if isinstance(values, list | tuple) and not {int, float}.issuperset(map(type, values)):
        return np.fromiter(values, object, len(values))  # an array of texts and numbers would have texts
    return np.asarray(values)


def paired_senses(sent: object, received: object) -> tuple[object, object]:
    """The pair (x, y) of one channel's inputs and outputs, each one column."""
    if not _is_pair((sent, received)):
        raise InputError(
            "two arguments must be what was sent and what was received, each one column of labels one row per sense;"
            " give the counts of several channels as {name: counts}, and what several channels answered to the same"
            ' inputs with design="joint"'
        )
    return sent, received


def joint_trials(
    trials: Any,
    answers: object = None,
    *,
    outputs: Sequence[str] | None = None,
    columns: Columns = None,
    groups: Any = None,
) -> JointTrials:
    """The trials that several channels answer, as people hold them.

    A frame, or columns by name, as `read_joint_trials` reads them; or what was sent, and the `answers` of every channel
    as columns by name, a frame or a matrix of shape (n_trials, n_channels). `groups` is a column, or its name.
    """
    if isinstance(trials, JointTrials):
        if any(more is not None for more in (answers, outputs, columns, groups)):
            raise InputError("joint trials have their answers, outputs and groups; say these where the trials are made")
        return trials
    arrays, declared = _columns_of(trials) if answers is None else _asked_and_answered(trials, answers)
    if groups is not None and not isinstance(groups, str):
        title = next(name for name in ("group", "the group of each row") if name not in arrays)
        arrays, groups = {**arrays, title: _vector(groups)}, title
    return joint_trials_of(table_of_vectors(arrays, declared), columns, groups, outputs)


_Columns = tuple[dict[str, NDArray[Any]], dict[str, list[str]]]  # by title, and the labels that a type declares


def _columns_of(content: Any) -> _Columns:
    """The columns of a frame, or by name."""
    if is_frame(content):
        frame = _with_index(_as_frame(content))
        titles = {_title(name): name for name in _names(frame)}
        if len(titles) < len(_names(frame)):
            raise InputError("the columns of the frame must have different names; two have the same")
        declared = {title: _categories(_column(frame, name)) for title, name in titles.items()}
        return {title: _array(frame, name) for title, name in titles.items()}, declared
    if isinstance(content, Mapping) and content and all(map(_is_column, content.values())):
        every = {str(name): values for name, values in content.items()}
        return {n: _vector(v) for n, v in every.items()}, {n: _categories(v) for n, v in every.items()}
    raise InputError(
        "trials that all channels answer must be a frame, columns by name, or what was sent and then the answers, as"
        f" estimate(y_true, {{name: y_pred}}); it is a {type(content).__name__}; a file is read by"
        " bestchannel.read_joint_trials(path)"
    )


def _asked_and_answered(sent: object, answers: Any) -> _Columns:
    """The columns x and y_NAME."""
    if not _is_column(sent):
        raise InputError("what was sent must be one column of labels, the input of each trial; it is something else")
    if isinstance(answers, np.ndarray) and answers.ndim == 2:
        answers = {str(j): column for j, column in enumerate(answers.T)}
    columns, declared = _columns_of(answers)
    named = {f"y_{name}": values for name, values in columns.items()}
    return {"x": _vector(sent), **named}, {f"y_{name}": labels for name, labels in declared.items()}


def _is_pair(value: object) -> bool:
    """Whether the value is a tuple (x, y) of two columns, as `quantise` takes it."""
    return isinstance(value, tuple) and len(value) == 2 and all(map(_is_column, value))


def _of_value(name: object, value: Any, declared: Labels, hints: Hints) -> LabelledCounts:
    """The counts of one channel of a mapping."""
    if not isinstance(name, str):
        raise InputError(f"the name of a channel must be a text; it is {name!r}")
    if named_matrix.is_nested(value):
        return named_matrix.matrix_of(name, value).counts(declared)
    if isinstance(value, LabelledCounts):
        if declared is None:
            return replace(value, name=name)
        content, order = NamedMatrix(name, value.counts, value.inputs, value.outputs).counts(declared), None
        if value.order is not None:  # with outputs numbered as declared
            order = value.order[0], np.array([declared.index(label) for label in value.outputs])[value.order[1]]
        return replace(content, binning=value.binning, order=order, by_time=value.by_time)
    if _is_labelled_array(value):
        rows, *sides = _labelled(value, "x", "y")
        return NamedMatrix(name, rows, *sides).counts(declared)
    if is_frame(value):
        content, *others = _of_frame(value, declared, hints)
        if others:
            raise InputError(f'the frame of channel "{name}" must hold one channel; it holds {1 + len(others)}')
        return replace(content, name=name)
    if _is_pair(value) and hints.form != "matrix":
        return _of_pair(name, value, declared, hints)
    if isinstance(value, np.ndarray | list | tuple):
        value = numeric_array(value, f'the counts of channel "{name}"')
        named_matrix.refuse_trials(value, hints)
    return NamedMatrix(name, value).counts(declared)


def _of_pair(name: str, pair: Any, declared: Labels, hints: Hints) -> LabelledCounts:
    """The senses x[i], y[i] of a channel; refused where these may be the two rows of a matrix."""
    x, y = map(_vector, pair)
    if not len(x) + len(y):
        raise InputError(f'channel "{name}" must be senses; there is none')
    if hints.form is None:
        named_matrix.refuse_pair_in_doubt(name, x, y)
    table = table_of_vectors({"x": x, "y": y}, {"y": _categories(pair[1])})
    (content,) = _counted(table, declared, Hints(), name)
    return content


def _is_labelled_array(value: object) -> bool:
    return hasattr(value, "dims") and hasattr(value, "coords") and hasattr(value, "values")


def _labelled(array: Any, *dims: str) -> list[Any]:
    """The values along these dimensions, and the labels of each that has some."""
    if set(array.dims) != set(dims):
        raise InputError(
            f"the dimensions must be {', '.join(dims)}; they are {', '.join(map(str, array.dims))} (rename them)"
        )
    labels = ([_title(v) for v in array.coords[d].values.tolist()] if d in array.coords else None for d in dims)
    return [array.transpose(*dims).values, *labels]


def is_frame(value: object) -> bool:
    """Whether the value is a data frame, or a column of numbers under an index of groups."""
    return hasattr(value, "collect_schema") or hasattr(value, "columns") or _is_series(value)


def _is_series(value: object) -> bool:
    return hasattr(value, "reset_index") and hasattr(value, "index") and not hasattr(value, "columns")


def _as_frame(frame: Any) -> Any:
    """The frame; a series of pandas, as `groupby([...]).size()` gives it, with its index as columns."""
    if hasattr(frame, "collect_schema") and not hasattr(frame, "to_numpy"):
        raise InputError("a lazy frame has no rows yet; call its collect() first")
    return _reset(frame, name="count") if _is_series(frame) else frame


def _reset(frame: Any, **named: str) -> Any:
    """The frame of pandas with its index as columns."""
    try:
        return frame.reset_index(**named)
    except ValueError as error:  # a column is called as the index
        raise InputError(f"the index of the frame must have names of its own ({error})") from None


def log_of_frame(frame: Any, seen: Combinations) -> Iterator[RowBlock]:
    """The rows of a frame with the columns x, y and perhaps channel."""
    return _rows(_with_index(_as_frame(frame))).log(seen, UNNAMED, None)


def _levels(frame: Any, side: str) -> int:
    """How many keys the rows ("index") or the columns of a frame have."""
    return int(getattr(getattr(frame, side, None), "nlevels", 1))


def _names(frame: Any) -> list[Any]:
    return list(frame.column_names if hasattr(frame, "column_names") else frame.columns)


def _title(name: object) -> str:
    """What a row or a column is called; one that is called by a missing value is called nothing."""
    return "" if name is None else label_of(name) or str(name)


def _column(frame: Any, name: Any) -> Any:
    try:
        return frame[name]
    except KeyError:  # of two, or with a key that is missing
        raise InputError(f"the columns of the frame must have names that tell them apart; {name!r} does not") from None


def _array(frame: Any, name: Any) -> NDArray[Any]:
    return np.asarray(_column(frame, name).to_numpy())


def _of_frame(frame: Any, declared: Labels, hints: Hints) -> list[LabelledCounts]:
    """The channels of a frame, which is understood as the text that it would be saved as."""
    is_rows, frame = _is_series(frame) or hints.columns is not None or hints.form == "rows", _as_frame(frame)
    keys = frame.index.names if hasattr(frame, "index") else ()
    # where the keys beside the rows are x and y, a row is a cell and not a row of a matrix
    is_rows = is_rows or {"x", "y"} <= {_title(name).strip().casefold() for name in keys}
    levels = _levels(frame, "index"), _levels(frame, "columns")
    if levels[1] > 1 or (levels[0] > 1 and not is_rows):  # as pandas' `crosstab` makes it of two keys, channel first
        if sum(levels) != 3:
            raise InputError(
                "a frame of confusion matrices must have two keys on one side, channel and x or channel and y; it has"
                f" {levels[0]} and {levels[1]} (call its reset_index() for rows)"
            )
        side = "index" if levels[0] > 1 else "columns"
        found = dict.fromkeys(getattr(frame, side).get_level_values(0))
        parts = [_labelled_matrix(_title(name), frame.xs(name, axis=side, level=0), hints) for name in found]
        return [matrix.counts(declared) for matrix in parts]
    table = _with_index(frame)
    if not is_rows and (hints.form == "matrix" or not _is_log(frame, table)):
        return [_matrix(UNNAMED, frame, hints).counts(declared)]
    return _counted(_rows(table), declared, hints)


def _with_index(frame: Any) -> Any:
    """The frame with its index as columns, unless that only numbers the rows."""
    index = getattr(frame, "index", None)
    if index is None or (_levels(frame, "index") == 1 and index.name is None and index.dtype.kind in "iu"):
        return frame
    return _reset(frame)


def _is_log(frame: Any, table: Any) -> bool:
    """Whether there are rows below the columns of the table, which is the frame with its index."""
    titles, index = list(map(_title, _names(table))), getattr(frame, "index", None)
    if index is not None and sorted(map(_title, index)) == sorted(map(_title, frame.columns)):
        return False  # a matrix with the same labels on both sides
    if len(titles) > len(_names(frame)) and frame.index.names == [None]:
        titles[0] = ""  # as it would be written
    return are_rows(titles, _texts(table, 2 * max(MOST_INPUTS, len(titles))), partial(as_number, decimal_comma=False))


def _texts(table: Any, most: int) -> list[list[str]]:
    """The first rows as they would be written."""
    columns = [map(_title, _array(table, name)[:most].tolist()) for name in _names(table)]
    return [list(row) for row in zip(*columns, strict=True)]


def _rows(frame: Any) -> Table:
    """The frame as a table of rows."""
    names = _names(frame)
    return table_of(
        list(map(_title, names)),
        lambda i: _array(frame, names[i]),
        len(frame),
        lambda i: _categories(_column(frame, names[i])),
        first=0,
        of=" of the frame",
    )


def _categories(column: Any) -> list[str]:
    """The labels that a column may have, where its type says it: a Categorical, an Enum or a dictionary."""
    kind: Any = getattr(column, "dtype", None)
    declared: list[object] = []
    if hasattr(column, "unify_dictionaries") and hasattr(column.type, "index_type"):
        chunks = column.unify_dictionaries().chunks
        declared = chunks[0].dictionary.to_pylist() if chunks else []
    elif hasattr(column, "dictionary") and hasattr(column, "indices"):
        declared = column.dictionary.to_pylist()
    elif hasattr(kind, "ordered") or type(kind).__name__ == "Enum":
        declared = list(kind.categories)
    return [label for label in map(label_of, declared) if label is not None]


def _matrix(name: str, frame: Any, hints: Hints) -> NamedMatrix:
    """A confusion matrix: outputs above it, inputs beside it as its index or in its first column."""
    index, names = getattr(frame, "index", None), _names(frame)
    titles = list(map(_title, names))
    if not names or not len(frame):
        raise InputError(f'the counts of channel "{name}" must not be empty; the columns are {names}')
    if index is not None and (index.name is not None or list(map(str, index)) != list(map(str, range(len(index))))):
        return _labelled_matrix(name, frame, hints)
    if getattr(frame.columns, "name", None) is not None and len(titles) > 1:
        return _labelled_matrix(name, frame.set_index(names[0]), hints)  # crosstab(...).reset_index()
    if titles == list(map(str, range(len(titles)))) and index is not None:
        rows = np.column_stack([_array(frame, column) for column in names])
        named_matrix.refuse_trials(rows, hints)
        return NamedMatrix(name, rows)
    texts = [titles, *_texts(frame, len(frame))]
    return bare_matrix(Lines(texts, range(len(texts))), name, hints, counts=True, titled=True)


def _labelled_matrix(name: str, frame: Any, hints: Hints) -> NamedMatrix:
    """A frame of counts with the inputs as its index, unless its labels say that it is something else."""
    names = _names(frame)
    if not names:
        raise InputError(f'the counts of channel "{name}" must not be empty; there are keys beside them alone')
    rows, titles = np.column_stack([_array(frame, title) for title in names]), (frame.index.name, frame.columns.name)
    inputs, outputs, (beside, above) = (list(map(_title, labels)) for labels in (frame.index, names, titles))
    if hints.form is None:
        refuse_channels(beside, inputs, outputs)
        refuse_rows_beside(beside, inputs, outputs, rows)
    return NamedMatrix(name, rows, inputs, outputs, titles=(beside, above), doubtful=hints.form is None)
