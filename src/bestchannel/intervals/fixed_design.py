"""What counts prove whose numbers of senses were not chosen by looking at outputs: everything here in **nats**.

All of it comes from the two e-values of each channel (`evidence.recorded_channel`): intervals, the differences from a
leader, and an order of all channels at once. docs/theory/recorded-counts.md has the statements and proofs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from bestchannel.arrays import Floats, Integers
from bestchannel.evidence.recorded_channel import RecordedChannel, weight_for
from bestchannel.evidence.shuffles import number_of_shuffles
from bestchannel.information import NATS_PER_BIT
from bestchannel.intervals.verdict import Difference

MOST_CELLS, MOST_SHUFFLED = 2**12, 2**30
"""The largest matrix that is shuffled, 64×64, and the most senses of a channel; others keep their anytime intervals."""


@dataclass(frozen=True)
class RecordedSet:
    """Channels that were sensed independently, each so many times as was fixed beforehand."""

    tables: Mapping[str, Integers]  # [x, y] of every channel by name
    shuffles: int
    _shuffled: dict[str, RecordedChannel] = field(default_factory=dict)

    @classmethod
    def of(cls, tables: Mapping[str, Integers]) -> RecordedSet | None:
        """The counts of every channel; None where some are too many to be shuffled."""
        cells, senses = max(table.size for table in tables.values()), max(int(table.sum()) for table in tables.values())
        if cells > MOST_CELLS or senses > MOST_SHUFFLED:
            return None
        return cls(tables, number_of_shuffles(cells, senses, len(tables)))

    def channel(self, name: str) -> RecordedChannel:
        """A channel, shuffled when it is first asked for: that of many senses takes a while."""
        if name not in self._shuffled:
            self._shuffled[name] = RecordedChannel.of(self.tables[name], name, self.shuffles)
        return self._shuffled[name]

    @property
    def channels(self) -> list[RecordedChannel]:
        """All channels, in the order of the counts."""
        return [self.channel(name) for name in self.tables]

    def interval(self, name: str, alpha: float) -> tuple[float, float]:
        """Between which ends the capacity of a channel lies; each end is wrong with probability at most α/2."""
        recorded, nats = self.channel(name), math.log(2.0 / alpha)
        s = weight_for(nats, recorded.spread)
        lower, upper = (recorded.as_leader(s) - nats) / s, recorded.ceiling
        if recorded.bounded_by_senses:
            s = weight_for(nats, recorded.spread, recorded)
            upper = min((nats - recorded.as_rival(s)) / s, upper)
        return max(lower, 0.0), upper

    def lead(self, b: str, a: str, nats: float) -> float:
        """The lower end of C_b - C_a: it is wrong with probability at most e^-nats."""
        return Comparison.planned(self.channel(b), self.channel(a), nats).lead(nats)

    def nats_for(self, leader: str, rival: str, delta: float) -> float:
        """The evidence that the leader needs against a rival, so that the best channel is ruled out with at most δ.

        The e-values of all leaders against the best channel, weighted by how likely each leads by the pilots, have a
        mean of at most 1.
        """
        prior = dict(zip(self.tables, self._prior().tolist(), strict=True))
        return math.log(1.0 / delta) - math.log(prior[leader] / (sum(prior.values()) - prior[rival]))

    def _prior(self) -> Floats:
        """How likely each channel is the best by the pilots, up to a factor; none is written off."""
        estimates = np.array([channel.estimate for channel in self.channels])
        spreads = np.array([channel.spread for channel in self.channels])
        first = int(estimates.argmax())
        z = (estimates[first] - estimates) / np.sqrt(8.0 * (spreads + spreads[first]) + 1e-300)  # the pilot is 1/8
        prior: Floats = np.exp(-0.5 * np.minimum(z, 4.0) ** 2)
        return prior

    def order(self, delta: float) -> tuple[tuple[int, int], ...]:
        """The pairs (b, a) with C_b > C_a, all of them right at once with probability at least 1 - δ.

        At first each of the k(k-1) claims has a share of δ. Of a pair that is settled one claim is false, and its share
        is free for the others, which are then looked at again [Holm79, Sha86]: with the same e-values, so that their
        plans are those of the first look.
        """
        channels, numbers = self.channels, range(len(self.tables))
        pairs = [(b, a) for b in numbers for a in numbers if a != b]
        nats = _needed(len(pairs), delta)
        evidence = {(b, a): Comparison.planned(channels[b], channels[a], nats).evidence for b, a in pairs}
        settled: set[tuple[int, int]] = set()
        while more := {pair for pair in evidence if evidence[pair] > nats} - settled:
            settled |= more
            nats = _needed(len(pairs) - len(settled), delta)
        closed = _closed(settled)
        return tuple(sorted((b, a) for b, a in closed if (a, b) not in closed))


@dataclass(frozen=True)
class Comparison:
    """How a leader is to be shown to be better than a rival: a plan from pilots and numbers of senses alone.

    The rival's capacity is bounded by bets on its senses, or by its ceiling, whichever should show more.
    """

    leader: RecordedChannel
    rival: RecordedChannel
    weight: float
    on_rival: bool

    @classmethod
    def planned(cls, leader: RecordedChannel, rival: RecordedChannel, nats: float) -> Comparison:
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

    def lead(self, nats: float) -> float:
        """The lower end of C_leader - C_rival: wrong with probability at most e^-nats."""
        return (self.evidence - nats) / self.weight


def _needed(claims: int, delta: float) -> float:
    """Nats that each of so many claims needs, if all are to be right at once."""
    return math.log(max(claims, 1)) - math.log(delta)


def _closed(pairs: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """All pairs that follow: b before a and a before c is b before c."""
    below: dict[int, set[int]] = {}
    for b, a in pairs:
        below.setdefault(b, set()).add(a)
    closed = set(pairs)
    for b in below:
        reached: set[int] = set()
        ahead: Sequence[int] = list(below[b])
        while ahead:
            reached |= set(ahead)
            ahead = [c for a in ahead for c in below.get(a, ()) if c not in reached]
        closed |= {(b, a) for a in reached}
    return closed


def recorded_differences(recorded: RecordedSet, leader: str, delta: float) -> tuple[Difference, ...]:
    """The leader's capacity less each rival's, in bits, so that the best is ruled out with probability at most δ."""
    found = []
    for rival in recorded.tables:
        if rival != leader:
            nats = recorded.nats_for(leader, rival, delta)
            lower, upper = recorded.lead(leader, rival, nats), -recorded.lead(rival, leader, nats)
            found.append(Difference(rival, lower / NATS_PER_BIT, upper / NATS_PER_BIT))
    return tuple(found)
