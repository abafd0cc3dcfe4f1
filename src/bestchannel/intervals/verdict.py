"""The verdict on channels of which something is known: which is the best, which may be, and how many senses more.

A verdict is drawn from proved lower ends of differences, the leader's capacity less each rival's; a proved order says
which channels are better than which, all at once.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Protocol

from bestchannel.information import NATS_PER_BIT
from bestchannel.promises import rounded_up, several, wrong_at_most

MOST_NAMED = 6  # candidates that a sentence names


@dataclass(frozen=True)
class Standing:
    """What is known of one channel, in bits: lower <= capacity <= upper.

    `doubt` is how far off the estimate may well be, `ceiling` the largest capacity that its alphabets allow.
    """

    name: str
    capacity: float
    lower: float
    upper: float
    doubt: float = 0.0
    ceiling: float = math.inf


@dataclass(frozen=True)
class Difference:
    """Between which ends the leader's capacity less the rival's lies, in bits."""

    rival: str
    lower: float
    upper: float


@dataclass(frozen=True)
class Verdict:
    """`best` is the leader once `decided`, None before; `candidates` are the channels not ruled out.

    `leader` has the largest estimate. `more_senses` is about how many senses more would decide, to one digit,
    spread like those before: 0 once decided, None where no number can be given. `more_senses_range` is what it may
    well be, as far as the estimates are known; its second end is None where the channels may be equal, so that no
    number of senses would decide. The leader is proved to be within `within_bits` of the best, 0 where it is the best
    itself.
    """

    decided: bool
    best: str | None
    candidates: tuple[str, ...]
    more_senses: int | None
    leader: str
    more_senses_range: tuple[int, int | None] | None = None
    within_bits: float = math.inf


def sentence(verdict: Verdict, n_channels: int, epsilon: float = 0.0, delta: float | None = None) -> str:
    """What the verdict on so many channels says; proved at δ, or by approximate intervals where that is None."""
    return "; ".join(statements(verdict, n_channels, epsilon, delta))


def statements(verdict: Verdict, n_channels: int, epsilon: float = 0.0, delta: float | None = None) -> tuple[str, ...]:
    """The same one by one: which is the best, or between which it is undecided, which is near, what would decide."""
    if n_channels == 1:
        return ("one channel: nothing to compare",)
    how = "" if delta is None else f", proved ({wrong_at_most(delta)})"
    if verdict.decided:
        within = f" or within {epsilon:g} bit of the best" if epsilon else ""
        return (f"best: {verdict.best}{within}{how}",)
    few, rest = verdict.candidates[:MOST_NAMED], len(verdict.candidates) - MOST_NAMED
    others = f" and {several(rest, 'other')}" if rest > 0 else ""
    near = f"{verdict.leader} is the best or within {rounded_up(verdict.within_bits):g} bit of it{how}"
    return f"undecided between {', '.join(few)}{others}", near, forecast(verdict)


def forecast(verdict: Verdict) -> str:
    """How many more senses would decide, as far as that can be known."""
    if verdict.more_senses_range is None:
        return "they look equal, and no number of senses decides between equal channels"
    low, high = verdict.more_senses_range
    if high is None:
        return f"at least {several(low, 'more sense')}, and no number is enough if they are equal, as they may be"
    return f"about {several(verdict.more_senses or 0, 'more sense')} would decide ({low:,} to {high:,})"


def differences_of(standings: Sequence[Standing], leads: Mapping[str, float] | None = None) -> tuple[Difference, ...]:
    """The leader's capacity less each rival's, from the ends of both intervals.

    The lower ends are those of the verdict where these `leads` are known, in nats; none is below the least there is.
    """
    leader = leading(standings)
    rivals = [standing for standing in standings if standing is not leader]
    if leads is None:
        lower = {s.name: leader.lower - s.upper for s in rivals}
    else:
        lower = {s.name: max(leads[s.name] / NATS_PER_BIT, -s.ceiling) for s in rivals}
    return tuple(Difference(s.name, lower[s.name], leader.upper - s.lower) for s in rivals)


def leading(standings: Sequence[Standing]) -> Standing:
    """The largest estimate, the first of several."""
    return max(standings, key=lambda standing: standing.capacity)


def judge(
    standings: Sequence[Standing], gaps: Sequence[Difference], epsilon: float, senses: int, *, together: bool = True
) -> Verdict:
    """Decided when every difference from the leader is above -ε, so that the leader is within ε of the best.

    A rival is ruled out when its difference is, or where the intervals hold `together` with the differences, when its
    upper end is below the largest lower end of all. The leader's upper end never is, so that it alone is left exactly
    when it is decided.
    """
    leader = leading(standings)
    bar = max(standing.lower for standing in standings) if together else -math.inf
    still_open = {gap.rival: gap for gap in gaps if not gap.lower > -epsilon}
    rivals = [(s, still_open[s.name]) for s in standings if s.name in still_open and not s.upper < bar]
    left = [leader, *(standing for standing, _ in rivals)]
    ceilings = {standing.name: standing.ceiling for standing in standings}
    more, fewest, most = (_more_senses(leader, rivals, epsilon, senses, doubts) for doubts in (0.0, 1.0, -1.0))
    return Verdict(
        decided=not still_open,
        best=None if still_open else leader.name,
        candidates=tuple(standing.name for standing in sorted(left, key=lambda s: -s.capacity)),
        more_senses=more,
        leader=leader.name,
        more_senses_range=None if more is None else (fewest or 0, most),
        within_bits=max([0.0, *(min(-gap.lower, ceilings[gap.rival]) for gap in gaps)]),
    )


def _more_senses(
    leader: Standing, rivals: Sequence[tuple[Standing, Difference]], epsilon: float, senses: int, doubts: float
) -> int | None:
    """senses · ((width / (gap + ε))² - 1) for the hardest rival, as widths shrink like 1/√senses.

    The width is what the proved lower end of a difference is below its estimate. Each gap is first widened by so many
    doubts of both estimates. To one digit; None where a gap is not above 0.
    """
    ratio = 1.0
    for rival, proved in rivals:
        seen = leader.capacity - rival.capacity
        gap = seen + epsilon + doubts * math.hypot(leader.doubt, rival.doubt)
        if not gap > 0.0:
            return None
        ratio = max(ratio, (seen - proved.lower) / gap)
    more = senses * (ratio * ratio - 1.0)  # infinite rather than an error
    if not math.isfinite(more):
        return None
    return one_digit(max(math.ceil(more), 1)) if rivals else 0


def one_digit(number: int) -> int:
    """The number to one significant digit, which is what a forecast knows.

    >>> one_digit(46_781_546), one_digit(7), one_digit(0)
    (50000000, 7, 0)
    """
    return round(number, 1 - len(str(number))) if number else 0


@dataclass(frozen=True)
class Rank:
    """Between which places a channel is among all, 1 being the best.

    `first` - 1 channels are proved to be better, and as many to be worse as come after `last`.
    """

    name: str
    first: int
    last: int

    @property
    def words(self) -> str:
        """The places in short.

        >>> Rank("q3", 2, 4).words, Rank("q0", 1, 1).words
        ('2-4', '1')
        """
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


@dataclass(frozen=True)
class ProvedOrder:
    """The pairs (better, worse) that are settled, with all that follow from them, and the places that they leave.

    `pairs` is how many pairs there are; `ranks` go from the largest estimate to the smallest.
    """

    settled: tuple[tuple[str, str], ...]
    pairs: int
    ranks: tuple[Rank, ...]


class Compared(Protocol):
    """What says how channels compare, beyond the intervals of each, in nats."""

    def leads(self, leader: str, delta: float) -> dict[str, float]:
        """The lower end of the leader's capacity less that of every other; the best is ruled out with at most δ."""

    def order(self, delta: float) -> tuple[tuple[str, str], ...]:
        """The pairs (better, worse) that are all right at once with probability at least 1 - δ."""

    def ahead(self, b: str, a: str, delta: float) -> float:
        """The lower end of C_b - C_a; of all pairs, those below 0 and the order are right at once."""


def proved_order(standings: Sequence[Standing], compared: Compared | None, delta: float) -> ProvedOrder:
    """From intervals that hold at once, or with more power from what compares channels with each other."""
    apart = ((b.name, a.name) for b, a in permutations(standings, 2) if b.lower > a.upper)
    settled = tuple(apart) if compared is None else compared.order(delta)
    k, better, worse = len(standings), Counter(a for _, a in settled), Counter(b for b, _ in settled)
    from_the_best = sorted(standings, key=lambda standing: -standing.capacity)
    ranks = tuple(Rank(s.name, 1 + better[s.name], k - worse[s.name]) for s in from_the_best)
    return ProvedOrder(settled, k * (k - 1) // 2, ranks)
