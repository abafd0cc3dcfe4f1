"""NaiveChanSel: sense every channel equally often and take the largest estimate [EBWGW24, Alg. 2]."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from bestchannel.information import NATS_PER_BIT
from bestchannel.intervals.paper_bounds import naive_senses
from bestchannel.policies.pac import PacPolicy
from bestchannel.policies.policy import Counts, Policy, Script, Senses, best_of, sensed_estimates


class NaiveChanSel(PacPolicy):
    """One round for all channels; names one within epsilon bits of the best with probability 1 - delta."""

    name = "naive"
    theorem = "Th. 2"

    def _script(self) -> Script:
        chosen = yield from naive_chan_sel(self, self.candidates, self.epsilon * NATS_PER_BIT, self.delta)
        self.candidates = (chosen,)
        return chosen


def naive_chan_sel(
    policy: Policy, candidates: Sequence[int], epsilon_nats: float, delta: float
) -> Generator[Senses, Counts, int]:
    """Algorithm 2 for some of the channels of a policy."""
    if len(candidates) == 1:
        return candidates[0]
    k = len(candidates)
    estimate = yield from sensed_estimates(policy, candidates, lambda rate: naive_senses(epsilon_nats, delta, k, rate))
    return best_of(estimate)
