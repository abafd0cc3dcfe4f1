"""What Adaptive knows between two requests, and how near to the best a channel is proved to be by then.

Let a be a best channel and e_b = C_a - C_b >= 0. The bets against a whose leaders are the channels b, with the summed
weights S_b, multiplied by exp(sum_b S_b e_b), are a supermartingale. So, with probability 1 - δ, at all times and for
all b at once, S_b e_b < log(1/δ) - evidence against a. Which channel is a best one is not known: the largest bound over
those that may be is taken (docs/theory/adaptive.md, "At any time").
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bestchannel.arrays import Integers
from bestchannel.display import text_table
from bestchannel.evidence.bets import Account, RivalAccount
from bestchannel.information import NATS_PER_BIT
from bestchannel.questions import NearlyBest


@dataclass(frozen=True)
class PastBets:
    """Bets against a rival, also those that were given up: what they have proved stays proved."""

    rival: int
    account: Account
    leaders: int  # the number of the leader in whose time they were made, with epsilon


@dataclass
class State:
    """Where `Adaptive` stands: its next request follows from this alone. `print(policy.state)` shows it.

    `candidates` are the channels not ruled out, the leader among them. `bets` is what the bets against every channel
    have brought; `evidence_nats` of each rival has to reach `threshold_nats`.
    """

    counts: list[Integers]  # [channel][x, y]
    leader: int
    candidates: tuple[int, ...]
    bets: dict[int, Any]  # accounts, all of one kind
    leaders: int = 1  # with epsilon, those that were bet on, the present one included
    # of the leader's estimate and a rival's, as the bets against it show them, relative to the normal approximation
    variances: dict[int, tuple[float, float]] = field(default_factory=dict)
    slack: float = 0.0  # nats by which the bets of the last request let a rival be better, as senses run out
    abandoned: list[PastBets] = field(default_factory=list)
    evidence_nats: dict[int, float] = field(default_factory=dict)
    threshold_nats: dict[int, float] = field(default_factory=dict)
    kind: type[Account] = RivalAccount
    _senses: list[int] = field(init=False)  # [channel]

    def __post_init__(self) -> None:
        self._senses = [int(table.sum()) for table in self.counts]

    @classmethod
    def of(cls, counts: Sequence[Integers], leader: int) -> State:
        """Every channel a candidate, and no bet made."""
        state = cls(list(counts), leader, tuple(range(len(counts))), {})
        state.open_accounts(RivalAccount)
        return state

    def open_accounts(self, kind: type[Account]) -> None:
        """No bets against any channel, and accounts of this kind for those to come."""
        self.kind, self.bets = kind, {j: kind((t.shape[0], t.shape[1])) for j, t in enumerate(self.counts)}

    @property
    def rivals(self) -> list[int]:
        """The candidates but the leader."""
        return [channel for channel in self.candidates if channel != self.leader]

    def senses(self, channel: int) -> int:
        """How often a channel was sensed."""
        return self._senses[channel]

    def learn(self, counts: Mapping[int, Integers]) -> None:
        """Add the answer to a request."""
        for channel, table in counts.items():
            self.counts[channel] = self.counts[channel] + table
            self._senses[channel] += sum(map(sum, table.tolist()))

    def follow(self, leader: int) -> None:
        """Another leader, about whom nothing is proved yet: all bets start anew, with a smaller share of δ."""
        bet_on = any(account.spent for account in self.bets.values())
        for channel in list(self.bets):
            self._set_aside(channel)
        self.leaders += bet_on
        self.leader = leader
        self.open_accounts(self.kind)
        self.candidates = tuple(range(len(self.counts)))

    def restart(self, rival: int) -> None:
        """Bets against a rival that have lost too much start anew, with a smaller share of δ."""
        self._set_aside(rival)
        self.bets[rival] = self.kind(self.bets[rival].shape, self.bets[rival].restarts + 1)

    def _set_aside(self, rival: int) -> None:
        if self.bets[rival].weights:
            self.abandoned.append(PastBets(rival, self.bets[rival], self.leaders))

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


# --- what is proved by then ------------------------------------------------------------------


@dataclass(frozen=True)
class Missing:
    """What bets against a rival still lack: `nats` to the threshold, and the weights S_b of those on each leader b."""

    rival: int
    nats: float
    weights: Mapping[int, float]

    def gap(self, channel: int) -> float:
        """By how many nats the rival can at most exceed a channel, if it is a best one."""
        if self.nats <= 0.0:
            return 0.0  # it is none
        weight = self.weights.get(channel, 0.0)
        return self.nats / weight if weight > 0.0 else math.inf


def nearest_to_best(
    missing: Iterable[Missing], most: Sequence[float], candidates: Sequence[int], leader: int
) -> NearlyBest | None:
    """The candidate with the least proved distance to the best; of equal ones, the leader.

    `most` are the largest values that channels can have by their alphabets, in nats. None where no more is known.
    """
    bounds = {channel: list(most) for channel in candidates}
    for bets in missing:
        for channel, gaps in bounds.items():
            gaps[bets.rival] = min(gaps[bets.rival], bets.gap(channel))
    within = {b: max((gap for a, gap in enumerate(gaps) if a != b), default=0.0) for b, gaps in bounds.items()}
    nearest = min(within, key=lambda channel: (within[channel], channel != leader))
    if within[nearest] > 0.0 and within[nearest] >= max(nats for a, nats in enumerate(most) if a != nearest):
        return None
    return NearlyBest(nearest, within[nearest] / NATS_PER_BIT)
