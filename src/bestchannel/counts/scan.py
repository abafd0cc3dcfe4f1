"""The compiled scan of text rows with its memory: which keys it has met, and where first."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bestchannel.compiled import Kernels
from bestchannel.counts.row_forms import RowForm

ROWS = 2**19
"""Rows numbered at a time."""


kernels = Kernels("bestchannel.counts.scan_kernels", seconds=3)


class Memory:
    """Keys and the bytes that they have; key number `code` is pool[starts[code] : starts[code + 1]].

    `state` holds the number of keys, the used bytes of the pool and the line of the next row.
    """

    def __init__(self) -> None:
        self.slots = np.full(2**12, -1, np.int32)
        self.hashes = np.zeros(2**11, np.uint64)
        self.starts = np.zeros(2**11 + 1, np.int64)
        self.pool = np.zeros(2**16, np.uint8)
        self.lines = np.zeros(2**11, np.int64)
        self.state = np.array([0, 0, 1])

    def arrays(self) -> tuple[NDArray[Any], ...]:
        """What the kernel reads and fills, in its order."""
        return self.slots, self.hashes, self.starts, self.pool, self.lines, self.state

    def grow(self, fill: Any) -> None:
        """Twice the room."""
        self.slots = np.full(2 * len(self.slots), -1, np.int32)
        self.hashes, self.lines = _longer(self.hashes), _longer(self.lines)
        self.starts = np.append(self.starts, np.zeros(len(self.hashes) // 2, np.int64))
        self.pool = _longer(self.pool)
        fill(self.slots, self.hashes, self.state[0])


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
        self._kernels = kernels()
        self._memory = Memory()
        roles = np.full(form.width, self._kernels.SKIPPED, np.int8)
        roles[list(form.key)] = self._kernels.KEY
        if form.count is not None:
            roles[form.count] = self._kernels.COUNT
        self._form = (*(ord(sign) if sign else 0 for sign in (form.delimiter, form.quote)), roles)
        self._rows = np.empty(ROWS, np.int32), np.empty(ROWS, np.int64)

    @property
    def line(self) -> int:
        """The line at which the next row starts."""
        return int(self._memory.state[self._kernels.LINE])

    def pass_lines(self, number: int) -> None:
        """Count lines that somebody else has read."""
        self._memory.state[self._kernels.LINE] += number

    @property
    def n_keys(self) -> int:
        """How many different keys there are."""
        return int(self._memory.state[self._kernels.N_KEYS])

    @property
    def letters(self) -> int:
        """The bytes that the keys take."""
        return int(self._memory.state[self._kernels.POOL_USED])

    def key(self, code: int) -> tuple[list[bytes], int]:
        """The cells of a key as they are spelled, and the line at which it came first."""
        start, stop = self._memory.starts[code : code + 2]
        return self._memory.pool[start : stop - 1].tobytes().split(b"\0"), int(self._memory.lines[code])

    def __call__(self, text: NDArray[np.uint8], start: int, final: bool) -> Scanned:
        """Number rows from `start` on; `final` says that the text ends where the file does."""
        codes, counts = self._rows
        status, stop, n = self._kernels.scan(
            text, start, len(text), final, *self._form, *self._memory.arrays(), codes, counts
        )
        if status == self._kernels.FULL:
            self._memory.grow(self._kernels.fill_slots)
        odd, more = status == self._kernels.ODD, status == self._kernels.MORE
        return Scanned(codes[:n], counts[:n], int(stop), odd, more)


def _longer(array: NDArray[Any]) -> NDArray[Any]:
    """The array with as many zeros after it."""
    return np.concatenate([array, np.zeros_like(array)])
