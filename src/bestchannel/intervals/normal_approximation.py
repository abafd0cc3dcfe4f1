"""What a capacity is worth by the normal approximation: good for planning, and **not proved**. Nats.

√n(Ĉ - C) is normal in the limit, with variance sum_x P_x² V_x / w_x for the optimal input P, V_x the variance
of log(W_x/Q) under W_x, and w_x the share of the senses that input x got. docs/theory/intervals.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from bestchannel.arrays import Floats, Integers
from bestchannel.capacity import capacities
from bestchannel.information import NATS_PER_BIT, divergences_nats


@dataclass(frozen=True)
class NormalInterval:
    """lower <= value <= upper in nats: the estimate less its bias, and the ends of its interval."""

    value: float
    lower: float
    upper: float


def asymptotic_interval(counts: Integers, alpha: float) -> NormalInterval:
    """Ĉ - b ± z σ with P(|normal| > z) = α, between 0 and log min(n_inputs, n_outputs).

    An input without a count may be anything: the value and the lower end are those of the other
    inputs, the upper end is the largest capacity there is.
    """
    ceiling = math.log(min(counts.shape))
    n = counts[counts.sum(axis=1) > 0].astype(np.float64)
    if min(n.shape) < 2:
        return NormalInterval(0.0, 0.0, ceiling)
    W = n / n.sum(axis=1, keepdims=True)
    answer = capacities(W[None], tol=1e-9, workers=1)
    P = answer.input[0] / answer.input[0].sum()
    plug_in = 0.5 * float(answer.lower[0] + answer.upper[0]) * NATS_PER_BIT
    value = float(np.clip(plug_in - bias(n, P), 0.0, ceiling))
    margin = -NormalDist().inv_cdf(max(alpha / 2.0, 1e-300)) * math.sqrt(variance(n, P))
    upper = min(value + margin, ceiling) if len(n) == len(counts) else ceiling
    return NormalInterval(value, max(value - margin, 0.0), upper)


def bias(n: Floats, P: Floats) -> float:
    """E Ĉ - C ≈ ½ sum_x P_x (m_x - 1)/N_x - ½ sum_{x,y} P_x² W(1 - W)/(N_x Q_y), m_x the outputs that x gave.

    The second-order term of C at the optimal P; re-optimising P adds a little that is left out.
    """
    N = n.sum(axis=1)
    W = n / N[:, None]
    Q = P @ W
    seen = Q > 0.0
    rows = P @ (((n > 0).sum(axis=1) - 1.0) / N)
    output = (P[:, None] ** 2 * W * (1.0 - W) / N[:, None])[:, seen] / Q[seen]
    return 0.5 * float(rows - output.sum())


def variance(n: Floats, P: Floats) -> float:
    """Var Ĉ ≈ sum_x P_x² V_x / N_x, from rows with ½ added to each count.

    So a channel that never erred in so many senses keeps a width like one error's.
    """
    N = n.sum(axis=1)
    W = (n + 0.5) / (n + 0.5).sum(axis=1, keepdims=True)
    Q = P @ W
    D = divergences_nats(W, Q)
    V = (W * (np.log(W / Q) - D[:, None]) ** 2).sum(axis=1)
    return float(P**2 @ (V / N))
