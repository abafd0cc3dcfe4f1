"""How large is the capacity of every channel?"""

from __future__ import annotations

from collections.abc import Sequence

from bestchannel.arrays import Floats, number_in
from bestchannel.promises import confidence, criterion, exact, listed
from bestchannel.questions.question import MOST_BITS, Ends, Findings, Lead, Pairs, Question, Standpoint


class Within(Question, frozen=True, tag="within"):
    """The question how large every capacity is, between ends that are at most so many bits apart.

    Parameters
    ----------
    width
        Of every interval, in bits.
    relative
        That the width is a part of the lower end instead.

    Examples
    --------
    >>> import bestchannel as bc
    >>> sensor = bc.Simulator({"link": bc.bsc(0.1)}, rng=1)
    >>> result = bc.identify(sensor, bc.Adaptive(sensor.alphabets, delta=0.05, question=bc.Within(0.1)))
    >>> lower, upper = result.findings.brackets["link"]
    >>> lower < 0.531 < upper < lower + 0.1
    True
    """

    width: float
    relative: bool = False

    def refuse_unless_possible(self, channels: int) -> None:
        number_in(self.width, "the width (of every interval, in bits)", low=0.0, high=MOST_BITS)

    def proved_by(self, intervals: Ends, pairs: Pairs, lead: Lead) -> Findings:
        narrow = (high - low <= self.width * (low if self.relative else 1.0) for low, high in intervals.values())
        return Findings(all(narrow), brackets=dict(intervals))

    def promise(self, delta: float, P: Sequence[float] | None, proof: str) -> str:
        return f"every {criterion(P)} is within its interval with probability at least {confidence(delta)} [{proof}]"

    def answer(self, standpoint: Standpoint) -> str:
        brackets = standpoint.findings.brackets or {} if standpoint.findings else {}
        wide = [c for c, (low, high) in brackets.items() if high - low > self.width * (low if self.relative else 1.0)]
        ends = [f"{channel} {low:.6g} to {high:.6g} bit" for channel, (low, high) in brackets.items()]
        said = f"capacities: {listed(ends)}"
        most = f"{100.0 * self.width:.6g} %" if self.relative else f"{exact(self.width)} bit"
        return said + (f"; wider than {most}: {listed(wide)}" if wide else "")

    def proved_so_far(self, standpoint: Standpoint, delta: float, P: Sequence[float] | None) -> str | None:
        return f"every {criterion(P)} is within its interval with probability at least {confidence(delta)}"

    def is_right(self, standpoint: Standpoint, values: Floats, same: float) -> bool:
        brackets = standpoint.findings.brackets or {} if standpoint.findings else {}
        return bool(brackets) and all(
            low - same <= values[channel] <= high + same for channel, (low, high) in brackets.items()
        )
