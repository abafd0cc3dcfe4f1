"""JointAdaptive: shots that all channels answer at once, whatever their answers have to do with each other."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bestchannel.arrays import Floats, Integers
from bestchannel.errors import InputError
from bestchannel.evidence.bets import RivalAccount
from bestchannel.policies.adaptive.adaptive_policy import (
    BATCH,
    FEWEST,
    FIRST_SENSES,
    LARGEST_GROWTH,
    MARGIN,
    SMALLEST_GROWTH,
    Adaptive,
    whole,
)
from bestchannel.policies.adaptive.bets import Bets, prudent
from bestchannel.policies.adaptive.state import State
from bestchannel.policies.adaptive.view import View
from bestchannel.policies.policy import Senses, checked_alphabets
from bestchannel.policies.request import MOST_SENSES, Supply, marginals

LEAST_SHARE = 0.2
"""Of a shot's evidence that the leader's answer has at least, and each rival's."""


@dataclass(frozen=True, eq=False)
class SharedBets(Bets):
    """Bets on the answers of shots: the leader's have the share θ of every shot, and a rival's the rest.

    Let A be what the leader's bets pay and B what a rival's do, each of mean at most 1. By Hölder's inequality
    E A^θ B^(1-θ) <= 1, whatever the answers of a shot have to do with each other.
    """

    share: float

    def settle(self, counts: Mapping[int, Integers | Floats], accounts: Mapping[int, RivalAccount]) -> None:
        """Pay the bets that were fixed before the request."""
        shares = {c: self.share if c == self.leader else 1.0 - self.share for c in counts}
        parts: dict[int, Floats] = {c: shares[c] * table for c, table in marginals(counts).items()}
        super().settle(parts, accounts)

    def record(self, names: Sequence[str]) -> dict[str, Any]:
        """See `Stakes`."""
        return {**super().record(names), "share": self.share}


class JointAdaptive(Adaptive):
    """Names the best channel with probability at least 1 - δ, from shots that all channels answer at once.

    A shot is one input that every channel of interest answers, and what their answers have to do with each other is not
    known. `senses` of the policy and its outcome are shots. `bestchannel explain joint-trials` has the proof.

    Parameters
    ----------
    alphabets
        (n_inputs, n_outputs) of each channel, with the same inputs.
    delta
        δ, the largest probability of a wrong name, in (0, 1).
    epsilon
        Within how many bits of the best the named channel may be, at least 0.
    input_distribution
        Compare I(P;W) at this P, shape (n_inputs,), instead of capacities.

    Raises
    ------
    InputError
        Where the channels do not have the same number of inputs, or an alphabet or an option is refused.

    Examples
    --------
    >>> policy = JointAdaptive([(2, 2), (2, 3)], delta=0.05)
    >>> print(policy.ask())
    request 1: shots of 6, 6 by channel 0, 1, paired with channel 0
    """

    name, revision = "joint", 1
    checked_by = None

    def __init__(
        self,
        alphabets: Iterable[Sequence[int]],
        *,
        delta: float,
        epsilon: float = 0.0,
        input_distribution: Sequence[float] | None = None,
    ) -> None:
        alphabets = checked_alphabets(alphabets)
        self._answering = [j for j, alphabet in enumerate(alphabets) if min(alphabet) > 1]
        inputs = {j: alphabets[j][0] for j in self._answering}
        if len(set(inputs.values())) > 1:
            first, other = min(inputs, key=inputs.__getitem__), max(inputs, key=inputs.__getitem__)
            raise InputError(
                f"channels that answer the same shots must have the same inputs; channel {first} has {inputs[first]} of"
                f" them and channel {other} has {inputs[other]}; the policy adaptive senses one channel at a time"
            )
        self._share = 0.5
        super().__init__(alphabets, delta=delta, epsilon=epsilon, input_distribution=input_distribution)

    @property
    def guarantee(self) -> str:
        """What the answer promises, and where the proof is."""
        return self._promise("bestchannel explain joint-trials")

    def _first_look(self, channels: Iterable[int], left: Supply) -> Senses | None:
        self.paired = self._answering[0]
        shots = (FIRST_SENSES,) * self.alphabets[self.paired][0]
        enough = left.total is None or left.total >= sum(shots)
        return self._cut(self._answering, shots, left) or None if enough else None

    def _cut(self, channels: Sequence[int], shots: tuple[int, ...], left: Supply) -> Senses:
        """The same shots for these channels, as far as there are as many."""
        cut = left.of_shots(channels).cut({0: shots})
        return dict.fromkeys(channels, cut[0]) if cut else {}

    def _plan(self, state: State, view: View, left: Supply) -> Senses:
        """The part of the shots still needed that is asked for now, spread over the inputs for the hardest rival."""
        self.paired, rivals = state.leader, state.rivals
        gaps, errors = self._gaps(state, view)
        shown = np.array([state.variances.get(rival, (1.0, 1.0)) for rival in rivals])
        own = np.sqrt(view.leader_variances[state.leader] * shown[:, 0])
        theirs = np.sqrt(view.rival_variances.take(rivals) * shown[:, 1])
        missing = [self._threshold(state, rival) - state.evidence_nats.get(rival, 0.0) for rival in rivals]
        safe = np.maximum(list(map(prudent, gaps, errors)), 0.7 * errors)
        needed = 2.0 * (np.maximum(missing, 0.0) + MARGIN) * ((own + theirs) / safe) ** 2
        hardest = int(np.argmax(needed))
        self.more_senses = math.ceil(min(float(needed[hardest]), MOST_SENSES))
        share = float(own[hardest] / (own[hardest] + theirs[hardest]))
        self._share = min(max(share, LEAST_SHARE), 1.0 - LEAST_SHARE)
        self._begin_bets(state, gaps, errors)
        senses = state.senses(state.leader)
        often = max(BATCH * float(needed[hardest]), SMALLEST_GROWTH * senses, FEWEST)
        leader, rival = view.of(state.leader), view.of(rivals[hardest])
        shares = leader.as_leader if self._worthless([rivals[hardest]]) else (leader.as_leader + rival.as_rival) / 2.0
        shots = whole((min(often, LARGEST_GROWTH * senses) * shares).tolist())
        return self._cut([c for c in state.candidates if c in self._answering], shots, left)

    def _bets(self, state: State, view: View, senses: Mapping[int, Sequence[float]]) -> Bets | None:
        """Bets of the leader and of every rival on their shares of the shots."""
        shares = {c: self._share if c == state.leader else 1.0 - self._share for c in senses}
        bets = super()._bets(state, view, {c: [shares[c] * n for n in often] for c, often in senses.items()})
        return None if bets is None else SharedBets(**vars(bets), share=self._share)
