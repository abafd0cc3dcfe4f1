"""What a process is and says: its version, its cores, the logger for what nobody asked for, and how far it has come."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable

VERSION = "0.2.0"
"""Of the library, as records say; whether they hold depends on the revision of their policy."""

logger = logging.getLogger("bestchannel")

Progress = Callable[[int, int], None]
"""Told how much of how much is done: rows, runs, channels or bytes. The library prints nothing itself."""


def usable_cores() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def part_of(progress: Progress | None, before: int, total: int) -> Progress:
    """The progress of a part of some work: `before` is what other parts have done of its `total`.

    A part that begins again, as a search in rounds does, stays where it was until it is further.
    """
    furthest = before

    def show(done: int, _total: int) -> None:
        nonlocal furthest
        furthest = max(furthest, before + done)
        if progress:
            progress(furthest, total)

    return show
