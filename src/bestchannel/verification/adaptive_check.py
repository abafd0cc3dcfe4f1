"""Adaptive: from stakes and answers, whether the evidence against every rival reached its threshold.

Only bets against a best channel can err, and by Ville's inequality each of its accounts errs with probability at
most its share of δ: docs/theory/certificate.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Protocol

import numpy as np

from bestchannel.verification import rival_check
from bestchannel.verification.leader_check import Bet, check_origin, paid_nats, stakes_of
from bestchannel.verification.record import MOST, Integers, NotValidError, Record, Step, Watch
from bestchannel.verification.rival_rows import Sensed, SensedRival

FIRST_SHARE = 0.9
"""Of δ for the first bets against a rival; those after r restarts have FIRST_SHARE (1 - FIRST_SHARE)^r."""

STATED = 0.01
"""Nats by which the evidence that a record states may exceed what is proved."""

LEAST_OUTPUT = 1e-200
"""No output distribution of a bet may have a smaller entry: its logarithm would lose its digits."""

NATS = math.log(2.0)
"""Nats in a bit."""


class Replay(Protocol):
    """The policy that proposes what is checked: its class, and itself, told the answers, where it could be made."""

    @property
    def kind(self) -> Any:
        """Has `covers_of(alphabet, bets on senses, weight, fixed input distribution, most)`, see `Books.proved`."""

    @property
    def policy(self) -> Any:
        """Has `covers(rival, since, most)` of its own bets since a request."""


@dataclass
class Account:
    """One e-process against one rival: the bets with one leader (with ε) and one number of restarts."""

    since: int
    sensed: list[Sensed] = field(default_factory=list)  # of the rival, request by request
    paid: float = 0.0
    weight: float = 0.0  # S
    weights: dict[int, float] = field(default_factory=dict)  # by leader


PastAccount = tuple[int, float, Account]
"""The rival, the threshold in nats, and the account."""


@dataclass
class Books:
    """All that the steps up to some request have brought."""

    record: Record
    replay: Replay
    counts: list[Integers]
    accounts: dict[tuple[int, int], Account] = field(default_factory=dict)  # by rival and restarts
    latest: dict[int, int] = field(default_factory=dict)  # restarts of the last bet against each rival
    leaders: int = 1  # with ε, those that were bet on, the present one included
    periods: int = 1  # with ε, all leaders so far
    past: list[PastAccount] = field(default_factory=list)  # with ε, those of leaders before

    def start_anew(self) -> None:
        """Forget all bets, as with ε for another leader; one that was not bet on has used nothing of δ."""
        self.past += self.present()
        self.leaders, self.periods = self.leaders + bool(self.accounts), self.periods + 1
        self.accounts, self.latest = {}, {}

    def present(self) -> list[PastAccount]:
        """The accounts of the present leader, or, without ε, of all."""
        return [
            (rival, threshold_nats(self.record, restarts, self.leaders), account)
            for (rival, restarts), account in self.accounts.items()
        ]

    def proved(self, account: Account, rival: int, needed: float) -> float:
        """Nats that the rival's part is at least: all that are needed, where the policy can show that."""
        record = self.record
        if record.worthless(rival):
            return 0.0
        bets = record.alphabets[rival], account.sensed, account.weight
        found = self.replay.kind.covers_of(*bets, record.fixed_input, -needed)
        own = self.replay.policy.covers(rival, account.since, -needed) if self.replay.policy is not None else ()
        return rival_check.proved(SensedRival.of(*bets), record.fixed_input, chain(own, found), needed)


def check_adaptive(record: Record, watch: Watch, replay: Replay) -> None:
    """Raise `NotValidError` unless the steps prove what the record claims."""
    if record.stated.audit.options.get("threshold", "proved") != "proved":
        raise NotValidError(
            "the record is not proved: its threshold is calibrated by simulation, and nothing certifies that"
        )
    counts = [np.zeros(alphabet, dtype=np.int64) for alphabet in record.alphabets]
    books = Books(record, replay, counts)
    candidates, leader = frozenset(range(len(record.names))), None
    for step in record.steps:
        _check_size(books, step)
        _settle(books, step, leader)
        _count(books, step)
        if record.epsilon > 0.0 and leader is not None and step.leader != leader:
            books.start_anew()
            candidates = frozenset(range(len(record.names)))
        leader = step.leader
        _check_candidates(record, step, candidates)
        for rival in sorted(candidates - step.candidates):
            check_ruled_out(books, rival, step)
        candidates = step.candidates
        watch(step.request)
    _check_nearly_best(books, leader)


def _check_nearly_best(books: Books, leader: int | None) -> None:
    """No rival that may be a best channel is better than the stated one by more than the stated bits.

    If a rival a is a best channel, its bets multiplied by exp(sum_b S_b (C_a - C_b)) are a supermartingale too, with
    S_b the weight of those on leader b: docs/theory/adaptive.md, "At any time".
    """
    record = books.record
    if record.nearly_best is None:
        return
    channel, bits = record.nearly_best
    for rival, (n_inputs, n_outputs) in enumerate(record.alphabets):
        ruled_out = rival not in record.candidates and (
            not record.epsilon or (channel == leader and bits >= record.epsilon)
        )
        if rival == channel or ruled_out or math.log2(min(n_inputs, n_outputs)) <= bits:
            continue
        accounts = [(nats, account) for other, nats, account in [*books.past, *books.present()] if other == rival]
        needed = [
            (account, nats - account.paid - account.weights.get(channel, 0.0) * bits * NATS)
            for nats, account in accounts
        ]
        if not any(books.proved(account, rival, nats) >= nats for account, nats in needed):
            raise NotValidError(
                f"nearly_best says that {record.names[channel]!r} is within {bits:g} bit of the best, but the evidence"
                f" against {record.names[rival]!r} does not show that"
            )


def _check_candidates(record: Record, step: Step, before: frozenset[int]) -> None:
    if step.leader not in step.candidates:
        raise NotValidError(f"the leader after request {step.request} must be a candidate; it is none")
    for back in sorted(step.candidates - before):
        raise NotValidError(
            f"channel {record.names[back]!r} was ruled out and is a candidate in request {step.request}"
        )


def _check_size(books: Books, step: Step) -> None:
    """Sums of counts stay within 64 bits."""
    for channel, table in step.counts.items():
        if sum(books.counts[channel].ravel().tolist()) + sum(table.ravel().tolist()) > MOST:
            raise NotValidError(f"request {step.request} has more senses of a channel than 64-bit counts hold")


def _count(books: Books, step: Step) -> None:
    for channel, table in step.counts.items():
        books.counts[channel] = books.counts[channel] + table


def _settle(books: Books, step: Step, leader: int | None) -> None:
    """Book what the bets of one request brought."""
    if step.stakes is None:
        return
    record, stakes, where = books.record, stakes_of(step.stakes), f"request {step.request}"
    bets: dict[int, Bet] = record.channels.by_number(stakes.bets, where)
    if record.channels.number(stakes.leader, where) != leader:
        raise NotValidError(f"the bets of request {step.request} must be on the leader after the request before")
    if record.fixed_input is not None and bets and not np.array_equal(record.fixed_input, stakes.input):
        raise NotValidError(f"the bets of request {step.request} must be at the fixed input distribution")
    for rival, bet in bets.items():
        where = f"in the bet against {record.names[rival]!r} in request {step.request}"
        if rival == leader or leader not in step.counts:
            raise NotValidError(f"the leader must be sensed and the rival be another channel; they are not {where}")
        account = _account(books, step, rival, bet, where)
        account.paid += paid_nats(bet, stakes.input, step.counts[leader], where)
        account.weight += bet.weight
        account.weights[leader] = account.weights.get(leader, 0.0) + bet.weight
        if rival in step.counts and not record.worthless(rival):
            _check_tilts(record, rival, bet, where)
            account.sensed.append((step.counts[rival], bet.tilts, bet.outputs))
        check_origin(bet, stakes.input, books.counts[leader], step.senses[leader], where)


def _account(books: Books, step: Step, rival: int, bet: Bet, where: str) -> Account:
    """The account of a bet: opened by its first bet, which is in the request since which they count."""
    if bet.restarts < books.latest.get(rival, 0):
        raise NotValidError(f"restarts must not become fewer; they do {where}")
    books.latest[rival] = bet.restarts
    key = (rival, bet.restarts)
    if bet.since > step.request:
        raise NotValidError(f"bets must not begin after their own request; they begin with {bet.since} {where}")
    account = books.accounts.setdefault(key, Account(bet.since))
    if account.since != bet.since:
        raise NotValidError(f"bets with the same restarts must have begun with the same request; they differ {where}")
    return account


def _check_tilts(record: Record, rival: int, bet: Bet, where: str) -> None:
    """0 <= P_x ω_x < 1 for every P that can be optimal, and an output distribution without zeros."""
    shapes = bet.tilts.shape + bet.outputs.shape
    if shapes != record.alphabets[rival]:
        raise NotValidError(
            f"a bet must have a tilt for every input of the rival and a probability for every output;"
            f" it has {bet.tilts.tolist()} and {bet.outputs.tolist()} {where}"
        )
    most = rival_check.LARGEST if record.fixed_input is None else record.fixed_input / record.fixed_input.sum()
    if (bet.tilts < 0.0).any() or (bet.tilts * most >= 1.0).any():
        raise NotValidError(f"tilts must be >= 0, and below 1 times any P; they are {bet.tilts.tolist()} {where}")
    if (bet.outputs < LEAST_OUTPUT).any() or abs(bet.outputs.sum() - 1.0) > 1e-9:
        raise NotValidError(
            f"the outputs of a bet must be a distribution without zeros; they are {bet.outputs.tolist()} {where}"
        )


def check_ruled_out(books: Books, rival: int, step: Step) -> None:
    """The evidence against a rival that is no candidate any more has reached log(1/(share δ)), and what is stated."""
    record = books.record
    where = f"channel {record.names[rival]!r} was ruled out after request {step.request}"
    if rival not in books.latest or rival not in step.evidence or rival not in step.thresholds:
        raise NotValidError(f"{where} without evidence against it")
    restarts = books.latest[rival]
    account = books.accounts[rival, restarts]
    needed = threshold_nats(record, restarts, books.leaders)
    _check_stated_threshold(books, restarts, step.thresholds[rival], where)
    gained = account.paid + account.weight * record.epsilon * NATS
    proved = books.proved(account, rival, needed - gained)
    if not proved >= needed - gained:
        raise NotValidError(f"{where}, but the evidence against it does not reach {needed:.6g} nats")
    stated = step.evidence[rival] - STATED - gained
    if not (proved >= stated or books.proved(account, rival, stated) >= stated):
        raise NotValidError(f"{where} by evidence of {step.evidence[rival]:.6g} nats, but stakes and answers give less")


def _check_stated_threshold(books: Books, restarts: int, stated: float, where: str) -> None:
    """It is what δ demands; a policy may also have counted leaders that were not bet on."""
    numbers = range(books.leaders, books.periods + 1)
    demanded = [threshold_nats(books.record, restarts, number) for number in numbers]
    if not any(math.isclose(stated, nats, rel_tol=1e-9) for nats in demanded):
        raise NotValidError(f"{where} at {stated:.6g} nats, but {demanded[0]:.6g} nats are what delta demands")


def threshold_nats(record: Record, restarts: int, leaders: int) -> float:
    """log(1/(share δ)), the share 0.9·0.1^restarts, and with ε 1/(i(i+1)) of that for leader number i."""
    share = math.log(FIRST_SHARE) + restarts * math.log(1.0 - FIRST_SHARE)
    if record.epsilon > 0.0:
        share -= math.log(leaders * (leaders + 1))
    return -share - math.log(record.delta)
