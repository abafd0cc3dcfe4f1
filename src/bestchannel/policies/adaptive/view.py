"""What the counts suggest: no more than a plan, nothing here is certified."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestchannel.arrays import Floats, Integers
from bestchannel.intervals import Functional


@dataclass(frozen=True)
class Spread:
    """How the senses of every channel are spread over its inputs, and what an estimate from them is worth."""

    shares: Mapping[int, Floats]  # [x]
    unit_variances: Mapping[int, float]  # of the estimated value, times the number of senses


@dataclass(frozen=True)
class View:
    """Estimates in nats; of a channel with a single input or output, value 0 and no rows."""

    values: Floats  # [channel]
    variances: Floats  # [channel] of the estimated value
    rows: list[Floats]  # smoothed estimates W
    inputs: list[Floats]  # P
    deviations: list[Floats]  # [x] standard deviation of log(W_x/PW) under W_x
    costs: Sequence[Floats]  # [x] of a sense
    _spreads: dict[float, Spread] = field(default_factory=dict, init=False, repr=False, compare=False)

    def shares(self, channel: int, evenly: float) -> Floats:
        """How the senses of a channel are spread over its inputs: P_x sqrt(V_x/c_x), up to a factor, and a part evenly.

        Evenly means as 1/sqrt(c_x), so that whichever input matters, a sense of it is worth its cost c_x.
        """
        return self._spread(evenly).shares[channel]

    def price(self, channel: int, evenly: float) -> float:
        """What a sense of a channel costs, on average over its inputs."""
        return float(self.shares(channel, evenly) @ self.costs[channel])

    def unit_variance(self, channel: int, evenly: float) -> float:
        """The variance of the estimated value times the number of senses, with the senses so spread."""
        return self._spread(evenly).unit_variances[channel]

    def _spread(self, evenly: float) -> Spread:
        """That of all channels at once, since a policy looks at most of them, several times."""
        if evenly not in self._spreads:
            self._spreads[evenly] = self._spread_of_all(evenly)
        return self._spreads[evenly]

    def _spread_of_all(self, evenly: float) -> Spread:
        shares, unit_variances = dict[int, Floats](), dict[int, float]()
        for channels in _of_one_shape(self.inputs):
            P, deviations, costs = (
                np.array([each[j] for j in channels]) for each in (self.inputs, self.deviations, self.costs)
            )
            even = 1.0 / np.sqrt(costs)
            best = P * deviations * even
            part = (1.0 - evenly) * best / np.maximum(_sums(best), 1e-300) + evenly * even / _sums(even)
            variances = np.maximum(_sums((P * deviations) ** 2 / part), 1e-4)
            shares.update(zip(channels, part, strict=True))
            unit_variances.update(zip(channels, variances.ravel().tolist(), strict=True))
        return Spread(shares, unit_variances)


def _sums(rows: Floats) -> Floats:
    """Of every row, as a column."""
    return rows.sum(axis=1, keepdims=True)


def _of_one_shape(arrays: Sequence[NDArray[Any]]) -> Iterator[list[int]]:
    """The channels whose arrays have one shape, and then those of the next; without those that have nothing."""
    alike: dict[tuple[int, ...], list[int]] = {}
    for channel, array in enumerate(arrays):
        alike.setdefault(array.shape, []).append(channel)
    return (channels for shape, channels in alike.items() if 0 not in shape)


def view_of(counts: Sequence[Integers], functional: Functional, costs: Sequence[Floats]) -> View:
    """Estimates of every channel from its counts, those of one size together."""
    values, variances = np.zeros(len(counts)), np.zeros(len(counts))
    rows: list[Floats] = [np.zeros((0, 0))] * len(counts)
    inputs, deviations = list(rows), list(rows)
    for channels in _of_one_shape(counts):
        tables = np.array([counts[j] for j in channels], dtype=np.float64)
        if min(tables.shape[1:]) == 1:
            continue
        totals = tables.sum(axis=2)
        W = (tables + 1.0 / tables.shape[2]) / (totals + 1.0)[..., None]  # one sense, shared by all outputs
        P = functional.best_inputs(W)
        g = np.log(W / np.einsum("cx,cxy->cy", P, W)[:, None, :])
        D = (W * g).sum(axis=2)
        V = np.maximum((W * g**2).sum(axis=2) - D**2, 0.0)
        values[channels] = np.maximum((P * D).sum(axis=1), 0.0)  # rounding must not put a channel below the value 0
        # the second term keeps a channel that has hardly erred from looking certain
        n = np.maximum(totals, 1.0)
        variances[channels] = (P**2 * V / n).sum(axis=1) + (0.5 * P / n).max(axis=1) ** 2
        for j, *found in zip(channels, W, P, np.sqrt(V), strict=True):
            rows[j], inputs[j], deviations[j] = found
    return View(values, variances, rows, inputs, deviations, costs)
