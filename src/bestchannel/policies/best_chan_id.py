"""BestChanID: rounds of estimation, a nearly best channel, and elimination [EBWGW24, Alg. 1]."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from bestchannel.errors import InputError
from bestchannel.information import NATS_PER_BIT
from bestchannel.intervals.paper_bounds import best_chan_id_delta, best_chan_id_epsilon, best_chan_id_senses
from bestchannel.policies.median_chan_el import median_chan_el
from bestchannel.policies.naive_chan_sel import naive_chan_sel
from bestchannel.policies.paper_round import sensed_estimates
from bestchannel.policies.policy import Policy, Script

SUBROUTINES = {"naive": naive_chan_sel, "median": median_chan_el}
"""What may find the nearly best channel of a round, by its name on the command line."""


class BestChanID(Policy):
    """Gap elimination: names the channel of largest capacity with probability at least 1 - δ [EBWGW24, Alg. 1, Th. 1].

    With exact ties the rounds never end; whoever runs the policy limits its senses.

    Parameters
    ----------
    alphabets
        (n_inputs, n_outputs) of each channel.
    delta
        δ, the largest probability of a wrong name, in (0, 1).
    subroutine
        What finds the nearly best channel of each round, "naive" or "median". It gets samples of its own: the proof
        that the best channel survives requires them to be independent.
    input_distribution
        Compare I(P;W) at this P, shape (n_inputs,), instead of capacities [EBWGW24, Remark 1].

    Raises
    ------
    InputError
        Where an alphabet, δ, the subroutine or the distribution is refused.

    Examples
    --------
    >>> policy = BestChanID([(2, 2), (2, 3)], delta=0.05)
    >>> policy.ask().number, policy.candidates, policy.recommendation
    (1, (0, 1), None)
    """

    name = "best-chan-id"
    checked_by = "bestchannel.verification.paper_check:check_paper"

    def __init__(
        self,
        alphabets: Iterable[Sequence[int]],
        *,
        delta: float,
        subroutine: str = "naive",
        input_distribution: Sequence[float] | None = None,
    ) -> None:
        if subroutine not in SUBROUTINES:
            raise InputError(f"the subroutine must be one of {', '.join(SUBROUTINES)}; it is {subroutine!r}")
        self.subroutine = subroutine
        self.round_number = 0
        super().__init__(alphabets, delta=delta, input_distribution=input_distribution)

    @property
    def guarantee(self) -> str:
        """What the recommendation promises, and where the proof is."""
        return self._paper_promise("Th. 1")

    @property
    def rounds(self) -> int:
        """The number of the current round, r of the paper; a round has several requests."""
        return self.round_number

    def _script(self) -> Script:
        pac = SUBROUTINES[self.subroutine]
        while len(self.candidates) > 1 and not self._worthless(self.candidates):
            self.round_number = r = self.round_number + 1
            epsilon_r, delta_r = best_chan_id_epsilon(r), best_chan_id_delta(r, self.delta)
            estimate = yield from sensed_estimates(self, self.candidates, partial(best_chan_id_senses, r, self.delta))
            j_r = yield from pac(self, self.candidates, epsilon_r / 2, delta_r)
            # both capacities are brackets: a channel goes only where every value in them says so
            threshold = estimate[j_r].lower - epsilon_r / NATS_PER_BIT
            self.candidates = tuple(j for j in self.candidates if not estimate[j].upper < threshold)
        return self.candidates[0]
