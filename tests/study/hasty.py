"""A policy that breaks its promise, to show that a study would notice."""

from bestchannel.policies import Adaptive
from bestchannel.policies.adaptive.state import State

HASTE = 5.0
"""How many times less evidence is enough for it."""


class Hasty(Adaptive):
    """`Adaptive`, with its options, content with a fifth of the evidence that its promise requires."""

    name = "hasty"

    @property
    def guarantee(self) -> str:
        """See `Policy`."""
        return "none: a fifth of the evidence was enough"

    def _threshold(self, state: State, rival: int) -> float:
        return super()._threshold(state, rival) / HASTE
