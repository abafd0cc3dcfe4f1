"""How large the bets against a rival should be. Any size is valid; these should win most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bestchannel.arrays import Floats
from bestchannel.evidence.leader_bets import LeaderBets, leader_bets
from bestchannel.evidence.rival_bets import RivalBet, rival_bets
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
        return float(((self.inputs * self.deviations) ** 2 / self.senses).sum())


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
    groups = _groups(list(rivals.values()))
    theirs, most = np.zeros(len(rivals)), np.full(len(rivals), np.inf)
    for group in groups:
        theirs[group.places], most[group.places] = group.variances(), group.largest_weights()
    largest = np.minimum(gaps / np.maximum(leader.variance() + theirs, 1e-12), most)
    weights = largest[:, None] * SIZES
    on_leader = leader_bets(leader.rows, leader.inputs, leader.senses, weights.ravel())
    paid = on_leader.settled(leader.senses[:, None] * leader.rows)
    gained = paid.reshape(weights.shape) + weights * epsilon
    shown = 2.0 * (weights * (leader.value() + epsilon) - gained) / weights**2
    chosen, places = dict[int, ChosenBet](), list[int]()
    best = dict[int, RivalBet]()
    for group in groups:
        at = group.places
        bets = rival_bets(
            group.rows, group.inputs, group.senses, gaps[at], weights[at], gained[at], fixed_input, group.worst
        )
        best.update(zip(at, bets, strict=True))
    for i, number in enumerate(rivals):
        bet = best[i] if i in best else _worthless_bet(gained[i])
        if bet.growth > 0.0:
            seen = float(shown[i, bet.size])
            stake = RivalStake(float(weights[i, bet.size]), bet.tilts, bet.outputs)
            chosen[number] = ChosenBet(stake, (seen, float(gaps[i]) ** 2 / (2.0 * bet.growth) - seen))
            places.append(i * len(SIZES) + bet.size)
    return on_leader.at(places), chosen


class Group(NamedTuple):
    """Rivals of one size, about to be sensed."""

    places: list[int]
    rows: Floats  # [c, x, y]
    inputs: Floats  # [c, x]
    deviations: Floats  # [c, x]
    senses: Floats  # [c, x]
    worst: list[Floats | None]  # [c] the input at which most was lost so far

    def variances(self) -> Floats:
        """See `Sensed.variance`."""
        each: Floats = ((self.inputs * self.deviations) ** 2 / self.senses).sum(axis=1)
        return each

    def largest_weights(self) -> Floats:
        """The largest weight that suits each."""
        n = self.senses.shape[1]
        largest = LARGEST_ON_BINARY if n == 2 else min(LARGEST_ON_RIVAL, LARGEST_OVER_INPUTS / n)
        return largest * self.senses.min(axis=1)


def _groups(rivals: Sequence[Sensed | None]) -> list[Group]:
    """The rivals that are sensed, those of one size together."""
    alike: dict[tuple[int, ...], list[tuple[int, Sensed]]] = {}
    for place, rival in enumerate(rivals):
        if rival is not None:
            alike.setdefault(rival.rows.shape, []).append((place, rival))
    return [
        Group(
            [place for place, _ in found],
            np.array([rival.rows for _, rival in found]),
            np.array([rival.inputs for _, rival in found]),
            np.array([rival.deviations for _, rival in found]),
            np.array([rival.senses for _, rival in found]),
            [rival.worst for _, rival in found],
        )
        for found in alike.values()
    ]


def _worthless_bet(growths: Floats) -> RivalBet:
    """The bet against a rival whose value is 0 by its alphabet: there is nothing to bet on but the leader."""
    size = int(np.argmax(growths))
    return RivalBet(size, np.zeros(0), np.zeros(0), float(growths[size]))
