"""A log on its way in: pieces of rows, each row a numbered cell."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestchannel.arrays import Floats
from bestchannel.counts.labelled_counts import Cells

Progress = Callable[[int, int], None]
"""Told how many bytes of how many are read."""


@dataclass(frozen=True, eq=False)
class Piece:
    """Some rows of a log in their order: the number of the cell of each, and how often it counts (None: once)."""

    cells: NDArray[Any]
    counts: NDArray[Any] | None


def totals(pieces: Iterable[Piece], cells: Cells) -> Floats:
    """How often each cell was counted; `cells` grows while the pieces come."""
    sums = np.zeros(0)
    for piece in pieces:
        added = np.bincount(piece.cells, weights=piece.counts, minlength=len(cells)).astype(np.float64)
        added[: len(sums)] += sums
        sums = added
    return sums
