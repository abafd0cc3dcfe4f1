"""Which m channels are the best, and in which order do all come? Channels are put before others, perhaps within ε."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations, product
from typing import Any

from bestchannel.arrays import Floats
from bestchannel.errors import InputError
from bestchannel.promises import criterion, exact, listed, rounded_up, several
from bestchannel.questions.question import NOTHING, Ends, Findings, Lead, Pairs, Question, Standpoint


class Top(Question, frozen=True, tag="top"):
    """The question which m channels have the largest capacities.

    Parameters
    ----------
    m
        How many, at least 1.
    epsilon
        By how many bits a named channel may be below one that is not named.

    Examples
    --------
    >>> import bestchannel as bc
    >>> sensor = bc.Simulator({"good": bc.bsc(0.05), "fair": bc.bsc(0.1), "bad": bc.bsc(0.3)}, rng=1)
    >>> policy = bc.Adaptive(sensor.alphabets, delta=0.05, question=bc.Top(2))
    >>> sorted(bc.identify(sensor, policy).findings.top)
    ['fair', 'good']
    """

    m: int
    epsilon: float = 0.0  # type: ignore[misc]

    def refuse_unless_possible(self, channels: int) -> None:
        super().refuse_unless_possible(channels)
        if not 1 <= self.m <= channels:
            raise InputError(f"the best m are asked for, with m from 1 to {channels}, the channels; m is {self.m}")

    def proved_by(self, intervals: Ends, pairs: Pairs, lead: Lead) -> Findings:
        worse, better = (Counter(pair[side] for pair in pairs) for side in (0, 1))
        top = tuple(name for name in intervals if worse[name] >= len(intervals) - self.m)
        out = tuple(name for name in intervals if better[name] >= self.m)
        named = top if len(top) == self.m else likeliest(intervals, pairs)[: self.m]
        within = furthest(lead, pairs, product(named, (name for name in intervals if name not in named)))
        if self.epsilon and within <= self.epsilon:
            top, out = named, tuple(name for name in intervals if name not in named)
        return Findings(len(top) == self.m, top=top, out=out, **nearly(named, within, intervals))

    def _promised(self, P: Sequence[float] | None) -> str:
        if self.epsilon:
            return f"no named channel has a {criterion(P)} more than {exact(self.epsilon)} bit below that of another"
        which = f"best {self.m}" if P is None else f"{self.m} with the largest {criterion(P)}"
        return f"the named channels are the {which}"

    def answer(self, standpoint: Standpoint) -> str:
        found = standpoint.findings or NOTHING
        top = found.top or ()
        if found.decided:
            return f"best {self.m}{within_words(self.epsilon)}: {listed(top)}"
        surely = f"{listed(top)} among the best {self.m}; " if top else ""
        places = several(self.m - len(top), "place")
        return f"{surely}undecided between {listed(standpoint.candidates)} for {places}{nearly_words(found)}"

    def _proved(self, standpoint: Standpoint, P: Sequence[float] | None) -> str | None:
        found = standpoint.findings or NOTHING
        sides = (found.top, "among"), (found.out, "not among")
        parts = [f"{listed(named)} {'is' if len(named) == 1 else 'are'} {where}" for named, where in sides if named]
        near = "none of {} is more than {} bit below another channel"
        return proved_words(self, found, [f"{' and '.join(parts)} the best {self.m}"] if parts else [], near)

    def _holds(self, found: Findings, values: Floats, same: float) -> bool:
        last, same = sorted(values)[-self.m], same + self.epsilon
        inside = all(values[channel] >= last - same for channel in found.top or ())
        outside = all(values[channel] <= last + same for channel in found.out or ())
        return inside and outside and not found.is_wrong(values, same - self.epsilon)


class Order(Question, frozen=True, tag="order"):
    """The question in which order the capacities of all channels come.

    Parameters
    ----------
    epsilon
        By how many bits a channel may be below one that comes later.

    Examples
    --------
    >>> import bestchannel as bc
    >>> sensor = bc.Simulator({"bad": bc.bsc(0.3), "good": bc.bsc(0.05), "fair": bc.bsc(0.15)}, rng=1)
    >>> policy = bc.Adaptive(sensor.alphabets, delta=0.05, question=bc.Order())
    >>> bc.identify(sensor, policy).findings.order
    ('good', 'fair', 'bad')
    """

    epsilon: float = 0.0  # type: ignore[misc]

    def proved_by(self, intervals: Ends, pairs: Pairs, lead: Lead) -> Findings:
        k, order = len(intervals), likeliest(intervals, pairs)
        within = furthest(lead, pairs, combinations(order, 2))
        if self.epsilon and within <= self.epsilon:
            return Findings(True, order=order, pairs=tuple(combinations(order, 2)))
        decided = len(pairs) == k * (k - 1) // 2
        said = nearly(order, within, intervals)
        return Findings(decided, order=order if decided else None, pairs=tuple(pairs), **said)

    def _promised(self, P: Sequence[float] | None) -> str:
        if self.epsilon:
            return f"no channel has a {criterion(P)} more than {exact(self.epsilon)} bit below that of a later one"
        return f"the stated order of {'capacities' if P is None else criterion(P)} holds"

    def answer(self, standpoint: Standpoint) -> str:
        found = standpoint.findings or NOTHING
        if found.order is not None:
            return f"order{within_words(self.epsilon)}: {' > '.join(map(str, found.order))}"
        return f"undecided: {several(len(found.pairs or ()), 'pair')} in order{nearly_words(found)}"

    def _proved(self, standpoint: Standpoint, P: Sequence[float] | None) -> str | None:
        found = standpoint.findings or NOTHING
        pairs = [f"{better} > {worse}" for better, worse in found.pairs or ()]
        near = "in the order {} none is more than {} bit below a later one"
        return proved_words(self, found, [listed(pairs)] if pairs else [], near)

    def _holds(self, found: Findings, values: Floats, same: float) -> bool:
        in_order = all(values[better] >= values[worse] - same - self.epsilon for better, worse in found.pairs or ())
        return bool(in_order) and not found.is_wrong(values, same)


def likeliest(intervals: Ends, pairs: Pairs) -> tuple[Any, ...]:
    """All channels by how many others each is better than, and by the middles of their intervals."""
    better = Counter(first for first, _ in pairs)
    return tuple(sorted(intervals, key=lambda name: (-better[name], -sum(intervals[name]))))


def furthest(lead: Lead, pairs: Pairs, answer: Iterable[tuple[Any, Any]]) -> float:
    """The most bits by which the first of a pair of the answer may be below the second."""
    settled = set(pairs)
    far = (-lead(over, under) for over, under in answer if (over, under) not in settled)
    return max([0.0, *far])


def nearly(answer: tuple[Any, ...], within: float, intervals: Ends) -> dict[str, Any]:
    """What `Findings` says of an answer that is not decided; nothing where no more is known than the alphabets say."""
    known = within < max((high for _, high in intervals.values()), default=0.0)
    return {"nearly": answer, "within_bits": within} if known and within > 0.0 else {}


def within_words(bits: float) -> str:
    """Words that follow others; none for 0."""
    return f" within {exact(bits)} bit" if bits else ""


def nearly_words(found: Findings) -> str:
    """What `nearly` and `within_bits` say, in words that follow others."""
    if not found.nearly or found.within_bits is None:
        return ""
    return f"; {listed(found.nearly)} within {exact(rounded_up(found.within_bits))} bit"


def proved_words(question: Question, found: Findings, said: list[str], near: str) -> str | None:
    """What is proved though it is not decided: what is said for sure, and `near` of which channels within how much."""
    if (found.decided and question.epsilon) or not found.says_something:
        return None
    if found.nearly and found.within_bits is not None:
        said = [*said, near.format(listed(found.nearly), exact(rounded_up(found.within_bits)))]
    return ", and ".join(said)
