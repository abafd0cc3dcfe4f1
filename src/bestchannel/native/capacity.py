"""The kernels of capacities: the interior point of many small channels or one larger one, and the certificate."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bestchannel.arrays import Floats
from bestchannel.native.library import Kernel

OK, STALLED, BAD_ENTRY, BAD_SUM = 0, 1, 2, 3
"""What became of a channel in a lane: solved, not converged, refused for an entry, refused for a row sum."""

FEW_LANES, MANY_LANES = 8, 32

_solve = Kernel(
    "lanes_solve",
    "stack[cnm] first last n m l tol. rtol. normalize lower[c] upper[c] inputs[cn] outputs[cm] status[c]u1 room(nml)",
)
_interior_point = Kernel("interior_point", "n m W[nm] neg_entropy[n] p[n] goal. >best[n] room(nm)", positive="nm")
_climb = Kernel("climb", "n m W[nm] neg_entropy[n] p[n] steps >best[n] >D[n] room(nm)", positive="nm")
_neg_entropies = Kernel("neg_entropies", "* m W[*m] >neg_entropy[*] >excess[*] >space[m]")
_outputs = Kernel("outputs", "* n m W[*nm] P[*n] >Q[*m] >space[m]")
_certified_divergences = Kernel(
    "certified_divergences", "* n m W[*nm] neg_entropy[*n] excess[*n] Q[*m] >D[*n] >space[m]"
)


def solve_in_lanes(
    stack: Floats, first: int, last: int, lanes: int, tol: float, rtol: float, normalize: bool,
    lower: Floats, upper: Floats, inputs: Floats, outputs: Floats, status: NDArray[np.uint8],
) -> None:  # fmt: skip
    """Fill in the answers (nats) for the channels first <= c < last of stack[c, x, y]."""
    if not 0 <= first <= last <= len(stack):
        raise IndexError(f"channels {first} to {last} of {len(stack)}")
    _solve(stack, first, last, tol, rtol, normalize, lower, upper, inputs, outputs, status, l=lanes)


def interior_point(W: Floats, neg_entropy: Floats, p: Floats, goal: float) -> Floats:
    """The best input distribution on the way from p to a gap of at most goal nats; the rows of W sum to 1."""
    best: Floats = _interior_point(W, neg_entropy, p, goal)
    return best


def climb(W: Floats, neg_entropy: Floats, p: Floats, steps: int) -> tuple[Floats, Floats]:
    """The p with the smallest gap among those of some multiplicative steps p <- p exp(rate D), and its D in nats."""
    best, D = _climb(W, neg_entropy, p, steps)
    return best, D


def neg_entropies(W: Floats) -> tuple[Floats, Floats]:
    """sum_y W log W in nats and sum_y W - 1 of every row W[..., y], from compensated sums."""
    neg_entropy, excess, _ = _neg_entropies(W)
    return neg_entropy, excess


def outputs(W: Floats, P: Floats) -> Floats:
    """PW of every channel, from compensated sums; shapes (..., n_inputs, n_outputs) and (..., n_inputs)."""
    Q: Floats = _outputs(W, P)[0]
    return Q


def certified_divergences(W: Floats, entropies: tuple[Floats, Floats], Q: Floats) -> Floats:
    """D(W_x || Q) in nats of every row divided by its sum, with the answer of `neg_entropies` for W."""
    D: Floats = _certified_divergences(W, *entropies, Q)[0]
    return D
