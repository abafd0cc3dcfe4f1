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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, TypeVar

from msgspec import Meta, Struct, ValidationError, convert

from bestchannel.counts import read_counts
from bestchannel.counts.matrix_text import lines_of
from bestchannel.disk import STDIN, errors_naming, read_bytes, regular
from bestchannel.errors import InputError
from bestchannel.json_text import json_of
from bestchannel.policies import ChannelLabels, Request
from bestchannel.policies.request import MOST_SENSES
from bestchannel.promises import several
from bestchannel.runs.history import Rows

MOST_LETTERS = 2**16  # in an alphabet that is given by its size
HEADER = ["channel", "n_inputs", "n_outputs"]
COLUMNS = ["request", "channel", "x", "y", "count"]  # of a sheet that `ask --csv` gives to fill in

T = TypeVar("T")
Cell = tuple[str, str, str, int]  # channel, x, y, count


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
    sides: dict[str, tuple[object, object]] = {}
    for name, content in channels.items():
        if isinstance(content, list) and len(content) == 2:
            sides[name] = content[0], content[1]
        elif isinstance(content, Mapping) and content.keys() == {"inputs", "outputs"}:
            sides[name] = content["inputs"], content["outputs"]
        else:
            raise InputError(f'channel "{name}" must have inputs and outputs; it is {reprlib.repr(content)}')
    return sides


def _csv_sides(data: bytes) -> dict[str, tuple[object, object]]:
    table = lines_of(data)
    if [cell.strip().casefold() for cell in table.rows[0]] != HEADER:
        raise InputError(f"line {table.lines[0]} must be {','.join(HEADER)}; it is {','.join(table.rows[0][:10])}")
    table.refuse_ragged(len(HEADER), 1)
    sides: dict[str, tuple[object, object]] = {}
    for line, row in zip(table.lines[1:], table.rows[1:], strict=True):
        name, *sizes = map(str.strip, row)
        if name in sides:
            raise InputError(f'line {line}: the channel "{name}" must occur once; it occurs twice')
        n_inputs, n_outputs = (int(size) if _is_whole(size) else size for size in sizes)
        sides[name] = n_inputs, n_outputs
    return sides


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
    letters = {str(label).strip(): None for label in side}
    if len(letters) < len(side):
        raise InputError(f"{where} must be different labels; they are {reprlib.repr(side)}")
    for letter in letters:
        _refuse_text(letter, where)
    return tuple(letters)


def _refuse_text(text: str, where: str) -> None:
    """Refuse what files and terminals cannot hold, or what readers would strip."""
    if not text or text != text.strip() or not text.isprintable():
        raise InputError(f"{where} must be visible text without spaces around it; there is {text!r}")


def numbered(channels: Mapping[int, ChannelLabels]) -> dict[str, tuple[int, dict[str, int], dict[str, int]]]:
    """The number of every channel by its name, with those of its inputs and of its outputs by theirs."""

    def places(letters: Sequence[str]) -> dict[str, int]:
        return {letter: place for place, letter in enumerate(letters)}

    return {str(of.key): (number, places(of.inputs), places(of.outputs)) for number, of in channels.items()}


@dataclass(frozen=True)
class AnswerSheet:
    """What stands in a file that answers a request, and the number of the request where the file says it."""

    path: Path
    request: int | None
    cells: list[Cell]


class JsonRow(Struct, forbid_unknown_fields=True):
    """A row of an answer in JSON."""

    channel: str | int
    x: str | int
    y: str | int
    count: Annotated[int, Meta(ge=0, le=MOST_SENSES)]


class JsonAnswer(Struct):
    """An answer in JSON, and the number of the request where it says it."""

    counts: list[JsonRow]
    request: int | None = None


def request_rows(senses: Mapping[int, Sequence[int]], channels: Sequence[ChannelLabels]) -> list[dict[str, Any]]:
    """What to sense: one row for each input of a channel, with its count."""
    return [
        {"channel": str(channels[channel].key), "x": letter, "count": count}
        for channel, counts in senses.items()
        for letter, count in zip(channels[channel].inputs, counts, strict=True)
        if count
    ]


def blank_sheet(number: int, senses: Mapping[int, Sequence[int]], channels: Sequence[ChannelLabels]) -> str:
    """A CSV to fill in: one row for each output of each input that is to be sensed, its count left empty."""
    text = io.StringIO()
    sheet = csv.writer(text, lineterminator="\n")
    sheet.writerow(COLUMNS)
    outputs = {str(labels.key): labels.outputs for labels in channels}
    for row in request_rows(senses, channels):
        sheet.writerows([number, row["channel"], row["x"], y, ""] for y in outputs[row["channel"]])
    return text.getvalue()


def read_sheet(path: str | os.PathLike[str]) -> AnswerSheet:
    """The rows of an answer: a table with the columns channel, x, y, count, or a sheet that `ask --csv` gave.

    A .json file is `{"counts": [{"channel", "x", "y", "count"}, …]}`, with "request" where it says what it answers.
    """
    with regular(Path(path)) as file:
        if file.suffix.lower() in (".json", ".csv"):
            with errors_naming(file):
                sheet = _json_sheet(file) if file.suffix.lower() == ".json" else _filled_sheet(file)
            if sheet is not None:
                return AnswerSheet(Path(path), *sheet)
        cells = [
            (name, content.inputs[x], content.outputs[y], int(content.counts[x, y]))
            for name, content in read_counts(file).items()
            for x in range(len(content.inputs))
            for y in range(len(content.outputs))
            if content.counts[x, y] or not content.counts[x].any()
        ]
        return AnswerSheet(Path(path), None, cells)


def _filled_sheet(path: Path) -> tuple[int, list[Cell]] | None:
    """What a sheet has, None of another table; an input of which every count is empty is not answered yet."""
    table = lines_of(read_bytes(path))
    heads = [cell.strip().casefold() for cell in table.rows[0]]
    if "request" not in heads:
        return None
    table.refuse_ragged(len(heads), 1)
    if any(heads.count(name) != 1 for name in COLUMNS):
        raise InputError(f"a sheet must have the columns {', '.join(COLUMNS)}; it has {', '.join(heads)[:200]}")
    places = [heads.index(name) for name in COLUMNS]
    rows = [[row[place].strip() for place in places] for row in table.rows[1:]]
    numbers = {row[0] for row in rows}
    if len(numbers) != 1 or not _is_whole(number := min(numbers)):
        raise InputError(f"a sheet must answer one request; its column request has {reprlib.repr(sorted(numbers))}")
    counted = {(channel, x) for _, channel, x, _, count in rows if count}
    cells = []
    for line, (_, channel, x, y, count) in zip(table.lines[1:], rows, strict=True):
        if (channel, x) in counted:  # among others of its input, an empty count is 0
            if count and not _is_whole(count):
                raise InputError(f"line {line}, count must be a whole number from 0 on; it is {reprlib.repr(count)}")
            cells.append((channel, x, y, int(count or 0)))
    return int(number), cells


def _is_whole(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 19 and int(text) <= MOST_SENSES


def _json_sheet(path: Path) -> tuple[int | None, list[Cell]]:
    try:
        answer = convert(json_of(read_bytes(path)), JsonAnswer)
    except ValidationError as error:
        wanted = '{"counts": [{"channel": …, "x": …, "y": …, "count": …}, …]}'
        raise InputError(f"the file must be {wanted}, where every count must be a whole number; {error}") from None
    return answer.request, [(str(row.channel), str(row.x), str(row.y), row.count) for row in answer.counts]


def answered_inputs(
    sheet: AnswerSheet, request: Request, channels: Sequence[ChannelLabels], *, whole: bool = True
) -> Rows:
    """The counts of each (channel, input) that the sheet has, or an `InputError` that says which row does not fit.

    Rows of one cell add up, and an output without a row counts 0; with `whole`, an input must have all senses that the
    request asks for.
    """

    def position(label: str, known: Mapping[str, T], who: str, kind: str) -> T:
        if label not in known:
            first = ", ".join(islice(known, 20))
            raise InputError(f"{who} the {kind}s {first}; the file has {kind} {reprlib.repr(label)}")
        return known[label]

    with errors_naming(sheet.path):
        names = numbered({channel: channels[channel] for channel in request.senses})
        rows: dict[tuple[int, int], list[int]] = {}
        for name, letter, output, count in sheet.cells:
            channel, inputs, outputs = position(name, names, f"request {request.number} asks for", "channel")
            where = f'channel "{name}" has'
            place = channel, position(letter, inputs, where, "input")
            if place not in rows:
                rows[place] = [0] * len(outputs)
            rows[place][position(output, outputs, where, "output")] += count
        for (channel, x), counts in rows.items():
            asked, told, labels = request.senses[channel][x], sum(counts), channels[channel]
            if told > asked or (whole and told < asked):
                part = "; `--piece NAME` keeps a part of them" if 0 < told < asked else ""
                raise InputError(
                    f'input {labels.inputs[x]} of channel "{labels.key}" must have'
                    f" {several(asked, 'sense')}, as request {request.number} asks; the file has {told:,}{part}"
                )
        if not rows:
            raise InputError("the file must have counts; it has none")
        return {place: tuple(counts) for place, counts in rows.items() if any(counts)}
