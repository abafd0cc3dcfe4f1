"""Which m channels are the best?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import product

from bestchannel.arrays import Floats, number_in
from bestchannel.errors import InputError
from bestchannel.promises import confidence, criterion, exact, listed, rounded_up, several
from bestchannel.questions.nearness import ACCURACY, furthest, likeliest, nearly, nearly_words, within_words
from bestchannel.questions.question import MOST_BITS, Ends, Findings, Lead, Pairs, Question, Standpoint


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
        number_in(self.epsilon, ACCURACY, low=0.0, high=MOST_BITS, low_open=False)
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

    def promise(self, delta: float, P: Sequence[float] | None, proof: str) -> str:
        if self.epsilon:
            what = f"no named channel has a {criterion(P)} more than {exact(self.epsilon)} bit below that of another"
            return f"{what} with probability at least {confidence(delta)} [{proof}]"
        which = f"the best {self.m}" if P is None else f"the {self.m} with the largest {criterion(P)}"
        return f"the named channels are {which} with probability at least {confidence(delta)} [{proof}]"

    def answer(self, standpoint: Standpoint) -> str:
        found = standpoint.findings
        top = (found.top or ()) if found else ()
        if found and found.decided:
            return f"best {self.m}{within_words(self.epsilon)}: {listed(top)}"
        surely = f"{listed(top)} among the best {self.m}; " if top else ""
        places = several(self.m - len(top), "place")
        near = f"; {words}" if found and (words := nearly_words(found)) else ""
        return f"{surely}undecided between {listed(standpoint.candidates)} for {places}{near}"

    def proved_so_far(self, standpoint: Standpoint, delta: float, P: Sequence[float] | None) -> str | None:
        found = standpoint.findings
        if found is None or (found.decided and self.epsilon) or not found.says_something:
            return None
        parts = [f"{listed(found.top)} {'is' if len(found.top) == 1 else 'are'} among" if found.top else ""]
        parts += [f"{listed(found.out)} {'is' if len(found.out) == 1 else 'are'} not among" if found.out else ""]
        said = [f"{' and '.join(filter(None, parts))} the best {self.m}"] if any(parts) else []
        if found.nearly and found.within_bits is not None:
            bits = exact(rounded_up(found.within_bits))
            said.append(f"none of {listed(found.nearly)} is more than {bits} bit below another channel")
        return f"{', and '.join(said)} with probability at least {confidence(delta)}"

    def is_right(self, standpoint: Standpoint, values: Floats, same: float) -> bool:
        found = standpoint.findings
        if found is None or not found.says_something:
            return False
        last, same = sorted(values)[-self.m], same + self.epsilon
        inside = all(values[channel] >= last - same for channel in found.top or ())
        outside = all(values[channel] <= last + same for channel in found.out or ())
        return inside and outside and not found.is_wrong(values, same - self.epsilon)
