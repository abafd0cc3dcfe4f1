"""capacity, capacities and pseudo_capacity: parse, solve, answer in bits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict, Unpack, overload

import numpy as np

from bestchannel.arrays import Floats, Integers, number_in, numeric_array, probability_rows
from bestchannel.capacity.chunked import solve_lazily, solve_named
from bestchannel.capacity.device import device_of, solve_on_device
from bestchannel.capacity.stack import (
    Capacities,
    Capacity,
    Tolerance,
    channel_names,
    folded,
    parted,
    rounding_compensated,
    solve_one,
    solve_stack,
    widest_in_lanes,
)
from bestchannel.channels import Channel
from bestchannel.errors import InputError
from bestchannel.process import Progress, part_of


def capacity(
    channel_or_rows: object,
    *,
    tol: float = 1e-9,
    rtol: float | None = None,
    cost: object = None,
    budget: float | None = None,
    normalize: bool = False,
    rigorous: bool = False,
) -> Capacity:
    """The largest rate at which W carries data: C = max_P I(P; W), in bits per channel use, between two proved bounds.

    For any input distribution P with output Q = PW,  I(P; W) <= C <= max_x D(W_x || Q) [Gal68, Th. 4.5.1]. The answer
    is that pair at a P where both nearly agree.

    Parameters
    ----------
    channel_or_rows
        A `Channel`, or rows of probabilities of shape (n_inputs, n_outputs).
    tol
        The widest bracket that is asked for, in bits: upper - lower <= tol.
    rtol
        The widest bracket relative to the capacity, in (0, 1]: also upper - lower <= rtol * upper.
    cost, budget
        Restrict P to sum_x P_x cost_x <= budget; cost has shape (n_inputs,) and the unit of the budget.
    normalize
        Divide each row by its sum instead of refusing a sum other than 1.
    rigorous
        Evaluate the bracket in ball arithmetic, which requires the extra `rigorous`.

    Returns
    -------
    Capacity
        The bracket in bits, and the distributions that prove it.

    Raises
    ------
    InputError
        Where the rows are no channel, or a tolerance, the cost or the budget is out of range.
    MissingExtraError
        Where `rigorous` is asked for and python-flint is not installed.

    Examples
    --------
    >>> C = capacity([[0.9, 0.1], [0.1, 0.9]])
    >>> round(C.lower, 9), round(C.upper, 9)
    (0.531004406, 0.531004406)
    """
    tolerance = _tolerance(tol, rtol)
    given = channel_or_rows.W if isinstance(channel_or_rows, Channel) else numeric_array(channel_or_rows, "the channel")
    small = given.ndim == 2 and len(given) <= widest_in_lanes(1, tolerance)
    if cost is None and budget is None and not rigorous and small:
        W = np.ascontiguousarray(given, dtype=np.float64)
        answer = None if normalize else solve_one(W, tolerance)
        return answer or solve_stack(W[None], tolerance, name=lambda _: "the channel", normalize=normalize).at(0)
    W = _probabilities(channel_or_rows, normalize)
    if cost is not None or budget is not None:
        affordable, prices, limit = _priced_inputs(cost, budget, len(W))
        answer = _solve_one(W[affordable], tolerance, rigorous, cost=prices, budget=limit)
        P = np.zeros(len(W))
        P[affordable] = answer.input
        return Capacity(answer.lower, answer.upper, answer.converged, P, answer.output, answer.rigorous)
    return _solve_one(W, tolerance, rigorous)


def pseudo_capacity(
    channel_or_rows: object,
    eta: float,
    *,
    tol: float = 1e-9,
    rtol: float | None = None,
    normalize: bool = False,
    rigorous: bool = False,
) -> Capacity:
    """The capacity with a floor under the output: C_eta = min_{Q >= eta} max_x D(W_x || Q), in bits [EBWGW24, eq. (2)].

    0 <= C_eta - C <= -log2(1 - eta n_outputs).

    Parameters
    ----------
    channel_or_rows
        A `Channel`, or rows of probabilities of shape (n_inputs, n_outputs).
    eta
        The least probability of an output, in (0, 1/(2 n_outputs)].
    tol, rtol, normalize, rigorous
        As in `capacity`.

    Returns
    -------
    Capacity
        The bracket in bits; `output` is the minimising Q, which need not be the output of any input, and `input` the P
        with sum_x P_x D(W_x || Q) = `lower`.

    Raises
    ------
    InputError
        Where the rows are no channel, or eta or a tolerance is out of range.
    MissingExtraError
        Where `rigorous` is asked for and python-flint is not installed.

    Examples
    --------
    >>> C_eta = pseudo_capacity([[1.0, 0.0], [0.5, 0.5]], eta=0.25)
    >>> round(C_eta.value, 6), round(float(capacity([[1.0, 0.0], [0.5, 0.5]])), 6)
    (0.415037, 0.321928)
    """
    W = _probabilities(channel_or_rows, normalize)
    eta = number_in(eta, "eta (the least probability of an output)", low=0.0, high=1.0 / (2 * W.shape[1]))
    return _solve_one(W, _tolerance(tol, rtol), rigorous, eta=eta)


class _Options(TypedDict, total=False):
    tol: float
    rtol: float | None
    normalize: bool
    workers: int | None
    progress: Progress | None


@overload
def capacities(  # type: ignore[overload-overlap]  # a mapping is an object too, and is looked for first
    stack: Mapping[str, object], **options: Unpack[_Options]
) -> dict[str, Capacity]: ...


@overload
def capacities(stack: object, **options: Unpack[_Options]) -> Capacities: ...


def capacities(
    stack: object,
    *,
    tol: float = 1e-9,
    rtol: float | None = None,
    normalize: bool = False,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Capacities | dict[str, Capacity]:
    """The capacity of every channel of a stack, or of a mapping, in bits per channel use, in parallel.

    Parameters
    ----------
    stack
        Rows of probabilities of shape (..., n_inputs, n_outputs). A CuPy, PyTorch or JAX array on a CUDA device is
        solved there, for channels of up to 8 inputs and 8 outputs. A Dask array is solved chunk by chunk, when its
        answers are computed. Of an xarray.DataArray the last two dimensions are inputs and outputs. Or a mapping from
        names to channels or rows, of any sizes.
    tol, rtol, normalize
        As in `capacity`.
    workers
        How many threads share the stack; None takes every core that this process may use, and one for each chunk of a
        Dask array. They change the time, never the answer.
    progress
        Called with (done, total) as channels are finished.

    Returns
    -------
    Capacities
        The brackets in bits as arrays of shape (...), and the distributions that prove them; of a stack on a device,
        arrays of its kind on that device; of a Dask array lazy ones, which `dask.compute(C)` computes together; of an
        xarray.DataArray such arrays, with its dimensions and coordinates; of a mapping, the `Capacity` of each by name.

    Raises
    ------
    InputError
        Where the stack has another shape, one of its channels is refused, or an option is out of range.
    MissingExtraError
        Where the stack lies on a CUDA device and CuPy is not installed (extra `gpu`).

    Examples
    --------
    >>> C = capacities([[[1.0, 0.0], [0.0, 1.0]], [[0.9, 0.1], [0.1, 0.9]]])
    >>> C.value.round(6).tolist()
    [1.0, 0.531004]
    >>> round(capacities({"good": [[0.9, 0.1], [0.1, 0.9]]})["good"].value, 6)
    0.531004
    """
    tolerance = _tolerance(tol, rtol)
    if workers is not None and (isinstance(workers, bool) or not isinstance(workers, int) or workers < 1):
        raise InputError(f"workers must be a whole number >= 1; it is {workers!r}")
    if not isinstance(stack, np.ndarray):
        library = type(stack).__module__.partition(".")[0]
        if library == "xarray":
            options: _Options = {"tol": tol, "rtol": rtol, "normalize": normalize, "workers": workers}
            options["progress"] = progress
            return solve_named(stack, lambda data: capacities(data, **options))
        if isinstance(stack, Mapping):
            named = dict(stack)
            for name, given in stack.items():
                if not isinstance(given, Channel):
                    named[name] = Channel.from_rows(given, name=str(name), normalize=normalize)
            return capacities_by_name(named, tol=tol, rtol=rtol, workers=workers, progress=progress)
        if library == "dask":
            return solve_lazily(stack, tolerance, normalize=normalize, workers=workers, progress=progress)
        if (device := device_of(stack)) is not None:
            return solve_on_device(stack, device, tolerance, normalize=normalize, progress=progress)
    array = numeric_array(stack, "the stack")
    leading, n, m = parted(array.shape)
    flat = solve_stack(
        np.ascontiguousarray(array, dtype=np.float64).reshape(-1, n, m),
        tolerance,
        name=channel_names(leading),
        normalize=normalize,
        workers=workers,
        progress=progress,
    )
    return folded(flat, leading)


def capacities_by_name(
    channels: Mapping[str, Channel],
    *,
    tol: float = 1e-9,
    rtol: float | None = None,
    rigorous: bool = False,
    workers: int | None = None,
    progress: Progress | None = None,
) -> dict[str, Capacity]:
    """`capacity` of named channels of any sizes: those of one size are solved together."""
    tolerance, answers = _tolerance(tol, rtol), dict[str, Capacity]()
    same_size: dict[tuple[int, ...], list[str]] = {}
    for name, channel in channels.items():
        if not rigorous:
            same_size.setdefault(channel.W.shape, []).append(name)
            continue
        answers[name] = capacity(channel, tol=tol, rtol=rtol, rigorous=True)
        if progress:
            progress(len(answers), len(channels))
    for names in same_size.values():
        stack = np.stack([channels[name].W for name in names])

        def name_of(c: int, names: list[str] = names) -> str:
            return f'channel "{names[c]}"'

        part = part_of(progress, len(answers), len(channels)) if progress else None
        many = solve_stack(stack, tolerance, name=name_of, workers=workers, progress=part)
        answers.update(zip(names, map(many.at, range(len(names))), strict=True))
    return {name: answers[name] for name in channels}


def _probabilities(channel_or_rows: object, normalize: bool) -> Floats:
    """The rows in an array of their own."""
    if isinstance(channel_or_rows, Channel):
        return np.array(channel_or_rows.W)
    return probability_rows(channel_or_rows, "the channel", normalize=normalize)[0]


DEFAULT = Tolerance(1e-9)


def _tolerance(tol: float, rtol: float | None) -> Tolerance:
    if rtol is None and type(tol) is float and tol == DEFAULT.tol:
        return DEFAULT
    tol = number_in(tol, "tol (the widest bracket allowed, in bits)", low=0.0, high=1e300)
    return Tolerance(tol, 1.0 if rtol is None else number_in(rtol, "rtol", low=0.0, high=1.0))


def _priced_inputs(cost: object, budget: float | None, n_inputs: int) -> tuple[Integers, Floats | None, float]:
    """The inputs that can be used within the budget, their cost, and the budget.

    A budget that only the cheapest inputs meet leaves those and no constraint. Costs that would overflow when
    subtracted, or underflow when divided by the largest difference, are refused.
    """
    if cost is None or budget is None:
        raise InputError("a cost and a budget are given together or not at all")
    prices = np.asarray(numeric_array(cost, "the cost"), dtype=np.float64)
    if prices.shape != (n_inputs,) or not np.all(np.isfinite(prices)):
        raise InputError(f"the cost must be {n_inputs} finite numbers, one per input; it is {cost!r}")
    budget = number_in(budget, "the budget", low=-1e300, high=1e300)
    x = int(np.argmax(np.abs(prices)))
    if abs(prices[x]) > 1e300:
        raise InputError(f"the cost of x={x} must lie in [-1e+300, 1e+300]; it is {prices[x]:g}: choose another unit")
    least = float(prices.min())
    excess = prices - least
    x = int(np.argmin(np.where(excess > 0.0, excess, np.inf)))
    if 0.0 < excess[x] < 1e-200 * excess.max():
        raise InputError(
            "the costs must differ from the least by 0, or by 1e-200 of the largest difference and more; the cost of"
            f" x={x} differs by {excess[x]:g} of {excess.max():g}: round it"
        )
    if least > budget:
        raise InputError(f"the budget must be at least the cheapest input's cost {least:g}; it is {budget:g}")
    if excess.max() == 0.0 or budget == least:
        return np.flatnonzero(excess == 0.0), None, 0.0
    return np.arange(n_inputs), prices, budget


def _solve_one(
    W: Floats,
    tolerance: Tolerance,
    rigorous: bool,
    *,
    eta: float = 0.0,
    cost: Floats | None = None,
    budget: float = 0.0,
) -> Capacity:
    """One channel by `dense`, which overwrites the rows, and by ball arithmetic where `rigorous`."""
    from bestchannel.capacity import dense  # deferred: scipy.linalg is slow to import

    scaled = np.divide(W, W.sum(axis=1, keepdims=True), out=None if rigorous else W)
    least, spread = (0.0, 1.0) if cost is None else (float(cost.min()), float(np.ptp(cost)))
    problem = dense.Problem(
        scaled,
        eta,
        None if cost is None else (cost - least) / spread,  # any unit of cost, so that one of about 1
        (budget - least) / spread,
        precise=tolerance.precise,
    )
    rounding = rounding_compensated(*W.shape, precise=tolerance.precise)
    point = dense.solve(problem, tolerance.goal_nats(rounding), tolerance.relative_goal)
    if rigorous:
        from bestchannel.capacity.rigorous import certified_bracket

        price = point.gamma / spread
        low, high = certified_bracket(W, point.P, point.Q, eta=eta, cost=cost, budget=budget, gamma=price)
        narrow = high - low <= min(tolerance.tol, tolerance.rtol * high)
        return Capacity(low, high, narrow, point.P, point.Q, rigorous=True)
    ceiling = tolerance.ceiling(W.shape, eta)
    return Capacity(*tolerance.bracket_of_one(point.low, point.high, ceiling, rounding), point.P, point.Q)


capacities(np.full((9, 2, 2), 0.5))  # what the first call of all pays for is paid on import, by as many lanes
