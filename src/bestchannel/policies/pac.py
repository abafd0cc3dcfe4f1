"""What the paper's two (ε, δ)-PAC policies share: an accuracy, and the promise to keep it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from bestchannel.arrays import number_in
from bestchannel.policies.policy import Policy


class PacPolicy(Policy):
    """Names a channel within epsilon bits of the best with probability 1 - delta [EBWGW24, Sec. V]."""

    theorem: ClassVar[str]
    """Where the promise is proved."""

    def __init__(
        self,
        alphabets: Iterable[Sequence[int]],
        *,
        epsilon: float,
        delta: float,
        input_distribution: Sequence[float] | None = None,
    ) -> None:
        epsilon = number_in(epsilon, "epsilon (the accuracy, in bits)", low=0.0, high=1e300)
        super().__init__(alphabets, delta=delta, epsilon=epsilon, input_distribution=input_distribution)

    @property
    def guarantee(self) -> str:
        """What the recommendation promises, and where the proof is."""
        return self._paper_promise(self.theorem)
