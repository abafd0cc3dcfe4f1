"""The variables of a MAT file of version 5 to 7, by the format that MathWorks publishes.

A file is a header of 128 bytes and a sequence of elements: a tag with type and size, then data, padded to
8 bytes. The elements at the top are matrices, perhaps packed by zlib, and these are made of elements again.
Damaged files crash the reader of SciPy 1.17 (a segmentation fault); here every size is checked against what is there.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestchannel.counts.disk import MOST_BYTES
from bestchannel.counts.labelled_counts import MOST_CELLS
from bestchannel.errors import InputError

_Array = NDArray[Any]

_NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_ENCODINGS = {1: "latin-1", 2: "latin-1", 4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}
_MATRIX, _PACKED = 14, 15
_CELL, _STRUCT, _CHAR, _SPARSE = 1, 2, 4, 5
_NUMERIC_CLASSES = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8", 15: "u8"}
_COMPLEX = 0x800

_HEADER = 128
_MOST_DIMENSIONS = 32
_DEEPEST = 16
"""How far cell arrays and structs may be nested."""
_MOST_MEMBERS = 2**16
"""The most members that the cell arrays and structs of a file may have in all; each is an object of its own."""


def variables(data: bytes) -> dict[str, _Array]:
    """Every variable by name: numbers, texts (dtype U), cell arrays (dtype object), structs (object of dicts)."""
    order = {b"IM": "<", b"MI": ">"}.get(data[126:_HEADER])
    if order is None:
        raise InputError("the file must be a MAT file of version 5 to 7; it has not the header of one")
    try:
        return _distinct(_variables(_Elements(memoryview(data), _HEADER, order, _VariableRoom())))
    except (struct.error, zlib.error, ValueError, IndexError, MemoryError, OverflowError) as error:
        if isinstance(error, InputError):
            raise
        reason = " ".join(str(error).split())
        raise InputError(f"the MAT file is damaged; reading it failed ({reason})") from None


def _distinct(found: Iterator[tuple[str, _Array]]) -> dict[str, _Array]:
    variables: dict[str, _Array] = {}
    for name, array in found:
        if name in variables:
            raise InputError(f"each variable must have its own name; {name} occurs twice")
        variables[name] = array
    return variables


@dataclass
class _VariableRoom:
    """What a file may still take: cells of matrices, members of cell arrays and structs, bytes of packed variables."""

    cells: int = MOST_CELLS
    members: int = _MOST_MEMBERS
    packed: int = MOST_BYTES

    def take_cells(self, number: int) -> None:
        """Refuse more cells than are left."""
        self.cells -= number
        if self.cells < 0:
            raise InputError(f"the matrices of a file must have at most {MOST_CELLS:,} cells; these have more")

    def take_members(self, number: int) -> None:
        """Refuse more members than are left."""
        self.members -= number
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

    def __init__(self, data: memoryview, start: int, order: str, room: _VariableRoom) -> None:
        self.data, self.at, self.order, self.room = data, start, order, room

    def more(self) -> bool:
        return self.at < len(self.data)

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
            raise InputError(f"the MAT file is damaged: numbers are required and there is an element of type {kind}")
        return np.frombuffer(data, self.order + _NUMBERS[kind])

    def inside(self, data: memoryview) -> _Elements:
        return _Elements(data, 0, self.order, self.room)


def _variables(elements: _Elements) -> Iterator[tuple[str, _Array]]:
    while elements.more():
        kind, data = elements.next()
        if kind == _PACKED:
            kind, data = elements.inside(elements.room.unpacked(data)).next()
        if kind != _MATRIX:
            raise InputError(f"the MAT file is damaged: a variable is required and there is an element of type {kind}")
        yield _matrix(elements.inside(data), 0)


def _matrix(parts: _Elements, depth: int) -> tuple[str, _Array]:
    """The name and the content of a matrix; in a cell array or a struct the name is empty."""
    if depth > _DEEPEST:
        raise InputError(f"cell arrays and structs of a MAT file may be nested {_DEEPEST} deep; these are deeper")
    if not parts.more():
        return "", np.zeros((0, 0))
    flags = int(parts.numbers()[0])
    shape = tuple(int(n) for n in parts.numbers()[: _MOST_DIMENSIONS + 1])
    if not 2 <= len(shape) <= _MOST_DIMENSIONS or min(shape) < 0 or math.prod(shape) > len(parts.data):
        raise InputError(f"the MAT file is damaged: a matrix of shape {shape} does not fit into its data")
    name = parts.numbers().tobytes().decode("latin-1")
    return name, _content(parts, flags, shape, name, depth)


def _content(parts: _Elements, flags: int, shape: tuple[int, ...], name: str, depth: int) -> _Array:
    kind = flags & 0xFF
    if kind in _NUMERIC_CLASSES and not flags & _COMPLEX:
        parts.room.take_cells(math.prod(shape))
        return _of_class(parts.numbers(), _NUMERIC_CLASSES[kind], name).reshape(shape, order="F")
    if kind == _CHAR:
        return np.array(_text(parts))
    if kind == _CELL:
        parts.room.take_members(math.prod(shape))
        return _objects([_member(parts, depth) for _ in range(math.prod(shape))], shape)
    if kind == _STRUCT:
        return _structs(parts, shape, depth)
    what = "of another kind than numbers"
    if kind == _SPARSE:
        what = "sparse (full() makes it so)"
    elif kind in _NUMERIC_CLASSES:
        what = "complex (save real() and imag() as two vectors, and name them as --columns y=re,y2=im)"
    raise InputError(f"the variable {name} must be a full matrix of real numbers; it is {what}")


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
        raise InputError(f"the MAT file is damaged: a text is required and there is an element of type {kind}")
    encoding = _ENCODINGS[kind]
    if encoding in ("utf-16", "utf-32"):
        encoding += "-le" if parts.order == "<" else "-be"
    return str(data, encoding)


def _member(parts: _Elements, depth: int) -> _Array:
    kind, data = parts.next()
    if kind != _MATRIX:
        raise InputError(f"the MAT file is damaged: a matrix is required and there is an element of type {kind}")
    return _matrix(parts.inside(data), depth + 1)[1]


def _structs(parts: _Elements, shape: tuple[int, ...], depth: int) -> _Array:
    length = int(parts.numbers()[0])
    text = parts.numbers().tobytes()
    if length < 1:
        raise InputError(f"the MAT file is damaged: the names of fields have {length} letters")
    starts = range(0, len(text), length)
    parts.room.take_members(len(starts) * max(1, math.prod(shape)))
    fields = [text[i : i + length].split(b"\0")[0].decode("latin-1") for i in starts]
    return _objects([{f: _member(parts, depth) for f in fields} for _ in range(math.prod(shape))], shape)


def _objects(members: list[Any], shape: tuple[int, ...]) -> _Array:
    array = np.empty(len(members), dtype=object)
    for i, member in enumerate(members):  # at once, NumPy would look inside the members
        array[i] = member
    return array.reshape(shape, order="F")
