"""How large is every capacity? Bets on both ends of every channel, made for the width that is asked for."""

from __future__ import annotations

import math
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from bestchannel.arrays import Floats
from bestchannel.evidence.bets import RivalAccount, leader_bets, rival_tilts
from bestchannel.information import NATS_PER_BIT
from bestchannel.policies.adaptive.bets import largest_weight
from bestchannel.policies.adaptive.claims import SPARE, Claim, QuestionScript, Wager
from bestchannel.policies.adaptive.sampling import whole
from bestchannel.policies.adaptive.state import View
from bestchannel.policies.policy import Counts, Senses
from bestchannel.policies.request import MOST_SENSES, Supply
from bestchannel.questions import Findings, Within

if TYPE_CHECKING:
    from bestchannel.policies.adaptive.adaptive_policy import Adaptive

LEARNING = 0.05  # the part of the senses needed that is learned from before bets begin
BATCH = 0.06  # the part of the senses needed that one request asks for
SMALLEST_GROWTH, LARGEST_GROWTH = 0.04, 0.5  # of a channel's senses by one request, relatively
FEWEST = 8.0  # senses of a request, at least
NEAR = (0.85, 0.92, 1.08, 1.15)  # of the weight of all bets, tried as S of the upper end where the ends are near
SMALLER = (0.5, 0.25, 0.125, 0.0625, 0.03125)  # tried as long as the end falls: too large a weight loses too much
MARGIN = 1.05  # of the senses that are planned for


@dataclass
class Ends:
    """The bets on one channel, and the ends of its value in nats that they prove; both hold at any time."""

    low: RivalAccount  # bets on the channel as one that is over a level, whatever it is
    high: RivalAccount  # and as one that is under one
    since: int = 0
    lower: float = 0.0
    upper: float = math.inf
    first: float = math.inf  # the fewest senses that seemed to be needed so far

    @classmethod
    def of(cls, alphabet: tuple[int, int]) -> Ends:
        """Nothing is known but the alphabet."""
        return cls(RivalAccount((1, 1)), RivalAccount(alphabet), upper=math.log(min(alphabet)))


class WithinScript(QuestionScript):
    """How `Adaptive` answers `Within`."""

    def __init__(self, policy: Adaptive, question: Within) -> None:
        super().__init__(policy)
        self.question = question
        self.ends = {channel: Ends.of(alphabet) for channel, alphabet in enumerate(policy.alphabets)}
        share = -math.expm1(math.log1p(-policy.delta) / len(self.ends))  # of δ, for one channel; both ends have half
        self.nats = math.log(2.0 / share)

    @property
    def open(self) -> list[int]:
        """The channels whose ends are too far apart."""
        return [c for c, ends in self.ends.items() if not ends.upper - ends.lower <= self._width(ends.lower)]

    def _width(self, lower: float) -> float:
        """The width that is asked for, in nats, where that is the lower end."""
        return self.question.width * (lower if self.question.relative else NATS_PER_BIT)

    def answered(self, view: View | None) -> bool:
        brackets = {c: (ends.lower / NATS_PER_BIT, ends.upper / NATS_PER_BIT) for c, ends in self.ends.items()}
        self.policy.findings = Findings(not self.open, brackets=brackets)
        self.policy.candidates = tuple(self.open)
        return not self.open

    def learn(self, counts: Counts) -> None:
        super().learn(counts)
        for channel in counts:
            self._find_ends(channel)

    def _find_ends(self, channel: int) -> None:
        """l = (L - log 1/α) / S and u = min_S (Λ(S) + log 1/α) / S; the nearest so far, for all of them hold."""
        ends = self.ends[channel]
        if not ends.low.weight > 0.0:
            return
        ends.lower = max(ends.lower, (ends.low.paid - self.nats) / ends.low.weight)
        end = partial(self._upper_end, channel, self.view([channel]))
        near = NEAR if ends.upper - ends.lower <= 3.0 * max(self._width(ends.lower), 1e-9) else ()
        lowest = min(map(end, (1.0, *near)))
        for factor in SMALLER:
            if not (lower := end(factor)) < lowest:
                break
            lowest = lower
        ends.upper = min(ends.upper, lowest)

    def _upper_end(self, channel: int, view: View, factor: float) -> float:
        """(Λ(S) + log 1/α) / S, with S so many times the weight of all bets."""
        account, look = deepcopy(self.ends[channel].high), view.of(channel)
        account.paid, account.weight = 0.0, factor * account.weight
        proved = account.proved_evidence(look.rows, look.inputs, self.fixed_input)
        return (self.nats + SPARE - proved) / account.weight

    # --- the plan: any choice is valid --------------------------------------------------------

    def request(self, view: View, left: Supply) -> Senses | None:
        """What to sense next, and the bets on it: s = h/v for a sense, which is best for ends at distance h.

        After more senses than seemed to be needed s falls as the root of their number, so that all that is lost by bets
        that were too large becomes a smaller part of S, and the ends meet.
        """
        senses, more, weights = dict[int, tuple[int, ...]](), 0.0, dict[int, float]()  # s of one sense
        for channel in self.open:
            ends, had, look = self.ends[channel], float(self.counts[channel].sum()), view.of(channel)
            half = 0.5 * max(self._width(max(float(view.values[channel]), 1e-6)), 1e-6)
            variance = max(0.5 * float(view.leader_variances[channel] + view.rival_variances[channel]), 2.0 * half)
            needed = MARGIN * 2.0 * self.nats * variance / half**2
            weights[channel] = half / variance * math.sqrt(min(1.0, needed / max(had, 1.0)))
            ends.since = 0 if ends.since == self.next_request else ends.since  # planned before
            ends.first = min(ends.first, needed)
            more += max(needed - had, FEWEST)
            asked = min(max(BATCH * needed, SMALLEST_GROWTH * had, FEWEST), max(LARGEST_GROWTH * had, FEWEST))
            senses[channel] = whole(asked * (0.5 * (look.as_leader + look.as_rival)))
        self.policy.more_senses = math.ceil(min(more, MOST_SENSES))
        cut, made = left.cut(senses), list[Wager]()
        for channel, each in cut.items():
            ends = self.ends[channel]
            if not ends.since and float(self.counts[channel].sum()) >= LEARNING * ends.first:
                ends.since = self.next_request
            if ends.since and all(each):
                made += self._bets(channel, view, np.array(each, dtype=np.float64), weights[channel])
        self.stake(made)
        return cut or None

    def _bets(self, channel: int, view: View, N: Floats, of_one_sense: float) -> Iterator[Wager]:
        look, ends, weight = view.of(channel), self.ends[channel], of_one_sense * float(N.sum())
        on_over = look.inputs, leader_bets(look.rows, look.inputs, N, np.array([weight]))
        yield Wager(f"{channel} low", Claim(channel, None), 0.0, ends.since, 0, weight, ends.low, on_over)
        under = min(weight, largest_weight(len(N)) * float(N.min()))
        on_under = rival_tilts(look.rows, look.inputs, N, under, self.fixed_input)
        yield Wager(f"{channel} high", Claim(None, channel), 0.0, ends.since, 0, under, ends.high, None, on_under)
