"""What a file says of one channel, before anything is checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LabelledRows:
    """A matrix as it stands in a file, with its labels; None stands for the labels 0, 1, 2, ..."""

    name: str
    rows: object
    inputs: Sequence[str] | None = None
    outputs: Sequence[str] | None = None


def labels_or_none(labels: Sequence[str]) -> Sequence[str] | None:
    """The labels, or None if they are 0, 1, 2, ... and need not be stored."""
    return None if list(labels) == [str(i) for i in range(len(labels))] else labels
