# mypy: ignore-errors
"""Capacities of many small channels: one interior point in vector lanes (numba).

The problem is max_P I(P; W) over the simplex. With D_x = D(W_x || PW) its optimality
conditions, relaxed by mu > 0, are

    D_x - C + s_x = 0,    p_x s_x = mu,    sum_x p_x = 1,    p, s > 0,

and at mu = 0 they say D_x <= C with equality on the support of P. A Newton step solves

    (K + diag(s/p)) dp + dC 1 = D - C 1 + mu/p,    1' dp = 0,
    K = U diag(1/q) U',    U = W - 1 q',    q = PW,

one factorisation of an n_inputs x n_inputs matrix, with Mehrotra's predictor and
corrector [Meh92] on it. U rather than W keeps K accurate when the rows are nearly equal.

Whatever the steps did, the answer is certified afresh from p alone:
I(p; W) <= C <= max_x D_x.

Arrays are laid out with the lane last, `[x, y, lane]`, so that every innermost loop is
the same arithmetic on neighbouring channels and compiles to vector instructions. A lane
whose channel is finished takes the next one from the queue.

Three choices make it hold where the textbook step fails. K p = 0, so K alone would leave
the system as singular as mu is small: since 1' dp = 0, adding theta 11' to K changes
nothing but its condition. mu is never aimed below what the tolerance needs. And the
second-order term of D is dropped where the predictor would halve some q_y.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bestchannel.arrays import ROW_SUM_TOLERANCE, Floats
from bestchannel.capacity import logarithm
from bestchannel.capacity.capacity_kernels import BAD_ENTRY, BAD_SUM, FIRST_MARGIN, MAX_ITERATIONS, OK, STALLED
from bestchannel.capacity.logarithm import LEAST_SLACK, SHORT_OF_BOUNDARY, TINY
from bestchannel.compiled import entry, inlined, inner

log = inlined(logarithm.log)


class Lanes(NamedTuple):
    """The state of the interior point, one channel in each lane."""

    W: Floats  # [x, y, lane]
    U: Floats  # [x, y, lane] W - 1 q'
    A: Floats  # [x, x, lane] the factors of the Newton matrix
    p: Floats  # [x, lane] input distribution
    s: Floats  # [x, lane] slack C - D_x
    D: Floats  # [x, lane] D(W_x || q), nats
    neg_entropy: Floats  # [x, lane] sum_y W log W
    v: Floats  # [x, lane] A^-1 1
    dp: Floats  # [x, lane]
    ds: Floats  # [x, lane]
    aim: Floats  # [x, lane] what p_x s_x / p_x is aimed at
    q: Floats  # [y, lane] output distribution pW
    r: Floats  # [y, lane] 1/q
    log_q: Floats  # [y, lane]
    dq: Floats  # [y, lane] change of log q
    weight: Floats  # [x, lane] s/p
    low: Floats  # [lane] I(p; W)
    high: Floats  # [lane] max_x D_x
    goal: Floats  # [lane] the gap at which it has converged
    mu: Floats  # [lane]
    step_p: Floats  # [lane]
    step_s: Floats  # [lane]
    scratch: Floats  # [2, lane] sums that no function leaves to another


@inner
def _read(block, staged, status, normalize):
    """Lay a block of channels out in lanes with their rows summing to 1; set `status` to OK or why one is refused."""
    count, n, m = block.shape
    W, trouble, total = staged.W, staged.scratch[0], staged.scratch[1]
    for l in range(count):
        trouble[l] = OK
    for x in range(n):
        for l in range(count):
            total[l] = 0.0
        for y in range(m):
            for l in range(count):
                W[x, y, l] = block[l, x, y]
            for l in range(count):
                total[l] += W[x, y, l]
            for l in range(count):
                trouble[l] = trouble[l] if (W[x, y, l] >= 0.0) & (W[x, y, l] <= 1e300) else BAD_ENTRY
        for l in range(count):
            good = (abs(total[l] - 1.0) <= ROW_SUM_TOLERANCE) | (normalize & (total[l] > 0.0))
            trouble[l] = trouble[l] if good else max(trouble[l], BAD_SUM)
        for l in range(count):
            total[l] = 1.0 / total[l]
        for y in range(m):
            for l in range(count):
                W[x, y, l] *= total[l]
    for l in range(count):
        status[l] = int(trouble[l])


@inner
def _neg_entropies(W, neg_entropy):
    """sum_y W log W in every lane."""
    n, m, lanes = W.shape
    for x in range(n):
        for l in range(lanes):
            neg_entropy[x, l] = 0.0
        for y in range(m):
            for l in range(lanes):
                neg_entropy[x, l] += W[x, y, l] * log(max(W[x, y, l], TINY))


@inner
def _stage(block, staged, status, normalize, precise):
    """Prepare a block of channels at the uniform input; set `status` to OK or why one is refused."""
    n, _, lanes = staged.W.shape
    for x in range(n):
        for l in range(lanes):
            staged.p[x, l] = 1.0 / n  # again for every block, so that no answer depends on which one it was in
    _read(block, staged, status, normalize)
    _neg_entropies(staged.W, staged.neg_entropy)
    _divergences(staged, precise)
    for x in range(n):
        for l in range(lanes):
            staged.s[x, l] = FIRST_MARGIN * staged.high[l] - staged.D[x, l] + LEAST_SLACK


@inlined
def _take(staged, source, state, lane):
    """Move a staged channel into a lane."""
    n, m, _ = state.W.shape
    for x in range(n):
        for y in range(m):
            state.W[x, y, lane] = staged.W[x, y, source]
            state.U[x, y, lane] = staged.U[x, y, source]
        state.p[x, lane] = staged.p[x, source]
        state.s[x, lane] = staged.s[x, source]
        state.D[x, lane] = staged.D[x, source]
        state.neg_entropy[x, lane] = staged.neg_entropy[x, source]
    for y in range(m):
        state.q[y, lane] = staged.q[y, source]
        state.r[y, lane] = staged.r[y, source]
    state.high[lane] = staged.high[source]
    state.low[lane] = staged.low[source]


@inner
def _divergences(state, precise):
    """q = pW, r = 1/q, U = W - 1q' and D_x = D(W_x || q) in nats, in every lane.

    The quick form of D_x subtracts two entropies and is exact to some 1e-16 nats. The
    precise form, sum_y q psi(u) with u = (W-q)/q and psi(u) = (1+u) log(1+u) - u, keeps
    its relative accuracy for a channel of tiny capacity.
    """
    n, m, lanes = state.W.shape
    W, U, p, q, r, D, log_q = state.W, state.U, state.p, state.q, state.r, state.D, state.log_q
    low, high, mass = state.low, state.high, state.scratch[0]
    for l in range(lanes):
        mass[l] = 0.0
    for x in range(n):
        for l in range(lanes):
            mass[l] += p[x, l]
    for x in range(n):
        for l in range(lanes):
            p[x, l] /= mass[l]
    for y in range(m):
        for l in range(lanes):
            q[y, l] = TINY
        for x in range(n):
            for l in range(lanes):
                q[y, l] += p[x, l] * W[x, y, l]
        for l in range(lanes):
            r[y, l] = 1.0 / q[y, l]
        for l in range(lanes):
            log_q[y, l] = log(q[y, l])
    for x in range(n):
        for l in range(lanes):
            D[x, l] = 0.0 if precise else state.neg_entropy[x, l]
        for y in range(m):
            for l in range(lanes):
                U[x, y, l] = W[x, y, l] - q[y, l]
            if precise:
                for l in range(lanes):
                    D[x, l] += q[y, l] * _psi(U[x, y, l] * r[y, l])
            else:
                for l in range(lanes):
                    D[x, l] -= W[x, y, l] * log_q[y, l]
    for l in range(lanes):
        low[l] = 0.0
        high[l] = 0.0
    for x in range(n):
        for l in range(lanes):
            low[l] += p[x, l] * D[x, l]
            high[l] = max(high[l], D[x, l])


@inner
def _psi(u):
    """(1+u) log(1+u) - u without cancellation for u near 0."""
    if u <= -1.0:
        return 1.0
    if abs(u) > 0.02:
        return (1.0 + u) * math.log1p(u) - u
    total = 0.0
    for k in range(10, 1, -1):  # sum_{k >= 2} (-u)^k / (k (k-1))
        total = total * -u + 1.0 / (k * (k - 1))
    return u * u * total


@inner
def _factor(state):
    """L D L' factors of K + theta 11' + diag(s/p): L below the diagonal of A, 1/D on it."""
    n, m, lanes = state.U.shape
    U, A, r, theta = state.U, state.A, state.r, state.scratch[0]
    for l in range(lanes):
        theta[l] = 0.0
    for i in range(n):
        for j in range(i + 1):
            for l in range(lanes):
                A[i, j, l] = 0.0
            for y in range(m):
                for l in range(lanes):
                    A[i, j, l] += U[i, y, l] * r[y, l] * U[j, y, l]
        for l in range(lanes):
            theta[l] = max(theta[l], A[i, i, l])
    for i in range(n):
        for j in range(i + 1):
            for l in range(lanes):
                A[i, j, l] += theta[l]
        for l in range(lanes):
            state.weight[i, l] = state.s[i, l] / state.p[i, l]
            A[i, i, l] += state.weight[i, l]
    for j in range(n):
        for l in range(lanes):
            A[j, j, l] = 1.0 / max(A[j, j, l], TINY)
        # column j still holds L D while the rows below are updated with it
        for i in range(j + 1, n):
            for c in range(j + 1, i + 1):
                for l in range(lanes):
                    A[i, c, l] -= A[i, j, l] * A[j, j, l] * A[c, j, l]
        for i in range(j + 1, n):
            for l in range(lanes):
                A[i, j, l] *= A[j, j, l]


@inner
def _solve(A, b):
    """Overwrite b with A^-1 b in every lane, by the factors in A."""
    n, lanes = b.shape
    for i in range(n):
        for j in range(i):
            for l in range(lanes):
                b[i, l] -= A[i, j, l] * b[j, l]
    for i in range(n - 1, -1, -1):
        for l in range(lanes):
            b[i, l] *= A[i, i, l]
        for j in range(i + 1, n):
            for l in range(lanes):
                b[i, l] -= A[j, i, l] * b[j, l]


@inner
def _solve_within_simplex(state):
    """Overwrite dp = b with the solution of A dp + c 1 = b, 1' dp = 0 in every lane."""
    A, v, dp, top, bottom = state.A, state.v, state.dp, state.scratch[0], state.scratch[1]
    n, lanes = dp.shape
    _solve(A, dp)
    for l in range(lanes):
        top[l] = 0.0
        bottom[l] = 0.0
    for x in range(n):
        for l in range(lanes):
            top[l] += dp[x, l]
            bottom[l] += v[x, l]
    for l in range(lanes):
        top[l] /= bottom[l]
    for x in range(n):
        for l in range(lanes):
            dp[x, l] -= top[l] * v[x, l]


@inner
def _longest_step(value, change, step):
    """The largest step <= 1 that keeps value + step * change >= 0, in every lane."""
    n, lanes = value.shape
    for l in range(lanes):
        step[l] = 1.0
    for x in range(n):
        for l in range(lanes):
            step[l] = min(step[l], value[x, l] / max(-change[x, l], value[x, l]))


@inner
def _predict(state):
    """dp, ds straight to mu = 0, and the mu that the corrector should aim at."""
    n, lanes = state.p.shape
    p, s, dp, ds, v, step_p, step_s = state.p, state.s, state.dp, state.ds, state.v, state.step_p, state.step_s
    now = state.scratch[0]
    for x in range(n):
        for l in range(lanes):
            v[x, l] = 1.0
            dp[x, l] = state.D[x, l] - state.high[l]
    _solve(state.A, v)
    _solve_within_simplex(state)
    for x in range(n):
        for l in range(lanes):
            ds[x, l] = -s[x, l] - state.weight[x, l] * dp[x, l]
    _longest_step(p, dp, step_p)
    _longest_step(s, ds, step_s)
    for l in range(lanes):
        now[l] = TINY
        state.mu[l] = 0.0
    for x in range(n):
        for l in range(lanes):
            now[l] += p[x, l] * s[x, l]
            state.mu[l] += (p[x, l] + step_p[l] * dp[x, l]) * (s[x, l] + step_s[l] * ds[x, l])
    for l in range(lanes):
        ratio = state.mu[l] / now[l]
        state.mu[l] = max(ratio * ratio * ratio * now[l], 0.1 * state.goal[l]) / n


@inner
def _correct(state):
    """dp, ds towards mu, with the second-order terms that the predictor shows."""
    n, m, lanes = state.W.shape
    p, s, dp, ds, dq, aim, curved = state.p, state.s, state.dp, state.ds, state.dq, state.aim, state.scratch[0]
    for l in range(lanes):
        curved[l] = 0.5
    for y in range(m):
        for l in range(lanes):
            dq[y, l] = 0.0
        for x in range(n):
            for l in range(lanes):
                dq[y, l] += dp[x, l] * state.U[x, y, l]
        for l in range(lanes):
            dq[y, l] *= state.r[y, l]
            curved[l] = 0.0 if dq[y, l] < -0.5 else curved[l]
    for x in range(n):
        for l in range(lanes):
            aim[x, l] = (state.mu[l] - dp[x, l] * ds[x, l]) / p[x, l]
            dp[x, l] = state.D[x, l] - state.high[l] + aim[x, l]
    for y in range(m):
        for l in range(lanes):
            dq[y, l] *= curved[l] * dq[y, l]
    for x in range(n):
        for y in range(m):
            for l in range(lanes):
                dp[x, l] += state.W[x, y, l] * dq[y, l]
    _solve_within_simplex(state)
    for x in range(n):
        for l in range(lanes):
            ds[x, l] = aim[x, l] - s[x, l] - state.weight[x, l] * dp[x, l]


@inner
def _move(state):
    """Step along (dp, ds), stopping short of the boundary."""
    n, lanes = state.p.shape
    _longest_step(state.p, state.dp, state.step_p)
    _longest_step(state.s, state.ds, state.step_s)
    for l in range(lanes):
        state.step_p[l] *= 1.0 if state.step_p[l] >= 1.0 else SHORT_OF_BOUNDARY
        state.step_s[l] *= 1.0 if state.step_s[l] >= 1.0 else SHORT_OF_BOUNDARY
    for x in range(n):
        for l in range(lanes):
            state.p[x, l] += state.step_p[l] * state.dp[x, l]
            state.s[x, l] += state.step_s[l] * state.ds[x, l]


@inner
def _idle(n, m, lanes):
    """Lanes that hold the useless channel, which no step disturbs."""
    return Lanes(
        np.full((n, m, lanes), 1.0 / m), np.zeros((n, m, lanes)), np.zeros((n, n, lanes)),
        np.full((n, lanes), 1.0 / n), np.ones((n, lanes)), np.zeros((n, lanes)), np.zeros((n, lanes)),
        np.zeros((n, lanes)), np.zeros((n, lanes)), np.zeros((n, lanes)), np.zeros((n, lanes)),
        np.full((m, lanes), 1.0 / m), np.full((m, lanes), float(m)), np.zeros((m, lanes)), np.zeros((m, lanes)),
        np.zeros((n, lanes)), np.zeros(lanes), np.zeros(lanes), np.ones(lanes),
        np.zeros(lanes), np.zeros(lanes), np.zeros(lanes), np.zeros((2, lanes)),
    )  # fmt: skip


@entry(
    "void(Array(float64, 3, 'C', True), int64, int64, int64, float64, float64, boolean,"  # True: may be read-only
    " float64[::1], float64[::1], float64[:, ::1], float64[:, ::1], uint8[::1])"
)
def solve(stack, first, last, lanes, tol, rtol, normalize, lower, upper, inputs, outputs, status):
    """Fill in the answers (nats) for the channels first <= c < last of stack[c, x, y]."""
    _, n, m = stack.shape
    state, staged = _idle(n, m, lanes), _idle(n, m, lanes)
    owner = np.full(lanes, -1, np.int64)
    iterations = np.zeros(lanes, np.int64)
    precise = rtol < 1.0
    queue, staged_first, staged_last = first, first, first
    busy = lanes
    while busy > 0:
        busy = 0
        for l in range(lanes):
            channel = owner[l]
            if channel >= 0:
                gap = state.high[l] - state.low[l]
                state.goal[l] = min(tol, rtol * state.high[l]) if precise else tol
                iterations[l] += 1
                if gap <= state.goal[l] or iterations[l] > MAX_ITERATIONS or not gap < 1e300:
                    status[channel] = OK if gap <= state.goal[l] else STALLED
                    lower[channel] = state.low[l]
                    upper[channel] = state.high[l]
                    for x in range(n):
                        inputs[channel, x] = state.p[x, l]
                    for y in range(m):
                        outputs[channel, y] = state.q[y, l]
                    owner[l] = -1
            while owner[l] < 0 and queue < last:
                if queue == staged_last:
                    staged_first, staged_last = queue, min(queue + lanes, last)
                    block = slice(staged_first, staged_last)
                    _stage(stack[block], staged, status[block], normalize, precise)
                if status[queue] == OK:
                    _take(staged, queue - staged_first, state, l)
                    owner[l] = queue
                    iterations[l] = 0
                    state.goal[l] = tol
                queue += 1
            busy += owner[l] >= 0
        if busy > 0:
            _factor(state)
            _predict(state)
            _correct(state)
            _move(state)
            _divergences(state, precise)
