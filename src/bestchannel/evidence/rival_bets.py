"""Evidence against one rival: bets on its senses that win nothing on average, whatever its true rows and inputs are.

Let P be an optimal input of the rival's true rows W, and C their capacity. Before a request is answered, fix the
senses N_x of its inputs, tilts ω_x >= 0, an output distribution Q > 0, and bets of weight s on the leader's senses
(`evidence.leader_bets`). With t_x = P_x ω_x and z_x = sum_y W_x(y)^(1-t_x) Q(y)^(t_x), each sense of x that gives y
multiplies by (W_x(y)/Q(y))^(-t_x) / z_x: the likelihood ratio of the tilted row and the true one, whose mean is 1. What
is unknown in it, W and P, is removed by the least value over all of them. docs/theory/adaptive.md has the proof.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from bestchannel.arrays import Floats, Integers
from bestchannel.native import evidence as kernels
from bestchannel.native.mathematics import log

LARGEST_INPUT = 1.0 - math.exp(-1.0)
"""No input of a capacity-achieving distribution is more probable than this [MR91, SF04]."""

LARGEST_TILT = 1.0
"""Of all ω; P_x ω_x stays below 1 with it for every P_x but 1, for which there is nothing to bet on."""

GROUPS = 2
"""Groups of requests, each of which is merged to two epochs."""

MOST_BOXES = 200
"""Boxes with which a bound is looked for before it is given up."""

PATIENT_BOXES, HOPELESS = 2_000, 0.1
"""The same for somebody who checks a bound, unless about so many nats more seem to be lost."""

SURE = 1e-6
"""Nats less that are aimed at then, since another arithmetic may give that much more."""

WORTH_ANOTHER_TRY = 0.6
"""Nats that the evidence has to grow after a bound was not found."""

ROUNDING = 1e-11
"""Nats by which a bound is raised, for each sense and each unit of weight."""

FEW_CELLS = 64
"""Cells of a rival's rows up to which as many boxes serve a statement before the end; of larger ones, fewer."""

SPARE = 0.05
"""Nats below what seems to be the evidence at which a proof of it is looked for, where no threshold says how much is
enough."""


BetsMade = tuple[Floats, Floats, Floats, Floats, Floats, float, int]
"""n̄ [x, y], c [x], senses [i, x], tilts [i, x] and Q [i, y] of every request, S, and `GROUPS`."""

Answer = tuple[Integers, Floats, Floats]
"""A rival's counts [x, y] in one request, and the tilts [x] and Q [y] of the bets on them."""

Place = tuple[Floats, Floats, Floats]
"""P, log W and log R."""


class RivalBet(NamedTuple):
    """A bet on a rival's senses in one request, of one of several weights."""

    size: int  # which of the weights
    tilts: Floats  # [x] ω
    outputs: Floats  # [y] Q
    growth: float  # nats that it should win, with the bets on the leader


def rival_bets(
    W: Floats,
    P: Floats,
    senses: Floats,
    gaps: Floats,
    weights: Floats,
    gained: Floats,
    fixed_input: bool,
    worst: Sequence[Floats | None],
) -> list[RivalBet]:
    """For every rival c of one size, the bet that should win most of the weights s = weights[c, i], which fall.

    `gained` [c, i] is won on the leader, which is thought to be ahead by gaps[c]. The rows W [c, x, y] are thought to
    be true, P [c, x] is their best input, and `worst` [c] the one at which the bets so far have lost most.
    """
    known = np.array([at is not None and not fixed_input for at in worst], dtype=np.int64)
    starts = np.array([inputs if at is None else at for inputs, at in zip(P, worst, strict=True)])
    growths, largest = np.array(gained), 0.0 if fixed_input else LARGEST_INPUT
    sizes, tilts, Q = kernels.choices(W, P, senses, gaps, weights, growths, starts, known, largest, LARGEST_TILT)
    growth = growths[np.arange(len(sizes)), sizes]
    return [RivalBet(*bet) for bet in zip(sizes.tolist(), tilts, Q, growth.tolist(), strict=True)]


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
class RivalAccount:
    """All bets against one rival since they began: the state of an e-process, in nats."""

    shape: tuple[int, int]
    restarts: int = 0
    since: int = 0  # the request with which the bets began; 0 before
    paid: float = 0.0  # L, by the bets on leaders, less their price
    weight: float = 0.0  # S
    weights: dict[int, float] = field(default_factory=dict)  # by leader; they add up to S
    total: float = 0.0  # of all senses
    requests: int = 0  # in which it was sensed
    counts: Floats = field(init=False)  # [x, y] of the rival, each sense weighted with its ω
    charged: Floats = field(init=False)  # [x] the sum of ω log Q over them
    estimate: float = 0.0  # the evidence at the rows and inputs where most seems to be lost
    given_up: float = -math.inf  # the estimate for which no bound was found
    _history: Floats = field(init=False)  # [request, senses of x | ω of x | Q of y], and room for more requests
    _worst: Place | None = None  # where most was lost

    def __post_init__(self) -> None:
        n_inputs, n_outputs = self.shape
        self._history = np.empty((8, 2 * n_inputs + n_outputs))
        self.counts, self.charged = np.zeros(self.shape), np.zeros(n_inputs)

    @property
    def betting(self) -> bool:
        """Whether the bets have begun."""
        return self.since > 0

    @property
    def spent(self) -> bool:
        """Whether a share of δ has been used, now or before a restart."""
        return self.betting or self.restarts > 0

    def settle(
        self, leader: int, paid: float, weight: float, tilts: Floats, outputs: Floats, counts: Floats | None
    ) -> None:
        """Book the answer to a request: what the leader's bets paid, and the rival's counts, if it was sensed."""
        self.paid += paid
        self.weight += weight
        self.weights[leader] = self.weights.get(leader, 0.0) + weight
        if counts is None:
            return
        if self.requests == len(self._history):
            self._history = np.concatenate((self._history, np.empty_like(self._history)))
        n, row = self.shape[0], self._history[self.requests]
        counts.sum(axis=1, out=row[:n])
        row[n : 2 * n], row[2 * n :] = tilts, outputs
        self.requests += 1
        self.total += float(row[:n].sum())
        self.counts += tilts[:, None] * counts
        self.charged += tilts * (counts * log(outputs)).sum(axis=1)

    def evidence(self, W: Floats, P: Floats, epsilon: float, threshold: float, fixed_input: bool) -> float:
        """See `evidence_against`."""
        return evidence_against([Question(self, W, P, threshold)], epsilon, fixed_input)[0]

    def proved_evidence(self, W: Floats, P: Floats, fixed_input: bool) -> float:
        """L less what the rival's senses can have lost at most: proved, whatever it is. The account stays as it is."""
        if self.lost_by_senses_alone is not None:
            return self.paid - self.lost_by_senses_alone
        lost, worst = _climbed([self], W[None], P[None], [math.inf], fixed_input)
        most = float(lost[0]) + SPARE
        if not fixed_input:
            boxes = max(MOST_BOXES * FEW_CELLS // max(FEW_CELLS, W.size), 2)
            most = max(most, kernels.bounded(*self.bets, *worst[0], LARGEST_INPUT, most, boxes)[0])
        return self.paid - most - self.rounding

    def covers(self, W: Floats, P: Floats, most: float, fixed_input: bool) -> Iterator[kernels.Cover]:
        """What may show that at most so many nats were lost on the rival's senses. The account stays as it is.

        At first that by which the policy itself saw it. Whoever checks it need not believe it.
        """
        if self._worst is not None:
            yield self._cover(self._worst, most, MOST_BOXES, fixed_input)
        lost, [worst] = _climbed([self], W[None], P[None], [math.inf], fixed_input)
        if lost[0] <= most + HOPELESS:
            yield self._cover(worst, most, PATIENT_BOXES, fixed_input)

    def _cover(self, place: Place, most: float, boxes: int, fixed_input: bool) -> kernels.Cover:
        P, log_W, log_R = (array.copy() for array in place)
        if fixed_input:
            return kernels.Cover(np.empty((0, 3)), log_R[None], np.stack((log_W, log_W))[None])
        return kernels.bounded(*self.bets, P, log_W, log_R, LARGEST_INPUT, most - SURE, boxes)[1]

    @property
    def lost_by_senses_alone(self) -> float | None:
        """What can be lost at most where no sense tells more: no capacity is larger than log min(n, m)."""
        return None if min(self.shape) > 1 and self.total else self.weight * math.log(min(self.shape))

    @property
    def rounding(self) -> float:
        """Nats by which what is lost is raised."""
        return ROUNDING * (self.total + self.weight)

    @property
    def bets(self) -> BetsMade:
        """All bets, as the kernels take them."""
        n, history = self.shape[0], self._history[: self.requests]
        return (
            self.counts, self.charged, history[:, :n], history[:, n : 2 * n], history[:, 2 * n :], self.weight, GROUPS
        )  # fmt: skip

    @property
    def worst_input(self) -> Floats | None:
        """Where most was lost when the evidence was last looked at."""
        return None if self._worst is None else self._worst[0]

    def judged(self, lost: float, worst: Place, gained: float, threshold: float, fixed_input: bool) -> float:
        """The evidence, once it is known what seems to be lost, and where most."""
        self._worst, self.estimate = worst, gained - lost
        if fixed_input or self.estimate < threshold:
            return self.estimate
        if self.estimate < self.given_up + WORTH_ANOTHER_TRY:
            return math.nextafter(threshold, -math.inf)
        proved = gained - kernels.bounded(*self.bets, *worst, LARGEST_INPUT, gained - threshold, MOST_BOXES)[0]
        if proved < threshold:  # `worst` is now where the bound fails, and the estimate is corrected
            lost = kernels.climbed(*self.bets, *worst, LARGEST_INPUT)
            self.given_up = self.estimate = min(self.estimate, gained - lost)
        return proved


class Question(NamedTuple):
    """How strong the evidence of an account is, up to a threshold; W and P are where to look first."""

    account: RivalAccount
    rows: Floats
    inputs: Floats
    threshold: float


def evidence_against(questions: Sequence[Question], epsilon: float, fixed_input: bool) -> list[float]:
    """L + Sε less what a rival's senses can have lost at most: proved where it reaches the threshold.

    Below the threshold it is the estimate from where most seems to be lost. Rivals of one size are looked at together.
    """
    gained = [account.paid + epsilon * account.weight for account, *_ in questions]
    found = [math.nan] * len(questions)
    alike: dict[tuple[int, int], list[int]] = {}
    for i, (account, *_) in enumerate(questions):
        most = account.lost_by_senses_alone
        if most is None:
            gained[i] -= account.rounding
            alike.setdefault(account.shape, []).append(i)
        else:
            found[i] = account.estimate = gained[i] - most
    for places in alike.values():
        accounts, rows, inputs, thresholds = zip(*(questions[i] for i in places), strict=True)
        targets = [gained[i] - threshold for i, threshold in zip(places, thresholds, strict=True)]
        lost, worst = _climbed(accounts, np.array(rows), np.array(inputs), targets, fixed_input)
        for c, (i, threshold) in enumerate(zip(places, thresholds, strict=True)):
            found[i] = accounts[c].judged(float(lost[c]), worst[c], gained[i], threshold, fixed_input)
    return found


def _climbed(
    accounts: Sequence[RivalAccount], W: Floats, P: Floats, targets: Sequence[float], fixed_input: bool
) -> tuple[Floats, list[Place]]:
    """The most that each account, all of one size, seems to lose, and where; looked for from where it was before."""
    c, n, m = W.shape
    known = np.array([account._worst is not None for account in accounts], dtype=np.int64)
    inputs, logW, logR = np.array(P, dtype=np.float64), np.empty((c, n, m)), np.empty((c, m))
    for i, account in enumerate(accounts):
        if account._worst is not None:
            inputs[i], logW[i], logR[i] = account._worst
    lost = kernels.climbs(
        np.array([account.requests for account in accounts]),
        GROUPS,
        np.array([account.counts for account in accounts]),
        np.array([account.charged for account in accounts]),
        np.concatenate([account._history[: account.requests] for account in accounts]),
        np.array([account.weight for account in accounts]),
        np.array(W, dtype=np.float64),
        known,
        np.array(targets, dtype=np.float64),
        0.0 if fixed_input else LARGEST_INPUT,
        inputs,
        logW,
        logR,
    )
    return lost, list(zip(inputs, logW, logR, strict=True))


def covers_of(
    shape: tuple[int, int], requests: Sequence[Answer], weight: float, fixed: Floats | None, most: float
) -> Iterator[kernels.Cover]:
    """`RivalAccount.covers` of bets of which no more is known than what was staked, in all and request by request."""
    account, seen = RivalAccount(shape, weight=weight), np.full(shape, 1.0 / shape[1])
    for counts, tilts, outputs in requests:
        account.settle(0, 0.0, 0.0, tilts, outputs, counts.astype(np.float64))
        seen += counts
    P = np.full(shape[0], 1.0 / shape[0]) if fixed is None else fixed
    yield from account.covers(seen / seen.sum(axis=1, keepdims=True), P, most, fixed is not None)
