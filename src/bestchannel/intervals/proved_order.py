"""Which channels are proved to be better than which, all at once: a partial order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

from bestchannel.intervals.fixed_design import RecordedSet
from bestchannel.intervals.verdict import Standing


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


def proved_order(standings: Sequence[Standing], recorded: RecordedSet | None, delta: float) -> ProvedOrder:
    """From intervals that hold at once, or with more power from the e-values of recorded counts."""
    settled = _apart(standings) if recorded is None else recorded.order(delta)
    k, better, worse = len(standings), Counter(a for _, a in settled), Counter(b for b, _ in settled)
    from_the_best = sorted(standings, key=lambda standing: -standing.capacity)
    ranks = tuple(Rank(s.name, 1 + better[s.name], k - worse[s.name]) for s in from_the_best)
    return ProvedOrder(settled, k * (k - 1) // 2, ranks)


def _apart(standings: Sequence[Standing]) -> tuple[tuple[str, str], ...]:
    """The pairs whose intervals do not meet."""
    return tuple((b.name, a.name) for b, a in permutations(standings, 2) if b.lower > a.upper)
