"""MATLAB's MAT files of version 5 to 7: matrices, stacks, structs and cell arrays of them; labels as cells of texts.

By the format that MathWorks publishes: a file is a header of 128 bytes and a sequence of elements: a tag with type and
size, then data, padded to 8 bytes. The elements at the top are matrices, perhaps packed by zlib, and these are made of
elements again. Damaged files crash the reader of SciPy 1.17 (a segmentation fault); here every size is checked against
what is there.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestchannel.counts.labelled_counts import MOST_CELLS, Combinations, Hints, RowBlock
from bestchannel.counts.long_table import log_of_vectors
from bestchannel.counts.named_matrix import NamedMatrix, matrices_in, refuse_trials
from bestchannel.disk import MOST_BYTES, OpenFile
from bestchannel.errors import InputError
from bestchannel.process import Progress

_Array = NDArray[Any]
_HDF = b"\x89HDF"

_NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}

_ENCODINGS = {1: "latin-1", 2: "latin-1", 4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}

_MATRIX, _PACKED = 14, 15

_CELL, _STRUCT, _CHAR, _SPARSE = 1, 2, 4, 5

_NUMERIC_CLASSES = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8", 15: "u8"}

_COMPLEX = 0x800

_HEADER = 128

_MOST_DIMENSIONS = 32

_DEEPEST = 16  # how far cell arrays and structs may be nested
_MOST_MEMBERS = 2**16
"""The most members that the cell arrays and structs of a file may have in all; each is an object of its own."""


def read_log(
    source: OpenFile, hints: Hints, seen: Combinations, progress: Progress | None
) -> Iterator[RowBlock] | None:
    """The rows of vectors x, y and perhaps channel and count, or None if the file has no such."""
    return log_of_vectors(source.parsed(_variables), seen, source.name, hints.columns)


def read_matrices(source: OpenFile, hints: Hints) -> list[NamedMatrix]:
    """One channel per matrix, by the name of the variable.

    A stack A(x, y, k) holds the channels A(1), A(2), ..., and so does A(k, x, y) under channel_axis="first"; a cell
    array of matrices the channels A{1}, A{2}, ...; a struct of matrices the channels by field, with the struct's name
    before it if there are other variables. `inputs` and `outputs`, cell arrays of texts, label all matrices.
    """
    found = dict(source.parsed(_variables))
    inputs, outputs = (_labels(found.pop(side, None), side) for side in ("inputs", "outputs"))
    upright = (outputs, inputs) if hints.transpose else (inputs, outputs)
    sizes = [None if side is None else len(side) for side in upright]
    stacks = partial(matrices_in, axis=hints.channel_axis, usual="last", labels=(sizes[0], sizes[1]))
    matrices = [matrix for name, array in found.items() for matrix in _matrices(name, array, len(found) == 1, stacks)]
    if inputs is None:
        for _, matrix in matrices:
            refuse_trials(matrix, hints)
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


def _variables(data: bytes) -> dict[str, _Array]:
    """Every variable by name: numbers, texts (dtype U), cell arrays (dtype object), structs (object of dicts).

    A cell array of texts is an array of texts.
    """
    if data.startswith((b"MATLAB 7.3", _HDF)) or data[512:516] == _HDF:
        raise InputError(
            "this is a MAT file of version 7.3, which is not read; save it in MATLAB with"
            " save('counts.mat', 'variable', '-v7')"
        )
    order = {b"IM": "<", b"MI": ">"}.get(data[126:_HEADER])
    if order is None:
        raise InputError("the file must be a MAT file of version 5 to 7; it has not the header of one")
    elements = _Elements(memoryview(data), _HEADER, order, _Room())
    variables: dict[str, _Array] = {}
    try:
        while elements.at < len(elements.data):
            kind, content = elements.next()
            if kind == _PACKED:
                kind, content = elements.inside(elements.room.unpacked(content)).next()
            name, array = _matrix(elements, kind, content, "a variable", 0)
            if name in variables:
                raise InputError(f"each variable must have its own name; {name} occurs twice")
            if _are_texts(array):
                array = np.array([member.item() for member in array.ravel(order="F")])
            variables[name] = array
    except InputError:
        raise
    except (struct.error, zlib.error, ValueError, IndexError, MemoryError, OverflowError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"the MAT file is damaged; reading it failed ({reason})") from None
    return variables


def _are_texts(array: _Array) -> bool:
    return (
        array.dtype == object
        and array.size > 0
        and all(isinstance(m, np.ndarray) and m.dtype.kind == "U" for m in array.flat)
    )


@dataclass
class _Room:
    """What a file may still take: cells of matrices, members of cell arrays and structs, bytes of packed variables."""

    cells: int = MOST_CELLS
    members: int = _MOST_MEMBERS
    packed: int = MOST_BYTES

    def take(self, *, cells: int = 0, members: int = 0) -> None:
        """Refuse more cells or members than are left."""
        self.cells, self.members = self.cells - cells, self.members - members
        if self.cells < 0:
            raise InputError(f"the matrices of a file must have at most {MOST_CELLS:,} cells; these have more")
        if self.members < 0:
            raise InputError(f"cell arrays and structs must have at most {_MOST_MEMBERS:,} members; these have more")

    def unpacked(self, data: memoryview) -> memoryview:
        """What was packed, if it is not more than is left."""
        unpacker = zlib.decompressobj()
        content = unpacker.decompress(data, self.packed)
        self.packed -= len(content)
        if unpacker.unconsumed_tail or not self.packed:
            raise InputError(f"the variables of a file must take at most {MOST_BYTES:,} bytes; these take more")
        return memoryview(content)


class _Elements:
    """The elements of a piece of a file, one after the other."""

    def __init__(self, data: memoryview, start: int, order: str, room: _Room) -> None:
        self.data, self.at, self.order, self.room = data, start, order, room

    def next(self) -> tuple[int, memoryview]:
        """The type of the next element, and its data."""
        kind, size = struct.unpack_from(self.order + "II", self.data, self.at)
        start = self.at + 8
        if kind >> 16:  # a small element, whose four bytes of data are in the tag
            kind, size, start = kind & 0xFFFF, kind >> 16, self.at + 4
            self.at += 8
        else:
            self.at = start + (size if kind == _PACKED else -(-size // 8) * 8)
        if start + size > len(self.data):
            raise InputError(f"the MAT file ends {start + size - len(self.data)} bytes too early")
        return kind, self.data[start : start + size]

    def numbers(self) -> _Array:
        """The next element, which must be numbers."""
        kind, data = self.next()
        if kind not in _NUMBERS:
            raise _wrong("numbers are", kind)
        return np.frombuffer(data, self.order + _NUMBERS[kind])

    def inside(self, data: memoryview) -> _Elements:
        """The elements that one element is made of."""
        return _Elements(data, 0, self.order, self.room)


def _wrong(wanted: str, kind: int) -> InputError:
    return InputError(f"the MAT file is damaged: {wanted} required and there is an element of type {kind}")


def _matrix(parent: _Elements, kind: int, data: memoryview, what: str, depth: int) -> tuple[str, _Array]:
    """The name and the content of a matrix; in a cell array or a struct the name is empty."""
    if kind != _MATRIX:
        raise _wrong(f"{what} is", kind)
    if depth > _DEEPEST:
        raise InputError(f"cell arrays and structs of a MAT file may be nested {_DEEPEST} deep; these are deeper")
    parts = parent.inside(data)
    if not len(data):
        return "", np.zeros((0, 0))
    flags = int(parts.numbers()[0])
    shape = tuple(int(n) for n in parts.numbers()[: _MOST_DIMENSIONS + 1])
    if not 2 <= len(shape) <= _MOST_DIMENSIONS or min(shape) < 0 or math.prod(shape) > len(data):
        raise InputError(f"the MAT file is damaged: a matrix of shape {shape} does not fit into its data")
    name = parts.numbers().tobytes().decode("latin-1")
    return name, _content(parts, flags, shape, name, depth)


def _content(parts: _Elements, flags: int, shape: tuple[int, ...], name: str, depth: int) -> _Array:
    kind, size = flags & 0xFF, math.prod(shape)
    if kind in _NUMERIC_CLASSES and not flags & _COMPLEX:
        parts.room.take(cells=size)
        return _of_class(parts.numbers(), _NUMERIC_CLASSES[kind], name).reshape(shape, order="F")
    if kind == _CHAR:
        return np.array(_text(parts))
    if kind == _CELL:
        parts.room.take(members=size)
        return _objects([_member(parts, depth) for _ in range(size)], shape)
    if kind == _STRUCT:
        length, text = int(parts.numbers()[0]), parts.numbers().tobytes()
        if length < 1:
            raise InputError(f"the MAT file is damaged: the names of fields have {length} letters")
        starts = range(0, len(text), length)
        parts.room.take(members=len(starts) * max(1, size))
        fields = [text[i : i + length].split(b"\0")[0].decode("latin-1") for i in starts]
        return _objects([{field: _member(parts, depth) for field in fields} for _ in range(size)], shape)
    what = "of another kind than numbers"
    if kind == _SPARSE:
        what = "sparse (full() makes it so)"
    elif kind in _NUMERIC_CLASSES:
        what = "complex (save real() and imag() as two vectors, and name them as --columns y=re,y2=im)"
    raise InputError(f"the variable {name} must be a full matrix of real numbers; it is {what}")


def _member(parts: _Elements, depth: int) -> _Array:
    return _matrix(parts, *parts.next(), "a matrix", depth + 1)[1]


def _of_class(stored: _Array, kind: str, name: str) -> _Array:
    """The numbers as their class has them; a smaller type, which saves room, holds the same numbers."""
    with np.errstate(invalid="ignore", over="ignore"):
        numbers = stored.astype(kind)
    if stored.dtype.kind == "f" and kind[0] != "f":
        # as doubles: beyond 2^53 a class of integers is stored as integers
        same = np.array_equal(numbers.astype(np.float64), stored)
    else:
        same = np.array_equal(numbers, stored, equal_nan=stored.dtype.kind == "f")
    if not same:
        raise InputError(f"the MAT file is damaged: the variable {name} has values that do not fit its class {kind}")
    return numbers


def _text(parts: _Elements) -> str:
    kind, data = parts.next()
    if kind not in _ENCODINGS:
        raise _wrong("a text is", kind)
    encoding = _ENCODINGS[kind]
    if encoding in ("utf-16", "utf-32"):
        encoding += "-le" if parts.order == "<" else "-be"
    return str(data, encoding)


def _objects(members: list[Any], shape: tuple[int, ...]) -> _Array:
    array = np.empty(len(members), dtype=object)
    for i, member in enumerate(members):  # at once, NumPy would look inside the members
        array[i] = member
    return array.reshape(shape, order="F")
