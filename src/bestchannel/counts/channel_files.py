"""Channels in files: the ending of the name chooses the format."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from bestchannel.arrays import numeric_array
from bestchannel.channels import Channel
from bestchannel.counts import json_format, npz_format, parquet_format, text_table
from bestchannel.counts.disk import errors_naming, read_bytes, write_bytes
from bestchannel.counts.labelled import LabelledRows, refuse_text
from bestchannel.errors import InputError

_RENDERERS = {
    ".json": json_format.render,
    ".csv": text_table.render,
    ".npz": npz_format.render,
    ".parquet": parquet_format.render,
}


def read_channels(
    path: str | os.PathLike[str],
    *,
    normalize: bool = False,
    transpose: bool = False,
    columns: Mapping[str, str] | None = None,
) -> dict[str, Channel]:
    """The channels of a .json, .csv, .npz or .parquet file by name, in the order of the file.

    `normalize` divides each row by its sum; `transpose` says that the columns of the
    matrices are the inputs; `columns` renames the columns of a long form, as in
    `{"channel": "link", "x": "sent", "y": "got", "p": "probability"}`.
    """
    path = Path(path)
    with errors_naming(path):
        found = _parsed(path, read_bytes(path), transpose, columns)
        return _channels(found, normalize, transpose)


def write_channels(path: str | os.PathLike[str], channels: Mapping[str, Channel]) -> None:
    """Write the channels in the format that the ending of the path names, at once or not at all.

    Reading gives them back to the bit, except that .csv and .parquet give labels that are
    all integers in numeric order.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_channels(f"{folder}/links.csv", {"link": Channel.from_rows([[0.9, 0.1], [0.2, 0.8]])})
    ...     read_channels(f"{folder}/links.csv")
    {'link': Channel('link', 2 inputs, 2 outputs)}
    """
    path = Path(path)
    with errors_naming(path):
        if not channels:
            raise InputError("a file must hold at least one channel; none was given")
        for name, channel in channels.items():
            refuse_text(name, channel.inputs, channel.outputs)
        write_bytes(path, _RENDERERS[_ending(path)](channels))


def _ending(path: Path) -> str:
    ending = path.suffix.lower()
    if ending not in _RENDERERS:
        raise InputError(f"the ending must be one of {', '.join(_RENDERERS)}; it is {ending!r}")
    return ending


def _parsed(path: Path, data: bytes, transpose: bool, columns: Mapping[str, str] | None) -> list[LabelledRows]:
    ending = _ending(path)
    if ending == ".csv":
        return text_table.parse(data, name=path.stem, columns=columns, transpose=transpose)
    if ending == ".parquet":
        return parquet_format.parse(data, name=path.stem, columns=columns, transpose=transpose)
    if columns is not None:
        raise InputError(f"columns belongs to a .csv or .parquet file; this is a {ending} file")
    return json_format.parse(data) if ending == ".json" else npz_format.parse(data)


def _channels(found: list[LabelledRows], normalize: bool, transpose: bool) -> dict[str, Channel]:
    channels: dict[str, Channel] = {}
    for content in found:
        if content.name in channels:
            raise InputError(f'the channel "{content.name}" must occur once; it occurs twice')
        channel = _channel(content, normalize, transpose)
        refuse_text(content.name, channel.inputs, channel.outputs)
        channels[content.name] = channel
    if not channels:
        raise InputError("a file must hold at least one channel; this one holds none")
    return channels


def _channel(content: LabelledRows, normalize: bool, transpose: bool) -> Channel:
    rows = content.rows
    if transpose:
        rows = np.transpose(numeric_array(rows, f'channel "{content.name}"'))
    return Channel.from_rows(
        rows, name=content.name, inputs=content.inputs, outputs=content.outputs, normalize=normalize
    )
