"""Requests in portions: what a policy asks at once, asked of people in requests that fit a sitting."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bestchannel.arrays import Integers
from bestchannel.policies import Observation, Policy, Request
from bestchannel.policies.policy import Senses
from bestchannel.policies.request import checked_counts


class Portions:
    """A policy that is asked and told in portions of at most `largest` senses; None leaves its requests whole.

    Portions have numbers of their own, from 1. Which senses are in a portion follows from the request alone, and the
    policy is told the sum once all have been answered: it sees what it would have seen without portions.
    """

    def __init__(self, policy: Policy, largest: int | None) -> None:
        self.policy = policy
        self._largest, self._told = largest, 0
        self._open: Request | None = None
        self._begin()

    def ask(self) -> Request | None:
        """The open portion, the same until it is answered; None when the policy is done."""
        return self._open

    def tell(self, observation: Observation) -> None:
        """Answer the open portion."""
        assert self._open is not None  # the caller has asked
        for channel, table in checked_counts(self._open, observation, self.policy.alphabets).items():
            self._sums[channel] += table
        self._told += 1
        self._advance()
        if self._open is None and (request := self.policy.ask()) is not None:
            self.policy.tell(Observation(request.number, self._sums))
            self._begin()

    def _begin(self) -> None:
        """Cut up what the policy asks now."""
        request, self._open = self.policy.ask(), None
        if request is not None:
            self._sums: dict[int, Integers] = {
                channel: np.zeros(self.policy.alphabets[channel], dtype=np.int64) for channel in request.senses
            }
            self._rest = iter([dict(request.senses)]) if self._largest is None else _cut(request, self._largest)
            self._advance()

    def _advance(self) -> None:
        senses = next(self._rest, None)
        self._open = None if senses is None else Request(self._told + 1, senses)


def _cut(request: Request, largest: int) -> Iterator[Senses]:
    """The senses of the request, input after input, in portions of `largest` and a last one of what is left."""
    portion: dict[int, list[int]] = {}
    room = largest
    for channel, senses in request.senses.items():
        for x, left in enumerate(senses):
            while left:
                taken = min(left, room)
                portion.setdefault(channel, [0] * len(senses))[x] += taken
                left, room = left - taken, room - taken
                if not room:
                    yield {c: tuple(counts) for c, counts in portion.items()}
                    portion, room = {}, largest
    if portion:
        yield {c: tuple(counts) for c, counts in portion.items()}
