"""A question: what is asked of channels, in which words, and when an answer is right.

Policies, results, records, studies and `verify` hold a question and leave to it whatever depends on what is asked.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain, combinations, product
from operator import or_
from typing import Any, ClassVar, Protocol

import msgspec
import numpy as np
from msgspec import Struct

from bestchannel.arrays import Floats, number_in
from bestchannel.errors import InputError
from bestchannel.promises import confidence, criterion, exact, listed, odds, rounded_up

MOST_BITS = 1e6
"""No level or width may be larger."""

Ends = Mapping[Any, tuple[float, float]]
Pairs = Collection[tuple[Any, Any]]
Lead = Callable[[Any, Any], float]
"""The ends of every capacity, proved pairs, and proved lower ends of differences: see `Question.proved_by`."""


@dataclass(frozen=True)
class NearlyBest:
    """A channel that is the best or within so many bits of the best, proved at 1 - δ at every time of a run.

    `channel` is its number in a policy, its key in an outcome.
    """

    channel: Any
    within_bits: float


@dataclass(frozen=True)
class Findings:
    """What is proved at 1 - δ by now where not the best is asked for, and whether that is all that was asked.

    Channels are numbers in a policy, keys in an outcome. Of the others, the question has those that belong to it.
    """

    decided: bool
    answers: Mapping[Any, str | None] | None = None  # "above", "below", or None while it is open
    top: tuple[Any, ...] | None = None  # those that are surely among the best m
    out: tuple[Any, ...] | None = None  # those that surely are not
    order: tuple[Any, ...] | None = None  # all channels, the best first, once that is decided
    pairs: tuple[tuple[Any, Any], ...] | None = None  # of which the first is better
    brackets: Mapping[Any, tuple[float, float]] | None = None  # bits
    nearly: tuple[Any, ...] | None = None  # an answer none of whose channels is more than `within_bits` below another
    within_bits: float | None = None

    @property
    def named(self) -> tuple[Any, ...]:
        """The channels that stand out: above the level, among the best m; none where all are alike."""
        above = tuple(channel for channel, side in (self.answers or {}).items() if side == "above")
        return above or self.top or ()

    @property
    def says_something(self) -> bool:
        """Whether anything is proved."""
        said = (self.named, self.out, self.pairs, self.brackets, self.nearly)
        return any((*said, *(self.answers or {}).values()))

    def still_open(self, channels: Sequence[Any]) -> tuple[Any, ...]:
        """Of all channels, those of which something that was asked is open."""
        sides = [channel for channel, side in (self.answers or {}).items() if side]
        told, pairs = {*sides, *(self.top or ()), *(self.out or ())}, Counter(chain.from_iterable(self.pairs or ()))
        placed = {channel for channel, others in pairs.items() if others == len(channels) - 1}
        return () if self.decided else tuple(channel for channel in channels if channel not in told | placed)

    def called(self, name: Callable[[Any], Any]) -> Findings:
        """The same with other names for channels."""

        def renamed(part: Any) -> Any:
            if part is None:
                return None
            if isinstance(part, Mapping):
                return {name(channel): said for channel, said in part.items()}
            return tuple(tuple(map(name, each)) if isinstance(each, tuple) else name(each) for each in part)

        parts = ("answers", "top", "out", "order", "pairs", "brackets", "nearly")
        return replace(self, **{part: renamed(getattr(self, part)) for part in parts})

    def is_wrong(self, values: Floats, same: float) -> bool:
        """Whether a channel of `nearly` is further below one that is not named, or comes later, than is said."""
        if self.nearly is None or self.within_bits is None:
            return False
        rest = [channel for channel in range(len(values)) if channel not in self.nearly]
        pairs = product(self.nearly, rest) if rest else combinations(self.nearly, 2)
        return any(values[under] > values[over] + self.within_bits + same for over, under in pairs)


NOTHING = Findings(decided=False)
"""What is found where nothing is."""


@dataclass(frozen=True)
class Evidence:
    """What speaks for an answer that is not proved at δ: an e-value against whatever contradicts it.

    On average over many runs 1{answer wrong} × e_value is at most 1, whenever and however they end. With any δ >= 1/e
    that had been fixed beforehand it would be decided. It is no probability: docs/theory/questions.md, "A budget".
    """

    answer: str
    e_value: float

    MEANS: ClassVar[str] = "E[wrong × e] <= 1: decided at every delta >= 1/e that was fixed beforehand; no probability"

    @property
    def words(self) -> str:
        """One sentence."""
        against = f"evidence {odds(self.e_value)} to 1 against all that contradicts {self.answer!r}"
        return f"{against}: decided at every delta >= 1/{odds(self.e_value)} fixed beforehand; it is no probability"


@dataclass(frozen=True)
class Supposed:
    """What a policy would answer now, a `Standpoint`, and the proved e-value against whatever contradicts it."""

    e_value: float
    best: Any = None
    findings: Findings | None = None
    candidates: tuple[Any, ...] = ()
    nearly_best: NearlyBest | None = None

    def evidence(self, question: Question, name: Callable[[Any], Any]) -> Evidence:
        """The same in words, with names for channels."""
        best, found = None if self.best is None else name(self.best), self.findings and self.findings.called(name)
        return Evidence(question.answer(replace(self, best=best, findings=found)), self.e_value)


class Standpoint(Protocol):
    """What has come out by now, as a policy and an outcome have it: a named channel, or those that are left."""

    @property
    def best(self) -> Any: ...  # the channel that is named, or None

    @property
    def candidates(self) -> Sequence[Any]: ...  # that are not ruled out, or of which nothing is proved

    @property
    def nearly_best(self) -> NearlyBest | None: ...  # what is proved of a candidate

    @property
    def findings(self) -> Findings | None: ...  # what is proved where not the best is asked for


class Question(Struct, frozen=True, tag_field="kind"):
    """What is asked; a record holds it under `question`, with its `kind`."""

    line: ClassVar[float | None] = None
    """A capacity in bits to which channels are compared."""

    epsilon: ClassVar[float] = 0.0
    """Within how many bits of the best a channel may be, where that is asked for."""

    largest_epsilon: ClassVar[float] = MOST_BITS
    """No accuracy may be larger."""

    def refuse_unless_possible(self, channels: int) -> None:
        """Refuse what cannot be asked of so many channels.

        Parameters
        ----------
        channels
            How many there are.

        Raises
        ------
        InputError
            Where a number of the question is out of its range.

        Examples
        --------
        >>> import bestchannel as bc
        >>> bc.Top(3).refuse_unless_possible(5)
        """
        number_in(self.epsilon, "epsilon (the accuracy, in bits)", low=0.0, high=self.largest_epsilon, low_open=False)

    def proved_by(self, intervals: Ends, pairs: Pairs, lead: Lead) -> Findings:
        """What recorded counts prove.

        Parameters
        ----------
        intervals
            The ends of every capacity in bits, which hold all at once.
        pairs
            Of channels, the first of which is proved to be better, all at once.
        lead
            Of two channels, the least bits that the first has more than the second, for all at once and with the pairs.

        Returns
        -------
        Findings
            What follows for this question.

        Examples
        --------
        >>> import bestchannel as bc
        >>> bc.Above(0.5).proved_by({"a": (0.6, 0.7), "b": (0.4, 0.8)}, [], lambda b, a: -0.2).answers
        {'a': 'above', 'b': None}
        """
        raise NotImplementedError

    def promise(self, delta: float, P: Sequence[float] | None, proof: str) -> str:
        """What a policy that answers the question promises, and where the proof is.

        Parameters
        ----------
        delta
            δ, the largest probability of a wrong answer.
        P
            The input distribution at which I(P;W) is compared, None for capacities.
        proof
            Where it is.

        Returns
        -------
        str
            One sentence.

        Examples
        --------
        >>> import bestchannel as bc
        >>> bc.Best().promise(0.05, None, "bestchannel explain adaptive")
        'the named channel is the best with probability at least 0.95 [bestchannel explain adaptive]'
        >>> bc.Top(3).promise(0.05, None, "bestchannel explain questions")
        'the named channels are the best 3 with probability at least 0.95 [bestchannel explain questions]'
        """
        return f"{self._promised(P)} with probability at least {confidence(delta)} [{proof}]"

    @abstractmethod
    def _promised(self, P: Sequence[float] | None) -> str:
        """What holds with that probability."""

    @abstractmethod
    def answer(self, standpoint: Standpoint) -> str:
        """The answer, or what is still open, in a few words.

        Parameters
        ----------
        standpoint
            What has come out by now: an `Identification`.

        Returns
        -------
        str
            One line.

        Examples
        --------
        >>> import bestchannel as bc
        >>> result = bc.identify(bc.Simulator({"good": bc.bsc(0.05), "bad": bc.bsc(0.3)}, rng=1))
        >>> result.question.answer(result)
        'best: good'
        """

    def proved_so_far(self, standpoint: Standpoint, delta: float, P: Sequence[float] | None) -> str | None:
        """What is proved though the question is not answered.

        Parameters
        ----------
        standpoint, delta, P
            As in `answer` and `promise`.

        Returns
        -------
        str or None
            One sentence; None where nothing is proved.

        Examples
        --------
        >>> import bestchannel as bc
        >>> result = bc.identify(bc.Simulator({"good": bc.bsc(0.05), "bad": bc.bsc(0.3)}, rng=1))
        >>> result.question.proved_so_far(result, 0.05, None)
        """
        said = self._proved(standpoint, P)
        return said and f"{said} with probability at least {confidence(delta)}"

    @abstractmethod
    def _proved(self, standpoint: Standpoint, P: Sequence[float] | None) -> str | None:
        """What holds with that probability, or None."""

    def is_right(self, standpoint: Standpoint, values: Floats, same: float) -> bool:
        """Whether something is said, and all that is said is true.

        Parameters
        ----------
        standpoint
            As in `answer`, with numbers for channels.
        values
            What is compared of every channel, in bits.
        same
            What differs by no more is equal.

        Returns
        -------
        bool
            True where it is.

        Examples
        --------
        >>> import bestchannel as bc, numpy as np
        >>> result = bc.identify(bc.Simulator([bc.bsc(0.3), bc.bsc(0.05)], rng=1))
        >>> result.question.is_right(result, np.array([0.12, 0.71]), 1e-12)
        True
        """
        found = standpoint.findings
        return found is not None and found.says_something and self._holds(found, values, same)

    def _holds(self, found: Findings, values: Floats, same: float) -> bool:
        """Whether all that was found is true."""
        raise NotImplementedError


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

    epsilon: float = 0.0  # type: ignore[misc]  # a field here, and where channels are ranked

    largest_epsilon: ClassVar[float] = 1e300

    def _promised(self, P: Sequence[float] | None) -> str:
        largest = "the best" if P is None else f"the largest {criterion(P)}"
        if self.epsilon:
            return f"the named channel is within {exact(self.epsilon)} bit of {largest}"
        return f"the named channel {'is' if P is None else 'has'} {largest}"

    def answer(self, standpoint: Standpoint) -> str:
        if standpoint.best is not None:
            return f"best: {standpoint.best}"
        return f"undecided between {listed(standpoint.candidates)}"

    def _proved(self, standpoint: Standpoint, P: Sequence[float] | None) -> str | None:
        nearly = standpoint.nearly_best
        if nearly is None or standpoint.best is not None:
            return None
        bits = exact(rounded_up(nearly.within_bits))
        if P is None:
            return f"{nearly.channel} is the best or within {bits} bit of the best"
        return f"{nearly.channel} has the largest {criterion(P)}, or one within {bits} bit of it,"

    def is_right(self, standpoint: Standpoint, values: Floats, same: float) -> bool:
        best = standpoint.best
        return best is not None and bool(values.max() - values[best] <= self.epsilon + same)


def question_of(asked: Question | Mapping[str, Any] | None, epsilon: float = 0.0) -> Any:
    """The question that is asked, also as JSON has it, of all kinds that there are; None is the best within epsilon."""
    if asked is None:
        return Best(epsilon)
    kinds = reduce(or_, Question.__subclasses__())
    try:
        question = msgspec.convert(msgspec.to_builtins(asked, enc_hook=_plain), kinds)
    except (msgspec.ValidationError, TypeError) as error:
        raise InputError(
            f'a question must be Above, Top, Order or Within, or JSON as {{"kind": "above", "level": 0.9}}; it is'
            f" {asked!r} ({error})"
        ) from None
    if epsilon in (0.0, question.epsilon):
        return question
    if "epsilon" in question.__struct_fields__ and not isinstance(question, Best) and not question.epsilon:
        return msgspec.structs.replace(question, epsilon=epsilon)
    raise InputError(f"epsilon is for the best channels and for orders, once; with {question!r} leave it out")


def _plain(number: Any) -> Any:
    """A number of NumPy as one of Python."""
    if isinstance(number, np.generic):
        return number.item()
    raise TypeError(f"{number!r} is no number")
