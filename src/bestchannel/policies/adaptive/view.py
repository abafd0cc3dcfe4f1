"""What the counts suggest: no more than a plan, nothing here is certified."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from bestchannel.arrays import Floats, Integers
from bestchannel.intervals import Functional


@dataclass(frozen=True)
class Alike:
    """The channels of one size, as far as it is about where they are sensed."""

    channels: list[int]
    inputs: Floats  # [c, x] P
    deviations: Floats  # [c, x]
    costs: Floats  # [c, x]

    def spread(self, evenly: float) -> tuple[Floats, Floats]:
        """The shares [c, x] and the unit variances [c], with a part of the senses spread evenly: see `View`."""
        even = 1.0 / np.sqrt(self.costs)
        best = self.inputs * self.deviations * even
        shares = (1.0 - evenly) * best / np.maximum(_sums(best), 1e-300) + evenly * even / _sums(even)
        variances = _sums((self.inputs * self.deviations) ** 2 / shares)
        return shares, np.maximum(variances, 1e-4).ravel()


def _sums(rows: Floats) -> Floats:
    """Of every row, as a column."""
    return rows.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class View:
    """Estimates in nats; of a channel with a single input or output, value 0 and no rows."""

    values: Floats  # [channel]
    variances: Floats  # [channel] of the estimated value
    rows: list[Floats]  # smoothed estimates W
    inputs: list[Floats]  # P
    deviations: list[Floats]  # [x] standard deviation of log(W_x/PW) under W_x
    costs: Sequence[Floats]  # [x] of a sense
    groups: Sequence[Alike]  # the same, for all channels of one size at once
    _spreads: dict[float, dict[int, tuple[Floats, float]]] = field(default_factory=dict, init=False, repr=False)

    def shares(self, channel: int, evenly: float) -> Floats:
        """How the senses of a channel are spread over its inputs: P_x sqrt(V_x/c_x), up to a factor, and a part evenly.

        Evenly means as 1/sqrt(c_x), so that whichever input matters, a sense of it is worth its cost c_x.
        """
        return self._spread(evenly)[channel][0]

    def price(self, channel: int, evenly: float) -> float:
        """What a sense of a channel costs, on average over its inputs."""
        return float(self.shares(channel, evenly) @ self.costs[channel])

    def unit_variance(self, channel: int, evenly: float) -> float:
        """The variance of the estimated value times the number of senses, with the senses so spread."""
        return self._spread(evenly)[channel][1]

    def _spread(self, evenly: float) -> dict[int, tuple[Floats, float]]:
        """Shares and unit variance of every channel, found once: a policy looks at most of them, several times."""
        if evenly not in self._spreads:
            found = self._spreads[evenly] = {}
            for group in self.groups:
                shares, variances = group.spread(evenly)
                found.update(zip(group.channels, zip(shares, variances.tolist(), strict=True), strict=True))
        return self._spreads[evenly]


def view_of(counts: Sequence[Integers], functional: Functional, costs: Sequence[Floats]) -> View:
    """Estimates of every channel from its counts, those of one size together."""
    values, variances = np.zeros(len(counts)), np.zeros(len(counts))
    rows: list[Floats] = [np.zeros((0, 0))] * len(counts)
    inputs, deviations, groups = list(rows), list(rows), list[Alike]()
    for channels in _of_one_size(counts):
        tables = np.array([counts[j] for j in channels], dtype=np.float64)
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
        groups.append(Alike(channels, P, np.sqrt(V), np.array([costs[j] for j in channels])))
        for j, *found in zip(channels, W, P, groups[-1].deviations, strict=True):
            rows[j], inputs[j], deviations[j] = found
    return View(values, variances, rows, inputs, deviations, costs, groups)


def _of_one_size(counts: Sequence[Integers]) -> Iterator[list[int]]:
    """The channels of one size, and then those of the next, but for those with a single input or output."""
    alike: dict[tuple[int, ...], list[int]] = {}
    for channel, table in enumerate(counts):
        alike.setdefault(table.shape, []).append(channel)
    return (channels for size, channels in alike.items() if min(size) > 1)
