"""Both bounds in ball arithmetic: a bracket that is a theorem about the given binary numbers.

The solver's p, Q and gamma are taken as exact numbers, however good they are; every
operation from there on carries its own error bound (Arb, through python-flint), and the
ends are rounded outwards. The channel is the one whose rows are exactly W_x / sum(W_x).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bestchannel.arrays import Floats
from bestchannel.errors import MissingExtraError

PRECISION = 256  # bits: enough to keep 1e-20 of relative accuracy for capacities down to 1e-55 bit


def certified_bracket(
    W: Floats,
    p: Floats,
    Q: Floats,
    *,
    eta: float = 0.0,
    cost: Floats | None = None,
    budget: float = 0.0,
    gamma: float = 0.0,
) -> tuple[float, float]:
    """lower <= value <= upper in bits, for the problem of `dense` at the given p, Q and gamma.

    Lower end: sum_x p_x D(W_x || Q') minimised over Q' >= eta by its dual (Q' = pW for eta = 0),
    after p was scaled to sum 1 and, where there is a cost, brought within the budget.
    Upper end: max_x D(W_x || Q) - gamma (cost_x - budget), after Q was scaled to sum 1, all >= eta.
    """
    try:
        import flint
    except ImportError:
        raise MissingExtraError("the rigorous mode", "rigorous") from None
    before, flint.ctx.prec = flint.ctx.prec, PRECISION
    try:
        rows = [_scaled([flint.arb(w) for w in row]) for row in W.tolist()]
        P = _affordable([flint.arb(v) for v in p.tolist()], cost, budget)
        lower = _lower_end(rows, P, eta)
        output = _at_least(_scaled([flint.arb(v) for v in Q.tolist()]), eta)
        upper = _upper_end(rows, output, cost, budget, gamma)
        log2 = flint.arb(2).log()
        low, high = float((lower / log2).lower()), float((upper / log2).upper())
        return max(0.0, math.nextafter(low, -math.inf)), math.nextafter(high, math.inf)
    finally:
        flint.ctx.prec = before


def _scaled(values: list[Any]) -> list[Any]:
    total = sum(values)
    return [value / total for value in values]


def _affordable(p: list[Any], cost: Floats | None, budget: float) -> list[Any]:
    """p / sum(p), mixed with the cheapest input until its cost is provably within the budget."""
    P = _scaled(p)
    if cost is None:
        return P
    cheapest = int(np.argmin(cost))
    share = type(P[0])(2.0**-60)
    while not sum(v * c for v, c in zip(P, cost.tolist(), strict=True)) <= type(P[0])(budget):
        P = [(1 - share) * v + (share if x == cheapest else 0) for x, v in enumerate(P)]
        share = 2 * share
        if share >= 1.0:
            return [type(v)(float(x == cheapest)) for x, v in enumerate(P)]
    return P


def _at_least(Q: list[Any], eta: float) -> list[Any]:
    """Q, mixed with the uniform distribution (which is >= 2 eta) until provably >= eta."""
    share = type(Q[0])(2.0**-60)
    while not all(value >= eta for value in Q):
        Q = [(1 - share) * value + share / len(Q) for value in Q]
        share = 2 * share if share < 0.5 else share
    return Q


def _divergence(row: list[Any], Q: list[Any]) -> Any:
    """D(row || Q) in nats, or None where it is infinite."""
    total: Any = 0
    for w, q in zip(row, Q, strict=True):
        if w == 0:
            continue
        if not q > 0:
            return None
        total += w * (w / q).log()
    return total


def _lower_end(rows: list[list[Any]], P: list[Any], eta: float) -> Any:
    """min over Q >= eta of sum_x P_x D(W_x || Q), from below.

    For every nu > 0, Lagrange duality bounds it below by the value at Q = max(q/nu, eta)
    plus nu (sum Q - 1), with q = PW; nu = sum of q over the letters that are not raised to
    eta, divided by the mass left for them, is best.
    """
    used = [x for x, v in enumerate(P) if v > 0]
    q = [sum((P[x] * rows[x][y] for x in used), start=P[0] * 0) for y in range(len(rows[0]))]
    if eta == 0.0:
        Q, surplus = q, 0
    else:
        nu = type(P[0])(1)
        for _ in q:
            kept = [v for v in q if float(v) / float(nu) > eta]
            nu = sum(kept, start=P[0] * 0) / (1 - P[0] * 0 - eta * (len(q) - len(kept)))
            nu = type(nu)(float(nu))
        Q = [v / nu if float(v) / float(nu) > eta else P[0] * 0 + eta for v in q]
        surplus = nu * (sum(Q) - 1)
    return sum((P[x] * _divergence(rows[x], Q) for x in used), start=P[0] * 0) + surplus


def _upper_end(rows: list[list[Any]], Q: list[Any], cost: Floats | None, budget: float, gamma: float) -> Any:
    scores = []
    for x, row in enumerate(rows):
        D = _divergence(row, Q)
        if D is None:
            return rows[0][0] * 0 + math.inf
        scores.append(D if cost is None else D - gamma * (type(D)(float(cost[x])) - budget))
    top = scores[0]
    for score in scores[1:]:
        top = top.max(score)
    return top
