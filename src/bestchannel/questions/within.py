"""How large is the capacity of every channel?"""

from __future__ import annotations

from collections.abc import Sequence

from bestchannel.arrays import Floats, number_in
from bestchannel.promises import confidence, criterion, exact
from bestchannel.questions.question import Question, Standpoint
from bestchannel.questions.wording import MOST_BITS, listed


class Within(Question, frozen=True, tag="within"):
    """How large is every capacity, between two ends that are at most so many bits apart?

    `relative` says that the width is a part of the lower end.

    >>> Within(0.01)
    Within(width=0.01, relative=False)
    """

    width: float
    relative: bool = False

    def refuse_unless_possible(self, channels: int) -> None:
        """The width is a positive number of bits."""
        number_in(self.width, "the width (of every interval, in bits)", low=0.0, high=MOST_BITS)

    def promise(self, delta: float, P: Sequence[float] | None, proof: str) -> str:
        """What a policy promises of all intervals, and where the proof is.

        >>> Within(0.01).promise(0.05, None, "bestchannel explain questions")
        'every capacity is within its interval with probability at least 0.95 [bestchannel explain questions]'
        """
        return f"every {criterion(P)} is within its interval with probability at least {confidence(delta)} [{proof}]"

    def answer(self, standpoint: Standpoint) -> str:
        """Every interval."""
        brackets = standpoint.findings.brackets or {} if standpoint.findings else {}
        wide = [c for c, (low, high) in brackets.items() if high - low > self.width * (low if self.relative else 1.0)]
        said = listed([f"{channel} {low:.6g} to {high:.6g} bit" for channel, (low, high) in brackets.items()])
        most = f"{100.0 * self.width:.6g} %" if self.relative else f"{exact(self.width)} bit"
        return said + (f"; wider than {most}: {listed(wide)}" if wide else "")

    def proved_so_far(self, standpoint: Standpoint, delta: float, P: Sequence[float] | None) -> str | None:
        """That the intervals hold, however wide."""
        return f"every {criterion(P)} is within its interval with probability at least {confidence(delta)}"

    def is_right(self, standpoint: Standpoint, values: Floats, same: float) -> bool:
        """Whether every value is within its interval."""
        brackets = standpoint.findings.brackets or {} if standpoint.findings else {}
        return bool(brackets) and all(
            low - same <= values[channel] <= high + same for channel, (low, high) in brackets.items()
        )
