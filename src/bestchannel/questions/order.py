"""In which order do channels come?"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from bestchannel.arrays import Floats, number_in
from bestchannel.promises import confidence, criterion, exact, listed, rounded_up, several
from bestchannel.questions.nearness import ACCURACY, furthest, likeliest, nearly, nearly_words, within_words
from bestchannel.questions.question import MOST_BITS, Ends, Findings, Lead, Pairs, Question, Standpoint


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

    def refuse_unless_possible(self, channels: int) -> None:
        number_in(self.epsilon, ACCURACY, low=0.0, high=MOST_BITS, low_open=False)

    def proved_by(self, intervals: Ends, pairs: Pairs, lead: Lead) -> Findings:
        k, order = len(intervals), likeliest(intervals, pairs)
        within = furthest(lead, pairs, combinations(order, 2))
        if self.epsilon and within <= self.epsilon:
            return Findings(True, order=order, pairs=tuple(combinations(order, 2)))
        decided = len(pairs) == k * (k - 1) // 2
        said = nearly(order, within, intervals)
        return Findings(decided, order=order if decided else None, pairs=tuple(pairs), **said)

    def promise(self, delta: float, P: Sequence[float] | None, proof: str) -> str:
        what = "capacities" if P is None else criterion(P)
        said = f"the stated order of {what} holds"
        if self.epsilon:
            said = f"no channel has a {criterion(P)} more than {exact(self.epsilon)} bit below that of a later one"
        return f"{said} with probability at least {confidence(delta)} [{proof}]"

    def answer(self, standpoint: Standpoint) -> str:
        found = standpoint.findings
        if found and found.order is not None:
            return f"order{within_words(self.epsilon)}: {' > '.join(map(str, found.order))}"
        near = f"; {words}" if found and (words := nearly_words(found)) else ""
        return f"undecided: {several(len(found.pairs or ()) if found else 0, 'pair')} in order{near}"

    def proved_so_far(self, standpoint: Standpoint, delta: float, P: Sequence[float] | None) -> str | None:
        found = standpoint.findings
        if found is None or (found.decided and self.epsilon) or not found.says_something:
            return None
        said = [listed([f"{better} > {worse}" for better, worse in found.pairs])] if found.pairs else []
        if found.nearly and found.within_bits is not None:
            bits = exact(rounded_up(found.within_bits))
            said.append(f"in the order {listed(found.nearly)} none is more than {bits} bit below a later one")
        return f"{', and '.join(said)} with probability at least {confidence(delta)}"

    def is_right(self, standpoint: Standpoint, values: Floats, same: float) -> bool:
        found = standpoint.findings
        if found is None or not found.says_something:
            return False
        in_order = all(values[better] >= values[worse] - same - self.epsilon for better, worse in found.pairs or ())
        return bool(in_order) and not found.is_wrong(values, same)
