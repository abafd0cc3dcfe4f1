"""Which channel is the best?"""

from __future__ import annotations

from collections.abc import Sequence

from bestchannel.arrays import Floats
from bestchannel.promises import confidence, criterion, exact, listed, rounded_up
from bestchannel.questions.question import Question, Standpoint


class Best(Question, frozen=True, tag="best"):
    """The question which channel has the largest capacity, or one within epsilon bits of it.

    Parameters
    ----------
    epsilon
        In bits, at least 0.

    Examples
    --------
    >>> import bestchannel as bc
    >>> bc.Best(0.01).epsilon
    0.01
    """

    epsilon: float = 0.0  # type: ignore[misc]  # a field here, and no other question has one

    def promise(self, delta: float, P: Sequence[float] | None, proof: str) -> str:
        largest = "the best" if P is None else f"the largest {criterion(P)}"
        if self.epsilon:
            what = f"is within {exact(self.epsilon)} bit of {largest}"
        else:
            what = f"is {largest}" if P is None else f"has {largest}"
        return f"the named channel {what} with probability at least {confidence(delta)} [{proof}]"

    def answer(self, standpoint: Standpoint) -> str:
        if standpoint.best is not None:
            return f"best: {standpoint.best}"
        return f"undecided between {listed(standpoint.candidates)}"

    def proved_so_far(self, standpoint: Standpoint, delta: float, P: Sequence[float] | None) -> str | None:
        nearly = standpoint.nearly_best
        if nearly is None or standpoint.best is not None:
            return None
        bits = exact(rounded_up(nearly.within_bits))
        if P is None:
            what = f"is the best or within {bits} bit of the best"
        else:
            what = f"has the largest {criterion(P)}, or one within {bits} bit of it,"
        return f"{nearly.channel} {what} with probability at least {confidence(delta)}"

    def is_right(self, standpoint: Standpoint, values: Floats, same: float) -> bool:
        best = standpoint.best
        return best is not None and bool(values.max() - values[best] <= self.epsilon + same)
