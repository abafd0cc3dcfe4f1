"""The compiled kernels, loaded at first use: the one place that pays for numba, and says so."""

from __future__ import annotations

import functools
import logging
import threading
from types import ModuleType

logger = logging.getLogger("bestchannel")

PATIENCE = 1.5
"""Seconds of loading after which the pause is announced; the cached kernels load faster than that."""


@functools.cache
def lanes() -> ModuleType:
    """The module `bestchannel.capacity.lanes`, compiled on first use and cached on disk."""
    notice = threading.Timer(
        PATIENCE, logger.warning, ["compiling the capacity kernels for this machine; this happens once, about 15 s"]
    )
    notice.daemon = True
    notice.start()
    try:
        from bestchannel.capacity import lanes as module
    finally:
        notice.cancel()
    return module
