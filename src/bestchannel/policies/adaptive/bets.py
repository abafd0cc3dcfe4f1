"""The bets of `Adaptive` on one request. Any bets are valid; these should win most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bestchannel.arrays import Floats, Integers
from bestchannel.evidence.bets import LARGEST_INPUT, LARGEST_TILT, LeaderBets, RivalAccount, leader_bets, settle_senses
from bestchannel.native.evidence import wagers
from bestchannel.policies.adaptive.state import NOTHING, View

LARGEST_ON_BINARY, LARGEST_ON_RIVAL, LARGEST_OVER_INPUTS = 1.0, 0.5, 4.0
"""The largest weight for each sense of the input that is sensed least: with two inputs, with more, and with n: 4/n.

Of larger bets most may be lost far from the estimated inputs, at some that are hardly sensed, and no bound is found.
"""


def largest_weight(n_inputs: int) -> float:
    """Of a bet on a rival, for each sense of the input that is sensed least."""
    return LARGEST_ON_BINARY if n_inputs == 2 else min(LARGEST_ON_RIVAL, LARGEST_OVER_INPUTS / max(n_inputs, 1))


def prudent(gap: float, error: float) -> float:
    """The gap that bets are made for: gap³/(gap² + error²), which grows from little to the whole as doubt goes."""
    return max(gap, 0.0) ** 3 / (gap * gap + error * error)


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
    senses: Mapping[int, tuple[int, ...]],
    leader: int,
    accounts: Mapping[int, RivalAccount],
    gaps: Mapping[int, float],
    epsilon: float,
    fixed_input: bool,
) -> tuple[Bets, dict[int, tuple[float, float]]]:
    """The bet against every rival, of those with `gaps`, that should win most, of the weights tried.

    A rival is left out where none should win; one that is not sensed has value 0 by its alphabet. `gaps` are those by
    which the leader is ahead of each, cautiously. Also, for each that is bet on, the variances v_b of the leader's
    value and v_a of its own that the bets show with these senses: those of a normal approximation in which evidence
    grows as much, gap² / (2 (v_b + v_a)), and in which bets of weight s on the leader bring s C_b - s² v_b / 2.
    """
    b, N_b = view.of(leader), np.array(senses[leader], dtype=np.float64)
    worthless = [rival for rival in gaps if rival not in senses]
    stakes, variances = dict[int, RivalStake](), dict[int, tuple[float, float]]()
    on_leader, order = list[LeaderBets](), list[int]()
    for channels, look in [*view.alike, (worthless, NOTHING)]:
        places = [i for i, channel in enumerate(channels) if channel in gaps]
        if not places:
            continue
        rivals, n = [channels[i] for i in places], look.inputs.shape[1]
        bets = wagers(
            (b.rows, b.inputs, b.deviations, N_b),
            (look.rows, look.inputs, look.deviations),
            places,
            np.array([senses.get(rival, ()) for rival in rivals], dtype=np.float64),
            [gaps[rival] for rival in rivals],
            [0 if fixed_input else accounts[rival].worst_address for rival in rivals],
            epsilon,
            largest_weight(n),
            0.0 if fixed_input else LARGEST_INPUT,
            LARGEST_TILT,
        )
        for rival, (weight, growth, own), tilts, outputs in zip(
            rivals, bets.numbers.tolist(), bets.tilts, bets.outputs, strict=True
        ):
            if growth > 0.0:
                stakes[rival] = RivalStake(weight, tilts, outputs)
                variances[rival] = own, gaps[rival] ** 2 / (2.0 * growth) - own
        on_leader.append(LeaderBets(bets.pays, bets.price, bets.auxiliary, bets.multipliers))
        order += rivals
    if not order:
        on_leader = [leader_bets(b.rows, b.inputs, N_b, np.zeros(0))]
    kept = [rival for rival in gaps if rival in stakes]
    return (
        Bets(
            leader=leader,
            inputs=b.inputs,
            on_leader=LeaderBets.joined(on_leader, [order.index(rival) for rival in kept]),
            on_rivals={rival: stakes[rival] for rival in kept},
            since={rival: accounts[rival].since for rival in kept},
            restarts={rival: accounts[rival].restarts for rival in kept},
        ),
        variances,
    )
