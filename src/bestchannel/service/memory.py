"""Memory that runs leave behind when they end, so that a service that is up for months stays as small as its runs."""

from __future__ import annotations

import ctypes
import gc
from contextlib import suppress

M_ARENA_MAX = -8
"""Of glibc's malloc.h."""


def keep_together() -> None:
    """Let all threads take memory from one place, where the C library is glibc and would give each its own.

    A run has a thread, and what it frees at its end could be used by none of the others: memory would grow with every
    run.
    """
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)


def search_less() -> None:
    """Search for garbage less often, and not in what is there before the first call: a search takes longer than one."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 10, 20)


def give_back() -> None:
    """Find what nobody uses any more, and give it back to the system."""
    gc.collect()  # a run and its policy refer to each other
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
