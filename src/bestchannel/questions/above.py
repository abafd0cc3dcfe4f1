"""Which channels are above a level?"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from bestchannel.arrays import Floats, number_in
from bestchannel.promises import confidence, criterion, exact, listed
from bestchannel.questions.question import MOST_BITS, Findings, Question, Standpoint


class Above(Question, frozen=True, tag="above"):
    """The question which channels have a capacity above a level; the others are below it, or at it.

    Parameters
    ----------
    level
        In bits, at least 0.
    tolerance
        What is called above is then above level - tolerance, what is called below is below level + tolerance: near the
        level, either may be said.

    Examples
    --------
    >>> import bestchannel as bc
    >>> sensor = bc.Simulator({"good": bc.bsc(0.05), "bad": bc.bsc(0.3)}, rng=1)
    >>> policy = bc.Adaptive(sensor.alphabets, delta=0.05, question=bc.Above(0.4))
    >>> bc.identify(sensor, policy).findings.answers
    {'good': 'above', 'bad': 'below'}
    """

    level: float
    tolerance: float = 0.0

    @property
    def line(self) -> float:  # type: ignore[override]
        """The level."""
        return self.level

    def refuse_unless_possible(self, channels: int) -> None:
        number_in(self.level, "the level (of capacity, in bits)", low=0.0, high=MOST_BITS, low_open=False)
        number_in(self.tolerance, "the tolerance (in bits)", low=0.0, high=MOST_BITS, low_open=False)

    def proved_by(self, intervals: Mapping[Any, tuple[float, float]], pairs: Collection[tuple[Any, Any]]) -> Findings:
        answers = {name: self._side(*ends) for name, ends in intervals.items()}
        return Findings(all(answers.values()), answers=answers)

    def _side(self, lower: float, upper: float) -> str | None:
        if lower > self.level - self.tolerance:
            return "above"
        return "below" if upper < self.level + self.tolerance or upper == self.level else None

    def promise(self, delta: float, P: Sequence[float] | None, proof: str) -> str:
        low, high = exact(self.level - self.tolerance), exact(self.level + self.tolerance)
        at_most = "<" if self.tolerance else "<="
        what = f"every {criterion(P)} called above is > {low} bit, every one called below {at_most} {high} bit"
        return f"{what}, with probability at least {confidence(delta)} [{proof}]"

    def answer(self, standpoint: Standpoint) -> str:
        answers = standpoint.findings.answers or {} if standpoint.findings else {}
        sides = {"above": "above", "below": "below", None: "undecided"}
        parts = [
            f"{what} {exact(self.level)} bit: {listed(named)}" if side else f"{what}: {listed(named)}"
            for side, what in sides.items()
            if (named := [channel for channel, said in answers.items() if said == side])
        ]
        return "; ".join(parts)

    def proved_so_far(self, standpoint: Standpoint, delta: float, P: Sequence[float] | None) -> str | None:
        answers = standpoint.findings.answers or {} if standpoint.findings else {}
        if not any(answers.values()):
            return None
        return f"what is called above or below is so with probability at least {confidence(delta)}"

    def is_right(self, standpoint: Standpoint, values: Floats, same: float) -> bool:
        answers = standpoint.findings.answers or {} if standpoint.findings else {}
        slack = self.tolerance + same
        wrong = [
            values[channel] < self.level - slack if side == "above" else values[channel] > self.level + slack
            for channel, side in answers.items()
            if side is not None
        ]
        return bool(wrong) and not any(wrong)
