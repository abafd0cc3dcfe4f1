"""Rows of delimited text to numbers, by the bytes of their labels: the kernel of `counts.text_log`, and its memory."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestchannel.native.library import Kernel

MORE, ODD, FULL, PAUSED = range(4)
"""Why a scan ended: it requires more text, the next row is for the caller to judge, no room for a key, or for a row."""

SKIPPED, KEY, COUNT = range(3)
"""What a column is for."""

LINE = 2  # where `state` has the line at which the next row starts

_scan = Kernel(
    "scan",
    "text[t]u1 start t final delimiter quote w roles[w]u1 >begins[w]i8 >ends[w]i8 s slots[s]i4 hashes[h]u8 starts[k]i8"
    " p pool[p]u1 lines[h]i8 state[3]i8 r codes[r]i4 counts[r]i8 >place[2]i8",
    ctypes.c_int64,
)
_fill_slots = Kernel("fill_slots", "s slots[s]i4 hashes[h]u8 count")


class Scan:
    """Numbers rows: equal bytes of the cells of `form.key`, equal number; up to `rows` of them at a time.

    Key number `code` is pool[starts[code] : starts[code + 1]], and came first on lines[code]. `state` has the number of
    keys, the bytes that they take, and the line.
    """

    def __init__(self, form: Any, line: int = 1, rows: int = 2**19) -> None:
        self._roles = np.full(form.width, SKIPPED, np.uint8)
        self._roles[list(form.key)] = KEY
        if form.count is not None:
            self._roles[form.count] = COUNT
        self._signs = [ord(sign) if sign else 0 for sign in (form.delimiter, form.quote)]
        self._rows = np.empty(rows, np.int32), np.empty(rows, np.int64)
        self._slots, self._hashes = np.full(2**12, -1, np.int32), np.zeros(2**11, np.uint64)
        self._starts, self._lines = np.zeros(2**11 + 1, np.int64), np.zeros(2**11, np.int64)
        self._pool, self.state = np.zeros(2**16, np.uint8), np.array([0, 0, line], np.int64)

    def key(self, code: int) -> tuple[list[bytes], int]:
        """The cells of a key as they are spelled, and the line at which it came first."""
        start, stop = self._starts[code : code + 2]
        return self._pool[start : stop - 1].tobytes().split(b"\0"), int(self._lines[code])

    def __call__(
        self, text: NDArray[np.uint8], start: int, final: bool
    ) -> tuple[NDArray[np.int32], NDArray[np.int64], int, int]:
        """The numbers and counts of some rows from `start` on, until the next scan; where the rest starts, and why.

        An empty line is passed over. The text has no NUL; `final` says that it ends where the file does.
        """
        if not 0 <= start <= len(text):
            raise ValueError(f"a scan must begin within the text of {len(text)} bytes; it begins at {start}")
        memory = self._slots, self._hashes, self._starts, self._pool, self._lines, self.state
        h = len(self._hashes)
        why, *_, place = _scan(text, start, final, *self._signs, self._roles, *memory, *self._rows, h=h, k=h + 1)
        if why == FULL:
            self._slots = np.full(2 * len(self._slots), -1, np.int32)
            self._hashes = np.append(self._hashes, np.zeros_like(self._hashes))
            self._lines = np.append(self._lines, np.zeros_like(self._lines))
            self._pool = np.append(self._pool, np.zeros_like(self._pool))
            self._starts = np.append(self._starts, np.zeros(h, np.int64))
            _fill_slots(self._slots, self._hashes, int(self.state[0]), h=2 * h)
        codes, counts = self._rows
        return codes[: place[1]], counts[: place[1]], int(place[0]), int(why)
