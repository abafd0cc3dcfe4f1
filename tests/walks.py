"""Which modules of the package a call goes through, in the order of the first visit."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import FrameType

from bestchannel import compiled

PACKAGE = "bestchannel."


def modules_visited(call: Callable[[], object]) -> list[str]:
    """The modules whose functions the call runs, without the package's name, in the order of their first visit.

    The call is made twice, and the second is followed: the first imports what is imported at first use and
    compiles kernels, neither of which data goes through. Kernels are those of a process that has computed for some
    seconds, by when they are compiled. A module counts when Python runs a function of it, also a lambda,
    a comprehension or what a dataclass generates; compiled kernels run below Python and do not count, nor does
    what other threads run. Garbage is collected before: what is closed then, as the generators of policies, runs too.
    """
    compiled.load_room("bestchannel")
    call()
    gc.collect()
    visited: dict[str, None] = {}

    def note(frame: FrameType, event: str, argument: object) -> None:
        name = frame.f_globals.get("__name__", "")
        if event == "call" and name.startswith(PACKAGE) and frame.f_code.co_name != "<module>":
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
