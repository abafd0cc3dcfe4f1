"""NaiveChanSel: sense every channel equally often and take the largest estimate [EBWGW24, Alg. 2]."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from functools import partial

from bestchannel.information import NATS_PER_BIT
from bestchannel.intervals.paper_bounds import naive_senses
from bestchannel.policies.pac import PacPolicy
from bestchannel.policies.paper_round import best_of, sensed_estimates
from bestchannel.policies.policy import Counts, Policy, Script, Senses


class NaiveChanSel(PacPolicy):
    """One round for all: names a channel within ε bits of the best with probability at least 1 - δ [EBWGW24, Alg. 2].

    Parameters
    ----------
    alphabets
        (n_inputs, n_outputs) of each channel.
    epsilon
        ε, the accuracy in bits, above 0.
    delta
        δ, the largest probability of a worse name, in (0, 1).
    input_distribution
        Compare I(P;W) at this P, shape (n_inputs,), instead of capacities [EBWGW24, Remark 1].

    Raises
    ------
    InputError
        Where an alphabet, ε, δ or the distribution is refused.

    Examples
    --------
    >>> policy = NaiveChanSel([(2, 2), (2, 2)], epsilon=0.2, delta=0.05)
    >>> policy.ask().number, policy.candidates, policy.recommendation
    (1, (0, 1), None)
    """

    name = "naive"
    checked_by = "bestchannel.verification.paper_check:check_paper"
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
    senses = partial(naive_senses, epsilon_nats, delta, len(candidates))
    return best_of((yield from sensed_estimates(policy, candidates, senses)))
