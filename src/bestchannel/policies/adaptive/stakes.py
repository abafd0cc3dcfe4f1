"""The bets of `Adaptive` on one request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bestchannel.arrays import Floats
from bestchannel.evidence.leader_bets import LeaderBets
from bestchannel.evidence.rival_bets import RivalAccount


@dataclass(frozen=True, eq=False, slots=True)  # one for each rival of each request
class RivalStake:
    """What is staked on the senses of one rival, and the weight s of the bets on the leader that belong to it."""

    weight: float
    tilts: Floats  # [x] ω
    outputs: Floats  # [y] Q


@dataclass(frozen=True, eq=False)
class Bets:
    """What is staked on the answer to a request: bets on the leader's senses, and against every rival on its own."""

    leader: int
    inputs: Floats  # P
    on_leader: LeaderBets
    on_rivals: dict[int, RivalStake]
    since: dict[int, int]
    restarts: dict[int, int]

    def settle(self, counts: Mapping[int, Floats], accounts: Mapping[int, RivalAccount]) -> None:
        """Pay the bets that were fixed before the request."""
        paid = self.on_leader.settled(counts[self.leader]).tolist()
        for nats, (rival, stake) in zip(paid, self.on_rivals.items(), strict=True):
            accounts[rival].settle(self.leader, nats, stake.weight, stake.tilts, stake.outputs, counts.get(rival))

    def record(self, names: Sequence[str]) -> dict[str, Any]:
        """See `Stakes`."""
        return {
            "leader": names[self.leader],
            "input": self.inputs.tolist(),
            "bets": {
                names[rival]: {
                    "since": self.since[rival],
                    "restarts": self.restarts[rival],
                    "weight": stake.weight,
                    "tilts": stake.tilts.tolist(),
                    "outputs": stake.outputs.tolist(),
                    "auxiliary": self.on_leader.auxiliary[i].tolist(),
                    "multipliers": self.on_leader.multipliers[i].tolist(),
                }
                for i, (rival, stake) in enumerate(self.on_rivals.items())
            },
        }
