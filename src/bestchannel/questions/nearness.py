"""How near channels are that are put before others: what intervals and settled pairs show of an answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from bestchannel.promises import exact, listed, rounded_up
from bestchannel.questions.question import Ends, Findings, Lead, Pairs

ACCURACY = "epsilon (the accuracy, in bits)"


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
    """What `nearly` and `within_bits` say, in a few words."""
    if not found.nearly or found.within_bits is None:
        return ""
    return f"{listed(found.nearly)} within {exact(rounded_up(found.within_bits))} bit"
