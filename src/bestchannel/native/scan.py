"""Rows of delimited text to numbers: the kernel of `counts.text_log`, with the keys that it has met."""

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

_scan = Kernel(
    "scan",
    "text[t]u1 start t final delimiter quote w roles[w]u1 >begins[w]i8 >ends[w]i8 s slots[s]i4 hashes[h]u8 starts[k]i8"
    " p pool[p]u1 lines[h]i8 state[3]i8 r codes[r]i4 counts[r]i8 >place[2]i8",
    ctypes.c_int64,
)
_fill_slots = Kernel("fill_slots", "s slots[s]i4 hashes[h]u8 count")


class Keys:
    """Keys and the bytes that they have; key number `code` is pool[starts[code] : starts[code + 1]]."""

    def __init__(self) -> None:
        self.slots = np.full(2**12, -1, np.int32)
        self.hashes = np.zeros(2**11, np.uint64)
        self.starts = np.zeros(2**11 + 1, np.int64)
        self.pool = np.zeros(2**16, np.uint8)
        self.lines = np.zeros(2**11, np.int64)
        self.state = np.array([0, 0, 1], np.int64)  # the number of keys, the bytes used, the line of the next row

    def grow(self) -> None:
        """Twice the room."""
        n = 2 * len(self.slots)
        self.slots = np.full(n, -1, np.int32)
        self.hashes, self.lines = _longer(self.hashes), _longer(self.lines)
        self.starts = np.append(self.starts, np.zeros(n // 4, np.int64))
        self.pool = _longer(self.pool)
        _fill_slots(self.slots, self.hashes, int(self.state[0]), h=n // 2)


def scan(
    text: NDArray[np.uint8], start: int, final: bool, delimiter: int, quote: int, roles: NDArray[np.uint8], keys: Keys,
    codes: NDArray[np.int32], counts: NDArray[np.int64],
) -> tuple[int, int, int]:  # fmt: skip
    """Number the rows from `start` on by their keys: why it ended, where, and how many rows were numbered.

    Row i has the key codes[i] and the count counts[i]. An empty line is passed over. The text has no NUL; `final` says
    that it ends where the file does.
    """
    if not 0 <= start <= len(text):
        raise ValueError(f"a scan must begin within the text of {len(text)} bytes; it begins at {start}")
    memory = keys.slots, keys.hashes, keys.starts, keys.pool, keys.lines, keys.state
    n = len(keys.slots) // 2
    why, _, _, place = _scan(text, start, final, delimiter, quote, roles, *memory, codes, counts, h=n, k=n + 1)
    return int(why), int(place[0]), int(place[1])


def _longer(array: NDArray[Any]) -> NDArray[Any]:
    """The array with as many zeros after it."""
    return np.concatenate([array, np.zeros_like(array)])
