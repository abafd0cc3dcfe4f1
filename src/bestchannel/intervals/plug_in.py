"""From counts to an estimate of the value of a channel: the plug-in estimator of [EBWGW24, Sec. III].

What is estimated is a functional of the channel: its capacity, or its mutual information at one
fixed input distribution (Remark 1). A policy is given the functional and does not ask which.

√n(Ĉ - C) is normal in the limit, with variance sum_x P_x² V_x / w_x for the optimal input P, V_x the variance
of log(W_x/Q) under W_x, and w_x the share of the senses that input x got: good for planning, and **not proved**.
docs/theory/intervals.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Protocol

import numpy as np

from bestchannel.arrays import Floats, Integers, distribution
from bestchannel.capacity import capacities
from bestchannel.errors import InputError
from bestchannel.evidence.leader_bets import CAPACITY_SPREAD, information_spread
from bestchannel.information import NATS_PER_BIT, divergences_nats, mutual_information
from bestchannel.intervals.paper_bounds import Rate

PLUG_IN_TOLERANCE = 1e-9
"""Bits: how far apart the certified ends of a plug-in capacity may be."""


@dataclass(frozen=True)
class Interval:
    """lower <= value <= upper, in bits."""

    lower: float
    upper: float


class Functional(Protocol):
    """The value of a channel, in bits, and how fast its plug-in estimate settles."""

    def rate(self, n_inputs: int, n_outputs: int) -> Rate:
        """The constants of [EBWGW24, Prop. 1] for this functional and alphabet."""

    def values(self, stack: Floats) -> list[Interval]:
        """Certified values at every channel of stack[c, x, y]."""

    def best_inputs(self, stack: Floats) -> Floats:
        """The input distribution [c, x] at which each channel reaches its value, nearly."""

    def spread(self) -> float:
        """The constant Φ of the evidence against a rival, see `evidence.leader_bets`."""


@dataclass(frozen=True)
class ChannelCapacity:
    """C(W) = max_P I(P; W)."""

    def rate(self, n_inputs: int, n_outputs: int) -> Rate:
        """See `Functional`."""
        return Rate(n_inputs, n_outputs)

    def values(self, stack: Floats) -> list[Interval]:
        """See `Functional`."""
        answer = capacities(stack, tol=PLUG_IN_TOLERANCE, workers=1)
        return [Interval(low, high) for low, high in zip(answer.lower.tolist(), answer.upper.tolist(), strict=True)]

    def best_inputs(self, stack: Floats) -> Floats:
        """See `Functional`."""
        return capacities(stack, tol=1e-6, workers=1).input

    def spread(self) -> float:
        """See `Functional`."""
        return CAPACITY_SPREAD


@dataclass(frozen=True)
class InformationAt:
    """I(P; W) at a fixed input distribution P [EBWGW24, Remark 1]."""

    P: tuple[float, ...]

    def rate(self, n_inputs: int, n_outputs: int) -> Rate:
        """See `Functional`. Refuses an alphabet that P is no distribution of."""
        distribution(self.P, n_inputs, "the fixed input distribution")
        return Rate(n_inputs, n_outputs, fixed_input=True)

    def values(self, stack: Floats) -> list[Interval]:
        """See `Functional`."""
        information = [mutual_information(self.P, W) for W in stack]
        return [Interval(value, value) for value in information]

    def best_inputs(self, stack: Floats) -> Floats:
        """See `Functional`."""
        return np.broadcast_to(np.array(self.P), stack.shape[:2])

    def spread(self) -> float:
        """See `Functional`."""
        return information_spread(self.P)


def empirical(counts: Integers) -> Floats:
    """Ŵ(y|x) = n(x, y) / n(x) for counts (..., n_inputs, n_outputs) without an empty row."""
    numbers = counts.astype(np.float64)
    return numbers / numbers.sum(axis=-1, keepdims=True)


def plug_in(counts: Mapping[int, Integers], functional: Functional) -> dict[int, Interval]:
    """The functional at the empirical channels: Ĉ = C(Ŵ), with its certified ends, in bits.

    Channels of one size are evaluated together. A channel with a single input or output has
    value 0 whatever was counted.
    """
    values = dict.fromkeys(counts, Interval(0.0, 0.0))
    for channels, stack in _stacks(counts):
        values.update(zip(channels, functional.values(stack), strict=True))
    return values


def _stacks(counts: Mapping[int, Integers]) -> Iterator[tuple[list[int], Floats]]:
    """The empirical channels of each size, but for those with a single input or output."""
    by_size: dict[tuple[int, ...], list[int]] = {}
    for channel, table in counts.items():
        by_size.setdefault(table.shape, []).append(channel)
    for size, channels in by_size.items():
        if min(size) > 1:
            yield channels, empirical(np.stack([counts[channel] for channel in channels]))


def proposition_1(counts: Integers, alpha: float, functional: Functional) -> Interval:
    """Where C(W) lies with probability 1 - alpha, in bits: Ĉ ± ε(n, α) [EBWGW24, Prop. 1]."""
    if counts.sum(axis=1).min() == 0:
        return Interval(0.0, math.log2(min(counts.shape)))
    return deviation_interval(plug_in({0: counts}, functional)[0], counts, alpha, functional)


def deviation_interval(value: Interval, counts: Integers, alpha: float, functional: Functional) -> Interval:
    """Ĉ ± ε(n, α) around a plug-in value that is known, between 0 and log min(n_inputs, n_outputs), in bits.

    The proof requires as many senses of each input; n is |X| times the smallest number, as if the
    others had not been sensed more often, which only widens the interval.
    """
    n_inputs, n_outputs = counts.shape
    ceiling = float(np.log2(min(n_inputs, n_outputs)))
    fewest = int(counts.sum(axis=1).min())
    if ceiling == 0.0 or fewest == 0:
        return Interval(0.0, ceiling)
    margin = float(functional.rate(n_inputs, n_outputs).clipped_deviation(n_inputs * fewest, alpha)) / NATS_PER_BIT
    return Interval(max(value.lower - margin, 0.0), min(value.upper + margin, ceiling))


@dataclass(frozen=True, eq=False)
class CapacityAtCounts:
    """Ĉ = C(Ŵ) of one channel, from the inputs that were sensed: its certified ends in bits, and the input P there.

    `n` are the counts [x, y] of these inputs; `complete` says that they are all.
    """

    n: Floats
    value: Interval
    P: Floats
    complete: bool

    @property
    def capacity(self) -> float:
        """The middle of the bracket, in bits."""
        return 0.5 * (self.value.lower + self.value.upper)


def capacities_at_counts(tables: Sequence[Integers]) -> list[CapacityAtCounts]:
    """Ĉ of every channel, solved once for all that is made of it."""
    sensed = {i: table[table.sum(axis=1) > 0] for i, table in enumerate(tables)}
    values = dict.fromkeys(sensed, Interval(0.0, 0.0))
    inputs = {i: np.full(len(n), 1.0 / len(n)) for i, n in sensed.items()}
    for channels, stack in _stacks(sensed):
        answer = capacities(stack, tol=PLUG_IN_TOLERANCE, workers=1)
        for i, lower, upper, P in zip(
            channels, answer.lower.tolist(), answer.upper.tolist(), answer.input, strict=True
        ):
            values[i], inputs[i] = Interval(lower, upper), P / P.sum()
    return [
        CapacityAtCounts(n.astype(np.float64), values[i], inputs[i], len(n) == len(tables[i]))
        for i, n in sensed.items()
    ]


@dataclass(frozen=True)
class NormalInterval:
    """lower <= value <= upper in nats: the estimate less its bias, and the ends of its interval."""

    value: float
    lower: float
    upper: float


def asymptotic_interval(found: CapacityAtCounts, alpha: float, ceiling: float) -> NormalInterval:
    """Ĉ - b ± z σ with P(|normal| > z) = α, in nats, between 0 and the ceiling log min(n_inputs, n_outputs).

    An input without a count may be anything: the value and the lower end are those of the other
    inputs, the upper end is the largest capacity there is.
    """
    n, P = found.n, found.P
    if min(n.shape) < 2:
        return NormalInterval(0.0, 0.0, ceiling)
    value = float(np.clip(found.capacity * NATS_PER_BIT - bias(n, P), 0.0, ceiling))
    margin = -NormalDist().inv_cdf(max(alpha / 2.0, 1e-300)) * math.sqrt(variance(n, P))
    upper = min(value + margin, ceiling) if found.complete else ceiling
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


def functional_for(input_distribution: Sequence[float] | None) -> Functional:
    """Capacity, or mutual information at the given input distribution."""
    if input_distribution is None:
        return ChannelCapacity()
    try:
        is_list = np.ndim(input_distribution) == 1
    except ValueError:  # lists of different lengths in it
        is_list = False
    if not is_list:
        raise InputError(f"the fixed input distribution must be a list of probabilities; it is {input_distribution!r}")
    return InformationAt(tuple(input_distribution))
