"""In which order do channels come?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from bestchannel.arrays import Floats
from bestchannel.promises import confidence, criterion, listed, several
from bestchannel.questions.question import Findings, Question, Standpoint


class Order(Question, frozen=True, tag="order"):
    """The question in which order the capacities of all channels come.

    Examples
    --------
    >>> import bestchannel as bc
    >>> sensor = bc.Simulator({"bad": bc.bsc(0.3), "good": bc.bsc(0.05), "fair": bc.bsc(0.15)}, rng=1)
    >>> policy = bc.Adaptive(sensor.alphabets, delta=0.05, question=bc.Order())
    >>> bc.identify(sensor, policy).findings.order
    ('good', 'fair', 'bad')
    """

    def proved_by(self, intervals: Mapping[Any, tuple[float, float]], pairs: Collection[tuple[Any, Any]]) -> Findings:
        k, worse = len(intervals), Counter(better for better, _ in pairs)
        decided = len(pairs) == k * (k - 1) // 2
        order = tuple(sorted(intervals, key=lambda name: -worse[name])) if decided else None
        return Findings(decided, order=order, pairs=tuple(pairs))

    def promise(self, delta: float, P: Sequence[float] | None, proof: str) -> str:
        what = "capacities" if P is None else criterion(P)
        return f"the stated order of {what} holds with probability at least {confidence(delta)} [{proof}]"

    def answer(self, standpoint: Standpoint) -> str:
        found = standpoint.findings
        if found and found.order is not None:
            return f"order: {' > '.join(map(str, found.order))}"
        return f"undecided: {several(len(found.pairs or ()) if found else 0, 'pair')} in order"

    def proved_so_far(self, standpoint: Standpoint, delta: float, P: Sequence[float] | None) -> str | None:
        found = standpoint.findings
        if found is None or not found.pairs:
            return None
        said = listed([f"{better} > {worse}" for better, worse in found.pairs])
        return f"{said} with probability at least {confidence(delta)}"

    def is_right(self, standpoint: Standpoint, values: Floats, same: float) -> bool:
        found = standpoint.findings
        if found is None or not found.pairs:
            return False
        return all(bool(values[better] >= values[worse] - same) for better, worse in found.pairs)
