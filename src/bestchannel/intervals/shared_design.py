"""What counts prove of channels that answered the same trials, whose answers may depend on each other: in **nats**.

The ends of a channel's interval are e-values of its own senses alone, so that they hold whatever the dependence
between channels is; of two channels their ends are subtracted. docs/theory/joint-trials.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations

from bestchannel.arrays import Floats, Integers
from bestchannel.intervals.fixed_design import Ends, RecordedSet, proved_ends


@dataclass(frozen=True)
class SharedSet:
    """Channels that answered the same trials, of which counts are known: no two are supposed independent."""

    tables: Mapping[str, Integers]
    recorded: RecordedSet | None
    P: Floats | None = None

    def leads(self, leader: str, delta: float) -> dict[str, float]:
        """The lower end of the leader's capacity less that of every other channel.

        The best channel a is ruled out, by any b, with at most δ: its one upper end is wrong with at most δ/2, and each
        of the k - 1 lower ends of others with at most δ/2(k - 1).
        """
        rivals = [name for name in self.tables if name != leader]
        lower = self._ends(leader, delta / max(len(rivals), 1)).lower
        return {name: lower - self._ends(name, delta).upper for name in rivals}

    def order(self, delta: float) -> tuple[tuple[str, str], ...]:
        """The pairs (b, a) of which b's lower end is above a's upper one: 2k ends, which hold at once."""
        ends = {name: self._ends(name, delta / len(self.tables)) for name in self.tables}
        return tuple((b, a) for b, a in permutations(ends, 2) if ends[b].lower > ends[a].upper)

    def ahead(self, b: str, a: str, delta: float) -> float:
        """The lower end of C_b - C_a, by the same ends."""
        alpha = delta / len(self.tables)
        return self._ends(b, alpha).lower - self._ends(a, alpha).upper

    def _ends(self, name: str, alpha: float) -> Ends:
        return proved_ends(self.tables[name], self.P, alpha, self.recorded, name)
