"""The compiled kernels, loaded at first use: the one place that pays for numba, and says so."""

from __future__ import annotations

import contextlib
import functools
import logging
import threading
from collections.abc import Iterator
from types import ModuleType

logger = logging.getLogger("bestchannel")

OK, STALLED, BAD_ENTRY, BAD_SUM = 0, 1, 2, 3
"""What became of a channel in a lane: solved, not converged, refused for an entry, refused for a row sum."""

PATIENCE = 4.0
"""Seconds of loading after which the pause is announced; the cached kernels load faster than that."""


@functools.cache
def lanes() -> ModuleType:
    """The module `bestchannel.capacity.lanes`, compiled on first use and cached on disk."""
    with announced():
        from bestchannel.capacity import lanes as module
    return module


@functools.cache
def single() -> ModuleType:
    """The module `bestchannel.capacity.single`, compiled on first use and cached on disk."""
    with announced():
        from bestchannel.capacity import single as module
    return module


@contextlib.contextmanager
def announced(seconds: int = 15) -> Iterator[None]:
    """Say so where loading inside takes so long that somebody would wonder; `seconds` is about how long."""
    message = f"compiling kernels for this machine; this happens once, about {seconds} s"
    notice = threading.Timer(PATIENCE, logger.warning, [message])
    notice.daemon = True
    notice.start()
    try:
        yield
    finally:
        notice.cancel()
