"""Requests and answers as a laboratory writes them: rows with the names of channels and letters."""

from __future__ import annotations

import os
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bestchannel.arrays import Integers
from bestchannel.counts import read_counts
from bestchannel.counts.disk import errors_naming, read_bytes
from bestchannel.counts.json_format import json_of
from bestchannel.errors import InputError
from bestchannel.policies import ChannelLabels, Request
from bestchannel.policies.request import MOST_SENSES

Cell = tuple[str, str, str, int]
"""channel, x, y, count."""


def request_rows(request: Request, parties: Sequence[ChannelLabels]) -> list[dict[str, Any]]:
    """What to sense: one row for each input of a channel, with its count."""
    return [
        {"channel": str(parties[channel].key), "x": letter, "count": count}
        for channel, senses in request.senses.items()
        for letter, count in zip(parties[channel].inputs, senses, strict=True)
        if count
    ]


def read_answer(
    path: str | os.PathLike[str], request: Request, parties: Sequence[ChannelLabels]
) -> dict[int, Integers]:
    """The counts of a file that answers the request, or an `InputError` that says which row does not.

    The file has rows channel, x, y, count; rows of one cell add up, and a cell without a row counts 0. A .json file is
    `{"counts": [{"channel", "x", "y", "count"}, …]}`, with "request" where it says what it answers.
    """
    path = Path(path)
    cells = _json_cells(path, request.number) if path.suffix.lower() == ".json" else _table_cells(path)
    with errors_naming(path):
        counts = _placed(cells, request, parties)
        _refuse_other_totals(counts, request, parties)
        return counts


def _table_cells(path: Path) -> list[Cell]:
    return [
        (name, content.inputs[x], content.outputs[y], int(content.counts[x, y]))
        for name, content in read_counts(path).items()
        for x, y in np.argwhere(content.counts)
    ]


def _json_cells(path: Path, number: int) -> list[Cell]:
    with errors_naming(path):
        document = json_of(read_bytes(path))
        if not isinstance(document, dict) or not isinstance(document.get("counts"), list):
            wanted = '{"counts": [{"channel": …, "x": …, "y": …, "count": …}, …]}'
            raise InputError(f"the file must be {wanted}; it is {reprlib.repr(document)}")
        answered = document.get("request", number)
        if answered != number:
            raise InputError(f"the file answers request {reprlib.repr(answered)}; request {number} was named")
        return [_json_cell(row, i) for i, row in enumerate(document["counts"], start=1)]


def _json_cell(row: object, i: int) -> Cell:
    if not isinstance(row, dict) or row.keys() != {"channel", "x", "y", "count"}:
        raise InputError(f"row {i} must have the keys channel, x, y, count; it is {reprlib.repr(row)}")
    for key in ("channel", "x", "y"):
        if type(row[key]) not in (str, int):
            raise InputError(f"row {i}, {key} must be a label; it is {reprlib.repr(row[key])}")
    if type(row["count"]) is not int or not 0 <= row["count"] <= MOST_SENSES:
        raise InputError(f"row {i}, count must be a whole number from 0 on; it is {reprlib.repr(row['count'])}")
    return str(row["channel"]), str(row["x"]), str(row["y"]), row["count"]


def _placed(cells: Iterable[Cell], request: Request, parties: Sequence[ChannelLabels]) -> dict[int, Integers]:
    number = {str(parties[channel].key): channel for channel in request.senses}
    tables: dict[int, Any] = {  # of objects, which cannot overflow
        channel: np.zeros(parties[channel].alphabet, dtype=object) for channel in request.senses
    }
    for name, x, y, count in cells:
        channel = _position(name, number, f"request {request.number} asks for", "channel")
        labels, where = parties[channel], f'channel "{name}" has'
        inputs, outputs = ({letter: i for i, letter in enumerate(side)} for side in (labels.inputs, labels.outputs))
        tables[channel][_position(x, inputs, where, "input"), _position(y, outputs, where, "output")] += count
    return tables


def _position(label: str, known: Mapping[str, int], who: str, kind: str) -> int:
    if label not in known:
        some = ", ".join(list(known)[:20])
        raise InputError(f"{who} the {kind}s {some}; the file has {kind} {reprlib.repr(label)}")
    return known[label]


def _refuse_other_totals(counts: dict[int, Any], request: Request, parties: Sequence[ChannelLabels]) -> None:
    """Refuse totals that are not those asked for; what passes holds 64-bit integers."""
    for channel, senses in request.senses.items():
        for x, asked in enumerate(senses):
            found = sum(counts[channel][x].tolist())
            if found != asked:
                labels = parties[channel]
                raise InputError(
                    f'input {labels.inputs[x]} of channel "{labels.key}" must have {asked:,} senses, as request'
                    f" {request.number} asks; the file has {found:,}"
                )
        counts[channel] = counts[channel].astype(np.int64)
