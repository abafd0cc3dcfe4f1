"""JSON, any document of it, and channels or counts as JSON.

`{"channels": {name: [[...]]}}`, or `{"rows", "inputs", "outputs"}` in place of the rows; lists of records; nested
dictionaries `{sent: {got: n}}`, by channel or of one; lists of matrices; calibrations of mthree.
"""

from __future__ import annotations

import json
import math
import re
import reprlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from bestchannel.channels import Channel
from bestchannel.counts import json_records, nested
from bestchannel.counts.disk import OpenFile, decoded
from bestchannel.counts.json_text import json_of
from bestchannel.counts.labelled_counts import Combinations, RowBlock
from bestchannel.counts.named_matrix import NamedMatrix, labels_or_none
from bestchannel.counts.text_log import without_comments
from bestchannel.counts.two_readings import refuse_trials
from bestchannel.errors import InputError
from bestchannel.process import Progress

_PRINTED = re.compile(rb"(?:\s*[#%][^\n]*\n)*\s*(?:\w+\.)?(?:array\()?\[\s*\[")
"""How an array begins that NumPy has printed."""


MOST_DOCUMENTS = 2**20
"""The most lines of a file with a document on each, which are all read at once."""


def finite_or_none(value: float) -> float | None:
    """The number as JSON may have it, where infinity and NaN are null."""
    return value if math.isfinite(value) else None


def shortened(value: object) -> str:
    """The value as JSON in at most 60 letters, to be shown in a sentence."""
    shown = json.dumps(value, ensure_ascii=False)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."


def read_log(source: OpenFile, seen: Combinations, progress: Progress | None) -> Iterator[RowBlock] | None:
    """The rows of a list of records, or of one record per line; None for any other document."""
    document = source.parsed(_document)
    if json_records.are_records(document):
        return json_records.log_of_records(iter(document), seen, source)
    if source.hints.columns is not None:
        raise InputError("columns belongs to records with the keys x and y; the file holds none")
    return None


def read_long(source: OpenFile) -> list[NamedMatrix]:
    """The channels of a JSON file: matrices by name, or records channel, x, y, p."""
    document = source.parsed(_document)
    if json_records.are_records(document):
        return json_records.long_of_records(document, source)
    if source.hints.columns is not None:
        raise InputError("columns belongs to rows with names above them, as records; the file holds none")
    return _matrices(document, source, counts=False)


def read_matrices(source: OpenFile) -> list[NamedMatrix]:
    """The counts of a JSON file that has no records."""
    return _matrices(source.parsed(_document), source, counts=True)


def _document(data: bytes) -> Any:
    """The document; of several, one per line, the list; of an array as NumPy prints it, its rows."""
    try:
        return json_of(data)
    except InputError as error:
        if _PRINTED.match(data):
            return _printed(without_comments(decoded(data)), error)
        if "Extra data" not in str(error) or b"\n" not in data.strip():
            raise
        if data.count(b"\n") > MOST_DOCUMENTS:
            raise InputError(
                f"a .json file of several documents must have at most {MOST_DOCUMENTS:,} lines; it has more (name it"
                " .jsonl)"
            ) from None
        return [json_of(line) for line in data.split(b"\n") if line.strip()]


def _printed(text: str, error: InputError) -> Any:
    """The lists in brackets, in which spaces or commas divide numbers; `error` says what else was not read."""
    if "..." in text:
        raise InputError(
            "the printed array leaves out numbers (...); write it with numpy.savetxt, or print it after"
            " numpy.set_printoptions(threshold=10**9)"
        )
    array = re.fullmatch(r"(?:\w+\.)?array\((.*?)(?:,\s*dtype=[\w.']+)?\)", text.strip(), re.DOTALL)
    open_lists: list[list[Any]] = [[]]
    for token in re.findall(r"\[|\]|[^\s,\[\]]+", array[1] if array else text):
        if token == "[":
            open_lists.append([])
        elif token == "]" and len(open_lists) > 1:
            closed = open_lists.pop()
            open_lists[-1].append(closed)
        elif re.fullmatch(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?", token):
            open_lists[-1].append(int(token) if token.lstrip("+-").isdigit() else float(token))
        else:
            raise error
    if len(open_lists) != 1 or len(open_lists[0]) != 1:
        raise error
    return open_lists[0][0]


def _matrices(document: Any, source: OpenFile, *, counts: bool) -> list[NamedMatrix]:
    """The matrices of a document: by name, nested dictionaries, a list of lists, or a calibration of mthree."""
    if isinstance(document, list) and document:
        if None in document:  # as mthree saved calibrations once
            return nested.mthree_matrices(document, None, counts=counts)
        return _of_lists(document, source, counts)
    if isinstance(document, dict) and isinstance(document.get("cals"), list):
        return nested.mthree_matrices(document["cals"], document.get("shots"), counts=counts)
    if isinstance(document, dict) and "rows" in document:
        return [_labelled(source.name, document)]
    if isinstance(document, dict) and "channels" in document:
        channels = document["channels"]
        if "audit" in document:
            raise InputError(
                "this is the result of an identification; save it, and give the file to estimate or report"
            )
        if not isinstance(channels, dict):
            raise InputError(f'"channels" must be an object of names and rows; it is {reprlib.repr(channels)}')
        return [_labelled(name, content) for name, content in channels.items()]
    found = nested.matrices_of(document, source.name) if isinstance(document, dict) else None
    if found is None:
        raise InputError(
            'the file must be a JSON object with the key "channels", records with the keys x and y, or'
            f" {{sent: {{got: n}}}}{_way_out(document)}; it is {reprlib.repr(document)}"
        )
    return found


def _way_out(document: Any) -> str:
    """How to write what others write: matrices by name, a frame of pandas column by column."""
    values = list(document.values()) if isinstance(document, dict) else []
    if values and all(isinstance(value, list) and value and isinstance(value[0], list) for value in values):
        return ' (put {"channels": …} around these matrices)'
    if {"x", "y"} <= set(document if values else ()):
        return ' (pandas: to_json(path, orient="records"))'
    return ""


def _of_lists(document: list[Any], source: OpenFile, counts: bool) -> list[NamedMatrix]:
    """One matrix, or a list of them, called 0, 1, 2, ..."""
    first = document[0]
    if isinstance(first, list) and first and isinstance(first[0], list):
        for k, rows in enumerate(document):
            _refuse_other_cells(str(k), rows)
        return [NamedMatrix(str(k), rows) for k, rows in enumerate(document)]
    _refuse_other_cells(source.name, document)
    if counts and len({len(row) if isinstance(row, list) else 0 for row in document}) == 1:
        refuse_trials(np.array(document), source.hints)
    return [NamedMatrix(source.name, document)]


def render(channels: Mapping[str, Channel]) -> bytes:
    """The channels as JSON, one line per channel; labels are written unless they are 0, 1, 2, ..."""
    lines = [f"  {_dumped(name)}: {_dumped(_content(channel))}" for name, channel in channels.items()]
    return ('{"channels": {\n' + ",\n".join(lines) + "\n}}\n").encode()


def _labelled(name: str, content: object) -> NamedMatrix:
    if not isinstance(content, dict):
        _refuse_other_cells(name, content)
        return NamedMatrix(name, content)
    if nested.is_nested(content):
        return nested.matrix_of(name, content)
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
