"""lower_bound: what every policy must spend on these channels, and what the best one would sense."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bestchannel.arrays import Floats, frozen, number_in
from bestchannel.channels import Channel
from bestchannel.channels.sense_costs import Cost, Costs, sense_costs
from bestchannel.display import Frame, Shown, Valued, frame_of, on_one_line
from bestchannel.errors import InputError
from bestchannel.lower_bound.characteristic_time import CharacteristicTime, characteristic_time
from bestchannel.lower_bound.known_channels import GaussianTime, KnownChannels, small_gap_time
from bestchannel.lower_bound.theorem4 import Theorem4, theorem4
from bestchannel.process import Progress


@dataclass(frozen=True, eq=False)
class LeastCost(Valued):
    """What every policy must pay where senses have costs.

    Attributes
    ----------
    per_nat
        The least cost of a nat of confidence as a bracket, `lower` and `upper`, with what proves both ends.
    lower_bound
        per_nat.lower · kl(δ, 1-δ): no policy pays less on average.
    allocation
        For each name the shares of all senses that an oracle gives to its inputs to pay the least.
    """

    per_nat: CharacteristicTime
    lower_bound: float
    allocation: Mapping[Hashable, Floats]


@dataclass(frozen=True, eq=False)
class LowerBound(Shown, Valued):
    """What every policy must spend to name the best of these channels with error probability at most δ.

    Attributes
    ----------
    delta
        δ.
    best
        The name of the channel of largest capacity; None, and the bound infinite, where it cannot be told.
    gaps
        C_best - C_j by name, in bits.
    characteristic_time
        T* as a bracket `lower` <= T* <= `upper`, in senses per nat, with what proves both ends.
    allocation
        For each name the shares of all senses that an oracle gives to its inputs, shape (n_inputs,).
    gaussian
        T* for small gaps, in senses per nat; an approximation.
    theorem4
        The bound of [EBWGW24, Thm. 4] as a bracket, in senses; None for one channel, a tie, or different alphabets.
    senses_lower_bound
        T*.lower · kl(δ, 1-δ), in senses, on average.
    cost
        The same for the least cost in place of the fewest senses; None where no costs were given.

    Examples
    --------
    >>> bound = lower_bound({"a": [[0.9, 0.1], [0.1, 0.9]], "b": [[0.8, 0.2], [0.2, 0.8]]}, 0.01)
    >>> str(bound).splitlines()[0]
    'best: a'
    """

    delta: float
    best: Hashable | None
    gaps: Mapping[Hashable, float]
    characteristic_time: CharacteristicTime
    allocation: Mapping[Hashable, Floats]
    gaussian: GaussianTime
    theorem4: Theorem4 | None
    senses_lower_bound: float
    cost: LeastCost | None = None

    def to_frame(self) -> Frame:
        """One row per channel, indexed by its name: gap in bits, and the share of an oracle's senses.

        Returns
        -------
        pandas.DataFrame
            In the order in which the channels were given.

        Raises
        ------
        MissingExtraError
            Where pandas is not installed.

        Examples
        --------
        >>> lower_bound({"a": [[1, 0], [0, 1]], "b": [[0.9, 0.1], [0.1, 0.9]]}, 0.01).to_frame().columns.tolist()
        ['gap', 'share']
        """
        return frame_of(self)

    def __str__(self) -> str:
        T, theorem = self.characteristic_time, self.theorem4
        unknown = "no best: the largest capacities cannot be told apart"
        least = _number(self.senses_lower_bound)
        bracket = f"{_between(theorem.lower, theorem.upper)} senses" if theorem else "does not apply to these channels"
        return "\n".join(
            [
                unknown if self.best is None else f"best: {on_one_line(str(self.best))}",
                f"characteristic time T*: {_between(T.lower, T.upper)} senses per nat",
                f"every policy needs on average over many runs, δ = {self.delta:g}: at least {least} senses",
                f"Theorem 4: {bracket}",
                f"T* for small gaps (Gaussian, an approximation): {_number(self.gaussian.time)} senses per nat",
                *self._cost_lines(),
            ]
        )

    def _cost_lines(self) -> list[str]:
        if self.cost is None:
            return []
        per_nat = _between(self.cost.per_nat.lower, self.cost.per_nat.upper)
        least = _number(self.cost.lower_bound)
        return [
            f"least cost: {per_nat} per nat",
            f"every policy pays on average over many runs, δ = {self.delta:g}: at least {least}",
        ]


def _between(low: float, high: float) -> str:
    return _number(low) if low == high else f"{_number(low)} … {_number(high)}"


def _number(value: float) -> str:
    """Five digits at least, in full up to ten."""
    if math.isinf(value):
        return "infinite"
    return f"{value:,.0f}" if 1e4 <= value < 1e10 else f"{value:.5g}"


def lower_bound(
    channels: Mapping[str, object] | Sequence[object],
    delta: float,
    *,
    cost: Mapping[Any, Cost] | Sequence[Cost] | None = None,
    rtol: float = 0.01,
    progress: Progress | None = None,
) -> LowerBound:
    """What every policy must spend: E[τ] ≥ T* kl(δ, 1-δ) where it errs with probability at most δ everywhere [GK16].

    Parameters
    ----------
    channels
        A mapping from names to channels or rows of probabilities, or a sequence of them, then named 0, 1, …
    delta
        δ, the error probability of the policies, in (0, 1).
    cost
        What a sense costs, in any unit: by the names of channels (1 where nothing is said) or in their order, a number
        > 0 or one for each input. The least expected cost is then found beside the fewest senses.
    rtol
        How wide the bracket of T* may be relative to T*, where that is within reach.
    progress
        Called with (done, total) as proofs are finished.

    Returns
    -------
    LowerBound
        T* in senses per nat, the bound in senses, and where an oracle would sense.

    Raises
    ------
    InputError
        Where there is no channel, or a channel or δ is refused.

    Examples
    --------
    >>> bound = lower_bound({"a": [[0.9, 0.1], [0.1, 0.9]], "b": [[0.8, 0.2], [0.2, 0.8]]}, 0.01)
    >>> bound.best, round(bound.senses_lower_bound / 450, 1)
    ('a', 1.0)
    """
    delta = number_in(delta, "delta", low=0.0, high=1.0, high_open=True)
    named = _named(channels)
    names, known = list(named), KnownChannels.of(list(named.values()))
    costs = None if cost is None else sense_costs(cost, names, [len(W) for W in known.W])
    time = characteristic_time(known, rtol=rtol, progress=progress)
    nats = kl_nats(delta)
    return LowerBound(
        delta=delta,
        best=None if known.best is None else names[known.best],
        gaps=dict(zip(names, known.gaps.tolist(), strict=True)),
        characteristic_time=time,
        allocation=dict(zip(names, time.allocation, strict=True)),
        gaussian=small_gap_time(known),
        theorem4=_theorem4(list(named.values()), known.best, delta),
        senses_lower_bound=time.lower * nats if nats > 0.0 else 0.0,
        cost=None if costs is None else _least_cost(known, names, costs, nats, rtol, progress),
    )


def _least_cost(
    known: KnownChannels, names: list[Hashable], costs: Costs, nats: float, rtol: float, progress: Progress | None
) -> LeastCost:
    """The game for the shares of the cost, in multiples of the least cost, so that its numbers are as without costs."""
    unit = min(map(min, costs))
    relative = tuple(np.array(each) / unit for each in costs)
    time = characteristic_time(replace(known, costs=relative), rtol=rtol, progress=progress)
    senses = [shares / each for shares, each in zip(time.allocation, relative, strict=True)]
    total = sum(float(each.sum()) for each in senses)
    return LeastCost(
        per_nat=replace(time, lower=time.lower * unit, upper=time.upper * unit),
        lower_bound=time.lower * unit * nats if nats > 0.0 else 0.0,
        allocation={name: frozen(each / total if total else each) for name, each in zip(names, senses, strict=True)},
    )


def kl_nats(delta: float) -> float:
    """kl(δ, 1-δ) = (1-2δ) log((1-δ)/δ), and 0 from δ = 1/2 on, where guessing one of two is good enough.

    >>> round(kl_nats(0.01), 4)
    4.5032
    """
    return (1.0 - 2.0 * delta) * math.log((1.0 - delta) / delta) if delta < 0.5 else 0.0


def _named(channels: Mapping[str, object] | Sequence[object]) -> dict[Hashable, Channel]:
    pairs = channels.items() if isinstance(channels, Mapping) else enumerate(channels)
    given: dict[Hashable, object] = dict(pairs)
    if not given:
        raise InputError("a lower bound requires at least one channel; none was given")
    return {
        name: channel if isinstance(channel, Channel) else Channel.from_rows(channel, name=str(name))
        for name, channel in given.items()
    }


def _theorem4(channels: Sequence[Channel], best: int | None, delta: float) -> Theorem4 | None:
    if best is None or len(channels) < 2 or len({channel.W.shape for channel in channels}) > 1:
        return None
    return theorem4(channels, best, delta)


MOST_CHANNELS = {4: 60, 9: 20}
"""|X|·|Y| of the largest channel, and how many channels of that size at most, for T* to be bracketed in seconds."""

ACCURACY = 0.05  # relative width of the bracket of T* that is enough beside the senses of one run


@dataclass(frozen=True)
class QuickBound:
    """`senses` = T*·kl(δ, 1-δ), infinite where the largest capacities tie; T* between its ends, in senses per nat.

    `proved` tells the bracket from the approximation, whose ends are equal, and 0 where it says nothing.
    """

    senses: float
    lower_time: float
    upper_time: float
    proved: bool


def quick_bound(channels: Sequence[Channel], delta: float) -> QuickBound:
    """The senses that no policy of error probability δ gets by without on these channels, on average."""
    largest = max(channel.W.size for channel in channels)
    if any(largest <= size and len(channels) <= most for size, most in MOST_CHANNELS.items()):
        bound = lower_bound(channels, delta, rtol=ACCURACY)
        T = bound.characteristic_time
        return QuickBound(bound.senses_lower_bound, T.lower, T.upper, proved=True)
    time = small_gap_time(KnownChannels.of(channels)).time
    return QuickBound(time * kl_nats(delta), time, time, proved=False)
