"""Which modules of the package a call goes through, in the order of the first visit."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import FrameType

PACKAGE, KERNELS = "bestchannel.", "bestchannel.native"


def modules_visited(call: Callable[[], object]) -> list[str]:
    """The modules whose functions the call runs, without the package's name, in the order of their first visit.

    The call is made twice, and the second is followed: the first imports what is imported at first use, which no data
    goes through. A module counts when Python runs a function of it, also a lambda, a comprehension or what a dataclass
    generates; what other threads run does not count, nor does `native`, the calls of kernels. Garbage is collected before: what is closed then, as the generators of policies, runs too.
    """
    call()
    gc.collect()
    visited: dict[str, None] = {}

    def note(frame: FrameType, event: str, argument: object) -> None:
        name = frame.f_globals.get("__name__", "")
        if (
            event == "call"
            and name.startswith(PACKAGE)
            and not name.startswith(KERNELS)
            and frame.f_code.co_name != "<module>"
        ):
            visited[name.removeprefix(PACKAGE)] = None

    before = sys.getprofile()
    gc.disable()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
        gc.enable()
    return list(visited)
