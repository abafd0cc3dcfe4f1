"""Policies that break no promise and are as unlucky in their leaders as the theorem allows; and their sabotaged twins."""

from bestchannel.policies import Adaptive
from bestchannel.policies.adaptive.state import State, View
from bestchannel.policies.policy import Counts

PRIOR = 60
"""Senses of every input that the prejudice of `Prejudiced` is worth."""

TURN = 4
"""Requests for which a leader of `Drifting` leads."""

FLATTERY_NATS = 0.15
"""By how much `Flattered` thinks its leader better than it is."""


class Misled(Adaptive):
    """Channel 0 leads, whatever was sensed."""

    name = "misled"

    def _choose_leader(self, state: State, view: View) -> None:
        state.leader = 0


class Prejudiced(Adaptive):
    """It has seen channel 0 before, without an error, and counts that for what it plans and bets."""

    name = "prejudiced"

    def _begun(self, counts: Counts) -> State:
        state = super()._begun(counts)
        seen = state.counts[0].copy()
        n_inputs, n_outputs = seen.shape
        seen[range(n_inputs), [x % n_outputs for x in range(n_inputs)]] += PRIOR
        state.counts[0] = seen
        return state


class Drifting(Adaptive):
    """The candidates lead in turn."""

    name = "drifting"

    def _choose_leader(self, state: State, view: View) -> None:
        state.leader = state.candidates[self._answered // TURN % len(state.candidates)]


class Flattered(Adaptive):
    """A sabotaged policy: every bet pays as if the leader were better than it is."""

    name = "flattered"

    @property
    def guarantee(self) -> str:
        """See `Policy`."""
        return "none: the leader was flattered"

    def _weigh(self, state: State, view: View, thresholds: dict[int, float]) -> dict[int, float]:
        gifts = {rival: FLATTERY_NATS * state.bets[rival].weight for rival in thresholds}
        lower = {rival: nats - gifts[rival] for rival, nats in thresholds.items()}
        return {rival: nats + gifts[rival] for rival, nats in super()._weigh(state, view, lower).items()}


class FlatteredMisled(Flattered, Misled):
    """Both."""

    name = "flattered, misled"


class FlatteredDrifting(Flattered, Drifting):
    """Both."""

    name = "flattered, drifting"
