# mypy: ignore-errors
"""What it costs at least to make a rival as good as the leader, if its input and rows lie in one box (numba).

    Z = min over v of  Σ_x w_x D(W_x‖v_x) + F(C(v)),   F(c) = min{Σ_x w_bx D(W_bx‖u_x): C(u) ≤ c}.

F(c) ≥ φ(s) - sc for every price s ≥ 0, and C(v) = max_P min_Q Σ_x P_x D(v_x‖Q). So on a box, a range
of every P_x and of every v_x(y), for every s and every output Q,

    Z ≥ φ(s) + min_P Σ_x ψ_x(sP_x),    ψ_x(t) = min_v w_x D(W_x‖v) - t D(v‖Q).

ψ_x is concave, hence above its chord over the range of P_x, and with chords for ψ_x the minimum over
P is a linear programme that sorting solves. (s, Q) are chosen by the model of `bound_model`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bestchannel.arrays import Floats, Integers
from bestchannel.compiled import inner
from bestchannel.lower_bound.kernels.bound_model import Answers, no_answers, solve_model
from bestchannel.lower_bound.kernels.concave_row import Parts, divergence_difference_row, row_parts
from bestchannel.lower_bound.kernels.convex_row import INFINITY, copy, log_of, lowest
from bestchannel.lower_bound.kernels.leader_cost import phi_at

LOW, HIGH = 0, 1

EXTRA_ANSWERS = 16
MOST_ROUNDS = 20
MODEL_TOLERANCE = 2e-4
CLOSED, HOPELESS = 1e-3, 0.25
"""A box is left when bound and model are this close, relative to the target, or the model is below the target and
the bound this close to it, relative to what is missing."""

LEAST_OUTPUT = 1e-12
ROUNDING = 64 * 2.0**-52
"""Of the sum of all weights and s max_y log 1/Q_y: more than the rounding errors of a bound add up to."""


class Boxes(NamedTuple):
    """The boxes that are open, each with its ranges, where its bound was reached, and where to cut it."""

    P: Floats  # [box, LOW or HIGH, x]
    v: Floats  # [box, LOW or HIGH, x, y]
    s: Floats  # [box]
    Q: Floats  # [box, y]
    bound: Floats  # [box]
    plan: Integers  # [box, KIND or ROW or LETTER]
    cut: Floats  # [box]


class Ends(NamedTuple):
    """The rows at both ends of every P_x, and the P that the linear programme chose."""

    psi: Floats  # [x] ψ_x at the low end
    v: Floats  # [LOW or HIGH, x, y]
    slope: Floats  # [x] of the chord of ψ_x
    P: Floats  # [x]
    share: Floats  # [x] of the high end
    log_Q: Floats  # [y]


class Workspace(NamedTuple):
    """What bounding a box needs beside the problem: scratch, and the mixture that the model ended with."""

    ends: Ends
    answers: Answers
    parts: Parts
    P: Floats  # [x] the mixture's input
    v: Floats  # [x, y] the mixture's rows
    Q: Floats  # [y] scratch
    law: Floats  # [y] scratch


def new_boxes(size, n, m):
    """Room for `size` boxes of n inputs and m outputs; the first one holds everything."""
    return Boxes(
        np.tile([[0.0], [1.0]], (size, 1, n)), np.empty((size, 2, n, m)), np.empty(size), np.empty((size, m)),
        np.full(size, -INFINITY), np.zeros((size, 3), np.int64), np.zeros(size),
    )  # fmt: skip


def new_workspace(n, m):
    """Scratch for channels of n inputs and m outputs."""
    ends = Ends(np.empty(n), np.empty((2, n, m)), np.empty(n), np.empty(n), np.empty(n), np.empty(m))
    answers = no_answers(n + EXTRA_ANSWERS, n, m)
    return Workspace(ends, answers, row_parts(m), np.empty(n), np.empty((n, m)), np.empty(m), np.empty(m))


@inner
def _fill_inputs(ends, low, high, first):
    """P = the low ends, then filled up to Σ P = 1 from row `first` on."""
    n = len(low)
    left = 1.0
    for x in range(n):
        left -= low[x]
    for k in range(n):
        x = (first + k) % n
        step = min(high[x] - low[x], max(left, 0.0))
        ends.P[x] = low[x] + step
        ends.share[x] = step / (high[x] - low[x]) if step > 0.0 else 0.0
        left -= step


@inner
def _cheapest_inputs(ends, low, high):
    """P with the smallest chord values: the low ends, then filled up in the order of the slopes; the value."""
    n = len(low)
    left, value = 1.0, 0.0
    for x in range(n):
        ends.P[x], ends.share[x] = low[x], 0.0
        value += ends.psi[x]
        left -= low[x]
    while left > 0.0:
        x = -1
        for i in range(n):
            if ends.P[i] < high[i] and (x < 0 or ends.slope[i] < ends.slope[x]):
                x = i
        if x < 0:
            break
        step = min(high[x] - low[x], left)
        ends.P[x] = high[x] if step == high[x] - low[x] else low[x] + step
        ends.share[x] = step / (high[x] - low[x])
        value += ends.slope[x] * step
        left -= step
    return value


@inner
def take_logs(Q, log_Q):
    """log_Q = the logarithms of Q, raised to LEAST_OUTPUT and scaled to sum 1; the largest log 1/Q."""
    total, most = 0.0, 0.0
    for y in range(len(Q)):
        total += max(Q[y], LEAST_OUTPUT)
    for y in range(len(Q)):
        log_Q[y] = math.log(max(Q[y], LEAST_OUTPUT) / total)
        most = max(most, -log_Q[y])
    return most


@inner
def psi(rival, boxes, i, x, t, work, v, tol):
    """ψ_x(t) from below, without base, over the rows of box i; fills v."""
    low, high = boxes.v[i, LOW, x], boxes.v[i, HIGH, x]
    return divergence_difference_row(rival.a[x], rival.w[x], t, work.ends.log_Q, low, high, v, work.parts, tol)


@inner
def _evaluate(rival, curve, boxes, i, s, Q, work, tol):
    """The bound of box i at (s, Q), a proof whatever they are; Q is made a law first."""
    ends = work.ends
    scale = s * (1.0 + take_logs(Q, ends.log_Q))
    for x in range(len(rival.w)):
        low, high = boxes.P[i, LOW, x], boxes.P[i, HIGH, x]
        ends.psi[x], ends.slope[x] = psi(rival, boxes, i, x, s * low, work, ends.v[LOW, x], tol), 0.0
        if high > low:
            top = psi(rival, boxes, i, x, s * high, work, ends.v[HIGH, x], tol)
            ends.slope[x] = (top - ends.psi[x]) / (high - low)
        scale += rival.w[x]
    value = _cheapest_inputs(ends, boxes.P[i, LOW], boxes.P[i, HIGH])
    for x in range(len(curve.side.w)):
        scale += curve.side.w[x]
    return phi_at(curve, s) + rival.base + value - ROUNDING * scale


@inner
def _note_answer(rival, boxes, i, work, j):
    """Write what the rows at the ends and P amount to as answer j."""
    ends, answers = work.ends, work.answers
    n, m = rival.a.shape
    answers.cost[j], answers.inner[j] = rival.base, 0.0
    for y in range(m):
        answers.output[j, y] = 0.0
    for x in range(n):
        answers.P[j, x] = ends.P[x]
        for y in range(m):
            mass = 0.0
            for end in range(2):
                share = ends.share[x] if end == HIGH else 1.0 - ends.share[x]
                if share > 0.0:
                    v, p = ends.v[end, x, y], share * boxes.P[i, end, x]
                    answers.cost[j] -= share * rival.a[x, y] * log_of(v)
                    answers.inner[j] += p * v * log_of(v)
                    mass += p * v
            answers.output[j, y] += mass
            top = HIGH if boxes.P[i, HIGH, x] > boxes.P[i, LOW, x] else LOW
            answers.v[j, x, y] = mass / ends.P[x] if ends.P[x] > 1e-9 else ends.v[top, x, y]


@inner
def _first_answers(rival, boxes, i, work):
    """Answers with the same rows and P at several corners of its box, so that the model can choose between them."""
    n = len(rival.w)
    for x in range(n):
        _fill_inputs(work.ends, boxes.P[i, LOW], boxes.P[i, HIGH], x)
        _note_answer(rival, boxes, i, work, x)
        work.answers.share[x] = 1.0 / n
    return n


@inner
def _mix(work, count):
    """The mixture's input, and its rows weighted by how much each answer uses them."""
    answers, n, m = work.answers, work.v.shape[0], work.v.shape[1]
    for x in range(n):
        work.P[x] = 0.0
        used = 0.0
        for y in range(m):
            work.v[x, y] = 0.0
        for j in range(count):
            share = answers.share[j] * (answers.P[j, x] + 1e-9)
            work.P[x] += answers.share[j] * answers.P[j, x]
            used += share
            for y in range(m):
                work.v[x, y] += share * answers.v[j, x, y]
        for y in range(m):
            work.v[x, y] /= used


@inner
def _add_answer(rival, boxes, i, work, count):
    """Note the last evaluation as one more answer, in place of the least useful where there is no room.

    Returns their number and the newest; the first evaluation gives several answers.
    """
    if count == 0:
        return _first_answers(rival, boxes, i, work), 0
    full = count == len(work.answers.share)
    newest = lowest(work.answers.share, count) if full else count
    _note_answer(rival, boxes, i, work, newest)
    return count if full else count + 1, newest


@inner
def bound_box(rival, curve, boxes, i, work, target, tol):
    """Raise the bound of box i until it meets the target or the model says that it cannot; the answers met."""
    Q, s, count = work.Q, boxes.s[i], 0
    copy(boxes.Q[i], Q)
    for step in range(MOST_ROUNDS):
        bound = _evaluate(rival, curve, boxes, i, s, Q, work, tol)
        if bound > boxes.bound[i]:  # never true of what is no number
            boxes.bound[i], boxes.s[i] = bound, s
            copy(Q, boxes.Q[i])
        if boxes.bound[i] >= target:
            return count
        count, newest = _add_answer(rival, boxes, i, work, count)
        before = s
        model, s = solve_model(work.answers, curve, count, newest, Q, MODEL_TOLERANCE * target)
        left = model - boxes.bound[i]
        if not left > CLOSED * target or (step > 2 and left < HOPELESS * (target - model)):
            break
        s = min(max(s, before / 3.0), 3.0 * before)
    _mix(work, count)
    return count
