"""A matrix of one channel as somebody gave it: its name, its rows, and labels for both sides where there are any."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bestchannel.arrays import count_table, numeric_array
from bestchannel.channels import Channel
from bestchannel.counts.labelled_counts import LabelledCounts, undeclared
from bestchannel.errors import InputError


@dataclass(frozen=True, slots=True)
class NamedMatrix:
    """A matrix before anything is checked; None stands for the labels 0, 1, 2, ..."""

    name: str
    rows: object
    inputs: Sequence[str] | None = None
    outputs: Sequence[str] | None = None

    def transposed(self) -> NamedMatrix:
        """The rows as columns; the labels are those of the inputs and outputs already."""
        rows = np.transpose(numeric_array(self.rows, f'channel "{self.name}"'))
        return NamedMatrix(self.name, rows, self.inputs, self.outputs)

    def channel(self, *, normalize: bool) -> Channel:
        """The channel whose rows these are."""
        return Channel.from_rows(
            self.rows, name=self.name, inputs=self.inputs, outputs=self.outputs, normalize=normalize
        )

    def counts(self, declared: tuple[str, ...] | None) -> LabelledCounts:
        """The counts that these rows are; the columns are the outputs, declared by being there or among `declared`."""
        where = f'the counts of channel "{self.name}"'
        counts = count_table(self.rows, where)
        inputs = _labels(self.inputs, counts.shape[0], "input", where)
        if declared is not None and self.outputs is None and len(declared) != counts.shape[1]:
            raise InputError(f"{where} must have the {len(declared)} declared outputs; they have {counts.shape[1]}")
        if declared is None or self.outputs is None:
            outputs = _labels(declared or self.outputs, counts.shape[1], "output", where)
            return LabelledCounts(self.name, counts, inputs, outputs, False)
        wide = np.zeros((len(counts), len(declared)), dtype=np.int64)
        for y, label in enumerate(_labels(self.outputs, counts.shape[1], "output", where)):
            if label not in declared:
                raise InputError(undeclared(f"column {label!r} of {where}", label, declared))
            wide[:, declared.index(label)] = counts[:, y]
        return LabelledCounts(self.name, wide, inputs, declared, False)


def _labels(labels: Sequence[str] | None, size: int, kind: str, where: str) -> tuple[str, ...]:
    if labels is None:
        return tuple(map(str, range(size)))
    if len(labels) != size or len(set(labels)) != size:
        raise InputError(
            f"{where} must have a different label for each of their {size} {kind}s; there are {len(labels)}:"
            f" {', '.join(labels[:20])}"
        )
    return tuple(labels)


def labels_or_none(labels: Sequence[str]) -> Sequence[str] | None:
    """The labels, or None if they are 0, 1, 2, ... and need not be stored."""
    return None if list(labels) == [str(i) for i in range(len(labels))] else labels
