"""Trial logs: the outputs of every input of every channel, in the order in which they were recorded."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestchannel.counts.disk import errors_naming
from bestchannel.counts.labelled_counts import Alphabets, Cells
from bestchannel.counts.logs import open_log
from bestchannel.counts.pieces import Piece, Progress
from bestchannel.errors import InputError


@dataclass(frozen=True, eq=False)
class Trials:
    """outputs[j][x] are the outputs of input x of channel j in their order, numbered as in its alphabets.

    A trial takes one byte where a channel has at most 256 outputs, two up to 65536.
    """

    alphabets: tuple[Alphabets, ...]
    outputs: tuple[tuple[NDArray[Any], ...], ...]
    inferred_outputs: bool


def read_trials(
    path: str | os.PathLike[str],
    *,
    outputs: Sequence[str] | None = None,
    columns: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> Trials:
    r"""The trials of a log in their order, one row per sense: text or Parquet with columns x, y, perhaps channel.

    Parameters
    ----------
    path
        The file; text may also have lines `(input, output)`.
    outputs
        The outputs that every channel can give, seen or not.
    columns
        What the columns are called, as {"channel": "link", "x": "sent", "y": "got"}.
    progress
        Called with (bytes read, bytes in all).

    Returns
    -------
    Trials
        The outputs of every input of every channel, in the order of the log; `Recording` takes it.

    Raises
    ------
    InputError
        Where the file is no log of trials; the message names the file, the line and the value.
    MissingFileError
        Where there is no such file; a `FileNotFoundError` too.
    MissingExtraError
        Where a .parquet file is read without pyarrow.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "log.csv")
    ...     _ = path.write_text("channel,x,y\ncable,0,0\ncable,1,1\ncable,0,1\n")
    ...     read_trials(path).outputs[0][0].tolist()
    [0, 1]
    """
    path = Path(path)
    with errors_naming(path):
        cells = Cells(outputs)
        log = open_log(path, cells, columns=columns, progress=progress)
        if log is None:
            raise InputError(_NO_ORDER)
        return in_order(cells, map(_compact, log))


_NO_ORDER = (
    "these are counts, which do not say in which order the senses were taken, and a recording wants a row a sense"
    " with the columns x, y and perhaps channel; `bestchannel estimate` takes counts"
)


def _compact(piece: Piece) -> NDArray[Any]:
    """The cells of the rows, in two bytes a row where that is enough."""
    if piece.counts is not None:
        raise InputError(_NO_ORDER)
    few = not len(piece.cells) or int(piece.cells.max()) < 2**16
    return piece.cells.astype(np.uint16 if few else np.uint32)


def in_order(cells: Cells, rows: Iterable[NDArray[Any]]) -> Trials:
    """The trials of the rows, given as the numbers of their cells."""
    blocks = list(rows)
    if not sum(map(len, blocks)):
        raise InputError("there must be trials; there is none")
    alphabets = tuple(cells.alphabets())
    channel, x, y = cells.positions()
    first_input = np.cumsum([0, *(len(labels.inputs) for labels in alphabets)])
    group = first_input[channel] + x
    group = group.astype(np.min_scalar_type(int(group.max())))  # NumPy sorts two bytes by radix, in linear time
    symbols, ends = _sorted_by_group(blocks, group, y, int(first_input[-1]))
    sequences = np.split(symbols, ends[:-1])
    per_channel = (tuple(sequences[a:b]) for a, b in pairwise(first_input.tolist()))
    return Trials(alphabets, tuple(per_channel), cells.inferred_outputs)


def _sorted_by_group(
    blocks: list[NDArray[Any]], group: NDArray[Any], symbol: NDArray[Any], n_groups: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """The symbols of all rows, those of a group together and in their order, and where each group ends.

    Block by block, so that nothing of the size of the whole log is made but the answer.
    """
    sizes = sum(np.bincount(group[block], minlength=n_groups) for block in blocks)
    ends = np.cumsum(sizes)
    free = ends - sizes
    symbols = np.empty(int(ends[-1]), np.min_scalar_type(int(symbol.max())))
    for i, block in enumerate(blocks):
        blocks[i] = block[:0]  # no longer needed, and as large as the answer
        groups = group[block]
        order = np.argsort(groups, kind="stable")
        own = np.bincount(groups, minlength=n_groups)
        symbols[np.repeat(free - (np.cumsum(own) - own), own) + np.arange(len(block))] = symbol[block[order]]
        free += own
    return symbols, ends
