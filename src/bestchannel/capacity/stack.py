"""Many channels of one shape: small ones in vector lanes, the rest one by one, over threads."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

import numpy as np

from bestchannel.arrays import ROUNDING, ROW_SUM_TOLERANCE, Floats, probability_rows
from bestchannel.capacity import bracket
from bestchannel.capacity.bracket import Capacities, Capacity, Tolerance, remade, rounding_in_turn
from bestchannel.errors import InputError
from bestchannel.native import capacity as native
from bestchannel.process import Progress

CHUNK_WORK = 2**21  # multiplications for one Newton matrix, summed over a chunk of channels: some 10 ms of work
MOST_IN_TURN = 128
"""Outputs up to which the bounds of the lanes, which add one term after the other, are taken as they are."""

LANE_BYTES = 2**22  # what the state of all lanes may take, so that it stays in the caches near a core


def solve_stack(
    stack: Floats,
    tolerance: Tolerance,
    *,
    name: Callable[[int], str],
    normalize: bool = False,
    workers: int = 1,
    progress: Progress | None = None,
    of: int = 0,
) -> Capacities:
    """Solve stack[c, x, y]. `name(c)` is how an error calls channel c.

    A part of a larger stack, `of` so many channels, is answered as it is within the whole, to the bit.
    """
    count, n, m = stack.shape
    if normalize:
        _refuse_others(stack, name)
    low, high, P, Q = np.empty(count), np.empty(count), np.empty((count, n)), np.empty((count, m))
    status = np.full(count, native.STALLED, dtype=np.uint8)
    in_lanes, as_they_are, rounding, goal, _ = _way(n, m, max(count, of), tolerance)
    relative_goal = tolerance.relative_goal

    def work(first: int, last: int) -> None:
        if in_lanes:
            lanes = _lane_count(n, m, last - first)
            native.solve_in_lanes(stack, first, last, lanes, goal, relative_goal, normalize, low, high, P, Q, status)
        if in_lanes and not as_they_are:
            solved = first + (status[first:last] == native.OK).nonzero()[0]
            W = stack[solved] / stack[solved].sum(axis=-1, keepdims=True)
            low[solved], high[solved], Q[solved] = bracket.bounds_nats(W, P[solved], tolerance.precise)
        for c in first + (status[first:last] != native.OK).nonzero()[0]:
            # raises for what the lanes refused, with the sentence that names the cell
            W, _ = probability_rows(stack[c], name(int(c)), normalize=normalize)
            W /= W.sum(axis=1, keepdims=True)
            from bestchannel.capacity import dense  # deferred: scipy.linalg is slow to import

            point = dense.solve(dense.Problem(W, precise=tolerance.precise), goal, relative_goal)
            low[c], high[c], P[c], Q[c] = point.low, point.high, point.P, point.Q

    chunk = max(1, CHUNK_WORK // (n * n * m)) if in_lanes else 1
    _over_threads(work, count, chunk, workers, progress)
    lower, upper, converged = tolerance.bracket(low, high, stack.shape, rounding)
    return Capacities(lower, upper, converged, P, Q)


def solved(stack: Floats, tol: float, *, normalize: bool = False) -> Capacities:
    """The capacities of stack[…, x, y], which are channels for sure, but for rounding; by this thread."""
    leading, n, m = parted(stack.shape)
    flat = np.ascontiguousarray(stack).reshape(-1, n, m)
    return folded(solve_stack(flat, Tolerance(tol), name=channel_names(leading), normalize=normalize), leading)


@functools.lru_cache
def _way(n: int, m: int, count: int, tolerance: Tolerance) -> tuple[bool, bool, float, float, float]:
    """Whether the lanes solve such channels, whether their bounds are taken as they are; rounding, goal and ceiling."""
    in_lanes = n <= widest_in_lanes(count, tolerance)
    as_they_are = in_lanes and m <= MOST_IN_TURN and 4.0 * rounding_in_turn(n, m) <= tolerance.tol
    rounding = rounding_in_turn(n, m) if as_they_are else bracket.rounding_compensated(n, m, precise=tolerance.precise)
    return in_lanes, as_they_are, rounding, tolerance.goal_nats(rounding), tolerance.ceiling((n, m))


def _bounds_in_turn(stack: Floats, goal: float) -> tuple[Floats, Floats, Floats, Floats] | None:
    """Bounds in nats, inputs and outputs from the lanes alone; None where they did not solve every channel."""
    count, n, m = stack.shape
    answers = np.empty(count), np.empty(count), np.empty((count, n)), np.empty((count, m))
    status = np.empty(count, dtype=np.uint8)
    native.solve_in_lanes(stack, 0, count, _lane_count(n, m, count), goal, 1.0, False, *answers, status)
    return None if any(status.tolist()) else answers


def solve_one(W: Floats, tolerance: Tolerance) -> Capacity | None:
    """What `solve_stack` answers for one channel, to the bit, in a third of the time; None where that has to do it."""
    _, as_they_are, rounding, goal, ceiling = _way(*W.shape, 1, tolerance)
    answers = _bounds_in_turn(W[None], goal) if as_they_are and not tolerance.precise else None
    if answers is None:
        return None
    low, high, P, Q = answers
    return Capacity(*tolerance.bracket_of_one(low.item(), high.item(), ceiling, rounding), P[0], Q[0])


def best_inputs(stack: Floats, tol: float) -> Floats:
    """The input distributions [c, x] that `solve_stack` answers for stack[c, x, y], sooner where there are few."""
    _, as_they_are, _, goal, _ = _way(*stack.shape[1:], 1, tolerance := Tolerance(tol))
    answers = _bounds_in_turn(stack, goal) if as_they_are else None
    return solve_stack(stack, tolerance, name=str).input if answers is None else answers[2]


def widest_in_lanes(count: int, tolerance: Tolerance) -> int:
    """Up to how many inputs the lanes, of which there are at least 8, beat solving one channel after the other."""
    if tolerance.precise:  # which `single` is not
        return 64 if count >= 8 else 24
    return min(32, 14 + 3 * count)


def _refuse_others(stack: Floats, name: Callable[[int], str]) -> None:
    """Raise for the first channel that nobody meant to normalize: counts, or columns that sum to 1."""
    off = np.abs(stack.sum(axis=2) - 1.0).max(axis=1) > ROW_SUM_TOLERANCE
    whole = np.all(np.floor(stack) == stack, axis=(1, 2))
    upright = np.abs(stack.sum(axis=1) - 1.0).max(axis=1) <= ROUNDING
    for c in np.flatnonzero(off & (whole | upright)):
        probability_rows(stack[c], name(int(c)), normalize=True)


def _lane_count(n: int, m: int, channels: int) -> int:
    """As many lanes as there is work for, and as the cache has room for."""
    bytes_per_lane = 2 * 8 * (2 * n * m + n * n + 10 * n + 4 * m)
    many = channels > native.FEW_LANES and native.MANY_LANES * bytes_per_lane <= LANE_BYTES
    return native.MANY_LANES if many else native.FEW_LANES


def _over_threads(
    work: Callable[[int, int], None], count: int, chunk: int, workers: int, progress: Progress | None
) -> None:
    """Call work(first, last) on every chunk of range(count); the kernels release the interpreter."""
    bounds = [(first, min(first + chunk, count)) for first in range(0, count, chunk)]
    if workers == 1 or len(bounds) == 1:
        for first, last in bounds:
            work(first, last)
            if progress:
                progress(last, count)
        return
    with ThreadPoolExecutor(workers) as pool:
        try:
            chunks = {pool.submit(work, first, last): last - first for first, last in bounds}
            done = 0
            for finished in as_completed(chunks):
                finished.result()
                done += chunks[finished]
                if progress:
                    progress(done, count)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def parted(shape: tuple[int, ...]) -> tuple[tuple[int, ...], int, int]:
    """The leading shape of a stack, n_inputs and n_outputs, or an `InputError`."""
    if len(shape) < 2 or 0 in shape[-2:]:
        raise InputError(
            "the stack must have shape (..., n_inputs, n_outputs) with at least one input and one output;"
            f" its shape is {shape}"
        )
    return shape[:-2], shape[-2], shape[-1]


def channel_names(leading: tuple[int, ...], starts: Sequence[int] = ()) -> Callable[[int], str]:
    """How an error calls channel c of a stack, or of a part that starts there, with this leading shape."""
    if not leading:
        return lambda _: "the channel"
    first = starts or (0,) * len(leading)
    return lambda c: (
        "channel " + ", ".join(str(a + i) for a, i in zip(first, np.unravel_index(c, leading), strict=True))
    )


def folded(flat: Capacities, leading: tuple[int, ...]) -> Capacities:
    """The answers for a stack with this leading shape."""
    return remade(flat, lambda array: array.reshape((*leading, *array.shape[1:])))
