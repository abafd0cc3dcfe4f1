"""Channels as a NumPy archive: one matrix per channel under its name, or one stack named `channels`."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestchannel.channels import Channel
from bestchannel.counts.disk import OpenFile
from bestchannel.counts.labelled_counts import Columns, Combinations, RowBlock
from bestchannel.counts.long_table import log_of_vectors
from bestchannel.counts.named_matrix import NamedMatrix, labels_or_none
from bestchannel.errors import InputError
from bestchannel.progress import Progress

_Array = NDArray[Any]
_SIDES = ("inputs", "outputs")


def read_log(
    source: OpenFile, seen: Combinations, columns: Columns, progress: Progress | None
) -> Iterator[RowBlock] | None:
    """The rows of vectors x, y and perhaps channel and count, or None if the archive has no such."""
    return log_of_vectors(arrays(source.content()), seen, source.name, columns)


def read_matrices(source: OpenFile, transpose: bool) -> list[NamedMatrix]:
    """The channels of an archive; `name.inputs` and `name.outputs` are vectors of labels."""
    found = arrays(source.content())
    labels = {name for name, array in found.items() if array.ndim == 1 and _labelled_name(name) in found}
    return [rows for name in found if name not in labels for rows in _labelled(name, found)]


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


def arrays(data: bytes) -> dict[str, _Array]:
    """The arrays of an archive by name."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [(member.filename.removesuffix(".npy"), _array(archive, member)) for member in archive.infolist()]
    except Exception as error:
        # a damaged archive makes zipfile, zlib and NumPy raise a dozen kinds, and all mean the same here
        reason = " ".join(str(error).split())
        raise InputError(f"the file must be an .npz archive of plain arrays; reading it failed ({reason})") from None
    found = dict(members)
    if len(found) < len(members):
        raise InputError(f"each array must have its own name; {len(members)} arrays have {len(found)} names")
    return found


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> _Array:
    with archive.open(member) as content:
        array: _Array = np.lib.format.read_array(content, allow_pickle=False)
    return array


def _labelled_name(name: str) -> str | None:
    base, _, side = name.rpartition(".")
    return base if side in _SIDES else None


def _labelled(name: str, arrays: Mapping[str, _Array]) -> Iterator[NamedMatrix]:
    array = arrays[name]
    inputs, outputs = (_labels(f"{name}.{side}", arrays) for side in _SIDES)
    if name == "channels" and array.ndim == 3:
        yield from (NamedMatrix(str(i), rows, inputs, outputs) for i, rows in enumerate(array))
    else:
        yield NamedMatrix(name, array, inputs, outputs)


def _labels(name: str, arrays: Mapping[str, _Array]) -> list[str] | None:
    if name not in arrays or arrays[name].ndim != 1:
        return None
    if arrays[name].dtype.kind not in "Uiu":
        raise InputError(f'the labels "{name}" must be texts; they have dtype {arrays[name].dtype}')
    return [str(label) for label in arrays[name].tolist()]


def _members(channels: Mapping[str, Channel]) -> dict[str, _Array]:
    if _is_stack(channels):
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


def _is_stack(channels: Mapping[str, Channel]) -> bool:
    plain = all(labels_or_none(c.inputs) is None is labels_or_none(c.outputs) for c in channels.values())
    one_size = len({channel.W.shape for channel in channels.values()}) == 1
    return len(channels) > 1 and plain and one_size and labels_or_none(list(channels)) is None
