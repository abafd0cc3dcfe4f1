"""What trials prove that several channels answered: every pair is compared by the answers of both: in **nats**.

docs/theory/joint-trials.md has the statements and proofs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import permutations

import numpy as np

from bestchannel.capacity import capacity
from bestchannel.counts.joint_trials import AnswerPairs, JointTrials
from bestchannel.evidence.pair_bets import (
    MOST_SHUFFLES,
    NOTHING,
    PairEvidence,
    PairShuffles,
    group_weights,
    pair_evidence,
)
from bestchannel.evidence.recorded_channel import FEWEST
from bestchannel.intervals.fixed_design import every_pair, settled_pairs
from bestchannel.intervals.region import Ends

MOST_CELLS = 2**18  # the most cells (x_b, x_a, y_b, y_a) that occur of a pair that is compared


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
        names, estimates = self.trials.names, self._estimates()
        nats = every_pair(len(names), delta)
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
        if not 0 < rows * of_b[1] * of_a[1] <= MOST_CELLS:
            return NOTHING
        if np.bincount(pairs.x_a, group_weights(pairs.groups), minlength=of_a[0]).min() >= FEWEST:
            return pair_evidence(PairShuffles.of(pairs, (of_b, of_a), self.seed), nats)
        # an input of a has too few trials: all that is known of its capacity is what its alphabets allow
        none = np.zeros_like(pairs.x_b)
        alone = PairShuffles.of(pairs._replace(x_a=none, y_a=none), (of_b, (1, 1)), self.seed)
        found = pair_evidence(alone, nats)
        return PairEvidence(found.nats - found.weights * math.log(min(of_a)), found.weights)

    def _estimates(self) -> dict[str, float]:
        """The plug-in capacities, which say which of two channels may be shown to be better."""
        found = {}
        for name, table in zip(self.trials.names, self.trials.counts().values(), strict=True):
            seen = table[table.sum(axis=1) > 0]
            found[name] = (
                capacity(seen / seen.sum(axis=1, keepdims=True), tol=1e-6).lower if min(seen.shape) > 1 else 0.0
            )
        return found
