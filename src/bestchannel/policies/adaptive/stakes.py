"""The bets of `Adaptive`: what is staked on one request, and what all requests have brought against one rival."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bestchannel.arrays import Floats, Integers
from bestchannel.evidence.leader_bets import LeaderBets


@dataclass
class Evidence:
    """What the bets against one rival have brought, in nats: the state of an e-process."""

    counts: Floats  # of the rival, each sense weighted with its θ
    restarts: int = 0
    since: int = 0  # the request with which the bets began; 0 before
    start: Floats | None = None  # the rival's counts at that time
    paid: float = 0.0  # by the bets on leaders, less their price
    weight: float = 0.0  # s: what those bets cost for each nat of the rival's value
    total: float = 0.0  # sum of θ over the senses of one input

    @property
    def betting(self) -> bool:
        """Whether the bets have begun."""
        return self.start is not None

    @property
    def spent(self) -> bool:
        """Whether a share of δ has been used, now or before a restart."""
        return self.betting or self.restarts > 0

    def begin(self, counts: Integers, request: int) -> None:
        """Bet from this request on; what was counted before is learned from."""
        self.start, self.since = counts.astype(np.float64), request


@dataclass(frozen=True, eq=False)
class Bets:
    """What is staked on the answer to a request: bets on the leader's senses, and θ on some rivals'.

    `thetas` are 0 for rivals whose own part is the likelihood of their rows.
    """

    leader: int
    inputs: Floats  # P
    rivals: list[int]
    weights: Floats  # [rival] s
    thetas: Floats  # [rival]
    on_leader: LeaderBets
    since: list[int]
    restarts: list[int]

    def settle(self, counts: dict[int, Floats], evidence: dict[int, Evidence]) -> None:
        """Pay the bets that were fixed before the request."""
        paid = self.on_leader.settled(counts[self.leader])
        for i, rival in enumerate(self.rivals):
            state = evidence[rival]
            state.paid += float(paid[i])
            state.weight += float(self.weights[i])
            if self.thetas[i] > 0.0 and rival in counts:
                state.counts = state.counts + self.thetas[i] * counts[rival]
                state.total += float(self.thetas[i] * counts[rival][0].sum())

    def record(self, names: Sequence[str]) -> dict[str, Any]:
        """See `Stakes`."""
        return {
            "leader": names[self.leader],
            "input": self.inputs.tolist(),
            "bets": {
                names[rival]: {
                    "since": self.since[i],
                    "restarts": self.restarts[i],
                    "weight": float(self.weights[i]),
                    "theta": float(self.thetas[i]),
                    "auxiliary": self.on_leader.auxiliary[i].tolist(),
                    "multipliers": self.on_leader.multipliers[i].tolist(),
                }
                for i, rival in enumerate(self.rivals)
            },
        }
