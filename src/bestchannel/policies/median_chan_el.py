"""MedianChanEl: drop the worse half round by round [EBWGW24, Alg. 3]."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from functools import partial

from bestchannel.information import NATS_PER_BIT
from bestchannel.intervals.paper_bounds import median_senses
from bestchannel.policies.pac import PacPolicy
from bestchannel.policies.paper_round import Estimates, sensed_estimates
from bestchannel.policies.policy import Counts, Policy, Script, Senses


class MedianChanEl(PacPolicy):
    """Halving: names a channel within ε bits of the best with probability at least 1 - δ [EBWGW24, Alg. 3].

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
    >>> policy = MedianChanEl([(2, 2), (2, 2)], epsilon=0.2, delta=0.05)
    >>> policy.ask().number, policy.candidates, policy.recommendation
    (1, (0, 1), None)
    """

    name = "median"
    checked_by = "bestchannel.verification.paper_check:check_paper"
    theorem = "Th. 3"

    def _script(self) -> Script:
        epsilon_nats = self.epsilon * NATS_PER_BIT
        return (yield from median_chan_el(self, self.candidates, epsilon_nats, self.delta, on_round=self._narrow))

    def _narrow(self, candidates: tuple[int, ...]) -> None:
        self.candidates = candidates


def median_chan_el(
    policy: Policy,
    candidates: Sequence[int],
    epsilon_nats: float,
    delta: float,
    on_round: Callable[[tuple[int, ...]], None] | None = None,
) -> Generator[Senses, Counts, int]:
    """Algorithm 3 for some of the channels of a policy; `on_round` is told who is left."""
    epsilon_r, delta_r = epsilon_nats / 4, delta / 2
    while len(candidates) > 1:
        estimate = yield from sensed_estimates(policy, candidates, partial(median_senses, epsilon_r, delta_r))
        candidates = better_half(estimate)
        if on_round:
            on_round(candidates)
        epsilon_r, delta_r = 3 * epsilon_r / 4, delta_r / 2
    return candidates[0]


def better_half(estimate: Estimates) -> tuple[int, ...]:
    """The ⌈k/2⌉ channels with the largest estimates; of equal ones, the first.

    The paper removes what lies strictly below the median, which for two channels, or at ties,
    removes nothing and never ends.
    """
    ranked = sorted(estimate, key=lambda channel: -estimate[channel].lower)
    return tuple(sorted(ranked[: (len(ranked) + 1) // 2]))
