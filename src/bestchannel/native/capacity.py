"""The kernels of capacities: the interior point of many small channels or one larger one, and the certificate."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from bestchannel.arrays import Floats
from bestchannel.native.library import FLOAT, INTEGER, POINTER, address, floats, function, octets, require_positive

OK, STALLED, BAD_ENTRY, BAD_SUM = 0, 1, 2, 3
"""What became of a channel in a lane: solved, not converged, refused for an entry, refused for a row sum."""

FEW_LANES, MANY_LANES = 8, 32

_room = cache(function("lanes_room", INTEGER, INTEGER, INTEGER, returns=INTEGER))
_solve = function(
    "lanes_solve", POINTER, *[INTEGER] * 5, FLOAT, FLOAT, INTEGER, POINTER, POINTER, POINTER, POINTER, POINTER, POINTER
)


def solve_in_lanes(
    stack: Floats,
    first: int,
    last: int,
    lanes: int,
    tol: float,
    rtol: float,
    normalize: bool,
    lower: Floats,
    upper: Floats,
    inputs: Floats,
    outputs: Floats,
    status: NDArray[np.uint8],
) -> None:
    """Fill in the answers (nats) for the channels first <= c < last of stack[c, x, y]."""
    count, n, m = stack.shape
    if not 0 <= first <= last <= count:
        raise IndexError(f"channels {first} to {last} of {count}")
    space = np.empty(_room(n, m, lanes))
    _solve(
        floats(stack, count, n, m), first, last, n, m, lanes, tol, rtol, normalize, floats(lower, count),
        floats(upper, count), floats(inputs, count, n), floats(outputs, count, m), octets(status, count),
        address(space),
    )  # fmt: skip


_interior_point_room = function("interior_point_room", INTEGER, INTEGER, returns=INTEGER)
_interior_point = function("interior_point", INTEGER, INTEGER, *[POINTER] * 3, FLOAT, POINTER, POINTER)
_climb = function("climb", INTEGER, INTEGER, *[POINTER] * 3, INTEGER, POINTER, POINTER, POINTER)
_neg_entropies = function("neg_entropies", INTEGER, INTEGER, *[POINTER] * 4)
_outputs = function("outputs", INTEGER, INTEGER, INTEGER, *[POINTER] * 4)
_certified_divergences = function("certified_divergences", INTEGER, INTEGER, INTEGER, *[POINTER] * 6)


def interior_point(W: Floats, neg_entropy: Floats, p: Floats, goal: float) -> Floats:
    """The best input distribution on the way from p to a gap of at most goal nats; the rows of W sum to 1."""
    n, m = W.shape
    best, space = np.empty(n), np.empty(_interior_point_room(n, m))
    _interior_point(n, m, floats(W, n, m), floats(neg_entropy, n), floats(p, n), goal, address(best), address(space))
    return best


def climb(W: Floats, neg_entropy: Floats, p: Floats, steps: int) -> tuple[Floats, Floats]:
    """The p with the smallest gap among those of some multiplicative steps p <- p exp(rate D), and its D in nats."""
    n, m = W.shape
    require_positive(n, m)
    best, D, space = np.empty(n), np.empty(n), np.empty(4 * n + 2 * m)
    _climb(
        n, m, floats(W, n, m), floats(neg_entropy, n), floats(p, n), steps, address(best), address(D),
        address(space),
    )  # fmt: skip
    return best, D


def neg_entropies(W: Floats) -> tuple[Floats, Floats]:
    """sum_y W log W in nats and sum_y W - 1 of every row W[..., y], from compensated sums."""
    *leading, m = W.shape
    neg_entropy, excess, space = np.empty(leading), np.empty(leading), np.empty(m)
    _neg_entropies(neg_entropy.size, m, floats(W, *W.shape), address(neg_entropy), address(excess), address(space))
    return neg_entropy, excess


def outputs(W: Floats, P: Floats) -> Floats:
    """PW of every channel, from compensated sums; shapes (..., n_inputs, n_outputs) and (..., n_inputs)."""
    *leading, n, m = W.shape
    Q, space = np.empty((*leading, m)), np.empty(m)
    _outputs(Q.size // m, n, m, floats(W, *W.shape), floats(P, *leading, n), address(Q), address(space))
    return Q


def certified_divergences(W: Floats, entropies: tuple[Floats, Floats], Q: Floats) -> Floats:
    """D(W_x || Q) in nats of every row divided by its sum, with the answer of `neg_entropies` for W."""
    *leading, n, m = W.shape
    neg_entropy, excess = entropies
    D, space = np.empty((*leading, n)), np.empty(m)
    _certified_divergences(
        D.size // n, n, m, floats(W, *W.shape), floats(neg_entropy, *leading, n), floats(excess, *leading, n),
        floats(Q, *leading, m), address(D), address(space),
    )  # fmt: skip
    return D
