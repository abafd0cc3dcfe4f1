"""Questions other than for the best: whether stakes and answers prove what a record says (docs/theory/questions.md).

Who bets for a claim, that one channel is better than another or than a level, holds what its bets have brought, all
starts together. Levels have one purse; answers within ε have numbers; sets and orders are worlds, each bet against by
the first box that holds it; the ends of a capacity are where the bets on it stand at 1/α.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import chain, combinations, pairwise, product
from typing import Any

from msgspec import UNSET

from bestchannel.errors import InputError
from bestchannel.questions import Above, Order, Top, Within
from bestchannel.record import Purse, Wagers
from bestchannel.verification.adaptive_check import EXCESS, Account, Bettor, Books
from bestchannel.verification.record import NATS, NotValidError, Record, Step, Watch, as_struct, require

FACTORS = (1.0, 0.92, 1.08, 0.85, 1.15, 0.5, 0.25, 0.125, 0.0625, 0.03125)  # of the weight of bets on an upper end
FINDINGS: Mapping[type, tuple[str, ...]] = {
    Above: ("answers",), Top: ("top", "out"), Order: ("order", "pairs"), Within: ("brackets",),
}  # fmt: skip
NEARLY = ("nearly", "within_bits")  # which an answer also has where the question has an ε
DEEPEST = 2_000_000  # boxes that are looked at before worlds are said to be left


def check_claims(books: Books, watch: Watch) -> None:
    """Raise `NotValidError` unless the steps prove what the record says of its question."""
    stated, alphabets = books.record.stated, books.record.alphabets
    question: Any = stated.question
    k = len(alphabets)
    require(type(question) in FINDINGS, f"nothing is known of the question {question!r}")
    findings = FINDINGS[type(question)] + (NEARLY if question.epsilon else ())
    for part in chain(NEARLY, *FINDINGS.values()):
        fits = part in findings or getattr(stated, part) is UNSET
        require(fits, f"the record says {part}, which is no part of an answer to {question!r}")
    whole = stated.order is UNSET or sorted(stated.order) == sorted(alphabets)
    require(whole, "an order must have all channels, each of them once")
    try:
        question.refuse_unless_possible(k)
    except InputError as error:
        raise NotValidError(f"the question cannot be asked: {error}") from None
    steps = ((step, as_struct(step.stakes or {}, Wagers)) for step in books.followed(watch))
    if isinstance(question, Above):
        decided = _check_above(books, question, steps)
    elif isinstance(question, Within):
        decided = _check_ends(books, question, steps)
    elif question.epsilon:
        decided = _check_nearly(books, question, steps)
    elif isinstance(question, Top):
        decided = _check_worlds(books, Worlds(k, question.m), steps) and len(stated.top or ()) == question.m
    else:
        decided = _check_worlds(books, Worlds(k), steps) and stated.order is not UNSET
    wanted = "decided means that the whole question is answered"
    require(stated.decided == decided, f"{wanted}; decided is {stated.decided}, and the answer says otherwise")


Steps = Iterable[tuple[Step, Wagers]]


@dataclass
class Turn:
    """What was bet on one channel, and from which part of the purse."""

    channel: str | None  # None before the first of them
    purse: Purse
    sides: dict[str, Bettor]


def _check_above(books: Books, question: Above, steps: Steps) -> bool:
    """One channel after the other is bet on, and the purse reaches 1/δ with each that is called above or below."""
    record, answers = books.record, books.record.stated.answers or {}
    require(answers.keys() == record.alphabets.keys(), "answers must say something of every channel")
    numbers = {channel: number for number, channel in enumerate(record.alphabets)}
    surely = {channel: question.by_alphabet(numbers[channel], size) for channel, size in record.alphabets.items()}
    parts = sum(side is None for side in surely.values())
    turns, latest = [Turn(None, Purse(parts, 0.0), {})], dict[str, Turn]()
    for step, stakes in steps:
        for side, wager in stakes.wagers.items():
            where, purse = f"request {step.request}", stakes.purse
            channel, other = (wager.over, wager.under) if side == "above" else (wager.under, wager.over)
            if side not in ("above", "below") or channel is None or other is not None:
                raise NotValidError(f"a bet of {where} is for no level")
            if purse is None or not parts:
                raise NotValidError(f"{where} has bets without a purse, or on what no channel is left to be bet on")
            record.require_known([channel], where)
            if (turns[-1].channel, turns[-1].purse) != (channel, purse):
                ends = question.ends(numbers[channel])
                turns.append(Turn(channel, purse, {side: Bettor({None: bits * NATS}) for side, bits in ends.items()}))
                latest[channel] = turns[-1]
            books.settle(turns[-1].sides[side], wager, step, side)
    for before, turn in pairwise(turns):
        answer = next((answers[channel] for channel, last in latest.items() if last is before), None)  # or given up
        _check_purse(books, before, turn, parts, answer, bool(question.tolerance))
    for channel, said in answers.items():
        if said is None or said == surely[channel]:
            continue
        where = f"channel {channel!r} is called {said}"
        require(surely[channel] is None and channel in latest, f"{where} without evidence")
        purse = latest[channel].purse
        needed = (1.0 / record.delta - purse.waiting / parts) / purse.stake
        reached = books.reached(latest[channel].sides[said], math.log(needed))
        require(reached, f"{where}, but stakes and answers do not reach 1/delta")
    return all(answers.values())


def _check_purse(books: Books, before: Turn, turn: Turn, parts: int, answer: str | None, tolerant: bool) -> None:
    """No more is staked than parts of the unit and what the channel before has left.

    That is what bets against its answer hold, or the less of both sides where it was given up. Parts may be drawn for
    channels that are not bet on.
    """
    purse, where = turn.purse, f"the turn of {turn.channel!r}"
    drawn, handed = (before.purse.waiting - purse.waiting) / parts, before.purse.stake
    fits = purse.waiting >= 0 and purse.stake > 0.0 and drawn >= 0.0
    require(fits, f"the purse has more parts in {where} than channels wait")
    missing = purse.stake / (1.0 + EXCESS) - drawn
    left = [bettor for side, bettor in before.sides.items() if side != answer]
    known = bool(left) and (missing <= handed or not tolerant)
    covered = missing <= 0.0 or (known and all(books.reached(bettor, math.log(missing / handed)) for bettor in left))
    require(covered, f"more is staked in {where} than there is")


Pair = tuple[str | None, str | None]  # None is the bar: the best m come before it, and all others after it


@dataclass(frozen=True)
class Worlds:
    """A box of worlds: the orders of k channels, or only their sets of the best m, with the first of pairs before."""

    k: int
    m: int = 0
    pairs: frozenset[Pair] = frozenset()

    @property
    def empty(self) -> bool:
        """Whether there is none."""
        inside = sum(second is None for _, second in self.pairs)
        crowded = self.m > 0 and (inside > self.m or len(self.pairs) - inside > self.k - self.m)
        return crowded or any((second, first) in self.pairs for first, second in self.pairs)

    def having(self, *pairs: Pair) -> Worlds:
        """Those with more pairs, and with what follows from them for orders."""
        closed = set(self.pairs)
        for first, second in pairs:
            before = {first, *(a for a, b in closed if b == first and not self.m)}
            after = {second, *(b for a, b in closed if a == second and not self.m)}
            closed.update(product(before, after))
        return replace(self, pairs=frozenset(closed))

    def stated(self, box: Mapping[str, Any], record: Record) -> Worlds:
        """The box that a record states."""
        pairs: list[Pair] = [(first, second) for first, second in (() if self.m else box["pairs"])]
        if self.m:
            pairs = [*((channel, None) for channel in box["in"]), *((None, channel) for channel in box["out"])]
        record.require_known(chain.from_iterable(pairs), "a box of worlds")
        return self.having(*pairs)

    def all_deny(self, over: str, under: str) -> bool:
        """Whether `under` comes before `over` in all of them, and the bar between them."""
        claims: list[Pair] = [(over, None), (None, under)] if self.m else [(over, under)]
        return over != under and all(self.having(claim).empty for claim in claims)

    def claimed(self, record: Record) -> Iterator[tuple[str, Worlds]]:
        """What the record says, and the worlds that say otherwise."""
        said = record.stated
        if not self.m:
            pairs = said.pairs or ()
            once = len(set(pairs)) == len(pairs) and all(better != worse for better, worse in pairs)
            require(once, "pairs must be of two channels each, and none of them twice")
            for better, worse in sorted({*pairs, *pairwise(said.order or ())}):
                if not (record.worthless(better) and record.worthless(worse)):
                    yield f"{better!r} is better than {worse!r}", self.having((worse, better))
            return
        top, out, worthless = set(said.top or ()), set(said.out or ()), set(filter(record.worthless, record.alphabets))
        once = len(top) == len(said.top or ()) <= self.m and len(out) <= self.k - self.m and not top & out
        require(once, "no more than m channels can be the best m, none of them twice, and none both")
        still_open = record.alphabets.keys() - top - out
        require(set(said.candidates) == still_open, "the candidates must be all of which nothing is said; they are not")
        places = self.m - (self.k - len(worthless))  # that are left by all others: any of value 0 may have them
        tied = len(top & worthless) <= places <= len(worthless - out)
        for channel in sorted(top):
            if not (channel in worthless and tied):
                yield f"{channel!r} is among the best", self.having((None, channel))
        for channel in sorted(out):
            if not (channel in worthless and (tied or len(top) == self.m)):
                yield f"{channel!r} is not among the best", self.having((channel, None))


@dataclass
class Leaf:
    """A box and who bets against its worlds."""

    name: str
    box: Worlds
    bettor: Bettor
    rejected: bool | None = None  # unknown before it is asked for


def _check_worlds(books: Books, everything: Worlds, steps: Steps) -> bool:
    """Every world that contradicts the record was bet against by the first box that holds it, up to 1/δ."""
    record, leaves = books.record, list[Leaf]()
    for step, stakes in steps:
        _begin(leaves, {name: everything.stated(box, record) for name, box in stakes.worlds.items()})
        by_name = {leaf.name: leaf for leaf in leaves}
        for name, wager in stakes.wagers.items():
            where = f"request {step.request}"
            require(name in by_name, f"{where} has bets against the worlds {name!r}, which it does not have")
            if wager.over is None or wager.under is None:
                raise NotValidError(f"the bets against the worlds {name!r} in {where} are for no channel over another")
            if not by_name[name].box.all_deny(wager.over, wager.under):
                raise NotValidError(f"the bets against the worlds {name!r} in {where} are for a claim that may hold")
            books.settle(by_name[name].bettor, wager, step, name)
    for said, worlds in everything.claimed(record):
        if not _all_rejected(books, leaves, worlds):
            raise NotValidError(f"the record says that {said}, but worlds in which that is false are not ruled out")
    return True


def _begin(leaves: list[Leaf], boxes: Mapping[str, Worlds]) -> None:
    """Boxes that are bet against from now on: the last to be looked in, or parts in the place of a whole."""
    for parent in dict.fromkeys(name.rpartition("/")[0] for name in boxes):
        parts = {name: box for name, box in boxes.items() if name.rpartition("/")[0] == parent}
        if not parent:
            require(not {leaf.name for leaf in leaves} & parts.keys(), "two boxes of worlds have the same name")
            leaves += [Leaf(name, box, Bettor()) for name, box in parts.items()]
            continue
        place = next((i for i, leaf in enumerate(leaves) if leaf.name == parent), None)
        if place is None:
            raise NotValidError(f"parts of the worlds {parent!r} are bet against, which are not there")
        whole = leaves[place]
        divided = [Leaf(name, whole.box.having(*box.pairs), deepcopy(whole.bettor)) for name, box in parts.items()]
        leaves[place : place + 1] = [*divided, Leaf(f"rest of {parent}", whole.box, whole.bettor)]


def _all_rejected(books: Books, leaves: Sequence[Leaf], worlds: Worlds) -> bool:
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
        pair = next(iter(leaf.box.pairs - box.pairs), None)
        if leaf.box.having(*box.pairs).empty:
            waiting.append((box, place + 1))
        elif pair is not None:
            waiting += [(box.having(pair), place), (box.having(pair[::-1]), place + 1)]
        else:
            if leaf.rejected is None:
                leaf.rejected = books.reached(leaf.bettor, -math.log(books.record.delta))
            if not leaf.rejected:
                return False
    return True


def _check_nearly(books: Books, question: Top | Order, steps: Steps) -> bool:
    """For some number i, all pairs of the answer that is stated have been bet on, up to i(i+1)/δ.

    Of a wrong answer one pair is the furthest apart, by more than ε: only its bets can err, and numbers have shares.
    """
    record, stated, every = books.record, books.record.stated, tuple(books.record.alphabets)
    answers, bettors = dict[int, tuple[str, ...]](), dict[tuple[int, Pair], Bettor]()  # a number's, and its bets
    for step, stakes in steps:
        where, answer = f"request {step.request}", stakes.answer
        if answer is None:
            require(not stakes.wagers, f"{where} has bets for no answer")
            continue
        # an answer that nobody has bet on may become another one under its number
        same = not stakes.wagers or answers.setdefault(answer.number, answer.named) == answer.named
        once = len(set(answer.named)) == len(answer.named)
        require(same and once, f"the answer number {answer.number} is another in {where}")
        for name, wager in stakes.wagers.items():
            pair = wager.over, wager.under
            require(None not in pair, f"a bet of {where} is for no channel")
            books.settle(bettors.setdefault((answer.number, pair), Bettor()), wager, step, name)

    def holds(pair: Pair, number: int, margin: float) -> bool:
        """Whether the bets for a pair have reached what the answer with this number demands, with so much margin."""
        starts = bettors.get((number, pair), Bettor()).starts
        needed = math.log(number * (number + 1)) - math.log(record.delta)
        return books.reached(Bettor({pair[0]: margin}, starts), needed)

    said, many = (stated.top, question.m) if isinstance(question, Top) else (stated.order, len(every))
    for named, bits in ((said, question.epsilon), (stated.nearly, stated.within_bits)):
        if not named:
            continue
        whole = len(set(named)) == len(named) == many
        if not whole or not isinstance(bits, float) or bits < question.epsilon:
            raise NotValidError("an answer must name all that are asked for, and be within epsilon or more")
        rest = [channel for channel in every if channel not in named]
        apart = product(named, rest) if isinstance(question, Top) else combinations(named, 2)
        claims, margin = [pair for pair in apart if not all(map(record.worthless, pair))], bits * NATS * (1.0 + EXCESS)
        numbers = [number for number, answer in answers.items() if answer == named]
        shown = not claims or any(all(holds(pair, number, margin) for pair in claims) for number in numbers)
        require(shown, f"stakes and answers do not show that {', '.join(named)} hold within {bits:g} bit")
    out = record.alphabets.keys() - set(stated.top or ()) if stated.top else set[str]()
    implied = set(stated.out or ()) == out and set(stated.pairs or ()) == set(combinations(stated.order or (), 2))
    require(implied, "out and pairs must be what follows from the channels that are named, once all are")
    return bool(said)


def _check_ends(books: Books, question: Within, steps: Steps) -> bool:
    """At some time, the lower end was (L - log 1/α)/S and the upper one (Λ(S) + log 1/α)/S, for some S."""
    record, brackets = books.record, books.record.stated.brackets or {}
    require(brackets.keys() == record.alphabets.keys(), "brackets must say something of every channel")
    nats = math.log(2.0 / -math.expm1(math.log1p(-record.delta) / len(brackets)))
    accounts: dict[Pair, Account] = {
        pair: Account() for channel in brackets for pair in ((channel, None), (None, channel))
    }
    lower, times = dict.fromkeys(brackets, 0.0), {channel: list[tuple[int, float]]() for channel in brackets}
    for step, stakes in steps:
        for name, wager in stakes.wagers.items():
            record.require_known([wager.over, wager.under], f"the stakes of request {step.request}")
            require((wager.over, wager.under) in accounts, f"the bet of {name!r} must be on one channel")
            account = accounts[wager.over, wager.under]
            books.book(account, wager, step, name)
            if wager.over is not None:
                lower[wager.over] = max(lower[wager.over], (account.paid - nats) / account.weight)
            elif wager.under is not None:
                times[wager.under].append((len(account.sensed), account.weight))
    for channel, ends in brackets.items():
        most, end = math.log(min(record.alphabets[channel])), ends.upper * NATS
        sound = ends.lower * NATS <= lower[channel] + EXCESS
        require(sound, f"the lower end of {channel!r} is larger than stakes and answers show")
        account = accounts[None, channel]
        sound = end >= most - EXCESS or _upper_end_holds(books, channel, account, times[channel], end, nats)
        require(sound, f"the upper end of {channel!r} is smaller than stakes and answers show")
    width = {c: (ends.lower if question.relative else 1.0) * question.width for c, ends in brackets.items()}
    return all(ends.upper - ends.lower <= width[c] * (1.0 + EXCESS) for c, ends in brackets.items())


def _upper_end_holds(
    books: Books, channel: str, account: Account, times: Sequence[tuple[int, float]], high: float, nats: float
) -> bool:
    """Whether Λ(S) <= S u - log 1/α at some time, the latest first."""
    for (requests, weight), factor in product(reversed(times), FACTORS):
        past = replace(account, sensed=account.sensed[:requests], weight=factor * weight)
        most = past.weight * high * (1.0 + EXCESS) - nats
        if books.lost(channel, past, most) <= most:
            return True
    return False
