"""`bestchannel warm-up`: compile every kernel now, on all cores, so that no other command has to."""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import NamedTuple

from bestchannel import compiled
from bestchannel.cli import options, terminal
from bestchannel.errors import BestChannelError

NOT_KEPT = (
    "the compiled kernels cannot be kept, because neither the package's folder nor the user's cache folder can be"
    " written; set NUMBA_CACHE_DIR to one that can"
)


class Loaded(NamedTuple):
    """A module of kernels, how long it took to be compiled or read, and whether it is on disk now."""

    name: str
    seconds: float
    kept: bool


@terminal.verb
def warm_up(json: options.Json = False) -> None:
    """Compile all kernels for this machine, on all cores, and keep them on disk.

    Without it, every command compiles what it needs the first time that it needs it. Calling it again
    takes a second or two: what is compiled stays so until the package changes.
    """
    started = time.monotonic()
    with terminal.progress("kernels", after=0.0) as progress:
        found = []
        for loaded in _loaded_on_all_cores():
            found.append(loaded)
            progress(len(found), len(compiled.REGISTRY))
    if not all(loaded.kept for loaded in found):
        raise BestChannelError(NOT_KEPT)
    seconds = time.monotonic() - started
    if json:
        kernels = [{"name": loaded.name, "seconds": round(loaded.seconds, 3)} for loaded in sorted(found)]
        terminal.print_json({"kernels": kernels, "seconds": round(seconds, 3)})
    else:
        terminal.say(f"{len(found)} modules of kernels are ready after {seconds:.1f} s")


def _loaded_on_all_cores() -> Iterator[Loaded]:
    """Every module of kernels, in processes of their own, those that take longest first."""
    names = sorted(compiled.REGISTRY, key=lambda name: -compiled.REGISTRY[name].seconds)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(compiled.usable_cores(), mp_context=context, initializer=_begin) as pool:
        try:
            for future in as_completed([pool.submit(_load, name) for name in names]):
                yield future.result()
        except BrokenProcessPool:
            raise BestChannelError(
                "a process that compiles ended on its own (killed, or out of memory); the same command continues"
            ) from None


def _begin() -> None:
    """Prepare a process: it is silent, also when it is interrupted with its parent."""
    compiled.leave_announcing_to_the_parent()
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _load(name: str) -> Loaded:
    started = time.monotonic()
    compiled.REGISTRY[name].load()
    return Loaded(name, time.monotonic() - started, compiled.can_keep())
