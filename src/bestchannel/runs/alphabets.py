"""The channels of a laboratory before anything is sensed: their names and letters, from a file.

JSON: `{"channels": {name: {"inputs": […], "outputs": […]}}}`, where a number n stands for the letters
0 … n-1 and `[n_inputs, n_outputs]` for both. CSV: lines `channel,n_inputs,n_outputs`.
"""

from __future__ import annotations

import os
import reprlib
from collections.abc import Mapping
from pathlib import Path

from bestchannel.counts.matrix_text import read_table
from bestchannel.disk import STDIN, errors_naming, read_bytes
from bestchannel.errors import InputError
from bestchannel.json_text import json_of
from bestchannel.policies import ChannelLabels

MOST_LETTERS = 2**16
"""In an alphabet that is given by its size."""

HEADER = ["channel", "n_inputs", "n_outputs"]


def read_alphabets(path: str | os.PathLike[str]) -> list[ChannelLabels]:
    """The channels of a .json or .csv file, in its order."""
    path = Path(path)
    with errors_naming(path):
        ending = path.suffix.lower()
        if ending not in (".json", ".csv") and path != STDIN:
            raise InputError(f"the ending must be .json or .csv; it is {ending!r}")
        data = read_bytes(path)
        if path == STDIN:
            ending = ".json" if data.lstrip().startswith(b"{") else ".csv"
        sides = _json_sides(data) if ending == ".json" else _csv_sides(data)
        if not sides:
            raise InputError("the file must name at least one channel; it names none")
        return [channel_labels(name, inputs, outputs) for name, (inputs, outputs) in sides.items()]


def _json_sides(data: bytes) -> dict[str, tuple[object, object]]:
    document = json_of(data)
    channels = document.get("channels") if isinstance(document, dict) else None
    if not isinstance(channels, dict):
        wanted = '{"channels": {name: {"inputs": …, "outputs": …}}}'
        raise InputError(f"the file must be {wanted}; it is {reprlib.repr(document)}")
    return {name: _pair(name, content) for name, content in channels.items()}


def _pair(name: str, content: object) -> tuple[object, object]:
    if isinstance(content, list) and len(content) == 2:
        return content[0], content[1]
    if isinstance(content, Mapping) and content.keys() == {"inputs", "outputs"}:
        return content["inputs"], content["outputs"]
    raise InputError(f'channel "{name}" must have inputs and outputs; it is {reprlib.repr(content)}')


def _csv_sides(data: bytes) -> dict[str, tuple[object, object]]:
    table = read_table(data)
    if [cell.strip().casefold() for cell in table.rows[0]] != HEADER:
        raise InputError(f"line {table.lines[0]} must be {','.join(HEADER)}; it is {','.join(table.rows[0][:10])}")
    table.refuse_ragged(len(HEADER), 1)
    sides: dict[str, tuple[object, object]] = {}
    for line, (name, *sizes) in zip(table.lines[1:], table.rows[1:], strict=True):
        if name.strip() in sides:
            raise InputError(f'line {line}: the channel "{name.strip()}" must occur once; it occurs twice')
        sides[name.strip()] = (_whole(sizes[0]), _whole(sizes[1]))
    return sides


def _whole(cell: str) -> object:
    """The number in the cell, or the cell itself, which is refused as a size later."""
    return int(cell) if cell.strip().isascii() and cell.strip().isdigit() and len(cell) < 10 else cell


def channel_labels(name: str, inputs: object, outputs: object) -> ChannelLabels:
    """A channel with its letters, lists of labels or their number, or an `InputError`."""
    _refuse_text(name, f"the name {name!r}")
    return ChannelLabels(name, _letters(inputs, "inputs", name), _letters(outputs, "outputs", name))


def _letters(side: object, kind: str, name: str) -> tuple[str, ...]:
    where = f'the {kind} of channel "{name}"'
    if type(side) is int and 1 <= side <= MOST_LETTERS:
        return tuple(map(str, range(side)))
    if not isinstance(side, list) or not side or not {str, int}.issuperset(map(type, side)):
        raise InputError(f"{where} must be a list of labels, or how many there are; they are {reprlib.repr(side)}")
    letters = tuple(str(label).strip() for label in side)
    if len(set(letters)) < len(letters):
        raise InputError(f"{where} must be different labels; they are {reprlib.repr(side)}")
    for letter in letters:
        _refuse_text(letter, where)
    return letters


def _refuse_text(text: str, where: str) -> None:
    """Refuse what files and terminals cannot hold, or what readers would strip."""
    if not text or text != text.strip() or not text.isprintable():
        raise InputError(f"{where} must be visible text without spaces around it; there is {text!r}")
