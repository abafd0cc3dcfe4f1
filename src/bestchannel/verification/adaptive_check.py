"""Adaptive: from stakes and answers, whether the evidence against every rival reached its threshold.

Only bets against what is true can err, and by Ville's inequality each of their accounts errs with probability at most
its share of δ: docs/theory/certificate.md. What bets have brought is booked alike whatever is asked.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
from msgspec.structs import asdict

from bestchannel.record import Bet, Floats, Stakes, Wager
from bestchannel.verification import rival_check
from bestchannel.verification.record import (
    NATS,
    ROUNDING,
    Integers,
    NotValidError,
    Record,
    Step,
    Watch,
    as_struct,
    require,
)
from bestchannel.verification.rival_check import Rows, Sensed

FIRST_SHARE = 0.9  # of δ for the first bets against a rival; those after r restarts have 0.9 · 0.1^r
EXCESS = 1e-9  # by which stated numbers may exceed what follows, relatively
LEAST = 1e-200  # no entry of V or Q may be smaller: numbers near 1e-308 lose their digits, and with them the proof
STATED = 0.01  # nats by which the evidence that a record states may exceed what is proved


@dataclass
class Account:
    """One e-process: bets with one channel under, and one number of restarts."""

    latest: int = 0  # the last request
    sensed: list[Sensed] = field(default_factory=list)  # of the channel that is under, request by request
    paid: float = 0.0
    weight: float = 0.0  # S
    weights: dict[str | None, float] = field(default_factory=dict)  # by the channel that is over


@dataclass
class Bettor:
    """All bets of one who bets, by restarts and by the channel that is under, that of the last bet at the end.

    `worth` is what a unit of weight brings beside the senses, in nats, by the channel that is over: how much better the
    other may be for the claim to hold, and of a level, which is None, its value.
    """

    worth: Mapping[str | None, float] = field(default_factory=dict)
    starts: dict[int, dict[str | None, Account]] = field(default_factory=dict)


@dataclass
class Books:
    """What the steps have brought so far."""

    record: Record
    replay: Any  # who proposes: `kind` is Adaptive, `policy` one that was told the answers, where it could be made

    def followed(self, watch: Watch) -> Iterator[Step]:
        """The steps; each is said to be checked after whoever asked has booked it."""
        for step in self.record.steps:
            yield step
            watch(step.request)

    def settle(self, bettor: Bettor, bet: Wager, step: Step, name: str) -> None:
        """Book what a bet has brought to who made it."""
        accounts = bettor.starts.setdefault(bet.restarts, {})
        account = accounts[bet.under] = accounts.pop(bet.under, Account())
        self.book(account, bet, step, name)

    def book(self, account: Account, bet: Wager, step: Step, name: str) -> None:
        """Book what a bet has brought to an account, which has no other on the same senses."""
        record, over, under, where = self.record, bet.over, bet.under, f"in the bet {name!r} of request {step.request}"
        record.require_known([over, under], f"the stakes of request {step.request}")
        sound = over != under and (over is None or over in step.counts)
        require(sound, "the leader must be sensed and the rival be another channel; they are not", where)
        require(account.latest < step.request, "there must not be several bets for one claim; there are", where)
        account.latest, account.weight = step.request, account.weight + bet.weight
        account.weights[over] = account.weights.get(over, 0.0) + bet.weight
        if over is not None:
            fixed = record.fixed_input is None or np.array_equal(record.fixed_input, bet.input)
            require(fixed, "bets must be at the fixed input distribution; they are not", where)
            account.paid += paid_nats(bet, bet.input, step.counts[over], where)
        if under is not None and under in step.counts and not record.worthless(under):
            _check_tilts(record, under, bet, where)
            account.sensed.append((step.counts[under], bet.tilts, bet.outputs))

    def lost(self, under: str, account: Account, needed: float | None = None) -> float:
        """Nats that bets on the senses of a channel have lost at most; no more than is needed, if that can be shown."""
        record, kind, policy = self.record, self.replay.kind, self.replay.policy
        if record.worthless(under):
            return 0.0
        bets = record.alphabets[under], account.sensed, account.weight
        most = kind._loss_of(*bets, record.fixed_input) if needed is None else needed
        number = list(record.alphabets).index(under)
        own = () if policy is None else policy._covers(number, account.weight, most)
        covers = chain(own, kind._covers_of(*bets, record.fixed_input, most))
        return -rival_check.proved(Rows.of(*bets), record.fixed_input, covers, -most)

    def reached(self, bettor: Bettor, nats: float) -> bool:
        """Whether all starts together, with what was kept, can be shown to have multiplied the unit by e^nats."""
        last = max(bettor.starts, default=-1)
        held = math.exp(min((last + 1) * math.log(1.0 - FIRST_SHARE) - nats, 600.0))  # of e^nats
        for start in range(last + 1):
            share = FIRST_SHARE * (1.0 - FIRST_SHARE) ** start
            missing = nats + math.log(max(1.0 - held, 1e-300) / share) if start == last else None
            held += share * math.exp(min(self._won(bettor, start, missing) - nats, 600.0))
        return held >= 1.0 - EXCESS

    def _won(self, bettor: Bettor, start: int, demanded: float | None) -> float:
        """Nats by which the bets of one start have multiplied their stake, from below."""
        nats, accounts = 0.0, bettor.starts.get(start, {})
        for place, (under, account) in enumerate(accounts.items(), start=1):
            nats += account.paid + sum(weight * bettor.worth.get(over, 0.0) for over, weight in account.weights.items())
            if under is None:
                nats -= account.weight * bettor.worth[None]
            else:
                last = place == len(accounts) and demanded is not None
                nats -= self.lost(under, account, nats - demanded if last and demanded is not None else None)
        return nats


def _check_tilts(record: Record, rival: str, bet: Bet, where: str) -> None:
    """0 <= P_x ω_x < 1 for every P that can be optimal, and an output distribution without zeros."""
    tilts, outputs = bet.tilts.tolist(), bet.outputs.tolist()
    wanted = "a bet must have a tilt for every input of the rival and a probability for every output"
    fit = bet.tilts.shape + bet.outputs.shape == record.alphabets[rival]
    require(fit, f"{wanted}; it has {tilts} and {outputs}", where)
    most = rival_check.LARGEST if record.fixed_input is None else record.fixed_input / record.fixed_input.sum()
    below = bool((bet.tilts >= 0.0).all() and (bet.tilts * most < 1.0).all())
    require(below, f"tilts must be >= 0, and below 1 times any P; they are {tilts}", where)
    sound = bool((bet.outputs >= LEAST).all() and abs(bet.outputs.sum() - 1.0) <= 1e-9)
    require(sound, f"the outputs of a bet must be a distribution without zeros; they are {outputs}", where)


def paid_nats(bet: Bet, inputs: Floats, counts: Integers, where: str) -> float:
    """What a bet on the leader's senses has brought: sum n(x, y) h_x(y) - k, in nats and from below.

    Whatever P, V > 0, ν and s are, with g_x = log(V_x/PV) and N_x senses of input x, a bet that multiplies by
    e^h = (ν_x + s P_x g_x(y))/N_x at each sense and divides by e^k, k = sum_x max_y (N_x (e^h - 1) - s P_x g_x(y)),
    wins nothing on average against s f(W_b): docs/theory/adaptive.md, "The leader's part".
    """
    shapes = inputs.shape, bet.multipliers.shape, bet.auxiliary.shape
    wanted = f"a bet must have the leader's inputs and outputs; its numbers have the shapes {shapes}"
    require(shapes == (counts.shape[:1], counts.shape[:1], counts.shape), wanted, where)
    distribution = bool((inputs >= 0.0).all() and abs(inputs.sum() - 1.0) <= 1e-9)
    require(distribution, f"the input distribution of a bet must sum to 1; it is {inputs.tolist()}", where)
    wanted = f"the auxiliary rows of a bet must be at least {LEAST:g}; they are {bet.auxiliary.tolist()}"
    require(bool((bet.auxiliary >= LEAST).all()), wanted, where)
    P, senses = inputs / inputs.sum(), counts.sum(axis=1, keepdims=True, dtype=np.float64)
    stakes = bet.weight * P[:, None] * np.log(bet.auxiliary / (P @ bet.auxiliary))  # s P_x g_x(y)
    gross, used = np.broadcast_to(bet.multipliers[:, None] + stakes, counts.shape), senses[:, 0] > 0.0
    wanted = "a bet must pay something whatever the answer; its multipliers are too small"
    require(bool((gross[used] > 0.0).all()), wanted, where)
    wealth = gross[used] / senses[used]
    won = counts[used] * np.log(wealth)
    price = np.concatenate([(senses[used] * (wealth - 1.0) - stakes[used]).max(axis=1), (-stakes[~used]).max(axis=1)])
    size = float(np.abs(won).sum() + senses.sum() + np.abs(stakes).sum() + np.abs(gross).sum())
    return math.fsum(won.ravel()) - math.fsum(price) - ROUNDING * size


def check_adaptive(record: Record, watch: Watch, replay: Any) -> None:
    """Raise `NotValidError` unless the steps prove what the record claims."""
    threshold = record.stated.audit.options.get("threshold", "proved")
    wanted = "the record is not proved: its threshold is calibrated by simulation, and nothing certifies that"
    require(threshold == "proved", wanted)
    books = Books(record, replay)
    if record.stated.question:
        from bestchannel.verification.claims_check import check_claims  # deferred: it builds on this module

        check_claims(books, watch)
    else:
        _check_best(books, watch)


Rivals = list[dict[str, Bettor]]  # who bets against each rival; with ε, of each leader that was bet on, in their order


def _check_best(books: Books, watch: Watch) -> None:
    """Every rival that is no candidate any more was ruled out; with ε, all are candidates again for another leader."""
    record, everyone, rivals = books.record, frozenset(books.record.alphabets), [dict[str, Bettor]()]
    candidates, leader = everyone, None
    for step in books.followed(watch):
        _settle(books, rivals[-1], step, leader)
        if record.epsilon > 0.0 and leader is not None and step.status.leader != leader:
            rivals += [{}] if rivals[-1] else []
            candidates = everyone
        leader = step.status.leader
        wanted = f"the leader after request {step.request} must be a candidate; it is none"
        require(leader in step.candidates, wanted)
        for back in sorted(step.candidates - candidates):
            raise NotValidError(f"channel {back!r} was ruled out and is a candidate in request {step.request}")
        for rival in sorted(candidates - step.candidates):
            _check_ruled_out(books, rivals, rival, step)
        candidates = step.candidates
    _check_nearly_best(books, rivals, leader)


def _settle(books: Books, rivals: dict[str, Bettor], step: Step, before: str | None) -> None:
    """Book what the bets of one request brought, on the leader before it."""
    if step.stakes is None:
        return
    stakes, worth = as_struct(step.stakes, Stakes), {before: books.record.epsilon * NATS}
    agreed = f"the bets of request {step.request} must be on the leader after the request before"
    require(stakes.leader == before, agreed)
    for rival, bet in stakes.bets.items():
        wager = Wager(over=stakes.leader, under=rival, input=stakes.input, **asdict(bet))
        books.settle(rivals.setdefault(rival, Bettor(worth)), wager, step, rival)


def _threshold(record: Record, leaders: int) -> float:
    """Nats that δ demands: log 1/δ, and with ε log i(i+1)/δ for leader number i, and what `reached` spares."""
    return (math.log(leaders * (leaders + 1)) if record.epsilon > 0.0 else 0.0) - math.log(record.delta) + EXCESS


def _check_ruled_out(books: Books, rivals: Rivals, rival: str, step: Step) -> None:
    """Who bets against a rival that is no candidate any more has won what δ demands, and what is stated."""
    where, bettor = f"channel {rival!r} was ruled out after request {step.request}", rivals[-1].get(rival)
    evidence, needed = step.status.evidence_nats.get(rival), _threshold(books.record, len(rivals))
    if bettor is None or evidence is None:
        raise NotValidError(f"{where} without evidence against it")
    share = FIRST_SHARE * (1.0 - FIRST_SHARE) ** max(bettor.starts)
    if not books.reached(bettor, max(needed, evidence - STATED + math.log(share))):
        wanted = f"{where}, but the evidence against it does not reach {needed - math.log(share):.6g} nats"
        require(books.reached(bettor, needed), wanted)
        raise NotValidError(f"{where} by evidence of {evidence:.6g} nats, but stakes and answers give less")


def _check_nearly_best(books: Books, rivals: Rivals, leader: str | None) -> None:
    """No rival that may be a best channel is better than the stated one by more than the stated bits.

    If a rival a is a best channel, its bets multiplied by exp(sum_b S_b (C_a - C_b)) are a supermartingale too, with
    S_b the weight of those on leader b: docs/theory/adaptive.md, "At any time".
    """
    record, stated = books.record, books.record.stated
    if stated.nearly_best is None:
        return
    channel, bits = stated.nearly_best.channel, stated.nearly_best.within_bits
    proved_by_epsilon = not record.epsilon or (channel == leader and bits >= record.epsilon)
    for rival, alphabet in record.alphabets.items():
        ruled_out = rival not in stated.candidates and proved_by_epsilon
        if rival == channel or ruled_out or math.log2(min(alphabet)) <= bits:
            continue
        shown = any(
            books.reached(Bettor({channel: bits * NATS}, bettors[rival].starts), _threshold(record, number))
            for number, bettors in enumerate(rivals, start=1)
            if rival in bettors
        )
        wanted = f"nearly_best says that {channel!r} is within {bits:g} bit of the best, but the evidence against"
        require(shown, f"{wanted} {rival!r} does not show that")
