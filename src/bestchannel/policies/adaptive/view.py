"""What the counts suggest: no more than a plan, nothing here is certified."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bestchannel.arrays import Floats, Integers
from bestchannel.intervals import Functional
from bestchannel.native.views import estimates, smoothed_rows

EVENLY_ON_LEADER, EVENLY_ON_BINARY, EVENLY_ON_RIVAL = 0.1, 0.3, 0.7
"""The share of a channel's senses that is spread evenly over its inputs: a rival's P may be at any of them."""


@dataclass(frozen=True)
class Spread:
    """How the senses of every channel are spread over its inputs: P_x sqrt(V_x/c_x), up to a factor, and a part evenly.

    Evenly means as 1/sqrt(c_x), so that whichever input matters, a sense of it is worth its cost c_x.
    """

    shares: list[Floats]  # [channel][x]
    unit_variances: Floats  # [channel] of the estimated value, times the number of senses


@dataclass(frozen=True)
class View:
    """Estimates in nats; of a channel with a single input or output, or not looked at, value 0 and no rows."""

    values: Floats  # [channel]
    variances: Floats  # [channel] of the estimated value
    rows: list[Floats]  # smoothed estimates W
    inputs: list[Floats]  # P
    deviations: list[Floats]  # [x] standard deviation of log(W_x/PW) under W_x
    as_leader: Spread
    as_rival: Spread


def view_of(
    channels: Iterable[int], counts: Sequence[Integers], functional: Functional, costs: Sequence[Floats]
) -> View:
    """Estimates of some channels from the counts of all, those of one size together."""
    k = len(counts)
    values, variances = np.zeros(k), np.zeros(k)
    rows, inputs, deviations, as_leader, as_rival = ([np.zeros(0)] * k for _ in range(5))
    view = View(
        values, variances, rows, inputs, deviations, Spread(as_leader, np.zeros(k)), Spread(as_rival, np.zeros(k))
    )
    for alike in _of_one_size(channels, counts):
        W, senses = smoothed_rows(np.array([counts[j] for j in alike]))
        P = np.ascontiguousarray(functional.best_inputs(W))
        evenly = EVENLY_ON_LEADER, EVENLY_ON_BINARY if P.shape[1] == 2 else EVENLY_ON_RIVAL
        found = estimates(W, P, senses, np.array([costs[j] for j in alike]), evenly)
        values[alike], variances[alike] = found.values, found.variances
        view.as_leader.unit_variances[alike], view.as_rival.unit_variances[alike] = found.unit_variances
        for c, j in enumerate(alike):
            rows[j], inputs[j], deviations[j] = W[c], P[c], found.deviations[c]
            as_leader[j], as_rival[j] = found.shares[0, c], found.shares[1, c]
    return view


def _of_one_size(channels: Iterable[int], counts: Sequence[Integers]) -> Iterator[list[int]]:
    """The channels of one size, and then those of the next, but for those with a single input or output."""
    alike: dict[tuple[int, ...], list[int]] = {}
    for channel in channels:
        alike.setdefault(counts[channel].shape, []).append(channel)
    return (found for size, found in alike.items() if min(size) > 1)
