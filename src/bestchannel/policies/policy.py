"""The policy: a state machine that says what to sense, is told counts, and one day recommends.

A policy never measures. `ask()` returns the open request, the same one until it is answered,
or None once the policy is done; `tell(observation)` answers it; `recommendation` is the channel
that the policy names. The state is a function of what was told, so replaying the observations
into a fresh policy restores it; `steps` is what was told so far.

A concrete policy is a script: a generator that reads like the paper's pseudo-code, yields the
senses it requires, receives their counts, and returns the channel it recommends. It may stand in any
package: docs/how-to/own-policy.md.
"""

from __future__ import annotations

import inspect
import reprlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from functools import cache
from itertools import chain
from operator import add, index
from typing import Any, ClassVar

from bestchannel.arrays import ChannelLabels, Integers, distribution, number_in
from bestchannel.errors import InputError
from bestchannel.intervals import FIXED_INPUT, Functional, functional_for
from bestchannel.policies.request import MOST_SENSES, Observation, Request, Supply, checked_counts
from bestchannel.policies.transcript import Alphabet, Audit, Identification, Stakes, Status, Step
from bestchannel.process import VERSION
from bestchannel.promises import conditional, several
from bestchannel.questions import AnyQuestion, Findings, NearlyBest, Supposed, question_of

Senses = dict[int, tuple[int, ...]]
"""How often to sense every input of the channels that are asked for."""

Counts = Mapping[int, Integers]
"""How often every input of these channels gave every output, shape (n_inputs, n_outputs)."""

Plan = Callable[[Supply], Senses | None]
"""Senses by what is left; None where nothing useful is."""

Script = Generator[Senses | Plan, Counts, int | None]
"""Yields senses, or a plan for them, is sent their counts, returns the channel that it recommends, if it names one."""

MOST_CELLS = 2**27
"""Of a table of counts: 1 GiB, as in files."""


class TooManySensesError(InputError):
    """A round so long that 64-bit counts do not hold it."""


class Policy(ABC):
    """A script with the bookkeeping of ask and tell around it: what every policy derives from, here and elsewhere.

    A policy defines `name`, `guarantee` and `_script`. One that has options beyond `delta` defines `__init__` as
    well, with a keyword for each; it keeps every option as an attribute of the same name, and then calls
    `super().__init__`, which starts the script.

    Parameters
    ----------
    alphabets
        (n_inputs, n_outputs) of each channel.
    delta
        δ, the largest probability of a wrong name, in (0, 1).
    epsilon
        Within how many bits of the best the named channel may be.
    question
        What else is asked than for the best within epsilon.
    input_distribution
        Compare I(P;W) at this P, shape (n_inputs,), instead of capacities.

    Raises
    ------
    InputError
        Where an alphabet, δ, the question or the distribution is refused.

    Examples
    --------
    >>> import bestchannel as bc
    >>> class MostRepeats(bc.Policy):
    ...     name, guarantee = "most-repeats", "none"
    ...
    ...     def _script(self):
    ...         counts = yield {channel: (100,) * inputs for channel, (inputs, _) in enumerate(self.alphabets)}
    ...         return max(counts, key=lambda channel: counts[channel].trace())
    >>> sensor = bc.Simulator({"noisy": [[0.7, 0.3], [0.3, 0.7]], "clear": [[0.95, 0.05], [0.05, 0.95]]}, rng=1)
    >>> result = bc.identify(sensor, MostRepeats(sensor.alphabets, delta=0.1))
    >>> result.best, result.senses, result.guarantee
    ('clear', 400, 'none')
    """

    name: ClassVar[str]
    """What people call the policy; the command line too, where it is one of the project."""

    revision: ClassVar[int] = 1
    """Raised with every change by which the same answers make the policy ask, stake or name something else.

    Records carry it: where a policy does not make the choices of a record again, another revision excuses it.
    """

    checked_by: ClassVar[str | None] = None
    """The name of the function that checks the evidence in a record for `verify`; docs/how-to/own-policy.md has how."""

    epsilon: float
    """Within how many bits of the best the named channel may be."""

    candidates: tuple[int, ...]
    """The channels that are not ruled out, or of which nothing is proved."""

    recommendation: int | None = None
    """The named channel, None before the end and where nothing was decided."""

    findings: Findings | None = None
    """What is proved by now where something else than the best is asked for."""

    evidence_nats: dict[int, float]
    """The evidence against every rival of the leader, where the policy weighs any."""

    threshold_nats: dict[int, float]
    """What the evidence against every rival has to reach."""

    steps: list[Step]
    """What was asked and told so far."""

    limits: list[tuple[int, Supply]]
    """From which request on there was how much to be sensed: the last that `limit` was told before each answer."""

    leader: int | None = None
    """The channel that looks best, where the policy has such a thing."""

    paired: int | None = None
    """Of a policy that asks for shots, which all channels of a request answer at once: the channel whose answers the
    open request is to be told together with those of every other."""

    stakes: Stakes | None = None
    """What the policy has staked on the answer to the open request."""

    told_about: tuple[tuple[ChannelLabels, ...], bool] | None = None
    """What the channels are called of which it was told, and whether their outputs are only those that were seen."""

    more_senses: int | None = None
    """About how many senses more should decide, where the policy forecasts that."""

    def __init__(
        self,
        alphabets: Iterable[Sequence[int]],
        *,
        delta: float,
        epsilon: float = 0.0,
        question: AnyQuestion | None = None,
        input_distribution: Sequence[float] | None = None,
    ) -> None:
        self.alphabets = checked_alphabets(alphabets)
        self.delta = number_in(delta, "delta (the error probability)", low=0.0, high=1.0, high_open=True)
        self.question: AnyQuestion = question_of(question, epsilon)
        self.question.refuse_unless_possible(len(self.alphabets))
        self.epsilon = self.question.epsilon
        self.functional: Functional = functional_for(input_distribution)
        self.candidates = tuple(range(len(self.alphabets)))
        self._worthless = {j for j in self.candidates if min(self.alphabets[j]) == 1}  # of value 0 by their alphabets
        self.evidence_nats, self.threshold_nats = {}, {}
        if (P := self.functional.P) is not None:
            for n_inputs in dict.fromkeys([len(P), *(n for n, m in self.alphabets if min(n, m) > 1)]):
                distribution(P, n_inputs, FIXED_INPUT)
        self.steps, self.limits = [], []
        self._answered = self._total_told = 0
        self._senses_told = [[0] * n_inputs for n_inputs, _ in self.alphabets]
        self._wanted: Senses | Plan | None = None
        self._open: Request | None = None
        self._failure: str | None = None
        self._running = self._script()
        self._open = self._guarded(lambda: self._next(None))

    def __repr__(self) -> str:
        given = {"delta": self.delta, **({"epsilon": self.epsilon} if self.epsilon else {}), **self.options}
        said = ", ".join(f"{name}={reprlib.repr(value)}" for name, value in given.items())
        channels = several(len(self.alphabets), "channel")
        return f"<{type(self).__name__} for {channels}, {said}, told {several(self.senses, 'sense')}>"

    @classmethod
    def reference(cls) -> str:
        """What makes the policy again, in a run or a study: its name, outside the project `package.module:Class`.

        Returns
        -------
        str
            What `--policy` on the command line takes too.

        Examples
        --------
        >>> import bestchannel as bc
        >>> bc.NaiveChanSel.reference()
        'naive'
        """
        ours = cls.__module__.partition(".")[0] == __name__.partition(".")[0]
        return cls.name if ours else f"{cls.__module__}:{cls.__qualname__}"

    @classmethod
    def option_names(cls) -> tuple[str, ...]:
        """What can be said of the policy beyond its channels and delta: the other keywords of its `__init__`.

        Returns
        -------
        tuple of str
            In the order in which the policy declares them.

        Examples
        --------
        >>> import bestchannel as bc
        >>> bc.BestChanID.option_names()
        ('subroutine', 'input_distribution')
        """
        return tuple(keywords(cls))

    @property
    def decided(self) -> bool:
        """Whether the question is answered."""
        return self.recommendation is not None if self.findings is None else self.findings.decided

    @property
    def senses(self) -> int:
        """All senses that the policy was told; of one that asks for shots, how many of those."""
        return self._total_told

    @property
    def left(self) -> Supply:
        """What there still is to be sensed."""
        return self._supply.less(self._senses_told, self._total_told)

    @property
    def _supply(self) -> Supply:
        """All that there is to be sensed, what was sensed before included."""
        return self.limits[-1][1] if self.limits else Supply()

    @property
    def spent_cost(self) -> float | None:
        """What the senses that the policy was told have cost; None where it goes by no costs."""
        return None

    @property
    def rounds(self) -> int:
        """How many rounds were sensed to the end: for most policies, the requests that were answered."""
        return self._answered

    @property
    @abstractmethod
    def guarantee(self) -> str:
        """What the recommendation promises, and where the proof is."""

    @property
    def nearly_best(self) -> NearlyBest | None:
        """How near to the best a channel is proved to be by now; None where the policy proves no such thing."""
        return None

    @property
    def supposed(self) -> Supposed | None:
        """What the policy would answer though it is not decided, with its evidence; None where there is none."""
        return None

    @property
    def input_distribution(self) -> list[float] | None:
        """The P at which the policy compares I(P;·), None where it compares capacities."""
        return None if self.functional.P is None else list(self.functional.P)

    @property
    def options(self) -> dict[str, Any]:
        """What the policy was made with beyond delta and epsilon, by the names that it takes."""
        found = {name: getattr(self, name) for name in self.option_names() if name != "epsilon"}
        return {name: value for name, value in found.items() if value is not None}

    @abstractmethod
    def _script(self) -> Script:
        """The policy: yields {channel: senses of each input}, is sent {channel: counts[x, y]}, returns a channel."""

    def _promise(self, proof: str) -> str:
        """The guarantee in one sentence, with what is compared and where the proof is."""
        return self.question.promise(self.delta, self.functional.P, proof)

    def limit(self, supply: Supply) -> None:
        """Say how much there is to be sensed, what was sensed before included.

        A policy that plans by it plans its open request anew, and asks for nothing once nothing useful is left; the
        requests of any other policy stay as they are.

        Parameters
        ----------
        supply
            Of all senses, and of the senses of each input.

        Raises
        ------
        InputError
            Where these are not whole numbers, or those of other channels.

        Examples
        --------
        >>> import bestchannel as bc
        >>> from bestchannel.policies import Supply
        >>> policy = bc.Adaptive([(2, 2), (2, 2)], delta=0.05)
        >>> policy.limit(Supply(total=1000))
        >>> policy.left
        Supply(total=1000, each=None)
        """
        self._refuse_broken()
        supply.refuse_other(self.alphabets)
        if supply != self._supply:
            before = [(request, each) for request, each in self.limits if request <= self._answered]
            held = before[-1][1] if before else Supply()
            self.limits = before if supply == held else [*before, (self._answered + 1, supply)]
            if callable(self._wanted):
                self._open = self._guarded(self._request)

    def ask(self) -> Request | None:
        """The open request, the same until it is answered or the limits change; None when the policy is done.

        Returns
        -------
        Request or None
            What to sense next.

        Examples
        --------
        >>> import bestchannel as bc
        >>> policy = bc.Adaptive([(2, 2), (2, 2)], delta=0.05)
        >>> policy.ask() is policy.ask(), policy.ask().total
        (True, 24)
        """
        self._refuse_broken()
        return self._open

    def tell(self, observation: Observation) -> None:
        """Answer the open request.

        Parameters
        ----------
        observation
            The counts of all senses that the request asks for.

        Raises
        ------
        InputError
            Where no request is open, or the observation does not answer it; then nothing changes.

        Examples
        --------
        >>> import bestchannel as bc, numpy as np
        >>> policy = bc.Adaptive([(2, 2), (2, 2)], delta=0.05)
        >>> policy.tell(bc.Observation(1, {0: np.array([[6, 0], [0, 6]]), 1: np.array([[3, 3], [3, 3]])}))
        >>> policy.ask().number, policy.leader
        (2, 0)
        """
        self._refuse_broken()
        if self._open is None:
            raise InputError(f"no request is open: the policy has ended and recommends {self.recommendation}")
        request, stakes = self._open, self.stakes
        counts = checked_counts(request, observation, self.alphabets)
        self._answered += 1
        self._total_told += request.total
        for channel, senses in request.senses.items():
            self._senses_told[channel] = list(map(add, self._senses_told[channel], senses))
        self._open = self._guarded(lambda: self._next(counts))
        self.steps.append(Step(request, stakes, counts, self._status(self.senses)))

    def _refuse_broken(self) -> None:
        if self._failure is not None:
            raise InputError(
                f"the policy {self.reference()} broke off while it was told an answer ({self._failure}); make it again,"
                " and tell it what its steps have"
            )

    def _status(self, senses: int) -> Status:
        return Status(
            senses=senses,
            requests=self._answered,
            rounds=self.rounds,
            candidates=self.candidates,
            next_senses=self._open.total if self._open else 0,
            leader=self.leader,
            evidence_nats=self.evidence_nats,
            threshold_nats=self.threshold_nats,
            more_senses=self.more_senses,
            unit="sense" if self.paired is None else "shot",
        )

    def _guarded(self, find: Callable[[], Request | None]) -> Request | None:
        """What the script asks for next; a script that fails is not asked again."""
        try:
            return find()
        except TooManySensesError:
            if not self._answered:
                raise
            return None  # undecided for good, as between channels of equal capacity
        except BaseException as error:  # Ctrl-C too: a script that was left does not go on
            self._failure = f"{type(error).__name__}: {error}"
            raise

    def _next(self, counts: Counts | None) -> Request | None:
        self._wanted = None
        try:
            self._wanted = next(self._running) if counts is None else self._running.send(counts)
            return self._request()
        except StopIteration as end:
            self.recommendation = self._checked_name(end.value)
            return None

    def _request(self) -> Request | None:
        """What the script wants next; where that is a plan, as far as it makes do with what is left."""
        wanted: Any = self._wanted
        if callable(wanted) and (wanted := wanted(self.left)) is None:
            return None
        return Request(self._answered + 1, self._checked_senses(wanted), self.paired)

    def _checked_senses(self, senses: Any) -> Senses:
        """What the script yields, in Python's integers, or an `InputError`: it may be of another package."""
        try:
            asked = {index(channel): tuple(map(index, wanted)) for channel, wanted in senses.items()}
            numbers = list(chain.from_iterable(asked.values()))
            fits = (
                min(asked) >= 0
                and all(len(wanted) == self.alphabets[channel][0] for channel, wanted in asked.items())
                and min(numbers) >= 0
                and 0 < max(numbers) <= MOST_SENSES
                and (self.paired is None or (self.paired in asked and len(set(asked.values())) == 1))
            )
        except (TypeError, ValueError, IndexError, AttributeError):
            fits = False
        if not fits:
            raise InputError(
                f"the policy {self.reference()} must ask for a whole number of senses of each input of some channels,"
                f" not all of them 0; request {self._answered + 1} is {reprlib.repr(senses)}"
            )
        return asked

    def _checked_name(self, channel: Any) -> int | None:
        """What the script returns: the number of a channel, or None where it decides nothing."""
        if channel is None or channel in range(len(self.alphabets)):
            return None if channel is None else int(channel)
        raise InputError(
            f"the policy {self.reference()} must return the number of a channel, 0 to {len(self.alphabets) - 1}, or"
            f" None; it returns {channel!r}"
        ) from None


def outcome(policy: Policy, parties: Sequence[ChannelLabels], *, inferred_outputs: bool) -> Identification:
    """What the policy has come to; `parties` are its channels, by what they are called.

    Where their outputs are only those that were seen, the guarantee says so.
    """
    best, nearly, supposed = policy.recommendation, policy.nearly_best, policy.supposed
    return Identification(
        best=None if best is None else parties[best].key,
        decided=policy.decided,
        senses=policy.senses,
        rounds=policy.rounds,
        policy=policy.reference(),
        delta=policy.delta,
        question=policy.question,
        guarantee=conditional(policy.guarantee, inferred_outputs, (labels.condition for labels in parties)),
        candidates=tuple(parties[channel].key for channel in policy.candidates),
        cost=policy.spent_cost,
        nearly_best=None if nearly is None else NearlyBest(parties[nearly.channel].key, nearly.within_bits),
        findings=policy.findings and policy.findings.called(lambda channel: parties[channel].key),
        evidence=None if supposed is None else supposed.evidence(policy.question, lambda c: parties[c].key),
        audit=Audit(
            channels=tuple(parties),
            options=policy.options,
            steps=tuple(policy.steps),
            limits=tuple(policy.limits),
            revision=policy.revision,
            version=VERSION,
            inferred_outputs=inferred_outputs,
        ),
    )


@cache  # a study makes thousands of policies
def keywords(policy: type[Policy]) -> dict[str, bool]:
    """The options of a policy, and which of them it requires."""
    if policy.__init__ is Policy.__init__:  # a policy that says nothing of options has none
        return {}
    return {
        each.name: each.default is each.empty
        for each in inspect.signature(policy).parameters.values()
        if each.name not in ("alphabets", "delta") and each.kind is not each.VAR_KEYWORD
    }


def checked_alphabets(alphabets: Iterable[Sequence[int]]) -> tuple[Alphabet, ...]:
    """(n_inputs, n_outputs) of each channel, or an `InputError` that says which is none."""
    try:
        pairs = tuple(tuple(pair) for pair in alphabets)
    except TypeError:
        raise InputError(
            f"alphabets must be pairs (n_inputs, n_outputs), one for each channel; it is {alphabets!r}"
        ) from None
    if not pairs:
        raise InputError("a policy requires at least one channel; alphabets is empty")
    for channel, pair in enumerate(pairs):
        whole = len(pair) == 2 and all(isinstance(size, int) and not isinstance(size, bool) for size in pair)
        if not whole or min(pair) < 1:
            raise InputError(f"alphabets[{channel}] must be (n_inputs, n_outputs), both >= 1; it is {pair!r}")
        if pair[0] * pair[1] > MOST_CELLS:
            raise InputError(
                f"alphabets[{channel}] must have at most 2^27 pairs of letters; it is {reprlib.repr(pair)}"
            )
    return tuple((int(pair[0]), int(pair[1])) for pair in pairs)
