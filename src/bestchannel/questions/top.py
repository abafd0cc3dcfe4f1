"""Which m channels are the best?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from bestchannel.arrays import Floats
from bestchannel.errors import InputError
from bestchannel.promises import confidence, criterion, listed, several
from bestchannel.questions.question import Findings, Question, Standpoint


class Top(Question, frozen=True, tag="top"):
    """The question which m channels have the largest capacities.

    Parameters
    ----------
    m
        How many, at least 1.

    Examples
    --------
    >>> import bestchannel as bc
    >>> sensor = bc.Simulator({"good": bc.bsc(0.05), "fair": bc.bsc(0.1), "bad": bc.bsc(0.3)}, rng=1)
    >>> policy = bc.Adaptive(sensor.alphabets, delta=0.05, question=bc.Top(2))
    >>> bc.identify(sensor, policy).findings.top
    ('good', 'fair')
    """

    m: int

    def refuse_unless_possible(self, channels: int) -> None:
        if not 1 <= self.m <= channels:
            raise InputError(f"the best m are asked for, with m from 1 to {channels}, the channels; m is {self.m}")

    def proved_by(self, intervals: Mapping[Any, tuple[float, float]], pairs: Collection[tuple[Any, Any]]) -> Findings:
        worse, better = (Counter(pair[side] for pair in pairs) for side in (0, 1))
        top = tuple(name for name in intervals if worse[name] >= len(intervals) - self.m)
        out = tuple(name for name in intervals if better[name] >= self.m)
        return Findings(len(top) == self.m, top=top, out=out)

    def promise(self, delta: float, P: Sequence[float] | None, proof: str) -> str:
        which = f"the best {self.m}" if P is None else f"the {self.m} with the largest {criterion(P)}"
        return f"the named channels are {which} with probability at least {confidence(delta)} [{proof}]"

    def answer(self, standpoint: Standpoint) -> str:
        found = standpoint.findings
        top = (found.top or ()) if found else ()
        if found and found.decided:
            return f"best {self.m}: {listed(top)}"
        surely = f"{listed(top)} among the best {self.m}; " if top else ""
        return f"{surely}undecided between {listed(standpoint.candidates)} for {several(self.m - len(top), 'place')}"

    def proved_so_far(self, standpoint: Standpoint, delta: float, P: Sequence[float] | None) -> str | None:
        found = standpoint.findings
        if found is None or not (found.top or found.out):
            return None
        parts = [f"{listed(found.top)} {'is' if len(found.top) == 1 else 'are'} among" if found.top else ""]
        parts += [f"{listed(found.out)} {'is' if len(found.out) == 1 else 'are'} not among" if found.out else ""]
        return f"{' and '.join(filter(None, parts))} the best {self.m} with probability at least {confidence(delta)}"

    def is_right(self, standpoint: Standpoint, values: Floats, same: float) -> bool:
        found = standpoint.findings
        if found is None or not found.says_something:
            return False
        last = sorted(values)[-self.m]
        inside = all(values[channel] >= last - same for channel in found.top or ())
        return inside and all(values[channel] <= last + same for channel in found.out or ())
