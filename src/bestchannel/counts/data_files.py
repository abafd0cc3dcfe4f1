"""Counts in files: lines `channel, x, y, count`, trial logs with a line a sense, or matrices of counts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from bestchannel.arrays import numeric_array
from bestchannel.counts.disk import errors_naming
from bestchannel.counts.labelled import LabelledRows, refuse_text
from bestchannel.counts.labelled_counts import Cells, LabelledCounts, labelled_matrix
from bestchannel.counts.logs import open_log, read_matrices
from bestchannel.counts.long_table import NOT_A_MATRIX
from bestchannel.counts.pieces import Piece, Progress, totals
from bestchannel.errors import InputError


def read_counts(
    path: str | os.PathLike[str],
    *,
    outputs: Sequence[str] | None = None,
    transpose: bool = False,
    columns: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> dict[str, LabelledCounts]:
    """The counts of a text (.csv, .tsv, .txt), .parquet, .npz, .mat or .json file by channel, in the order of the file.

    Rows have the columns x, y and perhaps channel and count; without count a row is one sense,
    without channel all rows are one channel, named after the file. Rows of one cell add up, and a
    cell without a row counts 0. `outputs` declares the outputs of every channel; `transpose` says
    that the columns of the matrices are the inputs; `columns` renames the columns of rows; `progress` is
    told how many bytes of how many are read.
    """
    path = Path(path)
    with errors_naming(path):
        cells = Cells(outputs)
        log = open_log(path, cells, columns=columns, progress=progress)
        if log is None:
            found = [
                _of_matrix(content, cells.declared, transpose) for content in read_matrices(path, transpose=transpose)
            ]
            return _by_name(found)
        if transpose:
            raise InputError(NOT_A_MATRIX)
        return _by_name(_counted(log, cells))


def _counted(log: Iterable[Piece], cells: Cells) -> list[LabelledCounts]:
    counted = totals(log, cells)
    if not len(cells):
        raise InputError("there must be lines after the header; there is none")
    return cells.tables(counted)


def _by_name(found: Sequence[LabelledCounts]) -> dict[str, LabelledCounts]:
    channels = {content.name: content for content in found}
    if not channels:
        raise InputError("a file must hold at least one channel; this one holds none")
    if len(channels) < len(found):
        raise InputError("each channel must occur once; a name occurs twice")
    for content in found:
        refuse_text(content.name, content.inputs, content.outputs)
    return channels


def _of_matrix(content: LabelledRows, outputs: tuple[str, ...] | None, transpose: bool) -> LabelledCounts:
    rows = content.rows
    if transpose:
        rows = np.transpose(numeric_array(rows, f'the counts of channel "{content.name}"'))
    return labelled_matrix(content.name, rows, content.inputs, content.outputs, outputs)
