"""Counts with their labels, and the cells (channel, x, y) of a log as they come."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestchannel.arrays import Integers, count_table
from bestchannel.errors import InputError

MOST_CELLS = 2**27
"""The largest matrix that lines may span (1 GiB); lines are few, but x and y multiply."""

MOST_SEEN = 2**20
"""The most different combinations of channel, x and y that a log may have."""

LONGEST = 10_000
"""The most letters of a label; what is longer is text, and is not to be kept for every cell."""

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")


@dataclass(frozen=True, eq=False)
class LabelledCounts:
    """How often each input gave each output: counts[x, y], with the labels of both.

    `inferred_outputs` says that the outputs are the labels that lines happened to have.
    """

    name: str
    counts: Integers
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    inferred_outputs: bool


@dataclass(frozen=True)
class Alphabets:
    """What the inputs and outputs of a channel are called; input x is inputs[x]."""

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class _Seen:
    """The labels of a channel in order of first appearance; the keys of a dictionary keep it."""

    inputs: dict[str, None] = field(default_factory=dict)
    outputs: dict[str, None] = field(default_factory=dict)


class Cells:
    """The different cells (channel, x, y) that a log has, numbered 0, 1, 2, ... in order of first appearance.

    Channels keep the order of the log. Each has its own alphabets: the labels that its cells have, in
    numeric order if all are integers, otherwise in order of first appearance; or the declared outputs.
    """

    def __init__(self, outputs: Sequence[str] | None = None) -> None:
        self.declared = None if outputs is None else declared_outputs(outputs)
        self._channels: dict[str, _Seen] = {}
        self._numbers: dict[tuple[str, str, str], int] = {}

    def number(self, channel: str, x: str, y: str, place: str) -> int:
        """The number of the cell with these labels; `place` says in a refusal where they stand."""
        cell = channel.strip(), x.strip(), y.strip()
        number = self._numbers.get(cell)
        return self._add(cell, place) if number is None else number

    def _add(self, cell: tuple[str, str, str], place: str) -> int:
        for role, label in zip(("channel", "x", "y"), cell, strict=True):
            if not 0 < len(label) <= LONGEST:
                found = f"{len(label):,} letters long" if label else "blank"
                raise InputError(f"{place}, {role} must be a label; it is {found}")
        if self.declared is not None and cell[2] not in self.declared:
            raise InputError(undeclared(f"{place}, y", cell[2], self.declared))
        number = len(self._numbers)
        if number == MOST_SEEN:
            raise InputError(
                f"{place} has the {MOST_SEEN + 1:,}th different combination of channel, x and y, too many for labels;"
                " is one of these columns a measured value, a time or a running number?"
            )
        channel, x, y = cell
        seen = self._channels.setdefault(channel, _Seen())
        seen.inputs[x] = seen.outputs[y] = None
        self._numbers[cell] = number
        return number

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def inferred_outputs(self) -> bool:
        """Whether the outputs are those that happened to be seen."""
        return self.declared is None

    def alphabets(self) -> list[Alphabets]:
        """The labels of every channel, in the order of the log."""
        return [
            Alphabets(name, tuple(alphabet(seen.inputs)), self.declared or tuple(alphabet(seen.outputs)))
            for name, seen in self._channels.items()
        ]

    def positions(self) -> tuple[Integers, Integers, Integers]:
        """The position of each cell's channel, of its x and of its y in the alphabets."""
        letters = {
            labels.name: (j, _index(labels.inputs), _index(labels.outputs)) for j, labels in enumerate(self.alphabets())
        }
        rows = ((letters[name], x, y) for name, x, y in self._numbers)
        places = np.array([(j, inputs[x], outputs[y]) for (j, inputs, outputs), x, y in rows], dtype=np.int64)
        return places[:, 0], places[:, 1], places[:, 2]

    def tables(self, totals: NDArray[Any]) -> list[LabelledCounts]:
        """The counts of every channel, where cell i was counted totals[i] times."""
        channel, x, y = self.positions()
        order = np.argsort(channel, kind="stable")
        members = np.split(order, np.cumsum(np.bincount(channel))[:-1])
        return [
            self._table(labels, x[own], y[own], totals[own])
            for labels, own in zip(self.alphabets(), members, strict=True)
        ]

    def _table(self, labels: Alphabets, x: Integers, y: Integers, totals: NDArray[Any]) -> LabelledCounts:
        shape = len(labels.inputs), len(labels.outputs)
        refuse_too_many_cells(labels.name, shape)
        counts = np.zeros(shape)
        counts[x, y] = totals
        table = count_table(counts, f'the counts of channel "{labels.name}"')
        return LabelledCounts(labels.name, table, labels.inputs, labels.outputs, self.inferred_outputs)


def labelled_matrix(
    name: str,
    rows: object,
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    declared: tuple[str, ...] | None = None,
) -> LabelledCounts:
    """A matrix of counts; its columns are its outputs, declared by being there, or found among the declared."""
    where = f'the counts of channel "{name}"'
    counts = count_table(rows, where)
    rows_called = _labels(inputs, counts.shape[0], "input", where)
    if declared is not None and outputs is None and len(declared) != counts.shape[1]:
        raise InputError(f"{where} must have the {len(declared)} declared outputs; they have {counts.shape[1]}")
    if declared is None or outputs is None:
        columns_called = _labels(declared or outputs, counts.shape[1], "output", where)
        return LabelledCounts(name, counts, rows_called, columns_called, False)
    wide = np.zeros((len(counts), len(declared)), dtype=np.int64)
    for y, label in enumerate(_labels(outputs, counts.shape[1], "output", where)):
        if label not in declared:
            raise InputError(undeclared(f"column {label!r} of {where}", label, declared))
        wide[:, declared.index(label)] = counts[:, y]
    return LabelledCounts(name, wide, rows_called, declared, False)


def _labels(labels: Sequence[str] | None, size: int, kind: str, where: str) -> tuple[str, ...]:
    if labels is None:
        return tuple(map(str, range(size)))
    if len(labels) != size or len(set(labels)) != size:
        raise InputError(
            f"{where} must have a different label for each of their {size} {kind}s; there are {len(labels)}:"
            f" {', '.join(labels[:20])}"
        )
    return tuple(labels)


def alphabet(labels: Iterable[str]) -> list[str]:
    """The distinct labels, in numeric order if all are integers, otherwise in order of first appearance."""
    distinct = list(dict.fromkeys(labels))
    return sorted(distinct, key=int) if all(map(_INTEGER.fullmatch, distinct)) else distinct


def declared_outputs(outputs: Sequence[str]) -> tuple[str, ...]:
    """The outputs that were declared, which are different labels."""
    labels = tuple(outputs)
    wrong = next((label for label in labels if not isinstance(label, str)), None)
    if wrong is not None:
        raise InputError(f"the declared outputs must be texts; one is {wrong!r}")
    if not labels or len(set(labels)) < len(labels):
        raise InputError(f"the declared outputs must be different labels, at least one; they are {', '.join(labels)}")
    return labels


def undeclared(place: str, label: str, outputs: Sequence[str]) -> str:
    """What is said of an output that is none of the declared."""
    return f"{place} must be one of the declared outputs {', '.join(outputs[:20])}; it is {label!r}"


def refuse_too_many_cells(name: str, shape: tuple[int, int]) -> None:
    """Refuse a matrix of more than MOST_CELLS."""
    if shape[0] * shape[1] > MOST_CELLS:
        raise InputError(
            f'channel "{name}" must have at most {MOST_CELLS} cells; its lines have {shape[0]} different x and'
            f" {shape[1]} different y (are these columns labels?)"
        )


def _index(labels: Sequence[str]) -> dict[str, int]:
    return {label: i for i, label in enumerate(labels)}
