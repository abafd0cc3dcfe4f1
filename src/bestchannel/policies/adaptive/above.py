"""Which channels are above a level? One after the other, the easiest first, from one purse."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from bestchannel.information import NATS_PER_BIT
from bestchannel.policies.adaptive.claims import HOPELESS, Bettor, Claim, QuestionScript, best_wager
from bestchannel.policies.adaptive.sampling import whole
from bestchannel.policies.adaptive.state import View
from bestchannel.policies.policy import Counts, Plan, Script, Senses
from bestchannel.policies.request import MOST_SENSES, Supply
from bestchannel.questions import Above, Findings, Supposed

if TYPE_CHECKING:
    from bestchannel.policies.adaptive.adaptive_policy import Adaptive

BETTING_FROM = 0.6  # estimated nats of evidence from which on a claim is bet on; what was sensed before is learned from
LEAST_GAP = 0.7  # standard errors that a gap is thought to be at least
MARGIN = 0.5  # nats that are planned for beyond what is demanded
BATCH = 0.08  # the part of the senses still needed that one request asks for
SMALLEST_GROWTH, LARGEST_GROWTH = 0.04, 0.5  # of a channel's senses by one request, relatively
FEWEST = 8.0  # senses of a request, at least
GIVEN_UP, LET_GO = 8.0, 2.0  # how many times as many senses as another channel one needs that waits, bet on or not


@dataclass
class Purse:
    """What k claims are bet on with, one after the other: one unit, of which each has a k-th part and what others left.

    docs/theory/questions.md, "One purse": at no time is more staked than the unit and what a rightly decided channel
    has left, which is what the bets *against* the claim then hold.
    """

    parts: int
    waiting: int = -1  # channels whose part is not staked yet
    stake: float = 0.0

    def __post_init__(self) -> None:
        self.waiting = self.parts
        self.hand_over(0.0)

    def demanded(self, delta: float) -> float:
        """The wealth of the present bets, of stake 1, with which the purse has reached 1/δ."""
        return (1.0 / delta - self.waiting / self.parts) / self.stake

    def hand_over(self, left: float, first_time: bool = True) -> None:
        """To the next channel, what the last one has left of a stake of 1, and its own part if it has not had it."""
        self.stake = first_time / self.parts + self.stake * left
        self.waiting -= first_time


@dataclass
class Turn:
    """The channel that is bet on: the bets that it is above the level, and those that it is below."""

    channel: int
    bettors: dict[str, Bettor]

    def claim(self, side: str) -> Claim:
        """That the channel is on this side of the level."""
        return Claim(self.channel, None) if side == "above" else Claim(None, self.channel)


class AboveScript(QuestionScript):
    """How `Adaptive` answers `Above`."""

    purse: Purse
    turn: Turn | None = None

    def __init__(self, policy: Adaptive, question: Above) -> None:
        super().__init__(policy)
        self.tolerance = question.tolerance
        self.answers: dict[int, str | None] = {}
        self.levels: list[dict[str, float]] = []  # [channel], in nats
        for channel, alphabet in enumerate(policy.alphabets):
            ends = {side: bits * NATS_PER_BIT for side, bits in question.ends(channel).items()}
            self.levels.append(ends)
            self.answers[channel] = question.by_alphabet(channel, alphabet)

    @property
    def open(self) -> list[int]:
        """The channels of which nothing is proved."""
        return [channel for channel, side in self.answers.items() if side is None]

    def answered(self, view: View | None) -> bool:
        self._show()
        return not self.open

    def search(self) -> Script:
        """One channel after the other, until every one is above or below."""
        self.purse, had, left = Purse(len(self.open)), set[int](), 0.0
        while waiting := [channel for channel in self.open if self._has(channel)]:
            easiest = self._easiest(waiting)
            bettors = {side: Bettor(level) for side, level in self.levels[easiest].items()}
            self.turn = turn = Turn(easiest, bettors)
            if had:
                self.purse.hand_over(left, turn.channel not in had)
            had.add(turn.channel)
            left = self._left(turn, (yield from self._decided(turn)))
        self.turn = None
        return None

    def _decided(self, turn: Turn) -> Generator[Senses | Plan, Counts, View]:
        """Bet on one channel until it is decided, given up for an easier one, or not to be had; the last look at it."""
        channel = turn.channel
        while True:
            view = self.view(self.open)
            side = self._side(channel, view)
            wealth = self.purse.demanded(self.policy.delta)
            demanded = {side: turn.bettors[side].demanded(wealth) for side in turn.bettors}
            for each, bettor in turn.bettors.items():
                evidence = bettor.weigh(turn.claim(each), view, demanded[each], self.fixed_input)
                if evidence >= demanded[each]:
                    self.answers[channel] = each
            self._show(channel, turn.bettors[side].evidence, demanded[side])
            if self.answers[channel] is not None or not self._has(channel) or self._is_hard(turn, view):
                return view
            for bettor in turn.bettors.values():
                if bettor.since and not bettor.evidence >= HOPELESS:
                    bettor.start_anew(view, self.fixed_input)
            self.learn((yield partial(self.request, view)))

    def supposed(self) -> Supposed | None:
        """The side on which the channel that is bet on seems to be: its bets, and the parts that wait."""
        if self.turn is None or not self.open:
            return None
        channel, view = self.turn.channel, self.view(self.open)
        side = self._side(channel, view)
        held = self.turn.bettors[side].proved(view, self.fixed_input)
        wealth = self.purse.waiting / self.purse.parts + self.purse.stake * held
        return Supposed(wealth, findings=Findings(decided=False, answers={channel: side}))

    def _side(self, channel: int, view: View) -> str:
        """Where the channel seems to be."""
        return "above" if view.values[channel] >= 0.5 * sum(self.levels[channel].values()) else "below"

    def _left(self, turn: Turn, view: View) -> float:
        """What a channel leaves to the next: what bets against the claim hold, or the less of both where none is made.

        Between the levels both may win, and at most what was staked is left.
        """
        held = {side: bettor.proved(view, self.fixed_input) for side, bettor in turn.bettors.items()}
        against = [wealth for side, wealth in held.items() if side != self.answers[turn.channel]]
        return min(*against, *([1.0] if self.tolerance else []), math.inf)

    # --- the plan: any choice is valid --------------------------------------------------------

    def request(self, view: View, left: Supply) -> Senses | None:
        assert self.turn is not None  # while there are requests
        turn, channel = self.turn, self.turn.channel
        side, look = self._side(channel, view), view.of(channel)
        bettor = turn.bettors[side]
        gap, error = self._gap(channel, side, view)
        demanded = bettor.demanded(self.purse.demanded(self.policy.delta))
        wanted = self._wanted(channel, side, max(gap, LEAST_GAP * error), demanded - bettor.evidence, view)
        others = [self._forecast(each, view) for each in self.open if each != channel]
        self.policy.more_senses = math.ceil(min(wanted + sum(others), MOST_SENSES))
        now = float(self.counts[channel].sum())
        least, most = max(SMALLEST_GROWTH * now, FEWEST), max(LARGEST_GROWTH * now, FEWEST)
        shares = look.as_leader if side == "above" else look.as_rival
        asked = left.cut({channel: whole(min(max(BATCH * wanted, least), most) * shares)})
        if not bettor.since and gap > 0.0 and 0.5 * (gap / error) ** 2 >= BETTING_FROM:
            bettor.since = self.next_request
        bet = None
        if bettor.since and gap > 0.0 and asked and all(asked[channel]):
            bet = best_wager(side, bettor, turn.claim(side), gap, view, asked, self.fixed_input)
        self.stake([bet], purse={"waiting": self.purse.waiting, "stake": self.purse.stake})
        return asked or None

    def _easiest(self, channels: list[int]) -> int:
        """The channel that should be decided first: that with the fewest senses needed."""
        view = self.view(channels)
        return min(channels, key=lambda channel: self._forecast(channel, view))

    def _is_hard(self, turn: Turn, view: View) -> bool:
        """Whether another channel has become so much easier that it comes first; this one has another turn."""
        others = [self._forecast(each, view) for each in self.open if each != turn.channel and self._has(each)]
        begun = any(bettor.since or bettor.starts for bettor in turn.bettors.values())
        return self._forecast(turn.channel, view) > (GIVEN_UP if begun else LET_GO) * min(others, default=math.inf)

    def _forecast(self, channel: int, view: View) -> float:
        side = self._side(channel, view)
        gap, error = self._gap(channel, side, view)
        return self._wanted(channel, side, max(gap, LEAST_GAP * error), -math.log(self.policy.delta), view)

    def _wanted(self, channel: int, side: str, gap: float, nats: float, view: View) -> float:
        """Senses of a channel after which so many nats more are to be expected: 2 nats v / gap²."""
        variances = view.leader_variances if side == "above" else view.rival_variances
        return 2.0 * (max(nats, 0.0) + MARGIN) * float(variances[channel]) / gap**2

    def _gap(self, channel: int, side: str, view: View) -> tuple[float, float]:
        """By how much the channel is thought to be on this side of its level, and the standard error of that."""
        gap = float(view.values[channel]) - self.levels[channel][side]
        return (gap if side == "above" else -gap), math.sqrt(float(view.variances[channel])) + 1e-9

    def _has(self, channel: int) -> bool:
        """Whether a recording has more of the channel; whatever else limits the senses is none of its own."""
        each = self.policy.left.each
        return each is None or all(each[channel])

    def _show(self, channel: int | None = None, evidence: float = 0.0, demanded: float = 0.0) -> None:
        """Let those who watch see where things stand."""
        self.policy.candidates = tuple(self.open)
        self.policy.evidence_nats = {} if channel is None else {channel: evidence}
        self.policy.threshold_nats = {} if channel is None else {channel: demanded}
        self.policy.findings = Findings(decided=not self.open, answers=dict(self.answers))
