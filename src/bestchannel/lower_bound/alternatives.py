"""Other worlds in which a rival is at least as good as a better channel, found near the true one.

An alternative replaces the rows of a channel b and of a rival a that is worse, and leaves every other
channel as it is. A policy that says that b is better must have ruled it out, by Σ_x N_bx D(W_bx‖λ_bx) +
Σ_x N_ax D(W_ax‖λ_ax) nats of evidence. The search is local, from many starts; that what it finds is
an alternative is proved by capacity brackets, that there is nothing better by `certificate`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from bestchannel.arrays import Floats, frozen
from bestchannel.capacity import capacity
from bestchannel.information import divergence_nats
from bestchannel.lower_bound.known_channels import KnownChannels, Pair
from bestchannel.native.lower_bound import Side, search_pair

SOFTENING = 1e-3  # share of the uniform law in a row from which a search starts: a letter at 0 would stay there

LEAST_ENTRY = 1e-40
"""What the kernels take for 0 may be more than that in the true row, and must not cost infinitely much."""

LEAST_SHARE = 1e-4
MOST_ORDERS = 24
MOST_STEPS, STEP_TOLERANCE = 200, 1e-6
DISTINCT = 0.01
KEPT = 6
CAPACITY_TOLERANCE = 1e-12


@dataclass(frozen=True, eq=False)
class Alternative:
    """The rows of the channels that differ from the true ones: of a pair (b, a), first b's, with C(a) ≥ C(b) now."""

    rows: Mapping[int, Floats]


@dataclass(frozen=True, eq=False)
class Position:
    """Where a search is: the rows u of the better channel and v of the rival, with good inputs for both."""

    u: Floats
    P_u: Floats
    v: Floats
    P_v: Floats


def first_positions(known: KnownChannels, pair: Pair) -> list[Position]:
    """The true rows, the true rows with one of them near a corner, and rows near distinct corners.

    The last ones reach every component of the rival's channels of large capacity, the middle ones those where an input
    that is of no use now becomes useful. The better channel is the true one.
    """
    leader, rival = pair
    u, P_u = _softened(known.W[leader]), _inside(known.capacities[leader].input)
    rows = _first_rows(_softened(known.W[rival]))
    return [Position(u, P_u, v, _inside(capacity(v, tol=1e-3).input)) for v in rows]


def _first_rows(W: Floats) -> Iterator[Floats]:
    yield W
    for x, y in np.ndindex(W.shape):
        v = W.copy()
        v[x] = 0.2 * v[x] + 0.8 * np.eye(W.shape[1])[y]
        yield v
    for corners in _orders(*W.shape):
        yield 0.4 * W + 0.6 * _softened(np.eye(W.shape[1])[list(corners)], 0.1)


def _orders(n: int, m: int) -> Iterable[tuple[int, ...]]:
    """The first ways to send the inputs to different outputs, or to every output where those are fewer."""
    if n <= m:
        return itertools.islice(itertools.permutations(range(m), n), MOST_ORDERS)
    onto = (order for order in itertools.product(range(m), repeat=n) if len(set(order)) == m)
    return itertools.islice(onto, MOST_ORDERS)


def _softened(rows: Floats, share: float = SOFTENING) -> Floats:
    softened: Floats = (1.0 - share) * rows + share / rows.shape[1]
    return softened


def _inside(P: Floats) -> Floats:
    raised = np.maximum(P, LEAST_SHARE)
    return raised / raised.sum()


def respond(known: KnownChannels, pair: Pair, w: Floats, positions: Iterable[Position]) -> list[tuple[float, Position]]:
    """Local solutions at the weights w from each position, cheapest first, without near duplicates."""
    leader, moved = (Side.of(known.W[j], w[known.blocks[j]]) for j in pair)
    price = 0.3 * min(leader.w.sum(), moved.w.sum())
    found = []
    for start in positions:
        at = Position(start.u.copy(), _inside(start.P_u), start.v.copy(), _inside(start.P_v))
        search_pair(leader, moved, price, at.u, at.P_u, at.v, at.P_v, MOST_STEPS, STEP_TOLERANCE)
        np.maximum(at.u, LEAST_ENTRY, out=at.u)
        np.maximum(at.v, LEAST_ENTRY, out=at.v)
        cost = cost_of(known, pair, w, at)
        if math.isfinite(cost):
            found.append((cost, at))
    kept: list[tuple[float, Position]] = []
    for cost, at in sorted(found, key=lambda pair: pair[0]):
        if len(kept) < KEPT and all(np.abs(at.v - other.v).max() > DISTINCT for _, other in kept):
            kept.append((cost, at))
    return kept


def cost_of(known: KnownChannels, pair: Pair, w: Floats, at: Position) -> float:
    """Σ_x w_bx D(W_bx‖u_x) + Σ_x w_ax D(W_ax‖v_x), in nats."""
    return float(w @ cut_of(known, Alternative(dict(zip(pair, (at.u, at.v), strict=True)))))


def alternative_at(pair: Pair, position: Position) -> Alternative:
    """The position made an alternative: the better channel mixed with a constant one until C(u) ≤ C(v) is proved.

    C is convex and 0 where all rows are equal, so C((1-ε)u + ε1q) ≤ (1-ε) C(u).
    """
    u, v = (rows / rows.sum(axis=1, keepdims=True) for rows in (position.u, position.v))
    C_v = capacity(v, tol=CAPACITY_TOLERANCE, rtol=1e-6)
    return Alternative(dict(zip(pair, (brought_down(u, C_v.lower), frozen(v)), strict=True)))


def brought_down(u: Floats, bits: float) -> Floats:
    """The rows mixed with a constant channel until it is proved that they carry no more than so many bits."""
    C = capacity(u, tol=CAPACITY_TOLERANCE, rtol=1e-6)
    if C.upper > bits:
        mixed = min(1.0, 1.0 - bits / C.upper + 1e-12)
        u = (1.0 - mixed) * u + mixed * (C.output / C.output.sum())
    return frozen(u)


def cut_of(known: KnownChannels, alternative: Alternative) -> Floats:
    """The evidence against an alternative that one sense of each (channel, input) brings, in nats."""
    evidence = np.zeros(known.n_rows)
    for channel, rows in alternative.rows.items():
        evidence[known.blocks[channel]] = divergence_nats(known.W[channel], rows)
    return evidence
