"""Arrays by name, of NumPy (.npz, .npy) and of MATLAB (.mat of version 5 to 7): matrices, stacks, or vectors of a log.

What an array takes is known from its header, and refused before it is made: a small file may unpack to anything.

A MAT file is, by the format that MathWorks publishes, a header of 128 bytes and a sequence of elements: a tag with type
and size, then data, padded to 8 bytes. The elements at the top are matrices, perhaps packed by zlib, and these are made
of elements again. Damaged files crash the reader of SciPy 1.17 (a segmentation fault); here every size is checked
against what is there.
"""

from __future__ import annotations

import io
import math
import struct
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from bestchannel.channels import Channel
from bestchannel.counts.labelled_counts import MOST_CELLS, Hints
from bestchannel.counts.named_matrix import NamedMatrix, labels_or_none, matrices_in, refuse_trials
from bestchannel.counts.table import Table, log_of_vectors, table_of_vectors
from bestchannel.disk import MOST_BYTES, OpenFile
from bestchannel.errors import InputError

_Array = NDArray[Any]
Labels = Sequence[str] | None
_SIDES = ("inputs", "outputs")
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}

# of MAT files: the types of elements, then the classes of matrices
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
_MOST_MEMBERS = 2**16  # of the cell arrays and structs of a file in all; each is an object of its own


@dataclass
class _Room:
    """What a file may still take: cells of arrays, bytes of what is unpacked, members of cell arrays and structs."""

    cells: int = MOST_CELLS
    size: int = MOST_BYTES
    members: int = _MOST_MEMBERS

    def take(self, *, cells: int = 0, size: int = 0, members: int = 0) -> None:
        """Refuse more than is left."""
        self.cells, self.size, self.members = self.cells - cells, self.size - size, self.members - members
        if self.cells < 0:
            raise InputError(f"the arrays of a file must have at most {MOST_CELLS:,} cells; these have more")
        if self.size < 0:
            raise InputError(f"the arrays of a file must take at most {MOST_BYTES:,} bytes; these take more")
        if self.members < 0:
            raise InputError(f"cell arrays and structs must have at most {_MOST_MEMBERS:,} members; these have more")


def read_table(source: OpenFile, hints: Hints, use: str) -> Table | None:
    """The table of vectors, x, y and perhaps channel and count of a log; None if the file has no such."""
    if use == "p":
        return None
    arrays = source.parsed(_variables if source.ending == ".mat" else _arrays)
    return log_of_vectors(arrays, hints.columns) if use == "count" else table_of_vectors(arrays)


def read_archive(source: OpenFile, hints: Hints, counts: bool) -> list[NamedMatrix]:
    """The channels of an archive by name, or a stack `channels` of them; `name.inputs`, `name.outputs` are labels."""
    arrays = source.parsed(_arrays)
    if arrays.keys() == {"arr_0"}:  # what numpy.savez(array) calls an array without a name
        return _matrices(arrays["arr_0"], source.name, "the array", hints)
    beside = {f"{name}.{side}" for name in arrays for side in _SIDES}
    labels = {name: array for name, array in arrays.items() if name in beside and array.ndim == 1}
    found = []
    for name in (name for name in arrays if name not in labels):
        sent, got = (_texts(labels.get(f"{name}.{s}"), f'the labels "{name}.{s}" must be texts') for s in _SIDES)
        whole = name == "channels" and arrays[name].ndim == 3
        told, numbers = (replace(hints, channel_axis="first"), "") if whole else (hints, name)
        found += _matrices(arrays[name], name, f'the array "{name}"', told, numbers, (sent, got))
    return found


def read_array(source: OpenFile, hints: Hints, counts: bool) -> list[NamedMatrix]:
    """The channels of a .npy file: one matrix, called as the file, or a stack of them, called 0, 1, 2, ..."""
    with _refusing("the file must be a plain array of NumPy", Exception):
        array = _array(io.BytesIO(source.content()), _Room())
    return _matrices(array, source.name, "the array", hints)


def _matrices(
    array: _Array, name: str, where: str, hints: Hints, numbers: str = "", sides: tuple[Labels, Labels] = (None, None)
) -> list[NamedMatrix]:
    """The matrix, or those of a stack, called 0, 1, 2, ..., or numbers[0], numbers[1], ..."""
    if array.ndim == 3:
        stack = matrices_in(array, where, hints.channel_axis, "first")
        return [NamedMatrix(f"{numbers}[{i}]" if numbers else str(i), rows, *sides) for i, rows in enumerate(stack)]
    if sides[0] is None:
        refuse_trials(array, hints)
    return [NamedMatrix(name, array, *sides)]


def _texts(array: _Array | None, wanted: str) -> Labels:
    """Labels that were saved as an array, None where none were."""
    if array is not None and array.dtype.kind not in "Uiu":
        raise InputError(f"{wanted}; they have dtype {array.dtype}")
    return None if array is None else [str(label) for label in array.ravel(order="F").tolist()]


def _arrays(data: bytes) -> dict[str, _Array]:
    """The arrays of an archive by name, which NumPy stores as they are or deflates."""
    arrays: dict[str, _Array] = {}
    is_sound = _refusing("the file must be an .npz archive of plain arrays", Exception)
    with is_sound, zipfile.ZipFile(io.BytesIO(data)) as archive:
        members, room = archive.infolist(), _Room()
        for member in members:
            if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise InputError(f'the array "{member.filename}" must be stored or deflated, as NumPy does; it is not')
            with archive.open(member) as content:
                arrays[member.filename.removesuffix(".npy")] = _array(content, room)
    if len(arrays) < len(members):
        raise InputError(f"each array must have its own name; {len(members)} arrays have {len(arrays)} names")
    return arrays


@contextmanager
def _refusing(said: str, *kinds: type[Exception]) -> Iterator[None]:
    """Turn what is raised inside into a refusal that begins so: it is of many kinds, and all mean a damaged file."""
    try:
        yield
    except InputError:
        raise
    except kinds as error:
        raise InputError(f"{said}; reading it failed ({' '.join(str(error).split())})") from None


def _array(content: IO[bytes], room: _Room) -> _Array:
    """The array of a .npy file, if there is room for what its header says."""
    version = np.lib.format.read_magic(content)
    if version not in _HEADERS:
        raise InputError(f"an array must have a header of version 1.0 or 2.0; it has {version}")
    shape, in_columns, dtype = _HEADERS[version](content)
    if dtype.hasobject or dtype.names is not None:
        raise InputError(f"this must be an array of numbers or texts; it has dtype {dtype}")
    cells, size = math.prod(shape), math.prod(shape) * dtype.itemsize
    room.take(cells=cells, size=size)
    data = content.read(size)
    if len(data) < size or content.read(1):
        found = "fewer" if len(data) < size else "more"
        raise InputError(f"an array must have the {size:,} bytes that its header says; it has {found}")
    if dtype.kind == "U" and data and int(np.frombuffer(data, f"{dtype.byteorder}u4").max()) > sys.maxunicode:
        raise InputError("an array of texts must hold Unicode; it holds a number that is no character")
    return np.frombuffer(data, dtype, cells).reshape(shape, order="F" if in_columns else "C")


def render(channels: Mapping[str, Channel]) -> bytes:
    """The channels as an archive; channels 0, 1, 2, ... of one size without labels become a stack."""
    members: dict[str, _Array] = {name: channel.W for name, channel in channels.items()}
    for name, channel in channels.items():
        for side, labels in zip(_SIDES, (channel.inputs, channel.outputs), strict=True):
            if labels_or_none(labels) is not None:
                if f"{name}.{side}" in channels:
                    raise InputError(
                        f'the labels of channel "{name}" require the name of another channel, "{name}.{side}"'
                    )
                members[f"{name}.{side}"] = np.array(labels)
    one_size = len(members) == len(channels) > 1 == len({channel.W.shape for channel in channels.values()})
    if one_size and labels_or_none(list(channels)) is None:
        members = {"channels": np.stack(list(members.values()))}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, array in members.items():
            content = io.BytesIO()
            np.lib.format.write_array(content, array, allow_pickle=False)
            # numpy.savez would take the names "file" and "allow_pickle" for its own arguments
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), content.getvalue())
    return buffer.getvalue()


def read_variables(source: OpenFile, hints: Hints, counts: bool) -> list[NamedMatrix]:
    """One channel per matrix, by the name of the variable.

    A stack A(x, y, k) holds the channels A(1), A(2), ..., and so does A(k, x, y) under channel_axis="first"; a cell
    array of matrices the channels A{1}, A{2}, ...; a struct of matrices the channels by field, with the struct's name
    before it if there are other variables. `inputs` and `outputs`, cell arrays of texts, label all matrices.
    """
    found, wanted = dict(source.parsed(_variables)), "must be a cell array of texts"
    inputs, outputs = (_texts(found.pop(side, None), f"the variable {side} {wanted}") for side in _SIDES)
    upright = (outputs, inputs) if hints.transpose else (inputs, outputs)
    sizes = [None if side is None else len(side) for side in upright]
    stacks = partial(matrices_in, axis=hints.channel_axis, usual="last", labels=(sizes[0], sizes[1]))
    named = [pair for name, array in found.items() for pair in _variable(name, array, len(found) == 1, stacks)]
    if inputs is None:
        for _, matrix in named:
            refuse_trials(matrix, hints)
    return [NamedMatrix(name, array, inputs, outputs) for name, array in named]


def _variable(
    name: str, array: _Array, alone: bool, stacks: Callable[..., Iterator[_Array]]
) -> Iterator[tuple[str, _Array]]:
    """The matrices of a variable, by name."""
    if array.dtype == object and array.size == 1 and isinstance(array.flat[0], dict):
        for field, member in array.flat[0].items():
            yield from _variable(field if alone else f"{name}.{field}", member, False, stacks)
    elif array.dtype == object and array.size and not isinstance(array.flat[0], dict):
        for i, member in enumerate(array.ravel(order="F")):
            yield from _variable(f"{name}{{{i + 1}}}", member, False, stacks)
    elif array.dtype.kind not in "iuf" or array.ndim not in (2, 3):
        kind = {"U": "a text", "O": "a cell or struct array"}.get(array.dtype.kind, f"an array of {array.dtype}")
        raise InputError(
            f"the variable {name} must be a matrix of counts, or a stack, struct or cell array of such; it is"
            f" {kind} of shape {array.shape} (leave other variables out when saving)"
        )
    elif array.ndim == 3:
        yield from ((f"{name}({k})", matrix) for k, matrix in enumerate(stacks(array, f"the variable {name}"), 1))
    else:
        yield name, array


def _variables(data: bytes) -> dict[str, _Array]:
    """Every variable by name: numbers, texts and cell arrays of texts (dtype U), cells (object), structs (dicts)."""
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
    damages = struct.error, zlib.error, ValueError, IndexError, MemoryError, OverflowError
    with _refusing("the MAT file is damaged", *damages):
        while elements.at < len(elements.data):
            kind, content = elements.next()
            if kind == _PACKED:
                unpacked = zlib.decompressobj().decompress(content, elements.room.size)
                elements.room.take(size=len(unpacked) + (len(unpacked) == elements.room.size))  # more may follow
                kind, content = elements.inside(memoryview(unpacked)).next()
            name, array = _matrix(elements, kind, content, "a variable", 0)
            if name in variables:
                raise InputError(f"each variable must have its own name; {name} occurs twice")
            members = array.ravel(order="F") if array.dtype == object else ()
            if len(members) and all(getattr(member, "dtype", array.dtype).kind == "U" for member in members):
                array = np.array([member.item() for member in members])  # a cell array of texts
            variables[name] = array
    return variables


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
        stored, data = parts.next()
        if stored not in _ENCODINGS:
            raise _wrong("a text is", stored)
        little = "-le" if parts.order == "<" else "-be"
        return np.array(str(data, _ENCODINGS[stored] + little * _ENCODINGS[stored].startswith(("utf-16", "utf-32"))))
    if kind == _CELL:
        parts.room.take(members=size)
        cells = (_matrix(parts, *parts.next(), "a matrix", depth + 1)[1] for _ in range(size))
        return np.fromiter(cells, object, size).reshape(shape, order="F")
    if kind == _STRUCT:
        length, text = int(parts.numbers()[0]), parts.numbers().tobytes()
        if length < 1:
            raise InputError(f"the MAT file is damaged: the names of fields have {length} letters")
        starts = range(0, len(text), length)
        parts.room.take(members=len(starts) * max(1, size))
        fields = [text[i : i + length].split(b"\0")[0].decode("latin-1") for i in starts]
        every = ({f: _matrix(parts, *parts.next(), "a matrix", depth + 1)[1] for f in fields} for _ in range(size))
        return np.fromiter(every, object, size).reshape(shape, order="F")
    what = "sparse (full() makes it so)" if kind == _SPARSE else "of another kind than numbers"
    if kind in _NUMERIC_CLASSES:
        what = "complex (save real() and imag() as two vectors, and name them as --columns y=re,y2=im)"
    raise InputError(f"the variable {name} must be a full matrix of real numbers; it is {what}")


def _of_class(stored: _Array, kind: str, name: str) -> _Array:
    """The numbers as their class has them; a smaller type, which saves room, holds the same numbers."""
    is_real = stored.dtype.kind == "f"
    with np.errstate(invalid="ignore", over="ignore"):
        numbers = stored.astype(kind)
    # as doubles: beyond 2^53 a class of integers is stored as integers
    same = np.array_equal(numbers.astype(np.float64) if is_real and kind[0] != "f" else numbers, stored, is_real)
    if not same:
        raise InputError(f"the MAT file is damaged: the variable {name} has values that do not fit its class {kind}")
    return numbers
