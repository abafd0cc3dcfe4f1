"""Matrices of NumPy: an archive with one per channel under its name, or one stack named `channels`; or one array.

What an array takes is known from its header, and refused before it is made: a small file may unpack to anything.
"""

from __future__ import annotations

import io
import math
import sys
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from bestchannel.channels import Channel
from bestchannel.counts.labelled_counts import MOST_CELLS, Combinations, Hints, RowBlock
from bestchannel.counts.long_table import log_of_vectors
from bestchannel.counts.named_matrix import NamedMatrix, labels_or_none, matrices_in, refuse_trials
from bestchannel.disk import MOST_BYTES, OpenFile
from bestchannel.errors import InputError
from bestchannel.process import Progress

_Array = NDArray[Any]
_SIDES = ("inputs", "outputs")

_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def read_log(
    source: OpenFile, hints: Hints, seen: Combinations, progress: Progress | None
) -> Iterator[RowBlock] | None:
    """The rows of vectors x, y and perhaps channel and count, or None if the archive has no such."""
    return log_of_vectors(source.parsed(_arrays), seen, source.name, hints.columns)


def read_matrices(source: OpenFile, hints: Hints) -> list[NamedMatrix]:
    """The channels of an archive; `name.inputs` and `name.outputs` are vectors of labels."""
    arrays = source.parsed(_arrays)
    if arrays.keys() == {"arr_0"}:  # what numpy.savez(array) calls an array without a name
        return _unnamed(arrays["arr_0"], source.name, hints)
    labels = {
        f"{name}.{side}" for name in arrays for side in _SIDES if arrays.get(f"{name}.{side}", np.zeros(())).ndim == 1
    }
    return [rows for name in arrays if name not in labels for rows in _labelled(name, arrays, hints)]


def read_array(source: OpenFile, hints: Hints) -> list[NamedMatrix]:
    """The channels of a .npy file: one matrix, called as the file, or a stack of them, called 0, 1, 2, ..."""
    return _unnamed(source.parsed(_single), source.name, hints)


def _unnamed(array: _Array, name: str, hints: Hints) -> list[NamedMatrix]:
    if array.ndim != 3:
        refuse_trials(array, hints)
        return [NamedMatrix(name, array)]
    found = matrices_in(array, "the array", hints.channel_axis, "first")
    return [NamedMatrix(str(k), matrix) for k, matrix in enumerate(found)]


def _labelled(name: str, arrays: Mapping[str, _Array], hints: Hints) -> Iterator[NamedMatrix]:
    array = arrays[name]
    inputs, outputs = (_labels(f"{name}.{side}", arrays) for side in _SIDES)
    if name == "channels" and array.ndim == 3:
        yield from (NamedMatrix(str(i), rows, inputs, outputs) for i, rows in enumerate(array))
    elif array.ndim == 3:
        found = matrices_in(array, f'the array "{name}"', hints.channel_axis, "first")
        yield from (NamedMatrix(f"{name}[{i}]", rows, inputs, outputs) for i, rows in enumerate(found))
    else:
        if inputs is None:
            refuse_trials(array, hints)
        yield NamedMatrix(name, array, inputs, outputs)


def _labels(name: str, arrays: Mapping[str, _Array]) -> list[str] | None:
    if name not in arrays or arrays[name].ndim != 1:
        return None
    if arrays[name].dtype.kind not in "Uiu":
        raise InputError(f'the labels "{name}" must be texts; they have dtype {arrays[name].dtype}')
    return [str(label) for label in arrays[name].tolist()]


def _arrays(data: bytes) -> dict[str, _Array]:
    """The arrays of an archive by name."""
    with _numpy_errors("an .npz archive of plain arrays"), zipfile.ZipFile(io.BytesIO(data)) as archive:
        room = _ArrayRoom()
        members = [
            (member.filename.removesuffix(".npy"), room.member(archive, member)) for member in archive.infolist()
        ]
    found = dict(members)
    if len(found) < len(members):
        raise InputError(f"each array must have its own name; {len(members)} arrays have {len(found)} names")
    return found


def _single(data: bytes) -> _Array:
    with _numpy_errors("a plain array of NumPy"):
        return _ArrayRoom().array(io.BytesIO(data))


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


class _ArrayRoom:
    """What the arrays of a file may still take: cells, then bytes."""

    def __init__(self) -> None:
        self._cells, self._bytes = MOST_CELLS, MOST_BYTES

    def member(self, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> _Array:
        """An array of an archive, which NumPy stores as it is or deflates."""
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise InputError(f'the array "{member.filename}" must be stored or deflated, as NumPy does; it is not')
        with archive.open(member) as content:
            return self.array(content)

    def array(self, content: IO[bytes]) -> _Array:
        """The array of a .npy file, if there is room for what its header says."""
        version = np.lib.format.read_magic(content)
        if version not in _HEADERS:
            raise InputError(f"an array must have a header of version 1.0 or 2.0; it has {version}")
        shape, in_columns, dtype = _HEADERS[version](content)
        if dtype.hasobject or dtype.names is not None:
            raise InputError(f"this must be an array of numbers or texts; it has dtype {dtype}")
        cells, size = math.prod(shape), math.prod(shape) * dtype.itemsize
        self._cells, self._bytes = self._cells - cells, self._bytes - size
        if self._cells < 0 or self._bytes < 0:
            raise InputError(
                f"the arrays of a file must have at most {MOST_CELLS:,} cells in {MOST_BYTES:,} bytes; these have more"
            )
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
