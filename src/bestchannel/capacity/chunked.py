"""Stacks that are larger than memory: Dask arrays chunk by chunk, and arrays of xarray with their names.

Nothing is solved until somebody computes: the answers are lazy arrays too. One task solves one chunk and packs all of
its answers into one array, from which every field is copied, so that what is computed together is solved once, and
what is computed alone is one task from the chunk to the field.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np

from bestchannel.arrays import Floats, numeric_array, refuse_unless_real
from bestchannel.capacity.stack import Capacities, Tolerance, channel_names, parted, remade, solve_stack
from bestchannel.errors import InputError
from bestchannel.process import Progress

UNKNOWN = 2**31  # stands for the number of channels where Dask does not know it
PORTION = 2**13  # channels of a chunk that are solved at a time


def solve_lazily(
    stack: Any, tolerance: Tolerance, *, normalize: bool, workers: int | None, progress: Progress | None
) -> Capacities:
    """`capacities` of a Dask array: lazy arrays with its chunks along the leading axes."""
    if progress is not None:
        raise InputError("progress must be left out for a Dask array: Dask shows it (dask.diagnostics.ProgressBar)")
    if not hasattr(stack, "map_blocks"):
        raise InputError(f"a Dask collection of channels must be an array; it is a {type(stack).__name__}")
    refuse_unless_real(stack, "the stack")
    if not isinstance(getattr(stack, "_meta", None), np.ndarray):
        raise InputError("a Dask array of channels must consist of NumPy arrays: move its chunks to the host")
    leading, n, m = parted(stack.shape)
    if math.isnan(n) or math.isnan(m):
        raise InputError(f"the alphabets of a Dask array of channels must be known; its shape is {stack.shape}")
    count = math.prod(leading)
    whole = stack.rechunk({-2: n, -1: m})
    packed = whole.map_blocks(
        _solve_chunk,
        (n, m),
        tolerance,
        normalize,
        workers or 1,
        UNKNOWN if math.isnan(count) else int(count),
        dtype=np.float64,
        chunks=(*whole.chunks[:-2], (1,), (3 + n + m,)),  # as many axes as before, or Dask would not join the tasks
        meta=np.empty((0,) * whole.ndim),
    )
    return _unpacked(packed, n)


def _solve_chunk(
    chunk: Floats, size: tuple[int, int], tolerance: Tolerance, normalize: bool, workers: int, of: int,
    block_info: Any = None,
) -> Floats:  # fmt: skip
    """The answers for one chunk, beside one another: lower, upper, converged, input, output.

    They are found some at a time, so that nothing as large as the chunk is there but itself and what is returned.
    """
    name = _names(chunk.shape[:-2], block_info[0])
    flat = _parsed(chunk, size, f"chunk {_place(block_info[0]['chunk-location'])} of the stack")
    packed = np.empty((len(flat), 3 + sum(size)))
    for first in range(0, len(flat), PORTION):
        part = flat[first : first + PORTION]

        def named(c: int, first: int = first) -> str:
            return name(first + c)

        answer = solve_stack(part, tolerance, name=named, normalize=normalize, workers=workers, of=of)
        columns = (answer.lower[:, None], answer.upper[:, None], answer.converged[:, None], answer.input, answer.output)
        np.concatenate(columns, axis=1, out=packed[first : first + PORTION])
    return packed.reshape(*chunk.shape[:-2], 1, packed.shape[1])


def _parsed(chunk: Any, size: tuple[int, int], where: str) -> Floats:
    """The channels of a chunk, which need not be what Dask was told that it is; there may be none."""
    if chunk.shape[-2:] != size:
        raise InputError(
            f"{where} must have channels of shape {size}, as the Dask array says; its shape is {chunk.shape}"
        )
    real = numeric_array(chunk, where) if chunk.size else np.empty(chunk.shape)
    return np.ascontiguousarray(real, dtype=np.float64).reshape(-1, *size)


def _names(leading: tuple[int, ...], block: Any) -> Callable[[int], str]:
    """How an error calls channel c of a chunk; where Dask does not know how long those before it are, within it."""
    starts = [first for first, _ in block["array-location"]][:-2]
    if not any(map(math.isnan, starts)):
        return channel_names(leading, starts)
    inside, place = channel_names(leading), _place(block["chunk-location"])
    return lambda c: f"{inside(c)} of chunk {place}"


def _place(location: tuple[int, ...]) -> str:
    """The place of a chunk along the leading axes."""
    return ", ".join(map(str, location[:-2])) or "0"


def _unpacked(packed: Any, n: int) -> Capacities:
    """The fields, each copied out of a chunk's answers: a view would keep all of them in memory."""

    def field(first: int, last: int) -> Any:
        chunks = (*packed.chunks[:-1], (last - first,))
        return packed.map_blocks(_columns, first, last, dtype=float, chunks=chunks)[..., 0, :]

    lower, upper, converged = (field(i, i + 1)[..., 0] for i in range(3))
    return Capacities(lower, upper, converged.astype(bool), field(3, 3 + n), field(3 + n, packed.shape[-1]))


def _columns(packed: Floats, first: int, last: int) -> Floats:
    return packed[..., first:last].copy()


def solve_named(stack: Any, solve: Callable[[Any], Capacities]) -> Capacities:
    """`capacities` of an xarray.DataArray whose last two dimensions are inputs and outputs: arrays with its names."""
    xarray = importlib.import_module("xarray")
    if not isinstance(stack, xarray.DataArray):
        raise InputError(f"the stack must be a DataArray; it is a {type(stack).__name__}: take one of its variables")
    answer = solve(stack.data)
    *leading, x, y = stack.dims
    dims = {"input": [*leading, x], "output": [*leading, y]}

    def named(field: str) -> Any:
        names = dims.get(field, leading)
        kept = {key: value for key, value in stack.coords.items() if set(value.dims) <= set(names)}
        return xarray.DataArray(getattr(answer, field), dims=names, coords=kept, name=field)

    return Capacities(*(named(field.name) for field in fields(answer)))


def computed(answers: Capacities) -> Capacities:
    """Lazy answers in memory: every chunk is solved once for all fields."""
    (solved,) = importlib.import_module("dask").compute(answers)
    return remade(solved, np.asarray)
