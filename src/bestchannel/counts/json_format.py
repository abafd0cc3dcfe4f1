"""JSON, any document of it, and channels or counts as JSON.

`{"channels": {name: [[...]]}}`, or `{"rows", "inputs", "outputs"}` in place of the rows.
"""

from __future__ import annotations

import json
import math
import reprlib
from collections import Counter
from collections.abc import Mapping
from typing import Any

from bestchannel.channels import Channel
from bestchannel.counts.disk import OpenFile, decoded, refuse_too_many_fields
from bestchannel.counts.named_matrix import NamedMatrix, labels_or_none
from bestchannel.errors import InputError


def json_of(data: bytes) -> Any:
    """The document that these bytes are the JSON of."""
    text = decoded(data)
    refuse_too_many_fields(text, ",")
    try:
        return json.loads(text, object_pairs_hook=_distinct)
    except InputError:
        raise
    except json.JSONDecodeError as error:
        raise InputError(
            f"the file must be JSON; line {error.lineno}, column {error.colno} is not JSON ({error.msg})"
        ) from None
    except RecursionError:
        raise InputError("the file must be JSON of a few levels; it is nested too deeply to be read") from None
    except ValueError as error:  # an integer of thousands of digits
        raise InputError(f"a number in the file cannot be read ({error})") from None


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        repeated, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise InputError(f"a name must occur once in an object; {reprlib.repr(repeated)} occurs more often")
    return content


def finite_or_none(value: float) -> float | None:
    """The number as JSON may have it, where infinity and NaN are null."""
    return value if math.isfinite(value) else None


def shortened(value: object) -> str:
    """The value as JSON in at most 60 letters, to be shown in a sentence."""
    shown = json.dumps(value, ensure_ascii=False)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."


def read_matrices(source: OpenFile) -> list[NamedMatrix]:
    """The channels of a JSON file."""
    document = json_of(source.content())
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
    """The channels as JSON, one line per channel; labels are written unless they are 0, 1, 2, ..."""
    lines = [f"  {_dumped(name)}: {_dumped(_content(channel))}" for name, channel in channels.items()]
    return ('{"channels": {\n' + ",\n".join(lines) + "\n}}\n").encode()


def _labelled(name: str, content: object) -> NamedMatrix:
    if not isinstance(content, dict):
        _refuse_other_cells(name, content)
        return NamedMatrix(name, content)
    if "rows" not in content or not content.keys() <= {"rows", "inputs", "outputs"}:
        raise InputError(
            f'channel "{name}" must have the keys rows and perhaps inputs and outputs; it has {", ".join(content)}'
        )
    _refuse_other_cells(name, content["rows"])
    inputs, outputs = (_labels(name, side, content.get(side)) for side in ("inputs", "outputs"))
    return NamedMatrix(name, content["rows"], inputs, outputs)


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
