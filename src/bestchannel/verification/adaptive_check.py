"""Adaptive: from stakes and answers, whether the evidence against every rival reached its threshold.

Only bets against a best channel can err, and by Ville's inequality each of its accounts errs with probability at
most its share of δ: docs/theory/certificate.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import chain
from typing import Annotated, Any

import numpy as np
from msgspec import Meta, Struct

from bestchannel.record import Number
from bestchannel.verification import rival_check
from bestchannel.verification.record import (
    MOST,
    NATS,
    ROUNDING,
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

FIRST_SHARE = 0.9  # of δ for the first bets against a rival; those after r restarts have 0.9 · 0.1^r
STATED = 0.01  # nats by which the evidence that a record states may exceed what is proved
LEAST = 1e-200  # no entry of V or Q may be smaller: numbers near 1e-308 lose their digits, and with them the proof
ADDED = (0.5, 1.0, 2.0, 4.0, 8.0)  # senses of every input, of which a policy adds one number for estimates of rows
AGREEMENT = 1e-6  # how closely, relatively, a multiplier must be the root that it is said to be


class Bet(Struct, frozen=True):
    """What was staked against one rival in one request: on its own senses and on the leader's."""

    since: Annotated[int, Meta(le=2**53)]  # the request with which these bets began
    restarts: Annotated[int, Meta(le=2**53)]
    weight: Number  # s
    tilts: Floats  # ω[x] of the rival
    outputs: Floats  # Q[y] of the rival
    auxiliary: Floats  # V[x, y]
    multipliers: Floats  # ν[x]


class Stakes(Struct, frozen=True):
    """All that Adaptive stakes on the answer to a request."""

    leader: str
    input: Floats  # P
    bets: dict[str, Bet]  # by rival


@dataclass
class Account:
    """One e-process against one rival: the bets with one leader (with ε) and one number of restarts."""

    since: int
    sensed: list[Sensed] = field(default_factory=list)  # of the rival, request by request
    paid: float = 0.0
    weight: float = 0.0  # S
    weights: dict[int, float] = field(default_factory=dict)  # by leader


@dataclass
class Books:
    """All that the steps up to some request have brought."""

    record: Record
    replay: Any  # who proposes: `kind` is Adaptive, `policy` one that was told the answers, where it could be made
    counts: list[Integers]
    accounts: dict[tuple[int, int], Account] = field(default_factory=dict)  # by rival and restarts
    latest: dict[int, int] = field(default_factory=dict)  # restarts of the last bet against each rival
    leaders: int = 1  # with ε, those that were bet on, the present one included
    periods: int = 1  # with ε, all leaders so far
    past: list[tuple[int, float, Account]] = field(default_factory=list)  # see `present`; with ε, of leaders before

    def start_anew(self) -> None:
        """Forget all bets, as with ε for another leader; one that was not bet on has used nothing of δ."""
        self.past += self.present()
        self.leaders, self.periods = self.leaders + bool(self.accounts), self.periods + 1
        self.accounts, self.latest = {}, {}

    def present(self) -> list[tuple[int, float, Account]]:
        """Rival, threshold in nats and account: of the present leader, or, without ε, of all."""
        return [(key[0], self.threshold(key[1], self.leaders), account) for key, account in self.accounts.items()]

    def threshold(self, restarts: int, leaders: int) -> float:
        """log(1/(share δ)), the share 0.9·0.1^restarts, and with ε 1/(i(i+1)) of that for leader number i."""
        share = math.log(FIRST_SHARE) + restarts * math.log(1.0 - FIRST_SHARE)
        if self.record.epsilon > 0.0:
            share -= math.log(leaders * (leaders + 1))
        return -share - math.log(self.record.delta)

    def proved(self, account: Account, rival: int, needed: float) -> float:
        """Nats that the rival's part is at least: all that are needed, where the policy can show that."""
        record = self.record
        if record.worthless(rival):
            return 0.0
        bets = record.alphabets[rival], account.sensed, account.weight
        found = self.replay.kind._covers_of(*bets, record.fixed_input, -needed)
        own = self.replay.policy._covers(rival, account.since, -needed) if self.replay.policy is not None else ()
        return rival_check.proved(SensedRival.of(*bets), record.fixed_input, chain(own, found), needed)


def check_adaptive(record: Record, watch: Watch, replay: Any) -> None:
    """Raise `NotValidError` unless the steps prove what the record claims."""
    threshold = record.stated.audit.options.get("threshold", "proved")
    wanted = "the record is not proved: its threshold is calibrated by simulation, and nothing certifies that"
    require(threshold == "proved", wanted)
    if record.stated.question:
        from bestchannel.verification.claims_check import check_claims  # deferred: it builds on this module

        check_claims(record, watch, replay.kind)
        return
    books = Books(record, replay, [np.zeros(alphabet, dtype=np.int64) for alphabet in record.alphabets])
    everyone = frozenset(range(len(record.names)))
    candidates, leader = everyone, None
    for step in record.steps:
        for channel, table in step.counts.items():
            if sum(books.counts[channel].ravel().tolist()) + sum(table.ravel().tolist()) > MOST:
                raise NotValidError(f"request {step.request} has more senses of a channel than 64-bit counts hold")
        _settle(books, step, leader)
        for channel, table in step.counts.items():
            books.counts[channel] = books.counts[channel] + table
        if record.epsilon > 0.0 and leader is not None and step.leader != leader:
            books.start_anew()
            candidates = everyone
        leader = step.leader
        wanted = f"the leader after request {step.request} must be a candidate; it is none"
        require(leader in step.candidates, wanted)
        for back in sorted(step.candidates - candidates):
            name = record.names[back]
            raise NotValidError(f"channel {name!r} was ruled out and is a candidate in request {step.request}")
        for rival in sorted(candidates - step.candidates):
            _check_ruled_out(books, rival, step)
        candidates = step.candidates
        watch(step.request)
    _check_nearly_best(books, leader)


def _settle(books: Books, step: Step, before: int | None) -> None:
    """Book what the bets of one request brought, on the leader before it."""
    if step.stakes is None:
        return
    record, stakes, where = books.record, as_struct(step.stakes, Stakes), f"request {step.request}"
    bets = {number_of(name, record.names, where): bet for name, bet in stakes.bets.items()}
    leader = number_of(stakes.leader, record.names, where)
    require(leader == before, f"the bets of {where} must be on the leader after the request before")
    fixed = record.fixed_input is None or not bets or np.array_equal(record.fixed_input, stakes.input)
    require(fixed, f"the bets of {where} must be at the fixed input distribution")
    for rival, bet in bets.items():
        where = f"in the bet against {record.names[rival]!r} in request {step.request}"
        wanted = f"the leader must be sensed and the rival be another channel; they are not {where}"
        require(rival != leader and leader in step.counts, wanted)
        require(bet.restarts >= books.latest.get(rival, 0), f"restarts must not become fewer; they do {where}")
        books.latest[rival] = bet.restarts
        wanted = f"bets must not begin after their own request; they begin with {bet.since} {where}"
        require(bet.since <= step.request, wanted)
        account = books.accounts.setdefault((rival, bet.restarts), Account(bet.since))
        wanted = f"bets with the same restarts must have begun with the same request; they differ {where}"
        require(account.since == bet.since, wanted)
        account.paid += paid_nats(bet, stakes.input, step.counts[leader], where)
        account.weight += bet.weight
        account.weights[leader] = account.weights.get(leader, 0.0) + bet.weight
        if rival in step.counts and not record.worthless(rival):
            check_tilts(record, rival, bet, where)
            account.sensed.append((step.counts[rival], bet.tilts, bet.outputs))
        check_origin(bet, stakes.input, books.counts[leader], step.senses[leader], where)


def check_tilts(record: Record, rival: int, bet: Bet, where: str) -> None:
    """0 <= P_x ω_x < 1 for every P that can be optimal, and an output distribution without zeros."""
    tilts, outputs = bet.tilts.tolist(), bet.outputs.tolist()
    wanted = "a bet must have a tilt for every input of the rival and a probability for every output"
    fit = bet.tilts.shape + bet.outputs.shape == record.alphabets[rival]
    require(fit, f"{wanted}; it has {tilts} and {outputs} {where}")
    most = rival_check.LARGEST if record.fixed_input is None else record.fixed_input / record.fixed_input.sum()
    below = bool((bet.tilts >= 0.0).all() and (bet.tilts * most < 1.0).all())
    require(below, f"tilts must be >= 0, and below 1 times any P; they are {tilts} {where}")
    sound = bool((bet.outputs >= LEAST).all() and abs(bet.outputs.sum() - 1.0) <= 1e-9)
    require(sound, f"the outputs of a bet must be a distribution without zeros; they are {outputs} {where}")


def _check_ruled_out(books: Books, rival: int, step: Step) -> None:
    """The evidence against a rival that is no candidate any more has reached log(1/(share δ)), and what is stated.

    The stated threshold is what δ demands; a policy may also have counted leaders that were not bet on.
    """
    where = f"channel {books.record.names[rival]!r} was ruled out after request {step.request}"
    if rival not in books.latest or rival not in step.evidence or rival not in step.thresholds:
        raise NotValidError(f"{where} without evidence against it")
    restarts, stated = books.latest[rival], step.thresholds[rival]
    demanded = [books.threshold(restarts, number) for number in range(books.leaders, books.periods + 1)]
    wanted = f"{where} at {stated:.6g} nats, but {demanded[0]:.6g} nats are what delta demands"
    require(any(math.isclose(stated, nats, rel_tol=1e-9) for nats in demanded), wanted)
    account = books.accounts[rival, restarts]
    gained = account.paid + account.weight * books.record.epsilon * NATS
    needed, said = demanded[0] - gained, step.evidence[rival] - STATED - gained
    proved = books.proved(account, rival, needed)
    require(proved >= needed, f"{where}, but the evidence against it does not reach {demanded[0]:.6g} nats")
    wanted = f"{where} by evidence of {step.evidence[rival]:.6g} nats, but stakes and answers give less"
    require(proved >= said or books.proved(account, rival, said) >= said, wanted)


def _check_nearly_best(books: Books, leader: int | None) -> None:
    """No rival that may be a best channel is better than the stated one by more than the stated bits.

    If a rival a is a best channel, its bets multiplied by exp(sum_b S_b (C_a - C_b)) are a supermartingale too, with
    S_b the weight of those on leader b: docs/theory/adaptive.md, "At any time".
    """
    record = books.record
    if record.nearly_best is None:
        return
    channel, bits = record.nearly_best
    proved_by_epsilon = not record.epsilon or (channel == leader and bits >= record.epsilon)
    for rival, alphabet in enumerate(record.alphabets):
        ruled_out = rival not in record.candidates and proved_by_epsilon
        if rival == channel or ruled_out or math.log2(min(alphabet)) <= bits:
            continue
        for other, nats, account in [*books.past, *books.present()]:
            needed = nats - account.paid - account.weights.get(channel, 0.0) * bits * NATS
            if other == rival and books.proved(account, rival, needed) >= needed:
                break
        else:
            raise NotValidError(
                f"nearly_best says that {record.names[channel]!r} is within {bits:g} bit of the best, but the evidence"
                f" against {record.names[rival]!r} does not show that"
            )


def paid_nats(bet: Bet, inputs: Floats, counts: Integers, where: str) -> float:
    """What a bet on the leader's senses has brought: sum n(x, y) h_x(y) - k, in nats and from below.

    Whatever P, V > 0, ν and s are, with g_x = log(V_x/PV) and N_x senses of input x, a bet that multiplies by
    e^h = (ν_x + s P_x g_x(y))/N_x at each sense and divides by e^k, k = sum_x max_y (N_x (e^h - 1) - s P_x g_x(y)),
    wins nothing on average against s f(W_b): docs/theory/adaptive.md, "The leader's part".
    """
    shapes = inputs.shape, bet.multipliers.shape, bet.auxiliary.shape
    wanted = f"a bet must have the leader's inputs and outputs; its numbers have the shapes {shapes} {where}"
    require(shapes == (counts.shape[:1], counts.shape[:1], counts.shape), wanted)
    wanted = f"the input distribution of a bet must sum to 1; it is {inputs.tolist()} {where}"
    require(bool((inputs >= 0.0).all() and abs(inputs.sum() - 1.0) <= 1e-9), wanted)
    if not (bet.auxiliary >= LEAST).all():
        wanted = f"at least {LEAST:g}"
        raise NotValidError(f"the auxiliary rows of a bet must be {wanted}; they are {bet.auxiliary.tolist()} {where}")
    require(bet.weight > 0.0, f"the weight of a bet must be positive; it is {bet.weight:g} {where}")
    senses = counts.sum(axis=1).astype(np.float64)[:, None]
    stakes = _stakes(bet, inputs)
    gross = np.broadcast_to(bet.multipliers[:, None] + stakes, counts.shape)
    used = senses[:, 0] > 0.0
    wanted = f"a bet must pay something whatever the answer; its multipliers are too small {where}"
    require(bool((gross[used] > 0.0).all()), wanted)
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
        raise NotValidError(f"the multiplier of input x={fewest[0]} {wanted} {where}")
