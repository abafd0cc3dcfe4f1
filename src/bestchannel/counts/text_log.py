"""Text logs of any length: which form a file has, and its rows, block by block.

The form is decided here and nowhere else: pairs in brackets, columns under a header, or a bare matrix. A scan knows
rows by the bytes of their labels, and the meaning of each spelling is found once. A row it cannot vouch for (a line end
between quotes, a count like 1e3, missing fields) is split and judged in Python.
"""

from __future__ import annotations

import csv
import io
import re
import reprlib
from collections.abc import Generator, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import islice, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestchannel.arrays import MOST_SENSES
from bestchannel.counts.columns import MOST_INPUTS, SHOWN, are_rows, is_long_header, log_columns, named_columns
from bestchannel.counts.labelled_counts import Combinations, Hints, RowBlock, point
from bestchannel.counts.table import no_count, times_of
from bestchannel.disk import NOT_TEXT, OpenFile
from bestchannel.errors import InputError
from bestchannel.native.scan import LINE, MORE, ODD, Scan

HEAD = 2**20  # the bytes that show which form a file has
BLOCK, ROWS = 2**22, 2**19  # bytes read and rows numbered at a time; no row may be longer than the first
_SPELLING = 32  # bytes that a spelling of labels may take, on average, where there are as many as may be
_NEARBY = 2**9  # bytes within which most rows end
_BOM = b"\xef\xbb\xbf"
_LINE_END = re.compile(rb"\r\n|\r|\n")
_LF = 10
_PAIR_COMMENTS = ("//", "#", "%")
_LEADING = re.compile(r"(?:(?:[ \t]*| *[#%][^\r\n]*)(?:\r\n|\r|\n))+")  # a tab before # divides, as from a blank corner
_NUMBER = re.compile(r"\s*[+-]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?|nan|inf|infinity)\s*", re.ASCII | re.IGNORECASE)
GROUPED = re.compile(r"\s*[+-]?[1-9]\d{0,2}[.,]\d{3}\s*", re.ASCII)  # a number as 1,000 or 1.000, which may be two
_SPACED = re.compile(r'"((?:[^"]|"")*)"(?=\s|$)|(\S+)')
_DIGITS = re.compile(r"\s*[+]?\d{1,400}\s*", re.ASCII)


def without_comments(text: str) -> str:
    """The text with blank lines in place of the comments before its first line; one that names columns is that line."""
    leading = _LEADING.match(text)
    if leading is None:
        return text
    start = leading.end()
    last = re.search(r"[#%]+([^\r\n]*)\s*\Z", leading[0])
    if last is not None and start < len(text):
        delimiter = delimiter_of(text[start:])
        names, first = (next(split_rows(line, delimiter))[0] for line in (last[1].strip() or "#", text[start:]))
        if is_long_header(names) and len(names) == len(first):
            start = last.start(1)
    return re.sub(r"[^\r\n]", "", text[:start]) + text[start:]


def is_comment(row: Sequence[str], width: int) -> bool:
    """Whether a row that should have `width` fields is a comment."""
    return len(row) != width and bool(row) and row[0].lstrip().startswith(("#", "%"))


def delimiter_of(text: str) -> str:
    """The delimiter of the first line that is not blank: a semicolon, a tab, a comma, or spaces.

    A comma beside a semicolon or a tab is a decimal comma or part of a label.
    """
    unquoted = re.sub(r'"[^"]*"', "q", text[:100_000]).lstrip("\r\n ")
    first_line = re.split(r"[\r\n]", unquoted, maxsplit=1)[0].strip(" ")
    return next((sign for sign in ";\t, " if sign in first_line), ",")


def split_rows(text: str, delimiter: str, first: int = 1) -> Iterator[tuple[list[str], int]]:
    """The rows of delimited text, blank ones too, each with the line at which it starts; the text starts at `first`."""
    # newline="" leaves the line ends inside quoted fields as they are
    lines = io.StringIO(text, newline="")
    if delimiter == " ":
        for number, content in enumerate(lines, first):
            yield [plain or quoted.replace('""', '"') for quoted, plain in _SPACED.findall(content)], number
        return
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True, strict=True)
    start = first
    try:
        for row in reader:
            yield row, start
            start = first + reader.line_num
    except csv.Error as error:
        raise InputError(f"line {start} cannot be split into fields ({error})") from None


def as_number(field: str, decimal_comma: bool) -> float | None:
    """The number that the field holds, or None."""
    text = field.replace(",", ".") if decimal_comma else field
    return float(text) if _NUMBER.fullmatch(text) else None


def either(grouped: str) -> str:
    """Both numbers that a text as 1,000 may be."""
    return f"{re.sub('[.,]', '', grouped).strip()} or {re.sub('[.,].*', '', grouped).strip()}"


def read_log(source: OpenFile, hints: Hints, seen: Combinations) -> Iterator[RowBlock] | None:
    """The rows of a text log in their order, or None if the file is a bare matrix."""
    form, line = find_form(source.head(HEAD), source.name, hints, seen)
    if form is None:
        return None
    ends = [0, *(match.end() for match in _LINE_END.finditer(source.head(HEAD)))]
    start = ends[line - 1] if line <= len(ends) else len(source.head(HEAD))
    source.skip(start or len(_BOM) * source.head(HEAD).startswith(_BOM))
    return _StreamedText(source, form, seen, line).blocks()


def shown_text(head: bytes) -> str:
    """What begins a file, without the comments at its top."""
    return without_comments(head.removeprefix(_BOM).decode(errors="replace"))


def find_form(head: bytes, name: str, hints: Hints, seen: Combinations) -> tuple[RowForm | None, int]:
    """How the rows of a text log are read and on which line they start; None for what has no header, a bare matrix."""
    text = shown_text(head)
    if "\0" in text and "\n" not in text:
        raise InputError(NOT_TEXT)
    if hints.form == "matrix":
        return None, 1
    lines = (line.strip() for line in io.StringIO(text, newline=None))
    pair = next((line for line in lines if line and not line.startswith(("//", "#"))), "")
    if hints.columns is None and pair.startswith("(") and 0 < pair.find(",") < pair.rfind(")"):
        return _Pairs(name), 1
    delimiter = delimiter_of(text)
    rows = split_rows(text, delimiter)
    header, first = next(((row, line) for row, line in rows if any(map(str.strip, row))), ([], 0))
    if not header:
        raise InputError("the file is empty, or holds blank lines alone")
    if not isinstance(hints.columns, Mapping | None):
        if is_long_header(header):
            raise InputError(f"the first line names the columns already ({', '.join(header)}); leave columns out")
        return RowForm(list(hints.columns), named_columns(list(hints.columns), None), delimiter, name), first
    if hints.columns is None and hints.form is None:
        below = _rows_below(text, delimiter, 2 * max(MOST_INPUTS, len(header)))
        if not are_rows(header, below, partial(as_number, decimal_comma=delimiter == ";")):
            return None, 1
    shown = cache(partial(_rows_below, text, delimiter, SHOWN))

    def cells(i: int) -> list[str]:
        return [row[i] for row in shown() or () if len(row) == len(header)]

    n_lines = text.count("\n") + text.count("\r") - text.count("\r\n")
    are_all = len(head) < HEAD and n_lines < SHOWN - 1
    found = log_columns(header, hints.columns, seen, cells, are_all=are_all)
    return RowForm(header, found, delimiter, name), next(rows, (header, len(head) + 2))[1]


def _rows_below(text: str, delimiter: str, most: int) -> list[list[str]] | None:
    """The first rows below the header; None where one cannot be split."""
    try:
        rows = (row for row, _ in split_rows(text, delimiter) if any(map(str.strip, row)))
        return list(islice(rows, 1, most))
    except InputError:
        return None


class RowForm:
    """How the rows of a text log are split and understood: fields under a header that names the columns.

    `delimiter` and `quote` are empty where a row is one field. `key` numbers the columns that make the labels, `count`
    and `time` those with counts and times, if there are such; a row has `width` fields.
    """

    quote = '"'

    def __init__(self, header: Sequence[str], found: Mapping[str, int], delimiter: str, name: str) -> None:
        self._header, self._found, self._name = header, found, name
        self.delimiter, self.width = delimiter, len(header)
        self.count, self.time = found.get("count"), found.get("time")
        self.key = sorted(place for role, place in found.items() if role not in ("count", "time"))

    def rows(self, text: str, line: int) -> Iterator[tuple[list[str], int]]:
        """The rows of the text that are not blank, each with its line; the text starts at `line`."""
        for row, number in split_rows(text, self.delimiter, line):
            if any(map(str.strip, row)) and not is_comment(row, self.width):
                if len(row) != self.width:
                    raise InputError(
                        f"line {number} must have {self.width} fields like the header; it has {len(row)},"
                        f" the first being {reprlib.repr(row[0])}"
                    )
                yield row, number

    def unquoted(self, field: str, line: int) -> str:
        """What a field says, as it is spelled in the file."""
        return next(split_rows(field, self.delimiter, line))[0][0] if field.startswith('"') and self.quote else field

    def labels(self, row: Sequence[str], place: str) -> tuple[str, str, str] | None:
        """Channel, x and y of the row, or None for a comment; only the columns of `key` are looked at."""
        if all(row[i].strip() == self._header[i].strip() for i in self.key):
            raise InputError(f"{place} must be a row; it is the header once more (remove it)")
        said = {role: row[i] for role, i in self._found.items()}
        y = point(said["y"], said["y2"]) if "y2" in said else said["y"]
        return said.get("channel", self._name), said["x"], y

    def count_of(self, row: Sequence[str], place: str) -> int:
        """How often the row counts, a whole number from 0 on; 1 where there is no column for it."""
        if self.count is None:
            return 1
        field = row[self.count].strip()
        if GROUPED.fullmatch(field):
            raise InputError(
                f"{place}, count must be written without a sign between its digits; it is {field!r}, which may be"
                f" {either(field)}"
            )
        number = int(field) if _DIGITS.fullmatch(field) else as_number(field, self.delimiter == ";")
        if number is None:
            raise InputError(f"{place}, count must be a number; it is {reprlib.repr(field)}")
        if not (0 <= number <= MOST_SENSES and number % 1 == 0):
            raise InputError(no_count(place, number))
        return int(number)

    def times(self, fields: Sequence[str]) -> NDArray[Any] | None:
        """The times that the fields of the column for them say, if all say one."""
        texts = [self.unquoted(field.strip(), 1).strip().replace(",", ".") for field in fields]
        return times_of(np.array(texts)) if texts else None


class _Pairs(RowForm):
    """One trial per line, `(input, output)`, as leakiEst's observation files have it [CKN13]; // and # begin comments.

    The comma that divides is the first outside inner brackets, so `((1, 2), a)` has the input `(1, 2)`.
    """

    quote = ""

    def __init__(self, name: str) -> None:
        super().__init__(["(x, y)"], {"pair": 0}, "", name)

    def rows(self, text: str, line: int) -> Iterator[tuple[list[str], int]]:
        lines = enumerate(io.StringIO(text, newline=""), line)
        return (([content.rstrip("\r\n")], number) for number, content in lines if content.strip())

    def labels(self, row: Sequence[str], place: str) -> tuple[str, str, str] | None:
        text = row[0].strip()
        if text.startswith(_PAIR_COMMENTS):
            return None
        depth = 0
        for i, sign in enumerate(text):
            depth += (sign in "([{") - (sign in ")]}")
            if sign == "," and depth == 1 and text.startswith("(") and text.endswith(")"):
                return self._name, text[1:i], text[i + 1 : -1]
        raise InputError(f"{place} must be a trial (input, output); it is {reprlib.repr(text)}")


class _StreamedText:
    """A log in a file, read from its current place on: `form` says how, `seen` learns what there is."""

    def __init__(self, source: OpenFile, form: RowForm, seen: Combinations, line: int) -> None:
        self._source, self._form, self._seen = source, form, seen
        self._scan = Scan(form, line, ROWS)
        self._meaning = np.zeros(0, np.int32)
        self._timed = form.time is not None  # until a time is none

    def blocks(self) -> Iterator[RowBlock]:
        """The rows in their order."""
        buffer, kept = np.empty(BLOCK, np.uint8), 0
        while True:
            n = self._source.fill(buffer[kept:].data)
            text = buffer[: kept + n]
            if not text[kept:].all():
                raise InputError(f"the text must have no NUL; there is one after line {self._scan.state[LINE]}")
            used = yield from self._block(text, final=n == 0)
            if n == 0:
                return
            kept = len(text) - used
            if kept == BLOCK:
                raise InputError(
                    f"line {self._scan.state[LINE]} must be shorter than {BLOCK:,} bytes; is a quote left open?"
                )
            buffer[:kept] = text[used:].copy()

    def _block(self, text: NDArray[np.uint8], *, final: bool) -> Generator[RowBlock, None, int]:
        """The rows that are whole; the bytes that they take."""
        start = 0
        while True:
            codes, counts, stop, why = self._scan(text, start, final)
            self._learn()
            if len(codes):
                yield self._rows(codes, counts, text[start:stop])
            start = stop
            if why == ODD:
                end = _end_of_row(text, start, final, self._form.delimiter)
                if end is None:
                    return start
                yield from self._odd(text[start:end].tobytes())
                start = end
            elif why == MORE:
                return start

    def _rows(self, codes: NDArray[np.int32], counts: NDArray[np.int64], text: NDArray[np.uint8]) -> RowBlock:
        numbers, times = self._meaning[codes], self._times(text, len(codes))
        rows = numbers >= 0  # the others are comments
        if not rows.all():
            numbers, counts = numbers[rows], counts[rows]
        return RowBlock(numbers, None if self._form.count is None else counts.copy(), times)

    def _times(self, text: NDArray[np.uint8], size: int) -> NDArray[Any] | None:
        """The times of the rows in the text; None where they have none, or are no times."""
        if not self._timed:
            return None
        fields = np.loadtxt(
            io.BytesIO(text.tobytes().replace(b"\r", b"\n")),  # no line end is between quotes here
            np.dtype("U40"),
            comments=None,
            delimiter=None if self._form.delimiter == " " else self._form.delimiter,
            usecols=self._form.time,
            ndmin=1,
            encoding="latin-1",  # other columns may be in any, and signs and digits are the same in all
            quotechar='"',
        )
        return self._known(fields.tolist() if len(fields) == size else [])

    def _known(self, fields: list[str]) -> NDArray[Any] | None:
        """The times that the fields say; None once some said none."""
        times = self._form.times(fields)
        self._timed = times is not None
        return times

    def _learn(self) -> None:
        """Find the combinations of the keys that are new."""
        (n_keys, n_bytes, at), most = self._scan.state.tolist(), self._seen.most_spelled
        if n_keys > most or n_bytes > _SPELLING * most:
            raise InputError(
                f"line {at} comes after {n_keys:,} spellings of labels, which take {n_bytes:,} bytes; are"
                " these columns labels?"
            )
        new = []
        for code in range(len(self._meaning), n_keys):
            spelled, line = self._scan.key(code)
            row = [""] * self._form.width
            for column, field in zip(self._form.key, spelled, strict=True):
                row[column] = self._form.unquoted(_decoded(field, line), line)
            new.append(self._number(row, line))
        if new:
            self._meaning = np.append(self._meaning, np.array(new, np.int32))

    def _number(self, row: list[str], line: int) -> int:
        labels = self._form.labels(row, f"line {line}")
        return -1 if labels is None else self._seen.number(*labels, f"line {line}")

    def _odd(self, text: bytes) -> Iterator[RowBlock]:
        """The row of the text, if it is not blank."""
        line = int(self._scan.state[LINE])
        for row, number in self._form.rows(_decoded(text, line), line):
            found, count = self._number(row, number), self._form.count_of(row, f"line {number}")
            if found >= 0:
                times = self._known([row[self._form.time]]) if self._timed and self._form.time is not None else None
                yield RowBlock(np.array([found]), None if self._form.count is None else np.array([count]), times)
        self._scan.state[LINE] += len(_LINE_END.findall(text))


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
    n_lines: int | None = 1  # where spaces divide, no line end is between quotes
    if delimiter not in ("", " "):
        # quotes and delimiters are ASCII, so that another encoding finds them too
        lines = (text[a:b].tobytes().decode("latin-1") for a, b in pairwise([start, *ends]))
        reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True, strict=True)
        try:
            next(reader)
            n_lines = reader.line_num
        except csv.Error:
            # either the text ended, or the row cannot be split, which is said with its line when it is read
            n_lines = None if reader.line_num == len(ends) else reader.line_num
    if n_lines is None:
        return len(text) if final else None
    end = ends[n_lines - 1]
    # a carriage return at the end of the text may be the first half of a line end
    return end if final or end < len(text) or text[-1] == _LF else None
