"""Rows from any file: the ending of the name says which kind it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from bestchannel.counts import json_format, mat_format, npz_format
from bestchannel.counts.array_log import array_log
from bestchannel.counts.disk import read_bytes
from bestchannel.counts.labelled import LabelledRows
from bestchannel.counts.labelled_counts import Cells
from bestchannel.counts.matrix_text import bare_matrix
from bestchannel.counts.parquet_log import parquet_log
from bestchannel.counts.pieces import Piece, Progress
from bestchannel.counts.table import read_table
from bestchannel.counts.text_log import text_log
from bestchannel.errors import InputError

TEXT = (".csv", ".tsv", ".txt")
ENDINGS = (*TEXT, ".parquet", ".npz", ".mat", ".json")
_PACKED = (".gz", ".bz2", ".xz", ".zst", ".zip", ".7z")


def open_log(
    path: Path, cells: Cells, *, columns: Mapping[str, str] | None, progress: Progress | None
) -> Iterator[Piece] | None:
    """The rows of a log in their order, numbered by `cells`; None for a file of matrices."""
    ending = _ending(path)
    if ending in TEXT:
        return text_log(path, cells, columns, progress)
    if ending == ".parquet":
        return parquet_log(path, cells, columns, progress)
    if ending == ".npz":
        return array_log(npz_format.arrays(read_bytes(path)), cells, path.stem, columns)
    if ending == ".mat":
        return array_log(mat_format.arrays(read_bytes(path)), cells, path.stem, columns)
    if columns is not None:
        raise InputError(f"columns belongs to rows with names above them; this is a {ending} file")
    return None


def read_matrices(path: Path, *, transpose: bool) -> list[LabelledRows]:
    """The matrices of a file that is no log."""
    ending, data = _ending(path), read_bytes(path)
    if ending in TEXT:
        return [bare_matrix(read_table(data), name=path.stem, transpose=transpose)]
    return {".npz": npz_format.parse, ".mat": mat_format.parse, ".json": json_format.parse}[ending](data)


def _ending(path: Path) -> str:
    ending = path.suffix.lower()
    if ending in _PACKED:
        raise InputError(f"the file is packed ({ending}); unpack it first, the ending must be one of {_listed()}")
    if ending not in ENDINGS:
        raise InputError(f"the ending must be one of {_listed()}; it is {ending!r}")
    return ending


def _listed() -> str:
    return ", ".join(ENDINGS)
