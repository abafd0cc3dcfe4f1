"""Adaptive: a leader, evidence against every rival, and senses where they are still needed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from bestchannel.arrays import Floats, number_in
from bestchannel.confidence.anytime import leader_bets, rival_weight
from bestchannel.identification.allocation import remaining_senses, spread_over_inputs
from bestchannel.identification.policy import Counts, Policy, Script, Senses, TooManySensesError
from bestchannel.identification.request import MOST_SENSES
from bestchannel.information import NATS_PER_BIT

FIRST_SENSES = 6
"""Of every input, before anything is compared."""

BETTING_FROM = 0.7
"""Estimated nats of evidence from which on a rival is bet against; what was sensed before is only learned from."""

CAUTION = 0.25
"""Standard errors by which a gap is thought smaller than estimated."""

BATCH = 0.15
"""The share of the senses still needed that one request asks for."""

SMALLEST_GROWTH, LARGEST_GROWTH = 0.04, 0.5
"""The least and the most that a request adds to the senses of a channel, relative to those it has."""

BOLDNESS = np.array([1.6, 1.2, 0.8, 0.4, 0.2, 0.1, 0.05])
"""Bets that are tried, relative to the best ones for a small gap."""

LARGEST_BET = 0.9

HOPELESS = -4.0
"""Nats of evidence below which the bets against a rival start anew."""

FIRST_SHARE = 0.9
"""The share of δ that the first bets against a rival have; the i-th restart has FIRST_SHARE (1 - FIRST_SHARE)^i."""


@dataclass
class Evidence:
    """What the bets against one rival have brought, in nats: the state of an e-process."""

    leader: float = 0.0  # what the bets on leaders paid, less their price
    weight: float = 0.0  # s: what those bets cost for each nat of the rival's value
    counts: Floats = field(default_factory=lambda: np.zeros((0, 0)))  # of the rival, each sense weighted with its θ
    total: float = 0.0  # sum of θ over the senses of one input
    betting: bool = False
    restarts: int = 0


@dataclass(frozen=True)
class View:
    """What the counts suggest, in nats: no more than a plan, nothing here is certified."""

    values: Floats  # [channel]
    variances: Floats  # [channel] of the estimated value
    rows: list[Floats]  # smoothed estimates W
    inputs: list[Floats]  # P
    deviations: list[Floats]  # [x] standard deviation of log(W_x/PW) under W_x


class Adaptive(Policy):
    """Names the best channel with probability 1 - delta, at a cost near the least possible.

    With `epsilon` > 0 (bits) a channel within epsilon of the best may be named. Bets against
    every rival are fixed before each request; a rival is ruled out once they have multiplied
    their stake by 1/delta. The proof is in docs/theory/adaptive.md.
    """

    name = "adaptive"

    def __init__(
        self,
        alphabets: Iterable[Sequence[int]],
        *,
        delta: float,
        epsilon: float = 0.0,
        input_distribution: Sequence[float] | None = None,
    ) -> None:
        epsilon = number_in(epsilon, "epsilon (the accuracy, in bits)", low=0.0, high=1e6, low_open=False)
        super().__init__(alphabets, delta=delta, epsilon=epsilon, input_distribution=input_distribution)

    @property
    def guarantee(self) -> str:
        """See `Policy`."""
        what = f"within {self.epsilon:g} bit of the best" if self.epsilon else "the best"
        return f"the named channel is {what} with probability at least {1 - self.delta:g} [docs/theory/adaptive.md]"

    def _script(self) -> Script:
        self._counts = [np.zeros(alphabet, dtype=np.int64) for alphabet in self.alphabets]
        self._attempt = 1
        self._evidence = self._no_evidence()
        if len(self.candidates) == 1 or self._worthless(self.candidates):
            return self.candidates[0]
        self._learn((yield self._first_look()))
        while True:
            view = self._view()
            self._choose_leader(view)
            evidence = self._rule_out()
            if len(self.candidates) == 1:
                return self.candidates[0]
            senses, bets = self._plan(view, evidence)
            counts = yield self._fits(senses)
            self._settle(bets, counts)
            self._learn(counts)

    # --- the stop: everything that enters it is certified ------------------------------------

    def _threshold(self, rival: int) -> float:
        """log 1/δ, less the logarithm of the share of δ that the present bets against the rival have.

        Restarts share it geometrically; with epsilon, leader number i has 1/(i(i+1)) of it.
        """
        attempts = self._attempt * (self._attempt + 1) if self.epsilon else 1
        share = FIRST_SHARE * (1.0 - FIRST_SHARE) ** self._evidence[rival].restarts
        return math.log(attempts / (share * self.delta))

    def _rule_out(self) -> dict[int, float]:
        """Drop the rivals against which the evidence has reached the threshold; return the evidence."""
        evidence = self._weigh()
        thresholds = {channel: self._threshold(channel) for channel in evidence}
        self.candidates = tuple(
            channel
            for channel in self.candidates
            if channel == self.leader or not evidence[channel] >= thresholds[channel]
        )
        for channel, nats in evidence.items():
            if not nats >= HOPELESS:
                restarts = self._evidence[channel].restarts + 1
                self._evidence[channel] = Evidence(counts=np.zeros(self.alphabets[channel]), restarts=restarts)
                evidence[channel] = 0.0
        self.evidence_nats, self.threshold_nats = evidence, thresholds
        return evidence

    def _weigh(self) -> dict[int, float]:
        """Of every candidate but the leader: L + s ε - G Ĉ_θ, with Ĉ_θ the upper end of its bracket."""
        rivals = [channel for channel in self.candidates if channel != self.leader]
        epsilon = self.epsilon * NATS_PER_BIT
        found = {c: self._evidence[c].leader + self._evidence[c].weight * epsilon for c in rivals}
        bet = [channel for channel in rivals if self._evidence[channel].total > 0.0]
        for size in {self.alphabets[channel] for channel in bet}:
            channels = [channel for channel in bet if self.alphabets[channel] == size]
            stack = np.stack([self._evidence[c].counts / self._evidence[c].total for c in channels])
            for channel, value in zip(channels, self.functional.values(stack), strict=True):
                found[channel] -= self._evidence[channel].total * value.upper * NATS_PER_BIT
        return found

    def _settle(self, bets: _Bets, counts: Counts) -> None:
        """Pay the bets that were fixed before the request."""
        if not len(bets.rivals):
            return
        paid = leader_bets(bets.rows, bets.inputs, bets.senses, bets.weights).settled(
            counts[bets.leader].astype(np.float64)
        )
        for i, rival in enumerate(bets.rivals):
            evidence = self._evidence[rival]
            evidence.leader += float(paid[i])
            evidence.weight += float(bets.weights[i])
            if rival in counts:
                evidence.counts = evidence.counts + bets.thetas[i] * counts[rival]
                evidence.total += float(bets.thetas[i] * bets.rounds[i])

    # --- the plan: any choice is valid --------------------------------------------------------

    def _no_evidence(self) -> dict[int, Evidence]:
        return {channel: Evidence(counts=np.zeros(alphabet)) for channel, alphabet in enumerate(self.alphabets)}

    def _first_look(self) -> Senses:
        return {j: (FIRST_SENSES,) * n for j, (n, m) in enumerate(self.alphabets) if min(n, m) > 1}

    def _learn(self, counts: Counts) -> None:
        for channel, table in counts.items():
            self._counts[channel] = self._counts[channel] + table

    def _fits(self, senses: Senses) -> Senses:
        """The senses, unless 64 bits would not hold the counts, as at exact ties without a limit."""
        for channel, wanted in senses.items():
            if int(self._counts[channel].sum()) + sum(wanted) > MOST_SENSES:
                raise TooManySensesError(f"channel {channel} has been sensed as often as 64-bit counts hold")
        return senses

    def _choose_leader(self, view: View) -> None:
        """The candidate of largest estimate; with epsilon, the old leader while it is nearly that."""
        pool = range(len(self.alphabets)) if self.epsilon else self.candidates
        best = max(pool, key=lambda channel: (view.values[channel], min(self.alphabets[channel])))
        if not self.epsilon or self.leader is None:
            self.leader = best
        elif view.values[self.leader] < view.values[best] - 0.5 * self.epsilon * NATS_PER_BIT:
            # evidence with epsilon is about one leader: another one starts anew, with a smaller share of δ
            self.leader, self._attempt, self._evidence = best, self._attempt + 1, self._no_evidence()
            self.candidates = tuple(range(len(self.alphabets)))

    def _view(self) -> View:
        k = len(self.alphabets)
        values, variances = np.zeros(k), np.zeros(k)
        rows: list[Floats] = [np.zeros((0, 0))] * k
        inputs, deviations = list(rows), list(rows)
        for size in {size for size in self.alphabets if min(size) > 1}:  # the others are worth 0 for certain
            channels = [j for j in range(k) if self.alphabets[j] == size]
            tables = np.stack([self._counts[j] for j in channels]).astype(np.float64)
            totals = np.maximum(tables.sum(axis=2), 1.0)
            W = (tables + 0.5) / (tables.sum(axis=2) + 0.5 * size[1])[..., None]
            P = self.functional.best_inputs(W)
            Q = np.einsum("cx,cxy->cy", P, W)
            g = np.log(W / Q[:, None, :])
            D = (W * g).sum(axis=2)
            V = (W * g**2).sum(axis=2) - D**2
            value = np.maximum((P * D).sum(axis=1), 0.0)  # rounding must not let a channel worth 0 by its size lead
            # the second term keeps a channel that has hardly erred from looking certain
            variance = (P**2 * V / totals).sum(axis=1) + (0.5 * P / totals).max(axis=1) ** 2
            for i, j in enumerate(channels):
                values[j], variances[j] = value[i], variance[i]
                rows[j], inputs[j], deviations[j] = W[i], P[i], np.sqrt(np.maximum(V[i], 0.0))
        return View(values, variances, rows, inputs, deviations)

    def _plan(self, view: View, evidence: dict[int, float]) -> tuple[Senses, _Bets]:
        """What to sense next, and the bets on it."""
        b = self.leader
        assert b is not None
        rivals = [channel for channel in self.candidates if channel != b]
        epsilon = self.epsilon * NATS_PER_BIT
        gaps = view.values[b] + epsilon - view.values[rivals]
        errors = np.sqrt(view.variances[b] + view.variances[rivals])
        for rival, gap, error in zip(rivals, gaps, errors, strict=True):
            if gap > 0.0 and 0.5 * (gap / error) ** 2 >= BETTING_FROM:
                self._evidence[rival].betting = True
        needed = np.array([self._threshold(rival) - evidence[rival] for rival in rivals])
        careful = np.maximum(gaps - CAUTION * errors, 0.7 * errors)
        value = max(view.values[b], 1e-3)
        sizes = np.array([self.alphabets[rival][0] for rival in rivals], dtype=np.float64)
        deviation = float(view.inputs[b] @ view.deviations[b])
        leader_senses, rival_senses = remaining_senses(
            careful, needed + 0.5, max(deviation**2, 1e-4), self.functional.spread() * value * sizes
        )
        self.more_senses = math.ceil(leader_senses + rival_senses.sum())
        senses: Senses = {b: spread_over_inputs(self._batch(b, leader_senses), view.inputs[b] * view.deviations[b])}
        rounds = np.zeros(len(rivals))
        for i, rival in enumerate(rivals):
            if min(self.alphabets[rival]) > 1:
                rounds[i] = max(1.0, round(self._batch(rival, rival_senses[i]) / sizes[i]))
                senses[rival] = (int(rounds[i]),) * self.alphabets[rival][0]
            else:
                rounds[i] = sum(senses[b])  # worth 0 without being sensed
        return senses, self._bets(view, senses[b], rivals, gaps - CAUTION * errors, rounds)

    def _batch(self, channel: int, wanted: float) -> float:
        have = float(self._counts[channel].sum())
        least, most = max(SMALLEST_GROWTH * have, 4.0), max(LARGEST_GROWTH * have, 8.0)
        return min(max(BATCH * wanted, least), most)

    def _bets(
        self, view: View, leader_senses: tuple[int, ...], rivals: list[int], gaps: Floats, rounds: Floats
    ) -> _Bets:
        """Of some multiples of θ = Δ / (Φ C_b + m v_b), best for a small gap, those that should win most."""
        b = self.leader
        assert b is not None
        spread, N = self.functional.spread(), np.array(leader_senses, dtype=np.float64)
        v_b = float((view.inputs[b] ** 2 * view.deviations[b] ** 2 / N).sum())
        small_gap = gaps / (spread * max(view.values[b], 1e-3) + rounds * v_b)
        thetas = np.clip(small_gap[:, None] * BOLDNESS, 0.0, LARGEST_BET)
        weights = rival_weight(thetas, rounds[:, None], spread)
        paid = leader_bets(view.rows[b], view.inputs[b], N, weights.ravel()).settled(N[:, None] * view.rows[b])
        rival_values = (view.values[b] - gaps)[:, None]  # less epsilon, which the bets are credited with
        growth = paid.reshape(weights.shape) - rounds[:, None] * thetas * rival_values
        best = growth.argmax(axis=1)
        on = [i for i, r in enumerate(rivals) if self._evidence[r].betting and growth[i, best[i]] > 0.0]
        return _Bets(
            b,
            view.rows[b],
            view.inputs[b],
            N,
            [rivals[i] for i in on],
            thetas[on, best[on]],
            rounds[on],
            weights[on, best[on]],
        )


@dataclass(frozen=True)
class _Bets:
    """All that the bets of one request depend on, fixed before it is answered."""

    leader: int
    rows: Floats
    inputs: Floats
    senses: Floats
    rivals: list[int]
    thetas: Floats
    rounds: Floats
    weights: Floats
