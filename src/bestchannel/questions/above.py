"""Which channels are above a level?"""

from __future__ import annotations

from collections.abc import Sequence

from bestchannel.arrays import Floats, number_in
from bestchannel.promises import confidence, criterion, exact
from bestchannel.questions.question import Question, Standpoint
from bestchannel.questions.wording import MOST_BITS, listed


class Above(Question, frozen=True, tag="above"):
    """Which channels have a capacity above a level, in bits? The others are below it, or at it.

    With a tolerance, a channel that is called above has at least a capacity above level - tolerance, and one that is
    called below has one below level + tolerance: near the level, either may be said.

    >>> Above(0.9, 0.01)
    Above(level=0.9, tolerance=0.01)
    """

    level: float
    tolerance: float = 0.0

    def refuse_unless_possible(self, channels: int) -> None:
        """The level and the tolerance are numbers of bits."""
        number_in(self.level, "the level (of capacity, in bits)", low=0.0, high=MOST_BITS, low_open=False)
        number_in(self.tolerance, "the tolerance (in bits)", low=0.0, high=MOST_BITS, low_open=False)

    def promise(self, delta: float, P: Sequence[float] | None, proof: str) -> str:
        """What a policy promises of all that it calls above or below, and where the proof is.

        >>> Above(0.9).promise(0.05, None, "bestchannel explain questions")
        'every capacity called above is > 0.9 bit, every one called below <= 0.9 bit, with probability at least 0.95 \
[bestchannel explain questions]'
        """
        low, high = exact(self.level - self.tolerance), exact(self.level + self.tolerance)
        at_most = "<" if self.tolerance else "<="
        what = f"every {criterion(P)} called above is > {low} bit, every one called below {at_most} {high} bit"
        return f"{what}, with probability at least {confidence(delta)} [{proof}]"

    def answer(self, standpoint: Standpoint) -> str:
        """Which channels are above, which are below, and which are open."""
        answers = standpoint.findings.answers or {} if standpoint.findings else {}
        sides = {"above": "above", "below": "below", None: "undecided"}
        parts = [
            f"{what} {exact(self.level)} bit: {listed(named)}" if side else f"{what}: {listed(named)}"
            for side, what in sides.items()
            if (named := [channel for channel, said in answers.items() if said == side])
        ]
        return "; ".join(parts)

    def proved_so_far(self, standpoint: Standpoint, delta: float, P: Sequence[float] | None) -> str | None:
        """That what is called above or below is so."""
        answers = standpoint.findings.answers or {} if standpoint.findings else {}
        if not any(answers.values()):
            return None
        return f"what is called above or below is so with probability at least {confidence(delta)}"

    def is_right(self, standpoint: Standpoint, values: Floats, same: float) -> bool:
        """Whether nothing is called above that is below level - tolerance, or below that is above level + tolerance."""
        answers = standpoint.findings.answers or {} if standpoint.findings else {}
        slack = self.tolerance + same
        wrong = [
            values[channel] < self.level - slack if side == "above" else values[channel] > self.level + slack
            for channel, side in answers.items()
            if side is not None
        ]
        return bool(wrong) and not any(wrong)
