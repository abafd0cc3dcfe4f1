# mypy: ignore-errors
"""numba's cache of compiled functions on disk, without its ways to fail.

What cannot be read is compiled again, what cannot be written is kept in memory only, and machine code that is not
what was once written is not run.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from types import FunctionType
from typing import Any

from numba import njit
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.serialize import dumps, loads

from bestchannel.kernel_linking import set_environments, without_literals


def cached(function: FunctionType, options: dict[str, Any], stamp: str, announce: Callable[[bool], None]) -> Any:
    """The function compiled, for the types that it meets, and kept on disk; see `KernelCache`."""
    dispatcher = without_literals(njit(**options)(function))
    dispatcher._cache = KernelCache(function, stamp, announce)
    return dispatcher


class _Sealed(CompileResultCacheImpl):
    """Machine code with its checksum: a flipped bit in it would go unnoticed otherwise."""

    def reduce(self, cres):
        code = dumps(super().reduce(cres))
        return sha256(code).digest(), code

    def rebuild(self, target_context, payload):
        seal, code = payload
        if sha256(code).digest() != seal:
            raise ValueError("not what was written")
        return super().rebuild(target_context, loads(code))


class _Files(FunctionCache):
    _impl_class = _Sealed


class KernelCache:
    """What numba asks of a cache for one function; `announce(kept)` is called before each compilation."""

    def __init__(self, function: Callable[..., Any], stamp: str, announce: Callable[[bool], None]) -> None:
        self._announce = announce
        try:
            self._files = _Files(function)
            self._files._cache_file._source_stamp = stamp
        except (RuntimeError, OSError):  # no folder that can be written, neither named nor in the tree nor at home
            self._files = None

    @property
    def cache_path(self):
        """The folder, if there is one."""
        return self._files and self._files.cache_path

    def load_overload(self, sig, target_context):
        """The compiled function for a signature, or nothing, which makes numba compile it."""
        found = None
        if self._files is not None:
            try:
                found = self._files.load_overload(sig, target_context)
            except Exception:  # damaged bytes can make unpickling raise anything
                self.flush()
        if found is None:
            self._announce(self._files is not None)
        return found

    def save_overload(self, sig, cres):
        """Keep a function that has just been compiled, if that is possible."""
        set_environments(cres)
        if self._files is not None:
            try:
                self._files.save_overload(sig, cres)
            except OSError:
                self._files = None
                self._announce(False)

    def flush(self):
        """Forget what is on disk."""
        if self._files is not None:
            try:
                self._files.flush()
            except OSError:
                self._files = None
