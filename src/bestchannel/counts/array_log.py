"""Logs as arrays: vectors x and y, and perhaps channel and count, of one length."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from numpy.typing import NDArray

from bestchannel.counts.columns import cell_numbers, column, constant, whole_counts
from bestchannel.counts.labelled_counts import Cells
from bestchannel.counts.pieces import Piece
from bestchannel.counts.row_forms import log_columns
from bestchannel.errors import InputError

ROWS = 2**20
"""Rows numbered at a time."""


def array_log(
    arrays: Mapping[str, NDArray[Any]], cells: Cells, name: str, columns: Mapping[str, str] | None
) -> Iterator[Piece] | None:
    """The rows of the vectors, or None where there are no vectors x and y."""
    vectors = {key: array.ravel() for key, array in arrays.items() if _is_vector(array)}
    if columns is None and not {"x", "y"} <= vectors.keys():
        return None
    header = list(vectors)
    found = {role: vectors[header[i]] for role, i in log_columns(header, columns).items()}
    lengths = {role: len(vector) for role, vector in found.items()}
    if len(set(lengths.values())) > 1:
        raise InputError(f"the vectors of a log must be equally long; their lengths are {lengths}")
    return _rows(found, cells, name)


def _is_vector(array: NDArray[Any]) -> bool:
    return array.ndim == 1 or (array.ndim == 2 and min(array.shape) == 1)


def _rows(found: Mapping[str, NDArray[Any]], cells: Cells, name: str) -> Iterator[Piece]:
    for start in range(0, len(found["x"]), ROWS):
        part = {role: vector[start : start + ROWS] for role, vector in found.items()}

        def place(i: int, start: int = start) -> str:
            return f"row {start + i + 1}"

        x, y = (column(part[role], role, place) for role in ("x", "y"))
        channel = column(part["channel"], "channel", place) if "channel" in part else constant(name, len(part["x"]))
        counts = whole_counts(part["count"], place) if "count" in part else None
        yield Piece(cell_numbers(cells, channel, x, y, place), counts)
