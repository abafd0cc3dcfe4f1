"""What Adaptive knows between two requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bestchannel.arrays import Integers
from bestchannel.display import text_table
from bestchannel.evidence.rival_bets import RivalAccount


@dataclass
class State:
    """Where `Adaptive` stands: its next request follows from this alone. `print(policy.state)` shows it.

    `candidates` are the channels not ruled out, the leader among them. `bets` is what the bets against every channel
    have brought; `evidence_nats` of each rival has to reach `threshold_nats`.
    """

    counts: list[Integers]  # [channel][x, y]
    leader: int
    candidates: tuple[int, ...]
    bets: dict[int, RivalAccount]
    leaders: int = 1  # with epsilon, those that were bet on, the present one included
    variances: dict[int, float] = field(default_factory=dict)  # of one sense of a rival, as its bets show it
    evidence_nats: dict[int, float] = field(default_factory=dict)
    threshold_nats: dict[int, float] = field(default_factory=dict)

    @classmethod
    def of(cls, counts: Sequence[Integers], leader: int) -> State:
        """Every channel a candidate, and no bet made."""
        return cls(list(counts), leader, tuple(range(len(counts))), _no_bets(counts))

    @property
    def rivals(self) -> list[int]:
        """The candidates but the leader."""
        return [channel for channel in self.candidates if channel != self.leader]

    def senses(self, channel: int) -> int:
        """How often a channel was sensed."""
        return int(self.counts[channel].sum())

    def learn(self, counts: Mapping[int, Integers]) -> None:
        """Add the answer to a request."""
        for channel, table in counts.items():
            self.counts[channel] = self.counts[channel] + table

    def follow(self, leader: int) -> None:
        """Another leader, about whom nothing is proved yet: all bets start anew, with a smaller share of δ."""
        self.leaders += any(account.spent for account in self.bets.values())
        self.leader, self.bets = leader, _no_bets(self.counts)
        self.candidates = tuple(range(len(self.counts)))

    def __str__(self) -> str:
        rows = [[str(channel), self._role(channel), f"{self.senses(channel):,}", *self._evidence(channel)]
                for channel in range(len(self.counts))]  # fmt: skip
        return text_table(["channel", "role", "senses", "evidence, nats", "needed"], rows)

    def _role(self, channel: int) -> str:
        if channel == self.leader:
            return "leader"
        return "rival" if channel in self.candidates else "ruled out"

    def _evidence(self, channel: int) -> tuple[str, str]:
        if channel not in self.evidence_nats:
            return "", ""
        return f"{self.evidence_nats[channel]:.2f}", f"{self.threshold_nats[channel]:.2f}"


def _no_bets(counts: Sequence[Integers]) -> dict[int, RivalAccount]:
    return {channel: RivalAccount((table.shape[0], table.shape[1])) for channel, table in enumerate(counts)}
