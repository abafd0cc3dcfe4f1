"""What a process may use and says: its cores, and the logger for what nobody asked for."""

import logging
import os

logger = logging.getLogger("bestchannel")


def usable_cores() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
