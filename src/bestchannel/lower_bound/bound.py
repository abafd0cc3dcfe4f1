"""lower_bound: what every policy must spend on these channels, and what the best one would sense."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from bestchannel.arrays import Floats, frozen, number_in
from bestchannel.channels import Channel
from bestchannel.channels.channel import Cost, Costs, sense_costs
from bestchannel.display import Tabulated, Valued, on_one_line
from bestchannel.lower_bound.asked import Limit, limit_of, small_gap_limit
from bestchannel.lower_bound.characteristic_time import CharacteristicTime, kl_nats
from bestchannel.lower_bound.known_channels import GaussianTime, KnownChannels, named_channels
from bestchannel.lower_bound.theorem4 import Theorem4, theorem4
from bestchannel.process import Progress
from bestchannel.questions import AnyQuestion, Best, Findings, Within, question_of


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
class LowerBound(Tabulated, Valued):
    """What every policy must spend to answer a question about these channels with error probability at most δ.

    Attributes
    ----------
    delta
        δ.
    question
        What is asked.
    findings
        Its answer on these channels; None where the best is asked for.
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
        The bound of [EBWGW24, Thm. 4] as a bracket, in senses; None for one channel, a tie, different alphabets, or
        another question than for the best.
    senses_lower_bound
        In senses, on average: T*.lower · kl(δ, 1-δ); of `Within` less, as T* is a yardstick there, and of channels
        within the tolerance of a level T*.lower · kl(1/2, δ).
    cost
        The same for the least cost in place of the fewest senses; None where no costs were given.

    Examples
    --------
    >>> bound = lower_bound({"a": [[0.9, 0.1], [0.1, 0.9]], "b": [[0.8, 0.2], [0.2, 0.8]]}, 0.01)
    >>> str(bound).splitlines()[0]
    'best: a'
    """

    delta: float
    question: AnyQuestion
    findings: Findings | None
    best: Hashable | None
    gaps: Mapping[Hashable, float]
    characteristic_time: CharacteristicTime
    allocation: Mapping[Hashable, Floats]
    gaussian: GaussianTime
    theorem4: Theorem4 | None
    senses_lower_bound: float
    cost: LeastCost | None = None

    nearly_best: ClassVar[None] = None  # capacities are known

    @property
    def candidates(self) -> tuple[Hashable, ...]:
        """The channels between which ties leave the answer open."""
        said = (*self.findings.named, *(self.findings.out or ())) if self.findings else ()
        return tuple(name for name in self.gaps if name not in said)

    def __str__(self) -> str:
        tied, least = self.findings is None and self.best is None, _number(self.senses_lower_bound)
        yardstick = " (a yardstick, not a bound)" if isinstance(self.question, Within) else ""
        lines = [
            "no best: the largest capacities cannot be told apart" if tied else on_one_line(self.question.answer(self)),
            f"characteristic time T*: {_between(self.characteristic_time)} senses per nat{yardstick}",
            f"every policy needs on average over many runs, δ = {self.delta:g}: at least {least} senses",
        ]
        if self.findings is None:
            bracket = f"{_between(self.theorem4)} senses" if self.theorem4 else "does not apply to these channels"
            lines.append(f"Theorem 4: {bracket}")
        lines.append(f"T* for small gaps (Gaussian, an approximation): {_number(self.gaussian.time)} senses per nat")
        if self.cost:
            least = _number(self.cost.lower_bound)
            lines.append(f"least cost: {_between(self.cost.per_nat)} per nat")
            lines.append(f"every policy pays on average over many runs, δ = {self.delta:g}: at least {least}")
        return "\n".join(lines)


def _between(ends: CharacteristicTime | Theorem4) -> str:
    low, high = _number(ends.lower), _number(ends.upper)
    return low if ends.lower == ends.upper else f"{low} … {high}"


def _number(value: float) -> str:
    """Five digits at least, in full up to ten."""
    if math.isinf(value):
        return "infinite"
    return f"{value:,.0f}" if 1e4 <= value < 1e10 else f"{value:.5g}"


def lower_bound(
    channels: Mapping[str, object] | Sequence[object],
    delta: float,
    *,
    question: AnyQuestion | Mapping[str, Any] | None = None,
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
    question
        What is asked: `Above`, `Top`, `Order` or `Within`; the best channel unless said otherwise.
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
    >>> import bestchannel as bc
    >>> links = {"a": bc.bsc(0.1), "b": bc.bsc(0.2)}
    >>> str(lower_bound(links, 0.01, question=bc.Above(0.4))).splitlines()[0]
    'above 0.4 bit: a; below 0.4 bit: b'
    """
    delta = number_in(delta, "delta", low=0.0, high=1.0, high_open=True)
    named = named_channels(channels)
    names, known = list(named), KnownChannels.of(list(named.values()))
    costs = None if cost is None else sense_costs(cost, names, [len(W) for W in known.W])
    asked = question_of(question)
    asked.refuse_unless_possible(len(names))

    def limit_at(known: KnownChannels) -> Limit:
        return limit_of(asked, known, delta, rtol=rtol, progress=progress)

    limit, compared = limit_at(known), len(names) > 1 and len({W.shape for W in known.W}) == 1
    rows_tell = isinstance(asked, Best) and known.best is not None and compared
    return LowerBound(
        delta=delta,
        question=asked,
        findings=_findings(asked, known, names),
        best=None if known.best is None else names[known.best],
        gaps=dict(zip(names, known.gaps.tolist(), strict=True)),
        characteristic_time=limit.time,
        allocation=dict(zip(names, limit.time.allocation, strict=True)),
        gaussian=small_gap_limit(asked, known),
        theorem4=theorem4(list(named.values()), known.ranks[0], delta) if rows_tell else None,
        senses_lower_bound=limit.senses,
        cost=None if costs is None else _least_cost(known, names, costs, limit_at),
    )


def _findings(question: AnyQuestion, known: KnownChannels, names: list[Hashable]) -> Findings | None:
    """What is true of known channels."""
    if isinstance(question, Best):
        return None
    ends = {
        name: (C.lower, min(C.upper, math.log2(min(W.shape))))
        for name, C, W in zip(names, known.capacities, known.W, strict=True)
    }
    pairs = [(b, a) for b in ends for a in ends if ends[b][0] > ends[a][1]]
    return question.proved_by(ends, pairs, lambda b, a: ends[b][0] - ends[a][1])


def _least_cost(
    known: KnownChannels, names: list[Hashable], costs: Costs, limit_at: Callable[[KnownChannels], Limit]
) -> LeastCost:
    """The game for the shares of the cost, in multiples of the least cost, so that its numbers are as without costs."""
    unit = min(map(min, costs))
    relative = tuple(np.array(each) / unit for each in costs)
    limit = limit_at(replace(known, costs=relative))
    time = limit.time
    senses = [shares / each for shares, each in zip(time.allocation, relative, strict=True)]
    total = sum(float(each.sum()) for each in senses)
    return LeastCost(
        per_nat=replace(time, lower=time.lower * unit, upper=time.upper * unit),
        lower_bound=limit.senses * unit,
        allocation={name: frozen(each / total if total else each) for name, each in zip(names, senses, strict=True)},
    )


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


def quick_bound(channels: Sequence[Channel], delta: float, question: AnyQuestion | None = None) -> QuickBound:
    """The senses that no policy of error probability δ gets by without on these channels, on average."""
    largest = max(channel.W.size for channel in channels)
    if any(largest <= size and len(channels) <= most for size, most in MOST_CHANNELS.items()):
        bound = lower_bound(channels, delta, question=question, rtol=ACCURACY)
        T = bound.characteristic_time
        return QuickBound(bound.senses_lower_bound, T.lower, T.upper, proved=True)
    time = small_gap_limit(question or Best(), KnownChannels.of(channels)).time
    return QuickBound(time * kl_nats(delta), time, time, proved=False)
