# mypy: ignore-errors
"""A lower bound, proved by branch and bound, of what it costs to make a rival as good as the leader (numba).

The first box holds all inputs, and all rows but those that cost the target by one letter alone. A
box whose bound stays below the target is cut where the bound gives away most: in P_x, next to the
mixture's P_x, or in a letter of a row, where the answers disagree about it.
"""

import math

import numpy as np

from bestchannel.compiled import inner, jit
from bestchannel.lower_bound.kernels.box_bound import HIGH, LOW, bound_box, new_boxes, new_workspace, psi, take_logs
from bestchannel.lower_bound.kernels.concave_row import between, tighten
from bestchannel.lower_bound.kernels.convex_row import INFINITY, TINY, copy, log_of, lowest
from bestchannel.lower_bound.kernels.leader_cost import fill_curve, leader_cost, new_curve, new_side, output

PROVED, VIOLATED, EXHAUSTED = 0, 1, 2
"""How a search ended: the target holds; rows were found that cost less; neither within the boxes allowed."""

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
def _true_cost(rival, curve, work):
    """What the mixture's rows cost, by the leader's curve at the information of its input."""
    output(work.v, work.P, work.Q)
    cost, information = rival.base, 0.0
    for x in range(len(work.P)):
        for y in range(len(work.Q)):
            cost -= rival.a[x, y] * log_of(work.v[x, y])
            if work.v[x, y] > 0.0:
                information += work.P[x] * work.v[x, y] * (math.log(work.v[x, y]) - log_of(work.Q[y]))
    return cost + leader_cost(curve, information)[0]


@inner
def _plan_input_cut(rival, boxes, i, work, tol):
    """Plan to cut the P_x whose chord is farthest below ψ_x at the mixture; what all chords give away."""
    s, law = boxes.s[i], work.law
    take_logs(boxes.Q[i], work.ends.log_Q)
    most, total = 0.0, 0.0
    for x in range(len(rival.w)):
        low, high, p = boxes.P[i, LOW, x], boxes.P[i, HIGH, x], work.P[x]
        if not high - low > NARROW:
            continue
        bottom = psi(rival, boxes, i, x, s * low, work, law, tol)
        middle = psi(rival, boxes, i, x, s * p, work, law, tol)
        top = psi(rival, boxes, i, x, s * high, work, law, tol)
        gap = middle - bottom - (top - bottom) * (p - low) / (high - low)
        total += gap
        if gap > most:
            most = gap
            far = high if high - p > p - low else low
            boxes.plan[i, KIND], boxes.plan[i, ROW] = CUT_INPUT, x
            boxes.cut[i] = between(p + NEAR_CUT * (far - p), low, high, 0.02)
    return total


@inner
def _disputed_letter(boxes, i, work, count):
    """What the answers' rows give away by disagreeing, and the row and letter where they do so most.

    The model counts s Σ_j α_j P_jx D(v_jx‖v̄_x) too much, v̄ the mixture's rows: about
    Σ_y s Σ_j α_j P_jx (v_jx(y) - v̄_x(y))²/v̄_x(y).
    """
    answers, total, most, row, letter = work.answers, 0.0, 0.0, 0, 0
    for x in range(work.v.shape[0]):
        for y in range(work.v.shape[1]):
            spread = 0.0
            for j in range(count):
                far = answers.v[j, x, y] - work.v[x, y]
                spread += answers.share[j] * answers.P[j, x] * (far * far)
            spread *= boxes.s[i] / max(work.v[x, y], TINY)
            total += spread
            if spread > most and boxes.v[i, HIGH, x, y] - boxes.v[i, LOW, x, y] > NARROW:
                most, row, letter = spread, x, y
    return total if most > 0.0 else 0.0, row, letter


@inner
def _plan_cut(rival, boxes, i, work, count, tol):
    """Decide where box i is to be cut: where its bound gives away most."""
    boxes.plan[i, KIND] = NO_CUT
    rows, x, y = _disputed_letter(boxes, i, work, count)
    inputs = _plan_input_cut(rival, boxes, i, work, tol)
    if rows > LETTERS_OVER_INPUTS * inputs:
        boxes.plan[i, KIND], boxes.plan[i, ROW], boxes.plan[i, LETTER] = CUT_LETTER, x, y
        boxes.cut[i] = between(work.v[x, y], boxes.v[i, LOW, x, y], boxes.v[i, HIGH, x, y], 0.1)


@inner
def _split(boxes, i, j):
    """Cut box i as planned; the upper part becomes box j."""
    x, y, cut = boxes.plan[i, ROW], boxes.plan[i, LETTER], boxes.cut[i]
    copy(boxes.P[i, LOW], boxes.P[j, LOW])
    copy(boxes.P[i, HIGH], boxes.P[j, HIGH])
    for z in range(boxes.v.shape[2]):
        copy(boxes.v[i, LOW, z], boxes.v[j, LOW, z])
        copy(boxes.v[i, HIGH, z], boxes.v[j, HIGH, z])
    copy(boxes.Q[i], boxes.Q[j])
    boxes.s[j], boxes.bound[j] = boxes.s[i], boxes.bound[i]
    if boxes.plan[i, KIND] == CUT_INPUT:
        boxes.P[i, HIGH, x], boxes.P[j, LOW, x] = cut, cut
    else:
        boxes.v[i, HIGH, x, y], boxes.v[j, LOW, x, y] = cut, cut


@inner
def _is_empty(boxes, i):
    """Tighten the ranges of a box; whether nothing is left."""
    for x in range(boxes.v.shape[2]):
        if not tighten(boxes.v[i, LOW, x], boxes.v[i, HIGH, x]):
            return True
    return not tighten(boxes.P[i, LOW], boxes.P[i, HIGH])


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
def _start(boxes, rival, s, Q, target):
    """The first box: all inputs, and the rows that do not cost the target by one letter alone."""
    for x in range(len(rival.w)):
        for y in range(len(Q)):
            p, budget = rival.a[x, y] / rival.w[x], 1.000001 * target / rival.w[x] + 1e-14
            boxes.v[0, LOW, x, y] = _affordable(p, budget, 0.0)
            boxes.v[0, HIGH, x, y] = _affordable(p, budget, 1.0)
    boxes.s[0] = s
    copy(Q, boxes.Q[0])


@inner
def _visit(rival, curve, boxes, i, work, target, alarm):
    """Bound a box and, if it stays open, plan its cut; whether the alarm went off."""
    if _is_empty(boxes, i):
        boxes.bound[i] = INFINITY
        return False
    tol = max(ROW_TOLERANCE * target, 0.02 * (target - max(boxes.bound[i], 0.0)))
    count = bound_box(rival, curve, boxes, i, work, target, tol)
    if boxes.bound[i] >= target:
        return False
    if alarm and _true_cost(rival, curve, work) < target:
        return True
    _plan_cut(rival, boxes, i, work, count, tol)
    return False


@jit
def certify(rival, curve, boxes, work, s, Q, target, alarm):
    """(how it ended, a proved lower bound of min(Z, target), boxes used), from a first guess (s, Q).

    With `alarm` it ends as VIOLATED once some rows seem to cost less than the target; those
    rows and their input are then work.v and work.P.
    """
    _start(boxes, rival, s, Q, target)
    count, other = 1, -1
    i = lowest(boxes.bound, count)  # 0, but not the literal that numba would compile everything for once more
    while not _visit(rival, curve, boxes, i, work, target, alarm):
        if other >= 0:  # the second half of what was cut last
            i, other = other, -1
            continue
        i = lowest(boxes.bound, count)
        if boxes.bound[i] >= target:
            return PROVED, target, count
        if count == len(boxes.s) or boxes.plan[i, KIND] == NO_CUT:
            return EXHAUSTED, boxes.bound[i], count
        _split(boxes, i, count)
        other = count
        count += 1
    return VIOLATED, min(boxes.bound[lowest(boxes.bound, count)], target), count


def warm_up():
    """Call every entry once."""
    W_b, W_a = np.array([[0.9, 0.1], [0.1, 0.9]]), np.array([[0.8, 0.2], [0.2, 0.8]])
    P = np.array([0.5, 0.5])
    curve = new_curve(new_side(W_b, P), np.array([0.01, 1.0]))
    fill_curve(curve, W_b, P.copy(), 1, 1e-3)
    certify(new_side(W_a, P), curve, new_boxes(2, 2, 2), new_workspace(2, 2), 0.1, P, 0.01, False)
