"""Workbooks of Excel: a sheet is read as the text that it would be saved as; several sheets are matrices by name."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from bestchannel.counts import matrix_text, text_log
from bestchannel.counts.decoded_tables import decoded_sheets
from bestchannel.counts.disk import OpenFile
from bestchannel.counts.labelled_counts import Combinations, RowBlock
from bestchannel.counts.named_matrix import NamedMatrix
from bestchannel.errors import InputError
from bestchannel.process import Progress


def read_log(source: OpenFile, seen: Combinations, progress: Progress | None) -> Iterator[RowBlock] | None:
    """The rows of the one sheet that has any, or None if it is a matrix or there are several."""
    sheets = _texts(source)
    if len(sheets) == 1:
        return text_log.read_log(sheets[0], seen, progress)
    for sheet in sheets:
        form, _ = text_log.find_form(sheet.head(text_log.HEAD), sheet.name, source.hints, seen)
        if form is not None:
            raise InputError(
                f'rows must be on one sheet; {len(sheets)} have content, and "{sheet.name}" has rows; save each'
                " sheet as a .csv file, and give all of these"
            )
    return None


def read_matrices(source: OpenFile) -> list[NamedMatrix]:
    """The matrices of all sheets."""
    return [matrix for sheet in _texts(source) for matrix in matrix_text.read_matrices(sheet)]


def read_long(source: OpenFile) -> list[NamedMatrix]:
    """The channels of all sheets."""
    return [matrix for sheet in _texts(source) for matrix in matrix_text.read_long(sheet)]


def _texts(source: OpenFile) -> list[OpenFile]:
    """The sheets that have content, as texts; a single one is called as the file."""
    sheets = source.once(_sheets)
    found = [
        OpenFile(Path("sheet.csv"), io.BufferedReader(cast(Any, io.BytesIO(text))), len(text), source.hints)
        for text in sheets.values()
    ]
    for name, sheet in zip(sheets, found, strict=True):
        sheet.name = source.name if len(sheets) == 1 else name
    return found


def _sheets(source: OpenFile) -> dict[str, bytes]:
    found = {name: text.encode() for name, text in decoded_sheets(source).items() if text.strip(",\r\n ")}
    if not found:
        raise InputError("the workbook must have a sheet with content; it has none")
    return found
