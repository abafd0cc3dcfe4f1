# mypy: ignore-errors
"""A leader and a rival, moved until the rival is as good: local solutions (numba).

    minimise  Σ_x w_bx D(W_bx‖u_x) + Σ_x w_ax D(W_ax‖v_x)   subject to  C(v) ≥ C(u).

At a price s ≥ 0 for capacity the two sides separate. The leader's side, Σ w D(W‖u) + s C(u), is
convex; the rival's side, Σ w D(W‖v) - s C(v), is not, and is followed to a local minimum only.
Everything in nats.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bestchannel.arrays import Floats
from bestchannel.compiled import inner, jit
from bestchannel.lower_bound.kernels.convex_row import INFINITY, TINY, copy, log_of, tilted_row
from bestchannel.lower_bound.kernels.leader_cost import improve_input, leader_step, move, new_side, output, spread

MOST_PRICES = 40


class Pair(NamedTuple):
    """Rows of the leader and of the rival, an input for each, and room for their outputs."""

    u: Floats  # [x, y]
    P_u: Floats  # [x]
    Q_u: Floats  # [y]
    v: Floats
    P_v: Floats
    Q_v: Floats


class PairRows(NamedTuple):
    """Room for rows of the leader and of the rival, [x, y] or [low or high price, x, y]."""

    u: Floats
    v: Floats


@inner
def rival_step(side, s, v, P, Q, new):
    """The rows at the price s with C replaced by its tangent at v: a descent step, as C is convex.

    Returns the tangent's value at the new rows and how fast it rises with s.
    """
    n, m = v.shape
    output(v, P, Q)
    h, tilt, weights = np.empty(m), np.empty(m), np.empty(m)
    tangent, slope = 0.0, 0.0
    for x in range(n):
        for y in range(m):
            h[y] = P[x] * (log_of(v[x, y]) - log_of(Q[y]))
            tilt[y] = -s * h[y]
        tilted_row(side.a[x], side.w[x], tilt, new[x])
        for y in range(m):
            weights[y] = new[x, y] * new[x, y] / side.a[x, y] if side.a[x, y] > 0.0 else 0.0
            tangent += h[y] * new[x, y]
        slope += spread(weights, h)
    return tangent, slope


@inner
def _keep(new, kept):
    """kept = new, for rows."""
    for x in range(new.shape[0]):
        copy(new[x], kept[x])


@inner
def _blend(rows, kept, share):
    """rows = what was kept of the low price and of the high one, the latter by `share`."""
    for x in range(rows.shape[0]):
        for y in range(rows.shape[1]):
            rows[x, y] = (1.0 - share) * kept[0, x, y] + share * kept[1, x, y]


@inner
def _balance(leader, rival, s, at, new, kept):
    """Fill `new` with the rows of both sides at the price where they meet; the price.

    Newton's steps, kept between a price that is too low and one that is too high. A letter that
    W nearly excludes jumps with the price; the two sides of the jump are then blended.
    """
    low, high, short, over = 0.0, INFINITY, 0.0, 0.0
    for _ in range(MOST_PRICES):
        leads, falls = leader_step(leader, s, at.u, at.P_u, at.Q_u, new.u)
        follows, rises = rival_step(rival, s, at.v, at.P_v, at.Q_v, new.v)
        gap = leads - follows
        side = 0 if gap > 0.0 else 1
        _keep(new.u, kept.u[side])
        _keep(new.v, kept.v[side])
        if gap > 0.0:
            low, short = s, gap
        else:
            high, over = s, -gap
        step = min(max(s + gap / max(falls + rises, TINY), 0.3 * s), 3.0 * s)
        if not (step > low and step < high):
            step = 0.5 * (low + high) if high < INFINITY else 3.0 * s
        near = abs(step - s) < 0.03 * s
        s = step
        if near:
            break
    if low > 0.0 and high < INFINITY and short + over > 0.0:
        _blend(new.u, kept.u, short / (short + over))
        _blend(new.v, kept.v, short / (short + over))
    return s


@jit
def local_pair(leader, rival, s, at, new, kept, most, tol):
    """Move the pair `at` to a nearby local solution, in place; the price there.

    Each step replaces C(v) ≥ C(u) by a tangent that implies it, so that v stays in the component
    of {C(v) ≥ c} where it began. C(v) = C(u) holds nearly; `alternatives` makes it exact.
    """
    for _ in range(most):
        change = max(improve_input(at.u, at.P_u, at.Q_u), improve_input(at.v, at.P_v, at.Q_v))
        before = s
        s = _balance(leader, rival, s, at, new, kept)
        change = max(change, abs(s / before - 1.0), move(at.u, new.u), move(at.v, new.v))
        if change < tol:
            break
    return s


def search_pair(leader, rival, s, u, P_u, v, P_v, most, tol):
    """`local_pair` with room made for it; overwrites u, P_u, v and P_v."""
    at = Pair(u, P_u, np.empty(u.shape[1]), v, P_v, np.empty(v.shape[1]))
    kept = PairRows(np.empty((2, *u.shape)), np.empty((2, *v.shape)))
    return local_pair(leader, rival, s, at, PairRows(np.empty_like(u), np.empty_like(v)), kept, most, tol)


def warm_up():
    """Call every entry once."""
    W, w = np.array([[0.9, 0.1], [0.1, 0.9]]), np.array([0.5, 0.5])
    side = new_side(W, w)
    search_pair(side, side, 0.1, W.copy(), w.copy(), W.copy(), w.copy(), 1, 1e-3)
