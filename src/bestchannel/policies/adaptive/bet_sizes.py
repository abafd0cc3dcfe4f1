"""How large the bets should be. Any size is valid; these should win most."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bestchannel.arrays import Floats
from bestchannel.evidence.binary_rival import balanced_rates
from bestchannel.evidence.leader_bets import LeaderCurve, leader_bets, rival_weight

HORIZON = 4.0
"""Requests like the present one after which leader and rival should have the same value."""

BOLDNESS = np.array([1.6, 1.2, 0.8, 0.4, 0.2, 0.1, 0.05])
"""Bets on the plug-in value that are tried, relative to the best ones for a small gap."""

LARGEST_BET = 0.9


@dataclass(frozen=True)
class Pairing:
    """A leader about to be sensed, and rivals that it is thought to be ahead of; in nats."""

    rows: Floats  # W of the leader
    inputs: Floats  # P of the leader
    senses: Floats  # [x] of the leader
    value: float  # of the leader, with epsilon
    values: Floats  # [rival]
    safe_gaps: Floats  # [rival] by which the leader is ahead, cautiously


@dataclass(frozen=True)
class BalancedBets:
    """Weights of the bets against rivals, and what a single sense of the leader and of each rival is good for.

    The variances are (value - level)² / (2 cost): those of a normal approximation that would cost as much.
    """

    weights: Floats
    leader_variances: Floats
    rival_variances: Floats


def likelihood_bets(
    pairing: Pairing, curve: LeaderCurve, epsilon: float, future: Floats, weights: Floats, fixed_input: float
) -> BalancedBets:
    """Weights with which leader and rival are pushed to the same value, some requests from now.

    `future` are the counts [rival, x, y] that are expected by then, `weights` those of the bets so far.
    """
    N = pairing.senses.sum()
    balance = balanced_rates(future, weights, HORIZON * N, curve.rates, curve.levels + epsilon, fixed_input)
    rates, levels, costs = balance.T
    own = np.maximum(pairing.value - levels, 1e-9)
    theirs = np.maximum(levels - pairing.values, 1e-9)
    leader_costs = np.interp(rates, curve.rates, curve.costs)
    caution = pairing.safe_gaps / (pairing.value - pairing.values)
    return BalancedBets(
        weights=caution * rates * N,
        leader_variances=own**2 / (2.0 * np.maximum(leader_costs, 1e-12)),
        rival_variances=theirs**2 * future.sum(axis=(1, 2)) / (2.0 * np.maximum(costs, 1e-12)),
    )


def plug_in_bets(
    pairing: Pairing, epsilon: float, deviations: Floats, rounds: Floats, spread: float
) -> tuple[Floats, Floats]:
    """(θ, weight) against every rival: of some multiples of θ = Δ / (Φ C_b + m v_b), those that should win most.

    The multiple 1 is best for a small gap. `deviations` are the leader's, `rounds` the senses m of each of a
    rival's inputs, and bets that should lose are 0.
    """
    v_b = float((pairing.inputs**2 * deviations**2 / pairing.senses).sum())
    small_gap = pairing.safe_gaps / (spread * max(pairing.value, 1e-3) + rounds * v_b)
    thetas = np.clip(small_gap[:, None] * BOLDNESS, 0.0, LARGEST_BET)
    weights = rival_weight(thetas, rounds[:, None], spread)
    bets = leader_bets(pairing.rows, pairing.inputs, pairing.senses, weights.ravel())
    paid = bets.settled(pairing.senses[:, None] * pairing.rows).reshape(weights.shape)
    rival_values = (pairing.value - pairing.safe_gaps)[:, None]
    growth = paid + weights * epsilon - rounds[:, None] * thetas * rival_values
    best = growth.argmax(axis=1)
    each = np.arange(len(best))
    wins = growth[each, best] > 0.0
    return np.where(wins, thetas[each, best], 0.0), np.where(wins, weights[each, best], 0.0)
