"""Many channels of one shape: small ones in vector lanes, the rest one by one, over threads.

An answer is a bracket, the distributions that prove it, and whether it is as tight as asked.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestchannel.arrays import ROUNDING, ROW_SUM_TOLERANCE, Floats, on_host, probability_rows
from bestchannel.display import Shown, Tabulated, Valued
from bestchannel.errors import InputError
from bestchannel.information import NATS_PER_BIT, divergences_nats
from bestchannel.native import capacity as native
from bestchannel.process import Progress, usable_cores

EPS, TINY = float(np.finfo(float).eps), 1e-300

CHUNK_WORK = 2**21  # multiplications for one Newton matrix, summed over a chunk of channels: some 10 ms of work
MOST_IN_TURN = 128  # outputs up to which bounds of the lanes, which add one term after the other, are taken as they are
LANE_BYTES = 2**22  # what the state of all lanes may take, so that it stays in the caches near a core


@dataclass(frozen=True, eq=False, repr=False)
class Capacity(Shown, Valued):
    """A capacity between two proved bounds: lower <= C <= upper, in bits per channel use.

    Attributes
    ----------
    lower, upper
        The ends of the bracket, in bits.
    converged
        Whether the bracket is as narrow as the tolerances asked for; it is valid in either case.
    input, output
        Distributions of the inputs that achieves `lower`, and of the outputs that proves `upper`.
    rigorous
        Whether the bracket was evaluated in ball arithmetic, and so holds for the exact binary values of the rows,
        each divided by its sum; otherwise its ends were moved outwards by a bound of the rounding error.

    Examples
    --------
    >>> from bestchannel.capacity import capacity
    >>> C = capacity([[0.9, 0.1], [0.1, 0.9]])
    >>> C.lower <= C.value <= C.upper, round(float(C), 9)
    (True, 0.531004406)
    """

    lower: float
    upper: float
    converged: bool
    input: Floats
    output: Floats
    rigorous: bool = False

    @property
    def value(self) -> float:
        """(lower + upper)/2, in bits: the capacity, wrong by half the gap at most."""
        return 0.5 * (self.lower + self.upper)

    @property
    def gap(self) -> float:
        """upper - lower, in bits."""
        return self.upper - self.lower

    def __float__(self) -> float:
        return self.value

    def __repr__(self) -> str:
        return f"Capacity({self.value!r}, lower={self.lower!r}, upper={self.upper!r}, converged={self.converged})"

    def __str__(self) -> str:
        wide = "" if self.converged else "; wider than asked"
        return f"{self.value:.12g} bits per channel use, between {self.lower!r} and {self.upper!r}{wide}"


@dataclass(frozen=True, eq=False)
class Capacities(Tabulated, Valued):
    """The capacities of a stack of channels: the fields of `Capacity` as arrays of the stack's leading shape.

    Of a stack on a CUDA device they are arrays of its kind, there; of a Dask array lazy ones; of an xarray.DataArray
    arrays with its names.

    Attributes
    ----------
    lower, upper
        The ends of the brackets, in bits; shape (...).
    converged
        Whether each bracket is as narrow as the tolerances asked for; shape (...).
    input, output
        Distributions that achieve `lower` and prove `upper`, shapes (..., n_inputs) and (..., n_outputs).

    Examples
    --------
    >>> from bestchannel.capacity import capacities
    >>> C = capacities([[[1.0, 0.0], [0.0, 1.0]], [[0.9, 0.1], [0.1, 0.9]]])
    >>> C.value.round(6).tolist(), C.at(0).converged
    ([1.0, 0.531004], True)
    >>> str(C)[:46]
    '2 capacities from 0.531004 to 1 bits per chann'
    """

    lower: Floats
    upper: Floats
    converged: NDArray[np.bool_]
    input: Floats
    output: Floats

    @property
    def value(self) -> Floats:
        """(lower + upper)/2, in bits, shape (...)."""
        middle: Floats = 0.5 * (self.lower + self.upper)
        return middle

    @property
    def gap(self) -> Floats:
        """upper - lower, in bits, shape (...)."""
        return self.upper - self.lower

    def at(self, index: int | tuple[int, ...]) -> Capacity:
        """The answer for one channel of the stack.

        Parameters
        ----------
        index
            The place of the channel in the leading shape of the stack.

        Raises
        ------
        IndexError
            Where the stack has no such place.

        Examples
        --------
        >>> from bestchannel.capacity import capacities
        >>> capacities([[[1.0, 0.0], [0.0, 1.0]]]).at(0).input.tolist()
        [0.5, 0.5]
        """
        ends = float(self.lower[index]), float(self.upper[index])
        return Capacity(*ends, bool(self.converged[index]), self.input[index], self.output[index])

    def on_host(self) -> Capacities:
        """The same answers in arrays of NumPy, wherever they lie.

        Returns
        -------
        Capacities
            A copy of those on a device; lazy ones computed; those on the host as they are.

        Examples
        --------
        >>> from bestchannel.capacity import capacities
        >>> C = capacities([[[1.0, 0.0], [0.0, 1.0]]])
        >>> C.on_host() == C
        True
        """
        if self._is_lazy:
            from bestchannel.capacity.chunked import computed  # deferred: it makes such answers

            return computed(self)
        return remade(self, on_host)

    @property
    def _is_lazy(self) -> bool:
        """Whether these are Dask's arrays, or xarray's of such."""
        return getattr(self.lower, "__dask_graph__", lambda: None)() is not None

    def __str__(self) -> str:
        if self._is_lazy:
            return f"capacities of a stack of shape {self.lower.shape}, not computed yet: dask.compute(…) computes them"
        here = self.on_host()
        span = f"from {here.value.min():.6g} to {here.value.max():.6g} bits per channel use"
        wide = np.count_nonzero(~here.converged)
        missed = f"; {wide} wider than asked" if wide else ""
        return f"{here.lower.size} capacities {span}, no bracket wider than {here.gap.max():.1g}{missed}"


def remade(answers: Capacities, make: Callable[[Any], Any]) -> Capacities:
    """The same answers with every array made into another."""
    return Capacities(*(make(getattr(answers, field.name)) for field in fields(answers)))


@dataclass(frozen=True)
class Tolerance:
    """How wide a bracket may be: at most `tol` bits, and at most `rtol` times its upper end."""

    tol: float
    rtol: float = 1.0

    @property
    def precise(self) -> bool:
        """Whether a relative accuracy was asked for; rtol = 1 holds for every bracket."""
        return self.rtol < 1.0

    def goal_nats(self, rounding: float) -> float:
        """The gap in nats at which a solver may stop, leaving room for the rounding error, which no step reduces."""
        return max(self.tol - 2.0 * rounding, 0.25 * rounding) * NATS_PER_BIT

    @property
    def relative_goal(self) -> float:
        """The gap relative to the upper end at which a solver may stop."""
        return 0.9 * self.rtol if self.precise else self.rtol

    @staticmethod
    def ceiling(shape: tuple[int, ...], eta: float = 0.0) -> float:
        """What no upper end exceeds, in bits: log2 min(n_inputs, n_outputs), plus -log2(1 - eta n_outputs)."""
        n, m = shape[-2:]
        return (math.log2(min(n, m)) - math.log1p(-eta * m) / NATS_PER_BIT) * (1.0 + 4.0 * EPS)

    def bracket(
        self, ends: Floats, shape: tuple[int, ...], rounding: float
    ) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Both ends[low or high, c] in nats as a bracket in bits, safe against rounding, and whether it is narrow."""
        slack = relative_slack(ends[1], rounding) / NATS_PER_BIT if self.precise else rounding
        ends /= NATS_PER_BIT
        lower, upper = ends
        lower -= slack
        upper += slack
        np.minimum(np.maximum(ends, 0.0, out=ends), self.ceiling(shape), out=ends)
        np.minimum(lower, upper, out=lower)
        gap = upper - lower
        narrow = gap <= self.tol
        return lower, upper, narrow & (gap <= self.rtol * upper) if self.precise else narrow

    def bracket_of_one(self, low: float, high: float, ceiling: float, rounding: float) -> tuple[float, float, bool]:
        """The same, to the bit, for one channel whose upper end does not exceed the ceiling."""
        slack = float(relative_slack(high, rounding)) / NATS_PER_BIT if self.precise else rounding
        upper = min(max(high / NATS_PER_BIT + slack, 0.0), ceiling)
        lower = min(max(low / NATS_PER_BIT - slack, 0.0), upper)
        return lower, upper, upper - lower <= min(self.tol, self.rtol * upper)


def rounding_in_turn(n_inputs: int, n_outputs: int) -> float:
    """A bound of the rounding error of either end where terms are added one after the other.

    In bits; relative to rows and outputs where an answer is `precise`. With H = log2 n_outputs and C the largest
    capacity, up to 2H + C bits are added up in sum_y W log W - sum_y W log q, and each of n_outputs + 4 roundings
    takes eps/2 of it; the sums of a row, of p and of q move a divergence by as much as they miss 1; and the lower end
    is a mean of n_inputs terms.
    """
    H, C = math.log2(n_outputs), math.log2(min(n_inputs, n_outputs))
    return EPS * ((n_outputs + 4) * (H + C / 2) + 0.75 * n_outputs + (1.5 + C) * n_inputs + 6.0)


def rounding_compensated(n_inputs: int, n_outputs: int, *, precise: bool = False) -> float:
    """A bound of the rounding error of either end from `bounds_nats`, in the units of `rounding_in_turn`.

    With H = log2 n_outputs and C the largest capacity, logarithms of W are wrong by 2 EPS, those of Q by 0.6 EPS, and
    products by EPS/2 of themselves, of which sum_y |W log W| <= H and sum_y |W log Q| <= H + C are added up without
    loss; the two sums and their difference are rounded once. `precise` terms are added in pairs by NumPy, 128 of them
    in 8 sums of 16: R roundings.
    """
    H, C = math.log2(n_outputs), math.log2(min(n_inputs, n_outputs))
    if not precise:
        return EPS * (5.0 * H + 3.0 * C + 8.0)
    R = min(n_outputs, 19.0 + max(math.log2(n_outputs / 128.0), 0.0))
    return EPS * ((3.0 + R / 2) * C + 2.0 * H + 2.0 * R + 8.0)


def relative_slack(high: Floats | float, rounding: float) -> Floats | float:
    """The error of a divergence `high`, in nats, whose rows and output are wrong by a relative `rounding`.

    D = sum_y Q psi((W-Q)/Q), and sum_y |W - Q| <= sqrt(2 D) by Pinsker's inequality.
    """
    size = np.abs(high)
    slack: Floats = rounding * (size + np.sqrt(2.0 * size)) + rounding * rounding
    return slack


def certified_nats(P: Floats, D: Floats, score: Floats | None = None) -> tuple[Floats, Floats]:
    """The lower and the upper end of a certificate: mean D and max score, which is D where there is no cost.

    With M = max D the mean is M - sum_x P_x (M - D_x): where they nearly agree, the sums over the inputs cost nothing.
    """
    top = D.max(axis=-1)
    below = np.sum(P * (top[..., None] - D), axis=-1) / np.sum(P, axis=-1)
    high = top if score is None else score.max(axis=-1)
    return top - below * (1.0 + 64.0 * EPS), high


def bounds_nats(W: Floats, P: Floats, precise: bool) -> tuple[Floats, Floats, Floats]:
    """I(P; W) and max_x D(W_x || Q) in nats, and Q = PW, for rows that sum to 1 but for rounding."""
    Q = np.maximum(native.outputs(W, P), TINY)
    Q /= np.sum(Q, axis=-1, keepdims=True)
    D = divergences_nats(W, Q) if precise else native.certified_divergences(W, native.neg_entropies(W), Q)
    return *certified_nats(P, D), Q


def solve_stack(
    stack: Floats,
    tolerance: Tolerance,
    *,
    name: Callable[[int], str],
    normalize: bool = False,
    workers: int | None = 1,
    progress: Progress | None = None,
    of: int = 0,
) -> Capacities:
    """Solve stack[c, x, y] by so many threads, or one for each core; `name(c)` is how an error calls channel c.

    A part of a larger stack, `of` so many channels, is answered as it is within the whole, to the bit.
    """
    count, n, m = stack.shape
    if normalize:
        _refuse_others(stack, name)
    ends, P, Q, status = np.empty((2, count)), np.empty((count, n)), np.empty((count, m)), np.empty(count, np.uint8)
    low, high = ends
    in_lanes, as_they_are, rounding, goal, _ = _way(n, m, max(count, of), tolerance)

    def work(first: int, last: int) -> None:
        left: Iterable[int] = range(last - first)
        if in_lanes:
            lanes, rtol = _lane_count(n, m, last - first), tolerance.relative_goal
            native.solve_in_lanes(stack, first, last, lanes, goal, rtol, normalize, low, high, P, Q, status)
            left = status[first:last].nonzero()[0].tolist()  # whatever is not native.OK
            if not as_they_are:
                done = first + np.flatnonzero(status[first:last] == native.OK)
                W = stack[done] / stack[done].sum(axis=-1, keepdims=True)
                low[done], high[done], Q[done] = bounds_nats(W, P[done], tolerance.precise)
        for c in (first + i for i in left):
            # raises for what the lanes refused, with the sentence that names the cell
            W, _ = probability_rows(stack[c], name(c), normalize=normalize)
            W /= W.sum(axis=1, keepdims=True)
            from bestchannel.capacity import dense  # deferred: scipy.linalg is slow to import

            point = dense.solve(dense.Problem(W, precise=tolerance.precise), goal, tolerance.relative_goal)
            low[c], high[c], P[c], Q[c] = point.low, point.high, point.P, point.Q

    _over_threads(work, count, max(1, CHUNK_WORK // (n * n * m)) if in_lanes else 1, workers, progress)
    return Capacities(*tolerance.bracket(ends, stack.shape, rounding), P, Q)


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
    rounding = rounding_in_turn(n, m) if as_they_are else rounding_compensated(n, m, precise=tolerance.precise)
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
    work: Callable[[int, int], None], count: int, chunk: int, workers: int | None, progress: Progress | None
) -> None:
    """Call work(first, last) on every chunk of range(count); the kernels release the interpreter."""
    bounds = [(first, min(first + chunk, count)) for first in range(0, count, chunk)]
    if workers == 1 or len(bounds) == 1:
        for first, last in bounds:
            work(first, last)
            if progress:
                progress(last, count)
        return
    with ThreadPoolExecutor(workers or usable_cores()) as pool:
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
    if leading == flat.lower.shape:
        return flat
    return remade(flat, lambda array: array.reshape((*leading, *array.shape[1:])))
