"""The three algorithms of the paper [EBWGW24]: BestChanID, NaiveChanSel and MedianChanEl."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from functools import partial
from typing import Any, ClassVar, Protocol

from bestchannel.arrays import number_in
from bestchannel.errors import InputError
from bestchannel.information import NATS_PER_BIT
from bestchannel.intervals import Functional, Interval, paper_bounds, plug_in
from bestchannel.policies.policy import Counts, Policy, Script, Senses, TooManySensesError
from bestchannel.policies.request import MOST_SENSES
from bestchannel.policies.transcript import Alphabet

Estimates = dict[int, Interval]
"""Ĉ of every candidate, between its certified ends, in bits."""

Algorithm = Generator[Senses, Counts, int]
OnRound = Callable[[tuple[int, ...]], Any]


class Estimating(Protocol):
    """What the algorithms look at of a policy."""

    alphabets: tuple[Alphabet, ...]
    functional: Functional

    def estimates(self, counts: Counts) -> Estimates:
        """Ĉ of the channels that were sensed."""


def sensed_estimates(
    policy: Estimating, candidates: Sequence[int], n: Callable[[paper_bounds.Rate], int]
) -> Generator[Senses, Counts, Estimates]:
    """Sense each candidate n(rate) times, its inputs equally often, and estimate it [EBWGW24, Sec. III].

    Every input gets ⌈n/|X|⌉ senses: no input is left with a remainder, and Proposition 1 holds
    for the slightly larger total. A channel of value 0 by its alphabet is not sensed.
    """
    sizes = {channel: policy.alphabets[channel] for channel in candidates if min(policy.alphabets[channel]) > 1}
    per_input = {size: -(-n(policy.functional.rate(*size)) // size[0]) for size in set(sizes.values())}
    values = dict.fromkeys(candidates, Interval(0.0, 0.0))
    if sizes:
        wanted = {channel: (per_input[size],) * size[0] for channel, size in sizes.items()}
        values.update(policy.estimates((yield wanted)))
    return values


def naive_chan_sel(
    policy: Estimating, candidates: Sequence[int], epsilon_nats: float, delta: float, on_round: OnRound = lambda _: None
) -> Algorithm:
    """Algorithm 2 for some of the channels of a policy; `on_round` is told who is left."""
    if len(candidates) > 1:
        senses = partial(paper_bounds.naive_senses, epsilon_nats, delta, len(candidates))
        candidates = (best_of((yield from sensed_estimates(policy, candidates, senses))),)
        on_round(candidates)
    return candidates[0]


def best_of(values: Estimates) -> int:
    """The channel with the largest estimate; of equal ones, the first."""
    return max(values, key=lambda channel: values[channel].lower)


def median_chan_el(
    policy: Estimating, candidates: Sequence[int], epsilon_nats: float, delta: float, on_round: OnRound = lambda _: None
) -> Algorithm:
    """Algorithm 3 for some of the channels of a policy; `on_round` is told who is left."""
    epsilon_r, delta_r = epsilon_nats / 4, delta / 2
    while len(candidates) > 1:
        senses = partial(paper_bounds.median_senses, epsilon_r, delta_r)
        candidates = better_half((yield from sensed_estimates(policy, candidates, senses)))
        on_round(candidates)
        epsilon_r, delta_r = 3 * epsilon_r / 4, delta_r / 2
    return candidates[0]


def better_half(estimate: Estimates) -> tuple[int, ...]:
    """The ⌈k/2⌉ channels with the largest estimates; of equal ones, the first.

    The paper removes what lies strictly below the median, which for two channels, or at ties,
    removes nothing and never ends.
    """
    ranked = sorted(estimate, key=lambda channel: -estimate[channel].lower)
    return tuple(sorted(ranked[: (len(ranked) + 1) // 2]))


SUBROUTINES = {"naive": naive_chan_sel, "median": median_chan_el}
"""What may find the nearly best channel of a round of BestChanID, by its name on the command line."""


def best_chan_id(
    policy: Estimating, delta: float, subroutine: str, on_round: Callable[[int, tuple[int, ...]], None]
) -> Algorithm:
    """Algorithm 1 for all channels of a policy; `on_round` is told the number of the round and who is left."""
    candidates, r = tuple(range(len(policy.alphabets))), 0
    while len(candidates) > 1 and any(min(policy.alphabets[j]) > 1 for j in candidates):
        on_round(r := r + 1, candidates)
        epsilon_r, delta_r = paper_bounds.best_chan_id_epsilon(r), paper_bounds.best_chan_id_delta(r, delta)
        n = partial(paper_bounds.best_chan_id_senses, r, delta)
        estimate = yield from sensed_estimates(policy, candidates, n)
        j_r = yield from SUBROUTINES[subroutine](policy, candidates, epsilon_r / 2, delta_r)
        # both capacities are brackets: a channel goes only where every value in them says so
        threshold = estimate[j_r].lower - epsilon_r / NATS_PER_BIT
        candidates = tuple(j for j in candidates if not estimate[j].upper < threshold)
    on_round(r, candidates)
    return candidates[0]


class PaperPolicy(Policy):
    """A policy of the paper, whose promise a theorem of the paper proves."""

    checked_by = "bestchannel.verification.paper_check:check_paper"

    theorem: ClassVar[str]

    def estimates(self, counts: Counts) -> Estimates:
        """The values of the empirical channels.

        Parameters
        ----------
        counts
            [x, y] of every channel that was sensed.

        Returns
        -------
        dict of int to Interval
            Ĉ of each, between its certified ends, in bits.

        Examples
        --------
        >>> import bestchannel as bc, numpy as np
        >>> naive = bc.NaiveChanSel([(2, 2), (2, 2)], epsilon=0.1, delta=0.05)
        >>> round(naive.estimates({0: np.array([[9, 1], [1, 9]])})[0].lower, 3)
        0.531
        """
        return plug_in(counts, self.functional)

    def _checked_senses(self, senses: Senses) -> Senses:
        if (most := max(map(max, senses.values()))) > MOST_SENSES:
            raise TooManySensesError(
                f"the policy requires some 10^{len(str(most)) - 1} senses of an input, and counts hold fewer than"
                " 10^19; a larger epsilon requires fewer"
            )
        return super()._checked_senses(senses)

    @property
    def guarantee(self) -> str:
        """What the recommendation promises, and where the proof is."""
        planned = "Remark 1, stated and not proved for inputs that are planned"
        theorem = self.theorem if self.functional.P is None else planned
        return self._promise(f"EBWGW24, {theorem}; bestchannel explain {self.name}")


class PacPolicy(PaperPolicy):
    """Names a channel within epsilon bits of the best with probability 1 - delta [EBWGW24, Sec. V]."""

    _algorithm: ClassVar[Callable[..., Algorithm]]

    def __init__(
        self,
        alphabets: Iterable[Sequence[int]],
        *,
        epsilon: float,
        delta: float,
        input_distribution: Sequence[float] | None = None,
    ) -> None:
        epsilon = number_in(epsilon, "epsilon (the accuracy, in bits)", low=0.0, high=1e300)
        super().__init__(alphabets, delta=delta, epsilon=epsilon, input_distribution=input_distribution)

    def _script(self) -> Script:
        epsilon_nats = self.epsilon * NATS_PER_BIT
        return (yield from self._algorithm(self, self.candidates, epsilon_nats, self.delta, self._narrow))

    def _narrow(self, candidates: tuple[int, ...]) -> None:
        self.candidates = candidates


class NaiveChanSel(PacPolicy):
    """One round for all: names a channel within ε bits of the best with probability at least 1 - δ [EBWGW24, Alg. 2].

    Parameters
    ----------
    alphabets
        (n_inputs, n_outputs) of each channel.
    epsilon
        ε, the accuracy in bits, above 0.
    delta
        δ, the largest probability of a worse name, in (0, 1).
    input_distribution
        Compare I(P;W) at this P, shape (n_inputs,), instead of capacities [EBWGW24, Remark 1].

    Raises
    ------
    InputError
        Where an alphabet, ε, δ or the distribution is refused.

    Examples
    --------
    >>> policy = NaiveChanSel([(2, 2), (2, 2)], epsilon=0.2, delta=0.05)
    >>> policy.ask().number, policy.candidates, policy.recommendation
    (1, (0, 1), None)
    """

    name, theorem = "naive", "Th. 2"
    _algorithm = staticmethod(naive_chan_sel)


class MedianChanEl(PacPolicy):
    """Halving: names a channel within ε bits of the best with probability at least 1 - δ [EBWGW24, Alg. 3].

    Parameters
    ----------
    alphabets
        (n_inputs, n_outputs) of each channel.
    epsilon
        ε, the accuracy in bits, above 0.
    delta
        δ, the largest probability of a worse name, in (0, 1).
    input_distribution
        Compare I(P;W) at this P, shape (n_inputs,), instead of capacities [EBWGW24, Remark 1].

    Raises
    ------
    InputError
        Where an alphabet, ε, δ or the distribution is refused.

    Examples
    --------
    >>> policy = MedianChanEl([(2, 2), (2, 2)], epsilon=0.2, delta=0.05)
    >>> policy.ask().number, policy.candidates, policy.recommendation
    (1, (0, 1), None)
    """

    name, theorem = "median", "Th. 3"
    _algorithm = staticmethod(median_chan_el)


class BestChanID(PaperPolicy):
    """Gap elimination: names the channel of largest capacity with probability at least 1 - δ [EBWGW24, Alg. 1, Th. 1].

    With exact ties the rounds never end; whoever runs the policy limits its senses.

    Parameters
    ----------
    alphabets
        (n_inputs, n_outputs) of each channel.
    delta
        δ, the largest probability of a wrong name, in (0, 1).
    subroutine
        What finds the nearly best channel of each round, "naive" or "median". It gets samples of its own: the proof
        that the best channel survives requires them to be independent.
    input_distribution
        Compare I(P;W) at this P, shape (n_inputs,), instead of capacities [EBWGW24, Remark 1].

    Raises
    ------
    InputError
        Where an alphabet, δ, the subroutine or the distribution is refused.

    Examples
    --------
    >>> policy = BestChanID([(2, 2), (2, 3)], delta=0.05)
    >>> policy.ask().number, policy.candidates, policy.recommendation
    (1, (0, 1), None)
    """

    name, theorem = "best-chan-id", "Th. 1"

    def __init__(
        self,
        alphabets: Iterable[Sequence[int]],
        *,
        delta: float,
        subroutine: str = "naive",
        input_distribution: Sequence[float] | None = None,
    ) -> None:
        if subroutine not in SUBROUTINES:
            raise InputError(f"the subroutine must be one of {', '.join(SUBROUTINES)}; it is {subroutine!r}")
        self.subroutine = subroutine
        self.round_number = 0
        super().__init__(alphabets, delta=delta, input_distribution=input_distribution)

    @property
    def rounds(self) -> int:
        """The number of the current round, r of the paper; a round has several requests."""
        return self.round_number

    def _script(self) -> Script:
        return (yield from best_chan_id(self, self.delta, self.subroutine, on_round=self._begin_round))

    def _begin_round(self, r: int, candidates: tuple[int, ...]) -> None:
        self.round_number, self.candidates = r, candidates
