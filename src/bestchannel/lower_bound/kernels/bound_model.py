# mypy: ignore-errors
"""A model from above of the bound of one box, built of the answers that it has met (numba).

For an input P and rows v the value at the price s and the output Q is

    φ(s) + Σ_x w_x D(W_x‖v_x) - s Σ_x P_x D(v_x‖Q) = φ(s) + cost - s (inner - Σ_y (Pv)_y log Q_y),

inner = Σ_x P_x Σ_y v_x log v_x. The bound of a box is the largest over (s, Q) of the smallest over
the (P, v) of the box. With finitely many answers in place of the box, the order may be changed:

    min over mixtures α of  Σ_j α_j cost_j + F(I(α)),   I(α) = Σ_j α_j inner_j - Σ_y q_y log q_y,  q = Σ_j α_j (Pv)_j,

with F the leader's cost of a capacity. That is convex in α, and its solution says which (s, Q) to
try next: s = -F'(I) and Q = q. It is at least the bound of the box, so that a box whose model
falls below what is required must be cut. An interior point solves it, like `capacity.lanes`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bestchannel.arrays import Floats
from bestchannel.compiled import inner
from bestchannel.lower_bound.kernels.convex_row import INFINITY, TINY, log_of
from bestchannel.lower_bound.kernels.leader_cost import leader_cost

MOST_STEPS, MOST_HALVINGS = 60, 20
SHORT_OF_BOUNDARY = 0.95
NEGLIGIBLE_PIVOT = 1e-14
MOST_CHANGE = 3.0
"""By which factor a step may change the price; F bends too much for longer ones."""


class Answers(NamedTuple):
    """Inputs and rows that were the smallest for some (s, Q), and the mixture of them that the model likes best."""

    cost: Floats  # [j] Σ_x w_x D(W_x‖v_x)
    inner: Floats  # [j] Σ_x P_x Σ_y v log v
    output: Floats  # [j, y] Pv
    P: Floats  # [j, x]
    v: Floats  # [j, x, y]
    share: Floats  # [j] α
    trial: Floats  # [j] scratch


def no_answers(size, n, m):
    """Room for `size` answers."""
    return Answers(
        np.empty(size), np.empty(size), np.empty((size, m)), np.empty((size, n)), np.empty((size, n, m)),
        np.empty(size), np.empty(size),
    )  # fmt: skip


@inner
def mixture(answers, shares, count, Q):
    """Cost and information of a mixture; fills Q with its output."""
    cost, information = 0.0, 0.0
    for y in range(len(Q)):
        Q[y] = TINY
        for j in range(count):
            Q[y] += shares[j] * answers.output[j, y]
        information -= Q[y] * math.log(Q[y])
    for j in range(count):
        information += shares[j] * answers.inner[j]
        cost += shares[j] * answers.cost[j]
    return cost, information


@inner
def solve_twice(A, b, c):
    """Overwrite b and c with A⁻¹b and A⁻¹c, A symmetric positive definite and given below its diagonal."""
    n = len(b)
    for j in range(n):
        A[j, j] = max(A[j, j], TINY)
        for i in range(j + 1, n):
            f = A[i, j] / A[j, j]
            for k in range(j + 1, i + 1):
                A[i, k] -= f * A[k, j]
            b[i] -= f * b[j]
            c[i] -= f * c[j]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            b[i] -= A[k, i] * b[k]
            c[i] -= A[k, i] * c[k]
        b[i] /= A[i, i]
        c[i] /= A[i, i]


@inner
def _fill_newton(answers, count, s, bend, information, gain, Q, A):
    """A = the Hessian s Σ_y u_i u_j/q + F'' d_i d_j, u = output - q, d = gain - I, made regular along 1."""
    size = 0.0
    for i in range(count):
        for j in range(i + 1):
            A[i, j] = bend * (gain[i] - information) * (gain[j] - information)
            for y in range(len(Q)):
                A[i, j] += s * (answers.output[i, y] - Q[y]) * (answers.output[j, y] - Q[y]) / Q[y]
        size = max(size, A[i, i])
    for i in range(count):
        for j in range(i + 1):
            A[i, j] += size
        A[i, i] += NEGLIGIBLE_PIVOT * size


@inner
def _gradient(answers, count, s, Q, gain, gradient):
    """gain = inner - Σ output log Q, gradient = cost - s gain; its smallest entry and its mean under the shares."""
    least, mean = INFINITY, 0.0
    for j in range(count):
        gain[j] = answers.inner[j]
        for y in range(len(Q)):
            gain[j] -= answers.output[j, y] * log_of(Q[y])
        gradient[j] = answers.cost[j] - s * gain[j]
        least = min(least, gradient[j])
        mean += answers.share[j] * gradient[j]
    return least, mean


@inner
def _direction(share, slack, excess, A, d_share, d_slack):
    """Newton's direction towards share · slack = μ with excess = gradient - λ; returns dλ."""
    count = len(excess)
    mu = 0.0
    for j in range(count):
        mu += 0.1 * share[j] * slack[j] / count
    for j in range(count):
        A[j, j] += slack[j] / share[j]
        d_share[j] = mu / share[j] - excess[j]
        d_slack[j] = 1.0
    solve_twice(A, d_share, d_slack)
    top, bottom = 0.0, 0.0
    for j in range(count):
        top += d_share[j]
        bottom += d_slack[j]
    for j in range(count):
        d_share[j] -= top / bottom * d_slack[j]
        d_slack[j] = (mu - slack[j] * d_share[j]) / share[j] - slack[j]
    return -top / bottom


@inner
def _longest(value, change):
    """The longest step ≤ 1 that keeps value + step · change positive."""
    step = 1.0
    for j in range(len(change)):
        if change[j] < 0.0:
            step = min(step, -SHORT_OF_BOUNDARY * value[j] / change[j])
    return step


@inner
def _leave_boundary(share, count, newest):
    """Give every answer a share, and the newest one a large one."""
    total = 0.0
    for j in range(count):
        share[j] = 0.2 if j == newest else 0.8 * share[j] + 0.2 / count
        total += share[j]
    for j in range(count):
        share[j] /= total


@inner
def _advance(answers, curve, step, change, before, Q):
    """Move the shares along their change, by less where the price would change too much.

    Returns the mixture's cost and information, and what `leader_cost` says of the latter.
    """
    share, trial, count = answers.share, answers.trial, len(change)
    cost, information, paid, s, bend = 0.0, 0.0, 0.0, before, 0.0
    for _ in range(MOST_HALVINGS):
        for j in range(count):
            trial[j] = share[j] + step * change[j]
        cost, information = mixture(answers, trial, count, Q)
        paid, s, bend = leader_cost(curve, information)
        if s < MOST_CHANGE * before and MOST_CHANGE * s > before:
            break
        step *= 0.5
    for j in range(count):
        share[j] = trial[j]
    return cost, information, paid, s, bend


@inner
def solve_model(answers, curve, count, newest, Q, goal):
    """The smallest value of the model to within `goal`, and its price; fills Q and the shares."""
    gain, gradient, slack = np.empty(count), np.empty(count), np.empty(count)
    d_share, d_slack, A = np.empty(count), np.empty(count), np.empty((count, count))
    _leave_boundary(answers.share, count, newest)
    cost, information = mixture(answers, answers.share, count, Q)
    paid, s, bend = leader_cost(curve, information)
    floor = 0.0
    for step in range(MOST_STEPS):
        least, mean = _gradient(answers, count, s, Q, gain, gradient)
        if not mean - least > goal:
            break
        if step == 0:
            floor = least - 0.5 * (mean - least)
            for i in range(count):
                slack[i] = gradient[i] - floor
        _fill_newton(answers, count, s, bend, information, gain, Q, A)
        for j in range(count):
            gradient[j] -= floor
        d_floor = _direction(answers.share, slack, gradient, A, d_share, d_slack)
        forward, raised = _longest(answers.share, d_share), _longest(slack, d_slack)
        cost, information, paid, s, bend = _advance(answers, curve, forward, d_share, s, Q)
        floor += raised * d_floor
        for j in range(count):
            slack[j] += raised * d_slack[j]
    return cost + paid, s
