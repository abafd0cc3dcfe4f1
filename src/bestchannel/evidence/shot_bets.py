"""Linear bets on pairs of answers to the shots of one request, and the evidence of all requests against one rival.

Let b lead and a be its rival. Before a request of N_x shots of every input x fix a weight s, P and V of the leader with
g_x = log(V_x/PV), an output distribution Q > 0 and ν_x(p) = ν_x + μ_x p. With an optimal input p of the rival's true
rows W, a shot of x that b answers with y' and a with y multiplies by

    f_x(y', y) = ν_x(p_x) + (s/N_x) (P_x g_x(y') - p_x log(W_x(y)/Q(y))) > 0.

The mean of a linear bet depends on the law of each answer alone, so that it does not matter what the two have to do
with each other. docs/theory/joint-trials.md, "Live shots", has the proof. In nats.
"""

from __future__ import annotations

import math
from copy import copy, deepcopy
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from bestchannel.arrays import Floats, Integers
from bestchannel.evidence.bets import LARGEST_INPUT, SPARE, WORTH_ANOTHER_TRY, Account
from bestchannel.evidence.pair_bets import PairTerms
from bestchannel.native import pairs as kernels

FLOOR = 0.05  # the least that a bet may multiply by, at any row and input of the rival
FITTINGS = 24  # steps towards the joint rows that the bets are hardest to tell from those thought true
SMALLER, SIZES = 0.7, 8  # by which a weight is tried that is too large for the floor, and how many such
MOST_BOXES = 200  # boxes with which a bound is looked for before it is given up


class ShotBets(NamedTuple):
    """Bets on the pairs of answers of a leader and of each of several rivals with outputs of one size."""

    weights: Floats  # [r] s; 0 where there is no bet
    levels: Floats  # [r, x] ν
    slopes: Floats  # [r, x] μ
    auxiliary: Floats  # [r, x, y'] V
    scores: Floats  # [r, x, y'] s P g / N
    outputs: Floats  # [r, y] Q


def shot_bets(J: Floats, P_b: Floats, P_a: Floats, shots: Floats, weights: Floats) -> ShotBets:
    """Bets of about these weights [r] on joint rows J [r, x, y', y] that are thought true.

    The best ones pay J/J', where J' are the joint rows nearest to J at which b is worth no more than a. P_b [x] and
    P_a [r, x] are inputs of both. Weights that the floor does not allow are made smaller, or 0.
    """
    _, _, scores, Q = _scores(J, P_b, P_a)
    reach = (LARGEST_INPUT * (1.0 - np.log(Q.min(axis=1))))[:, None] - scores.min(axis=2)
    s = np.minimum(weights, (shots / reach).min(axis=1))  # beyond it f is too small for a bound to be found
    for _ in range(SIZES):
        bets, allowed = _fitted(J, P_b, P_a, shots, s)
        if allowed.all():
            break
        s = np.where(allowed, s, SMALLER * s)
    return bets._replace(weights=np.where(allowed, s, 0.0))


def _fitted(J: Floats, P_b: Floats, P_a: Floats, shots: Floats, s: Floats) -> tuple[ShotBets, Floats]:
    """The bets of these weights, and which of them never fall below the floor."""
    per_shot, near = s[:, None] / shots, J
    for _ in range(FITTINGS):
        V, W, scores, Q = _scores(near, P_b, P_a)
        pays = per_shot[..., None, None] * (scores[..., None] - (P_a[..., None] * np.log(W / Q[:, None]))[:, :, None])
        level = 1.0 - (near * pays).sum(axis=(2, 3), keepdims=True)
        tilted = J / np.maximum(level + pays, 2.0 * FLOOR)
        near = 0.5 * (near + tilted / tilted.sum(axis=(2, 3), keepdims=True))
    scores, level = per_shot[..., None] * scores, level[..., 0, 0]
    divergence = (W * np.log(W / Q[:, None])).sum(axis=2)
    slopes, allowed = _slopes(level + scores.min(axis=2) - FLOOR, P_a, per_shot, divergence, Q)
    return ShotBets(s, level - P_a * slopes, slopes, V, scores, Q), allowed


def _scores(J: Floats, P_b: Floats, P_a: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """The rows V of the leader and W of the rival, P log(V/PV), and Q."""
    V, W = J.sum(axis=3), J.sum(axis=2)
    mixed, Q = np.einsum("x,rxy->ry", P_b, V), np.einsum("rx,rxy->ry", P_a, W)
    return V, W, P_b[:, None] * np.log(V / mixed[:, None]), Q


def _slopes(room: Floats, P_a: Floats, per_shot: Floats, wanted: Floats, Q: Floats) -> tuple[Floats, Floats]:
    """μ [r, x], as near as the floor allows to what keeps ν in step with what the rival's answers pay.

    f is least at w = 1 and affine in p, so that p = 0 and the largest p tell: there remains the room less μ P, and
    the room plus μ (p - P) less what the least of Q costs. f >= p s/N is kept as well, without which what is lost is
    not concave in the row, and no good bound of it is found.
    """
    top = np.maximum(LARGEST_INPUT, P_a + 1e-3)
    least = (top * per_shot * (1.0 - np.log(Q.min(axis=1))[:, None]) - room) / (top - P_a)
    most = room / np.maximum(P_a, 1e-12)
    allowed = (least <= most) & (room > 0.0)
    return np.minimum(np.maximum(per_shot * wanted, least), most), allowed.all(axis=1)


@dataclass
class PairAccount(Account):
    """All bets against one rival on pairs of answers since they began: the state of an e-process, in nats."""

    paid: float = 0.0  # of a rival of value 0 by its alphabet, all that the bets brought
    terms: list[Floats] = field(default_factory=list)  # of every request [how often, α, β, κ, letter of the rival | k]
    drift: Floats = field(init=False)  # [y] the sum of s log Q
    level: Floats = field(init=False)  # [x] the sum of N (ν - 1)
    slope: Floats = field(init=False)  # [x] the sum of N μ

    def __post_init__(self) -> None:
        super().__post_init__()
        (n, m) = self.shape
        self.drift, self.level, self.slope = np.zeros(m), np.zeros(n), np.zeros(n)

    def settle(self, leader: int, bets: ShotBets, i: int, counts: Integers) -> None:
        """Book the pairs of answers [x, y', y] on which the i-th of these bets was made."""
        s, shots, m = float(bets.weights[i]), counts.sum(axis=(1, 2)), self.shape[1]
        log_Q, per_shot = np.log(bets.outputs[i]), s / shots
        x, y_b, y = np.nonzero(counts)
        alpha = bets.levels[i][x] + bets.scores[i][x, y_b]
        self.total += float(shots.sum())
        self.book(leader, s)
        if min(self.shape) == 1:
            self.paid += float(counts[x, y_b, y] @ np.log(alpha) - shots @ (bets.levels[i] - 1.0))
            return
        beta = bets.slopes[i][x] + per_shot[x] * log_Q[y]
        self.terms.append(np.array([counts[x, y_b, y], alpha, beta, per_shot[x], x * m + y]))
        self.drift += s * log_Q
        self.level += shots * (bets.levels[i] - 1.0)
        self.slope += shots * bets.slopes[i]

    def evidence(self, W: Floats, P: Floats, epsilon: float, threshold: float) -> float:
        """Sε less what the bets can have lost at most: proved where it reaches the threshold, otherwise an estimate.

        That is looked for from the rows W and inputs P on.
        """
        gained = self.paid + epsilon * self.weight - self.rounding
        if not self.terms:
            self.estimate = gained
            return gained
        terms = self._all_terms()
        self.estimate = gained - self._climbed(terms, W, P)
        if self.estimate < threshold:
            return self.estimate
        if self.estimate < self.given_up + WORTH_ANOTHER_TRY:
            return math.nextafter(threshold, -math.inf)
        proved = gained - self._bounded(terms, gained - threshold)
        if proved < threshold:
            self.given_up = self.estimate
        return proved

    def proved_evidence(self, W: Floats, P: Floats, fixed_input: bool) -> float:
        """What is lost at most, with the sign turned: proved, whatever the rival is. The account stays as it is."""
        if not self.terms:
            return self.paid - self.rounding
        terms, aside = self._all_terms(), copy(self)
        aside.worst = deepcopy(self.worst)
        lost = aside._climbed(terms, W, P) + SPARE
        return -max(lost, aside._bounded(terms, lost)) - self.rounding

    def _climbed(self, terms: kernels.Terms, W: Floats, P: Floats) -> float:
        if not self.worst_known:
            self.worst = np.minimum(P, LARGEST_INPUT), np.log(W), np.log(P @ W)
            self.worst[0][:] /= self.worst[0].sum()
            self.worst_known = True
        return kernels.climbed(terms, self.worst, LARGEST_INPUT)

    def _bounded(self, terms: kernels.Terms, target: float) -> float:
        n, place = self.shape[0], (self.worst[0].copy(), self.worst[1].copy(), self.worst[2].copy())
        ends = np.array([[np.zeros(n), np.full(n, LARGEST_INPUT)]])
        return kernels.bounded(terms, place, ends, target, MOST_BOXES)

    def _all_terms(self) -> kernels.Terms:
        """The terms of all requests in the order of the rival's letters."""
        often, alpha, beta, kappa, letter = np.concatenate(self.terms, axis=1)
        order, letters = np.argsort(letter, kind="stable"), np.arange(self.shape[0] * self.shape[1] + 1)
        first, alike = np.searchsorted(letter[order], letters), np.zeros(len(order), np.int64)
        terms = PairTerms(alike, often[order], alpha[order], beta[order], kappa[order], first, self.shape)
        return kernels.Terms(*terms.padded(np.ones(1)), self.drift, self.level, self.slope, self.weight)
