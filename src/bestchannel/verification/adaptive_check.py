"""Adaptive: from stakes and answers, whether the evidence against every rival reached its threshold.

Only bets against a best channel can err, and by Ville's inequality each of its accounts errs with probability at
most its share of δ: docs/theory/certificate.md. What bets have brought is booked alike whatever is asked.
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
    MOST,
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
from bestchannel.verification.rival_check import Sensed, SensedRival

FIRST_SHARE = 0.9  # of δ for the first bets against a rival; those after r restarts have 0.9 · 0.1^r
EXCESS = 1e-9  # by which stated numbers may exceed what follows, relatively
STATED = 0.01  # nats by which the evidence that a record states may exceed what is proved
LEAST = 1e-200  # no entry of V or Q may be smaller: numbers near 1e-308 lose their digits, and with them the proof
ADDED = (0.5, 1.0, 2.0, 4.0, 8.0)  # senses of every input, of which a policy adds one number for estimates of rows
AGREEMENT = 1e-6  # how closely, relatively, a multiplier must be the root that it is said to be


@dataclass
class Account:
    """One e-process: bets with one channel under, and one number of restarts."""

    since: int
    sensed: list[Sensed] = field(default_factory=list)  # of the channel that is under, request by request
    paid: float = 0.0
    weight: float = 0.0  # S
    weights: dict[str | None, float] = field(default_factory=dict)  # by the channel that is over


@dataclass
class Bettor:
    """All bets of one who bets, by restarts and by the channel that is under."""

    level: float = 0.0  # nats, where no channel is over or under
    margin: float = 0.0  # nats by which the channel that is under may be better and the claim hold
    starts: dict[int, dict[str | None, Account]] = field(default_factory=dict)
    latest: str | None = None  # the channel under, of the last bet


@dataclass
class Books:
    """What the steps have brought so far."""

    record: Record
    replay: Any  # who proposes: `kind` is Adaptive, `policy` one that was told the answers, where it could be made
    counts: dict[str, Integers] = field(init=False)

    def __post_init__(self) -> None:
        self.counts = {name: np.zeros(size, dtype=np.int64) for name, size in self.record.alphabets.items()}

    def followed(self, watch: Watch) -> Iterator[Step]:
        """The steps; each is learned from after whoever asked has booked it."""
        for step in self.record.steps:
            for channel, table in step.counts.items():
                if sum(self.counts[channel].ravel().tolist()) + sum(table.ravel().tolist()) > MOST:
                    raise NotValidError(f"request {step.request} has more senses of a channel than 64-bit counts hold")
            yield step
            for channel, table in step.counts.items():
                self.counts[channel] = self.counts[channel] + table
            watch(step.request)

    def settle(self, bettor: Bettor, bet: Wager, step: Step, where: str) -> None:
        """Book what a bet has brought."""
        record, over, under = self.record, bet.over, bet.under
        record.require_known([over, under], f"the stakes of request {step.request}")
        sound = over != under and (over is None or over in step.counts)
        require(sound, "the leader must be sensed and the rival be another channel; they are not", where)
        require(bet.weight > 0.0, f"the weight of a bet must be positive; it is {bet.weight:g}", where)
        require(bet.restarts >= max(bettor.starts, default=0), "restarts must not become fewer; they do", where)
        begun = f"bets must not begin after their own request; they begin with {bet.since}"
        require(bet.since <= step.request, begun, where)
        account = bettor.starts.setdefault(bet.restarts, {}).setdefault(under, Account(bet.since))
        alike = "bets with the same restarts must have begun with the same request; they differ"
        require(account.since == bet.since, alike, where)
        bettor.latest, account.weight = under, account.weight + bet.weight
        account.weights[over] = account.weights.get(over, 0.0) + bet.weight
        if over is None:
            account.paid += bet.weight * bettor.level
        else:
            fixed = record.fixed_input is None or np.array_equal(record.fixed_input, bet.input)
            require(fixed, "bets must be at the fixed input distribution; they are not", where)
            account.paid += paid_nats(bet, bet.input, step.counts[over], where)
            check_origin(bet, bet.input, self.counts[over], step.senses[over], where)
        if under is not None and under in step.counts and not record.worthless(under):
            check_tilts(record, under, bet, where)
            account.sensed.append((step.counts[under], bet.tilts, bet.outputs))

    def lost(self, under: str, account: Account, needed: float | None = None, weight: float | None = None) -> float:
        """Nats that bets on the senses of a channel have lost at most; no more than is needed, if that can be shown."""
        record, kind, policy = self.record, self.replay.kind, self.replay.policy
        if record.worthless(under):
            return 0.0
        bets = record.alphabets[under], account.sensed, account.weight if weight is None else weight
        most = kind._loss_of(*bets, record.fixed_input) if needed is None else needed
        number = list(record.alphabets).index(under)
        own = () if policy is None else policy._covers(number, account.since, most)
        covers = chain(own, kind._covers_of(*bets, record.fixed_input, most))
        return -rival_check.proved(SensedRival.of(*bets), record.fixed_input, covers, -most)

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

    def reached(self, bettor: Bettor, needed: float) -> bool:
        """Whether the wealth can be shown to be what is needed."""
        return self.wealth(bettor, needed) >= needed * (1.0 - EXCESS)

    def _won(self, bettor: Bettor, accounts: Mapping[str | None, Account], demanded: float | None = None) -> float:
        """The factor by which bets have multiplied their stake, from below."""
        nats = 0.0
        for under, account in sorted(accounts.items(), key=lambda pair: pair[0] == bettor.latest):
            if under is None:
                nats += account.paid - account.weight * bettor.level
                continue
            last = demanded is not None and under == bettor.latest
            nats += account.paid + bettor.margin * account.weight
            nats -= self.lost(under, account, nats - demanded if last and demanded is not None else None)
        return math.exp(min(nats, 600.0))


def share(start: int) -> float:
    """Of the unit, or of δ, for the bets after so many restarts."""
    return FIRST_SHARE * (1.0 - FIRST_SHARE) ** start


@dataclass
class Rivals(Books):
    """The bets against the rivals of leaders."""

    bettors: dict[str, Bettor] = field(default_factory=dict)  # by rival
    leaders: int = 1  # with ε, those that were bet on, the present one included
    periods: int = 1  # with ε, all leaders so far
    past: list[tuple[str, float, Account]] = field(default_factory=list)  # see `present`; with ε, of leaders before

    def start_anew(self) -> None:
        """Forget all bets, as with ε for another leader; one that was not bet on has used nothing of δ."""
        self.past += self.present()
        self.leaders, self.periods = self.leaders + bool(self.bettors), self.periods + 1
        self.bettors = {}

    def present(self) -> list[tuple[str, float, Account]]:
        """Rival, threshold in nats and account: of the present leader, or, without ε, of all."""
        return [
            (rival, self.threshold(start, self.leaders), accounts[rival])
            for rival, bettor in self.bettors.items()
            for start, accounts in bettor.starts.items()
        ]

    def threshold(self, restarts: int, leaders: int) -> float:
        """log(1/(share δ)), the share 0.9·0.1^restarts, and with ε 1/(i(i+1)) of that for leader number i."""
        share = math.log(FIRST_SHARE) + restarts * math.log(1.0 - FIRST_SHARE)
        if self.record.epsilon > 0.0:
            share -= math.log(leaders * (leaders + 1))
        return -share - math.log(self.record.delta)

    def shown(self, rival: str, account: Account, needed: float) -> bool:
        """Whether the rival's own senses have lost so little that they bring what is needed."""
        return -self.lost(rival, account, -needed) >= needed


def check_adaptive(record: Record, watch: Watch, replay: Any) -> None:
    """Raise `NotValidError` unless the steps prove what the record claims."""
    threshold = record.stated.audit.options.get("threshold", "proved")
    wanted = "the record is not proved: its threshold is calibrated by simulation, and nothing certifies that"
    require(threshold == "proved", wanted)
    if record.stated.question:
        from bestchannel.verification.claims_check import check_claims  # deferred: it builds on this module

        check_claims(record, watch, replay)
        return
    books, everyone = Rivals(record, replay), frozenset(record.alphabets)
    candidates, leader = everyone, None
    for step in books.followed(watch):
        _settle(books, step, leader)
        if record.epsilon > 0.0 and leader is not None and step.status.leader != leader:
            books.start_anew()
            candidates = everyone
        leader = step.status.leader
        wanted = f"the leader after request {step.request} must be a candidate; it is none"
        require(leader in step.candidates, wanted)
        for back in sorted(step.candidates - candidates):
            raise NotValidError(f"channel {back!r} was ruled out and is a candidate in request {step.request}")
        for rival in sorted(candidates - step.candidates):
            _check_ruled_out(books, rival, step)
        candidates = step.candidates
    _check_nearly_best(books, leader)


def _settle(books: Rivals, step: Step, before: str | None) -> None:
    """Book what the bets of one request brought, on the leader before it."""
    if step.stakes is None:
        return
    stakes = as_struct(step.stakes, Stakes)
    agreed = f"the bets of request {step.request} must be on the leader after the request before"
    require(stakes.leader == before, agreed)
    for rival, bet in stakes.bets.items():
        where = f"in the bet against {rival!r} in request {step.request}"
        wager = Wager(over=stakes.leader, under=rival, input=stakes.input, **asdict(bet))
        books.settle(books.bettors.setdefault(rival, Bettor()), wager, step, where)


def check_tilts(record: Record, rival: str, bet: Bet, where: str) -> None:
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


def _check_ruled_out(books: Rivals, rival: str, step: Step) -> None:
    """The evidence against a rival that is no candidate any more has reached log(1/(share δ)), and what is stated.

    The stated threshold is what δ demands; a policy may also have counted leaders that were not bet on.
    """
    where, bettor = f"channel {rival!r} was ruled out after request {step.request}", books.bettors.get(rival)
    evidence, stated = step.status.evidence_nats.get(rival), step.status.threshold_nats.get(rival)
    if bettor is None or evidence is None or stated is None:
        raise NotValidError(f"{where} without evidence against it")
    restarts = max(bettor.starts)
    demanded = [books.threshold(restarts, number) for number in range(books.leaders, books.periods + 1)]
    wanted = f"{where} at {stated:.6g} nats, but {demanded[0]:.6g} nats are what delta demands"
    require(any(math.isclose(stated, nats, rel_tol=1e-9) for nats in demanded), wanted)
    account = bettor.starts[restarts][rival]
    gained = account.paid + account.weight * books.record.epsilon * NATS
    needed, said = demanded[0] - gained, evidence - STATED - gained
    if not books.shown(rival, account, max(needed, said)):
        wanted = f"{where}, but the evidence against it does not reach {demanded[0]:.6g} nats"
        require(books.shown(rival, account, needed), wanted)
        raise NotValidError(f"{where} by evidence of {evidence:.6g} nats, but stakes and answers give less")


def _check_nearly_best(books: Rivals, leader: str | None) -> None:
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
            books.shown(rival, account, nats - account.paid - account.weights.get(channel, 0.0) * bits * NATS)
            for other, nats, account in [*books.past, *books.present()]
            if other == rival
        )
        wanted = f"nearly_best says that {channel!r} is within {bits:g} bit of the best, but the evidence against"
        require(shown, f"{wanted} {rival!r} does not show that")


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
    if not (bet.auxiliary >= LEAST).all():
        wanted = f"the auxiliary rows of a bet must be at least {LEAST:g}; they are {bet.auxiliary.tolist()}"
        require(False, wanted, where)
    require(bet.weight > 0.0, f"the weight of a bet must be positive; it is {bet.weight:g}", where)
    senses, stakes = counts.sum(axis=1).astype(np.float64)[:, None], _stakes(bet, inputs)
    gross, used = np.broadcast_to(bet.multipliers[:, None] + stakes, counts.shape), senses[:, 0] > 0.0
    wanted = "a bet must pay something whatever the answer; its multipliers are too small"
    require(bool((gross[used] > 0.0).all()), wanted, where)
    wealth = gross[used] / senses[used]
    won = counts[used] * np.log(wealth)
    price = np.concatenate([(senses[used] * (wealth - 1.0) - stakes[used]).max(axis=1), (-stakes[~used]).max(axis=1)])
    size = float(np.abs(won).sum() + senses.sum() + np.abs(stakes).sum() + np.abs(gross).sum())
    return math.fsum(won.ravel()) - math.fsum(price) - ROUNDING * size


def _stakes(bet: Bet, inputs: Floats) -> Floats:
    """s P_x g_x(y)."""
    P = inputs / inputs.sum()
    return bet.weight * P[:, None] * np.log(bet.auxiliary / (P @ bet.auxiliary))


def check_origin(bet: Bet, inputs: Floats, before: Integers, senses: tuple[int, ...], where: str) -> None:
    """The multipliers follow from what was known before the request: they are not fitted to its answer.

    ν_x is the root of sum_y W_x(y) N_x / (ν_x + s P_x g_x(y)) = 1, with W the leader's rows estimated from the counts
    before: (n + a/Y) / sum (n + a/Y) with Y outputs, and one a of `ADDED` for all.
    """
    N = np.array(senses, dtype=np.float64)[:, None]
    wealth = N / (bet.multipliers[:, None] + _stakes(bet, inputs))

    def wrong(added: float) -> list[int]:
        smooth = before + added / before.shape[1]
        sums = (smooth / smooth.sum(axis=1, keepdims=True) * wealth).sum(axis=1)
        return np.flatnonzero(~(np.abs(sums - 1.0) <= AGREEMENT) & (N[:, 0] > 0.0)).tolist()

    if fewest := min(map(wrong, ADDED), key=len):
        wanted = "is not the one that the counts before the request lead to"
        require(False, f"the multiplier of input x={fewest[0]} {wanted}", where)
