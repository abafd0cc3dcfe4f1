"""Both bounds in ball arithmetic: a bracket that is a theorem about the given binary numbers.

The solver's p, Q and gamma are taken as exact numbers, however good they are; every operation from there on carries its
own error bound (Arb, through python-flint), and the ends are rounded outwards. The channel is the one whose rows are
exactly W_x / sum(W_x).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce

from bestchannel.arrays import Floats
from bestchannel.errors import MissingExtraError

try:
    from flint import arb, ctx
except ImportError:
    raise MissingExtraError("the rigorous mode", "rigorous") from None

PRECISION = 256  # bits: enough to keep 1e-20 of relative accuracy for capacities down to 1e-55 bit


def certified_bracket(
    W: Floats, p: Floats, Q: Floats, *, eta: float, cost: Floats | None, budget: float, gamma: float
) -> tuple[float, float]:
    """lower <= value <= upper in bits, for the problem of `dense` at the given p, Q and gamma.

    Lower end: sum_x p_x D(W_x || Q') minimised over Q' >= eta by its dual (Q' = pW for eta = 0), after p was scaled to
    sum 1 and, where there is a cost, brought within the budget.
    Upper end: max_x D(W_x || Q) - gamma (cost_x - budget), after Q was scaled to sum 1, all >= eta.
    """
    before, ctx.prec = ctx.prec, PRECISION
    try:
        rows, P, output = [_scaled(row) for row in W.tolist()], _scaled(p.tolist()), _scaled(Q.tolist())
        prices = None if cost is None else cost.tolist()
        if prices is not None:
            cheapest = [arb(int(x == prices.index(min(prices)))) for x in range(len(P))]
            P = _mixed(P, cheapest, lambda P: sum(v * c for v, c in zip(P, prices, strict=True)) <= arb(budget))
        uniform = [arb(1) / len(output)] * len(output)  # which is >= 2 eta
        output = _mixed(output, uniform, lambda Q: all(v >= eta for v in Q))
        D = [_divergence(row, output) for row in rows]
        scores = D if prices is None else [d - gamma * (arb(c) - budget) for d, c in zip(D, prices, strict=True)]
        log2 = arb(2).log()
        low, high = float((_lower_end(rows, P, eta) / log2).lower()), float((reduce(arb.max, scores) / log2).upper())
        return max(0.0, math.nextafter(low, -math.inf)), math.nextafter(high, math.inf)
    finally:
        ctx.prec = before


def _scaled(values: list[float]) -> list[arb]:
    total = sum(map(arb, values))
    return [arb(value) / total for value in values]


def _mixed(P: list[arb], other: list[arb], holds: Callable[[list[arb]], bool]) -> list[arb]:
    """P with as little of another distribution, of which it is known, as makes something provably hold."""
    share = arb(2) ** -60
    while not holds(P) and share < 1:
        P = [(1 - share) * v + share * o for v, o in zip(P, other, strict=True)]
        share = 2 * share
    return P if share < 1 else other


def _divergence(row: list[arb], Q: list[arb]) -> arb:
    """D(row || Q) in nats."""
    terms = [w * (w / q).log() if q > 0 else arb(math.inf) for w, q in zip(row, Q, strict=True) if not w.is_zero()]
    return sum(terms, arb(0))


def _lower_end(rows: list[list[arb]], P: list[arb], eta: float) -> arb:
    """min over Q >= eta of sum_x P_x D(W_x || Q), from below.

    For every nu > 0, Lagrange duality bounds it below by the value at Q = max(q/nu, eta) plus nu (sum Q - 1), with
    q = PW; nu = sum of q over the letters that are not raised to eta, divided by the mass left for them, is best.
    """
    used = [(v, row) for v, row in zip(P, rows, strict=True) if v > 0]
    Q, surplus = [sum((v * row[y] for v, row in used), arb(0)) for y in range(len(rows[0]))], arb(0)
    if eta > 0.0:
        nu = 1.0
        for _ in Q:
            kept = [q for q in Q if float(q) / nu > eta]
            nu = float(sum(kept, arb(0)) / (arb(1) - eta * (len(Q) - len(kept))))
        Q = [q / nu if float(q) / nu > eta else arb(eta) for q in Q]
        surplus = (sum(Q, arb(0)) - 1) * nu
    return sum((v * _divergence(row, Q) for v, row in used), arb(0)) + surplus
