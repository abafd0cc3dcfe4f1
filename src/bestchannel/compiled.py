"""One toolchain for all kernels: how they are compiled, kept on disk, announced, and loaded at first use.

A module of kernels decorates its functions with `entry`, `jit`, `inner`, `inlined` or `regrouping`, and whoever calls
them holds it as `Kernels("package.module", seconds)`. numba is imported with the first kernel and not before; no
other module imports it.

No kernel assigns an array to a slice, `a[:] = b`: numba would compile the making of an error message, for seconds.

Machine code contains the functions and the constants that it takes from other modules, and numba looks at the
defining file alone to see whether its cache is stale. Here every kernel is stamped with all that it is made of.
"""

from __future__ import annotations

import functools
import importlib
import logging
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from types import ModuleType
from typing import Any

logger = logging.getLogger("bestchannel")

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}

PATIENCE_S = 1.0
"""How long work that does not need kernels, since Python can do it as well, goes on without them."""

_in_python: dict[str, float] = {}

REGISTRY: dict[str, Kernels] = {}
"""Every module of kernels that somebody may call for, by name: `for kernels in REGISTRY.values(): kernels()`."""


@dataclass(frozen=True)
class Kernels:
    """A module of kernels, imported when it is first called for, and then compiled or read from the cache.

    numba compiles for the types that it meets, so the module's `warm_up`, where it has one, calls every entry
    once. `seconds` is about how long all of it takes to compile.
    """

    module: str
    seconds: int

    def __post_init__(self) -> None:
        REGISTRY[self.module] = self

    def __call__(self) -> ModuleType:
        """The module, ready to be used."""
        return _loaded(self.module)

    @property
    def ready(self) -> bool:
        """Whether they have been loaded."""
        return self.module in _announcement.loaded

    def worth_loading(self, seconds: float) -> bool:
        """Whether to load the kernels for work that Python does in so many seconds: once it has spent `PATIENCE_S`."""
        _in_python[self.module] = _in_python.get(self.module, 0.0) + seconds
        return self.ready or _in_python[self.module] > PATIENCE_S


def load_room(room: str) -> None:
    """Load all kernels of a room, such as "bestchannel.evidence"."""
    for name, kernels in REGISTRY.items():
        if name.startswith(room):
            kernels()


@functools.cache
def _loaded(name: str) -> ModuleType:
    _announcement.loading = name
    module = importlib.import_module(name)
    if hasattr(module, "warm_up"):
        module.warm_up()
    _announcement.loaded.add(name)
    return module


class _Announcement:
    """One line on the logger, once per process, when something is compiled: why one waits, and about how long."""

    def __init__(self) -> None:
        self.loading = ""
        self.loaded: set[str] = set()
        self.made = False
        self.kept = True

    def __call__(self, kept: bool) -> None:
        self.kept = self.kept and kept
        if self.made:
            return
        self.made = True
        left = {kernels.module: kernels.seconds for kernels in REGISTRY.values() if kernels.module not in self.loaded}
        least, most = left.get(self.loading, 1), max(sum(left.values()), 2)
        often = "once" if kept else "at every start, as no folder for them can be written (NUMBA_CACHE_DIR names one)"
        logger.warning(f"compiling kernels for this machine, {often}: {least} to {most} s of processor time")


_announcement = _Announcement()


def leave_announcing_to_the_parent() -> None:
    """In a process of a pool: compile without a word."""
    _announcement.made = True


def can_keep() -> bool:
    """Whether there was a folder for all that this process has compiled."""
    return _announcement.kept


def entry(signature: str) -> Callable[[Callable[..., Any]], Any]:
    """A function that Python calls, compiled for this signature when its module is imported."""
    return lambda function: _compiled(function, signature)


def jit(function: Callable[..., Any]) -> Any:
    """A function that Python or compiled ones call, compiled for the types that it meets."""
    return _compiled(function)


def inner(function: Callable[..., Any]) -> Any:
    """A function that only compiled ones call, and that is quicker to compile for that: see `kernel_linking`."""
    numba: Any = importlib.import_module("numba")
    if numba.config.DISABLE_JIT:
        return function
    from bestchannel.kernel_linking import LinkedCompiler

    return numba.njit(**OPTIONS, pipeline_class=LinkedCompiler, no_cpython_wrapper=True, no_cfunc_wrapper=True)(
        function
    )


def inlined(function: Callable[..., Any]) -> Any:
    """A function that becomes part of those that call it."""
    return _compiled(function, inline="always")


def regrouping(function: Callable[..., Any]) -> Any:
    """A function whose sums may be taken in another order, so that they vectorise."""
    return _compiled(function, fastmath={"reassoc", "contract"})


def _compiled(function: Callable[..., Any], signature: str | None = None, **options: Any) -> Any:
    numba: Any = importlib.import_module("numba")
    if numba.config.DISABLE_JIT:
        return function if options else _interpreted(function)
    from bestchannel.kernel_cache import KernelCache

    dispatcher = numba.njit(**OPTIONS, **options)(function)
    dispatcher._cache = KernelCache(function, stamp(function.__module__), _announcement)
    if signature:
        dispatcher.compile(signature)
        dispatcher.disable_compile()
    return dispatcher


def _interpreted(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function in Python, with the arithmetic that compiled code has: 1/0 is infinite, and nobody is warned."""
    import numpy as np

    return np.errstate(all="ignore")(function)


@functools.cache
def stamp(module: str) -> str:
    """SHA-256 of all that the kernels of a module are made of."""
    return sha256(
        "\0".join(f"{name}\0{source}" for name, source in sorted(sources(module).items())).encode()
    ).hexdigest()


def sources(module: str) -> dict[str, str]:
    """The source of a module and of every module of its package that it imports, directly or not, by name."""
    found: dict[str, str] = {}
    waiting = [module]
    imports = re.compile(rf"^\s*(?:from|import)\s+({module.split('.')[0]}\b[\w.]*)", re.MULTILINE)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = _source(name)
            waiting += imports.findall(found[name])
    return found


@functools.cache
def _source(module: str) -> str:
    loader: Any = getattr(find_spec(module), "loader", None)
    return (hasattr(loader, "get_source") and loader.get_source(module)) or ""


def usable_cores() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
