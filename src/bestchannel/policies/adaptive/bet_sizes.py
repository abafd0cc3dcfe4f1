"""How large the bets against a rival should be. Any size is valid; these should win most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bestchannel.arrays import Floats
from bestchannel.evidence.leader_bets import LeaderBets, leader_bets
from bestchannel.evidence.rival_bets import Prospect, RivalBet, rival_bets
from bestchannel.native.mathematics import log
from bestchannel.policies.adaptive.stakes import RivalStake

SIZES = np.array([1.0, 0.75, 0.5, 0.25])
"""Weights that are tried until less is won, relative to gap / (v_b + v_a), which is best for a small gap."""

LARGEST_ON_BINARY, LARGEST_ON_RIVAL, LARGEST_OVER_INPUTS = 1.0, 0.5, 4.0
"""The largest weight for each sense of the input that is sensed least: with two inputs, with more, and with n: 4/n.

Of larger bets most may be lost far from the estimated inputs, at some that are hardly sensed, and no bound is found.
"""


@dataclass(frozen=True)
class Sensed:
    """A channel about to be sensed: its rows and best inputs, as they are thought to be, and the senses."""

    rows: Floats
    inputs: Floats
    deviations: Floats
    senses: Floats  # [x]
    worst: Floats | None = None  # of a rival: the input at which most was lost so far

    def value(self) -> float:
        """sum_x P_x D(W_x‖PW)."""
        weighted = self.inputs[:, None] * self.rows
        return float((weighted * log(self.rows / weighted.sum(axis=0))).sum())

    def variance(self) -> float:
        """Of the value estimated from these senses: sum_x P_x² V_x / N_x."""
        return float((self.inputs**2 * self.deviations**2 / self.senses).sum())


@dataclass(frozen=True)
class ChosenBet:
    """A stake against one rival, and the variances of the leader's value and the rival's that the bets show.

    They are those of a normal approximation in which the evidence grows as much, gap² / (2 (v_b + v_a)), and in which
    bets of weight s on the leader bring s C_b - s² v_b / 2.
    """

    stake: RivalStake
    variances: tuple[float, float]  # v_b and v_a, with the senses of this request


def chosen_bets(
    leader: Sensed, rivals: Mapping[int, Sensed | None], gaps: Floats, epsilon: float, fixed_input: bool
) -> tuple[LeaderBets, dict[int, ChosenBet]]:
    """The bet against every rival that should win most, of the weights tried, and the bets on the leader with it.

    A rival is left out where none should win, and is None where its value is 0 by its alphabet. `gaps` are those by
    which the leader is ahead, cautiously.
    """
    own = leader.variance()
    theirs = np.array([0.0 if rival is None else rival.variance() for rival in rivals.values()])
    largest = np.minimum(gaps / np.maximum(own + theirs, 1e-12), [_largest_weight(rival) for rival in rivals.values()])
    weights = largest[:, None] * SIZES
    on_leader = leader_bets(leader.rows, leader.inputs, leader.senses, weights.ravel())
    paid = on_leader.settled(leader.senses[:, None] * leader.rows)
    gained = paid.reshape(weights.shape) + weights * epsilon
    shown = 2.0 * (weights * (leader.value() + epsilon) - gained) / weights**2
    chosen, places = dict[int, ChosenBet](), list[int]()
    best = _best_bets(list(rivals.values()), gaps.tolist(), weights, gained, fixed_input)
    for i, (number, bet) in enumerate(zip(rivals, best, strict=True)):
        if bet.growth > 0.0:
            seen = float(shown[i, bet.size])
            stake = RivalStake(float(weights[i, bet.size]), bet.tilts, bet.outputs)
            chosen[number] = ChosenBet(stake, (seen, float(gaps[i]) ** 2 / (2.0 * bet.growth) - seen))
            places.append(i * len(SIZES) + bet.size)
    return on_leader.at(places), chosen


def _largest_weight(rival: Sensed | None) -> float:
    if rival is None:
        return np.inf
    n = len(rival.senses)
    largest = LARGEST_ON_BINARY if n == 2 else min(LARGEST_ON_RIVAL, LARGEST_OVER_INPUTS / n)
    return largest * float(rival.senses.min())


def _best_bets(
    rivals: Sequence[Sensed | None], gaps: Sequence[float], weights: Floats, gained: Floats, fixed_input: bool
) -> list[RivalBet]:
    """Of the weights of every rival, the one whose bets should win most; rivals of one size are looked at together."""
    best = [_worthless_bet(growths) for growths in gained]
    alike: dict[tuple[int, ...], list[int]] = {}
    for i, rival in enumerate(rivals):
        if rival is not None:
            alike.setdefault(rival.rows.shape, []).append(i)
    for places in alike.values():
        sensed = [(i, rival) for i in places if (rival := rivals[i]) is not None]
        prospects = [Prospect(r.rows, r.inputs, r.senses, gaps[i], weights[i], gained[i], r.worst) for i, r in sensed]
        for i, bet in zip(places, rival_bets(prospects, fixed_input), strict=True):
            best[i] = bet
    return best


def _worthless_bet(growths: Floats) -> RivalBet:
    """The bet against a rival whose value is 0 by its alphabet: there is nothing to bet on but the leader."""
    size = int(np.argmax(growths))
    return RivalBet(size, np.zeros(0), np.zeros(0), float(growths[size]))
