"""Which m are the best, and in which order do all come? Worlds that might be true are ruled out one by one.

A world says which channels are the best m, or the order of all. Worlds are kept in boxes, each described by what all of
its worlds have in common; those of one box are bet against together, by a claim that is false in all of them. Which box
a world belongs to is fixed before the bets: the first one, in the order in which bets began, that holds it. So the true
world, too, is bet against by one e-process, and no share of δ goes to the others (docs/theory/questions.md).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bestchannel.arrays import Floats
from bestchannel.policies.adaptive.bets import prudent
from bestchannel.policies.adaptive.claims import HOPELESS, Bettor, Claim, QuestionScript, Wager, best_wager
from bestchannel.policies.adaptive.sampling import whole
from bestchannel.policies.adaptive.state import View
from bestchannel.policies.policy import Senses
from bestchannel.policies.request import MOST_SENSES, Supply
from bestchannel.questions import Findings, Order, Supposed, Top

if TYPE_CHECKING:
    from bestchannel.policies.adaptive.adaptive_policy import Adaptive

BETTING_FROM = 0.4  # estimated nats of evidence from which on a claim is bet on; what was sensed before is learned from
LEAST_GAP = 0.7  # standard errors that a gap is thought to be at least
MARGIN = 1.0  # nats that are planned for beyond what is demanded
DOUBT = 0.63  # of the standard error of a gap, that bets and plans are prudent about
BATCH, LITTLE = 0.08, 0.01  # the part of its senses still needed that a request asks of a channel, or of all senses
SMALLEST_GROWTH, LARGEST_GROWTH = 0.02, 0.5  # of a channel's senses by one request, relatively
FEWEST = 4.0  # senses of a channel in a request, at least
STEPS, ENOUGH = 250, 1.001  # of the search for the fewest senses, and times the fewest with which it ends
EASIER = 1.5  # times as much as by the present claim that a sense must bring by another for that to be bet for
CUTS = 2_000  # of a box, to see whether all of it is bet against

Pair = tuple[int, int]
Bools = NDArray[np.bool_]


class Box(ABC):
    """Worlds that have something in common."""

    @property
    @abstractmethod
    def empty(self) -> bool:
        """Whether there is no such world."""

    @abstractmethod
    def both(self, other: Any) -> Any:
        """The worlds that are in both boxes."""

    @abstractmethod
    def within(self, other: Any) -> bool:
        """Whether all are in another box."""

    @abstractmethod
    def cut(self, other: Any) -> tuple[Any, Any]:
        """Both halves by something that another box, in which not all are, says and this one leaves open."""

    @abstractmethod
    def denies(self, claim: Pair) -> bool:
        """Whether the claim is false in all of the worlds."""

    @abstractmethod
    def hardest_claim(self, ranks: Sequence[int], view: View) -> Pair | None:
        """The claim against the world that differs least from what `ranks` have as the answer; None for that itself."""

    @abstractmethod
    def parts(self, ranks: Sequence[int], view: View | None) -> Iterator[tuple[Pair | None, Any]]:
        """The worlds by a claim that is false in them, and without one, those that `ranks` have as the answer."""

    @abstractmethod
    def findings(self, left: Sequence[Any], ranks: Sequence[int]) -> tuple[Findings, list[int]]:
        """What all worlds agree on where this is the answer and those are left, and the channels that are open."""

    @abstractmethod
    def record(self, names: Sequence[str]) -> dict[str, Any]:
        """As JSON holds it."""


@dataclass(frozen=True)
class BestSets(Box):
    """The sets of m of k channels, supposed to be the best, that hold all of `inside` and none of `outside`."""

    m: int
    k: int
    inside: frozenset[int] = frozenset()
    outside: frozenset[int] = frozenset()

    @property
    def empty(self) -> bool:
        return bool(self.inside & self.outside) or len(self.inside) > self.m or len(self.outside) > self.k - self.m

    def both(self, other: BestSets) -> BestSets:
        """The sets that are in both boxes; where those are one, the box says all of it."""
        inside, outside, every = self.inside | other.inside, self.outside | other.outside, frozenset(range(self.k))
        if len(outside) == self.k - self.m:
            inside |= every - outside
        elif len(inside) == self.m:
            outside |= every - inside
        return replace(self, inside=inside, outside=outside)

    def within(self, other: BestSets) -> bool:
        return self.inside >= other.inside and self.outside >= other.outside

    def cut(self, other: BestSets) -> tuple[BestSets, BestSets]:
        channel = frozenset({min((other.inside - self.inside) | (other.outside - self.outside))})
        return self.both(BestSets(self.m, self.k, channel)), self.both(BestSets(self.m, self.k, outside=channel))

    def denies(self, claim: Pair) -> bool:
        over, under = claim
        return over in self.outside and under in self.inside

    def hardest_claim(self, ranks: Sequence[int], view: View) -> Pair | None:
        free = [channel for channel in ranks if channel not in self.inside | self.outside]
        inside = self.inside.union(free[: self.m - len(self.inside)])
        over = next(channel for channel in ranks if channel not in inside)
        under = next(channel for channel in reversed(ranks) if channel in inside)
        return (over, under) if ranks.index(over) < ranks.index(under) else None

    def parts(self, ranks: Sequence[int], view: View | None) -> Iterator[tuple[Pair | None, BestSets]]:
        """The sets by the claim that is false in them: their best channel outside is better than their worst inside.

        `ranks` are the channels as they seem to come; the set of the first m is by itself, without a claim.
        """
        for i, over in enumerate(ranks[: self.m]):
            for j in range(self.m, self.k):
                box = BestSets(self.m, self.k, frozenset((*ranks[:i], ranks[j])), frozenset((over, *ranks[j + 1 :])))
                yield (over, ranks[j]), self.both(box)
        rest = BestSets(self.m, self.k, frozenset(ranks[: self.m]), frozenset(ranks[self.m :]))
        yield None, self.both(rest)

    def findings(self, left: Sequence[BestSets], ranks: Sequence[int]) -> tuple[Findings, list[int]]:
        inside = self.inside.intersection(*(box.inside for box in left))
        outside = self.outside.intersection(*(box.outside for box in left))
        top, out = (tuple(channel for channel in ranks if channel in side) for side in (inside, outside))
        return Findings(not left, top=top, out=out), [c for c in range(self.k) if c not in inside | outside]

    def record(self, names: Sequence[str]) -> dict[str, Any]:
        return {"in": [names[c] for c in sorted(self.inside)], "out": [names[c] for c in sorted(self.outside)]}


@dataclass(frozen=True)
class Orders(Box):
    """The orders of k channels in which the first of each pair comes before the second; pairs imply others."""

    k: int
    pairs: frozenset[Pair] = frozenset()

    @property
    def empty(self) -> bool:
        return any((second, first) in self.pairs for first, second in self.pairs)

    @classmethod
    def of(cls, before: Bools) -> Orders:
        """The box in which x comes before y where before[x, y]."""
        return cls(len(before), frozenset(zip(*(side.tolist() for side in np.nonzero(before)), strict=True)))

    @property
    def before(self) -> Bools:
        """Whether x comes before y."""
        before = np.zeros((self.k, self.k), dtype=bool)
        if self.pairs:
            before[tuple(zip(*self.pairs, strict=True))] = True
        return before

    def both(self, other: Orders) -> Orders:
        before = self.before
        for pair in other.pairs - self.pairs:
            before = _with(before, *pair)
        return Orders.of(before)

    def within(self, other: Orders) -> bool:
        return self.pairs >= other.pairs

    def cut(self, other: Orders) -> tuple[Orders, Orders]:
        first, second = min(other.pairs - self.pairs)
        return Orders.of(_with(self.before, first, second)), Orders.of(_with(self.before, second, first))

    def denies(self, claim: Pair) -> bool:
        over, under = claim
        return (under, over) in self.pairs

    def hardest_claim(self, ranks: Sequence[int], view: View) -> Pair | None:
        inverted = [pair for pair in combinations(ranks, 2) if pair[::-1] in self.pairs]
        return max(inverted, key=lambda pair: _ease(pair, view), default=None)

    def parts(self, ranks: Sequence[int], view: View | None) -> Iterator[tuple[Pair | None, Orders]]:
        """The orders by the claim that is false in them: of all pairs in `ranks` that they invert, the clearest."""
        pairs = sorted(combinations(ranks, 2), key=lambda pair: -_clearness(pair, view))
        before = self.before
        for over, under in pairs:
            if not before[over, under]:
                yield (over, under), Orders.of(_with(before, under, over))
            before = _with(before, over, under)
        yield None, Orders.of(before)

    def findings(self, left: Sequence[Orders], ranks: Sequence[int]) -> tuple[Findings, list[int]]:
        pairs = self.pairs.intersection(*(box.pairs for box in left))
        found = Findings(not left, order=None if left else tuple(ranks), pairs=tuple(sorted(pairs)))
        return found, [c for c in range(self.k) if sum(c in pair for pair in pairs) < self.k - 1]

    def record(self, names: Sequence[str]) -> dict[str, Any]:
        return {"pairs": [[names[first], names[second]] for first, second in sorted(self.pairs)]}


def _with(before: Bools, first: int, second: int) -> Bools:
    """What comes before what if the first of a pair comes before the second, too."""
    earlier, later = before[:, first].copy(), before[second].copy()
    earlier[first] = later[second] = True
    return before | (earlier[:, None] & later)


@dataclass
class Worlds:
    """A box that is bet against by a claim that is false in all of its worlds; by none where they are the answer."""

    name: str
    box: Box
    bettor: Bettor
    versus: Pair | None
    born: int  # the request since which there is this box
    ruled_out: bool = False


class WorldsScript(QuestionScript):
    """How `Adaptive` answers `Top` and `Order`."""

    def __init__(self, policy: Adaptive, question: Top | Order) -> None:
        super().__init__(policy)
        k = len(policy.alphabets)
        self.everything: Box = BestSets(question.m, k) if isinstance(question, Top) else Orders(k)
        self.worlds: list[Worlds] = []  # in the order in which a world is looked for
        self.waiting: list[tuple[Pair, Box]] = []  # worlds that nobody has bet against so far, by claims false in them
        self.seen: View | None = None
        self.worthless = policy._worthless

    def answered(self, view: View | None) -> bool:
        self.seen, ranks = view, self._ranks(view)
        if view is not None:
            self._split(ranks, view)
            self._rule_out(view)
        self.waiting = [
            (pair, box)
            for pair, box in self._claims(self.everything, ranks, view)
            if pair and not self._bet_against(box)
        ]
        *_, (_, answer) = self.everything.parts(ranks, view)
        left = [world.box for world, _ in self.bet_on] + [box for _, box in self.waiting]
        self.policy.findings, still_open = answer.findings(left, ranks)
        self.policy.candidates = tuple(still_open)
        self.likeliest, _ = answer.findings([], ranks)
        self._show_evidence()
        return not left

    def supposed(self) -> Supposed | None:
        """The answer by the estimates: a world that contradicts it and that nobody bets against has a wealth of 1."""
        if self.seen is None:
            return None
        held = [world.bettor.proved(self.seen, self.fixed_input) for world, _ in self.bet_on]
        return Supposed(min([*held, *[1.0] * len(self.waiting)]), findings=self.likeliest)

    @property
    def wealth(self) -> float:
        """With which bets have ruled out a world."""
        return 1.0 / self.policy.delta

    def _ranks(self, view: View | None) -> list[int]:
        """All channels as they seem to come; of equal ones, one with more letters first."""
        if view is None:
            return sorted(self.open, key=lambda channel: channel in self.worthless)
        return sorted(self.open, key=lambda channel: (-view.values[channel], -min(self.policy.alphabets[channel])))

    # --- what is left -------------------------------------------------------------------------

    @property
    def bet_on(self) -> list[tuple[Worlds, Pair]]:
        """Worlds that are not ruled out, with the claim against them."""
        return [(world, world.versus) for world in self.worlds if world.versus and not world.ruled_out]

    def _split(self, ranks: Sequence[int], view: View) -> None:
        """Bet for another claim where the present one looks false, or is far harder than the hardest that is needed.

        That is the claim against the world that differs least from the answer. A box of which some worlds do not deny
        it is divided, and its parts are bet against from what the whole has.
        """
        divided, now = list[Worlds](), self.next_request
        for world in self.worlds:
            claim = world.box.hardest_claim(ranks, view)
            if world.ruled_out or (claim and world.versus and _ease(claim, view) <= EASIER * _ease(world.versus, view)):
                divided.append(world)
                continue
            parts: list[tuple[Pair | None, Box]] = [(claim, world.box)]
            if not claim or not world.box.denies(claim) or self.worthless.issuperset(claim):
                parts = list(self._claims(world.box, ranks, view))
            if len(parts) == 1:
                world.versus = parts[0][0]
                divided.append(world)
                continue
            for i, (pair, box) in enumerate(parts):
                divided.append(Worlds(f"{world.name}/{now}.{i}", box, world.bettor.copy(), pair, now))
        self.worlds = divided

    def _claims(self, box: Box, ranks: Sequence[int], view: View | None) -> Iterator[tuple[Pair | None, Box]]:
        """The parts of a box by the claims that are false in them, and without one, the part that is the answer.

        Worlds that differ from the answer by channels of equal value, by their alphabets, belong to it.
        """
        for pair, part in box.parts(ranks, view):
            if not part.empty:
                yield None if pair is None or self.worthless.issuperset(pair) else pair, part

    def _rule_out(self, view: View) -> None:
        """Drop the worlds against which the evidence has reached what is demanded."""
        for world, pair in self.bet_on:
            demanded = world.bettor.demanded(self.wealth)
            evidence = world.bettor.weigh(Claim(*pair), view, demanded, self.fixed_input)
            world.ruled_out = evidence >= demanded
            if not world.ruled_out and world.bettor.since and not evidence + world.bettor.excused >= HOPELESS:
                world.bettor.start_anew(view, self.fixed_input)

    def _bet_against(self, box: Box) -> bool:
        """Whether all of the worlds are in boxes that are, or were, bet against; at most `CUTS` cuts are tried."""
        parts, cuts = [(box, 0)], 0
        while parts:
            part, place = parts.pop()
            if part.empty:
                continue
            if place == len(self.worlds) or cuts > CUTS:
                return False
            other = self.worlds[place].box
            if part.both(other).empty:
                parts.append((part, place + 1))
            elif not part.within(other):
                parts += [(half, place) for half in part.cut(other)]
                cuts += 1
        return True

    def _show_evidence(self) -> None:
        """Of every channel, that of the bets on it that lack most."""
        policy = self.policy
        policy.evidence_nats, policy.threshold_nats = {}, {}
        for world, pair in self.bet_on:
            evidence, demanded = world.bettor.evidence, world.bettor.demanded(self.wealth)
            for channel in pair:
                short = policy.threshold_nats.get(channel, -math.inf) - policy.evidence_nats.get(channel, 0.0)
                if demanded - evidence > short:
                    policy.evidence_nats[channel], policy.threshold_nats[channel] = evidence, demanded

    # --- the plan: any choice is valid --------------------------------------------------------

    def request(self, view: View, left: Supply) -> Senses | None:
        now = self.next_request
        self.worlds = [world for world in self.worlds if world.born < now or "/" in world.name]  # planned before
        against = [(pair, world.bettor) for world, pair in self.bet_on] + [(p, Bettor()) for p, _ in self.waiting]
        asked = left.cut(self._senses(against, view))
        clear = [(i, pair, box) for i, (pair, box) in enumerate(self.waiting) if is_clear(pair, view)]
        self.worlds += [Worlds(f"{now}.{i}", box, Bettor(), pair, now) for i, pair, box in clear]
        born = [(world.name, world.box) for world in self.worlds if world.born == now]
        self.stake(self._bets(view, asked), boxes=born)
        return asked or None

    def _senses(self, against: Sequence[tuple[Pair, Bettor]], view: View) -> Senses:
        """What to sense next, for claims and who bets on them."""
        missing = [bettor.demanded(self.wealth) - bettor.evidence - bettor.excused for _, bettor in against]
        ahead = [_gap(*pair, view, bettor.aim) for pair, bettor in against]
        gaps = [max(prudent(gap, DOUBT * error), LEAST_GAP * error) for gap, error in ahead]
        pairs = [pair for pair, _ in against]
        wanted, as_leader = fewest_senses(pairs, np.array(gaps), np.maximum(missing, 0.0) + MARGIN, view)
        self.policy.more_senses = math.ceil(min(wanted.sum(), MOST_SENSES))
        return self._part_of(wanted, as_leader, view)

    def _bets(self, view: View, asked: Senses) -> Iterator[Wager | None]:
        """The bets against all worlds that are far enough behind for them."""
        for world, pair in self.bet_on:
            bettor = world.bettor
            gap, error = _gap(*pair, view, bettor.aim)
            if not bettor.since and is_clear(pair, view, bettor.aim):
                bettor.since = self.next_request
            if bettor.since and gap > 0.0 and all(self._sensed(channel, asked) for channel in pair):
                ahead = prudent(gap, DOUBT * error)
                yield best_wager(world.name, bettor, Claim(*pair), ahead, view, asked, self.fixed_input)

    def _sensed(self, channel: int, asked: Senses) -> bool:
        return channel in self.worthless or (channel in asked and all(asked[channel]))

    def _part_of(self, wanted: Floats, as_leader: Floats, view: View) -> Senses:
        """The part of the senses still needed that is asked for now: all that is little beside the rest.

        A channel's senses should grow by so much with each request, but by no more than it needs; as large a part as
        that is of all senses, each has at least.
        """
        now = np.array([float(table.sum()) for table in self.counts])
        least = np.minimum(np.maximum(SMALLEST_GROWTH * now, FEWEST), wanted)
        part = max(BATCH, float(least.sum() / wanted.sum()))
        asked = np.maximum(part * wanted, np.maximum(np.minimum(wanted, LITTLE * wanted.sum()), least))
        asked = np.minimum(asked, np.maximum(LARGEST_GROWTH * now, FEWEST))
        senses = dict[int, tuple[int, ...]]()
        for channel in np.flatnonzero(wanted > 0.0).tolist():
            look = view.of(channel)
            shares = as_leader[channel] * look.as_leader + (1.0 - as_leader[channel]) * look.as_rival
            if len(look.inputs):
                senses[channel] = whole(float(asked[channel]) * shares)
        return senses


def _gap(over: int, under: int, view: View, margin: float = 0.0) -> tuple[float, float]:
    """By how much one channel, with a margin, is thought to be ahead of another, and the standard error of that."""
    error = math.sqrt(float(view.variances[over] + view.variances[under])) + 1e-9
    return float(view.values[over] - view.values[under]) + margin, error


def is_clear(pair: Pair, view: View, margin: float = 0.0) -> bool:
    """Whether a claim seems to hold by so much that it is bet on."""
    gap, error = _gap(*pair, view, margin)
    return gap > 0.0 and 0.5 * (gap / error) ** 2 >= BETTING_FROM


def _clearness(pair: Pair, view: View | None) -> float:
    """How many standard errors two channels are apart; 0 before the first look."""
    if view is None:
        return 0.0
    gap, error = _gap(*pair, view)
    return gap / error


def _ease(pair: Pair, view: View) -> float:
    """The nats that a sense brings to the evidence for a claim, with the senses shared out as they serve it best."""
    over, under = pair
    deviation = math.sqrt(float(view.leader_variances[over])) + math.sqrt(float(view.rival_variances[under]))
    gap, error = _gap(over, under, view)
    return 0.5 * (prudent(gap, DOUBT * error) / (deviation + 1e-9)) ** 2


def fewest_senses(pairs: Sequence[Pair], gaps: Floats, needed: Floats, view: View) -> tuple[Floats, Floats]:
    """Senses n of every channel, the fewest in all with v_b/n_b + v_a/n_a <= gap²/(2 needed) for every pair (b, a).

    With multipliers λ of the constraints, n_j² is the sum of λ v over the pairs that j is part of; λ is multiplied by
    what its constraint lacks until none does. The dual problem, (Σ n)² / Σ λ gap²/(2 needed), shows how few there
    may be. Also, the part of each channel's senses that serves it as a leader.
    """
    k, over, under = len(view.values), *np.array(pairs, dtype=np.int64).T
    most = gaps**2 / (2.0 * needed)
    v_over, v_under = np.maximum(view.leader_variances[over], 1e-12), view.rival_variances[under]
    multipliers = (v_over + v_under) / most**2
    for _ in range(STEPS):
        led, followed = np.bincount(over, multipliers * v_over, k), np.bincount(under, multipliers * v_under, k)
        n = np.sqrt(led + followed)
        spread = v_over / n[over] + np.divide(v_under, n[under], out=np.zeros_like(v_under), where=n[under] > 0.0)
        lacking = spread / most
        if float(lacking.max() * (multipliers * most).sum()) <= ENOUGH * float(n.sum()):
            break
        lacking = np.clip(lacking, 0.05, 20.0)
        multipliers *= np.sqrt(lacking * np.sqrt(lacking))  # roots are the same on every machine, powers are not
    n *= float((spread / most).max())
    return n, np.divide(led, led + followed, out=np.zeros(k), where=led + followed > 0.0)
