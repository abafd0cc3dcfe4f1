"""The long form: one line a cell, `channel, x, y, value`, in any column order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestchannel.arrays import Integers
from bestchannel.counts.labelled import LabelledRows
from bestchannel.counts.labelled_counts import alphabet, refuse_too_many_cells
from bestchannel.errors import InputError

NOT_A_MATRIX = "only a matrix can be transposed, and this is a long form; let columns= (--columns) exchange x and y"


@dataclass(frozen=True)
class LongForm:
    """Lines column by column; `place(i)` says where line i stands in its file."""

    channels: Sequence[str]
    xs: Sequence[str]
    ys: Sequence[str]
    values: NDArray[Any]
    place: Callable[[int], str]


def find_columns(header: Sequence[str], roles: Sequence[str], columns: Mapping[str, str] | None) -> dict[str, int]:
    """Where the header has the column of each role, for the roles that it has.

    A column is called as its role, or as `columns` renames it; capitals do not matter.
    """
    renamed = columns or {}
    for role in renamed:
        if role not in roles:
            raise InputError(f"columns may rename {', '.join(roles)}; it renames {role!r}")
    cells = [cell.strip().casefold() for cell in header]
    found: dict[str, int] = {}
    for role in roles:
        wanted = renamed.get(role, role)
        matches = [i for i, cell in enumerate(cells) if cell == wanted.strip().casefold()]
        if len(matches) > 1:
            raise InputError(f'the column "{wanted}" must occur once; it occurs {len(matches)} times')
        if role in renamed and not matches:
            raise InputError(f'{role} must be the column "{wanted}"; the columns are {", ".join(header[:20])}')
        found.update((role, i) for i in matches)
    return found


def probability_columns(header: Sequence[str], columns: Mapping[str, str] | None) -> dict[str, int]:
    """Where the columns x, y, p and, if there, channel are; counts and trial logs are sent to `estimate`."""
    found = find_columns(header, ("channel", "x", "y", "p"), columns)
    missing = [role for role in ("x", "y", "p") if role not in found]
    if missing == ["p"]:
        counted = any(cell.strip().casefold() in ("count", "counts") for cell in header)
        kind = "counts" if counted else "a trial log"
        raise InputError(
            f"there is no column p, so this looks like {kind}, and a channel wants probabilities;"
            " use `bestchannel estimate`, or say which column is p (columns= or --columns)"
        )
    if missing:
        raise InputError(
            f"the columns must be x, y, p and perhaps channel; {' and '.join(missing)} is missing from"
            f" {', '.join(header[:20])} (columns= or --columns renames)"
        )
    return found


def matrices(lines: LongForm) -> Iterator[LabelledRows]:
    """One matrix a channel, in order of first appearance; cells without a line are 0.

    Each channel has its own alphabets: the labels of its lines in order of first
    appearance, or in numeric order if all are integers.
    """
    for name, members in by_channel(lines):
        yield _matrix(name, lines, members)


def by_channel(lines: LongForm) -> Iterator[tuple[str, Integers]]:
    """Each channel with the numbers of its lines, in order of first appearance."""
    names = list(dict.fromkeys(lines.channels))
    codes = positions(lines.channels, names)
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes))
    yield from zip(names, np.split(order, ends[:-1]), strict=True)


def _matrix(name: str, lines: LongForm, members: Integers) -> LabelledRows:
    xs = [lines.xs[i] for i in members.tolist()]
    ys = [lines.ys[i] for i in members.tolist()]
    inputs, outputs = alphabet(xs), alphabet(ys)
    shape = len(inputs), len(outputs)
    refuse_too_many_cells(name, shape)
    cells = positions(xs, inputs) * len(outputs) + positions(ys, outputs)
    _refuse_repeated(cells, name, lines, members)
    values = np.zeros(shape[0] * shape[1], dtype=lines.values.dtype)
    values[cells] = lines.values[members]
    return LabelledRows(name, values.reshape(shape), inputs, outputs)


def positions(labels: Sequence[str], letters: Sequence[str]) -> Integers:
    """Where in the alphabet each label stands."""
    index = {label: i for i, label in enumerate(letters)}
    return np.fromiter(map(index.__getitem__, labels), np.int64, len(labels))


def _refuse_repeated(cells: Integers, name: str, lines: LongForm, members: Integers) -> None:
    order = np.argsort(cells, kind="stable")
    repeats = np.flatnonzero(np.diff(cells[order]) == 0)
    if len(repeats):
        first, second = (int(members[order[repeats[0] + i]]) for i in (0, 1))
        raise InputError(
            f'x={lines.xs[first]}, y={lines.ys[first]} of channel "{name}" must have one value;'
            f" it has one in {lines.place(first)} and another in {lines.place(second)}"
        )
