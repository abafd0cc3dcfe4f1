"""Linear bets on pairs of answers: e-values of "channel b is no better than channel a" from trials that both answered.

In part e of a shuffle, a trial with the inputs (x, z) of b and a and the answers (y_b, y_a) brings the factor

    f = ν_xz(P_z) + s_e [ P^b_x log(V_x(y_b) / P^bV(y_b)) / N^b_x  -  P_z log(W_z(y_a) / Q(y_a)) / N^a_z ]  >=  0

for rows W and inputs P of a, with N the trials of an input in the part, ν affine, and all else chosen from what was
looked at before. Its mean depends on marginals alone. With S = sum_e s_e, at the true W = W_a and an optimal P of it

    M(P, W) = prod f · exp(-sum (ν - 1) + sum_e s_e sum_z P_z D(W_z‖Q_e) - S I(P;W))

has a mean of at most exp(S (C_b - C_a)), whatever the joint law of the answers of a trial. So has the mean over
shuffles, and its least value over all (P, W), which is bounded from below. In nats. docs/theory/joint-trials.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bestchannel.arrays import Floats, Integers
from bestchannel.capacity import capacities
from bestchannel.counts.joint_trials import AnswerPairs
from bestchannel.evidence.bets import LARGEST_INPUT, ROUNDING
from bestchannel.evidence.recorded_channel import COINS, FEWEST, coins_for, parts, softmax
from bestchannel.native import pairs as kernels

CAP, NEAR_CAP = 0.4, 0.6
"""How far a factor may fall below 1 at the inputs that are thought best, whatever the answers: what bounds s.

The second where no input has more than `NEAR` times its share, at channels of so many inputs that this is at most
`LARGEST_NEAR`: far from there one trial has a larger part of the bets, and more is lost.
"""

NEAR, LARGEST_NEAR = 3.0, 0.45
LOOKED_AT = 2  # parts of 2^COINS that are not bet on

LEAST_FACTOR = 0.05  # no factor is less, whatever the answers, rows and inputs
PSEUDO_COUNTS = 0.5  # for each letter seen in a row, spread over all pairs of letters
FITTINGS = 12  # steps towards the joint law that bets are to tell from the learned one
LEAST_SEEN = 0.1  # of a factor while fitting
MOST_SHUFFLES, FEWEST_SHUFFLES, CELLS_TIMES_SHUFFLES = 16, 4, 2**21
SIGNING = 3  # rounds of signatures
SLACK, MOST_BOXES = 0.1, 300  # nats above the largest loss found to which all are bounded, by so many boxes at most


class PairEvidence(NamedTuple):
    """exp(nats[r] - weights[r] c) for every region r of inputs; their least value is an e-value of C_b - C_a <= c."""

    nats: Floats
    weights: Floats

    def log_value(self) -> float:
        """The logarithm at c = 0."""
        return float(self.nats.min())

    def lower_end(self, nats: float) -> float:
        """The c where the e-value is e^nats; -∞ without evidence."""
        ends = [(n - nats) / w if w > 0.0 else -math.inf for n, w in zip(self.nats, self.weights, strict=True)]
        return min(ends)


NOTHING = PairEvidence(np.array([-math.inf]), np.array([0.0]))


@dataclass(frozen=True)
class PairShuffles:
    """The trials of two channels in several random orders, as `Shuffles` has those of one, by rows (x_b, x_a)."""

    x_b: Integers  # [r]
    x_a: Integers  # [r]
    n_inputs: tuple[int, int]  # of b and a
    known: Floats  # [j, e, r, y_b, y_a] looked at before part e is bet on
    tested: Floats  # [j, e, r, y_b, y_a] bet on

    @classmethod
    def of(cls, pairs: AnswerPairs, alphabets: Sequence[tuple[int, int]], seed: int = 0) -> PairShuffles:
        """Shuffles of trials, or of whole groups of trials, each of which counts as one trial."""
        (n_b, m_b), (n_a, m_a) = alphabets
        if min(n_a, m_a) == 1:  # the capacity of a is 0, whatever its rows are
            n_a, m_a, pairs = 1, 1, pairs._replace(x_a=np.zeros_like(pairs.x_a), y_a=np.zeros_like(pairs.y_a))
        pairs = unlabelled_pairs(pairs, ((n_b, m_b), (n_a, m_a)))
        rows, r = np.unique(pairs.x_b * n_a + pairs.x_a, return_inverse=True)
        cell = (r * m_b + pairs.y_b) * m_a + pairs.y_a
        shape = len(rows), m_b, m_a
        size = math.prod(shape)
        affordable = CELLS_TIMES_SHUFFLES // max(size << COINS, 1)
        shuffles = min(max(affordable, FEWEST_SHUFFLES), MOST_SHUFFLES)
        table = np.bincount(cell, minlength=size)
        coins = coins_for(table, 0, seed)
        if pairs.groups is None:
            tosses = parts(np.broadcast_to(table, (shuffles, size)), coins).astype(np.float64)
        else:
            tosses = _grouped(cell, pairs.groups, shuffles, size, coins)
        tosses = tosses.reshape(-1, shuffles, *shape)
        known, tested = np.cumsum(tosses, axis=0)[LOOKED_AT - 1 : -1], tosses[LOOKED_AT:]
        return cls(rows // n_a, rows % n_a, (n_b, n_a), known.swapaxes(0, 1), tested.swapaxes(0, 1))

    def summed(self, values: Floats, side: int) -> Floats:
        """[j, e, r, ...] summed over the rows of every input of b (side 0) or a: [j, e, x, ...]."""
        total = np.zeros((*values.shape[:2], self.n_inputs[side], *values.shape[3:]))
        for r, x in enumerate((self.x_b, self.x_a)[side]):
            total[:, :, x] += values[:, :, r]
        return total

    @cached_property
    def trials(self) -> Floats:
        """[j, e, r]: how many are bet on, which is known before their answers are."""
        return self.tested.sum(axis=(3, 4))

    @cached_property
    def learned(self) -> Floats:
        """[j, e, r, y_b, y_a]: the joint law of the answers in every row, thought to be true before each part."""
        letters = np.maximum(*((self.known.sum(axis=axis) > 0.0).sum(axis=3) for axis in (3, 4)))
        added = PSEUDO_COUNTS * np.maximum(letters, 1)[..., None, None]
        cells = self.known.shape[3] * self.known.shape[4]
        law: Floats = (self.known + added / cells) / (self.known.sum(axis=(3, 4), keepdims=True) + added)
        return law

    def marginals(self, law: Floats) -> tuple[Floats, Floats]:
        """The rows [j, e, x, y] of b and a under a joint law of every row; of inputs without a trial they are flat."""
        seen = self.known.sum(axis=(3, 4))[..., None] + 1e-9
        rows = []
        for side, own in enumerate((law.sum(axis=4), law.sum(axis=3))):
            total = self.summed(seen, side)
            mean = self.summed(seen * own, side) / np.where(total > 0.0, total, 1.0)
            rows.append(np.where(total > 0.0, mean, 1.0 / own.shape[3]))
        return rows[0], rows[1]


def unlabelled_pairs(pairs: AnswerPairs, alphabets: Sequence[tuple[int, int]]) -> AnswerPairs:
    """The same trials with the letters of both channels in an order of their own: their numbering does not matter.

    The signature of a letter is a sum, over its trials, of a hash of the other letters' signatures, a few times over:
    letters of equal signatures came in the same company.
    """
    columns, sizes = pairs[:4], (*alphabets[0], *alphabets[1])
    signatures = [np.full(size, 1 + i, np.uint64) for i, size in enumerate(sizes)]
    for _ in range(SIGNING):
        present = [signature[column] for signature, column in zip(signatures, columns, strict=True)]
        mixed = _hashed(sum(_hashed(letter + np.uint64(i)) for i, letter in enumerate(present, 1)))
        for i, column in enumerate(columns):
            signatures[i] = np.zeros(sizes[i], np.uint64)
            np.add.at(signatures[i], column, mixed)
    ranks = [np.argsort(np.argsort(signature, kind="stable")) for signature in signatures]
    x_b, y_b, x_a, y_a = (rank[column] for rank, column in zip(ranks, columns, strict=True))
    return AnswerPairs(x_b, y_b, x_a, y_a, pairs.groups)


def _hashed(values: Any) -> NDArray[np.uint64]:
    """The finaliser of splitmix64 [SLF14]: bits that look random, the same for equal values."""
    mixed = np.asarray(values, np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))


def group_weights(groups: Integers | None) -> Floats | None:
    """As how many trials each trial counts: those of a group are one together; None where all count as one."""
    if groups is None:
        return None
    _, group, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    weights: Floats = 1.0 / sizes[group]
    return weights


def _grouped(cell: Integers, groups: Integers, shuffles: int, size: int, coins: np.random.BitGenerator) -> Floats:
    """[part, j, cell]: every group goes to one part, and its trials share one count."""
    present, group = np.unique(groups, return_inverse=True)
    weights = group_weights(groups)
    bits = coins.random_raw(shuffles * len(present)).reshape(shuffles, -1) >> np.uint64(64 - COINS)
    tables = np.zeros((1 << COINS, shuffles, size))
    for j, part in enumerate(bits.astype(np.int64)):
        tables[:, j] = np.bincount(part[group] * size + cell, weights, size << COINS).reshape(-1, size)
    return tables


@dataclass(frozen=True)
class Scores:
    """What a trial brings per unit of weight, [j, e, r, y] of b and of a, at inputs of both; and the output Q of a."""

    b: Floats
    a: Floats
    Q: Floats

    @classmethod
    def of(cls, shuffles: PairShuffles, inputs: tuple[Floats, Floats], law: Floats) -> Scores:
        """Of the rows that a joint law has."""
        found, Q = [], np.zeros(0)
        for side, rows in enumerate(shuffles.marginals(law)):
            P, x = inputs[side], (shuffles.x_b, shuffles.x_a)[side]
            Q = np.einsum("jex,jexy->jey", P, rows)
            trials = shuffles.summed(shuffles.trials, side)
            per_trial = P / np.where(trials > 0.0, trials, 1.0)
            found.append((per_trial[..., None] * (np.log(rows) - np.log(np.maximum(Q, 1e-300))[:, :, None]))[:, :, x])
        return cls(found[0], found[1], Q)

    @property
    def pairs(self) -> Floats:
        """[j, e, r, y_b, y_a] of both together."""
        together: Floats = self.b[..., :, None] - self.a[..., None, :]
        return together


@dataclass(frozen=True)
class PairBets:
    """The bets on the parts of every shuffle, chosen from what was looked at before."""

    shuffles: PairShuffles
    weights: Floats  # [j, e] s
    constant: Floats  # [j, e, r] ν at p = 0
    lift: Floats  # [j, e, r] the slope of ν in p
    paid: Floats  # [j, e, r, y_b] s times the score of b
    kappa: Floats  # [j, e, r] s / N^a
    log_Q: Floats  # [j, e, y_a]
    P: Floats  # [x] of a, thought best at last: where the search for the worst begins
    W: Floats  # [x, y]

    @classmethod
    def placed(cls, shuffles: PairShuffles, nats: float, largest: float, cap: float) -> PairBets:
        """Bets that should reach so many nats at the smallest difference, at inputs of a up to `largest`."""
        law, n_a = shuffles.learned, shuffles.summed(shuffles.trials, 1)
        inputs = _inputs(shuffles, 0, law), _inputs(shuffles, 1, law)
        scores, P_a = Scores.of(shuffles, inputs, law), inputs[1][:, :, shuffles.x_a]
        usable = (n_a > 0.0).all(axis=2) & (inputs[0].sum(axis=2) > 0.0)
        most = cap / _reach(scores, law, P_a, n_a[:, :, shuffles.x_a])
        s = np.where(usable, np.minimum(_wanted(shuffles, scores, nats), most), 0.0)
        near, scores = _nearest(shuffles, inputs, scores, s)
        kappa = s[..., None] / np.where(n_a > 0.0, n_a, 1.0)[:, :, shuffles.x_a]
        at_best = 1.0 - s[..., None] * (near * scores.pairs).sum(axis=(3, 4))
        divergence = (near.sum(axis=3) * scores.a).sum(axis=3) * s[..., None] / np.maximum(kappa * P_a, 1e-300)
        lift, fits = _lifts(at_best, s[..., None] * scores.b.min(axis=3), kappa, P_a, divergence, scores.Q, largest)
        placed = s * fits
        kappa, lift = kappa * fits[..., None], lift * fits[..., None]
        constant = np.where(fits[..., None], at_best - P_a * lift, 1.0)
        W = shuffles.marginals(near)[1]
        return cls(
            shuffles, placed, constant, lift, placed[..., None, None] * scores.b, kappa, np.log(scores.Q),
            inputs[1][:, -1].mean(axis=0), W[:, -1].mean(axis=0),
        )  # fmt: skip

    @cached_property
    def terms(self) -> PairTerms:
        """All factors that occurred."""
        return PairTerms.of(self)

    def losses(self, P: Floats, log_W: Floats) -> Floats:
        """[j]: -log M at inputs and rows of a."""
        terms, trials, p = self.terms, self.shuffles.trials, P[self.shuffles.x_a]
        R = P @ np.exp(log_W)
        lost = terms.lost(P, log_W, len(self.weights)) + (trials * (self.constant - 1.0 + p * self.lift)).sum(
            axis=(1, 2)
        )
        gained: Floats = self.weights.sum(axis=1) * (R @ np.log(R)) - np.einsum(
            "je,jey,y->j", self.weights, self.log_Q, R
        )
        return lost - gained

    def account(self, share: Floats) -> kernels.Terms:
        """All shuffles as one account, in which the trials of shuffle j count share[j] times."""
        trials, s = share[:, None, None] * self.shuffles.trials, share[:, None] * self.weights
        level, slope = (
            self.shuffles.summed(trials * values, 1).sum(axis=(0, 1)) for values in (self.constant - 1.0, self.lift)
        )
        drift = np.einsum("je,jey->y", s, self.log_Q)
        return kernels.Terms(*self.terms.padded(share), drift, level, slope, float(s.sum()))


def _inputs(shuffles: PairShuffles, side: int, law: Floats) -> Floats:
    """[j, e, x]: the best input distribution of b or a as learned, of the inputs that b is bet on at."""
    rows = shuffles.marginals(law)[side]
    trials = shuffles.summed(shuffles.trials, side)
    every = shuffles.summed(shuffles.known[:, -1:].sum(axis=(3, 4)) + shuffles.trials[:, -1:], side)[0, 0]
    sensed = np.flatnonzero(every >= FEWEST) if side == 0 else np.arange(rows.shape[2])
    P = np.zeros(rows.shape[:3])
    if min(len(sensed), rows.shape[3]) > 1:
        own = np.ascontiguousarray(rows[:, :, sensed])
        P[:, :, sensed] = capacities(own, tol=1e-6, normalize=True).input
    else:
        P[:, :, :] = 1.0 / rows.shape[2]
    if side == 0:
        P = np.where(trials > 0.0, P, 0.0)
        P /= np.maximum(P.sum(axis=2, keepdims=True), 1e-300)
    return P


def _nearest(shuffles: PairShuffles, inputs: tuple[Floats, Floats], scores: Scores, s: Floats) -> tuple[Floats, Scores]:
    """The joint law near the learned one that bets of the weights s tell from it, by damped steps; and its scores."""
    law = near = shuffles.learned
    for _ in range(FITTINGS):
        factors = s[..., None, None, None] * scores.pairs
        factors += 1.0 - (near * factors).sum(axis=(3, 4), keepdims=True)
        fitted = law / np.maximum(factors, LEAST_SEEN)
        near = 0.5 * (near + fitted / fitted.sum(axis=(3, 4), keepdims=True))
        scores = Scores.of(shuffles, inputs, near)
    return near, scores


def _wanted(shuffles: PairShuffles, scores: Scores, nats: float) -> Floats:
    """[j, e]: √(2 nats / v), with v the variance of the paired difference by all trials, shared among the parts."""
    law, total = shuffles.learned[:, 0], shuffles.trials.sum(axis=2)
    pairs = scores.pairs[:, 0]
    mean = (law * pairs).sum(axis=(2, 3))
    spread = shuffles.trials[:, 0] * ((law * pairs * pairs).sum(axis=(2, 3)) - mean * mean)
    every = shuffles.known[0, -1].sum() + total[0, -1]
    v = spread.sum(axis=1) * total[:, 0] / every
    s: Floats = (
        np.sqrt(2.0 * nats / np.maximum(v, 1e-12))[:, None] * total / np.maximum(total.sum(axis=1), 1e-300)[:, None]
    )
    return s


def _reach(scores: Scores, law: Floats, P_a: Floats, n_a: Floats) -> Floats:
    """[j, e]: how far a factor can fall below its mean per unit of weight, at rows of a that are certain."""
    means = (law.sum(axis=4) * scores.b).sum(axis=3) - (law.sum(axis=3) * scores.a).sum(axis=3)
    certain = P_a / np.where(n_a > 0.0, n_a, 1.0) * -np.log(scores.Q.min(axis=2))[..., None]
    fall: Floats = means - scores.b.min(axis=3) + certain
    return np.maximum(fall.max(axis=2), 1e-300)


def _lifts(
    at_best: Floats, least: Floats, kappa: Floats, P_a: Floats, D: Floats, Q: Floats, largest: float
) -> tuple[Floats, Floats]:
    """The slope of ν in p, near κD, that keeps factors above `LEAST_FACTOR` for p up to `largest`; whether one does.

    f is affine in p and least for rows that are certain: at p = 0 a smaller slope keeps it up, at the end a larger one.
    """
    end = np.maximum(largest, P_a + 1e-3)
    down = at_best + least - LEAST_FACTOR
    highest = down / np.maximum(P_a, 1e-300)
    lowest = (end * kappa * -np.log(Q.min(axis=2))[..., None] - down) / (end - P_a)
    slope: Floats = np.minimum(np.maximum(kappa * D, lowest), highest)
    return slope, (lowest <= highest).all(axis=2) & (down >= 0.0).all(axis=2)


class PairTerms(NamedTuple):
    """The factors that occurred, f = α + p β - p κ log w, in the order of a's letters."""

    j: Integers
    often: Floats
    alpha: Floats
    beta: Floats
    kappa: Floats
    first: Integers  # [x m + y], and the end: where the terms of a letter begin, counted without padding
    size: tuple[int, int]

    @classmethod
    def of(cls, bets: PairBets) -> PairTerms:
        """Of all trials that are bet on."""
        tested, x_a = bets.shuffles.tested, bets.shuffles.x_a
        j, e, r, y_b, y_a = np.nonzero(tested)
        size = bets.shuffles.n_inputs[1], tested.shape[4]
        letter = x_a[r] * size[1] + y_a
        order = np.argsort(letter, kind="stable")
        j, e, r, y_b, y_a = (index[order] for index in (j, e, r, y_b, y_a))
        kappa, first = bets.kappa[j, e, r], np.searchsorted(letter[order], np.arange(size[0] * size[1] + 1))
        alpha, beta = (
            bets.constant[j, e, r] + bets.paid[j, e, r, y_b],
            bets.lift[j, e, r] + kappa * bets.log_Q[j, e, y_a],
        )
        return cls(j, tested[j, e, r, y_b, y_a], alpha, beta, kappa, first, size)

    def lost(self, P: Floats, log_W: Floats, shuffles: int) -> Floats:
        """[j]: -sum log f, of so many shuffles."""
        lengths = np.diff(self.first)
        p, log_w = np.repeat(np.repeat(P, self.size[1]), lengths), np.repeat(log_W.ravel(), lengths)
        logs = self.often * np.log(self.alpha + p * (self.beta - self.kappa * log_w))
        return np.asarray(np.bincount(self.j, -logs, shuffles), np.float64)

    def padded(self, share: Floats) -> tuple[Integers, Floats, Floats, Floats, Floats]:
        """What the kernels take: whole lanes for every letter, filled up with counts of 0."""
        lengths = np.diff(self.first)
        begin = np.concatenate([[0], np.cumsum(-(-lengths // kernels.LANES) * kernels.LANES)])
        at = np.arange(len(self.j)) + np.repeat(begin[:-1] - self.first[:-1], lengths)
        filled = []
        for values, fill in ((self.often * share[self.j], 0.0), (self.alpha, 1.0), (self.beta, 0.0), (self.kappa, 0.0)):
            filled.append(np.full(begin[-1], fill))
            filled[-1][at] = values
        often, alpha, beta, kappa = filled
        return begin, often, alpha, beta, kappa


def pair_evidence(shuffles: PairShuffles, nats: float) -> PairEvidence:
    """The evidence that b is better than a, with weights that suit so many nats.

    Whatever the optimal input of a is, it lies in one of the regions, so that each may have bets of its own.
    """
    n = shuffles.n_inputs[1]
    if not NEAR / n <= LARGEST_NEAR:
        every = _box(n, 0.0, LARGEST_INPUT if n > 1 else 1.0)
        bets = PairBets.placed(shuffles, nats, float(every[1, 0]), CAP)
        return PairEvidence(*np.array([_region(bets, every[None])]).T)
    near, less = NEAR / n, CAP / NEAR_CAP
    log_e, weight = _region(PairBets.placed(shuffles, nats, near, NEAR_CAP), _box(n, 0.0, near)[None])
    bets = PairBets.placed(shuffles, less * less * nats, LARGEST_INPUT, CAP)
    boxes = np.stack([_box(n, near * alone, LARGEST_INPUT) for alone in np.eye(n)])
    enough = log_e if log_e > nats else nats + less * (log_e - nats)
    return PairEvidence(*np.array([(log_e, weight), _region(bets, boxes, enough)]).T)


def _box(n: int, low: Floats | float, high: float) -> Floats:
    """The inputs between both ends, [side, x]."""
    return np.stack([np.zeros(n) + low, np.full(n, high)])


def _region(bets: PairBets, boxes: Floats, enough: float | None = None) -> tuple[float, float]:
    """(log E, S): log E - S c is at most the logarithm of the mean of M e^(-S c) at all rows and inputs in some boxes.

    So many nats are `enough`; None where as many as there are wanted.
    """
    share, bound = _bounded(bets, boxes, enough) if min(bets.W.shape) > 1 else _known_loss(bets)
    weight = float(share @ bets.weights.sum(axis=1))
    rounding = ROUNDING * (float(share @ bets.shuffles.trials.sum(axis=(1, 2))) + weight)
    log_e = -bound - _divergence(share) - rounding
    return log_e if math.isfinite(log_e) else -math.inf, weight


def _divergence(share: Floats) -> float:
    return float(share @ np.log(np.maximum(share * len(share), 1e-300)))


def _known_loss(bets: PairBets) -> tuple[Floats, float]:
    """Shares of the shuffles, and their loss, where a has one letter: its row is known."""
    lost = bets.losses(bets.P, np.zeros(bets.W.shape))
    share = softmax(-lost)
    return share, float(share @ lost)


def _bounded(bets: PairBets, boxes: Floats, enough: float | None) -> tuple[Floats, float]:
    """Shares of the shuffles, and an upper bound of their loss together, whatever the rows and inputs of a are."""
    alike, largest = np.full(len(bets.weights), 1.0 / len(bets.weights)), float(boxes[0, 1, 0])
    P = 0.5 * bets.P + 0.5 / len(bets.P)
    place = P, np.log(bets.W), np.log(P @ bets.W)
    kernels.climbed(bets.account(alike), place, largest)
    share = softmax(-bets.losses(*place[:2]))
    account = bets.account(share)
    target = kernels.climbed(account, place, largest) + SLACK if enough is None else -enough - _divergence(share)
    return share, kernels.bounded(account, place, boxes, target, MOST_BOXES)
