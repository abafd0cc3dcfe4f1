"""Text logs of any length, block by block: a scan numbers the rows, what is new or odd is judged here.

The scan knows rows by the bytes of their labels, and the meaning of each spelling is found once. A row that
it cannot vouch for (a line end between quotes, a count like 1e3, missing fields) is read by the same code as
those of a short file, which refuses it or not.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Generator, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestchannel.counts.disk import OpenFile
from bestchannel.counts.labelled_counts import Combinations, RowBlock
from bestchannel.counts.row_forms import RowForm
from bestchannel.counts.scan import Scan
from bestchannel.errors import InputError
from bestchannel.process import Progress

BLOCK = 2**22
"""Bytes read at a time; no row may be longer."""

_LINE_END = re.compile(rb"\r\n|\r|\n")
_LF = 10
_SPELLING = 32
"""Bytes that a spelling of labels may take, on average, where there are as many as may be."""
_NEARBY = 2**9
"""Bytes within which most rows end."""


class StreamedText:
    """A log in a file, read from its current place on: `form` says how, `seen` learns what there is."""

    def __init__(self, source: OpenFile, form: RowForm, seen: Combinations, line: int) -> None:
        self._source, self._form, self._seen = source, form, seen
        self._scan = Scan(form)
        self._scan.pass_lines(line - 1)
        self._meaning = np.zeros(0, np.int32)
        self._no_times = False

    def blocks(self, progress: Progress | None) -> Iterator[RowBlock]:
        """The rows in their order."""
        buffer, kept = np.empty(BLOCK, np.uint8), 0
        while True:
            n = self._source.fill(buffer[kept:].data)
            text = buffer[: kept + n]
            if not text[kept:].all():
                raise InputError(f"the text must have no NUL; there is one after line {self._scan.line}")
            used = yield from self._block(text, final=n == 0)
            if progress and self._source.size is not None:
                progress(self._source.done, max(self._source.done, self._source.size))
            if n == 0:
                return
            kept = len(text) - used
            if kept == BLOCK:
                raise InputError(f"line {self._scan.line} must be shorter than {BLOCK:,} bytes; is a quote left open?")
            buffer[:kept] = text[used:].copy()

    def _block(self, text: NDArray[np.uint8], *, final: bool) -> Generator[RowBlock, None, int]:
        """The rows that are whole; the bytes that they take."""
        start = 0
        while True:
            found = self._scan(text, start, final)
            self._learn()
            if len(found.codes):
                yield self._rows(found.codes, found.counts, text[start : found.stop])
            start = found.stop
            if found.odd:
                end = _end_of_row(text, start, final, self._form.delimiter)
                if end is None:
                    return start
                yield from self._odd(text[start:end].tobytes())
                start = end
            elif found.needs_more:
                return start

    def _rows(self, codes: NDArray[np.int32], counts: NDArray[np.int64], text: NDArray[np.uint8]) -> RowBlock:
        numbers, times = self._meaning[codes], self._times(text, len(codes))
        rows = numbers >= 0  # the others are comments
        if not rows.all():
            numbers, counts = numbers[rows], counts[rows]
        return RowBlock(numbers, None if self._form.count is None else counts.copy(), times)

    def _times(self, text: NDArray[np.uint8], size: int) -> NDArray[Any] | None:
        """The times of the rows in the text; None where they have none, or are no times."""
        if self._form.time is None or self._no_times:
            return None
        fields = np.loadtxt(
            io.BytesIO(text.tobytes()),
            np.dtype("U40"),
            comments=None,
            delimiter=None if self._form.delimiter == " " else self._form.delimiter,
            usecols=self._form.time,
            ndmin=1,
            encoding="utf-8",
            quotechar='"',
        )
        times = self._form.times(fields.tolist()) if len(fields) == size else None
        self._no_times = times is None
        return times

    def _learn(self) -> None:
        """Find the combinations of the keys that are new."""
        new = range(len(self._meaning), self._scan.n_keys)
        most = self._seen.most_spelled
        if self._scan.n_keys > most or self._scan.letters > _SPELLING * most:
            raise InputError(
                f"line {self._scan.line} comes after {self._scan.n_keys:,} spellings of labels, which take"
                f" {self._scan.letters:,} bytes; are these columns labels?"
            )
        if new:
            self._meaning = np.append(self._meaning, np.array([self._number_of_key(code) for code in new], np.int32))

    def _number_of_key(self, code: int) -> int:
        spelled, line = self._scan.key(code)
        row = [""] * self._form.width
        for column, field in zip(self._form.key, spelled, strict=True):
            row[column] = self._form.unquoted(_decoded(field, line), line)
        return self._number(row, line)

    def _number(self, row: list[str], line: int) -> int:
        labels = self._form.labels(row, f"line {line}")
        return -1 if labels is None else self._seen.number(*labels, f"line {line}")

    def _odd(self, text: bytes) -> Iterator[RowBlock]:
        """The row of the text, if it is not blank."""
        line = self._scan.line
        for row, number in self._form.rows(_decoded(text, line), line):
            found, count = self._number(row, number), self._form.count_of(row, f"line {number}")
            if found >= 0:
                times = None if self._form.time is None else self._form.times([row[self._form.time]])
                yield RowBlock(np.array([found]), None if self._form.count is None else np.array([count]), times)
        self._scan.pass_lines(len(_LINE_END.findall(text)))


def _decoded(text: bytes, line: int) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"line {line} must be UTF-8 text; it has the byte 0x{text[error.start]:02x} (save the file as UTF-8)"
        ) from None


def _end_of_row(text: NDArray[np.uint8], start: int, final: bool, delimiter: str) -> int | None:
    """Where the row at `start` ends, or None if more text is required to know it."""
    if len(text) > start + _NEARBY:
        end = _end_of_row(text[: start + _NEARBY], start, False, delimiter)
        if end is not None:
            return end
    ends = [match.end() for match in _LINE_END.finditer(text.data, start)]
    if text[-1] != _LF:
        ends.append(len(text))
    # where spaces divide, no line end is between quotes
    n_lines = 1 if delimiter in ("", " ") else _lines_of_row(text, [start, *ends], delimiter)
    if n_lines is None:
        return len(text) if final else None
    end = ends[n_lines - 1]
    # a carriage return at the end of the text may be the first half of a line end
    return end if final or end < len(text) or text[-1] == _LF else None


def _lines_of_row(text: NDArray[np.uint8], ends: list[int], delimiter: str) -> int | None:
    """How many lines make the first row, as the module csv sees it; None if it does not end in the text."""
    # quotes and delimiters are ASCII, so that another encoding finds them too
    lines = (text[a:b].tobytes().decode("latin-1") for a, b in pairwise(ends))
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True, strict=True)
    try:
        next(reader)
    except csv.Error:
        # either the text ended, or the row cannot be split, which is said with its line when it is read
        return None if reader.line_num == len(ends) - 1 else reader.line_num
    return reader.line_num
