"""The files of a laboratory: its channels and their letters, requests to fill in, and answers.

Channels are JSON, `{"channels": {name: {"inputs": […], "outputs": […]}}}`, where a number n stands for the letters
0 … n-1 and `[n_inputs, n_outputs]` for both, or CSV with lines `channel,n_inputs,n_outputs`. Requests and answers are
rows with the names of channels and letters.
"""

from __future__ import annotations

import csv
import io
import os
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bestchannel.counts import read_counts
from bestchannel.counts.matrix_text import read_table
from bestchannel.disk import STDIN, errors_naming, read_bytes, regular
from bestchannel.errors import InputError
from bestchannel.json_text import json_of
from bestchannel.policies import ChannelLabels, Request
from bestchannel.policies.request import MOST_SENSES
from bestchannel.promises import several

MOST_LETTERS = 2**16  # in an alphabet that is given by its size
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


Cell = tuple[str, str, str, int]  # channel, x, y, count
COLUMNS = ["request", "channel", "x", "y", "count"]  # of a sheet that `ask --csv` gives to fill in


@dataclass(frozen=True)
class AnswerSheet:
    """What stands in a file that answers a request, and the number of the request where the file says it."""

    path: Path
    request: int | None
    cells: list[Cell]


def request_rows(senses: Mapping[int, Sequence[int]], parties: Sequence[ChannelLabels]) -> list[dict[str, Any]]:
    """What to sense: one row for each input of a channel, with its count."""
    return [
        {"channel": str(parties[channel].key), "x": letter, "count": count}
        for channel, counts in senses.items()
        for letter, count in zip(parties[channel].inputs, counts, strict=True)
        if count
    ]


def blank_sheet(number: int, senses: Mapping[int, Sequence[int]], parties: Sequence[ChannelLabels]) -> str:
    """A CSV to fill in: one row for each output of each input that is to be sensed, its count left empty."""
    text = io.StringIO()
    sheet = csv.writer(text, lineterminator="\n")
    sheet.writerow(COLUMNS)
    outputs = {str(labels.key): labels.outputs for labels in parties}
    for row in request_rows(senses, parties):
        sheet.writerows([number, row["channel"], row["x"], y, ""] for y in outputs[row["channel"]])
    return text.getvalue()


def read_sheet(path: str | os.PathLike[str]) -> AnswerSheet:
    """The rows of an answer: a table with the columns channel, x, y, count, or a sheet that `ask --csv` gave.

    A .json file is `{"counts": [{"channel", "x", "y", "count"}, …]}`, with "request" where it says what it answers.
    """
    with regular(Path(path)) as file:
        return replace(_sheet(file), path=Path(path))


def _sheet(path: Path) -> AnswerSheet:
    if path.suffix.lower() == ".json":
        return _json_sheet(path)
    if path.suffix.lower() == ".csv":
        with errors_naming(path):
            table = read_table(read_bytes(path))
            heads = [cell.strip().casefold() for cell in table.rows[0]]
            if "request" in heads:
                table.refuse_ragged(len(heads), 1)
                return _filled_sheet(path, heads, table.rows[1:], table.lines[1:])
    return AnswerSheet(path, None, _table_cells(path))


def answered_inputs(
    sheet: AnswerSheet, request: Request, parties: Sequence[ChannelLabels], *, whole: bool = True
) -> dict[tuple[int, int], tuple[int, ...]]:
    """The counts of each (channel, input) that the sheet has, or an `InputError` that says which row does not fit.

    Rows of one cell add up, and an output without a row counts 0; with `whole`, an input must have all senses that the
    request asks for.
    """
    with errors_naming(sheet.path):
        rows = _placed(sheet.cells, request, parties)
        for (channel, x), counts in rows.items():
            _refuse_other_total(sum(counts), request, parties, channel, x, whole)
        if not rows:
            raise InputError("the file must have counts; it has none")
        return {place: tuple(counts) for place, counts in rows.items() if any(counts)}


def _table_cells(path: Path) -> list[Cell]:
    return [
        (name, content.inputs[x], content.outputs[y], int(content.counts[x, y]))
        for name, content in read_counts(path).items()
        for x in range(len(content.inputs))
        for y in range(len(content.outputs))
        if content.counts[x, y] or not content.counts[x].any()
    ]


def _filled_sheet(path: Path, heads: list[str], rows: list[list[str]], lines: list[int]) -> AnswerSheet:
    """The rows of a sheet; an input of which every count is empty is not answered yet."""
    missing = [name for name in COLUMNS if heads.count(name) != 1]
    if missing:
        raise InputError(f"a sheet must have the columns {', '.join(COLUMNS)}; it has {', '.join(heads)[:200]}")
    places = [heads.index(name) for name in COLUMNS]
    found = [[row[place].strip() for place in places] for row in rows]
    numbers = {row[0] for row in found}
    if len(numbers) != 1 or not _is_whole(number := min(numbers)):
        raise InputError(f"a sheet must answer one request; its column request has {reprlib.repr(sorted(numbers))}")
    counted = {(channel, x) for _, channel, x, _, count in found if count}
    cells = [
        (channel, x, y, _count(count, f"line {line}, count"))
        for (_, channel, x, y, count), line in zip(found, lines, strict=True)
        if (channel, x) in counted
    ]
    return AnswerSheet(path, int(number), cells)


def _count(text: str, where: str) -> int:
    """The number of a cell; an empty one among others of its input is 0."""
    if text and not _is_whole(text):
        raise InputError(f"{where} must be a whole number from 0 on; it is {reprlib.repr(text)}")
    return int(text or 0)


def _is_whole(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 19 and int(text) <= MOST_SENSES


def _json_sheet(path: Path) -> AnswerSheet:
    with errors_naming(path):
        document = json_of(read_bytes(path))
        if not isinstance(document, dict) or not isinstance(document.get("counts"), list):
            wanted = '{"counts": [{"channel": …, "x": …, "y": …, "count": …}, …]}'
            raise InputError(f"the file must be {wanted}; it is {reprlib.repr(document)}")
        number = document.get("request")
        if number is not None and type(number) is not int:
            raise InputError(f"request must be the number of a request; it is {reprlib.repr(number)}")
        return AnswerSheet(path, number, [_json_cell(row, i) for i, row in enumerate(document["counts"], start=1)])


def _json_cell(row: object, i: int) -> Cell:
    if not isinstance(row, dict) or row.keys() != {"channel", "x", "y", "count"}:
        raise InputError(f"row {i} must have the keys channel, x, y, count; it is {reprlib.repr(row)}")
    for key in ("channel", "x", "y"):
        if type(row[key]) not in (str, int):
            raise InputError(f"row {i}, {key} must be a label; it is {reprlib.repr(row[key])}")
    if type(row["count"]) is not int or not 0 <= row["count"] <= MOST_SENSES:
        raise InputError(f"row {i}, count must be a whole number from 0 on; it is {reprlib.repr(row['count'])}")
    return str(row["channel"]), str(row["x"]), str(row["y"]), row["count"]


def _placed(
    cells: Iterable[Cell], request: Request, parties: Sequence[ChannelLabels]
) -> dict[tuple[int, int], list[int]]:
    number = {str(parties[channel].key): channel for channel in request.senses}
    rows: dict[tuple[int, int], list[int]] = {}
    for name, x, y, count in cells:
        channel = _position(name, number, f"request {request.number} asks for", "channel")
        labels, where = parties[channel], f'channel "{name}" has'
        inputs, outputs = ({letter: i for i, letter in enumerate(side)} for side in (labels.inputs, labels.outputs))
        place = channel, _position(x, inputs, where, "input")
        rows.setdefault(place, [0] * len(outputs))[_position(y, outputs, where, "output")] += count
    return rows


def _position(label: str, known: Mapping[str, int], who: str, kind: str) -> int:
    if label not in known:
        some = ", ".join(list(known)[:20])
        raise InputError(f"{who} the {kind}s {some}; the file has {kind} {reprlib.repr(label)}")
    return known[label]


def _refuse_other_total(
    found: int, request: Request, parties: Sequence[ChannelLabels], channel: int, x: int, whole: bool
) -> None:
    asked, labels = request.senses[channel][x], parties[channel]
    if found > asked or (whole and found < asked):
        part = "; `--piece NAME` keeps a part of them" if 0 < found < asked else ""
        raise InputError(
            f'input {labels.inputs[x]} of channel "{labels.key}" must have'
            f" {several(asked, 'sense')}, as request {request.number} asks; the file has {found:,}{part}"
        )
