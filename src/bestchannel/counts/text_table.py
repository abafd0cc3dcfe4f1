"""Channels as CSV: the long form `channel,x,y,p`, or one bare matrix."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from bestchannel.channels import Channel
from bestchannel.counts.labelled import LabelledRows
from bestchannel.counts.long_table import NOT_A_MATRIX, LongForm, matrices, probability_columns
from bestchannel.counts.matrix_text import bare_matrix
from bestchannel.counts.table import Table, read_table
from bestchannel.errors import InputError

_NEEDS_QUOTES = re.compile(r'[,;\t"\r\n]|^\s|\s$')


def parse(data: bytes, *, name: str, columns: Mapping[str, str] | None, transpose: bool) -> list[LabelledRows]:
    """The channels of a CSV file; one that the file does not name is called `name`."""
    table = read_table(data)
    if columns is None and not is_long_header(table.rows[0]):
        return [bare_matrix(table, name=name, transpose=transpose)]
    if transpose:
        raise InputError(NOT_A_MATRIX)
    return list(matrices(_long_form(table, name, columns)))


def render(channels: Mapping[str, Channel]) -> bytes:
    """The long form of the channels, one line a cell."""
    lines = ["channel,x,y,p"]
    for name, channel in channels.items():
        lines.extend(_cell_lines(name, channel))
    return "\n".join([*lines, ""]).encode()


def is_long_header(header: Sequence[str]) -> bool:
    """Whether the first line names the columns of a long form."""
    cells = {cell.strip().casefold() for cell in header}
    return {"x", "y"} <= cells or ("channel" in cells and not cells.isdisjoint({"x", "y", "p", "count"}))


def _long_form(table: Table, name: str, columns: Mapping[str, str] | None) -> LongForm:
    header, rows = table.rows[0], table.rows[1:]
    found = probability_columns(header, columns)
    table.refuse_ragged(len(header), 1)
    if not rows:
        raise InputError("there must be lines after the header; there is none")

    def place(i: int) -> str:
        return f"line {table.lines[i + 1]}"

    p = found["p"]
    return LongForm(
        [row[found["channel"]] for row in rows] if "channel" in found else [name] * len(rows),
        [row[found["x"]] for row in rows],
        [row[found["y"]] for row in rows],
        table.numbers([row[p] for row in rows], lambda i: f'{place(i)}, column "{header[p].strip()}"'),
        place,
    )


def _cell_lines(name: str, channel: Channel) -> Iterator[str]:
    outputs = [_quoted(label) for label in channel.outputs]
    for label, row in zip(channel.inputs, channel.W.tolist(), strict=True):
        start = f"{_quoted(name)},{_quoted(label)}"
        yield from (f"{start},{output},{p!r}" for output, p in zip(outputs, row, strict=True))


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if _NEEDS_QUOTES.search(text) else text
