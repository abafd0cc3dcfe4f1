"""Rows of delimited text to numbers: the kernel of `counts.text_log`, with the keys that it has met."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestchannel.native.library import INTEGER, POINTER, function, integers, octets

MORE, ODD, FULL, PAUSED = range(4)
"""Why a scan ended: it requires more text, the next row is for the caller to judge, no room for a key, or for a row."""

SKIPPED, KEY, COUNT = range(3)
"""What a column is for."""

_scan = function(
    "scan", POINTER, *[INTEGER] * 6, *[POINTER] * 3, INTEGER, *[POINTER] * 3, INTEGER, *[POINTER] * 3, INTEGER,
    *[POINTER] * 3, returns=INTEGER,
)  # fmt: skip
_fill_slots = function("fill_slots", INTEGER, *[POINTER] * 2, INTEGER)


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
        _fill_slots(n, *self._slots_and_hashes(), int(self.state[0]))

    def _slots_and_hashes(self) -> tuple[int, int]:
        n = len(self.slots)
        return octets(self.slots.view(np.uint8), 4 * n), integers(self.hashes.view(np.int64), n // 2)


def scan(
    text: NDArray[np.uint8], start: int, final: bool, delimiter: int, quote: int, roles: NDArray[np.uint8], keys: Keys,
    codes: NDArray[np.int32], counts: NDArray[np.int64],
) -> tuple[int, int, int]:  # fmt: skip
    """Number the rows from `start` on by their keys: why it ended, where, and how many rows were numbered.

    Row i has the key codes[i] and the count counts[i]. An empty line is passed over. The text has no NUL; `final` says
    that it ends where the file does.
    """
    width, n, rows, place = len(roles), len(keys.slots), len(codes), np.empty(2, np.int64)
    cells = np.empty((2, width), np.int64)
    if not 0 <= start <= len(text):
        raise ValueError(f"a scan must begin within the text of {len(text)} bytes; it begins at {start}")
    why = _scan(
        octets(text, len(text)), start, len(text), final, delimiter, quote, width, octets(roles, width),
        integers(cells[0], width), integers(cells[1], width), n, *keys._slots_and_hashes(),
        integers(keys.starts, n // 2 + 1), len(keys.pool), octets(keys.pool, len(keys.pool)),
        integers(keys.lines, n // 2), integers(keys.state, 3), rows, octets(codes.view(np.uint8), 4 * rows),
        integers(counts, rows), integers(place, 2),
    )  # fmt: skip
    return int(why), int(place[0]), int(place[1])


def _longer(array: NDArray[Any]) -> NDArray[Any]:
    """The array with as many zeros after it."""
    return np.concatenate([array, np.zeros_like(array)])
