"""A matrix of one channel as somebody gave it: its name, its rows, and labels for both sides where there are any."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bestchannel.arrays import Integers, count_table, numeric_array
from bestchannel.channels import Channel
from bestchannel.counts.labelled_counts import LabelledCounts, refuse_labels, undeclared
from bestchannel.counts.soft_outputs import refuse_measured
from bestchannel.errors import InputError

_TOTALS = frozenset(["all", "total", "totals", "sum", "margin", "margins"])
"""What sums beside counts are called; All is pandas' word."""


MOST_SIDE = 2**18
"""The most inputs, or outputs, of a matrix: each has a label, which takes more room than a number."""


_SAID = {
    "x": {"tx", "sent", "transmitted", "true", "truth", "actual", "input", "inputs", "prepared", "stimulus"},
    "y": {"rx", "received", "got", "predicted", "prediction", "pred", "output", "outputs", "measured", "decoded"},
}
"""Words in the labels of a matrix that say which side of the channel they are of."""


@dataclass(frozen=True, slots=True)
class NamedMatrix:
    """A matrix before anything is checked; None stands for the labels 0, 1, 2, ...

    `inferred` says that the outputs are those that happened to be there, `titles` what stands above the labels of the
    inputs and beside those of the outputs, `doubtful` that nobody said on which side the inputs are.
    """

    name: str
    rows: object
    inputs: Sequence[str] | None = None
    outputs: Sequence[str] | None = None
    inferred: bool = False
    titles: tuple[str, str] = ("", "")
    doubtful: bool = False

    def __post_init__(self) -> None:
        refuse_long_side(self.name, *_sides(self.rows))

    def transposed(self) -> NamedMatrix:
        """The rows as columns; the labels are those of the inputs and outputs already."""
        rows = np.transpose(numeric_array(self.rows, f'channel "{self.name}"'))
        return replace(self, rows=rows)

    def channel(self, *, normalize: bool) -> Channel:
        """The channel whose rows these are."""
        self._refuse_exchanged()
        return Channel.from_rows(
            self.rows, name=self.name, inputs=self.inputs, outputs=self.outputs, normalize=normalize
        )

    def counts(self, declared: tuple[str, ...] | None) -> LabelledCounts:
        """The counts that these rows are; the columns are the outputs, declared by being there or among `declared`."""
        where = f'the counts of channel "{self.name}"'
        self._refuse_exchanged()
        counts = count_table(self.rows, where)
        inputs = _labels(self.inputs, counts.shape[0], "input", where)
        self._refuse_totals(counts, where)
        if declared is not None and self.outputs is None and len(declared) != counts.shape[1]:
            raise InputError(f"{where} must have the {len(declared)} declared outputs; they have {counts.shape[1]}")
        if declared is None or self.outputs is None:
            outputs = _labels(declared or self.outputs, counts.shape[1], "output", where, declared or ())
            if self.inferred:
                refuse_measured(self.name, outputs, counts.sum(axis=0))
            return LabelledCounts(self.name, counts, inputs, outputs, self.inferred)
        wide = np.zeros((len(counts), len(declared)), dtype=np.int64)
        for y, label in enumerate(_labels(self.outputs, counts.shape[1], "output", where, declared)):
            if label not in declared:
                raise InputError(undeclared(f"column {label!r} of {where}", label, declared))
            wide[:, declared.index(label)] = counts[:, y]
        return LabelledCounts(self.name, wide, inputs, declared, False)

    def _refuse_exchanged(self) -> None:
        """Refuse a matrix whose labels say that its columns are the inputs, or its rows the outputs."""
        sides = [*zip(self.titles, (self.inputs, self.outputs), strict=True)]
        said = [_side(*side) for side in sides]
        if self.doubtful and said[0] != said[1] and (said[0] == "y" or said[1] == "x"):
            rows, columns = (title.strip() or (labels or ("",))[0] for title, labels in sides)
            raise InputError(
                f'the rows of channel "{self.name}" must be its inputs and the columns its outputs; they are called'
                f" {rows!r} and {columns!r}, which says the opposite; write --transpose (transpose=True, or give the"
                " transposed matrix), or --form matrix (form='matrix') if it is right"
            )

    def _refuse_totals(self, counts: Integers, where: str) -> None:
        """Refuse a last row or column that is called total and is one, which would be counted twice."""
        for labels, table in ((self.inputs, counts), (self.outputs, counts.T)):
            if labels is None or len(labels) != len(table) or len(table) < 2:
                continue
            last = str(labels[-1])
            if last.strip().casefold() in _TOTALS and np.array_equal(table[:-1].sum(axis=0), table[-1]):
                raise InputError(f"{where} must be without totals; {last!r} is the sum of the others (leave it out)")


def refuse_long_side(name: str, *sides: int) -> None:
    """Refuse a matrix with more inputs or outputs than labels are made for."""
    if max(sides, default=0) > MOST_SIDE:
        raise InputError(
            f'channel "{name}" must have at most {MOST_SIDE:,} inputs, and as many outputs; it has {max(sides):,}'
        )


def _sides(rows: object) -> tuple[int, ...]:
    """How many rows there are, and how long the first of them is."""
    if isinstance(rows, np.ndarray):
        return rows.shape
    if not isinstance(rows, list | tuple):
        return ()
    return len(rows), *(len(row) for row in rows[:1] if isinstance(row, list | tuple))


def _labels(
    labels: Sequence[str] | None, size: int, kind: str, where: str, declared: Sequence[str] = ()
) -> tuple[str, ...]:
    if labels is None:
        return tuple(map(str, range(size)))
    if len(labels) != size or len(set(labels)) != size:
        raise InputError(
            f"{where} must have a different label for each of their {size} {kind}s; there are {len(labels)}:"
            f" {', '.join(labels[:20])}"
        )
    refuse_labels(labels, f"the {kind}s of {where.removeprefix('the counts of ')}", declared)
    return tuple(labels)


def _side(title: str, labels: Sequence[str] | None) -> str | None:
    """Whether a side of a matrix is called what was sent, "x", or received, "y", by its title or by all its labels."""
    words = set(re.findall(r"[a-z]+", title.casefold()))
    for role, known in _SAID.items():
        if words & (known | {role}):
            return role
    parts = [set(re.findall(r"[a-z]+|[0-9]+", label.casefold())) for label in labels or ()]
    return next((r for r, known in _SAID.items() if parts and all(p & known and p - known for p in parts)), None)


def labels_or_none(labels: Sequence[str]) -> Sequence[str] | None:
    """The labels, or None if they are 0, 1, 2, ... and need not be stored."""
    return None if list(labels) == [str(i) for i in range(len(labels))] else labels
