"""What Adaptive knows between two requests: how near to the best a channel is proved to be, and what counts suggest.

Let a be a best channel and e_b = C_a - C_b >= 0. The bets against a whose leaders are the channels b, with the summed
weights S_b, multiplied by exp(sum_b S_b e_b), are a supermartingale. So, with probability 1 - δ, at all times and for
all b at once, S_b e_b < log(1/δ) - evidence against a. Which channel is a best one is not known: the largest bound over
those that may be is taken (docs/theory/adaptive.md, "At any time").
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from bestchannel.arrays import Floats, Integers
from bestchannel.display import text_table
from bestchannel.evidence.bets import Account, RivalAccount
from bestchannel.information import NATS_PER_BIT
from bestchannel.intervals import Functional
from bestchannel.native.evidence import estimates, smoothed_rows
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


# --- what the counts suggest: no more than a plan, nothing here is certified -----------------------

EVENLY_ON_LEADER, EVENLY_ON_BINARY, EVENLY_ON_RIVAL = 0.1, 0.3, 0.7
"""The share of a channel's senses that is spread evenly over its inputs: a rival's P may be at any of them."""

ADDED = np.array([0.5, 1.0, 2.0, 4.0, 8.0])
"""Senses of every input, shared by all outputs, that may be added to counts for an estimate of rows."""


class Look(NamedTuple):
    """Estimates of a channel, or of some of one size, [c, …].

    The senses of each are best spread over its inputs as P_x sqrt(V_x/c_x), up to a factor, and a part evenly: as
    1/sqrt(c_x), so that whichever input matters, a sense of it is worth its cost c_x.
    """

    rows: Floats  # [x, y] smoothed estimates W
    inputs: Floats  # [x] P
    deviations: Floats  # [x] sqrt(V_x), the standard deviation of log(W_x/PW) under W_x
    as_leader: Floats  # [x] shares of its senses
    as_rival: Floats  # [x]


NOTHING = Look(np.zeros((0, 0, 0)), *[np.zeros((0, 0))] * 4)  # of channels that are not looked at


class View(NamedTuple):
    """Estimates in nats; of a channel with a single input or output, or not looked at, the value 0 and nothing else."""

    values: Floats  # [channel]
    variances: Floats  # [channel] of the estimated value
    leader_variances: Floats  # [channel] of the value times the number of senses, if these are spread as a leader's
    rival_variances: Floats  # [channel] and as a rival's
    alike: list[tuple[list[int], Look]]  # the channels of one size, and then those of the next

    def of(self, channel: int) -> Look:
        """What is known of one channel."""
        for channels, look in self.alike:
            if channel in channels:
                place = channels.index(channel)
                return Look(*[array[place] for array in look])
        return NOTHING


def view_of(
    channels: Iterable[int], counts: Sequence[Integers], functional: Functional, costs: Sequence[Floats]
) -> View:
    """Estimates of some channels from the counts of all, those of one size together.

    What is added to their counts is the same for all channels of a size, whether looked at or not.
    """
    k, sizes = len(counts), dict[tuple[int, ...], list[int]]()
    for channel in channels:
        sizes.setdefault(counts[channel].shape, []).append(channel)
    numbers = np.zeros((4, k))
    view = View(numbers[0], numbers[1], numbers[2], numbers[3], [])
    for size, alike in sizes.items():
        if min(size) > 1:
            of_size = [j for j, table in enumerate(counts) if table.shape == size]
            places = [of_size.index(j) for j in alike]
            W, senses = smoothed_rows(np.array([counts[j] for j in of_size]), places, ADDED / size[1])
            P = np.ascontiguousarray(functional.best_inputs(W))
            evenly = EVENLY_ON_LEADER, EVENLY_ON_BINARY if P.shape[1] == 2 else EVENLY_ON_RIVAL
            made = estimates(W, P, senses, np.array([costs[j] for j in alike]), evenly)
            numbers[:, alike] = made.numbers
            view.alike.append((alike, Look(W, P, made.deviations, *made.shares)))
    return view
