"""What trials prove that several channels answered: every pair is compared by the answers of both: in **nats**.

docs/theory/joint-trials.md has the statements and proofs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from bestchannel.capacity import capacity
from bestchannel.counts.joint_trials import JointTrials
from bestchannel.evidence.pair_bets import NOTHING, PairEvidence, PairShuffles, pair_evidence
from bestchannel.evidence.recorded_channel import FEWEST
from bestchannel.intervals.fixed_design import settled_pairs

MOST_CELLS = 2**18
"""The most cells (x_b, x_a, y_b, y_a) that occur of a pair that is compared."""


@dataclass(frozen=True)
class JointSet:
    """Channels that answered the same trials, as many as were fixed beforehand."""

    trials: JointTrials
    seed: int = 0  # of the coins

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
        nats = math.log(max(len(names) * (len(names) - 1), 1)) - math.log(delta)
        # an e-value that is not looked for is taken to be 0
        likely = [(b, a) for b, a in permutations(names, 2) if estimates[b] > estimates[a]]
        return settled_pairs({(b, a): self.evidence(b, a, nats).log_value() for b, a in likely}, names, delta)

    def evidence(self, b: str, a: str, nats: float) -> PairEvidence:
        """The evidence that b is better than a, with weights that suit so many nats."""
        alphabets = dict(zip(self.trials.names, (labels.alphabet for labels in self.trials.alphabets), strict=True))
        pairs, (n_a, m_a) = self.trials.pair(b, a), alphabets[a]
        rows = len(np.unique(pairs.x_b * n_a + pairs.x_a))
        if not 0 < rows * alphabets[b][1] * m_a <= MOST_CELLS:
            return NOTHING
        if np.bincount(pairs.x_a, minlength=n_a).min() >= FEWEST:
            return pair_evidence(PairShuffles.of(pairs, (alphabets[b], alphabets[a]), self.seed), nats)
        # an input of a has too few trials: all that is known of its capacity is what its alphabets allow
        none = np.zeros_like(pairs.x_b)
        alone = PairShuffles.of(pairs._replace(x_a=none, y_a=none), (alphabets[b], (1, 1)), self.seed)
        found = pair_evidence(alone, nats)
        return PairEvidence(found.nats - found.weights * math.log(min(n_a, m_a)), found.weights)

    def _estimates(self) -> dict[str, float]:
        """The plug-in capacities, which say which of two channels may be shown to be better."""
        found = {}
        for name, table in zip(self.trials.names, self.trials.counts().values(), strict=True):
            seen = table[table.sum(axis=1) > 0]
            found[name] = (
                capacity(seen / seen.sum(axis=1, keepdims=True), tol=1e-6).lower if min(seen.shape) > 1 else 0.0
            )
        return found
