"""Questions other than for the best: whether stakes and answers prove what a record says (docs/theory/questions.md).

Who bets for a claim, that one channel is better than another or than a level, holds what its bets have brought, all
starts together. Levels have one purse; answers within ε have numbers; sets and orders are worlds, each bet against by
the first box that holds it; the ends of a capacity are where the bets on it stand at 1/α.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise, product
from typing import Annotated, Any

import numpy as np
from msgspec import Meta, Struct

from bestchannel.errors import InputError
from bestchannel.questions import Above, Order, Top, Within
from bestchannel.record import Number
from bestchannel.verification import rival_check
from bestchannel.verification.adaptive_check import Bet, check_origin, check_tilts, paid_nats
from bestchannel.verification.record import (
    MOST,
    NATS,
    Floats,
    Integers,
    NotValidError,
    Record,
    Step,
    Watch,
    as_struct,
    number_of,
    require,
)
from bestchannel.verification.rival_check import Sensed, SensedRival

FIRST_SHARE = 0.9  # of what is left, for every start of bets
ROUNDING = 1e-9  # by which stated numbers may exceed what follows, relatively
FACTORS = (1.0, 0.92, 1.08, 0.85, 1.15, 0.5, 0.25, 0.125, 0.0625, 0.03125)  # of the weight of bets on an upper end
DEEPEST = 2_000_000  # boxes that are looked at before worlds are said to be left


NOTHING = np.zeros(0)  # where a bet is on one channel alone


class Wager(Struct, frozen=True):
    """A bet for the claim that `over` is better than `under`; None stands for the level."""

    over: str | None
    under: str | None
    since: Annotated[int, Meta(ge=1, le=2**53)]
    starts: Annotated[int, Meta(ge=0, le=300)]  # the share of any more is 0 in doubles
    weight: Number
    input: Floats = NOTHING  # P, V and ν of the channel that is over
    auxiliary: Floats = NOTHING
    multipliers: Floats = NOTHING
    tilts: Floats = NOTHING  # ω and Q of the channel that is under
    outputs: Floats = NOTHING

    @property
    def bet(self) -> Bet:
        """As `Adaptive` has it for the best channel."""
        rows = self.tilts, self.outputs, self.auxiliary, self.multipliers
        return Bet(self.since, self.starts, self.weight, *rows)


class PurseStated(Struct, frozen=True):
    """How many channels wait for their part, and what is staked on the present one."""

    waiting: int
    stake: Number


class AnswerStated(Struct, frozen=True):
    """The answer whose pairs are bet on: its number, which says its share of δ, and the channels that it names."""

    number: Annotated[int, Meta(ge=1, le=2**26)]
    named: tuple[str, ...]


class WagersStated(Struct, frozen=True):
    """All that is staked on the answer to a request."""

    wagers: dict[str, Wager]
    worlds: dict[str, dict[str, Any]] = {}
    purse: PurseStated | None = None
    answer: AnswerStated | None = None


@dataclass
class Account:
    """Bets with one channel under, since one start."""

    paid: float = 0.0
    weight: float = 0.0
    sensed: list[Sensed] = field(default_factory=list)


@dataclass
class Bettor:
    """All bets of one who bets, by start and by the channel that is under."""

    level: float = 0.0
    margin: float = 0.0  # nats by which the channel that is under may be better and the claim hold
    starts: dict[int, dict[int | None, Account]] = field(default_factory=dict)
    latest: int | None = None  # the channel under, of the last bet


@dataclass
class Books:
    """What the steps have brought so far."""

    record: Record
    kind: Any  # the policy, which proposes what may show a bound
    counts: list[Integers]

    def settle(self, bettor: Bettor, wager: Wager, step: Step, name: str) -> None:
        """Book what a bet has brought."""
        record, where = self.record, f"in the bet of {name!r} in request {step.request}"
        over, under = (None if c is None else number_of(c, record.names, where) for c in (wager.over, wager.under))
        require(over != under, f"a bet must be for one channel over another, or over a level; it is not {where}")
        require(wager.weight > 0.0, f"the weight of a bet must be positive; it is {wager.weight:g} {where}")
        require(wager.starts >= max(bettor.starts, default=0), f"starts must not become fewer; they do {where}")
        account = bettor.starts.setdefault(wager.starts, {}).setdefault(under, Account())
        bettor.latest, account.weight = under, account.weight + wager.weight
        if over is None:
            account.paid += wager.weight * bettor.level
        else:
            require(over in step.counts, f"the channel that is over must be sensed; it is not {where}")
            fixed = record.fixed_input
            require(fixed is None or np.array_equal(fixed, wager.input), f"the input distribution is another {where}")
            account.paid += paid_nats(wager.bet, wager.input, step.counts[over], where)
            check_origin(wager.bet, wager.input, self.counts[over], step.senses[over], where)
        if under is not None and not record.worthless(under):
            require(under in step.counts, f"the channel that is under must be sensed; it is not {where}")
            check_tilts(record, under, wager.bet, where)
            account.sensed.append((step.counts[under], wager.tilts, wager.outputs))

    def learn(self, step: Step) -> None:
        """Add the answer of a step."""
        for channel, table in step.counts.items():
            if sum(self.counts[channel].ravel().tolist()) + sum(table.ravel().tolist()) > MOST:
                raise NotValidError(f"request {step.request} has more senses of a channel than 64-bit counts hold")
            self.counts[channel] = self.counts[channel] + table

    def lost(self, under: int, account: Account, needed: float | None = None, weight: float | None = None) -> float:
        """Nats that bets on the senses of a channel have lost at most; no more than is needed, if that can be shown."""
        if self.record.worthless(under):
            return 0.0
        shape, fixed = self.record.alphabets[under], self.record.fixed_input
        weight = account.weight if weight is None else weight
        most = self.kind._loss_of(shape, account.sensed, weight, fixed) if needed is None else needed
        covers = self.kind._covers_of(shape, account.sensed, weight, fixed, most)
        return -rival_check.proved(SensedRival.of(shape, account.sensed, weight), fixed, covers, -most)

    def wealth(self, bettor: Bettor, needed: float) -> float:
        """What all starts hold and what was kept, from below: as much as is needed, if that can be shown."""
        if not bettor.starts:
            return 1.0
        last = max(bettor.starts)
        held = (1.0 - FIRST_SHARE) ** (last + 1)
        for start in range(last):
            held += share(start) * self._won(bettor, bettor.starts.get(start, {}))
        missing = (needed - held) / share(last)
        return held + share(last) * self._won(bettor, bettor.starts[last], math.log(missing) if missing > 0.0 else 0.0)

    def _won(self, bettor: Bettor, accounts: Mapping[int | None, Account], demanded: float | None = None) -> float:
        """The factor by which bets have multiplied their stake, from below."""
        nats = 0.0
        for under, account in sorted(accounts.items(), key=lambda item: item[0] == bettor.latest):
            if under is None:
                nats += account.paid - account.weight * bettor.level
                continue
            last = demanded is not None and under == bettor.latest
            nats += account.paid + bettor.margin * account.weight
            nats -= self.lost(under, account, nats - demanded if last and demanded is not None else None)
        return math.exp(min(nats, 600.0))


def share(start: int) -> float:
    """Of the unit, for a start."""
    return FIRST_SHARE * (1.0 - FIRST_SHARE) ** start


def check_claims(record: Record, watch: Watch, kind: Any) -> None:
    """Raise `NotValidError` unless the steps prove what the record says of its question."""
    question, stated = record.stated.question, record.stated
    try:
        question.refuse_unless_possible(len(record.names))  # type: ignore[union-attr]
    except InputError as error:
        raise NotValidError(f"the question cannot be asked: {error}") from None
    books = Books(record, kind, [np.zeros(alphabet, dtype=np.int64) for alphabet in record.alphabets])
    steps = _followed(books, watch)
    if isinstance(question, Above):
        answers = stated.answers or {}
        require(stated.decided == all(answers.values()), "decided means that every channel is above or below")
        _check_above(books, question, {number_of(c, record.names, "answers"): s for c, s in answers.items()}, steps)
    elif isinstance(question, Top | Order) and question.epsilon:
        _check_nearly(books, question, steps)
    elif isinstance(question, Top):
        require(stated.decided == (len(stated.top or ()) == question.m), "decided means that all m are named")
        _check_worlds(books, BestSets(question.m, len(record.names)), steps)
    elif isinstance(question, Order):
        everything = sorted(stated.order or ()) == sorted(record.names)
        require(stated.decided == everything, "decided means that all channels are in order")
        _check_worlds(books, Orders(len(record.names)), steps)
    elif isinstance(question, Within):
        _check_ends(books, question, steps)
    else:
        raise NotValidError(f"nothing is known of the question {question!r}")


def _followed(books: Books, watch: Watch) -> Iterator[tuple[Step, WagersStated]]:
    """The steps and what was staked on them; each is learned from after whoever asked has booked it."""
    for step in books.record.steps:
        yield step, WagersStated({}) if step.stakes is None else as_struct(step.stakes, WagersStated)
        books.learn(step)
        watch(step.request)


# --- above a level --------------------------------------------------------------------------------


@dataclass
class Turn:
    """What was bet on one channel, and from which part of the purse."""

    channel: int
    purse: PurseStated
    sides: dict[str, Bettor]


def _check_above(books: Books, question: Above, answers: Mapping[int, str | None], steps: Iterable[Any]) -> None:
    """One channel after the other is bet on, and the purse reaches 1/δ with each that is called above or below."""
    record = books.record
    ends = [{side: bits * NATS for side, bits in question.ends(c).items()} for c in range(len(record.names))]
    require(answers.keys() == set(range(len(record.names))), "answers must say something of every channel")
    surely = {
        channel: "below"
        if sum(ends[channel].values()) / 2 >= math.log(min(alphabet))
        else "above"
        if ends[channel]["above"] < 0.0
        else None
        for channel, alphabet in enumerate(record.alphabets)
    }
    parts, turns = sum(side is None for side in surely.values()), list[Turn]()
    for step, stakes in steps:
        for side, wager in stakes.wagers.items():
            where, name = f"request {step.request}", wager.over if side == "above" else wager.under
            other = wager.under if side == "above" else wager.over
            sides = side in ("above", "below")
            require(sides and name is not None and other is None, f"a bet of {where} is for no level")
            channel, purse = number_of(str(name), record.names, where), stakes.purse
            if purse is None or not parts:
                raise NotValidError(f"{where} has bets without a purse, or on what no channel is left to be bet on")
            if not turns or turns[-1].channel != channel or turns[-1].purse != purse:
                turns.append(Turn(channel, purse, {s: Bettor(nats) for s, nats in ends[channel].items()}))
            books.settle(turns[-1].sides[side], wager, step, side)
    latest = {turn.channel: turn for turn in turns}
    for before, turn in zip([None, *turns], turns, strict=False):
        given_up = before is not None and latest[before.channel] is not before
        answer = None if before is None or given_up else answers[before.channel]
        _check_purse(books, before, turn, parts, answer, bool(question.tolerance))
    for channel, side in answers.items():
        if side is None or side == surely[channel]:
            continue
        where = f"channel {record.names[channel]!r} is called {side}"
        require(surely[channel] is None and channel in latest, f"{where} without evidence")
        purse = latest[channel].purse
        needed = (1.0 / record.delta - purse.waiting / parts) / purse.stake
        enough = books.wealth(latest[channel].sides[side], needed) >= needed * (1.0 - ROUNDING)
        require(enough, f"{where}, but stakes and answers do not reach 1/delta")


def _check_purse(books: Books, before: Turn | None, turn: Turn, parts: int, answer: str | None, tolerant: bool) -> None:
    """No more is staked than parts of the unit and what the channel before has left.

    That is what bets against its answer hold, or the less of both sides where it was given up. Parts may be drawn for
    channels that are not bet on.
    """
    purse, where = turn.purse, f"the turn of {books.record.names[turn.channel]!r}"
    waiting, stake = (parts, 0.0) if before is None else (before.purse.waiting, before.purse.stake)
    drawn, left = (waiting - purse.waiting) / parts, 0.0
    fits = purse.waiting >= 0 and purse.stake > 0.0 and drawn >= 0.0
    require(fits, f"the purse has more parts in {where} than channels wait")
    if before is not None:
        needed = (purse.stake - drawn) / stake
        left = min(books.wealth(bettor, needed) for side, bettor in before.sides.items() if side != answer)
        left = min(left, 1.0) if tolerant else left
    require(purse.stake <= (drawn + stake * left) * (1.0 + ROUNDING), f"more is staked in {where} than there is")


# --- worlds: the best m, and orders ---------------------------------------------------------------


@dataclass(frozen=True)
class BestSets:
    """The sets of m of k channels that hold all of `inside` and none of `outside`."""

    m: int
    k: int
    inside: frozenset[int] = frozenset()
    outside: frozenset[int] = frozenset()

    @property
    def empty(self) -> bool:
        """Whether there is none."""
        return bool(self.inside & self.outside) or len(self.inside) > self.m or len(self.outside) > self.k - self.m

    def of(self, stated: Mapping[str, Any], record: Record) -> BestSets:
        """The box that a record states."""
        sides = ([number_of(c, record.names, "a box of worlds") for c in stated[side]] for side in ("in", "out"))
        return BestSets(self.m, self.k, *map(frozenset, sides))

    def both(self, other: BestSets) -> BestSets:
        """Those of both boxes."""
        return BestSets(self.m, self.k, self.inside | other.inside, self.outside | other.outside)

    def all_deny(self, over: int, under: int) -> bool:
        """Whether `over` is outside and `under` inside of every set."""
        with_over = BestSets(self.m, self.k, self.inside | {over}, self.outside)
        without_under = BestSets(self.m, self.k, self.inside, self.outside | {under})
        return with_over.empty and without_under.empty

    def cuts(self, other: BestSets) -> tuple[BestSets, BestSets] | None:
        """The box in two by something that another box has and this one leaves open; None where it lies in it."""
        for channel in [*(other.inside - self.inside), *(other.outside - self.outside)]:
            return (
                BestSets(self.m, self.k, self.inside | {channel}, self.outside),
                BestSets(self.m, self.k, self.inside, self.outside | {channel}),
            )
        return None

    def claimed(self, record: Record) -> Iterator[tuple[str, BestSets]]:
        """What the record says, and the sets that say otherwise."""
        worthless = {c for c in range(self.k) if record.worthless(c)}
        top, out = ({number_of(c, record.names, "top") for c in part or ()} for part in _sides(record))
        once = len(top) == len(_sides(record)[0]) <= self.m and len(out) <= self.k - self.m and not top & out
        require(once, "no more than m channels can be the best m, none of them twice, and none both")
        still_open = frozenset(range(self.k)) - top - out
        require(record.candidates == still_open, "the candidates must be all of which nothing is said; they are not")
        places = self.m - (self.k - len(worthless))  # that are left by all others: any of value 0 may have them
        tied = len(top & worthless) <= places <= len(worthless - out)
        for channel in sorted(top):
            if not (channel in worthless and tied):
                yield (
                    f"{record.names[channel]!r} is among the best",
                    BestSets(self.m, self.k, outside=frozenset({channel})),
                )
        for channel in sorted(out):
            if not (channel in worthless and (tied or len(top) == self.m)):
                yield f"{record.names[channel]!r} is not among the best", BestSets(self.m, self.k, frozenset({channel}))


def _sides(record: Record) -> tuple[Any, Any]:
    return record.stated.top or (), record.stated.out or ()


@dataclass(frozen=True)
class Orders:
    """The orders of k channels with the first of each pair before the second."""

    k: int
    pairs: frozenset[tuple[int, int]] = frozenset()

    @property
    def empty(self) -> bool:
        """Whether there is none."""
        return any((b, a) in self.pairs for a, b in self.pairs)

    def of(self, stated: Mapping[str, Any], record: Record) -> Orders:
        """The box that a record states."""
        pairs = [[number_of(c, record.names, "a box of worlds") for c in pair] for pair in stated["pairs"]]
        return self._with([(first, second) for first, second in pairs])

    def _with(self, pairs: Iterable[tuple[int, int]]) -> Orders:
        closed = set(self.pairs)
        for first, second in pairs:
            before = {first, *(a for a, b in closed if b == first)}
            after = {second, *(b for a, b in closed if a == second)}
            closed |= {(a, b) for a in before for b in after}
        return Orders(self.k, frozenset(closed))

    def both(self, other: Orders) -> Orders:
        """Those of both boxes."""
        return self._with(other.pairs)

    def all_deny(self, over: int, under: int) -> bool:
        """Whether `under` comes before `over` in all of them."""
        return (under, over) in self.pairs or self.empty

    def cuts(self, other: Orders) -> tuple[Orders, Orders] | None:
        """The box in two by a pair that another box has and this one leaves open; None where it lies in it."""
        for first, second in other.pairs - self.pairs:
            return self._with([(first, second)]), self._with([(second, first)])
        return None

    def claimed(self, record: Record) -> Iterator[tuple[str, Orders]]:
        """What the record says, and the orders that say otherwise."""
        order = [number_of(c, record.names, "order") for c in record.stated.order or ()]
        pairs = [[number_of(name, record.names, "pairs") for name in pair] for pair in record.stated.pairs or ()]
        for better, worse in sorted({*map(tuple, pairs), *pairwise(order)}):
            if not (record.worthless(better) and record.worthless(worse)):
                yield f"{record.names[better]!r} is better than {record.names[worse]!r}", self._with([(worse, better)])


@dataclass
class Leaf:
    """A box and who bets against its worlds."""

    name: str
    box: Any
    bettor: Bettor
    rejected: bool | None = None  # unknown before it is asked for


def _check_worlds(books: Books, everything: Any, steps: Iterable[Any]) -> None:
    """Every world that contradicts the record was bet against by the first box that holds it, up to 1/δ."""
    record, leaves = books.record, list[Leaf]()
    for step, stakes in steps:
        _begin(leaves, {name: everything.of(box, record) for name, box in stakes.worlds.items()})
        by_name = {leaf.name: leaf for leaf in leaves}
        for name, wager in stakes.wagers.items():
            where = f"request {step.request}"
            require(name in by_name, f"{where} has bets against the worlds {name!r}, which it does not have")
            if wager.over is None or wager.under is None:
                raise NotValidError(f"the bets against the worlds {name!r} in {where} are for no channel over another")
            over, under = (number_of(c, record.names, where) for c in (wager.over, wager.under))
            denied = by_name[name].box.all_deny(over, under)
            require(
                denied, f"the bets against the worlds {name!r} in {where} are for a claim that holds in some of them"
            )
            books.settle(by_name[name].bettor, wager, step, name)
    for said, worlds in everything.claimed(record):
        if not _all_rejected(books, leaves, worlds):
            raise NotValidError(f"the record says that {said}, but worlds in which that is false are not ruled out")


def _begin(leaves: list[Leaf], boxes: Mapping[str, Any]) -> None:
    """Boxes that are bet against from now on: the last to be looked in, or parts in the place of a whole."""
    for parent in dict.fromkeys(name.rpartition("/")[0] for name in boxes):
        parts = {name: box for name, box in boxes.items() if name.rpartition("/")[0] == parent}
        if not parent:
            known = {leaf.name for leaf in leaves}
            require(not known & parts.keys(), "two boxes of worlds have the same name")
            leaves += [Leaf(name, box, Bettor()) for name, box in parts.items()]
            continue
        place = next((i for i, leaf in enumerate(leaves) if leaf.name == parent), None)
        if place is None:
            raise NotValidError(f"parts of the worlds {parent!r} are bet against, which are not there")
        whole = leaves[place]
        divided = [Leaf(name, whole.box.both(box), deepcopy(whole.bettor)) for name, box in parts.items()]
        leaves[place : place + 1] = [*divided, Leaf(f"rest of {parent}", whole.box, whole.bettor)]


def _all_rejected(books: Books, leaves: Sequence[Leaf], worlds: Any) -> bool:
    """Whether each of the worlds is in a box, and the first one that holds it is ruled out."""
    waiting, looked = [(worlds, 0)], 0
    while waiting:
        box, place = waiting.pop()
        looked += 1
        if box.empty:
            continue
        if place == len(leaves) or looked > DEEPEST:
            return False
        leaf = leaves[place]
        if leaf.box.both(box).empty:
            waiting.append((box, place + 1))
        elif parts := box.cuts(leaf.box):
            waiting += [(part, place) for part in parts]
        else:
            if leaf.rejected is None:
                needed = 1.0 / books.record.delta
                leaf.rejected = books.wealth(leaf.bettor, needed) >= needed * (1.0 - ROUNDING)
            if not leaf.rejected:
                return False
    return True


# --- answers within ε -----------------------------------------------------------------------------


def _check_nearly(books: Books, question: Top | Order, steps: Iterable[Any]) -> None:
    """For some number i, all pairs of the answer that is stated have been bet on, up to i(i+1)/δ.

    Of a wrong answer one pair is the furthest apart, by more than ε: only its bets can err, and numbers have shares.
    """
    record, answers = books.record, dict[int, tuple[int, ...]]()
    bettors = dict[int, dict[tuple[int, int], Bettor]]()
    for step, stakes in steps:
        where, answer = f"request {step.request}", stakes.answer
        if answer is None:
            require(not stakes.wagers, f"{where} has bets for no answer")
            continue
        named = tuple(number_of(c, record.names, where) for c in answer.named)
        # an answer that nobody has bet on may become another one under its number
        same = not stakes.wagers or answers.setdefault(answer.number, named) == named
        require(same and len(set(named)) == len(named), f"the answer number {answer.number} is another in {where}")
        once = len({(wager.over, wager.under) for wager in stakes.wagers.values()}) == len(stakes.wagers)
        require(once, f"{where} has several bets for the same claim")
        for name, wager in stakes.wagers.items():
            require(wager.over is not None and wager.under is not None, f"a bet of {where} is for no channel")
            over, under = (number_of(str(c), record.names, where) for c in (wager.over, wager.under))
            books.settle(bettors.setdefault(answer.number, {}).setdefault((over, under), Bettor()), wager, step, name)
    stated, every = record.stated, range(len(record.names))
    top = isinstance(question, Top)
    said = stated.top if top else stated.order
    for names, bits in ((said, question.epsilon), (stated.nearly, stated.within_bits)):
        if not names:
            continue
        named = tuple(number_of(c, record.names, "the answer") for c in names)
        whole = len(set(named)) == len(named) == (question.m if isinstance(question, Top) else len(every))
        wide = isinstance(bits, float) and bits >= question.epsilon
        require(whole and wide, "an answer must name all that are asked for, and be within epsilon or more")
        rest = [c for c in every if c not in named]
        pairs = [pair for pair in (product(named, rest) if top else combinations(named, 2))
                 if not all(map(record.worthless, pair))]  # fmt: skip
        margin = float(bits or 0.0) * NATS * (1.0 + ROUNDING)
        held = (_pairs_hold(books, pairs, i, bettors.get(i, {}), margin) for i in answers if answers[i] == named)
        require(
            not pairs or any(held), f"stakes and answers do not show that {', '.join(names)} hold within {bits:g} bit"
        )
    require(stated.decided == bool(said), "decided means that all that are asked for are named")
    _check_said(record, question)


def _pairs_hold(
    books: Books,
    pairs: Iterable[tuple[int, int]],
    number: int,
    bettors: Mapping[tuple[int, int], Bettor],
    margin: float,
) -> bool:
    """Whether the bets for every pair have reached what the answer with this number demands, with so much margin."""
    needed = number * (number + 1) / books.record.delta
    return all(
        pair in bettors and books.wealth(replace(bettors[pair], margin=margin), needed) >= needed * (1.0 - ROUNDING)
        for pair in pairs
    )


def _check_said(record: Record, question: Top | Order) -> None:
    """What a decided answer implies is said, and nothing else."""
    stated = record.stated
    if isinstance(question, Top):
        implied = set(record.names) - set(stated.top or ()) if stated.decided else set[str]()
        require(set(stated.out or ()) == implied, "out must be the channels that are not named, once all are")
    else:
        pairs = set(combinations(stated.order or (), 2))
        require(set(stated.pairs or ()) == pairs, "pairs must be those of the order, once that is decided")


# --- ends of capacities ---------------------------------------------------------------------------


def _check_ends(books: Books, question: Within, steps: Iterable[Any]) -> None:
    """At some time, the lower end was (L - log 1/α)/S and the upper one (Λ(S) + log 1/α)/S, for some S."""
    record, k = books.record, len(books.record.names)
    brackets = {number_of(c, record.names, "brackets"): ends for c, ends in (record.stated.brackets or {}).items()}
    require(brackets.keys() == set(range(k)), "brackets must say something of every channel")
    nats = math.log(2.0 / -math.expm1(math.log1p(-record.delta) / k))
    lows = {channel: Account() for channel in range(k)}
    highs = {channel: Account() for channel in range(k)}
    lower, times = dict.fromkeys(range(k), 0.0), {channel: list[tuple[int, float]]() for channel in range(k)}
    for step, stakes in steps:
        ends_bet_on = {(wager.over, wager.under) for wager in stakes.wagers.values()}
        once = len(ends_bet_on) == len(stakes.wagers)  # what bets on the same senses win must not be multiplied
        require(once, f"request {step.request} has several bets on the same end of a channel")
        for name, wager in stakes.wagers.items():
            bettor = Bettor()
            books.settle(bettor, wager, step, name)
            ((under, account),) = bettor.starts[wager.starts].items()
            require((wager.over is None) != (wager.under is None), f"the bet of {name!r} must be on one channel")
            channel = number_of(str(wager.under if wager.over is None else wager.over), record.names, name)
            if under is None:
                lows[channel].paid += account.paid
                lows[channel].weight += account.weight
                lower[channel] = max(lower[channel], (lows[channel].paid - nats) / lows[channel].weight)
            else:
                highs[channel].weight += account.weight
                highs[channel].sensed += account.sensed
                times[channel].append((len(highs[channel].sensed), highs[channel].weight))
    for channel, ends in brackets.items():
        said, most = f"of {record.names[channel]!r}", math.log(min(record.alphabets[channel]))
        low, high = ends.lower * NATS, ends.upper * NATS
        require(low <= lower[channel] + ROUNDING, f"the lower end {said} is larger than stakes and answers show")
        shown = high >= most - ROUNDING or _upper_end_holds(books, channel, highs[channel], times[channel], high, nats)
        require(shown, f"the upper end {said} is smaller than stakes and answers show")
    width = {c: (ends.lower if question.relative else 1.0) * question.width for c, ends in brackets.items()}
    narrow = all(ends.upper - ends.lower <= width[c] * (1.0 + ROUNDING) for c, ends in brackets.items())
    require(record.stated.decided == narrow, "decided means that all intervals are narrow enough")


def _upper_end_holds(
    books: Books, channel: int, account: Account, times: Sequence[tuple[int, float]], high: float, nats: float
) -> bool:
    """Whether Λ(S) <= S u - log 1/α at some time, the latest first."""
    for requests, weight in reversed(times):
        past = Account(0.0, weight, account.sensed[:requests])
        for factor in FACTORS:
            S = factor * weight
            most = S * high * (1.0 + ROUNDING) - nats
            if books.lost(channel, past, most, S) <= most:
                return True
    return False
