# mypy: ignore-errors
"""numba's decorator for the kernels here, with a cache on disk that knows that they call each other."""

from __future__ import annotations

from importlib.util import find_spec

import numba

_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}
_KERNELS = ("box_bound", "leader_cost", "bound_model", "pair_search", "concave_row", "convex_row", "branch_and_bound")


def _stamp():
    """(newest change, total size) of the files with kernels, as numba notes them for one file."""
    specs = [find_spec(f"bestchannel.lower_bound.kernels.{kind}") for kind in _KERNELS]
    stats = [spec.loader.path_stats(spec.origin) for spec in specs]
    return max(each["mtime"] for each in stats), sum(each["size"] for each in stats)


_STAMP = _stamp()


def jit(function):
    """The function, compiled at its first call."""
    return _renewed(numba.njit(**_OPTIONS)(function))


def inner(function):
    """A function that only compiled ones call, and that is quicker to compile for that."""
    return _renewed(numba.njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **_OPTIONS)(function))


def _renewed(dispatcher):
    # numba looks only at the file that defines a function to see whether its compiled code is stale, and that code
    # contains the functions it calls: without this, new rows in row_kernels would leave the old ones inside certify.
    file = getattr(dispatcher._cache, "_cache_file", None)
    if hasattr(file, "_source_stamp"):
        file._source_stamp = _STAMP
    return dispatcher
