"""What shots that all channels answer at once can do at best, where their answers are independent of each other.

    1/T* = max_w min_{a≠b} inf_{C(λ_a) ≥ C(λ_b)} Σ_x w_x (D(W_bx‖λ_bx) + D(W_ax‖λ_ax))

over the shares w ≥ 0 of the inputs, Σ w = 1. A shot of x tells the true channels from others by the sum of the
divergences of all answers, if these are independent, so that every policy that errs with probability at most δ on all
sets of such channels, and so every one that does whatever the dependence, takes E[τ] ≥ T* kl(δ, 1-δ) shots [GK16].
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bestchannel.arrays import Floats, frozen, number_in
from bestchannel.errors import InputError
from bestchannel.lower_bound.alternatives import Position, alternative_at, cut_of, first_positions, respond
from bestchannel.lower_bound.asked import kl_nats
from bestchannel.lower_bound.bound import named_channels
from bestchannel.lower_bound.characteristic_time import CuttingPlanes
from bestchannel.lower_bound.known_channels import KnownChannels

ACCURACY, MOST_STEPS = 0.01, 40  # how near the game comes to its value, and after how many steps it ends anyway


@dataclass(frozen=True, eq=False)
class LeastShots:
    """`per_nat` ≤ T* in shots per nat, proved by alternatives; `lower_bound` = per_nat · kl(δ, 1-δ) shots on average.

    `shares` are those of the inputs that the game came to.
    """

    per_nat: float
    lower_bound: float
    shares: Floats


def least_shots(channels: Mapping[str, object] | Sequence[object], delta: float) -> LeastShots:
    """What every policy must spend in shots that all channels answer, where these are independent.

    >>> pair = {"a": [[0.9, 0.1], [0.1, 0.9]], "b": [[0.8, 0.2], [0.2, 0.8]]}
    >>> least_shots(pair, 0.01).per_nat < 51
    True
    """
    delta = number_in(delta, "delta", low=0.0, high=1.0, high_open=True)
    known = KnownChannels.of(list(named_channels(channels).values()))
    pairs = [(b, a) for b, a in known.best_with_all() if min(known.W[a].shape) > 1]
    inputs = {len(known.W[j]) for pair in pairs for j in pair}
    if len(inputs) > 1:
        raise InputError("channels that answer the same shots must have the same inputs; these have different numbers")
    if known.best is None or not pairs:
        T = math.inf if known.best is None else 0.0
        return LeastShots(T, T * kl_nats(delta) if T else 0.0, frozen(np.zeros(0)))
    per_nat, shares = _game(known, pairs, inputs.pop())
    return LeastShots(per_nat, per_nat * kl_nats(delta), frozen(shares))


def _game(known: KnownChannels, pairs: Sequence[tuple[int, int]], n: int) -> tuple[float, Floats]:
    """The value of the game from above, as its time from below, and the best shares."""
    game, weights, taking = CuttingPlanes(n), np.full(n, 1.0 / n), {j for pair in pairs for j in pair}
    positions: dict[tuple[int, int], list[Position]] = {pair: first_positions(known, pair) for pair in pairs}
    for _ in range(MOST_STEPS):
        weights = game.try_weights(weights)
        of_rows = np.concatenate([weights if j in taking else np.ones(len(W)) for j, W in enumerate(known.W)])
        for pair in pairs:
            positions[pair] = [at for _, at in respond(known, pair, of_rows, positions[pair])]
            cuts = [cut_of(known, alternative_at(pair, at)) for at in positions[pair][:2]]
            game.add_cuts(np.array([sum(cut[known.blocks[j]] for j in pair) for cut in cuts]))
        solution = game.solve()
        if game.best[1] >= solution.value * (1.0 - ACCURACY):
            break
        weights = game.next_weights(solution)
    return 1.0 / solution.value, game.best[0]
