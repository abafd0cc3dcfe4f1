"""What the solvers answer: a bracket, the distributions that prove it, and whether it is as tight as asked."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bestchannel.arrays import Floats
from bestchannel.information import NATS_PER_BIT

EPS = float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class Capacity:
    """lower <= C <= upper, in bits per channel use.

    `input` is an input distribution that achieves `lower`, `output` an output distribution
    that proves `upper`. `converged` says whether the gap met the tolerances. With `rigorous`
    the bracket was evaluated in ball arithmetic and holds for the exact binary values of
    the rows, each divided by its sum; without, its ends were moved outwards by an estimate
    of the rounding error.
    """

    lower: float
    upper: float
    converged: bool
    input: Floats
    output: Floats
    rigorous: bool = False

    @property
    def gap(self) -> float:
        """upper - lower, in bits."""
        return self.upper - self.lower


@dataclass(frozen=True, eq=False)
class Capacities:
    """`Capacity` for a stack of channels: the same fields as arrays with the stack's leading shape.

    `input` and `output` have one more axis, over the symbols. For a stack on a CUDA device
    they are arrays of its kind, there.
    """

    lower: Floats
    upper: Floats
    converged: NDArray[np.bool_]
    input: Floats
    output: Floats

    @property
    def gap(self) -> Floats:
        """upper - lower, in bits."""
        return self.upper - self.lower

    def at(self, index: int | tuple[int, ...]) -> Capacity:
        """The answer for one channel of the stack."""
        return Capacity(
            float(self.lower[index]),
            float(self.upper[index]),
            bool(self.converged[index]),
            self.input[index],
            self.output[index],
        )


@dataclass(frozen=True)
class Tolerance:
    """How wide a bracket may be: at most `tol` bits, and at most `rtol` times its upper end."""

    tol: float
    rtol: float = 1.0

    @property
    def precise(self) -> bool:
        """Whether a relative accuracy was asked for; rtol = 1 holds for every bracket."""
        return self.rtol < 1.0

    def rounding(self, n_outputs: int) -> float:
        """An estimate from above of the rounding error of a bound: in bits, or relative where `precise`."""
        return EPS * (8.0 + math.sqrt(n_outputs)) * (1.0 + math.log2(n_outputs))

    def goal_nats(self, n_outputs: int) -> float:
        """The gap in nats at which a solver may stop, leaving room for the rounding error."""
        return max(self.tol - 2.0 * self.rounding(n_outputs), 0.0) * NATS_PER_BIT

    @property
    def relative_goal(self) -> float:
        """The gap relative to the upper end at which a solver may stop."""
        return 0.9 * self.rtol if self.precise else self.rtol

    @staticmethod
    def ceiling(shape: tuple[int, ...], eta: float = 0.0) -> float:
        """What no upper end exceeds, in bits.

        No capacity exceeds log2 min(n_inputs, n_outputs); a floor eta under the output adds at
        most -log2(1 - eta n_outputs).
        """
        n, m = shape[-2:]
        return (math.log2(min(n, m)) - math.log1p(-eta * m) / NATS_PER_BIT) * (1.0 + 4.0 * EPS)

    def bracket(
        self, low: Floats, high: Floats, shape: tuple[int, ...], eta: float = 0.0
    ) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Bounds in nats as a bracket in bits, safe against rounding, and whether it is narrow enough."""
        r = self.rounding(shape[-1])
        slack = (r * (np.abs(high) + np.sqrt(2.0 * np.abs(high))) + r * r) / NATS_PER_BIT if self.precise else r
        upper = np.minimum(np.maximum(high / NATS_PER_BIT + slack, 0.0), self.ceiling(shape, eta))
        lower = np.minimum(np.maximum(low / NATS_PER_BIT - slack, 0.0), upper)
        gap = upper - lower
        return lower, upper, (gap <= self.tol) & (gap <= self.rtol * upper)
