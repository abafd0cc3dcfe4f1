"""Counts in MATLAB's MAT files: matrices, stacks, structs and cell arrays of them; labels as cell arrays of texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestchannel.counts.disk import OpenFile
from bestchannel.counts.labelled_counts import Combinations, RowBlock
from bestchannel.counts.long_table import log_of_vectors
from bestchannel.counts.mat_reader import variables
from bestchannel.counts.named_matrix import NamedMatrix
from bestchannel.counts.stacks import matrices_in
from bestchannel.counts.two_readings import refuse_trials
from bestchannel.errors import InputError
from bestchannel.process import Progress

_Array = NDArray[Any]
_SIDES = ("inputs", "outputs")
_HDF = b"\x89HDF"


def arrays(data: bytes) -> dict[str, _Array]:
    """The variables of the file; a cell array of texts is an array of texts."""
    if data.startswith((b"MATLAB 7.3", _HDF)) or data[512:516] == _HDF:
        raise InputError(
            "this is a MAT file of version 7.3, which is not read; save it in MATLAB with"
            " save('counts.mat', 'variable', '-v7')"
        )
    return {name: _texts(array) if _is_texts(array) else array for name, array in variables(data).items()}


def read_log(source: OpenFile, seen: Combinations, progress: Progress | None) -> Iterator[RowBlock] | None:
    """The rows of vectors x, y and perhaps channel and count, or None if the file has no such."""
    return log_of_vectors(source.parsed(arrays), seen, source.name, source.hints.columns)


def read_matrices(source: OpenFile) -> list[NamedMatrix]:
    """One channel per matrix, by the name of the variable.

    A stack A(x, y, k) holds the channels A(1), A(2), ..., and so does A(k, x, y) under channel_axis="first"; a cell
    array of matrices the channels A{1}, A{2}, ...; a struct of matrices the channels by field, with the struct's name
    before it if there are other variables. `inputs` and `outputs`, cell arrays of texts, label all matrices.
    """
    found = dict(source.parsed(arrays))
    inputs, outputs = (_labels(found.pop(side, None), side) for side in _SIDES)
    upright = (outputs, inputs) if source.hints.transpose else (inputs, outputs)
    sizes = [None if side is None else len(side) for side in upright]
    stacks = partial(matrices_in, axis=source.hints.channel_axis, usual="last", labels=(sizes[0], sizes[1]))
    matrices = [matrix for name, array in found.items() for matrix in _matrices(name, array, len(found) == 1, stacks)]
    if inputs is None:
        for _, matrix in matrices:
            refuse_trials(matrix, source.hints)
    return [NamedMatrix(name, array, inputs, outputs) for name, array in matrices]


def _matrices(
    name: str, array: _Array, alone: bool, stacks: Callable[..., Iterator[_Array]]
) -> Iterator[tuple[str, _Array]]:
    if array.dtype == object and array.size == 1 and isinstance(array.flat[0], dict):
        for field, member in array.flat[0].items():
            yield from _matrices(field if alone else f"{name}.{field}", member, False, stacks)
    elif array.dtype == object and array.size and not isinstance(array.flat[0], dict):
        for i, member in enumerate(array.ravel(order="F")):
            yield from _matrices(f"{name}{{{i + 1}}}", member, False, stacks)
    elif array.dtype.kind not in "iuf" or array.ndim not in (2, 3):
        raise InputError(
            f"the variable {name} must be a matrix of counts, or a stack, struct or cell array of such; it is"
            f" {_kind(array)} (leave other variables out when saving)"
        )
    elif array.ndim == 3:
        yield from ((f"{name}({k})", matrix) for k, matrix in enumerate(stacks(array, f"the variable {name}"), 1))
    else:
        yield name, array


def _kind(array: _Array) -> str:
    kind = {"U": "a text", "O": "a cell or struct array"}.get(array.dtype.kind, f"an array of {array.dtype}")
    return f"{kind} of shape {array.shape}"


def _labels(array: _Array | None, side: str) -> Sequence[str] | None:
    if array is None:
        return None
    if array.dtype.kind not in "Uiu":
        raise InputError(f"the variable {side} must be a cell array of texts; it is {_kind(array)}")
    return [str(label) for label in array.ravel(order="F").tolist()]


def _is_texts(array: _Array) -> bool:
    members = array.flat if array.dtype == object else ()
    return array.size > 0 and array.dtype == object and all(_is_text(member) for member in members)


def _is_text(member: object) -> bool:
    return isinstance(member, np.ndarray) and member.dtype.kind == "U"


def _texts(array: _Array) -> _Array:
    return np.array([member.item() for member in array.ravel(order="F")])
