"""Evidence that holds at all times and under any adaptive sensing: bets on a leader's senses and on a rival's, in nats.

Let b be a leader and a a rival, and suppose that a's value is at least b's. Before a request is answered, a policy
fixes bets on what the answer will be. On that supposition the bets win nothing on average, so that what they have paid
exceeds 1/δ at any time, ever, with probability at most δ (Ville). docs/theory/adaptive.md has the proof.

*The leader* is bet on by a linear functional of its rows. For any P and V, C(W) >= sum_x P_x E_{W_x} g_x with
g_x = log(V_x / PV), so a bet that pays log((ν_x + s P_x g_x(y)) / N_x) on each of N_x senses costs at most
s C(W_b) + `price`.

*The rival*: let P be an optimal input of its true rows W, and C their capacity. Fix the senses N_x of its inputs,
tilts ω_x >= 0, and an output distribution Q > 0. With t_x = P_x ω_x and z_x = sum_y W_x(y)^(1-t_x) Q(y)^(t_x), each
sense of x that gives y multiplies by (W_x(y)/Q(y))^(-t_x) / z_x: the likelihood ratio of the tilted row and the true
one, whose mean is 1. What is unknown in it, W and P, is removed by the least value over all of them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from bestchannel.arrays import Floats, Integers
from bestchannel.native import evidence as kernels

LARGEST_INPUT = 1.0 - math.exp(-1.0)  # no input of an optimal distribution is more probable than this [MR91, SF04]
LARGEST_TILT = 1.0  # of all ω; P_x ω_x stays below 1 with it for every P_x but 1, for which there is nothing to bet on
GROUPS = 12  # groups of requests, each of which is merged to two epochs
MOST_BOXES = 200  # boxes with which a bound is looked for before it is given up
WORTH_ANOTHER_TRY = 0.6  # nats that the evidence has to grow after a bound was not found
ROUNDING = 1e-11  # nats by which a bound is raised, for each sense and each unit of weight
PATIENT_BOXES, HOPELESS = 2_000, 0.1  # boxes for somebody who checks a bound, unless so many nats more seem lost
SURE = 1e-6  # nats less that are aimed at then, since another arithmetic may give that much more

ADDED = (1.0, 2.0, 8.0)
"""Senses of every input that are added evenly to those that were bet on, for rows from which a search for a bound
begins: from few and uneven ones it may end far from the least bound."""

FEW_CELLS = 64  # of a rival's rows, up to which as many boxes serve a statement before the end; fewer for larger ones
SPARE = 0.05
"""Nats below what seems to be the evidence at which a proof of it is looked for, where no threshold says how much is
enough."""

LOG_GAMMA = np.array([math.inf, *(math.lgamma(k / 2) for k in range(1, 80))])  # log Γ(k/2) for small k

BetsMade = tuple[Floats, Floats, Floats, float, int]
"""n̄ [x, y], c [x], the history [i, senses of x | ω of x | Q of y] of every request, S, and `GROUPS`."""

Answer = tuple[Integers, Floats, Floats]
"""A rival's counts [x, y] in one request, and the tilts [x] and Q [y] of the bets on them."""

Place = tuple[Floats, Floats, Floats]  # P, log W and log R


class LeaderBets(NamedTuple):
    """Bets on the leader's senses in one request, one for each of several weights."""

    pays: Floats  # [r, x, y] log of what a sense of x that gives y is multiplied by
    price: Floats  # [r] what the bets cost beyond s C(W_b), and what rounding may add
    auxiliary: Floats  # [r, x, y] V
    multipliers: Floats  # [r, x] ν

    def settled(self, counts: Floats) -> Floats:
        """What the bets brought: sum n(x, y) pays(x, y) - price, for the same counts [x, y] or for those of each."""
        paid: Floats = (self.pays * counts).sum(axis=(1, 2))
        return paid - self.price

    @classmethod
    def joined(cls, bets: Sequence[LeaderBets], places: list[int]) -> LeaderBets:
        """Some of all these bets, by their number."""
        if len(bets) == 1 and places == list(range(len(bets[0].price))):
            return bets[0]
        return cls(*(np.concatenate(part).take(places, axis=0) for part in zip(*bets, strict=True)))


def leader_bets(W: Floats, P: Floats, senses: Floats, weights: Floats) -> LeaderBets:
    """Bets of weight s = weights[r] on the rows W, thought to be true, at the input distribution P.

    W, P and senses are [x, y], [x] and [x] for all weights, or [r, x, y], [r, x] and [r, x] with one for each.

    pays = log((ν_x + s P_x g_x(y)) / N_x) with g_x = log(V_x/PV) and ν_x such that V_x = W_x / e^pays sums to 1.
    The best V are those very rows, less valuable than W, that the bets are hardest to tell from W; they are
    found by repetition. Whatever V and ν_x, the price
    sum_x max_y (N_x (e^pays - 1) - s P_x g_x(y)) bounds log E exp(sum pays) - s C(W_b) for
    every W_b, since log z <= z - 1.
    """
    (n, m), r = W.shape[-2:], len(weights)
    bets = LeaderBets(np.empty((r, n, m)), np.empty(r), np.empty((r, n, m)), np.empty((r, n)))
    rows, inputs, often, sizes = (np.ascontiguousarray(each, dtype=np.float64) for each in (W, P, senses, weights))
    kernels.leader_bets(rows, inputs, often, sizes, bets.pays, bets.price, bets.auxiliary, bets.multipliers)
    return bets


def rival_tilts(
    W: Floats, P: Floats, senses: Floats, weights: Floats | float, fixed_input: bool = False
) -> tuple[Floats, Floats]:
    """ω [x] and Q [y] of such bets, without what they are expected to win; for one rival, or for each of several."""
    n, m = W.shape[-2:]
    one = W.ndim == 2
    rows, inputs, often = (
        np.ascontiguousarray(array, dtype=np.float64).reshape(-1, *size)
        for array, size in ((W, (n, m)), (P, (n,)), (senses, (n,)))
    )
    sizes = np.array(weights, dtype=np.float64).reshape(-1)
    tilts, Q = kernels.tilts(rows, inputs, often, sizes, LARGEST_TILT, fixed_input)
    return (tilts[0], Q[0]) if one else (tilts, Q)


@dataclass
class Account(ABC):
    """Bets against one rival since they began, of whatever kind: the state of an e-process, in nats."""

    shape: tuple[int, int]
    restarts: int = 0
    since: int = 0  # the request with which the bets began; 0 before
    weight: float = 0.0  # S
    weights: dict[int, float] = field(default_factory=dict)  # by leader; they add up to S
    total: float = 0.0  # of all senses
    estimate: float = 0.0  # the evidence at the rows and inputs where most seems to be lost
    given_up: float = -math.inf  # the estimate for which no bound was found
    worst: Place = field(init=False)  # where most was lost
    worst_known: bool = False

    def __post_init__(self) -> None:
        n, m = self.shape
        self.worst = np.empty(n), np.empty(self.shape), np.empty(m)

    @property
    def betting(self) -> bool:
        """Whether the bets have begun."""
        return self.since > 0

    @property
    def spent(self) -> bool:
        """Whether a share of δ has been used, now or before a restart."""
        return self.betting or self.restarts > 0

    @property
    def rounding(self) -> float:
        """Nats by which what is lost is raised."""
        return ROUNDING * (self.total + self.weight)

    def book(self, leader: int, weight: float) -> None:
        """Add the weight of bets on a leader."""
        self.weight += weight
        self.weights[leader] = self.weights.get(leader, 0.0) + weight

    @abstractmethod
    def proved_evidence(self, W: Floats, P: Floats, fixed_input: bool) -> float:
        """What is proved by now, whatever the rival is; rows W and inputs P are where a search begins."""


@dataclass
class RivalAccount(Account):
    """All bets against one rival on its own senses and those of leaders."""

    paid: float = 0.0  # L, by the bets on leaders, less their price
    requests: int = 0  # in which it was sensed
    counts: Floats = field(init=False)  # [x, y] of the rival, each sense weighted with its ω
    charged: Floats = field(init=False)  # [x] the sum of ω log Q over them

    def __post_init__(self) -> None:
        super().__post_init__()
        n, m = self.shape
        self.counts, self.charged = np.zeros(self.shape), np.zeros(n)
        self._history = np.empty((8, 2 * n + m))  # a row for each request, as far as there are any

    @cached_property
    def addresses(self) -> list[int]:
        """From where the kernels read all bets."""
        return kernels.addresses(self.counts, self.charged, self._history, *self.worst)

    def __getstate__(self) -> dict[str, Any]:
        """A copy has arrays of its own."""
        return {name: value for name, value in self.__dict__.items() if name != "addresses"}

    @property
    def lost_by_senses_alone(self) -> float | None:
        """What can be lost at most where no sense tells more: no capacity is larger than log min(n, m)."""
        return None if min(self.shape) > 1 and self.total else self.weight * math.log(min(self.shape))

    @property
    def bets(self) -> BetsMade:
        """All bets, as the kernels take them."""
        return self.counts, self.charged, self._history[: self.requests], self.weight, GROUPS

    @property
    def worst_address(self) -> int:
        """Where the kernels find it; 0 before."""
        return self.addresses[3] if self.worst_known else 0

    def settle(self, leader: int, paid: float, weight: float) -> None:
        """Book what the bets on the leader's senses paid."""
        self.paid += paid
        self.book(leader, weight)

    def next_row(self) -> int:
        """The row of the history that the next request fills."""
        if self.requests == len(self._history):
            self._history = np.concatenate((self._history, np.empty_like(self._history)))
            self.__dict__.pop("addresses", None)
        return self.requests

    def evidence(self, W: Floats, P: Floats, epsilon: float, threshold: float, fixed_input: bool) -> float:
        """See `evidence_against`."""
        return evidence_against([self], W[None], P[None], [0], [threshold], epsilon, fixed_input)[0]

    def proved_evidence(self, W: Floats, P: Floats, fixed_input: bool) -> float:
        """L less what the rival's senses can have lost at most: proved, whatever it is. The account stays as it is."""
        if self.lost_by_senses_alone is not None:
            return self.paid - self.lost_by_senses_alone
        aside = deepcopy(self)
        most = _climbed([aside], W[None], P[None], [math.inf], fixed_input)[0] + SPARE
        if not fixed_input:
            boxes = max(MOST_BOXES * FEW_CELLS // max(FEW_CELLS, W.size), 2)
            most = max(most, kernels.bounded(*aside.bets, *aside.worst, LARGEST_INPUT, most, boxes)[0])
        return self.paid - most - self.rounding

    def covers(self, W: Floats, P: Floats, most: float, fixed_input: bool) -> Iterator[kernels.Cover]:
        """What may show that at most so many nats were lost on the rival's senses. The account stays as it is.

        At first that by which the policy itself saw it. Whoever checks it need not believe it.
        """
        if self.worst_known:
            yield deepcopy(self)._cover(most, MOST_BOXES, fixed_input)
        aside = deepcopy(self)
        if _climbed([aside], W[None], P[None], [math.inf], fixed_input)[0] <= most + HOPELESS:
            yield aside._cover(most, PATIENT_BOXES, fixed_input)

    def _cover(self, most: float, boxes: int, fixed_input: bool) -> kernels.Cover:
        """From where most was lost, which moves."""
        if not fixed_input:
            return kernels.bounded(*self.bets, *self.worst, LARGEST_INPUT, most - SURE, boxes)[1]
        _, log_W, log_R = self.worst
        return kernels.Cover(np.empty((0, 3)), log_R[None], np.stack((log_W, log_W))[None])

    def _weigh(self, lost: float, gained: float, threshold: float, fixed_input: bool) -> float:
        """The evidence, once it is known what seems to be lost."""
        self.worst_known, self.estimate = True, gained - lost
        if fixed_input or self.estimate < threshold:
            return self.estimate
        if self.estimate < self.given_up + WORTH_ANOTHER_TRY:
            return math.nextafter(threshold, -math.inf)
        proved = gained - kernels.bounded(*self.bets, *self.worst, LARGEST_INPUT, gained - threshold, MOST_BOXES)[0]
        if proved < threshold:  # `worst` is now where the bound fails, and the estimate is corrected
            lost = kernels.climbed(*self.bets, *self.worst, LARGEST_INPUT)
            self.given_up = self.estimate = min(self.estimate, gained - lost)
        return proved


def settle_senses(accounts: Sequence[RivalAccount], tilts: Floats, outputs: Floats, counts: Floats) -> None:
    """Book the counts [c, x, y] of rivals of one size, on which bets of these ω [c, x] and Q [c, y] were made."""
    rows = [account.next_row() for account in accounts]
    senses = kernels.settle([account.addresses for account in accounts], rows, tilts, outputs, counts)
    for account, total in zip(accounts, senses, strict=True):
        account.requests += 1
        account.total += total


def evidence_against(
    accounts: Sequence[RivalAccount],
    W: Floats,
    P: Floats,
    places: Sequence[int],
    thresholds: Sequence[float],
    epsilon: float,
    fixed_input: bool,
) -> list[float]:
    """L + Sε less what the senses of each rival, all of one size, can have lost at most.

    Proved where it reaches the threshold; below, it is the estimate from where most seems to be lost. That is first
    looked for at the rows W [c, x, y] and inputs P [c, x] at the rival's place c.
    """
    gained = [account.paid + epsilon * account.weight for account in accounts]
    evidence, told = [math.nan] * len(accounts), list[int]()
    for i, account in enumerate(accounts):
        most = account.lost_by_senses_alone
        if most is None:
            gained[i] -= account.rounding
            told.append(i)
        else:
            evidence[i] = account.estimate = gained[i] - most
    if told:
        at, targets = [places[i] for i in told], [gained[i] - thresholds[i] for i in told]
        lost = _climbed([accounts[i] for i in told], W.take(at, axis=0), P.take(at, axis=0), targets, fixed_input)
        for i, nats in zip(told, lost, strict=True):
            evidence[i] = accounts[i]._weigh(nats, gained[i], thresholds[i], fixed_input)
    return evidence


def _climbed(
    accounts: Sequence[RivalAccount], W: Floats, P: Floats, targets: Sequence[float], fixed_input: bool
) -> list[float]:
    """The most that each account, all of one size, seems to lose; looked for from where it was before."""
    for account, first in zip(accounts, P, strict=True):
        if not account.worst_known:
            account.worst[0][:] = first
    lost = kernels.climbs(
        [account.addresses for account in accounts],
        [account.requests for account in accounts],
        GROUPS,
        [account.weight for account in accounts],
        W,
        [account.worst_known for account in accounts],
        targets,
        0.0 if fixed_input else LARGEST_INPUT,
    )
    return lost.tolist()


def covers_of(
    shape: tuple[int, int], requests: Sequence[Answer], weight: float, fixed: Floats | None, most: float
) -> Iterator[kernels.Cover]:
    """`RivalAccount.covers` of bets of which no more is known than what was staked, in all and request by request."""
    for added in ADDED:
        account, W, P = _account_of(shape, requests, weight, fixed, added)
        yield from account.covers(W, P, most, fixed is not None)


def loss_of(shape: tuple[int, int], requests: Sequence[Answer], weight: float, fixed: Floats | None) -> float:
    """Nats that such bets have lost at most, as far as that can be shown."""
    losses = []
    for added in ADDED:
        account, W, P = _account_of(shape, requests, weight, fixed, added)
        losses.append(-account.proved_evidence(W, P, fixed is not None))
    return min(losses)


def _account_of(
    shape: tuple[int, int], requests: Sequence[Answer], weight: float, fixed: Floats | None, added: float
) -> tuple[RivalAccount, Floats, Floats]:
    """The account of bets, and rows and inputs to begin a search with."""
    account, seen = RivalAccount(shape, weight=weight), np.full(shape, added / shape[1])
    for counts, tilts, outputs in requests:
        settle_senses([account], tilts[None], outputs[None], counts[None].astype(np.float64))
        seen += counts
    P = np.full(shape[0], 1.0 / shape[0]) if fixed is None else fixed
    return account, seen / seen.sum(axis=1, keepdims=True), P


def log_gamma(k: Floats) -> Floats:
    """log Γ(k/2) of whole numbers k ≥ 1, to a few units of its last digit: from a table, or by Stirling's series.

    log Γ(x) = (x - ½) log x - x + ½ log 2π + 1/12x - 1/360x³ + 1/1260x⁵ - 1/1680x⁷ + …, whose rest is less than its
    next term, 1/1188x⁹ [DLMF, 5.11.1]. scipy.special has it as well, and takes a quarter of a second to import.
    """
    x = np.maximum(k, len(LOG_GAMMA)) / 2.0
    y = 1.0 / x**2
    series = (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y / 1680))) / x
    large = (x - 0.5) * np.log(x) - x + 0.5 * math.log(2.0 * math.pi) + series
    return np.where(k < len(LOG_GAMMA), LOG_GAMMA[np.minimum(k, len(LOG_GAMMA) - 1).astype(np.int64)], large)
