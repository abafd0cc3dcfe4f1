"""Channels as JSON: `{"channels": {name: [[...]]}}`, or `{"rows", "inputs", "outputs"}` in place of the rows."""

from __future__ import annotations

import json
import reprlib
from collections.abc import Mapping

from bestchannel.channels import Channel
from bestchannel.counts.json_text import json_of
from bestchannel.counts.labelled import LabelledRows, labels_or_none
from bestchannel.errors import InputError


def parse(data: bytes) -> list[LabelledRows]:
    """The channels of a JSON file."""
    document = json_of(data)
    if not isinstance(document, dict) or "channels" not in document:
        raise InputError(
            f'the file must be a JSON object with the key "channels"; it is {reprlib.repr(document)}'
            " (counts are for `bestchannel estimate`)"
        )
    channels = document["channels"]
    if not isinstance(channels, dict):
        raise InputError(f'"channels" must be an object of names and rows; it is {reprlib.repr(channels)}')
    return [_labelled(name, content) for name, content in channels.items()]


def render(channels: Mapping[str, Channel]) -> bytes:
    """The channels as JSON, one line a channel; labels are written unless they are 0, 1, 2, ..."""
    lines = [f"  {_dumped(name)}: {_dumped(_content(channel))}" for name, channel in channels.items()]
    return ('{"channels": {\n' + ",\n".join(lines) + "\n}}\n").encode()


def _labelled(name: str, content: object) -> LabelledRows:
    if not isinstance(content, dict):
        _refuse_other_cells(name, content)
        return LabelledRows(name, content)
    if "rows" not in content or not content.keys() <= {"rows", "inputs", "outputs"}:
        raise InputError(
            f'channel "{name}" must have the keys rows and perhaps inputs and outputs; it has {", ".join(content)}'
        )
    _refuse_other_cells(name, content["rows"])
    inputs, outputs = (_labels(name, side, content.get(side)) for side in ("inputs", "outputs"))
    return LabelledRows(name, content["rows"], inputs, outputs)


def _refuse_other_cells(name: str, rows: object) -> None:
    """Refuse a cell that is no number: an array made of it would turn true into 1 and 0.5 into text."""
    for x, row in enumerate(rows if isinstance(rows, list) else []):
        if not isinstance(row, list) or {int, float}.issuperset(map(type, row)):
            continue
        y, cell = next((y, cell) for y, cell in enumerate(row) if type(cell) not in (int, float))
        raise InputError(f'row x={x}, column y={y} of channel "{name}" must be a number; it is {reprlib.repr(cell)}')


def _labels(name: str, side: str, labels: object) -> list[str] | None:
    if labels is None:
        return None
    if not isinstance(labels, list) or not {str, int}.issuperset(map(type, labels)):
        raise InputError(f'{side} of channel "{name}" must be a list of texts; it is {reprlib.repr(labels)}')
    return [str(label) for label in labels]


def _content(channel: Channel) -> object:
    sides = {"inputs": labels_or_none(channel.inputs), "outputs": labels_or_none(channel.outputs)}
    labels = {side: labels for side, labels in sides.items() if labels is not None}
    return {"rows": channel.W.tolist(), **labels} if labels else channel.W.tolist()


def _dumped(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
