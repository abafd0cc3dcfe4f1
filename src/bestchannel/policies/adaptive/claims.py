"""Bets for claims: that the value of one channel is larger than another's, or than a level.

A level c is a channel whose value is known: it pays s c for bets of weight s where it is over a channel, and loses S c
where it is under one (docs/theory/questions.md). Any bets are valid that are fixed before their request.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bestchannel.arrays import Floats, Integers
from bestchannel.evidence.bets import LARGEST_INPUT, LARGEST_TILT, LeaderBets, RivalAccount, settle_senses
from bestchannel.native.evidence import wagers
from bestchannel.policies.adaptive.bets import largest_weight
from bestchannel.policies.adaptive.state import NOTHING, Look, View, view_of
from bestchannel.policies.policy import Counts, Script, Senses
from bestchannel.policies.request import Supply
from bestchannel.questions import Supposed

if TYPE_CHECKING:
    from bestchannel.policies.adaptive.adaptive_policy import Adaptive

FIRST_SHARE, HOPELESS = 0.9, -4.0
"""The part of what is left that bets begin with, at first and after each loss of more than so many nats."""

SPARE = 0.05
"""Nats that a stated margin or end leaves to who checks it, by bounds that are less close at some places."""

NO_LEADER = np.zeros((0, 0)), np.zeros(0), np.zeros(0), np.zeros(0)
"""A level, whose value is known."""


class Claim(NamedTuple):
    """That the value of channel `over` is larger than that of channel `under`; None stands for the level."""

    over: int | None
    under: int | None


@dataclass
class Bettor:
    """Who bets for one claim after another, with what was won by those before: an e-process with its restarts.

    Bets against one rival are an account; the first start stakes `FIRST_SHARE` of its unit, each further one the same
    share of what was kept. The wealth is what all starts hold, proved, and what is kept.
    """

    level: float = 0.0  # nats, of claims about one
    margin: float = 0.0  # nats by which the channel that is under may be better and the claim hold
    aim: float = 0.0  # nats of margin for which bets are made, as senses run out
    starts: int = 0  # given up so far
    past: float = 0.0  # proved wealth of those
    since: int = 0  # the request with which the present bets began; 0 before
    accounts: dict[int | None, RivalAccount] = field(default_factory=dict)  # by the channel that is under
    settled: dict[int | None, float] = field(default_factory=dict)  # proved nats of accounts that are not bet on now
    evidence: float = 0.0  # nats: proved where it reaches what was demanded, an estimate below

    @property
    def share(self) -> float:
        """Of the present start."""
        return FIRST_SHARE * (1.0 - FIRST_SHARE) ** self.starts

    @property
    def kept(self) -> float:
        """What no start has staked yet."""
        return (1.0 - FIRST_SHARE) ** (self.starts + 1)

    def demanded(self, wealth: float) -> float:
        """The nats of evidence with which all starts together have so much; minus infinity where they have it."""
        missing = wealth - self.past - self.kept
        return math.log(missing / self.share) if missing > 0.0 else -math.inf

    @property
    def excused(self) -> float:
        """Nats more of evidence that the bets have with the margin that they aim at."""
        return (self.aim - self.margin) * sum(account.weight for account in self.accounts.values())

    def account(self, claim: Claim, shape: tuple[int, int]) -> RivalAccount:
        """The account of bets for the claim."""
        return self.accounts.setdefault(claim.under, RivalAccount((1, 1) if claim.under is None else shape))

    def weigh(self, claim: Claim, view: View, demanded: float, fixed_input: bool) -> float:
        """The evidence in nats of the present bets: proved where it reaches what is demanded."""
        others = 0.0
        for under, account in self.accounts.items():
            if under != claim.under:
                if under not in self.settled:
                    self.settled[under] = self._proved(under, account, view, fixed_input)
                others += self.settled[under]
        self.settled.pop(claim.under, None)
        self.evidence = others
        if (present := self.accounts.get(claim.under)) is None:
            return self.evidence
        if claim.under is None:
            self.evidence += present.paid - self.level * present.weight
        else:
            look = view.of(claim.under)
            self.evidence += present.evidence(look.rows, look.inputs, self.margin, demanded - others, fixed_input)
        return self.evidence

    def proved(self, view: View, fixed_input: bool) -> float:
        """The wealth of all starts and what is kept, from below."""
        nats = sum(self._proved(under, account, view, fixed_input) for under, account in self.accounts.items())
        return self.past + self.share * math.exp(min(nats, 600.0)) + self.kept

    def _proved(self, under: int | None, account: RivalAccount, view: View, fixed_input: bool) -> float:
        if under is None:
            return account.paid - self.level * account.weight
        look = view.of(under)
        return account.proved_evidence(look.rows, look.inputs, fixed_input) + self.margin * account.weight

    def margin_shown(self, under: int, wealth: float, view: View, fixed_input: bool) -> float:
        """The least margin, no smaller than the present one, with which the bets have a little more than so much."""
        account = self.accounts.get(under)
        if account is None or not account.weight > 0.0:
            return math.inf
        missing = self.demanded(wealth) - self._proved(under, account, view, fixed_input) + SPARE
        return self.margin + max(missing, 0.0) / account.weight

    def start_anew(self, view: View, fixed_input: bool) -> None:
        """Give up bets that have lost too much."""
        self.past = self.proved(view, fixed_input) - self.kept
        self.starts, self.since, self.evidence = self.starts + 1, 0, 0.0
        self.accounts, self.settled = {}, {}

    def copy(self) -> Bettor:
        """One more with the same past, of which another claim is bet on from now on."""
        return deepcopy(self)


@dataclass(frozen=True, eq=False)
class Wager:
    """A bet for a claim, fixed before a request: of weight s on the senses of both channels, or of one of them."""

    bettor: str
    claim: Claim
    level: float
    since: int
    starts: int
    weight: float
    account: RivalAccount = field(compare=False, repr=False)  # of the bettor, to which it is booked
    on_over: tuple[Floats, LeaderBets] | None = None  # P, of the channel that is over
    on_under: tuple[Floats, Floats] | None = None  # ω and Q, of the channel that is under

    def settle(self, counts: Mapping[int, Integers]) -> None:
        """Book what the answer brought."""
        over, under = self.claim
        paid = self.weight * self.level
        if over is not None and self.on_over is not None:
            paid = float(self.on_over[1].settled(counts[over].astype(np.float64))[0])
        self.account.settle(-1 if over is None else over, paid, self.weight)
        if under is not None and self.on_under is not None:
            tilts, outputs = self.on_under
            settle_senses([self.account], tilts[None], outputs[None], counts[under][None].astype(np.float64))

    def record(self, names: Sequence[str]) -> dict[str, Any]:
        """The bet as JSON holds it; None stands for the level."""
        over, under = (None if channel is None else names[channel] for channel in self.claim)
        said = {"over": over, "under": under, "since": self.since, "starts": self.starts, "weight": self.weight}
        if self.on_over is not None:
            inputs, bets = self.on_over
            parts = {"input": inputs, "auxiliary": bets.auxiliary[0], "multipliers": bets.multipliers[0]}
            said |= {name: part.tolist() for name, part in parts.items()}
        if self.on_under is not None:
            said |= zip(("tilts", "outputs"), (part.tolist() for part in self.on_under), strict=True)
        return said


@dataclass(frozen=True, eq=False)
class WagersMade:
    """What is staked on the answer to a request: bets by the name of who bets."""

    wagers: Sequence[Wager]
    boxes: Sequence[tuple[str, Any]] = ()  # of worlds that are bet against from now on
    purse: Mapping[str, Any] | None = None  # from which the bets are made
    answer: tuple[int, Sequence[int]] | None = None  # its number, and the channels that it names

    def record(self, names: Sequence[str]) -> dict[str, Any]:
        said: dict[str, Any] = {"worlds": {name: box.record(names) for name, box in self.boxes}} if self.boxes else {}
        if self.purse:
            said["purse"] = dict(self.purse)
        if self.answer:
            said["answer"] = {"number": self.answer[0], "named": [names[channel] for channel in self.answer[1]]}
        return {**said, "wagers": {wager.bettor: wager.record(names) for wager in self.wagers}}


class QuestionScript(ABC):
    """How `Adaptive` answers a question other than for the best: it looks, bets and senses until that is answered."""

    def __init__(self, policy: Adaptive) -> None:
        self.policy, self.stakes = policy, WagersMade([])
        self.counts = [np.zeros(alphabet, dtype=np.int64) for alphabet in policy.alphabets]
        self.accounts = defaultdict[int, dict[int, RivalAccount]](dict)  # all with bets on the senses of a channel

    @abstractmethod
    def answered(self, view: View | None) -> bool:
        """Take in what the channels look like, None before the first sense; whether the question is answered."""

    @abstractmethod
    def request(self, view: View, left: Supply) -> Senses | None:
        """What to sense next of what is left, and the bets on it."""

    @property
    def open(self) -> Sequence[int]:
        """The channels that are looked at."""
        return range(len(self.counts))

    def run(self) -> Script:
        """The senses that are wanted, until the question is answered."""
        if not self.answered(None):
            self.learn((yield partial(self.policy._first_look, self.open)))
            yield from self.search()
            self.policy.stakes, self.policy.more_senses = None, 0
        return None

    def search(self) -> Script:
        """The same, after the first look."""
        while not self.answered(view := self.view(self.open)):
            self.learn((yield partial(self.request, view)))
        return None

    def nearly(self) -> tuple[Sequence[int], float] | None:
        """Channels to be named now, and the nats by which one of them may at most be below another; see `Findings`."""
        return None

    def supposed(self) -> Supposed | None:
        """What the script would answer now, and the least wealth of bets against what contradicts it."""
        return None

    @property
    def fixed_input(self) -> bool:
        """Whether I(P;W) at a fixed P is compared, not the capacity."""
        return self.policy._input_is_fixed

    @property
    def next_request(self) -> int:
        """The number of the request that is planned."""
        return self.policy._answered + 1

    def stake(self, wagers: Iterable[Wager | None], **told: Any) -> None:
        """Commit to bets on the request that is planned, and to what `WagersMade` has beside them."""
        self.stakes = self.policy.stakes = WagersMade([wager for wager in wagers if wager], **told)

    def view(self, channels: Iterable[int]) -> View:
        """Estimates of some channels."""
        return view_of(channels, self.counts, self.policy.functional, self.policy._costs)

    def learn(self, counts: Counts) -> None:
        """Book what bets have brought, and add the answer to what is known."""
        for wager in self.stakes.wagers:
            wager.settle(counts)
            if wager.claim.under is not None:
                self.accounts[wager.claim.under][id(wager.account)] = wager.account
        for channel, table in counts.items():
            self.counts[channel] = self.counts[channel] + table


def best_wager(
    name: str, bettor: Bettor, claim: Claim, gap: float, view: View, senses: Senses, fixed_input: bool
) -> Wager | None:
    """The bet for a claim, with a channel ahead by so many nats, that should win most; None where none should win."""
    over, under = claim
    theirs = NOTHING if under is None else view.of(under)  # nothing where its value is 0 by its alphabet, too
    known_value = not theirs.inputs.size
    account = bettor.account(claim, (1, 1) if known_value else (theirs.rows.shape[0], theirs.rows.shape[1]))
    largest_input = 0.0 if fixed_input else LARGEST_INPUT
    ours = NO_LEADER if over is None else _leader(view.of(over), senses[over])
    rival = NOTHING if known_value else Look(*(np.ascontiguousarray(part[None]) for part in theirs))
    others = np.array([() if known_value or under is None else senses[under]], dtype=np.float64)
    level = bettor.level if over is None else -bettor.level if under is None else bettor.aim
    found = wagers(
        ours, (rival.rows, rival.inputs, rival.deviations), [0], others, [gap],
        [0 if fixed_input else account.worst_address], level, largest_weight(others.shape[1]), largest_input,
        LARGEST_TILT,
    )  # fmt: skip
    weight, growth, _ = found.numbers[0].tolist()
    if not growth > 0.0:
        return None
    on_leader = LeaderBets(found.pays, found.price, found.auxiliary, found.multipliers)
    on_over = None if over is None else (ours[1], on_leader)
    on_under = None if known_value else (found.tilts[0], found.outputs[0])
    return Wager(name, claim, bettor.level, bettor.since, bettor.starts, weight, account, on_over, on_under)


def _leader(look: Look, senses: Sequence[int]) -> tuple[Floats, Floats, Floats, Floats]:
    return look.rows, look.inputs, look.deviations, np.array(senses, dtype=np.float64)
