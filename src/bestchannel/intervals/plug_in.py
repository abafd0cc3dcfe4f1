"""From counts to an estimate of the value of a channel: the plug-in estimator of [EBWGW24, Sec. III].

What is estimated is a functional of the channel: its capacity, or its mutual information at one fixed input
distribution (Remark 1). A policy is given the functional and does not ask which.

Ĉ is too large, the more so the more letters there are for the senses. `approximate_interval` finds out by how much, and
how far Ĉ scatters, from simulated counts of channels like the one at hand: measured to be right, and **not proved**.
docs/theory/intervals.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from bestchannel.arrays import Floats, Integers, distribution
from bestchannel.capacity.stack import best_inputs, solved
from bestchannel.errors import InputError
from bestchannel.information import NATS_PER_BIT, mutual_information
from bestchannel.intervals.paper_bounds import Rate

FIXED_INPUT = "the fixed input distribution"
PLUG_IN_TOLERANCE = 1e-9  # bits: how far apart the certified ends of a plug-in capacity may be
SIMULATIONS = 64
SENSES_OF_AN_INPUT, LETTERS = 20, 16
"""From how many senses of each input on, and up to how many inputs and outputs, `approximate_interval` was measured."""

STRENGTHS = np.array([2.0, 1.85, 1.7, 1.5, 1.25, 1.0, 0.67, 0.33, 0.0, -0.25, -0.5, -1.0, -2.5, -6.0, -16.0, -64.0])
"""Places on the path of `_channels_like`, from useless over the counts themselves (0) to as strong as can be."""


@dataclass(frozen=True)
class Interval:
    """lower <= value <= upper, in bits."""

    lower: float
    upper: float


@dataclass(frozen=True)
class Functional:
    """What is estimated of a channel, in bits: C(W) = max_P I(P; W), or I(P; W) at one P [EBWGW24, Remark 1]."""

    P: tuple[float, ...] | None = None

    def rate(self, n_inputs: int, n_outputs: int) -> Rate:
        """The constants of [EBWGW24, Prop. 1] for this alphabet; one that P is no distribution of is refused."""
        if self.P is not None:
            distribution(self.P, n_inputs, FIXED_INPUT)
        return Rate(n_inputs, n_outputs, fixed_input=self.P is not None)

    def values(self, stack: Floats) -> list[Interval]:
        """Certified values at every channel of stack[c, x, y]."""
        if self.P is None:
            return _solved(stack)[0]
        return [Interval(value, value) for value in (mutual_information(self.P, W) for W in stack)]

    def best_inputs(self, stack: Floats) -> Floats:
        """The input distribution [c, x] at which each channel reaches its value, nearly."""
        return best_inputs(stack, 1e-6) if self.P is None else np.tile(self.P, (len(stack), 1))


def functional_for(input_distribution: Sequence[float] | None) -> Functional:
    """Capacity, or mutual information at the given input distribution."""
    try:
        if input_distribution is None or np.ndim(input_distribution) == 1:
            return Functional(None if input_distribution is None else tuple(input_distribution))
    except ValueError:  # lists of different lengths in it
        pass
    raise InputError(f"{FIXED_INPUT} must be a list of probabilities; it is {input_distribution!r}")


def _solved(stack: Floats) -> tuple[list[Interval], Floats]:
    """The certified capacity, in bits, of every channel of stack[c, x, y], and the input [c, x] that reaches it."""
    answer = solved(stack, PLUG_IN_TOLERANCE)
    return list(map(Interval, answer.lower.tolist(), answer.upper.tolist())), answer.input


def empirical(counts: Integers | Floats) -> Floats:
    """Ŵ(y|x) = n(x, y) / n(x) for counts (..., n_inputs, n_outputs) without an empty row."""
    numbers = counts.astype(np.float64)
    return numbers / numbers.sum(axis=-1, keepdims=True)


def plug_in(counts: Mapping[int, Integers], functional: Functional) -> dict[int, Interval]:
    """The functional at the empirical channels: Ĉ = C(Ŵ), with its certified ends, in bits.

    Channels of one size are evaluated together. A channel with a single input or output has value 0 in any case.
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


def proposition_1(counts: Integers, alpha: float, functional: Functional, value: Interval | None = None) -> Interval:
    """Where C(W) lies with probability 1 - alpha, in bits: Ĉ ± ε(n, α) [EBWGW24, Prop. 1]; `value` is Ĉ, if known.

    The proof requires as many senses of each input; n is |X| times the smallest number, as if the others had not been
    sensed more often, which only widens the interval.
    """
    n_inputs, n_outputs = counts.shape
    ceiling = float(np.log2(min(counts.shape)))
    fewest = int(counts.sum(axis=1).min())
    if ceiling == 0.0 or fewest == 0:
        return Interval(0.0, ceiling)
    value = value or plug_in({0: counts}, functional)[0]
    margin = float(functional.rate(n_inputs, n_outputs).clipped_deviation(n_inputs * fewest, alpha)) / NATS_PER_BIT
    return Interval(max(value.lower - margin, 0.0), min(value.upper + margin, ceiling))


@dataclass(frozen=True, eq=False)
class CapacityAtCounts:
    """Ĉ = C(Ŵ) of one channel, from the inputs that were sensed: its certified ends in bits, and the input P there.

    `n` are the counts [x, y] of these inputs, and `complete` says that they are all. With `fixed_input` all is about
    I(P; W), which is at least the mass of the sensed inputs times the information at P of these alone.
    """

    n: Floats
    value: Interval
    P: Floats
    complete: bool
    fixed_input: bool = False

    @property
    def capacity(self) -> float:
        """The middle of the bracket, in bits."""
        return 0.5 * (self.value.lower + self.value.upper)


def capacities_at_counts(tables: Sequence[Integers], fixed: Floats | None = None) -> list[CapacityAtCounts]:
    """Ĉ of every channel, or I(P; Ŵ) at the fixed P > 0, solved once for all that is made of it."""
    if fixed is not None:
        return [_information_at_counts(table, fixed) for table in tables]
    sensed = {i: table[table.sum(axis=1) > 0] for i, table in enumerate(tables)}
    values = dict.fromkeys(sensed, Interval(0.0, 0.0))
    inputs = {i: np.full(len(n), 1.0 / len(n)) for i, n in sensed.items()}
    for channels, stack in _stacks(sensed):
        for i, value, P in zip(channels, *_solved(stack), strict=True):
            values[i], inputs[i] = value, P / P.sum()
    return [
        CapacityAtCounts(n.astype(np.float64), values[i], inputs[i], len(n) == len(tables[i]))
        for i, n in sensed.items()
    ]


def _information_at_counts(table: Integers, P: Floats) -> CapacityAtCounts:
    sensed = table.sum(axis=1) > 0
    n, mass = table[sensed], float(P[sensed].sum())
    bits = mass * mutual_information(P[sensed] / mass, empirical(n)) if len(n) > 1 else 0.0
    return CapacityAtCounts(n.astype(np.float64), Interval(bits, bits), P[sensed], bool(sensed.all()), True)


@dataclass(frozen=True)
class Asymptotic:
    """The estimate less its bias, and the ends of its approximate interval, in bits; not proved."""

    capacity: float
    lower: float
    upper: float


def approximate_interval(at_counts: CapacityAtCounts, alpha: float) -> Asymptotic:
    """Which capacities would give a plug-in value like this one, but for a share alpha of the times.

    Along a path of channels from useless to strong, simulated counts say what Ĉ is expected to be, E, and how it
    scatters, S. The estimate is the capacity where E = Ĉ, the ends are those where E ± zS = Ĉ, z of Student. Where
    nothing ever came but what did come, the lower end is also below what a rate of log(2/α) unseen events would leave.
    """
    if min(at_counts.n.shape) < 2:
        return Asymptotic(0.0, 0.0, 0.0)
    ceiling = math.log2(min(at_counts.n.shape))
    capacity_at = _matched(at_counts)
    z = -NormalDist().inv_cdf(max(alpha / 2.0, 1e-300))
    # Student's quantile for a mean and a deviation from so many simulations, to first order beyond the normal
    z = (z + z * (z * z + 1.0) / (4.0 * (SIMULATIONS - 1))) * math.sqrt(1.0 + 1.0 / SIMULATIONS)
    value = min(max(capacity_at(0.0), 0.0), ceiling)
    lower = min(capacity_at(z), _capacity_with_unseen(at_counts, alpha), value)
    return Asymptotic(value, max(lower, 0.0), min(max(capacity_at(-z), value), ceiling))


def why_withheld(at_counts: CapacityAtCounts) -> str | None:
    """Why there is no approximate interval, where it was never measured how often such a one is right."""
    n = at_counts.n
    if min(n.shape) < 2 and at_counts.complete:
        return None
    if at_counts.fixed_input:
        return "not measured at a fixed input distribution"
    if max(n.shape) > LETTERS:
        return f"not measured for more than {LETTERS} inputs or outputs"
    if n.shape[0] > n.shape[1]:
        return "found wrong with more inputs than outputs, of which several may be equally good"
    if n.sum(axis=1).min() < SENSES_OF_AN_INPUT:
        return f"not measured for inputs with fewer than {SENSES_OF_AN_INPUT} senses"
    return None


def _matched(at_counts: CapacityAtCounts) -> Callable[[float], float]:
    """The capacity, in bits, at which mean + z deviation of Ĉ is what was observed; 0 or infinite beyond the path.

    Simulated with the senses of each input; the draws are fixed, so that equal counts are answered alike.
    """
    N, observed = at_counts.n.sum(axis=1).astype(np.int64), at_counts.capacity
    V = _channels_like(at_counts.n, at_counts.P)
    at = solved(V, 1e-6)
    draws = np.random.default_rng(0).multinomial(N, V, size=(SIMULATIONS, *V.shape[:2])) / N[:, None]
    values = solved(draws, 1e-5).value
    with np.errstate(divide="ignore", invalid="ignore"):
        density = np.where(V > 0.0, np.log2(V / at.output[:, None, :]), 0.0)
    # the linear part of Ĉ has mean 0 and most of the scatter: without it the mean needs few simulations
    linear = np.einsum("sx,isxy,sxy->is", at.input, draws - V, density)
    bias = (values - linear).mean(axis=0) - at.value
    mean, deviation = at.value + bias, values.std(axis=0, ddof=1)

    def capacity_at(z: float) -> float:
        heights = np.maximum.accumulate(mean + z * deviation)
        if observed <= heights[0]:
            return 0.0
        if observed > heights[-1]:
            return math.inf
        scatter, too_much = (float(np.interp(observed, heights, v)) for v in (deviation, bias))
        return observed - z * scatter - too_much

    return capacity_at


def _channels_like(n: Floats, P: Floats) -> Floats:
    """The channels at `STRENGTHS`: useless at 2, smoothed at 1, as counted at 0, and pushed away from useless below.

    Useless is the output Q = PŴ for every input. Smoothed takes from outputs that came once what Good and Turing's
    estimate takes from them, ρ = 2 F_2/F_1 with F_r the cells counted r times, and gives it to those that never came.
    """
    W = n / n.sum(axis=1, keepdims=True)
    Q = P @ W
    once, twice = np.count_nonzero(n == 1.0), np.count_nonzero(n == 2.0)
    kept = min(1.0, 2.0 * twice / once) if once else 1.0
    share, missing = _unseen_outputs(n, Q)
    freed = np.where(missing & (n == 1.0), (1.0 - kept) * W, 0.0)
    smoothed = W - freed + freed.sum(axis=1, keepdims=True) * share
    t = STRENGTHS[:, None, None]
    V = np.where(t > 1.0, (2.0 - t) * smoothed + (t - 1.0) * Q, (1.0 - t) * W + t * smoothed)
    V = np.where(t < 0.0, np.maximum(W - t * (W - Q), 0.0), V)
    return V / V.sum(axis=2, keepdims=True)


def _unseen_outputs(n: Floats, Q: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """For each input a distribution over the outputs that it never gave, and whether there are any."""
    weight = np.where(n == 0.0, Q + 1.0 / len(Q), 0.0)
    total = weight.sum(axis=1, keepdims=True)
    return weight / np.where(total > 0.0, total, 1.0), total > 0.0


def _capacity_with_unseen(at_counts: CapacityAtCounts, alpha: float) -> float:
    """The capacity of Ŵ with as much of what was never seen as would stay unseen with probability alpha/2."""
    W = empirical(at_counts.n)
    share, missing = _unseen_outputs(at_counts.n, at_counts.P @ W)
    rate = math.log(2.0 / alpha) / at_counts.n.sum()
    mixed = np.where(missing, (W + rate * share) / (1.0 + rate), W)
    return float(solved(mixed[None], 1e-6).value[0])
