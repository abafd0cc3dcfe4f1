"""Adaptive: from stakes and answers, whether the evidence against every rival reached its threshold.

Only bets against a best channel can err, and by Ville's inequality each of its accounts errs with probability at
most its share of δ: docs/theory/certificate.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from bestchannel.verification import likelihood, plug_in_check
from bestchannel.verification.leader_check import check_origin, paid_nats
from bestchannel.verification.record import MOST, Bet, Floats, Integers, NotValidError, Record, StatedBets, StatedStep

FIRST_SHARE = 0.9
"""Of δ for the first bets against a rival; those after r restarts have FIRST_SHARE (1 - FIRST_SHARE)^r."""

SHARE_OF_ALL = 0.1
"""Of the stake, held against all senses of a binary rival; the rest against those since the bets began."""

STATED = 0.01
"""Nats by which the evidence that a record states may exceed what is proved again."""

NATS = math.log(2.0)
"""Nats in a bit."""


@dataclass
class Account:
    """One e-process against one rival: the bets with one leader (with ε) and one number of restarts."""

    since: int
    start: Integers  # the rival's counts when the bets began
    weighted: Floats  # its counts since, each sense weighted with its θ
    paid: float = 0.0
    weight: float = 0.0  # S
    total: float = 0.0  # G


@dataclass
class Books:
    """All that the steps up to some request have brought."""

    record: Record
    phi: float
    counts: list[Integers]
    accounts: dict[tuple[int, int], Account] = field(default_factory=dict)  # by rival and restarts
    latest: dict[int, int] = field(default_factory=dict)  # restarts of the last bet against each rival
    leaders: int = 1  # with ε, those that were bet on, the present one included
    periods: int = 1  # with ε, all leaders so far

    def start_anew(self) -> None:
        """Forget all bets, as with ε for another leader; one that was not bet on has used nothing of δ."""
        self.leaders, self.periods = self.leaders + bool(self.accounts), self.periods + 1
        self.accounts, self.latest = {}, {}


def check_adaptive(record: Record) -> None:
    """Raise `NotValidError` unless the steps prove what the record claims."""
    if record.options.get("threshold", "proved") != "proved":
        raise NotValidError(
            "the record is not proved: its threshold is calibrated by simulation, and nothing certifies that"
        )
    counts = [np.zeros(alphabet, dtype=np.int64) for alphabet in record.alphabets]
    books = Books(record, plug_in_check.spread(record.fixed_input), counts)
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


def _check_candidates(record: Record, step: StatedStep, before: frozenset[int]) -> None:
    if step.leader not in step.candidates:
        raise NotValidError(f"the leader after request {step.request} must be a candidate; it is none")
    for back in sorted(step.candidates - before):
        raise NotValidError(
            f"channel {record.names[back]!r} was ruled out and is a candidate in request {step.request}"
        )


def _check_size(books: Books, step: StatedStep) -> None:
    """Sums of counts stay within 64 bits."""
    for channel, table in step.counts.items():
        if sum(books.counts[channel].ravel().tolist()) + sum(table.ravel().tolist()) > MOST:
            raise NotValidError(f"request {step.request} has more senses of a channel than 64-bit counts hold")


def _count(books: Books, step: StatedStep) -> None:
    for channel, table in step.counts.items():
        books.counts[channel] = books.counts[channel] + table


def _settle(books: Books, step: StatedStep, leader: int | None) -> None:
    """Book what the bets of one request brought."""
    stakes = step.stakes
    if stakes is None:
        return
    if stakes.leader != leader:
        raise NotValidError(f"the bets of request {step.request} must be on the leader after the request before")
    fixed = books.record.fixed_input
    if fixed is not None and stakes.bets and not np.array_equal(fixed, stakes.inputs):
        raise NotValidError(f"the bets of request {step.request} must be at the fixed input distribution")
    for rival, bet in stakes.bets.items():
        _book(books, step, stakes, rival, bet)


def _book(books: Books, step: StatedStep, stakes: StatedBets, rival: int, bet: Bet) -> None:
    where = f"in the bet against {books.record.names[rival]!r} in request {step.request}"
    if rival == stakes.leader or stakes.leader not in step.counts:
        raise NotValidError(f"the leader must be sensed and the rival be another channel; they are not {where}")
    account = _account(books, step, rival, bet, where)
    account.paid += paid_nats(bet, stakes.inputs, step.counts[stakes.leader], where)
    account.weight += bet.weight
    if not books.record.worthless(rival) and books.record.alphabets[rival] != (2, 2):
        _book_plug_in(books, account, step, rival, bet, where)
    check_origin(bet, stakes.inputs, books.counts[stakes.leader], step.senses[stakes.leader], where)


def _account(books: Books, step: StatedStep, rival: int, bet: Bet, where: str) -> Account:
    """The account of a bet: opened by its first bet, which is in the request since which they count."""
    if bet.restarts < books.latest.get(rival, 0):
        raise NotValidError(f"restarts must not become fewer; they do {where}")
    books.latest[rival] = bet.restarts
    key = (rival, bet.restarts)
    if key not in books.accounts:
        _check_since(books, step, rival, bet, where)
        start = books.counts[rival]
        books.accounts[key] = Account(bet.since, start, np.zeros(start.shape))
    if books.accounts[key].since != bet.since:
        raise NotValidError(f"bets with the same restarts must have begun with the same request; they differ {where}")
    return books.accounts[key]


def _check_since(books: Books, step: StatedStep, rival: int, bet: Bet, where: str) -> None:
    """The likelihood of a binary rival counts since the first bet; elsewhere no sense counts without a bet."""
    binary = books.record.alphabets[rival] == (2, 2)
    if bet.since > step.request or (binary and bet.since != step.request):
        raise NotValidError(f"the first of some bets must count since its own request; it has {bet.since} {where}")


def _book_plug_in(books: Books, account: Account, step: StatedStep, rival: int, bet: Bet, where: str) -> None:
    """Weigh the rival's senses with θ; the weight on the leader must be one that they allow."""
    senses = step.senses.get(rival, (0,))
    if min(senses) != max(senses) or not 0.0 <= bet.theta <= 1.0:
        raise NotValidError(f"every input must have as many senses, and 0 <= theta <= 1 must hold; this fails {where}")
    allowed = plug_in_check.allowed_weight(bet.theta, senses[0], books.phi)
    if bet.weight > allowed:
        raise NotValidError(
            f"the weight must not exceed {allowed:.6g}, which theta allows; it is {bet.weight:.6g} {where}"
        )
    account.weighted = account.weighted + bet.theta * step.counts[rival]
    account.total += bet.theta * senses[0]


def check_ruled_out(books: Books, rival: int, step: StatedStep) -> None:
    """The evidence against a rival that is no candidate any more has reached log(1/(share δ))."""
    record = books.record
    where = f"channel {record.names[rival]!r} was ruled out after request {step.request}"
    if rival not in books.latest or rival not in step.evidence or rival not in step.thresholds:
        raise NotValidError(f"{where} without evidence against it")
    restarts = books.latest[rival]
    account = books.accounts[rival, restarts]
    needed = threshold_nats(record, restarts, books.leaders)
    _check_stated_threshold(books, restarts, step.thresholds[rival], where)
    gained = account.paid + account.weight * record.epsilon * NATS
    if not _reached(books, account, rival, needed - gained):
        raise NotValidError(f"{where}, but the evidence against it does not reach {needed:.6g} nats")
    stated = step.evidence[rival]
    if not _reached(books, account, rival, stated - STATED - gained):
        raise NotValidError(f"{where} by evidence of {stated:.6g} nats, but stakes and answers give less")


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


def _reached(books: Books, account: Account, rival: int, needed: float) -> bool:
    """Whether the rival's part is proved to be at least `needed`."""
    record = books.record
    if record.worthless(rival):
        return needed <= 0.0
    if record.alphabets[rival] == (2, 2):
        return _by_likelihood(books, account, rival, needed)
    slack = 2.0 * plug_in_check.SLACK * account.weight * math.log(min(record.alphabets[rival]))
    return plug_in_check.exceeds(account.weighted, account.total, record.fixed_input, -needed - slack)


def _by_likelihood(books: Books, account: Account, rival: int, needed: float) -> bool:
    fixed = books.record.fixed_input
    p = None if fixed is None else float(fixed[1])
    n, start = books.counts[rival].astype(np.float64), account.start.astype(np.float64)
    whole = likelihood.log_kt(n)
    # the difference is rounded like the logarithms of all counts, not like those of the senses since
    fresh = whole - likelihood.log_kt(start) - likelihood.ROUNDING * float(start.sum()) + math.log1p(-SHARE_OF_ALL)
    return likelihood.exceeds(n - start, account.weight, p, needed - fresh) or likelihood.exceeds(
        n, account.weight, p, needed - whole - math.log(SHARE_OF_ALL)
    )
