"""Other worlds in which a rival is at least as good as the best channel, found near the true one.

An alternative replaces the rows of the best channel b and of one rival a, and leaves every other
channel as it is. A policy that names b must have ruled it out, by Σ_x N_bx D(W_bx‖λ_bx) +
Σ_x N_ax D(W_ax‖λ_ax) nats of evidence. The search is local, from many starts; that what it finds is
an alternative is proved by capacity brackets, that there is nothing better by `certificate`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from bestchannel.arrays import Floats, frozen
from bestchannel.capacity import capacity
from bestchannel.information import divergence_nats
from bestchannel.lower_bound.known_channels import KnownChannels
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
    """Rows for the best channel and for channel `rival` with C(rival_rows) ≥ C(leader_rows)."""

    rival: int
    leader_rows: Floats
    rival_rows: Floats


@dataclass(frozen=True, eq=False)
class Position:
    """Where a search is: the rows u of the best channel and v of the rival, with good inputs for both."""

    u: Floats
    P_u: Floats
    v: Floats
    P_v: Floats


def first_positions(known: KnownChannels, rival: int) -> list[Position]:
    """The true rows, the true rows with one of them near a corner, and rows near distinct corners.

    The last ones reach every component of the rival's channels of large capacity, the middle ones those where an input
    that is of no use now becomes useful. The best channel is the true one.
    """
    u, P_u = _softened(known.W[known.leader]), _inside(known.capacities[known.leader].input)
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


def respond(known: KnownChannels, rival: int, w: Floats, positions: Iterable[Position]) -> list[tuple[float, Position]]:
    """Local solutions at the weights w from each position, cheapest first, without near duplicates."""
    b = known.leader
    w_b, w_a = w[known.blocks[b]], w[known.blocks[rival]]
    leader, moved = Side.of(known.W[b], w_b), Side.of(known.W[rival], w_a)
    price = 0.3 * min(w_b.sum(), w_a.sum())
    found = []
    for start in positions:
        at = Position(start.u.copy(), _inside(start.P_u), start.v.copy(), _inside(start.P_v))
        search_pair(leader, moved, price, at.u, at.P_u, at.v, at.P_v, MOST_STEPS, STEP_TOLERANCE)
        np.maximum(at.u, LEAST_ENTRY, out=at.u)
        np.maximum(at.v, LEAST_ENTRY, out=at.v)
        cost = cost_of(known, rival, w, at.u, at.v)
        if math.isfinite(cost):
            found.append((cost, at))
    kept: list[tuple[float, Position]] = []
    for cost, at in sorted(found, key=lambda pair: pair[0]):
        if len(kept) < KEPT and all(np.abs(at.v - other.v).max() > DISTINCT for _, other in kept):
            kept.append((cost, at))
    return kept


def cost_of(known: KnownChannels, rival: int, w: Floats, u: Floats, v: Floats) -> float:
    """Σ_x w_bx D(W_bx‖u_x) + Σ_x w_ax D(W_ax‖v_x), in nats."""
    b = known.leader
    leader, moved = divergence_nats(known.W[b], u), divergence_nats(known.W[rival], v)
    return float(w[known.blocks[b]] @ leader + w[known.blocks[rival]] @ moved)


def alternative_at(rival: int, position: Position) -> Alternative:
    """The position made an alternative: the best channel mixed with a constant one until C(u) ≤ C(v) is proved.

    C is convex and 0 where all rows are equal, so C((1-ε)u + ε1q) ≤ (1-ε) C(u).
    """
    u, v = (rows / rows.sum(axis=1, keepdims=True) for rows in (position.u, position.v))
    C_u, C_v = (capacity(rows, tol=CAPACITY_TOLERANCE, rtol=1e-6) for rows in (u, v))
    if C_u.upper > C_v.lower:
        mixed = min(1.0, 1.0 - C_v.lower / C_u.upper + 1e-12)
        q = C_u.output / C_u.output.sum()
        u = (1.0 - mixed) * u + mixed * q
    return Alternative(rival, frozen(u), frozen(v))


def cut_of(known: KnownChannels, alternative: Alternative) -> Floats:
    """The evidence against an alternative that one sense of each (channel, input) brings, in nats."""
    evidence = np.zeros(known.n_rows)
    b, a = known.leader, alternative.rival
    evidence[known.blocks[b]] = divergence_nats(known.W[b], alternative.leader_rows)
    evidence[known.blocks[a]] = divergence_nats(known.W[a], alternative.rival_rows)
    return evidence
