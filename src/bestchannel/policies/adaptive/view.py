"""What the counts suggest: no more than a plan, nothing here is certified."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bestchannel.arrays import Floats, Integers
from bestchannel.intervals import Functional

EVENLY_ON_LEADER, EVENLY_ON_BINARY, EVENLY_ON_RIVAL = 0.1, 0.3, 0.7
"""The share of a channel's senses that is spread evenly over its inputs: a rival's P may be at any of them."""


@dataclass(frozen=True)
class Spread:
    """How the senses of every channel are spread over its inputs: P_x sqrt(V_x/c_x), up to a factor, and a part evenly.

    Evenly means as 1/sqrt(c_x), so that whichever input matters, a sense of it is worth its cost c_x.
    """

    shares: list[Floats]  # [channel][x]
    unit_variances: Floats  # [channel] of the estimated value, times the number of senses

    def fill(self, channels: list[int], informative: Floats, costs: Floats, evenly: float) -> None:
        """For channels of one size, with P_x sqrt(V_x) [c, x] and the costs of a sense [c, x]."""
        even = 1.0 / np.sqrt(costs)
        best = informative * even
        shares = (1.0 - evenly) * best / np.maximum(_sums(best), 1e-300) + evenly * even / _sums(even)
        self.unit_variances[channels] = np.maximum(_sums(informative**2 / shares), 1e-4).ravel()
        for channel, share in zip(channels, shares, strict=True):
            self.shares[channel] = share


def _sums(rows: Floats) -> Floats:
    """Of every row, as a column."""
    return rows.sum(axis=1, keepdims=True)


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
        tables = np.array([counts[j] for j in alike], dtype=np.float64)
        totals = tables.sum(axis=2)
        W = (tables + 1.0 / tables.shape[2]) / (totals + 1.0)[..., None]  # one sense, shared by all outputs
        P = functional.best_inputs(W)
        g = np.log(W / np.einsum("cx,cxy->cy", P, W)[:, None, :])
        D = (W * g).sum(axis=2)
        V = np.maximum((W * g**2).sum(axis=2) - D**2, 0.0)
        values[alike] = np.maximum((P * D).sum(axis=1), 0.0)  # rounding must not put a channel below the value 0
        # the second term keeps a channel that has hardly erred from looking certain
        n = np.maximum(totals, 1.0)
        variances[alike] = (P**2 * V / n).sum(axis=1) + (0.5 * P / n).max(axis=1) ** 2
        deviation = np.sqrt(V)
        for j, *found in zip(alike, W, P, deviation, strict=True):
            rows[j], inputs[j], deviations[j] = found
        informative, prices = P * deviation, np.array([costs[j] for j in alike])
        view.as_leader.fill(alike, informative, prices, EVENLY_ON_LEADER)
        view.as_rival.fill(alike, informative, prices, EVENLY_ON_BINARY if P.shape[1] == 2 else EVENLY_ON_RIVAL)
    return view


def _of_one_size(channels: Iterable[int], counts: Sequence[Integers]) -> Iterator[list[int]]:
    """The channels of one size, and then those of the next, but for those with a single input or output."""
    alike: dict[tuple[int, ...], list[int]] = {}
    for channel in channels:
        alike.setdefault(counts[channel].shape, []).append(channel)
    return (found for size, found in alike.items() if min(size) > 1)
