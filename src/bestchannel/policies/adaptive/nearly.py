"""Which m are the best, or in which order do all come, to within ε? The answers that are tried are numbered.

An answer is wrong if some channel is more than ε below one that it is put before. Then one pair of its channels is the
furthest apart, and the bets for that pair win nothing on average: none of δ is shared among pairs. Answers follow each
other as estimates change; number i has the share 1/(i(i+1)) of δ (docs/theory/questions.md, "Nearly").
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations, product
from typing import TYPE_CHECKING

from bestchannel.information import NATS_PER_BIT
from bestchannel.policies.adaptive.claims import Bettor, Wager
from bestchannel.policies.adaptive.sampling import least_slack
from bestchannel.policies.adaptive.state import View
from bestchannel.policies.adaptive.worlds import Pair, Worlds, WorldsScript, is_clear
from bestchannel.policies.policy import Senses
from bestchannel.policies.request import Supply
from bestchannel.questions import Findings, Order, Supposed, Top

if TYPE_CHECKING:
    from bestchannel.policies.adaptive.adaptive_policy import Adaptive


class NearlyScript(WorldsScript):
    """How `Adaptive` answers `Top` and `Order` with an ε: a pair of an answer is bet on as a world is bet against."""

    def __init__(self, policy: Adaptive, question: Top | Order) -> None:
        super().__init__(policy, question)
        self.question, self.margin = question, question.epsilon * NATS_PER_BIT
        self.number, self.answer = 1, tuple[int, ...]()
        self.nearest: tuple[Sequence[int], float] | None = None  # of the answers before

    @property
    def wealth(self) -> float:
        return self.number * (self.number + 1) / self.policy.delta

    def answered(self, view: View | None) -> bool:
        self.seen = view
        if view is None or any(view.values[a] - view.values[b] > 0.5 * self.margin for b, a in self._pairs()):
            self._follow(self._ranks(view))
        if view is not None:
            self._rule_out(view)
        still_open = {channel for _, pair in self.bet_on for channel in pair}
        self.policy.findings, self.policy.candidates = self._found(not still_open), tuple(sorted(still_open))
        self._show_evidence()
        return not still_open

    def _pairs(self) -> list[Pair]:
        """Of the present answer: of each, the first must not be more than ε below the second."""
        named = self.answer[: self.question.m] if isinstance(self.question, Top) else ()
        pairs = product(named, self.answer[len(named) :]) if named else combinations(self.answer, 2)
        return [pair for pair in pairs if not self.worthless.issuperset(pair)]

    def _follow(self, ranks: Sequence[int]) -> None:
        """Try another answer, about which nothing is proved yet; one that nobody has bet on has no number."""
        self.nearest = self.nearly()
        self.number += self.begun
        self.answer = tuple(ranks)
        self.worlds = [
            Worlds(f"{self.number}.{i}", self.everything, Bettor(margin=self.margin, aim=self.margin), pair, 0)
            for i, pair in enumerate(self._pairs())
        ]

    @property
    def named(self) -> tuple[int, ...]:
        """The best m, or all in their order."""
        return self.answer[: self.question.m] if isinstance(self.question, Top) else self.answer

    def _found(self, decided: bool) -> Findings:
        """What is said where the present answer is right, or not shown to be so yet."""
        named = self.named if decided else ()
        if isinstance(self.question, Top):
            return Findings(decided, top=named, out=tuple(sorted(set(self.answer) - set(named))) if decided else ())
        return Findings(decided, order=named if decided else None, pairs=tuple(combinations(named, 2)))

    def nearly(self) -> tuple[Sequence[int], float] | None:
        """Of all pairs, the largest margin that is shown; of all answers, the nearest."""
        view, alphabets = self.seen, self.policy.alphabets
        if view is None or not self.bet_on:
            return self.nearest
        most = max(math.log(min(alphabets[under])) for _, (_, under) in self.bet_on)
        shown = [world.bettor.margin_shown(pair[1], self.wealth, view, self.fixed_input) for world, pair in self.bet_on]
        least = most if self.nearest is None else min(most, self.nearest[1])
        return (self.named, max(shown)) if max(shown) < least else self.nearest

    def supposed(self) -> Supposed | None:
        """The present answer, with the least wealth of its pairs and its share of δ."""
        if self.seen is None:
            return None
        held = [world.bettor.proved(self.seen, self.fixed_input) for world, _ in self.bet_on]
        return Supposed(min(held) / (self.number * (self.number + 1)), findings=self._found(True))

    @property
    def begun(self) -> bool:
        """Whether anybody has bet on the present answer."""
        return any(world.bettor.since or world.bettor.starts for world in self.worlds)

    def _bets(self, view: View, asked: Senses) -> Iterator[Wager | None]:
        """Not on an answer that may well change, for the next one would have a smaller share."""
        if self.begun or all(is_clear(pair, view, world.bettor.aim) for world, pair in self.bet_on):
            yield from super()._bets(view, asked)

    def request(self, view: View, left: Supply) -> Senses | None:
        for world in self.worlds:
            world.bettor.since = 0 if world.bettor.since == self.next_request else world.bettor.since
        asked = left.cut(self._senses_for(self.margin, view))
        if (more := self.policy.more_senses or 0) > left.senses:  # aim at the least margin that they should show

            def enough(slack: float) -> bool:
                self._senses_for(self.margin + slack, view)
                return (self.policy.more_senses or 0) <= left.senses

            asked = left.cut(self._senses_for(self.margin + least_slack(enough), view))
            self.policy.more_senses = more
        self.stake(self._bets(view, asked), answer=(self.number, self.named))
        return asked or None

    def _senses_for(self, aim: float, view: View) -> Senses:
        """What to sense next, to show that the answer holds with a margin."""
        for world, _ in self.bet_on:
            world.bettor.aim = aim
        return self._senses([(pair, world.bettor) for world, pair in self.bet_on], view)
