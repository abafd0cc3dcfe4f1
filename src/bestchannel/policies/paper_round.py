"""One round of a policy of the paper: sense every candidate as often as a formula says, and estimate it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence

from bestchannel.intervals import Interval, plug_in
from bestchannel.intervals.paper_bounds import Rate
from bestchannel.policies.policy import Counts, Policy, Senses, TooManySensesError
from bestchannel.policies.request import MOST_SENSES
from bestchannel.policies.transcript import Alphabet

Estimates = dict[int, Interval]
"""Ĉ of every candidate, between its certified ends, in bits."""


def sensed_estimates(
    policy: Policy, candidates: Sequence[int], n: Callable[[Rate], int]
) -> Generator[Senses, Counts, Estimates]:
    """Sense each candidate n(rate) times, its inputs equally often, and estimate it [EBWGW24, Sec. III].

    Every input gets ⌈n/|X|⌉ senses: no input is left with a remainder, and Proposition 1 holds
    for the slightly larger total. A channel of value 0 by its alphabet is not sensed.
    """
    per_input: dict[Alphabet, int] = {}
    for n_inputs, n_outputs in {policy.alphabets[channel] for channel in candidates}:
        if min(n_inputs, n_outputs) > 1:
            per_input[n_inputs, n_outputs] = -(-n(policy.functional.rate(n_inputs, n_outputs)) // n_inputs)
    most = max(per_input.values(), default=0)
    if most > MOST_SENSES:
        raise TooManySensesError(
            f"the policy requires some 10^{len(str(most)) - 1} senses of an input, and counts hold fewer than 10^19;"
            " a larger epsilon requires fewer"
        )
    wanted = {
        channel: (per_input[policy.alphabets[channel]],) * policy.alphabets[channel][0]
        for channel in candidates
        if policy.alphabets[channel] in per_input
    }
    values = dict.fromkeys(candidates, Interval(0.0, 0.0))
    if wanted:
        counts = yield wanted
        values.update(plug_in(counts, policy.functional))
    return values


def best_of(values: Estimates) -> int:
    """The channel with the largest estimate; of equal ones, the first."""
    return max(values, key=lambda channel: values[channel].lower)
