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
from dataclasses import dataclass
from functools import partial
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from bestchannel.channels import Channel
from bestchannel.counts.joint_records import Choose, Table, table_of_vectors
from bestchannel.counts.labelled_counts import MOST_CELLS, Combinations, Hints, RowBlock
from bestchannel.counts.long_table import log_of_vectors
from bestchannel.counts.named_matrix import NamedMatrix, labels_or_none, matrices_in, refuse_trials
from bestchannel.disk import MOST_BYTES, OpenFile
from bestchannel.errors import InputError
from bestchannel.process import Progress

_Array = NDArray[Any]
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


def read_log(
    source: OpenFile, hints: Hints, seen: Combinations, progress: Progress | None
) -> Iterator[RowBlock] | None:
    """The rows of vectors x, y and perhaps channel and count, or None if the file has no such."""
    parse = _variables if source.ending == ".mat" else _arrays
    return log_of_vectors(source.parsed(parse), seen, source.name, hints.columns)


def read_columns(source: OpenFile, hints: Hints, choose: Choose) -> Table:
    """The vectors that are chosen, all of one length."""
    return table_of_vectors(source.parsed(_variables if source.ending == ".mat" else _arrays), choose)


def read_archive(source: OpenFile, hints: Hints) -> list[NamedMatrix]:
    """The channels of an archive by name, or a stack `channels` of them; `name.inputs`, `name.outputs` are labels."""
    arrays = source.parsed(_arrays)
    if arrays.keys() == {"arr_0"}:  # what numpy.savez(array) calls an array without a name
        return _unnamed(arrays["arr_0"], source.name, hints)
    labels = {
        f"{name}.{side}" for name in arrays for side in _SIDES if arrays.get(f"{name}.{side}", np.zeros(())).ndim == 1
    }
    return [rows for name in arrays if name not in labels for rows in _matrices_of_array(name, arrays, hints)]


def read_array(source: OpenFile, hints: Hints) -> list[NamedMatrix]:
    """The channels of a .npy file: one matrix, called as the file, or a stack of them, called 0, 1, 2, ..."""
    return _unnamed(source.parsed(_single), source.name, hints)


def _unnamed(array: _Array, name: str, hints: Hints) -> list[NamedMatrix]:
    if array.ndim != 3:
        refuse_trials(array, hints)
        return [NamedMatrix(name, array)]
    found = matrices_in(array, "the array", hints.channel_axis, "first")
    return [NamedMatrix(str(k), matrix) for k, matrix in enumerate(found)]


def _matrices_of_array(name: str, arrays: Mapping[str, _Array], hints: Hints) -> Iterator[NamedMatrix]:
    array = arrays[name]
    inputs, outputs = (_labels_of_array(f"{name}.{side}", arrays) for side in _SIDES)
    if name == "channels" and array.ndim == 3:
        yield from (NamedMatrix(str(i), rows, inputs, outputs) for i, rows in enumerate(array))
    elif array.ndim == 3:
        found = matrices_in(array, f'the array "{name}"', hints.channel_axis, "first")
        yield from (NamedMatrix(f"{name}[{i}]", rows, inputs, outputs) for i, rows in enumerate(found))
    else:
        if inputs is None:
            refuse_trials(array, hints)
        yield NamedMatrix(name, array, inputs, outputs)


def _labels_of_array(name: str, arrays: Mapping[str, _Array]) -> list[str] | None:
    if name not in arrays or arrays[name].ndim != 1:
        return None
    if arrays[name].dtype.kind not in "Uiu":
        raise InputError(f'the labels "{name}" must be texts; they have dtype {arrays[name].dtype}')
    return [str(label) for label in arrays[name].tolist()]


def _arrays(data: bytes) -> dict[str, _Array]:
    """The arrays of an archive by name, which NumPy stores as they are or deflates."""
    arrays: dict[str, _Array] = {}
    with _numpy_errors("an .npz archive of plain arrays"), zipfile.ZipFile(io.BytesIO(data)) as archive:
        members, room = archive.infolist(), _Room()
        for member in members:
            if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise InputError(f'the array "{member.filename}" must be stored or deflated, as NumPy does; it is not')
            with archive.open(member) as content:
                arrays[member.filename.removesuffix(".npy")] = _array(content, room)
    if len(arrays) < len(members):
        raise InputError(f"each array must have its own name; {len(members)} arrays have {len(arrays)} names")
    return arrays


def _single(data: bytes) -> _Array:
    with _numpy_errors("a plain array of NumPy"):
        return _array(io.BytesIO(data), _Room())


@contextmanager
def _numpy_errors(kind: str) -> Iterator[None]:
    """Turn what zipfile, zlib and NumPy raise into a refusal: a dozen kinds, and all mean that the file is damaged."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split())
        raise InputError(f"the file must be {kind}; reading it failed ({reason})") from None


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
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, array in _members(channels).items():
            content = io.BytesIO()
            np.lib.format.write_array(content, array, allow_pickle=False)
            # numpy.savez would take the names "file" and "allow_pickle" for its own arguments
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), content.getvalue())
    return buffer.getvalue()


def _members(channels: Mapping[str, Channel]) -> dict[str, _Array]:
    plain = all(labels_or_none(c.inputs) is None is labels_or_none(c.outputs) for c in channels.values())
    one_size = len({channel.W.shape for channel in channels.values()}) == 1
    if len(channels) > 1 and plain and one_size and labels_or_none(list(channels)) is None:
        return {"channels": np.stack([channel.W for channel in channels.values()])}
    members: dict[str, _Array] = {name: channel.W for name, channel in channels.items()}
    for name, channel in channels.items():
        for side, labels in zip(_SIDES, (channel.inputs, channel.outputs), strict=True):
            if labels_or_none(labels) is None:
                continue
            if f"{name}.{side}" in channels:
                raise InputError(f'the labels of channel "{name}" require the name of another channel, "{name}.{side}"')
            members[f"{name}.{side}"] = np.array(labels)
    return members


def read_variables(source: OpenFile, hints: Hints) -> list[NamedMatrix]:
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
    try:
        while elements.at < len(elements.data):
            kind, content = elements.next()
            if kind == _PACKED:
                kind, content = elements.inside(_unpacked(content, elements.room)).next()
            name, array = _matrix(elements, kind, content, "a variable", 0)
            if name in variables:
                raise InputError(f"each variable must have its own name; {name} occurs twice")
            if (
                array.dtype == object
                and array.size
                and all(getattr(m, "dtype", array.dtype).kind == "U" for m in array.flat)
            ):
                array = np.array([member.item() for member in array.ravel(order="F")])  # a cell array of texts
            variables[name] = array
    except InputError:
        raise
    except (struct.error, zlib.error, ValueError, IndexError, MemoryError, OverflowError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"the MAT file is damaged; reading it failed ({reason})") from None
    return variables


def _unpacked(data: memoryview, room: _Room) -> memoryview:
    """What was packed, if there is room for it."""
    content = zlib.decompressobj().decompress(data, room.size)
    room.take(size=len(content) + (len(content) == room.size))  # of what fills it more may follow
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
