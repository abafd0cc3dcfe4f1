"""Counts in files: lines `channel, x, y, count`, trial logs with a line a sense, or matrices of counts."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestchannel.arrays import Integers, count_table, numeric_array
from bestchannel.errors import InputError
from bestchannel.files import json_form, npz_form, parquet_form
from bestchannel.files.bare_matrix import bare_matrix
from bestchannel.files.csv_form import is_long_header
from bestchannel.files.disk import errors_naming, read_bytes
from bestchannel.files.labelled import LabelledRows
from bestchannel.files.long_form import (
    NOT_A_MATRIX,
    LongForm,
    alphabet,
    by_channel,
    find_columns,
    positions,
    refuse_too_many_cells,
)
from bestchannel.files.table import Table, read_table

_ROLES = ("channel", "x", "y", "count")
_ENDINGS = (".csv", ".parquet", ".npz", ".json")


@dataclass(frozen=True, eq=False)
class LabelledCounts:
    """How often each input gave each output: counts[x, y], with the labels of both.

    `inferred_outputs` says that the outputs are the labels that lines of a file happened to have.
    """

    name: str
    counts: Integers
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    inferred_outputs: bool


def read_counts(
    path: str | os.PathLike[str],
    *,
    outputs: Sequence[str] | None = None,
    transpose: bool = False,
    columns: Mapping[str, str] | None = None,
) -> dict[str, LabelledCounts]:
    """The counts of a .csv, .parquet, .npz or .json file by channel, in the order of the file.

    Lines have the columns x, y and perhaps channel and count; without count a line is one sense,
    without channel all lines are one channel, named after the file. Lines of one cell add up, and a
    cell without a line counts 0. `outputs` declares the outputs of every channel; `transpose` says
    that the columns of the matrices are the inputs; `columns` renames the columns of lines.
    """
    path = Path(path)
    with errors_naming(path):
        declared = None if outputs is None else _declared(outputs)
        found = list(_read(path, declared, transpose, columns))
        return _by_name(found)


def _declared(outputs: Sequence[str]) -> tuple[str, ...]:
    labels = tuple(outputs)
    repeated = next((label for label in labels if labels.count(label) > 1), None)
    if not labels or repeated is not None:
        raise InputError(f"the declared outputs must be different labels, at least one; they are {', '.join(labels)}")
    return labels


def _by_name(found: Sequence[LabelledCounts]) -> dict[str, LabelledCounts]:
    channels = {content.name: content for content in found}
    if not channels:
        raise InputError("a file must hold at least one channel; this one holds none")
    if len(channels) < len(found):
        raise InputError("each channel must occur once; a name occurs twice")
    return channels


def _read(
    path: Path, outputs: tuple[str, ...] | None, transpose: bool, columns: Mapping[str, str] | None
) -> Iterator[LabelledCounts]:
    ending = path.suffix.lower()
    if ending not in _ENDINGS:
        raise InputError(f"the ending must be one of {', '.join(_ENDINGS)}; it is {ending!r}")
    data = read_bytes(path)
    if ending in (".npz", ".json"):
        if columns is not None:
            raise InputError(f"columns belongs to a .csv or .parquet file; this is a {ending} file")
        matrices = npz_form.parse(data) if ending == ".npz" else json_form.parse(data)
        return (_of_matrix(content, outputs, transpose) for content in matrices)
    if ending == ".csv":
        table = read_table(data)
        if columns is None and not is_long_header(table.rows[0]):
            return iter([_of_matrix(bare_matrix(table, name=path.stem, transpose=transpose), outputs, transpose)])
    if transpose:
        raise InputError(NOT_A_MATRIX)
    lines = _csv_lines(table, path.stem, columns) if ending == ".csv" else _parquet_lines(data, path.stem, columns)
    return (_of_lines(name, lines, members, outputs) for name, members in by_channel(lines))


def _of_matrix(content: LabelledRows, outputs: tuple[str, ...] | None, transpose: bool) -> LabelledCounts:
    """The matrix of a file; its columns are its outputs, declared by being there."""
    where = f'the counts of channel "{content.name}"'
    array = numeric_array(content.rows, where)
    counts = count_table(array.T if transpose else array, where)
    inputs = _labels(content.inputs, counts.shape[0], "input", where)
    own = _labels(content.outputs, counts.shape[1], "output", where)
    if outputs is None:
        return LabelledCounts(content.name, counts, inputs, own, False)
    if content.outputs is None:
        if len(outputs) != counts.shape[1]:
            raise InputError(f"{where} must have the {len(outputs)} declared outputs; they have {counts.shape[1]}")
        return LabelledCounts(content.name, counts, inputs, outputs, False)
    wide = np.zeros((len(inputs), len(outputs)), dtype=np.int64)
    for y, label in enumerate(own):
        if label not in outputs:
            raise InputError(_undeclared(f"column {label!r} of {where}", label, outputs))
        wide[:, outputs.index(label)] = counts[:, y]
    return LabelledCounts(content.name, wide, inputs, outputs, False)


def _labels(labels: Sequence[str] | None, size: int, kind: str, where: str) -> tuple[str, ...]:
    if labels is None:
        return tuple(map(str, range(size)))
    if len(labels) != size or len(set(labels)) != size:
        raise InputError(f"{where} must have {size} different {kind} labels; they are {', '.join(labels)}")
    return tuple(labels)


def _undeclared(place: str, label: str, outputs: Sequence[str]) -> str:
    return f"{place} must be one of the declared outputs {', '.join(outputs[:20])}; it is {label!r}"


def _of_lines(name: str, lines: LongForm, members: Integers, outputs: tuple[str, ...] | None) -> LabelledCounts:
    """The counts of one channel, lines of the same cell added up."""
    xs = [lines.xs[i] for i in members.tolist()]
    ys = [lines.ys[i] for i in members.tolist()]
    if outputs is not None:
        known = set(outputs)
        for i, label in zip(members.tolist(), ys, strict=True):
            if label not in known:
                raise InputError(_undeclared(f"{lines.place(i)}, y", label, outputs))
    inputs, letters = alphabet(xs), list(outputs) if outputs else alphabet(ys)
    shape = len(inputs), len(letters)
    refuse_too_many_cells(name, shape)
    cells = positions(xs, inputs) * len(letters) + positions(ys, letters)
    totals = np.bincount(cells, weights=lines.values[members], minlength=shape[0] * shape[1])
    counts = count_table(totals.reshape(shape), f'the counts of channel "{name}"')
    return LabelledCounts(name, counts, tuple(inputs), tuple(letters), outputs is None)


def _columns(header: Sequence[str], columns: Mapping[str, str] | None) -> dict[str, int]:
    """Where x, y and, if there, channel and count are; probabilities are sent to `capacity`."""
    found = find_columns(header, _ROLES, columns)
    missing = [role for role in ("x", "y") if role not in found]
    if missing:
        raise InputError(
            f"the columns must be x, y and perhaps channel and count; {' and '.join(missing)} is missing from"
            f" {', '.join(header[:20])} (columns= or --columns renames)"
        )
    if "count" not in found and any(cell.strip().casefold() == "p" for cell in header):
        raise InputError(
            "there is a column p and none called count, so these look like probabilities, and estimates want"
            " counts; use `bestchannel capacity`, or say which column is count (columns= or --columns)"
        )
    return found


def _csv_lines(table: Table, name: str, columns: Mapping[str, str] | None) -> LongForm:
    header, rows = table.rows[0], table.rows[1:]
    found = _columns(header, columns)
    table.refuse_ragged(len(header), 1)
    if not rows:
        raise InputError("there must be lines after the header; there is none")

    def place(i: int) -> str:
        return f"line {table.lines[i + 1]}"

    def texts(role: str) -> list[str]:
        return [row[found[role]].strip() for row in rows]

    values: NDArray[Any] = np.ones(len(rows))
    if "count" in found:
        values = table.numbers(texts("count"), lambda i: f"{place(i)}, count")
    channels = texts("channel") if "channel" in found else [name] * len(rows)
    return _checked(LongForm(channels, texts("x"), texts("y"), values, place))


def _parquet_lines(data: bytes, name: str, columns: Mapping[str, str] | None) -> LongForm:
    table = parquet_form.read(data)
    found = _columns(table.column_names, columns)

    def texts(role: str) -> list[str]:
        return [text.strip() for text in parquet_form.cast(table, found[role], "string").to_pylist()]

    values: NDArray[Any] = np.ones(table.num_rows)
    if "count" in found:
        values = parquet_form.cast(table, found["count"], "double").to_numpy()
    channels = texts("channel") if "channel" in found else [name] * table.num_rows
    return _checked(LongForm(channels, texts("x"), texts("y"), values, parquet_form.place))


def _checked(lines: LongForm) -> LongForm:
    """The lines, none of them with a blank label or with a count that is no whole number from 0 on."""
    for role, labels in (("channel", lines.channels), ("x", lines.xs), ("y", lines.ys)):
        if "" in labels:
            raise InputError(f"{lines.place(list(labels).index(''))}, {role} must be a label; it is blank")
    bad = np.flatnonzero(~np.isfinite(lines.values) | (lines.values < 0) | (lines.values != np.floor(lines.values)))
    if len(bad):
        i = int(bad[0])
        raise InputError(f"{lines.place(i)}, count must be a whole number from 0 on; it is {lines.values[i]:.12g}")
    return lines
