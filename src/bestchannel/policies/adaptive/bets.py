"""The bets of `Adaptive` on one request. Any bets are valid; these should win most."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bestchannel.arrays import Floats, Integers
from bestchannel.evidence.leader_bets import LeaderBets, leader_bets
from bestchannel.evidence.rival_bets import RivalAccount, RivalBet, rival_bets, settle_senses
from bestchannel.native.mathematics import log
from bestchannel.policies.adaptive.view import Look, View

SIZES = np.array([1.0, 0.75, 0.5, 0.25])
"""Weights that are tried until less is won, relative to gap / (v_b + v_a), which is best for a small gap."""

LARGEST_ON_BINARY, LARGEST_ON_RIVAL, LARGEST_OVER_INPUTS = 1.0, 0.5, 4.0
"""The largest weight for each sense of the input that is sensed least: with two inputs, with more, and with n: 4/n.

Of larger bets most may be lost far from the estimated inputs, at some that are hardly sensed, and no bound is found.
"""

Senses = Mapping[int, tuple[int, ...]]


@dataclass(frozen=True, eq=False, slots=True)  # one for each rival of each request
class RivalStake:
    """What is staked on the senses of one rival, and the weight s of the bets on the leader that belong to it."""

    weight: float
    tilts: Floats  # [x] ω
    outputs: Floats  # [y] Q


@dataclass(frozen=True, eq=False)
class Bets:
    """What is staked on the answer to a request: bets on the leader's senses, and against every rival on its own."""

    leader: int
    inputs: Floats  # P
    on_leader: LeaderBets
    on_rivals: dict[int, RivalStake]
    since: dict[int, int]
    restarts: dict[int, int]

    def settle(self, counts: Mapping[int, Integers], accounts: Mapping[int, RivalAccount]) -> None:
        """Pay the bets that were fixed before the request."""
        alike: dict[tuple[int, int], list[int]] = {}
        paid = self.on_leader.settled(counts[self.leader].astype(np.float64)).tolist()
        for nats, (rival, stake) in zip(paid, self.on_rivals.items(), strict=True):
            accounts[rival].settle(self.leader, nats, stake.weight)
            if rival in counts:
                alike.setdefault(accounts[rival].shape, []).append(rival)
        for rivals in alike.values():
            settle_senses(
                [accounts[rival] for rival in rivals],
                np.array([self.on_rivals[rival].tilts for rival in rivals]),
                np.array([self.on_rivals[rival].outputs for rival in rivals]),
                np.array([counts[rival] for rival in rivals], dtype=np.float64),
            )

    def record(self, names: Sequence[str]) -> dict[str, Any]:
        """See `Stakes`."""
        return {
            "leader": names[self.leader],
            "input": self.inputs.tolist(),
            "bets": {
                names[rival]: {
                    "since": self.since[rival],
                    "restarts": self.restarts[rival],
                    "weight": stake.weight,
                    "tilts": stake.tilts.tolist(),
                    "outputs": stake.outputs.tolist(),
                    "auxiliary": self.on_leader.auxiliary[i].tolist(),
                    "multipliers": self.on_leader.multipliers[i].tolist(),
                }
                for i, (rival, stake) in enumerate(self.on_rivals.items())
            },
        }


def chosen_bets(
    view: View,
    senses: Senses,
    leader: int,
    accounts: Mapping[int, RivalAccount],
    gaps: Floats,
    epsilon: float,
    fixed_input: bool,
) -> tuple[Bets, dict[int, tuple[float, float]]]:
    """The bet against every rival, of those with `accounts`, that should win most, of the weights tried.

    A rival is left out where none should win; one that is not sensed has value 0 by its alphabet. `gaps` are those by
    which the leader is ahead of each, cautiously. Also, for each that is bet on, the variances v_b of the leader's
    value and v_a of its own that the bets show with these senses: those of a normal approximation in which evidence
    grows as much, gap² / (2 (v_b + v_a)), and in which bets of weight s on the leader bring s C_b - s² v_b / 2.
    """
    rivals, b, N_b = list(accounts), view.of(leader), np.array(senses[leader], dtype=np.float64)
    groups = list(_groups(view, senses, rivals))
    theirs, most = np.zeros(len(rivals)), np.full(len(rivals), np.inf)
    for group in groups:
        theirs[group.places], most[group.places] = group.variances(), group.largest_weights()
    largest = np.minimum(gaps / np.maximum(_variance(b, N_b) + theirs, 1e-12), most)
    weights = largest[:, None] * SIZES
    on_leader = leader_bets(b.rows, b.inputs, N_b, weights.ravel())
    gained = on_leader.settled(N_b[:, None] * b.rows).reshape(weights.shape) + weights * epsilon
    shown = 2.0 * (weights * (_value(b) + epsilon) - gained) / weights**2
    best = dict[int, RivalBet]()
    for at, look, often in groups:
        worst = [accounts[rivals[place]].worst_input for place in at]
        gap, weight, won = gaps.take(at), weights.take(at, axis=0), gained.take(at, axis=0)
        bets = rival_bets(look.rows, look.inputs, often, gap, weight, won, fixed_input, worst)
        best.update(zip(at, bets, strict=True))
    stakes, variances, kept = dict[int, RivalStake](), dict[int, tuple[float, float]](), list[int]()
    for i, (rival, gap) in enumerate(zip(rivals, gaps.tolist(), strict=True)):
        bet = best[i] if i in best else _bet_on_leader_alone(gained[i])
        if bet.growth > 0.0:
            of_leader = float(shown[i, bet.size])
            stakes[rival] = RivalStake(float(weights[i, bet.size]), bet.tilts, bet.outputs)
            variances[rival] = of_leader, gap**2 / (2.0 * bet.growth) - of_leader
            kept.append(i * len(SIZES) + bet.size)
    since = {rival: accounts[rival].since for rival in stakes}
    restarts = {rival: accounts[rival].restarts for rival in stakes}
    return Bets(leader, b.inputs, on_leader.at(kept), stakes, since, restarts), variances


class Group(NamedTuple):
    """Rivals of one size that are about to be sensed, at these places among all that are bet on."""

    places: list[int]
    look: Look
    senses: Floats  # [c, x]

    def variances(self) -> Floats:
        """Of the values estimated from these senses."""
        return _variance(self.look, self.senses)

    def largest_weights(self) -> Floats:
        """The largest weight that suits each."""
        n = self.senses.shape[1]
        largest = LARGEST_ON_BINARY if n == 2 else min(LARGEST_ON_RIVAL, LARGEST_OVER_INPUTS / n)
        return largest * self.senses.min(axis=1)


def _groups(view: View, senses: Senses, rivals: Sequence[int]) -> Iterator[Group]:
    """The rivals that are sensed, those of one size together."""
    places = {rival: place for place, rival in enumerate(rivals) if rival in senses}
    for channels, look in view.alike:
        at = [i for i, channel in enumerate(channels) if channel in places]
        if at:
            own = [channels[i] for i in at]
            often = np.array([senses[channel] for channel in own], dtype=np.float64)
            yield Group([places[channel] for channel in own], look.at(at), often)


def _value(look: Look) -> float:
    """sum_x P_x D(W_x‖PW)."""
    weighted = look.inputs[:, None] * look.rows
    return float((weighted * log(look.rows / weighted.sum(axis=0))).sum())


def _variance(look: Look, senses: Floats) -> Floats:
    """Of the value estimated from the senses N: sum_x P_x² V_x / N_x."""
    variance: Floats = ((look.inputs * look.deviations) ** 2 / senses).sum(axis=-1)
    return variance


def _bet_on_leader_alone(growths: Floats) -> RivalBet:
    """The bet against a rival whose value is 0 by its alphabet: there is nothing to bet on but the leader."""
    size = int(np.argmax(growths))
    return RivalBet(size, np.zeros(0), np.zeros(0), float(growths[size]))
