"""What the counts suggest: no more than a plan, nothing here is certified."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bestchannel.arrays import Floats, Integers
from bestchannel.intervals import Functional


@dataclass(frozen=True)
class View:
    """Estimates in nats; of a channel with a single input or output, value 0 and no rows."""

    values: Floats  # [channel]
    variances: Floats  # [channel] of the estimated value
    rows: list[Floats]  # smoothed estimates W
    inputs: list[Floats]  # P
    deviations: list[Floats]  # [x] standard deviation of log(W_x/PW) under W_x
    costs: Sequence[Floats]  # [x] of a sense

    def shares(self, channel: int, evenly: float) -> Floats:
        """How the senses of a channel are spread over its inputs: P_x sqrt(V_x/c_x), up to a factor, and a part evenly.

        Evenly means as 1/sqrt(c_x), so that whichever input matters, a sense of it is worth its cost c_x.
        """
        even = 1.0 / np.sqrt(self.costs[channel])
        best = self.inputs[channel] * self.deviations[channel] * even
        return (1.0 - evenly) * best / max(float(best.sum()), 1e-300) + evenly * even / even.sum()

    def price(self, channel: int, evenly: float) -> float:
        """What a sense of a channel costs, on average over its inputs."""
        return float(self.shares(channel, evenly) @ self.costs[channel])

    def unit_variance(self, channel: int, evenly: float) -> float:
        """The variance of the estimated value times the number of senses, with the senses so spread."""
        spread = (self.inputs[channel] * self.deviations[channel]) ** 2 / self.shares(channel, evenly)
        return max(float(spread.sum()), 1e-4)


def view_of(counts: Sequence[Integers], functional: Functional, costs: Sequence[Floats]) -> View:
    """Estimates of every channel from its counts, those of one size together."""
    values, variances = np.zeros(len(counts)), np.zeros(len(counts))
    rows: list[Floats] = [np.zeros((0, 0))] * len(counts)
    inputs, deviations = list(rows), list(rows)
    for size in {table.shape for table in counts if min(table.shape) > 1}:
        channels = [j for j, table in enumerate(counts) if table.shape == size]
        tables = np.stack([counts[j] for j in channels]).astype(np.float64)
        totals = tables.sum(axis=2)
        W = (tables + 1.0 / size[1]) / (totals + 1.0)[..., None]  # one sense, shared by all outputs
        P = functional.best_inputs(W)
        g = np.log(W / np.einsum("cx,cxy->cy", P, W)[:, None, :])
        D = (W * g).sum(axis=2)
        V = np.maximum((W * g**2).sum(axis=2) - D**2, 0.0)
        values[channels] = np.maximum((P * D).sum(axis=1), 0.0)  # rounding must not put a channel below the value 0
        # the second term keeps a channel that has hardly erred from looking certain
        n = np.maximum(totals, 1.0)
        variances[channels] = (P**2 * V / n).sum(axis=1) + (0.5 * P / n).max(axis=1) ** 2
        for i, j in enumerate(channels):
            rows[j], inputs[j], deviations[j] = W[i], P[i], np.sqrt(V[i])
    return View(values, variances, rows, inputs, deviations, costs)
