"""Workbooks of Excel: a sheet is read as the text that it would be saved as; several sheets are matrices by name."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from bestchannel.counts import matrix_text, text_log
from bestchannel.counts.disk import MOST_FIELDS, OpenFile
from bestchannel.counts.labelled_counts import Combinations, RowBlock
from bestchannel.counts.named_matrix import NamedMatrix
from bestchannel.errors import InputError, MissingExtraError
from bestchannel.progress import Progress

MOST_UNPACKED = 2**26
"""The most bytes that a workbook may unpack to; as objects of Python it takes many times that."""

Sheets = dict[str, bytes]


def read_log(source: OpenFile, seen: Combinations, progress: Progress | None) -> Iterator[RowBlock] | None:
    """The rows of the one sheet that has any, or None if it is a matrix or there are several."""
    sheets = _texts(source)
    if len(sheets) == 1:
        return text_log.read_log(sheets[0], seen, progress)
    for sheet in sheets:
        form, _ = text_log.find_form(sheet.head(text_log.HEAD), sheet.name, source.hints, seen)
        if form is not None:
            raise InputError(f'rows must be on one sheet; {len(sheets)} have content, and "{sheet.name}" has rows')
    return None


def read_matrices(source: OpenFile) -> list[NamedMatrix]:
    """The matrices of all sheets."""
    return [matrix for sheet in _texts(source) for matrix in matrix_text.read_matrices(sheet)]


def read_long(source: OpenFile) -> list[NamedMatrix]:
    """The channels of all sheets."""
    return [matrix for sheet in _texts(source) for matrix in matrix_text.read_long(sheet)]


def _texts(source: OpenFile) -> list[OpenFile]:
    """The sheets as texts; a single one is called as the file."""
    sheets: Sheets = source.parsed(_sheets)
    found = [
        OpenFile(Path("sheet.csv"), io.BufferedReader(cast(Any, io.BytesIO(text))), len(text), source.hints)
        for text in sheets.values()
    ]
    for name, sheet in zip(sheets, found, strict=True):
        sheet.name = source.name if len(sheets) == 1 else name
    return found


def _sheets(data: bytes) -> Sheets:
    """The sheets that have content, as text, by name."""
    try:
        import openpyxl
    except ImportError:
        raise MissingExtraError("reading .xlsx", "excel") from None
    try:
        _refuse_large(data)
        book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
        texts = {sheet.title: _text(sheet) for sheet in book.worksheets}
    except InputError:
        raise
    except Exception as error:
        # a damaged workbook makes zipfile, the parser of XML and openpyxl raise a dozen kinds
        reason = " ".join(str(error).split())
        raise InputError(f"the file must be a workbook of Excel; reading it failed ({reason})") from None
    found = {name: text for name, text in texts.items() if text.strip(b",\r\n ")}
    if not found:
        raise InputError("the workbook must have a sheet with content; it has none")
    return found


def _refuse_large(data: bytes) -> None:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        size = sum(member.file_size for member in archive.infolist())
    if size > MOST_UNPACKED:
        raise InputError(f"a workbook must unpack to at most {MOST_UNPACKED:,} bytes; this has {size:,} (save as .csv)")


def _text(sheet: Any) -> bytes:
    """The sheet as text; numbers as Python writes them."""
    buffer, cells = io.StringIO(newline=""), 0
    writer = csv.writer(buffer, lineterminator="\n")
    for row in sheet.iter_rows(values_only=True):
        cells += len(row)
        if cells > MOST_FIELDS:
            raise InputError(f"a sheet must have at most {MOST_FIELDS:,} cells; it has more")
        writer.writerow([_cell(value) for value in row])
    return _without_empty_columns(buffer.getvalue()).encode()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _without_empty_columns(text: str) -> str:
    """The text without the empty columns at its right, which a sheet may have after formatting."""
    rows = list(csv.reader(io.StringIO(text, newline="")))
    width = max((i for row in rows for i, cell in enumerate(row, 1) if cell.strip()), default=0)
    buffer = io.StringIO(newline="")
    csv.writer(buffer, lineterminator="\n").writerows(row[:width] for row in rows)
    return buffer.getvalue()
