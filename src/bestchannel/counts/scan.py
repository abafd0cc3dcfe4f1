"""The scan of text rows with its memory: which keys it has met, and where first."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bestchannel.counts.row_forms import RowForm
from bestchannel.native.scan import COUNT, FULL, KEY, MORE, ODD, SKIPPED, Keys, scan

ROWS = 2**19
"""Rows numbered at a time."""


class Scanned(NamedTuple):
    """The numbers and counts of some rows, until the next scan, and where the rest of the text starts.

    `odd` says that its first row is for the caller to judge, `needs_more` that it has no whole row.
    """

    codes: NDArray[np.int32]
    counts: NDArray[np.int64]
    stop: int
    odd: bool
    needs_more: bool


class Scan:
    """Numbers the rows of text by the bytes of their labels: equal bytes, equal number."""

    def __init__(self, form: RowForm) -> None:
        self._keys = Keys()
        self._roles = np.full(form.width, SKIPPED, np.uint8)
        self._roles[list(form.key)] = KEY
        if form.count is not None:
            self._roles[form.count] = COUNT
        self._signs = tuple(ord(sign) if sign else 0 for sign in (form.delimiter, form.quote))
        self._rows = np.empty(ROWS, np.int32), np.empty(ROWS, np.int64)

    @property
    def line(self) -> int:
        """The line at which the next row starts."""
        return int(self._keys.state[2])

    def pass_lines(self, number: int) -> None:
        """Count lines that somebody else has read."""
        self._keys.state[2] += number

    @property
    def n_keys(self) -> int:
        """How many different keys there are."""
        return int(self._keys.state[0])

    @property
    def letters(self) -> int:
        """The bytes that the keys take."""
        return int(self._keys.state[1])

    def key(self, code: int) -> tuple[list[bytes], int]:
        """The cells of a key as they are spelled, and the line at which it came first."""
        start, stop = self._keys.starts[code : code + 2]
        return self._keys.pool[start : stop - 1].tobytes().split(b"\0"), int(self._keys.lines[code])

    def __call__(self, text: NDArray[np.uint8], start: int, final: bool) -> Scanned:
        """Number rows from `start` on; `final` says that the text ends where the file does."""
        codes, counts = self._rows
        delimiter, quote = self._signs
        why, stop, n = scan(text, start, final, delimiter, quote, self._roles, self._keys, codes, counts)
        if why == FULL:
            self._keys.grow()
        return Scanned(codes[:n], counts[:n], stop, why == ODD, why == MORE)
