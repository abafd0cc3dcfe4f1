"""The interior point of `lanes` in NumPy, to the bit, for as long as compiling it would take longer than it saves.

Every line is the arithmetic of a function of `lanes` in its order, on all channels at once in place of one
after the other: a sum over letters is taken letter by letter, and so rounds as it does there. Which of the
two has solved a channel is therefore not to be seen in any answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from bestchannel.arrays import ROW_SUM_TOLERANCE, Floats
from bestchannel.capacity.capacity_kernels import BAD_ENTRY, BAD_SUM, FIRST_MARGIN, MAX_ITERATIONS, OK, STALLED
from bestchannel.capacity.logarithm import LEAST_SLACK, SHORT_OF_BOUNDARY, TINY, log

Status = NDArray[np.uint8]


@dataclass
class Vectors:
    """The state of the interior point; the channel comes last."""

    W: Floats  # [x, y, c]
    neg_entropy: Floats  # [x, c] sum_y W log W
    p: Floats  # [x, c] input distribution
    q: Floats  # [y, c] output distribution pW
    D: Floats  # [x, c] D(W_x || q), nats
    s: Floats  # [x, c] slack C - D_x
    low: Floats  # [c] I(p; W)
    high: Floats  # [c] max_x D_x
    goal: Floats  # [c] the gap at which it has converged
    channel: NDArray[np.int64]  # [c] its place in the stack

    def only(self, kept: NDArray[np.bool_]) -> Vectors:
        """The channels that are not done; two at least, since NumPy adds up a single column in another order."""
        places = np.flatnonzero(kept)
        places = np.repeat(places, 2) if len(places) == 1 else places
        return Vectors(*(np.take(getattr(self, field.name), places, axis=-1) for field in fields(self)))


@np.errstate(all="ignore")
def solve(
    stack: Floats,
    tol: float,
    rtol: float,
    normalize: bool,
    lower: Floats,
    upper: Floats,
    inputs: Floats,
    outputs: Floats,
    status: Status,
) -> None:
    """Fill in the answers (nats) for stack[c, x, y], as `lanes.solve` does."""
    precise = rtol < 1.0
    state = _staged(stack, normalize, precise, status)
    if not state.channel.size:
        return
    state.goal[:] = tol
    for iteration in range(1, MAX_ITERATIONS + 2):
        _step(state)
        _evaluate(state, precise)
        gap = state.high - state.low
        state.goal = np.minimum(tol, rtol * state.high) if precise else state.goal
        solved = gap <= state.goal
        done = solved | ~(gap < 1e300) | (iteration > MAX_ITERATIONS)
        c = state.channel[done]
        status[c] = np.where(solved[done], OK, STALLED)
        lower[c], upper[c] = state.low[done], state.high[done]
        inputs[c], outputs[c] = state.p[:, done].T, state.q[:, done].T
        if done.all():
            return
        if done.any():
            state = state.only(~done)


def _staged(stack: Floats, normalize: bool, precise: bool, status: Status) -> Vectors:
    """The channels at the uniform input; `status` says why one is refused."""
    count, n, _ = stack.shape
    W = np.ascontiguousarray(np.moveaxis(stack if count > 1 else np.repeat(stack, 2, axis=0), 0, -1))
    total = np.add.reduce(W, axis=1)
    bad_entry = ~np.all((W >= 0.0) & (W <= 1e300), axis=(0, 1))
    good_sum = (np.abs(total - 1.0) <= ROW_SUM_TOLERANCE) | (normalize & (total > 0.0))
    trouble = np.where(bad_entry, BAD_ENTRY, np.where(good_sum.all(axis=0), OK, BAD_SUM))
    status[:] = trouble[:count]
    W *= (1.0 / total)[:, None]
    channels, empty = W.shape[-1], np.empty(0)
    state = Vectors(
        W, np.add.reduce(W * log(np.maximum(W, TINY)), axis=1), np.full((n, channels), 1.0 / n),
        empty, empty, empty, empty, empty, np.empty(channels), np.arange(channels) % count,
    )  # fmt: skip
    _evaluate(state, precise)
    state.s = FIRST_MARGIN * state.high - state.D + LEAST_SLACK
    return state if (trouble == OK).all() else state.only(trouble == OK)


def _evaluate(state: Vectors, precise: bool) -> None:
    """What follows from p: see `lanes._divergences`."""
    state.p = state.p / np.add.reduce(state.p, axis=0)
    state.q = np.add.reduce(state.p[:, None] * state.W, axis=0, initial=TINY)
    if precise:
        U, r = state.W - state.q, 1.0 / state.q
        state.D = np.add.reduce(state.q * _psi(U * r), axis=1)
    else:
        costs = state.W * log(state.q)
        state.D = state.neg_entropy.copy()
        for y in range(costs.shape[1]):
            state.D -= costs[:, y]
    state.low = np.add.reduce(state.p * state.D, axis=0)
    state.high = np.fmax.reduce(state.D, axis=0, initial=0.0)


def _psi(u: Floats) -> Floats:
    """(1+u) log(1+u) - u without cancellation for u near 0."""
    total = np.zeros_like(u)
    for k in range(10, 1, -1):
        total = total * -u + 1.0 / (k * (k - 1))
    value = np.where(u <= -1.0, 1.0, u * u * total)
    far = (u > -1.0) & (np.abs(u) > 0.02)
    logarithms = [math.log1p(each) for each in u[far]]  # the C library's, as in `lanes`: NumPy has one of its own
    value[far] = (1.0 + u[far]) * logarithms - u[far]
    return value


def _step(state: Vectors) -> None:
    """Mehrotra's predictor and corrector, and the step: `lanes._factor`, `_predict`, `_correct` and `_move`."""
    W, p, s, D, r = state.W, state.p, state.s, state.D, 1.0 / state.q
    U, weight, n = W - state.q, s / p, len(p)
    A = _factors(U, r, weight)
    v = _solved(A, np.ones_like(p))
    dp = _within_simplex(A, v, D - state.high)
    ds = -s - weight * dp
    ahead = (p + _longest_step(p, dp) * dp) * (s + _longest_step(s, ds) * ds)
    now = np.add.reduce(p * s, axis=0, initial=TINY)
    ratio = np.add.reduce(ahead, axis=0) / now
    mu = np.maximum(ratio * ratio * ratio * now, 0.1 * state.goal) / n

    dq = np.add.reduce(dp[:, None] * U, axis=0) * r
    curved = np.where((dq < -0.5).any(axis=0), 0.0, 0.5)
    aim = (mu - dp * ds) / p
    bent = W * (dq * (curved * dq))
    b = D - state.high + aim
    for y in range(len(dq)):
        b += bent[:, y]
    dp = _within_simplex(A, v, b)
    ds = aim - s - weight * dp
    state.p = p + _short_of_boundary(p, dp) * dp
    state.s = s + _short_of_boundary(s, ds) * ds


def _factors(U: Floats, r: Floats, weight: Floats) -> Floats:
    """L D L' factors of K + theta 11' + diag(s/p): L below the diagonal, 1/D on it."""
    n, scaled = len(U), U * r
    A = np.zeros((n, n, U.shape[-1]))
    for i in range(n):
        A[i, : i + 1] = np.add.reduce(scaled[i] * U[: i + 1], axis=1)
    diagonal = np.einsum("xxc->xc", A)
    A += np.fmax.reduce(diagonal, axis=0, initial=0.0)
    diagonal += weight
    for j in range(n):
        A[j, j] = 1.0 / np.maximum(A[j, j], TINY)
        L = A[j + 1 :, j] * A[j, j]
        A[j + 1 :, j + 1 :] -= L[:, None] * A[None, j + 1 :, j]
        A[j + 1 :, j] = L
    return A


def _solved(A: Floats, b: Floats) -> Floats:
    """A^-1 b by the factors in A."""
    n = len(b)
    for j in range(n - 1):
        b[j + 1 :] -= A[j + 1 :, j] * b[j]
    for i in range(n - 1, -1, -1):
        b[i] *= A[i, i]
        for term in A[i + 1 :, i] * b[i + 1 :]:
            b[i] -= term
    return b


def _within_simplex(A: Floats, v: Floats, b: Floats) -> Floats:
    """The solution of A dp + c 1 = b, 1' dp = 0, with v = A^-1 1."""
    dp = _solved(A, b)
    dp -= np.add.reduce(dp, axis=0) / np.add.reduce(v, axis=0) * v
    return dp


def _longest_step(value: Floats, change: Floats) -> Floats:
    """The largest step <= 1 that keeps value + step * change >= 0."""
    step: Floats = np.fmin.reduce(value / np.maximum(-change, value), axis=0, initial=1.0)
    return step


def _short_of_boundary(value: Floats, change: Floats) -> Floats:
    step = _longest_step(value, change)
    return np.where(step >= 1.0, step, step * SHORT_OF_BOUNDARY)
