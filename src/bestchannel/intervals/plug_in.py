"""From counts to an estimate of what a channel is worth: the plug-in estimator of [EBWGW24, Sec. III].

What is estimated is a functional of the channel: its capacity, or its mutual information at one
fixed input distribution (Remark 1). A policy is given the functional and does not ask which.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from bestchannel.arrays import Floats, Integers, distribution
from bestchannel.capacity import capacities
from bestchannel.errors import InputError
from bestchannel.evidence.leader_bets import CAPACITY_SPREAD, information_spread
from bestchannel.information import NATS_PER_BIT, mutual_information
from bestchannel.intervals.paper_bounds import Rate

PLUG_IN_TOLERANCE = 1e-9
"""Bits: how far apart the certified ends of a plug-in capacity may be."""


@dataclass(frozen=True)
class Interval:
    """lower <= value <= upper, in bits."""

    lower: float
    upper: float


class Functional(Protocol):
    """What a channel is worth, in bits, and how fast its plug-in estimate settles."""

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
    by_size: dict[tuple[int, ...], list[int]] = {}
    for channel, table in counts.items():
        by_size.setdefault(table.shape, []).append(channel)
    values: dict[int, Interval] = {}
    for size, channels in by_size.items():
        if min(size) == 1:
            values.update(dict.fromkeys(channels, Interval(0.0, 0.0)))
        else:
            stack = empirical(np.stack([counts[channel] for channel in channels]))
            values.update(zip(channels, functional.values(stack), strict=True))
    return values


def proposition_1(counts: Integers, alpha: float, functional: Functional) -> Interval:
    """Where C(W) lies with probability 1 - alpha, in bits: Ĉ ± ε(n, α) [EBWGW24, Prop. 1].

    The proof wants as many senses of each input; n is |X| times the smallest number, as if the
    others had not been sensed more often, which only widens the interval.
    """
    n_inputs, n_outputs = counts.shape
    ceiling = float(np.log2(min(n_inputs, n_outputs)))
    fewest = int(counts.sum(axis=1).min())
    if ceiling == 0.0 or fewest == 0:
        return Interval(0.0, ceiling)
    value = plug_in({0: counts}, functional)[0]
    margin = float(functional.rate(n_inputs, n_outputs).clipped_deviation(n_inputs * fewest, alpha)) / NATS_PER_BIT
    return Interval(max(value.lower - margin, 0.0), min(value.upper + margin, ceiling))


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
