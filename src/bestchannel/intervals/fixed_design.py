"""What counts prove whose numbers of senses were not chosen by looking at outputs: everything here in **nats**.

From the two e-values of each split of a channel's counts (`evidence.recorded_channel`) come intervals, the differences
from a leader, and an order of all channels: docs/theory/recorded-counts.md. Of channels that answered the same trials,
the ends of their intervals are compared, or the answers of each pair (`evidence.pair_bets`):
docs/theory/joint-trials.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from itertools import permutations, product

import numpy as np

from bestchannel.arrays import Floats, Integers
from bestchannel.counts.joint_trials import AnswerPairs, JointTrials
from bestchannel.evidence.pair_bets import (
    MOST_SHUFFLES,
    NOTHING,
    PairEvidence,
    PairShuffles,
    group_weights,
    pair_evidence,
)
from bestchannel.evidence.recorded_channel import (
    FEWEST,
    Effort,
    RecordedSplit,
    coins_for,
    shuffled,
    unlabelled,
    weight_for,
)
from bestchannel.intervals.plug_in import capacities_at_counts
from bestchannel.intervals.region import Ends, anytime_ends

MOST_CELLS, MOST_SHUFFLED = 2**12, 2**30
"""The largest matrix that is shuffled, 64×64, and the most senses of a channel; others keep their anytime intervals."""

MOST_PAIRS = 2**18  # the most cells (x_b, x_a, y_b, y_a) that occur of a pair of channels that is compared

NEWTON_STEPS = 100
SAFETY = 0.05  # the share of δ of the anytime intervals in a fixed design: narrower where an input has few senses


@dataclass(frozen=True)
class EValues:
    """exp(nats[r] - weights[r] c), each an e-value of "the value is at most c", one for each split; so is their mean.

    The mean falls in c: values below the c where it is 1/α are ruled out with an error of at most α.
    """

    nats: Floats
    weights: Floats

    @classmethod
    def of(cls, pairs: Sequence[tuple[float, float]]) -> EValues:
        """From the nats and the weight of each split."""
        return cls(*np.array(pairs).T)

    def log_mean(self, value: float = 0.0) -> float:
        """The logarithm of the mean at c = value."""
        nats = self.nats - self.weights * value
        most = float(nats.max())
        return most + math.log(float(np.exp(nats - most).mean())) if most > -math.inf else most

    def lower_end(self, nats: float) -> float:
        """The c where the mean is e^nats; -∞ without evidence.

        Newton's method climbs to it from the left, since the logarithm of the mean is convex and falls in c.
        """
        end = float(((self.nats - math.log(len(self.nats)) - nats) / self.weights).max())
        for _ in range(NEWTON_STEPS if math.isfinite(end) else 0):
            exponents = self.nats - self.weights * end
            share = np.exp(exponents - exponents.max())
            step = (self.log_mean(end) - nats) * float(share.sum()) / float(share @ self.weights)
            if not step > 1e-12 * (abs(end) + 1e-3):
                break
            end += step
        return end


@dataclass(frozen=True)
class RecordedSet:
    """Channels that were sensed independently, each so many times as was fixed beforehand.

    Nothing depends on names or on the order of channels: what is said of channels with equal counts is the same.
    """

    tables: Mapping[str, Integers]  # [x, y] of every channel by name, the letters in an order of their own
    effort: Effort
    seed: int = 0  # of the coins
    P: Floats | None = None  # [x] > 0 where values are I(P; W), which are what is called capacity here
    _splits: dict[str, list[RecordedSplit]] = field(default_factory=dict)

    @classmethod
    def of(cls, tables: Mapping[str, Integers], seed: int = 0, P: Floats | None = None) -> RecordedSet | None:
        """The counts of every channel; None where some are too many to be shuffled."""
        cells, senses = max(table.size for table in tables.values()), max(int(table.sum()) for table in tables.values())
        if cells > MOST_CELLS or senses > MOST_SHUFFLED:
            return None
        ordered = {name: unlabelled(table, P) for name, table in tables.items()}
        effort = Effort.for_channels(cells, senses, len(tables))
        return cls(ordered, effort, seed, None if P is None else np.sort(P))

    @property
    def shuffles(self) -> int:
        """The number of random orders over which the evidence is averaged."""
        return self.effort.splits * self.effort.shuffles

    @cached_property
    def equals(self) -> dict[str, list[str]]:
        """For every channel those that have the same counts, itself among them, in the order of the counts."""
        groups: dict[tuple[tuple[int, ...], bytes], list[str]] = {}
        for name, table in self.tables.items():
            groups.setdefault((table.shape, table.tobytes()), []).append(name)
        return {name: group for group in groups.values() for name in group}

    def splits(self, name: str) -> list[RecordedSplit]:
        """The splits of a channel, made when they are first asked for: those of many senses take a while."""
        if name not in self._splits:
            counts, (n_splits, n_shuffles) = self.tables[name], self.effort
            coins = coins_for(counts, self.equals[name].index(name), self.seed)
            self._splits[name] = [
                RecordedSplit.of(counts, shuffled(counts, coins, n_shuffles), self.P) for _ in range(n_splits)
            ]
        return self._splits[name]

    def interval(self, name: str, alpha: float) -> tuple[float, float]:
        """Between which ends the capacity of a channel lies; each end is wrong with probability at most α/2."""
        splits, nats = self.splits(self.equals[name][0]), math.log(2.0 / alpha)
        weights = [weight_for(nats, split.spread) for split in splits]
        as_leader = EValues.of([(split.as_leader(s), s) for split, s in zip(splits, weights, strict=True)])
        lower, upper = as_leader.lower_end(nats), splits[0].ceiling
        if splits[0].bounded_by_senses:
            weights = [weight_for(nats, split.spread, split) for split in splits]
            as_rival = EValues.of([(split.as_rival(s), s) for split, s in zip(splits, weights, strict=True)])
            upper = min(-as_rival.lower_end(nats), upper)
        return max(lower, 0.0), upper

    def leads(self, leader: str, delta: float) -> dict[str, float]:
        """The lower end of the leader's capacity less that of every other channel."""
        ends: dict[str, float] = {}
        for group in self.equals.values():
            rivals = [name for name in group if name != leader]
            if rivals and rivals[0] not in ends:
                ends |= dict.fromkeys(rivals, self.lead(leader, rivals[0], delta))
        return ends

    def lead(self, b: str, a: str, delta: float) -> float:
        """The lower end of C_b - C_a, so that the best channel a is ruled out, by any b, with at most δ.

        The e-values of all b against a, weighted by how likely each b is the best by the pilots, have a mean of at most
        1. Of channels with equal counts the one with the least evidence speaks for all.
        """
        nats = -math.log(delta)
        pairs = [pair for pair in product(self.equals[b], self.equals[a]) if pair[0] != pair[1]]
        return min(self._claim(*pair, self._shares(*pair), nats).lower_end(nats) for pair in pairs)

    def order(self, delta: float) -> tuple[tuple[str, str], ...]:
        """The `settled_pairs`. A claim has the same e-value at every look, that of a plan for the first."""
        evidence, nats = {}, every_pair(len(self.tables), delta)
        for b, a in permutations({group[0] for group in self.equals.values()}, 2):
            least = min(claim.log_mean() for claim in self._claims(b, a, nats))
            evidence.update(dict.fromkeys(product(self.equals[b], self.equals[a]), least))
        return settled_pairs(evidence, list(self.tables), delta)

    def ahead(self, b: str, a: str, delta: float) -> float:
        """The lower end of C_b - C_a, of all pairs at once; where it is below 0, right whenever the `order` is."""
        nats = every_pair(len(self.tables), delta)
        return min(claim.lower_end(nats) for claim in self._claims(b, a, nats))

    def _claims(self, b: str, a: str, nats: float) -> list[EValues]:
        """The e-values of C_b - C_a <= c of all channels with such counts."""
        alike, pairs = np.zeros(self.effort.splits), product(self.equals[b], self.equals[a])
        return [self._claim(*pair, alike, nats) for pair in pairs if pair[0] != pair[1]]

    def _claim(self, b: str, a: str, shares: Floats, nats: float) -> EValues:
        """The e-values of C_b - C_a <= c; each split has a share, in logarithms, of what is claimed."""
        plans = [
            Comparison.planned(one, other, nats - share)
            for one, other, share in zip(self.splits(b), self.splits(a), shares, strict=True)
        ]
        return EValues.of([(plan.evidence + share, plan.weight) for plan, share in zip(plans, shares, strict=True)])

    def _shares(self, leader: str, rival: str) -> Floats:
        """The logarithm of the leader's share, by the pilots of each split, of all that may rule out the rival."""
        others = np.sort([prior for name, prior in self._prior.items() if name != rival], axis=0)  # a sum in any order
        return np.log(self._prior[leader]) - np.log(others.sum(axis=0))

    @cached_property
    def _prior(self) -> dict[str, Floats]:
        """How likely each channel is the best by the pilots of each split, up to a factor; none is written off."""
        estimates = np.array([[split.estimate for split in self.splits(name)] for name in self.tables])
        spreads = np.array([[split.spread for split in self.splits(name)] for name in self.tables])
        first = estimates.argmax(axis=0), np.arange(self.effort.splits)
        # the pilot is an eighth
        z = (estimates[first] - estimates) / np.sqrt(8.0 * (spreads + spreads[first]) + 1e-300)
        return dict(zip(self.tables, np.exp(-0.5 * np.minimum(z, 4.0) ** 2), strict=True))


def proved_ends(table: Integers, P: Floats | None, alpha: float, recorded: RecordedSet | None, name: str) -> Ends:
    """Each end is wrong with probability at most α/2, whatever other channels do: at all times where none is recorded.

    Otherwise the better of the ends of a fixed design and of the anytime ones, which have a share of α each.
    """
    anytime = anytime_ends(table, alpha if recorded is None else SAFETY * alpha, P)
    if recorded is None:
        return anytime
    low, high = recorded.interval(name, (1.0 - SAFETY) * alpha)
    return Ends(max(low, anytime.lower), min(high, anytime.upper), low > 0.0 or anytime.positive)


@dataclass(frozen=True)
class Comparison:
    """How a leader is to be shown to be better than a rival: a plan from pilots and numbers of senses alone.

    The rival's capacity is bounded by bets on its senses, or by its ceiling, whichever should show more.
    """

    leader: RecordedSplit
    rival: RecordedSplit
    weight: float
    on_rival: bool

    @classmethod
    def planned(cls, leader: RecordedSplit, rival: RecordedSplit, nats: float) -> Comparison:
        """The plan that should show the largest difference with so many nats."""
        plans = [cls(leader, rival, weight_for(nats, leader.spread), False)]
        if rival.bounded_by_senses:
            plans.append(cls(leader, rival, weight_for(nats, leader.spread + rival.spread, rival), True))
        return max(plans, key=lambda plan: plan.expected(nats))

    def expected(self, nats: float) -> float:
        """The lower end that the pilots let expect."""
        value, spread = (self.rival.estimate, self.rival.spread) if self.on_rival else (self.rival.ceiling, 0.0)
        paid = nats / self.weight + 0.5 * self.weight * (self.leader.spread + spread)
        return self.leader.estimate - value - paid

    @property
    def evidence(self) -> float:
        """The logarithm of an e-value of C_leader <= C_rival."""
        against = self.rival.as_rival(self.weight) if self.on_rival else -self.weight * self.rival.ceiling
        return self.leader.as_leader(self.weight) + against


Pairs = Set[tuple[str, str]]


def every_pair(k: int, delta: float) -> float:
    """The nats with which a claim about any of k(k - 1) pairs is made."""
    return math.log(max(k * (k - 1), 1)) - math.log(delta)


def settled_pairs(
    evidence: Mapping[tuple[str, str], float], names: Sequence[str], delta: float
) -> tuple[tuple[str, str], ...]:
    """The pairs (b, a) with C_b > C_a, all of them right at once with probability at least 1 - δ.

    `evidence` is the logarithm of an e-value of "C_b <= C_a", which is 0 for other pairs. A claim needs m/δ, where m is
    the largest number of claims that can be false while those made before are right [Holm79, Sha86].
    """
    k, settled = len(names), set[tuple[str, str]]()
    nats = every_pair(k, delta)
    while more := {pair for pair, log_e in evidence.items() if log_e > nats} - settled:
        settled = closed(settled | more)
        nats = math.log(max(most_false(settled, k), 1)) - math.log(delta)
    return tuple((b, a) for b, a in permutations(names, 2) if (b, a) in settled and (a, b) not in settled)


def closed(pairs: Pairs) -> set[tuple[str, str]]:
    """All pairs that follow: b before a and a before c is b before c."""
    below, follow = _below(pairs), set(pairs)
    for b in below:
        reached: set[str] = set()
        ahead: Sequence[str] = list(below[b])
        while ahead:
            reached |= set(ahead)
            ahead = [c for a in ahead for c in below.get(a, ()) if c not in reached]
        follow |= {(b, a) for a in reached}
    return follow


def most_false(settled: Pairs, k: int) -> int:
    """How many of the claims "b is better than a" on k channels can be false, at most, if the settled are right.

    Of two channels that differ one claim is true, of two equal ones none is. The h channels of a chain all differ, and
    each of the other k - h differs from all of them but one. `settled` is closed.

    >>> most_false({("b", "a")}, k=5)
    16
    """
    below = _below(settled)
    length: dict[str, int] = {}  # of the longest chain that begins with a channel
    for b in sorted(below, key=lambda b: len(below[b])):  # below what is below b there are fewer
        length[b] = 1 + max(length.get(a, 1) for a in below[b])
    h = max(length.values(), default=1)
    return k * (k - 1) - max(len(settled), (h - 1) * (k - h) + h * (h - 1) // 2)


def _below(pairs: Pairs) -> dict[str, set[str]]:
    below: dict[str, set[str]] = {}
    for b, a in pairs:
        below.setdefault(b, set()).add(a)
    return below


@dataclass(frozen=True)
class SharedSet:
    """Channels that answered the same trials, of which counts are known: no two are supposed independent.

    The ends of a channel's interval are e-values of its own senses alone, so that they hold whatever the dependence
    between channels is; of two channels their ends are subtracted. docs/theory/joint-trials.md.
    """

    tables: Mapping[str, Integers]
    recorded: RecordedSet | None
    P: Floats | None = None

    def leads(self, leader: str, delta: float) -> dict[str, float]:
        """The lower end of the leader's capacity less that of every other channel.

        The best channel a is ruled out, by any b, with at most δ: its one upper end is wrong with at most δ/2, and each
        of the k - 1 lower ends of others with at most δ/2(k - 1).
        """
        rivals = [name for name in self.tables if name != leader]
        lower = self._ends(leader, delta / max(len(rivals), 1)).lower
        return {name: lower - self._ends(name, delta).upper for name in rivals}

    def order(self, delta: float) -> tuple[tuple[str, str], ...]:
        """The pairs (b, a) of which b's lower end is above a's upper one: 2k ends, which hold at once."""
        ends = {name: self._ends(name, delta / len(self.tables)) for name in self.tables}
        return tuple((b, a) for b, a in permutations(ends, 2) if ends[b].lower > ends[a].upper)

    def ahead(self, b: str, a: str, delta: float) -> float:
        """The lower end of C_b - C_a, by the same ends."""
        alpha = delta / len(self.tables)
        return self._ends(b, alpha).lower - self._ends(a, alpha).upper

    def _ends(self, name: str, alpha: float) -> Ends:
        return proved_ends(self.tables[name], self.P, alpha, self.recorded, name)


@dataclass(frozen=True)
class JointSet:
    """Channels that answered the same trials, as many as were fixed beforehand."""

    trials: JointTrials
    seed: int = 0  # of the coins
    _found: dict[tuple[str, str, float], PairEvidence] = field(default_factory=dict)

    def leads(self, leader: str, delta: float) -> dict[str, float]:
        """The lower end of the leader's capacity less that of every other channel.

        The mean of the e-values of all k - 1 others against the best channel is an e-value, so that any of them rules
        it out by (k - 1)/δ with a probability of at most δ.
        """
        rivals = [name for name in self.trials.names if name != leader]
        nats = math.log(max(len(rivals), 1)) - math.log(delta)
        return {name: self.evidence(leader, name, nats).lower_end(nats) for name in rivals}

    def order(self, delta: float) -> tuple[tuple[str, str], ...]:
        """The pairs (b, a) with C_b > C_a, all of them right at once with probability at least 1 - δ."""
        names, plug_in = self.trials.names, capacities_at_counts([*self.trials.counts().values()])
        nats, estimates = every_pair(len(names), delta), dict(zip(names, (C.capacity for C in plug_in), strict=True))
        # an e-value that is not looked for is taken to be 0
        likely = [(b, a) for b, a in permutations(names, 2) if estimates[b] > estimates[a]]
        return settled_pairs({(b, a): self.evidence(b, a, nats).log_value() for b, a in likely}, names, delta)

    def ahead(self, b: str, a: str, delta: float) -> float:
        """The lower end of C_b - C_a, of all pairs at once; where it is below 0, right whenever the `order` is."""
        nats = every_pair(len(self.trials.names), delta)
        return self.evidence(b, a, nats).lower_end(nats)

    @property
    def shuffles(self) -> int:
        """The number of random orders over which evidence is averaged."""
        return MOST_SHUFFLES

    def ends(self, name: str, alpha: float) -> Ends:
        """Between which ends a capacity lies, by bets on trials or groups; each is wrong with probability at most α/2.

        A channel of one letter has the capacity 0: what is better than it has more, and what is worse less.
        """
        nats, j = math.log(2.0 / alpha), self.trials.names.index(name)
        alphabet, own = self.trials.alphabets[j].alphabet, self.trials.pair(name, name)
        none = np.zeros_like(own.x_b)
        better, worse = own._replace(x_a=none, y_a=none), own._replace(x_b=none, y_b=none)
        lower = self._compared(better, alphabet, (1, 1), nats).lower_end(nats)
        upper = -self._compared(worse, (1, 1), alphabet, nats).lower_end(nats)
        return Ends(max(lower, 0.0), min(upper, math.log(min(alphabet))), lower > 0.0)

    def evidence(self, b: str, a: str, nats: float) -> PairEvidence:
        """The evidence that b is better than a, with weights that suit so many nats."""
        if (b, a, nats) not in self._found:
            alphabets = dict(zip(self.trials.names, (labels.alphabet for labels in self.trials.alphabets), strict=True))
            self._found[b, a, nats] = self._compared(self.trials.pair(b, a), alphabets[b], alphabets[a], nats)
        return self._found[b, a, nats]

    def _compared(self, pairs: AnswerPairs, of_b: tuple[int, int], of_a: tuple[int, int], nats: float) -> PairEvidence:
        """The evidence of trials of two channels of these alphabets."""
        rows = len(np.unique(pairs.x_b * of_a[0] + pairs.x_a))
        if not 0 < rows * of_b[1] * of_a[1] <= MOST_PAIRS:
            return NOTHING
        if np.bincount(pairs.x_a, group_weights(pairs.groups), minlength=of_a[0]).min() >= FEWEST:
            return pair_evidence(PairShuffles.of(pairs, (of_b, of_a), self.seed), nats)
        # an input of a has too few trials: all that is known of its capacity is what its alphabets allow
        none = np.zeros_like(pairs.x_b)
        alone = PairShuffles.of(pairs._replace(x_a=none, y_a=none), (of_b, (1, 1)), self.seed)
        found = pair_evidence(alone, nats)
        return PairEvidence(found.nats - found.weights * math.log(min(of_a)), found.weights)
