"""How near to the best a channel is proved to be while nothing is decided yet: docs/theory/adaptive.md, "At any time".

Let a be a best channel and e_b = C_a - C_b >= 0. The bets against a whose leaders are the channels b, with the summed
weights S_b, multiplied by exp(sum_b S_b e_b), are a supermartingale. So, with probability 1 - δ, at all times and for
all b at once, S_b e_b < log(1/δ) - evidence against a. Which channel is a best one is not known: the largest bound over
those that may be is taken.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bestchannel.information import NATS_PER_BIT
from bestchannel.questions import NearlyBest


@dataclass(frozen=True)
class Missing:
    """What bets against a rival still lack: `nats` to the threshold, and the weights S_b of those on each leader b."""

    rival: int
    nats: float
    weights: Mapping[int, float]

    def gap(self, channel: int) -> float:
        """By how many nats the rival can at most exceed a channel, if it is a best one."""
        if self.nats <= 0.0:
            return 0.0  # it is none
        weight = self.weights.get(channel, 0.0)
        return self.nats / weight if weight > 0.0 else math.inf


def nearest_to_best(
    missing: Iterable[Missing], most: Sequence[float], candidates: Sequence[int], leader: int
) -> NearlyBest | None:
    """The candidate with the least proved distance to the best; of equal ones, the leader.

    `most` are the largest values that channels can have by their alphabets, in nats. None where no more is known.
    """
    bounds = {channel: list(most) for channel in candidates}
    for bets in missing:
        for channel, gaps in bounds.items():
            gaps[bets.rival] = min(gaps[bets.rival], bets.gap(channel))
    within = {b: max((gap for a, gap in enumerate(gaps) if a != b), default=0.0) for b, gaps in bounds.items()}
    nearest = min(within, key=lambda channel: (within[channel], channel != leader))
    if within[nearest] > 0.0 and within[nearest] >= max(nats for a, nats in enumerate(most) if a != nearest):
        return None
    return NearlyBest(nearest, within[nearest] / NATS_PER_BIT)
