"""What the solvers answer: a bracket, the distributions that prove it, and whether it is as tight as asked."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestchannel.arrays import Floats, on_host
from bestchannel.display import Frame, Shown, Valued, frame_of
from bestchannel.information import NATS_PER_BIT, divergences_nats
from bestchannel.native import capacity as native

EPS = float(np.finfo(float).eps)

TINY = 1e-300


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
class Capacities(Shown, Valued):
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

    def to_frame(self) -> Frame:
        """One row per channel, indexed by its place in the stack: value, lower, upper in bits, and converged.

        Returns
        -------
        pandas.DataFrame
            In the order of the stack; the index has one level for each leading axis.

        Raises
        ------
        MissingExtraError
            Where pandas is not installed.

        Examples
        --------
        >>> from bestchannel.capacity import capacities
        >>> capacities([[[1.0, 0.0], [0.0, 1.0]]]).to_frame().columns.tolist()
        ['value', 'lower', 'upper', 'converged']
        """
        return frame_of(self)

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
        self, low: Floats, high: Floats, shape: tuple[int, ...], rounding: float
    ) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Bounds in nats as a bracket in bits, safe against rounding, and whether it is narrow enough."""
        slack = relative_slack(high, rounding) / NATS_PER_BIT if self.precise else rounding
        upper = np.minimum(np.maximum(high / NATS_PER_BIT + slack, 0.0), self.ceiling(shape))
        lower = np.minimum(np.maximum(low / NATS_PER_BIT - slack, 0.0), upper)
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
