"""Other worlds in which a rival is at least as good as a better channel, found near the true one.

An alternative replaces the rows of a channel b and of a rival a that is worse, and leaves every other
channel as it is. A policy that says that b is better must have ruled it out, by Σ_x N_bx D(W_bx‖λ_bx) +
Σ_x N_ax D(W_ax‖λ_ax) nats of evidence. The search is local, from many starts; that what it finds is
an alternative is proved by capacity brackets.

That there is nothing better is proved by branch and bound: a lower bound of the evidence against every alternative,

    Z = inf{ Σ_x w_bx D(W_bx‖u_x) + Σ_x w_ax D(W_ax‖v_x) : C(v) ≥ C(u) }.

With counts as weights this is the evidence that a policy has, and the bound is the certified one that a proved stop
needs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice, permutations, product

import numpy as np

from bestchannel.arrays import Floats, frozen
from bestchannel.capacity import Capacity, capacity
from bestchannel.information import NATS_PER_BIT, divergence_nats
from bestchannel.lower_bound.known_channels import KnownChannels, Pair
from bestchannel.native.lower_bound import PROVED, VIOLATED, Curve, Side, certify, search_pair
from bestchannel.process import Progress, usable_cores

SOFTENING = 1e-3  # share of the uniform law in a row from which a search starts: a letter at 0 would stay there

LEAST_ENTRY = 1e-40  # what the kernels take for 0 may be more in the true row, and must not cost infinitely much
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
    (n, m), corners = W.shape, np.eye(W.shape[1])
    yield W
    for x, y in np.ndindex(n, m):
        v = W.copy()
        v[x] = 0.2 * v[x] + 0.8 * corners[y]
        yield v
    # each input to another output, or to every output where those are fewer
    ways = permutations(range(m), n) if n <= m else (o for o in product(range(m), repeat=n) if len(set(o)) == m)
    for order in islice(ways, MOST_ORDERS):
        yield 0.4 * W + 0.6 * _softened(corners[list(order)], 0.1)


def _softened(rows: Floats, share: float = SOFTENING) -> Floats:
    return (1.0 - share) * rows + share / rows.shape[1]


def _inside(P: Floats) -> Floats:
    raised = np.maximum(P, LEAST_SHARE)
    return raised / raised.sum()


def respond(known: KnownChannels, pair: Pair, w: Floats, positions: Iterable[Position]) -> list[tuple[float, Position]]:
    """Local solutions at the weights w from each position, cheapest first, without near duplicates.

    Their cost is Σ_x w_bx D(W_bx‖u_x) + Σ_x w_ax D(W_ax‖v_x), in nats.
    """
    leader, moved = (Side.of(known.W[j], w[known.blocks[j]]) for j in pair)
    price = 0.3 * min(leader.w.sum(), moved.w.sum())
    found = []
    for start in positions:
        at = Position(start.u.copy(), _inside(start.P_u), start.v.copy(), _inside(start.P_v))
        search_pair(leader, moved, price, at.u, at.P_u, at.v, at.P_v, MOST_STEPS, STEP_TOLERANCE)
        np.maximum(at.u, LEAST_ENTRY, out=at.u)
        np.maximum(at.v, LEAST_ENTRY, out=at.v)
        cost = float(w @ cut_of(known, Alternative(dict(zip(pair, (at.u, at.v), strict=True)))))
        if math.isfinite(cost):
            found.append((cost, at))
    kept: list[tuple[float, Position]] = []
    for cost, at in sorted(found, key=lambda pair: pair[0]):
        if len(kept) < KEPT and all(np.abs(at.v - other.v).max() > DISTINCT for _, other in kept):
            kept.append((cost, at))
    return kept


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


# --- the proof that nothing is better --------------------------------------------------------------

CURVE_RANGE = (1e-6, 1e2)
CURVE_POINTS = 190  # prices of capacity at which the leader is solved, relative to its weight: a factor of 1.1 apart
CURVE_STEPS, CURVE_TOLERANCE = 500, 1e-7


@dataclass(frozen=True, eq=False)
class Proof:
    """`bound` ≤ min(Z, target), and whether it is the target; by which factor the rival's weights were raised for it.

    Where the search met a pair that seems to cost less, it is `doubt`.
    """

    bound: float
    proved: bool
    doubt: Position | None
    raised: float = 1.0


class Leader:
    """The better channel of pairs with its weights, solved once for all of its rivals."""

    def __init__(self, W: Floats, w: Floats, answer: Capacity) -> None:
        prices = w.sum() * np.geomspace(*CURVE_RANGE, CURVE_POINTS)
        P = np.maximum(answer.input, 1e-6)
        self.curve = Curve.of(Side.of(W, w), prices, W, P / P.sum(), CURVE_STEPS, CURVE_TOLERANCE)

    def prove(
        self, W: Floats, w: Floats, guess: Floats, target: float, *, most_boxes: int, alarm: bool = True
    ) -> Proof:
        """A lower bound of Z against the rival with rows W and weights w, up to the target.

        `guess` are rows near a solution; they change the time, never the validity. Without `alarm` the search goes on
        past rows that seem to cost less than the target.
        """
        answer = capacity(guess, tol=1e-6)
        found = certify(Side.of(W, w), self.curve, most_boxes, self._price(answer), answer.output, target, alarm)
        doubt = self._met(found.v, found.P) if found.end == VIOLATED else None
        return Proof(max(found.bound, 0.0), found.end == PROVED, doubt)

    def _price(self, answer: Capacity) -> float:
        """The price at which the leader comes down to this capacity."""
        nats = answer.lower * NATS_PER_BIT
        return float(np.interp(-nats, -self.curve.capacity, self.curve.s))

    def _met(self, v: Floats, P: Floats) -> Position:
        """A rival with the rows v, and the leader where it has come down to the rival's capacity."""
        laws = np.maximum(v, LEAST_ENTRY)
        laws /= laws.sum(axis=1, keepdims=True)
        price, prices = self._price(capacity(laws, tol=1e-9)), self.curve.s
        i = min(max(int(np.searchsorted(prices, price)), 1), len(prices) - 1)
        r = (price - prices[i - 1]) / (prices[i] - prices[i - 1])
        u, P_u = ((1.0 - r) * values[i - 1] + r * values[i] for values in (self.curve.u, self.curve.P))
        return Position(u, P_u, laws, P)


Attempts = tuple[tuple[int, int], ...]
"""Surplus and boxes of the attempts at a proof, in this order, less those that could not improve on an earlier one."""

FIRST_LOOK: Attempts = ((1, 24),)  # for missing alternatives: nearly all show by then
LONG_LOOK: Attempts = ((1, 400), (4, 400), (16, 700), (64, 700), (256, 700), (1024, 700), (1, 12_000))
BOX_WORK, BOXES_AT_LEAST = 1_000_000, 700
"""An attempt has at most BOX_WORK/(inputs times outputs)² boxes, or BOXES_AT_LEAST: some ten seconds."""

MANY_TIMES, REACH, LITTLE = 4, 0.9, 0.3
"""An attempt is made with MANY_TIMES the boxes of the last one; or if the last bound, raised as the weights are, would
come within REACH of the target; or if it was so LITTLE that it says nothing."""


@dataclass(frozen=True, eq=False)
class Claim:
    """The weights have the value `target` for every pair, if the rivals are given a little more.

    Far rivals have small weights and long proofs; for next to nothing they get room to spare, and where the boxes run
    out a larger surplus still leaves a bracket, if a wider one.
    `smallest_surplus` is a share of all senses, or of what they cost; `guesses` are rows of the rival of each
    pair near a solution.
    """

    known: KnownChannels
    weights: Floats
    target: float
    smallest_surplus: float
    guesses: Mapping[Pair, Floats]

    def prove(self, attempts: Attempts, progress: Progress) -> dict[Pair, Proof]:
        """The proof for each pair, in parallel."""
        known, w = self.known, self.weights
        leaders = {b: Leader(known.W[b], w[known.blocks[b]], known.capacities[b]) for b, _ in self.guesses}
        proofs: dict[Pair, Proof] = {}
        with ThreadPoolExecutor(usable_cores()) as pool:
            answers = pool.map(lambda pair: self._best_proof(leaders[pair[0]], pair, attempts), self.guesses)
            for pair, proof in zip(self.guesses, answers, strict=True):
                proofs[pair] = proof
                progress(len(proofs), len(self.guesses))
        return proofs

    def _best_proof(self, leader: Leader, pair: Pair, attempts: Attempts) -> Proof:
        """The first attempt that meets a doubt, or else the one with the largest value for what it gives."""
        rival = pair[1]
        share = (self.weights[self.known.blocks[rival]] * self.known.costs[rival]).sum()
        most = max(BOXES_AT_LEAST, BOX_WORK // self.known.W[rival].size ** 2)
        best, value, last, spent = Proof(0.0, False, None), 0.0, Proof(0.0, False, None), 1
        for times, boxes in attempts:
            surplus = times * self.smallest_surplus
            raised = 1.0 + surplus / share
            many = min(boxes, most) >= MANY_TIMES * spent
            reach = last.bound / self.target * raised / last.raised  # Z grows at most as the weights do
            if self.target / (1.0 + surplus) <= value or not (
                many or reach >= REACH or last.bound < LITTLE * self.target
            ):
                continue
            last, spent = self._attempt(leader, pair, raised, min(boxes, most)), min(boxes, most)
            if last.doubt is not None:
                return last
            if last.bound / (1.0 + surplus) > value:
                best, value = last, last.bound / (1.0 + surplus)
        return best

    def _attempt(self, leader: Leader, pair: Pair, raised: float, boxes: int) -> Proof:
        """An attempt with the rival's weights raised by a factor; doubts that are none are ignored."""
        block, given = self.known.blocks[pair[1]], self.weights.copy()
        given[block] *= raised
        rival = self.known.W[pair[1]], given[block], self.guesses[pair], self.target
        proof = leader.prove(*rival, most_boxes=boxes)
        if proof.doubt and cut_of(self.known, alternative_at(pair, proof.doubt)) @ given >= self.target:
            proof = leader.prove(*rival, most_boxes=boxes, alarm=False)
        return replace(proof, raised=raised)
