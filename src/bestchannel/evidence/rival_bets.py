"""Evidence against one rival: bets on its senses that win nothing on average, whatever its true rows and inputs are.

Let P be an optimal input of the rival's true rows W, and C their capacity. Before a request is answered, fix the
senses N_x of its inputs, tilts ω_x >= 0, an output distribution Q > 0, and bets of weight s on the leader's senses
(`evidence.leader_bets`). With t_x = P_x ω_x and z_x = sum_y W_x(y)^(1-t_x) Q(y)^(t_x), each sense of x that gives y
multiplies by (W_x(y)/Q(y))^(-t_x) / z_x: the likelihood ratio of the tilted row and the true one, whose mean is 1. What
is unknown in it, W and P, is removed by the least value over all of them. docs/theory/adaptive.md has the proof.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from bestchannel.arrays import Floats
from bestchannel.compiled import Kernels

bet_kernels = Kernels("bestchannel.evidence.rival_bet_kernels", seconds=6, same_in_python=True)
bound_kernels = Kernels("bestchannel.evidence.rival_bound_kernels", seconds=6, same_in_python=True)

LARGEST_INPUT = 1.0 - math.exp(-1.0)
"""No input of a capacity-achieving distribution is more probable than this [MR91, SF04]."""

LARGEST_TILT = 1.0
"""Of all ω; P_x ω_x stays below 1 with it for every P_x but 1, for which there is nothing to bet on."""

GROUPS = 2
"""Groups of requests, each of which is merged to two epochs."""

MOST_BOXES = 200
"""Boxes with which a bound is looked for before it is given up."""

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

Place = tuple[Floats, ...]
"""P, log W and log R."""


NOWHERE = np.empty(0)
"""No input distribution."""


class RivalBet(NamedTuple):
    """A bet on a rival's senses in one request, of one of several weights."""

    size: int  # which of the weights
    tilts: Floats  # [x] ω
    outputs: Floats  # [y] Q
    growth: float  # nats that it should win, with the bets on the leader


def rival_bet(
    W: Floats,
    P: Floats,
    senses: Floats,
    gap: float,
    weights: Floats,
    gained: Floats,
    fixed_input: bool,
    worst: Floats | None = None,
) -> RivalBet:
    """The bet that should win most, of the weights s = weights[i], which fall; `gained` is won on the leader.

    The rows W are thought to be true, P is their best input, and the leader is thought to be ahead by the gap. `worst`
    is the input distribution at which the bets so far have lost most.
    """
    tilts, outputs, growths = np.empty(len(P)), np.empty(W.shape[1]), gained.copy()
    largest, worst = (0.0, None) if fixed_input else (LARGEST_INPUT, worst)
    size = bet_kernels().best_bet(
        W, P, senses, gap, weights, growths, NOWHERE if worst is None else worst, largest, LARGEST_TILT, tilts, outputs
    )
    return RivalBet(size, tilts, outputs, float(growths[size]))


def rival_tilts(W: Floats, P: Floats, senses: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """ω [r, x] and Q [r, y] of such bets, one for each weight, without what they are expected to win.

    Each weight s = weights[r] > 0 has rows W [r, x, y], a best input P [r, x], and the senses [r, x].
    """
    tilts, outputs = np.empty(P.shape), np.empty((len(W), W.shape[2]))
    bet_kernels().bets(W, P, senses, weights, LARGEST_TILT, tilts, outputs)
    return tilts, outputs


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
    senses: Floats = field(init=False)  # [i, x] of every request in which it was sensed
    tilts: Floats = field(init=False)  # [i, x] ω
    outputs: Floats = field(init=False)  # [i, y] Q
    counts: Floats = field(init=False)  # [x, y] of the rival, each sense weighted with its ω
    charged: Floats = field(init=False)  # [x] the sum of ω log Q over them
    estimate: float = 0.0  # the evidence at the rows and inputs where most seems to be lost
    given_up: float = -math.inf  # the estimate for which no bound was found
    _worst: Place | None = None  # where most was lost

    def __post_init__(self) -> None:
        n_inputs, n_outputs = self.shape
        self.senses, self.tilts = np.empty((0, n_inputs)), np.empty((0, n_inputs))
        self.outputs = np.empty((0, n_outputs))
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
        senses = counts.sum(axis=1)
        self.total += float(senses.sum())
        self.senses = np.concatenate((self.senses, senses[None]))
        self.tilts = np.concatenate((self.tilts, tilts[None]))
        self.outputs = np.concatenate((self.outputs, outputs[None]))
        self.counts += tilts[:, None] * counts
        self.charged += tilts * (counts @ np.log(outputs))

    def evidence(self, W: Floats, P: Floats, epsilon: float, threshold: float, fixed_input: bool) -> float:
        """L + Sε less what the rival's senses can have lost at most: proved where it reaches the threshold.

        Below the threshold it is the estimate from where most seems to be lost; `W` and `P` are where to look first.
        """
        gained = self.paid + epsilon * self.weight
        if min(self.shape) == 1 or not self.total:
            self.estimate = gained - self.weight * math.log(min(self.shape))  # no capacity is larger
            return self.estimate
        bets, largest = self._bets(), 0.0 if fixed_input else LARGEST_INPUT
        gained -= self._rounding()
        lost, self._worst = _climbed(bets, self._worst or _start(W, P), W, largest, gained - threshold)
        self.estimate = gained - lost
        if fixed_input or self.estimate < threshold:
            return self.estimate
        if self.estimate < self.given_up + WORTH_ANOTHER_TRY:
            return math.nextafter(threshold, -math.inf)
        return self._proved(bets, gained, threshold)

    def proved_evidence(self, W: Floats, P: Floats, fixed_input: bool) -> float:
        """L less what the rival's senses can have lost at most: proved, whatever it is. The account stays as it is."""
        if min(self.shape) == 1 or not self.total:
            return self.paid - self.weight * math.log(min(self.shape))
        bets, largest = self._bets(), 0.0 if fixed_input else LARGEST_INPUT
        start = _start(W, P) if self._worst is None else tuple(part.copy() for part in self._worst)
        lost, worst = _climbed(bets, start, W, largest, math.inf)
        lost += SPARE
        if not fixed_input:
            boxes = MOST_BOXES * FEW_CELLS // max(FEW_CELLS, W.size)
            lost = max(lost, bound_kernels().bounded(*bets, *worst, largest, lost, max(boxes, 2)))
        return self.paid - lost - self._rounding()

    def _rounding(self) -> float:
        return ROUNDING * (self.total + self.weight)

    def _proved(self, bets: BetsMade, gained: float, threshold: float) -> float:
        """The evidence with what was lost at most; where that misses the threshold, the estimate is corrected."""
        assert self._worst is not None
        proved: float = gained - bound_kernels().bounded(
            *bets, *self._worst, LARGEST_INPUT, gained - threshold, MOST_BOXES
        )
        if proved < threshold:  # `worst` is now where the bound fails
            lost = bound_kernels().climbed(*bets, *self._worst, LARGEST_INPUT)
            self.given_up = self.estimate = min(self.estimate, gained - lost)
        return proved

    @property
    def worst_input(self) -> Floats | None:
        """Where most was lost when the evidence was last looked at."""
        return None if self._worst is None else self._worst[0]

    def _bets(self) -> BetsMade:
        return self.counts, self.charged, self.senses, self.tilts, self.outputs, self.weight, GROUPS


def _climbed(bets: BetsMade, start: Place, W: Floats, largest: float, target: float) -> tuple[float, Place]:
    """The most that seems to be lost, and where that is; `start` moves.

    A climb ends at the next top, which may not be the highest: where it stays below the target, another one
    begins with all inputs alike.
    """
    lost: float = bound_kernels().climbed(*bets, *start, largest)
    if largest > 0.0 and lost <= target:
        other = _start(W, np.full(len(W), 1.0 / len(W)))
        lost_there: float = bound_kernels().climbed(*bets, *other, largest)
        if lost_there > lost:
            return lost_there, other
    return lost, start


def _start(W: Floats, P: Floats) -> Place:
    """Where a climb begins."""
    inputs = np.array(P, dtype=np.float64)
    return inputs, np.log(W), np.log(inputs @ W)
