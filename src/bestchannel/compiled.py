"""One toolchain for all kernels: how they are compiled, kept on disk, announced, and loaded at first use.

A module of kernels decorates its functions with `entry`, `jit`, `inner`, `inlined` or `regrouping`, which only say how
they are to be compiled, and whoever calls them holds it as `Kernels("package.module", seconds)`. What is compiled is a
copy of the module (`kernel_copies`); the module itself stays Python, and small work is done in it (`uncompiled`).
numba is imported with the first kernel that is compiled and not before; no other module imports it.

No kernel assigns an array to a slice, `a[:] = b`: numba would compile the making of an error message, for seconds.

Machine code contains the functions and the constants that it takes from other modules, and numba looks at the
defining file alone to see whether its cache is stale. Here every kernel is stamped with all that it is made of.
"""

from __future__ import annotations

import functools
import gc
import importlib
import logging
import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.util import find_spec
from types import FunctionType, ModuleType
from typing import Any

from bestchannel.kernel_copies import KERNELS, Copies

logger = logging.getLogger("bestchannel")

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}

READING_S = 0.3
"""About how long it takes to read a module of kernels from disk."""

CALLS_IN_A_SECOND = 1_000_000
"""About how many logarithms and exponentials kernels take in a second of Python."""

_seconds_in_python: dict[str, float] = {}

REGISTRY: dict[str, Kernels] = {}
"""Every module of kernels that somebody may call for, by name: `for kernels in REGISTRY.values(): kernels()`."""


@dataclass(frozen=True)
class Kernels:
    """A module of kernels, imported when it is first called for, and then compiled or read from the cache.

    numba compiles for the types that it meets, so the module's `warm_up`, where it has one, calls every entry
    once. `seconds` is about how long all of it takes to compile. A module that has the same digits in Python
    (`same_in_python`) is first run there, where nothing is in the cache and the source is at hand, for about half as
    long.
    """

    module: str
    seconds: int
    same_in_python: bool = False

    def __post_init__(self) -> None:
        REGISTRY[self.module] = self

    def __call__(self) -> Any:
        """The functions of the module, compiled or not."""
        if self.same_in_python and not self.ready and _source(self.module) and not _kept(self.module):
            return _in_python(self.module)
        return self.load()

    def load(self) -> ModuleType:
        """The compiled functions of the module."""
        return _modules[self.module] if self.ready else _loaded(self.module)

    @property
    def ready(self) -> bool:
        """Whether they have been loaded."""
        return self.module in _modules

    def worth_loading(self, seconds: float) -> bool:
        """Whether to load the kernels for work that Python does in so many seconds.

        Yes once Python has spent the time to read them, or half of that to compile them where nothing is on disk.
        """
        _seconds_in_python[self.module] = spent = _seconds_in_python.get(self.module, 0.0) + seconds
        return self.ready or (spent > READING_S and (spent > self.seconds / 2 or _kept(self.module)))


def load_room(room: str) -> None:
    """Load all kernels of a room, such as "bestchannel.evidence"."""
    for name, kernels in REGISTRY.items():
        if name.startswith(room):
            kernels.load()


def load_what_pays(room: str, done: float) -> None:
    """Load the kernels of a room that Python would not be patient enough for, when this part of the work is done."""
    for name, kernels in REGISTRY.items():
        if name.startswith(room) and kernels.same_in_python and not kernels.ready and _patience(name).used > done:
            kernels.load()


@functools.cache
def _kept(name: str) -> bool:
    from bestchannel.kernel_disk import kept

    return kept(name, stamp(name))


@functools.cache
def _in_python(name: str) -> Any:
    from bestchannel.uncompiled import in_python

    return in_python(name, _patience(name), functools.partial(_loaded, name))


@functools.cache
def _patience(name: str) -> Any:
    from bestchannel.uncompiled import Patience

    return Patience(REGISTRY[name].seconds * CALLS_IN_A_SECOND // 2)


_modules: dict[str, ModuleType] = {}
"""What has been loaded."""

_loading = threading.RLock()


def _loaded(name: str) -> ModuleType:
    with _loading:
        if name not in _modules:
            _announcement.loading = name
            _modules[name] = _load(name)
        return _modules[name]


def _load(name: str) -> ModuleType:
    with _without_collecting():
        module = compiled_copy(name, _compiled_copies)
        if hasattr(module, "warm_up"):
            module.warm_up()
    return module


def compiled_copy(name: str, copies: Copies) -> ModuleType:
    """A copy of a module of kernels with its functions compiled: those with a signature now, others when called."""
    module = copies.of(name)
    for function, recipe in KERNELS.items():
        if recipe.signature and function.__module__ == name and not _disabled():
            compiled = getattr(module, function.__name__)
            compiled.compile(recipe.signature)
            compiled.disable_compile()
    return module


@contextmanager
def _without_collecting() -> Iterator[None]:
    """No search for garbage, which would be a tenth of the time that compiling takes, and would find nothing."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


class _Announcement:
    """One line on the logger, once per process, when something is compiled: why one waits, and about how long."""

    def __init__(self) -> None:
        self.loading = ""
        self.made = False
        self.kept = True

    def __call__(self, kept: bool) -> None:
        self.kept = self.kept and kept
        if self.made:
            return
        self.made = True
        left = {kernels.module: kernels.seconds for kernels in REGISTRY.values() if kernels.module not in _modules}
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


@dataclass(frozen=True)
class Recipe:
    """How a function is compiled: at once for a signature or for the types that it meets; alone or into others."""

    signature: str | None = None
    linked: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)


def entry(signature: str) -> Callable[[Callable[..., Any]], Any]:
    """A function that Python calls, compiled for this signature when its module is loaded."""
    return lambda function: _declared(function, Recipe(signature))


def jit(function: Callable[..., Any]) -> Any:
    """A function that Python or compiled ones call, compiled for the types that it meets."""
    return _declared(function, Recipe())


def inner(function: Callable[..., Any]) -> Any:
    """A function that only compiled ones call, and that is quicker to compile for that: see `kernel_linking`."""
    return _declared(function, Recipe(linked=True))


def inlined(function: Callable[..., Any]) -> Any:
    """A function that becomes part of those that call it."""
    return _declared(function, Recipe(options={"inline": "always"}))


def regrouping(function: Callable[..., Any]) -> Any:
    """A function whose sums may be taken in another order, so that they vectorise."""
    return _declared(function, Recipe(options={"fastmath": {"reassoc", "contract"}}))


def _declared(function: Callable[..., Any], recipe: Recipe) -> Any:
    KERNELS[function] = recipe
    return function


def _compiled(function: FunctionType, bound: FunctionType) -> Any:
    """The function compiled, in the form that is bound to compiled ones, if it is to be."""
    recipe = KERNELS.get(function)
    if recipe is None:
        return bound
    if _disabled():
        return bound if recipe.linked or recipe.options else _interpreted(bound)
    from bestchannel.kernel_cache import cached
    from bestchannel.kernel_linking import linked

    if recipe.linked:
        return linked(bound, OPTIONS)
    return cached(bound, {**OPTIONS, **recipe.options}, stamp(bound.__module__), _announcement)


_compiled_copies = Copies(_compiled)
"""All that is compiled, so that what several modules take from one is compiled once."""


def _disabled() -> bool:
    numba: Any = importlib.import_module("numba")
    return bool(numba.config.DISABLE_JIT)


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
