# mypy: ignore-errors
"""A lower bound, proved by branch and bound, of what it costs to make a rival as good as the leader (numba).

The first cell holds all inputs, and all rows but those that cost the target by one letter alone. A
cell whose bound stays below the target is cut where the bound gives away most: in P_x, next to the
mixture's P_x, or in a letter of a row, where the answers disagree about it.
"""

from __future__ import annotations

import math

import numpy as np

from bestchannel.compiled import inner, jit
from bestchannel.lower_bound.kernels.box_bound import HIGH, LOW, bound_cell, new_cells, new_desk, psi, take_logs
from bestchannel.lower_bound.kernels.concave_row import between, tighten
from bestchannel.lower_bound.kernels.convex_row import INFINITY, TINY, copy, log_of, lowest
from bestchannel.lower_bound.kernels.leader_cost import fill_curve, leader_cost, new_curve, new_side, output

PROVED, VIOLATED, EXHAUSTED = 0, 1, 2
"""How a search ended: the target holds; rows were found that cost less; neither within the cells allowed."""

KIND, ROW, LETTER = 0, 1, 2
NO_CUT, CUT_INPUT, CUT_LETTER = 0, 1, 2

ROW_TOLERANCE = 2e-4
NEAR_CUT = 0.25
"""Where a range of P_x is cut: this far from the mixture's P_x to the farther end, so that one side keeps the mixture
well inside and the other one is easily proved."""

LETTERS_OVER_INPUTS = 10.0
"""How much more the rows must give away than the inputs before a letter is cut: cuts of inputs tell more."""

NARROW = 1e-12
"""Ranges of this width are not cut any more."""


@inner
def _true_cost(rival, curve, desk):
    """What the mixture's rows cost, by the leader's curve at the information of its input."""
    output(desk.v, desk.P, desk.Q)
    cost, information = rival.base, 0.0
    for x in range(len(desk.P)):
        for y in range(len(desk.Q)):
            cost -= rival.a[x, y] * log_of(desk.v[x, y])
            if desk.v[x, y] > 0.0:
                information += desk.P[x] * desk.v[x, y] * (math.log(desk.v[x, y]) - log_of(desk.Q[y]))
    return cost + leader_cost(curve, information)[0]


@inner
def _plan_input_cut(rival, cells, i, desk, tol):
    """Plan to cut the P_x whose chord is farthest below ψ_x at the mixture; what all chords give away."""
    s, law = cells.s[i], desk.law
    take_logs(cells.Q[i], desk.ends.log_Q)
    most, total = 0.0, 0.0
    for x in range(len(rival.w)):
        low, high, p = cells.P[i, LOW, x], cells.P[i, HIGH, x], desk.P[x]
        if not high - low > NARROW:
            continue
        bottom = psi(rival, cells, i, x, s * low, desk, law, tol)
        middle = psi(rival, cells, i, x, s * p, desk, law, tol)
        top = psi(rival, cells, i, x, s * high, desk, law, tol)
        gap = middle - bottom - (top - bottom) * (p - low) / (high - low)
        total += gap
        if gap > most:
            most = gap
            far = high if high - p > p - low else low
            cells.plan[i, KIND], cells.plan[i, ROW] = CUT_INPUT, x
            cells.cut[i] = between(p + NEAR_CUT * (far - p), low, high, 0.02)
    return total


@inner
def _torn_letter(cells, i, desk, count):
    """What the answers' rows give away by disagreeing, and the row and letter where they do so most.

    The model counts s Σ_j α_j P_jx D(v_jx‖v̄_x) too much, v̄ the mixture's rows: about
    Σ_y s Σ_j α_j P_jx (v_jx(y) - v̄_x(y))²/v̄_x(y).
    """
    answers, total, most, row, letter = desk.answers, 0.0, 0.0, 0, 0
    for x in range(desk.v.shape[0]):
        for y in range(desk.v.shape[1]):
            spread = 0.0
            for j in range(count):
                spread += answers.share[j] * answers.P[j, x] * (answers.v[j, x, y] - desk.v[x, y]) ** 2
            spread *= cells.s[i] / max(desk.v[x, y], TINY)
            total += spread
            if spread > most and cells.v[i, HIGH, x, y] - cells.v[i, LOW, x, y] > NARROW:
                most, row, letter = spread, x, y
    return total if most > 0.0 else 0.0, row, letter


@inner
def _plan_cut(rival, cells, i, desk, count, tol):
    """Decide where cell i is to be cut: where its bound gives away most."""
    cells.plan[i, KIND] = NO_CUT
    rows, x, y = _torn_letter(cells, i, desk, count)
    inputs = _plan_input_cut(rival, cells, i, desk, tol)
    if rows > LETTERS_OVER_INPUTS * inputs:
        cells.plan[i, KIND], cells.plan[i, ROW], cells.plan[i, LETTER] = CUT_LETTER, x, y
        cells.cut[i] = between(desk.v[x, y], cells.v[i, LOW, x, y], cells.v[i, HIGH, x, y], 0.1)


@inner
def _split(cells, i, j):
    """Cut cell i as planned; the upper part becomes cell j."""
    x, y, cut = cells.plan[i, ROW], cells.plan[i, LETTER], cells.cut[i]
    copy(cells.P[i, LOW], cells.P[j, LOW])
    copy(cells.P[i, HIGH], cells.P[j, HIGH])
    for z in range(cells.v.shape[2]):
        copy(cells.v[i, LOW, z], cells.v[j, LOW, z])
        copy(cells.v[i, HIGH, z], cells.v[j, HIGH, z])
    copy(cells.Q[i], cells.Q[j])
    cells.s[j], cells.bound[j] = cells.s[i], cells.bound[i]
    if cells.plan[i, KIND] == CUT_INPUT:
        cells.P[i, HIGH, x], cells.P[j, LOW, x] = cut, cut
    else:
        cells.v[i, HIGH, x, y], cells.v[j, LOW, x, y] = cut, cut


@inner
def _is_empty(cells, i):
    """Tighten the ranges of a cell; whether nothing is left."""
    for x in range(cells.v.shape[2]):
        if not tighten(cells.v[i, LOW, x], cells.v[i, HIGH, x]):
            return True
    return not tighten(cells.P[i, LOW], cells.P[i, HIGH])


@inner
def _affordable(p, budget, end):
    """The end (0 or 1) of [0, 1], moved towards p past q that cost p log(p/q) + (1-p) log((1-p)/(1-q)) > budget."""
    inside = p
    for _ in range(50):
        q = 0.5 * (end + inside)
        cost = p * (log_of(p) - log_of(q)) + (1.0 - p) * (log_of(1.0 - p) - log_of(1.0 - q))
        if cost > budget:
            end = q
        else:
            inside = q
    return end


@inner
def _start(cells, rival, s, Q, target):
    """The first cell: all inputs, and the rows that do not cost the target by one letter alone."""
    for x in range(len(rival.w)):
        for y in range(len(Q)):
            p, budget = rival.a[x, y] / rival.w[x], 1.000001 * target / rival.w[x] + 1e-14
            cells.v[0, LOW, x, y] = _affordable(p, budget, 0.0)
            cells.v[0, HIGH, x, y] = _affordable(p, budget, 1.0)
    cells.s[0] = s
    copy(Q, cells.Q[0])


@inner
def _visit(rival, curve, cells, i, desk, target, alarm):
    """Bound a cell and, if it stays open, plan its cut; whether the alarm went off."""
    if _is_empty(cells, i):
        cells.bound[i] = INFINITY
        return False
    tol = max(ROW_TOLERANCE * target, 0.02 * (target - max(cells.bound[i], 0.0)))
    count = bound_cell(rival, curve, cells, i, desk, target, tol)
    if cells.bound[i] >= target:
        return False
    if alarm and _true_cost(rival, curve, desk) < target:
        return True
    _plan_cut(rival, cells, i, desk, count, tol)
    return False


@jit
def certify(rival, curve, cells, desk, s, Q, target, alarm):
    """(how it ended, a proved lower bound of min(Z, target), cells used), from a first guess (s, Q).

    With `alarm` it ends as VIOLATED once some rows seem to cost less than the target; those
    rows and their input are then desk.v and desk.P.
    """
    _start(cells, rival, s, Q, target)
    count, other = 1, -1
    i = lowest(cells.bound, count)  # 0, but not the literal that numba would compile everything for once more
    while not _visit(rival, curve, cells, i, desk, target, alarm):
        if other >= 0:  # the second half of what was cut last
            i, other = other, -1
            continue
        i = lowest(cells.bound, count)
        if cells.bound[i] >= target:
            return PROVED, target, count
        if count == len(cells.s) or cells.plan[i, KIND] == NO_CUT:
            return EXHAUSTED, cells.bound[i], count
        _split(cells, i, count)
        other = count
        count += 1
    return VIOLATED, min(cells.bound[lowest(cells.bound, count)], target), count


def warm_up():
    """Call every entry once."""
    W_b, W_a = np.array([[0.9, 0.1], [0.1, 0.9]]), np.array([[0.8, 0.2], [0.2, 0.8]])
    P = np.array([0.5, 0.5])
    curve = new_curve(new_side(W_b, P), np.array([0.01, 1.0]))
    fill_curve(curve, W_b, P.copy(), 1, 1e-3)
    certify(new_side(W_a, P), curve, new_cells(2, 2, 2), new_desk(2, 2), 0.1, P, 0.01, False)
