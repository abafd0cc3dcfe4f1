"""What recorded counts of one channel say for it as a leader, and against it as a rival: two e-values.

With a weight s > 0 that does not depend on what is bet on, in nats:

* `as_leader` is log A(s), where A(s) e^(-s C) has a mean of at most 1: large where the capacity C is large;
* `as_rival` is log B(s), where B(s) e^(s C) has a mean of at most 1: large where C is small.

So C >= (log A - log 1/α) / s and C <= (log 1/α - log B) / s with probability at least 1 - α each; and for channels b
and a, which were sensed independently, A_b(s) B_a(s) >= 1/α has a probability of at most α if C_b <= C_a. A is what the
`information_bet` on all senses beyond a pilot brings, B the mean over their shuffles of what bets with `rival_tilts`
bring. Evidence that is no number is none: -∞. At a fixed input distribution P all of this holds of I(P; W) in place of
C. docs/theory/recorded-counts.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from hashlib import sha256
from typing import NamedTuple

import numpy as np
from numpy.random import BitGenerator, Philox

from bestchannel.arrays import Floats, Integers
from bestchannel.capacity.stack import solved
from bestchannel.evidence.bets import LARGEST_INPUT, ROUNDING, BetsMade, rival_tilts
from bestchannel.evidence.entropy_bets import information_bet, spread_input
from bestchannel.native import evidence as kernels

SMOOTHING = 0.5  # counts added to every cell of the rows that are thought to be true
GROUPS = 2  # of parts, each of which is merged to two epochs
FEWEST = 16  # senses of an input from which on it is bet on

TIGHT, LARGEST_TILT = 1.8, 1.5
"""Over √n_inputs: the part of the weight that would suit few inputs, and the largest s / N_x, that a rival is given.

A bound over all input distributions costs more than bets gain beyond them.
"""

STEPS_OF_A_DOUBLING = 4  # weights are rounded to so many a doubling, so that channels share them
SLACK = 0.2  # nats above the largest loss found to which all losses are bounded, as far as `MOST_BOXES` allow

MOST_BOXES, FEWEST_BOXES, FEW_OUTPUTS = 200, 8, 64
"""Boxes by which a loss is bounded; fewer for more outputs than that, of which each takes its time in every box."""


@dataclass
class RecordedSplit:
    """The counts of one channel, fixed beforehand, split once, with all that was computed for some weights."""

    shape: tuple[int, int]
    shuffles: Shuffles
    sensed: Integers  # the inputs that are bet on
    estimate: float  # of the capacity, by the pilot
    spread: float  # the variance of an estimate from the senses beyond the pilot, by the pilot
    least_senses: float  # of an input, of those bet on in a shuffle, on average
    first: Floats  # [x, y] rows thought to be true, by the pilot
    rest: Integers  # [x, y] beyond the pilot
    W: Floats  # [j, part, x, y] thought to be true before each part
    P: Floats  # [j, part, x] best for W; or the fixed P of these inputs, which may sum to less than 1
    fixed_input: bool = False
    _leader: dict[float, float] = field(default_factory=dict)
    _rival: dict[float, float] = field(default_factory=dict)

    @classmethod
    def of(cls, counts: Integers, shuffles: Shuffles, P: Floats | None = None) -> RecordedSplit:
        """A split of the counts [x, y] of a channel; of I(P; W) where P [x] > 0 is given, otherwise of the capacity."""
        sensed = np.flatnonzero(counts.sum(axis=1) >= FEWEST)
        W = _smoothed(shuffles.known[:, :, sensed])
        least = float(shuffles.tested.sum(axis=(1, 3)).mean(axis=0).min())
        first, rest = _smoothed(shuffles.pilot[sensed]), (counts - shuffles.pilot)[sensed]
        estimate, spread, inputs, fixed = 0.0, 0.0, np.ones(W.shape[:3]), None if P is None else P[sensed]
        if min(W.shape[2:]) > 1:
            estimate, spread = _pilot(first, _inputs(first[None], fixed)[0], rest.sum(axis=1))
            inputs = _inputs(W, fixed)
        shape = counts.shape
        return cls(shape, shuffles, sensed, estimate, spread, least, first, rest, W, inputs, P is not None)

    @property
    def ceiling(self) -> float:
        """log min(n_inputs, n_outputs): no capacity is larger."""
        return math.log(min(self.shape))

    @property
    def bounded_by_senses(self) -> bool:
        """Whether senses can show that the capacity is below the ceiling: every input was sensed often enough."""
        return self.ceiling > 0.0 and len(self.sensed) == self.shape[0]

    @property
    def largest_weight(self) -> float:
        """The weight beyond which bets on it as a rival are not worth their risk."""
        return LARGEST_TILT / math.sqrt(self.shape[0]) * self.least_senses

    def as_leader(self, weight: float) -> float:
        """log A(s)."""
        if weight not in self._leader:
            # without inputs to bet on, A = 1: no capacity is below 0
            self._leader[weight] = _evidence(self._leader_bet(weight)) if min(self.W.shape[2:]) > 1 else 0.0
        return self._leader[weight]

    def as_rival(self, weight: float) -> float:
        """log B(s): proved. Only for channels that are `bounded_by_senses`."""
        if weight not in self._rival:
            self._rival[weight] = _evidence(self._rival_mean(weight))
        return self._rival[weight]

    def _leader_bet(self, weight: float) -> float:
        senses = self.rest.sum(axis=1)
        P = self.P[0, 0] if self.fixed_input else spread_input(self.first, np.maximum(senses, 1), weight)
        bet = (senses > 0) & (P > 0.0)  # any P may be bet on
        mass = float(P[bet].sum())
        stake = weight * (mass if self.fixed_input else 1.0)
        return information_bet(self.rest[bet].astype(np.float64), self.first[bet], P[bet] / mass, stake)

    def _rival_mean(self, weight: float) -> float:
        bets = ShuffledBets.on(self, weight)
        share = np.full(len(bets.senses), 1.0 / len(bets.senses))
        worst = bets.start()
        bets.climb(share, worst)
        share = softmax(-bets.losses(worst))
        bound = bets.climb(share, worst)
        if not self.fixed_input:  # otherwise there is one P, and its loss is bounded already
            bound = bets.bounded(share, worst, bound + SLACK)
        divergence = float((share * np.log(np.maximum(share, 1e-300) * len(share))).sum())
        return -bound - divergence - ROUNDING * (float(bets.senses.sum()) + weight)


@dataclass(frozen=True)
class ShuffledBets:
    """Bets of one weight on a rival's senses in all shuffles.

    log mean_j e^(-loss_j) >= -sum_j π_j loss_j - D(π‖uniform) for every π, and the sum is the loss of one account in
    which the senses of shuffle j count π_j times: one bound serves all shuffles.
    """

    weight: float
    senses: Floats  # [j, part, x]
    tilts: Floats  # [j, part, x]
    outputs: Floats  # [j, part, y]
    counts: Floats  # [j, x, y] each sense weighted with its tilt
    charged: Floats  # [j, x]
    W: Floats
    P: Floats
    fixed_input: bool

    @classmethod
    def on(cls, split: RecordedSplit, weight: float) -> ShuffledBets:
        """The bets on the parts of every shuffle, chosen from what was looked at before."""
        tested = split.shuffles.tested.astype(np.float64)
        shares, senses = _shares(tested), tested.sum(axis=3)
        tilts, outputs = np.zeros(senses.shape), np.full((*shares.shape, split.shape[1]), 1.0 / split.shape[1])
        bet = shares > 0.0  # a part without a sense is not bet on: its tilts stay 0
        due = np.maximum(senses.sum(axis=1), 1.0)[:, None] * shares[..., None]
        W, P, fixed = split.W, split.P, split.fixed_input
        tilts[bet], outputs[bet] = rival_tilts(W[bet], P[bet], due[bet], weight * shares[bet], fixed)
        counts = np.einsum("jex,jexy->jxy", tilts, tested)
        charged = np.einsum("jex,jexy,jey->jx", tilts, tested, np.log(outputs))
        return cls(weight, senses, tilts, outputs, counts, charged, W[:, -1].mean(0), P[:, -1].mean(0), fixed)

    def start(self) -> tuple[Floats, Floats, Floats]:
        """P, log W and log R from which the worst is looked for."""
        P = self.P if self.fixed_input else 0.5 * self.P + 0.5 / len(self.P)
        return P, np.log(self.W), np.log(P @ self.W)

    def account(self, share: Floats) -> BetsMade:
        """All shuffles as one account; parts of the same number come together."""
        weighted = share[:, None, None] * self.senses
        history = np.concatenate((weighted, self.tilts, self.outputs), axis=2).swapaxes(0, 1)
        counts, charged = np.einsum("j,jxy->xy", share, self.counts), share @ self.charged
        return counts, charged, history.reshape(-1, history.shape[2]), self.weight, GROUPS

    def climb(self, share: Floats, worst: tuple[Floats, Floats, Floats]) -> float:
        """The largest loss found, to which `worst` moves; at a fixed input distribution a bound of all losses."""
        return kernels.climbed(*self.account(share), *worst, 0.0 if self.fixed_input else LARGEST_INPUT)

    def bounded(self, share: Floats, worst: tuple[Floats, Floats, Floats], target: float) -> float:
        """An upper bound of the loss, whatever the rows and inputs are; at most the target where that can be shown."""
        boxes = max(MOST_BOXES * FEW_OUTPUTS // max(self.W.shape[1], FEW_OUTPUTS), FEWEST_BOXES)
        return kernels.bounded(*self.account(share), *worst, LARGEST_INPUT, target, boxes)[0]

    def losses(self, worst: tuple[Floats, Floats, Floats]) -> Floats:
        """What the bets of each shuffle lose at the rows and inputs `worst`, but for what is the same for all."""
        P, logW, _ = worst
        t = P * self.tilts
        z = np.exp(t[..., None] * (np.log(self.outputs)[:, :, None, :] - logW) + logW).sum(axis=3)
        counted = np.einsum("x,jxy,xy->j", P, self.counts, logW) - self.charged @ P
        return counted + (self.senses * np.log(z)).sum(axis=(1, 2))


def weight_for(nats: float, spread: float, rival: RecordedSplit | None = None) -> float:
    """The weight with which evidence of so many nats is reached at the smallest difference: √(2 nats / variance).

    For a rival no more than suits it; rounded.
    """
    nats = max(nats, 0.5)
    weight = math.sqrt(2.0 * nats / max(spread, 1e-12))
    if rival is not None:
        own = math.sqrt(2.0 * nats / max(rival.spread, 1e-12))
        weight = min(weight, TIGHT / math.sqrt(rival.shape[0]) * own, rival.largest_weight)
    return 2.0 ** (round(STEPS_OF_A_DOUBLING * math.log2(max(weight, 1e-3))) / STEPS_OF_A_DOUBLING)


def _smoothed(counts: Integers) -> Floats:
    smooth = np.ascontiguousarray(counts + SMOOTHING)
    return smooth / smooth.sum(axis=-1, keepdims=True)


def _inputs(W: Floats, fixed: Floats | None) -> Floats:
    """The best input distribution of each channel, or the fixed one."""
    best = solved(W, 1e-6, normalize=True).input if fixed is None else np.broadcast_to(fixed, W.shape[:-1])
    return np.ascontiguousarray(best)


def _pilot(W: Floats, P: Floats, senses: Integers) -> tuple[float, float]:
    """The value of rows at their inputs, and sum_x P_x² V_x / N_x: the variance of its estimate from N senses."""
    g = np.log(W / (P @ W / P.sum()))
    D = (W * g).sum(axis=1)
    V = (W * g * g).sum(axis=1) - D * D
    return float(P @ D), float((P * P * V / senses).sum())


def _shares(tested: Floats) -> Floats:
    """[j, part]: the share of a shuffle's bets that a part gets, by its senses."""
    senses = tested.sum(axis=(2, 3))
    shares: Floats = senses / np.maximum(senses.sum(axis=1, keepdims=True), 1.0)
    return shares


def _evidence(nats: float) -> float:
    """Evidence of so many nats, none where that is no number."""
    return nats if math.isfinite(nats) else -math.inf


def softmax(values: Floats) -> Floats:
    """Shares in proportion to e^values."""
    weights = np.exp(values - values.max())
    share: Floats = weights / weights.sum()
    return share


MOST_SPLITS, FEWEST_SPLITS, FEW_CELLS = 8, 4, 2**11  # splits of channels that have so few cells together, and of others

MOST_SHUFFLES, FEWEST_SHUFFLES = 16, 4
CELLS_TIMES_SHUFFLES, SENSES_TIMES_SHUFFLES = 2**14, 2**33
"""Large channels, and counts of many senses, get fewer shuffles of a split, for the time they take."""

COINS = 3  # for each sense, of which part it is

WORD = 64
AT_ONCE = 2**18  # random words that are drawn at a time


class Effort(NamedTuple):
    """How many splits are averaged, and how many shuffles each of them has."""

    splits: int
    shuffles: int

    @classmethod
    def for_channels(cls, cells: int, senses: int = 0, n_channels: int = 1) -> Effort:
        """What so many channels get, with up to so many cells (x, y) and senses.

        >>> Effort.for_channels(4), Effort.for_channels(64 * 64), Effort.for_channels(4, senses=10**9)
        (Effort(splits=8, shuffles=16), Effort(splits=4, shuffles=4), Effort(splits=8, shuffles=8))
        """
        affordable = min(CELLS_TIMES_SHUFFLES // cells, SENSES_TIMES_SHUFFLES // max(senses, 1))
        splits = MOST_SPLITS if cells * n_channels <= FEW_CELLS else FEWEST_SPLITS
        return cls(splits, min(max(affordable, FEWEST_SHUFFLES), MOST_SHUFFLES))


@dataclass(frozen=True)
class Shuffles:
    """The counts of one split in several random orders.

    Where the number of senses of each input was not chosen by looking at outputs, the senses of an input are
    exchangeable: in an order drawn without regard to the outputs they are as good as sensed one after the other. A
    split sets an eighth of them aside as a pilot. Of the others, every shuffle makes eight parts by tossing three coins
    for each sense; each of them is bet on and then looked at too.
    """

    pilot: Integers  # [x, y] looked at before all shuffles
    known: Integers  # [j, part, x, y] looked at before this part is bet on, the pilot included
    tested: Integers  # [j, part, x, y] bet on


def unlabelled(counts: Integers, P: Floats | None = None) -> Integers:
    """The counts with rows and columns in an order of their own, so that the numbering of letters does not matter.

    Where inputs have probabilities, rows are in the order of these first.

    >>> unlabelled(np.array([[7, 1], [2, 9]])).tolist() == unlabelled(np.array([[9, 2], [1, 7]])).tolist()
    True
    """
    columns = _order(np.sort(counts, axis=0).T)
    rows = _order(counts[:, columns] if P is None else np.column_stack([P, counts[:, columns]]))
    columns = columns[_order(counts[np.ix_(rows, columns)].T)]
    return np.ascontiguousarray(counts[np.ix_(rows, columns)])


def _order(vectors: Integers | Floats) -> Integers:
    """The lexicographic order of vectors [i, ...]."""
    order: Integers = np.lexsort(vectors.T[::-1])
    return order


def coins_for(counts: Integers, copy: int, seed: int) -> BitGenerator:
    """Coins of their own for these counts: bits of Philox, keyed by a hash of them, the same on every machine.

    With one key for all counts, part of the coins' luck would be the same in every recording of a channel, and would
    not average out. Channels with equal counts are copies 0, 1, … of them, and have coins of their own too.
    """
    content = f"{seed} {copy} {counts.tolist()}".encode()
    return Philox(key=int.from_bytes(sha256(content).digest()[:16], "big"))


def shuffled(counts: Integers, coins: BitGenerator, shuffles: int) -> Shuffles:
    """A split of the counts with so many shuffles."""
    pilot = parts(counts[None], coins)[0, 0]
    tosses = parts(np.broadcast_to(counts - pilot, (shuffles, *counts.shape)), coins)
    known = pilot + np.cumsum(tosses, axis=0) - tosses
    return Shuffles(pilot, known.swapaxes(0, 1), tosses.swapaxes(0, 1))


def parts(counts: Integers, coins: BitGenerator) -> Integers:
    """Each count as the sum of 2^COINS random parts, which are the first axis: every sense goes to any, all alike."""
    split = counts[None]
    for _ in range(COINS):
        some = heads(split, coins)
        split = np.concatenate([some, split - some])
    return split


def heads(tosses: Integers, coins: BitGenerator) -> Integers:
    """How many of so many fair coins show heads, for each number of tosses: bits of the generator, 64 at a time.

    The bits of a generator are the same everywhere and for ever, which is not promised of numpy's distributions.
    """
    left, shown = tosses.reshape(-1).copy(), np.zeros(tosses.size, dtype=np.int64)
    while (at := np.flatnonzero(left)).size:
        words = max(1, min(int(left[at].min()) // WORD, AT_ONCE // at.size))
        bits = coins.random_raw(at.size * words).reshape(at.size, words)
        tossed = np.minimum(left[at], WORD * words)
        bits[:, -1] >>= (WORD * words - tossed).astype(np.uint64)  # 0 unless fewer than a word are left
        shown[at] += np.bitwise_count(bits).sum(axis=1, dtype=np.int64)
        left[at] -= tossed
    return shown.reshape(tosses.shape)
