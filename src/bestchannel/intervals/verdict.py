"""Which channel is the best, judged by intervals that hold for all channels at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

MOST_NAMED = 6
"""Candidates that a sentence names."""


@dataclass(frozen=True)
class Standing:
    """What is known of one channel, in bits: lower <= capacity <= upper around the estimate."""

    name: str
    capacity: float
    lower: float
    upper: float


@dataclass(frozen=True)
class Difference:
    """Between which ends the leader's capacity less the rival's lies, in bits."""

    rival: str
    lower: float
    upper: float


@dataclass(frozen=True)
class Verdict:
    """`best` is the leader once `decided`, None before; `candidates` are the channels not ruled out.

    `leader` has the largest estimate. `more_senses` is about how many senses more would decide,
    spread like those before: 0 once decided, None where no number can be given.
    """

    decided: bool
    best: str | None
    candidates: tuple[str, ...]
    more_senses: int | None
    leader: str


def sentence(verdict: Verdict, n_channels: int) -> str:
    """What the verdict on so many channels says."""
    if n_channels == 1:
        return "one channel, nothing to decide"
    if verdict.decided:
        return f"best: {verdict.best}"
    senses = verdict.more_senses
    more = "no forecast of the senses it takes" if senses is None else f"about {senses:,} more senses"
    few, rest = verdict.candidates[:MOST_NAMED], len(verdict.candidates) - MOST_NAMED
    others = f" and {rest} others" if rest > 0 else ""
    return f"undecided between {', '.join(few)}{others}; {more}"


def differences(standings: Sequence[Standing]) -> tuple[Difference, ...]:
    """The leader's capacity less each rival's, from the ends of both intervals."""
    leader = leading(standings)
    return tuple(
        Difference(rival.name, leader.lower - rival.upper, leader.upper - rival.lower)
        for rival in standings
        if rival is not leader
    )


def leading(standings: Sequence[Standing]) -> Standing:
    """The largest estimate, the first of several."""
    return max(standings, key=lambda standing: standing.capacity)


def judge(standings: Sequence[Standing], epsilon: float, senses: int) -> Verdict:
    """Decided when every difference from the leader is above -ε, so that the leader is within ε of the best.

    A rival is ruled out when its difference is, or when its upper end is below another's lower
    end. The leader's upper end never is, so that it alone is left exactly when it is decided.
    """
    leader = leading(standings)
    open_rivals = {gap.rival for gap in differences(standings) if not gap.lower > -epsilon}
    bar = max(standing.lower for standing in standings)
    left = [s for s in standings if s is leader or (s.name in open_rivals and s.upper >= bar)]
    return Verdict(
        decided=not open_rivals,
        best=None if open_rivals else leader.name,
        candidates=tuple(standing.name for standing in left),
        more_senses=_more_senses(leader, [s for s in left if s is not leader], epsilon, senses),
        leader=leader.name,
    )


def _more_senses(leader: Standing, rivals: Sequence[Standing], epsilon: float, senses: int) -> int | None:
    """senses · (((w_b + w_a) / (gap + ε))² - 1) for the hardest rival, as widths shrink like 1/√senses."""
    ratio = 1.0
    for rival in rivals:
        gap = leader.capacity - rival.capacity + epsilon
        width = leader.capacity - leader.lower + rival.upper - rival.capacity
        if not gap > 0.0:
            return None
        ratio = max(ratio, width / gap)
    more = senses * (ratio**2 - 1.0)
    if not math.isfinite(more):
        return None
    return max(math.ceil(more), 1) if rivals else 0
