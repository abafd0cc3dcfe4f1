# mypy: ignore-errors
"""The interior point of `lanes` for one channel, where the innermost loops run over its inputs (numba).

Plain capacity only: no floor, no cost, no relative accuracy. The Newton matrix A is kept in
its upper triangle, row after row; with four rows r and coefficients f at a time,
A_ij += sum_k f_ki r_kj both adds up K and eliminates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bestchannel.arrays import Floats, Integers
from bestchannel.capacity import logarithm
from bestchannel.capacity.logarithm import LEAST_SLACK, SHORT_OF_BOUNDARY, TINY
from bestchannel.compiled import entry, inlined, inner, regrouping

log = inlined(logarithm.log)

MAX_ITERATIONS = 80
EPS = float(np.finfo(float).eps)
FIRST_RATE = 0.5
BLOCK = 4
VECTORS = 16
"""Numbers in the vectors of one round of an unrolled loop: rows of A are filled up to multiples of it."""

SPARSE = 16
"""How many times fewer products K must need over the non-zero entries for these to be listed."""


class ChannelLayout(NamedTuple):
    """The rows, laid out both ways, and the non-zero entries of every column where they are few."""

    W: Floats  # [x, y]
    by_output: Floats  # [y, x]
    neg_entropy: Floats  # [x] sum_y W log W
    starts: Integers  # [y + 1] where the entries of column y begin; empty where they are many
    inputs: Integers  # [entry] their x, ascending in a column
    entries: Floats  # [entry] W


class Iterate(NamedTuple):
    """An input distribution, what follows from it, and scratch."""

    p: Floats  # [x]
    s: Floats  # [x] slack C - D_x
    D: Floats  # [x] D(W_x || q), nats
    q: Floats  # [y] pW
    log_q: Floats  # [y]
    U: Floats  # [y, x] (W - 1q') / sqrt q, filled up with zeros to whole blocks of y
    A: Floats  # [x, x] upper triangle: the diagonal matrix times the unit triangle of the factors
    pivots: Floats  # [x] 1 / the diagonal matrix
    weight: Floats  # [x] s/p
    v: Floats  # [x] A^-1 1
    F: Floats  # [k, x] coefficients of one block


@regrouping
def _dot(a, b):
    total = 0.0
    for k in range(len(a)):
        total += a[k] * b[k]
    return total


@inner
def _copy(values, out):
    for k in range(len(out)):
        out[k] = values[k]


@inner
def _scale_to_one(p):
    total = p.sum()
    for x in range(len(p)):
        p[x] /= total


@regrouping
def _add_row(out, coefficient, row):
    """out += coefficient * row."""
    for k in range(len(out)):
        out[k] += coefficient * row[k]


@regrouping
def _add_rows(out, coefficients, rows):
    """out += coefficients @ rows."""
    n = len(rows)
    whole = n - n % BLOCK
    for i in range(0, whole, BLOCK):
        a, b, c, d = coefficients[i], coefficients[i + 1], coefficients[i + 2], coefficients[i + 3]
        r, s, t, u = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
        for k in range(len(out)):
            out[k] += (a * r[k] + b * s[k]) + (c * t[k] + d * u[k])
    for i in range(whole, n):
        _add_row(out, coefficients[i], rows[i])


@regrouping
def _add_block(A, F, rows, first):
    """A_ij += sum_k F_ki rows_kj for the four k and first <= i <= j; some j < i, for whole vectors, do no harm."""
    for i in range(first, len(A)):
        a, b, c, d = F[0, i], F[1, i], F[2, i], F[3, i]
        j = i - i % VECTORS
        r, s, t, u = rows[0, j:], rows[1, j:], rows[2, j:], rows[3, j:]
        out = A[i, j:]
        for k in range(len(out)):
            out[k] += (a * r[k] + b * s[k]) + (c * t[k] + d * u[k])


@inner
def _laid_out(W, neg_entropy):
    n, m = W.shape
    by_output = np.ascontiguousarray(W.T)
    counts = np.zeros(m, np.int64)
    for y in range(m):
        for x in range(n):
            counts[y] += by_output[y, x] > 0.0
    if np.sum(counts * counts) * SPARSE > n * n * m:
        return ChannelLayout(W, by_output, neg_entropy, np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    starts = np.zeros(m + 1, np.int64)
    inputs = np.empty(counts.sum(), np.int64)
    entries = np.empty(len(inputs))
    for y in range(m):
        e = starts[y]
        for x in range(n):
            if by_output[y, x] > 0.0:
                inputs[e], entries[e] = x, by_output[y, x]
                e += 1
        starts[y + 1] = e
    return ChannelLayout(W, by_output, neg_entropy, starts, inputs, entries)


@inner
def _evaluate(channel, state):
    """q, D and the certificate low <= C <= high of p."""
    p, D, q, log_q = state.p, state.D, state.q, state.log_q
    q[:] = TINY
    _add_rows(q, p, channel.W)
    for y in range(len(q)):
        log_q[y] = -log(q[y])
    _copy(channel.neg_entropy, D)
    _add_rows(D, log_q, channel.by_output)
    return _dot(p, D) / p.sum(), D.max()


@inner
def _add_products(channel, state):
    """A = K, or K + 11' where the non-zero entries are listed: one as good as the other, as 1' dp = 0."""
    A, q, U = state.A, state.q, state.U
    A[:] = 0.0
    if len(channel.starts) == 0:
        for y in range(len(q)):
            root = 1.0 / np.sqrt(q[y])
            to, row = U[y], channel.by_output[y]
            for x in range(len(row)):
                to[x] = (row[x] - q[y]) * root
        for y in range(0, len(U), BLOCK):
            _add_block(A, U[y : y + BLOCK], U[y : y + BLOCK], 0)
        return
    inputs, entries = channel.inputs, channel.entries
    for y in range(len(q)):
        last = channel.starts[y + 1]
        for i in range(channel.starts[y], last):
            row, f = A[inputs[i]], entries[i] / q[y]
            for j in range(i, last):
                row[inputs[j]] += f * entries[j]


@inner
def _factor(channel, state):
    """The factors of K + theta 11' + diag(s/p)."""
    A, pivots, F, weight = state.A, state.pivots, state.F, state.weight
    n = len(A)
    _add_products(channel, state)
    theta = 0.0
    for x in range(n):
        theta = max(theta, A[x, x])
    for x in range(n):
        weight[x] = state.s[x] / state.p[x]
        for j in range(x, n):
            A[x, j] += theta
        A[x, x] += weight[x] + EPS * theta
    for first in range(0, n, BLOCK):
        last = min(first + BLOCK, n)
        for j in range(first, last):
            for k in range(first, j):
                _add_row(A[j, j:], -pivots[k] * A[k, j], A[k, j:])
            pivots[j] = 1.0 / max(A[j, j], TINY)
        if last < n:
            for k in range(BLOCK):
                for i in range(last, n):
                    F[k, i] = -pivots[first + k] * A[first + k, i]
            _add_block(A, F, A[first:last], last)


@inner
def _solve(state, b):
    """Overwrite b with A^-1 b."""
    A, pivots = state.A, state.pivots
    n = len(b)
    for j in range(n):
        _add_row(b[j + 1 :], -pivots[j] * b[j], A[j, j + 1 :])
    for j in range(n - 1, -1, -1):
        b[j] = pivots[j] * (b[j] - _dot(b[j + 1 :], A[j, j + 1 :]))


@inner
def _solve_within_simplex(state, b):
    """Overwrite b with the dp of A dp + c 1 = b, 1' dp = 0."""
    _solve(state, b)
    _add_row(b, -b.sum() / state.v.sum(), state.v)


@inner
def _longest_step(value, change):
    """The largest step <= 1 that keeps value + step * change >= 0."""
    step = 1.0
    for x in range(len(value)):
        step = min(step, value[x] / max(-change[x], value[x]))
    return step


@inner
def _short_of_boundary(value, change):
    step = _longest_step(value, change)
    return step if step >= 1.0 else SHORT_OF_BOUNDARY * step


@inner
def _newton(channel, state, high, goal):
    """The step (dp, ds) of Mehrotra's predictor and corrector."""
    p, s, q, weight = state.p, state.s, state.q, state.weight
    _factor(channel, state)
    state.v[:] = 1.0
    _solve(state, state.v)
    dp = state.D - high
    _solve_within_simplex(state, dp)
    ds = -s - weight * dp
    now = _dot(p, s) + TINY
    ahead = _dot(p + _longest_step(p, dp) * dp, s + _longest_step(s, ds) * ds)
    mu = max((ahead / now) ** 3 * now, 0.1 * goal) / len(p)
    dq = np.zeros(len(q))
    _add_rows(dq, dp, channel.W)
    dq /= q
    aim = (mu - dp * ds) / p
    dp = state.D - high + aim
    if dq.min() > -0.5:
        _add_rows(dp, 0.5 * dq * dq, channel.by_output)
    _solve_within_simplex(state, dp)
    return dp, aim - s - weight * dp


@inner
def _first(channel, p, goal):
    """A state at p, lifted off the boundary in proportion to its gap."""
    n, m = channel.W.shape
    width = -(-n // VECTORS) * VECTORS
    state = Iterate(
        p.copy(), np.empty(n), np.empty(n), np.empty(m), np.empty(m), np.zeros((-(-m // BLOCK) * BLOCK, width)),
        np.zeros((n, width)), np.empty(n), np.empty(n), np.empty(n), np.empty((BLOCK, n)),
    )  # fmt: skip
    low, high = _evaluate(channel, state)
    least = 0.1 / n * max(high - low, goal) / max(high, TINY)
    for x in range(n):
        state.p[x] = max(p[x], least)
    _scale_to_one(state.p)
    low, high = _evaluate(channel, state)
    for x in range(n):
        state.s[x] = high + 0.1 * (high - low) - state.D[x] + LEAST_SLACK
    return state, low, high


@inner
def _divergences(W, neg_entropy, p):
    """D(W_x || pW) in nats."""
    q, D = np.full(W.shape[1], TINY), np.empty(len(W))
    _add_rows(q, p, W)
    for y in range(len(q)):
        q[y] = log(q[y])
    for x in range(len(D)):
        D[x] = neg_entropy[x] - _dot(q, W[x])
    return D


@entry("float64[::1](float64[:, ::1])")
def neg_entropies(W):
    """sum_y W log W of every row."""
    n, m = W.shape
    logs, total = np.empty(m), np.empty(n)
    for x in range(n):
        row = W[x]
        for y in range(m):
            logs[y] = log(max(row[y], TINY))
        total[x] = _dot(logs, row)
    return total


@entry("float64[::1](float64[:, ::1], float64[::1], float64[::1], int64)")
def climb(W, neg_entropy, p, steps):
    """The p with the smallest gap among those of some multiplicative steps p <- p exp(rate D).

    Rate 1 is the step of Blahut and Arimoto [Bla72, Ari72]; here the rate grows for as
    long as the lower bound rises [MD04].
    """
    D = _divergences(W, neg_entropy, p)
    low, high = _dot(p, D), D.max()
    best, best_gap, rate = p, high - low, max(2.0, FIRST_RATE / (high - low + TINY))
    for _ in range(steps):
        tried = p * np.exp(rate * (D - high))
        _scale_to_one(tried)
        tried_D = _divergences(W, neg_entropy, tried)
        tried_low = _dot(tried, tried_D)
        if tried_low > low:
            p, D, low, high, rate = tried, tried_D, tried_low, tried_D.max(), 1.5 * rate
            if high - low < best_gap:
                best, best_gap = p, high - low
        else:
            rate /= 3.0
    return best


@entry("float64[::1](float64[:, ::1], float64[::1], float64[::1], float64)")
def interior_point(W, neg_entropy, p, goal):
    """The best input distribution on the way from p to a gap of at most goal nats; the rows of W sum to 1."""
    channel = _laid_out(W, neg_entropy)
    state, low, high = _first(channel, p, goal)
    best, best_gap = p.copy(), np.inf
    for _ in range(MAX_ITERATIONS):
        if high - low < best_gap:
            _copy(state.p, best)
            best_gap = high - low
        if high - low <= goal or not high - low < 1e300:
            break
        dp, ds = _newton(channel, state, high, goal)
        _add_row(state.p, _short_of_boundary(state.p, dp), dp)
        _add_row(state.s, _short_of_boundary(state.s, ds), ds)
        _scale_to_one(state.p)
        low, high = _evaluate(channel, state)
    return best
