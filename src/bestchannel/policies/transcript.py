"""What was asked and told, step by step: from it an outcome is drawn, reported and verified."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from bestchannel.arrays import Integers
from bestchannel.counts.labelled_counts import ChannelLabels
from bestchannel.display import Frame, Shown, Valued, frame_of, on_one_line
from bestchannel.policies.request import Request, Supply, marginals
from bestchannel.promises import amount, conditional, in_words, several
from bestchannel.questions import AnyQuestion, Evidence, Findings, NearlyBest

Alphabet = tuple[int, int]


class Stakes(Protocol):
    """What a policy commits itself to before the answer to a request, so that the answer can be held against it."""

    def record(self, names: Sequence[str]) -> dict[str, Any]:
        """The stakes in lists, numbers and texts, as JSON holds them; channel j is called names[j]."""


@dataclass(frozen=True)
class Status:
    """Where an identification stands, for whoever watches it.

    `evidence_nats` against every rival of the leader, where the policy weighs any, has to reach
    `threshold_nats`. `more_senses` is about how many senses more would decide, None without a forecast.
    """

    senses: int
    requests: int
    rounds: int
    candidates: tuple[int, ...]
    next_senses: int
    leader: int | None
    evidence_nats: Mapping[int, float]
    threshold_nats: Mapping[int, float]
    more_senses: int | None
    unit: str = "sense"  # or "shot", which all channels of a request answer at once

    @property
    def challenger(self) -> int | None:
        """The rival of the leader that is furthest from being ruled out."""
        rivals = [channel for channel in self.evidence_nats if channel in self.candidates]
        return min(rivals, key=lambda c: self.evidence_nats[c] - self.threshold_nats[c], default=None)


@dataclass(frozen=True, eq=False)
class Step(Valued):
    """One answered request, what the policy had staked on its answer beforehand, and where the answer left it."""

    request: Request
    stakes: Stakes | None
    told: Mapping[int, Integers]  # as an `Observation` has it: of shots, pairs of answers
    status: Status

    @property
    def counts(self) -> dict[int, Integers]:
        """counts[x, y] of every channel that was asked for."""
        return marginals(self.told)


@dataclass(frozen=True, eq=False)
class Audit(Valued):
    """All that an outcome follows from: what the policy was, what it asked and was told.

    `options` are those that the policy was made with beyond delta and epsilon; `limits` is how much there was to be
    sensed, and from which request on; `revision` is that of the policy, None where a record does not say, and `version`
    that of the library that wrote it; `inferred_outputs` says that the outputs are only those that were seen. Steps
    number the channels as here.
    """

    channels: tuple[ChannelLabels, ...]
    options: Mapping[str, Any]
    steps: tuple[Step, ...]
    limits: tuple[tuple[int, Supply], ...]
    revision: int | None
    version: str | None
    inferred_outputs: bool


@dataclass(frozen=True)
class Identification(Shown):
    """The outcome of an identification: the best channel or "undecided", its cost, its promise, its record.

    Attributes
    ----------
    best
        The key of the named channel in the collection that the sensor was given (its name or its position), None while
        undecided, and where something else is asked for.
    decided
        Whether the question is answered.
    senses
        How many senses were taken.
    rounds
        How many rounds the policy finished.
    policy
        The name of the policy.
    question
        What was asked.
    delta
        The error probability that the policy was made with.
    guarantee
        What the name promises, and where the proof is, in one sentence.
    candidates
        The keys of the channels that are not ruled out.
    audit
        All that the outcome follows from: what was asked, staked and told, step by step; `verify` checks it.
    nearly_best
        The `channel` that is proved to be the best or `within_bits` of the best, whatever ended the run; None where
        nothing of the kind is proved.
    cost
        What the senses cost, in the unit of the policy's costs; None where it was given none.
    findings
        What is proved where something else than the best is asked for: `answers`, `top`, `order` or `brackets`.
    evidence
        What speaks for the likeliest `answer` where nothing is decided: an `e_value` against whatever contradicts it.

    Examples
    --------
    >>> import bestchannel as bc
    >>> sensor = bc.Simulator({"good": [[0.95, 0.05], [0.05, 0.95]], "bad": [[0.7, 0.3], [0.3, 0.7]]}, rng=1)
    >>> result = bc.identify(sensor, bc.NaiveChanSel(sensor.alphabets, delta=0.1, epsilon=0.2))
    >>> str(result).splitlines()[:2]
    ['best: good', 'after 363,459,060 senses in 1 round of naive']
    """

    best: Any
    decided: bool
    senses: int
    rounds: int
    policy: str
    delta: float
    question: AnyQuestion
    guarantee: str
    candidates: tuple[Any, ...]
    audit: Audit = field(repr=False, compare=False)
    nearly_best: NearlyBest | None = None
    cost: float | None = None
    findings: Findings | None = None
    evidence: Evidence | None = None

    @property
    def epsilon(self) -> float:
        """Within how many bits the answer may be."""
        return self.question.epsilon

    @property
    def proved_so_far(self) -> str | None:
        """What is proved though nothing is decided, in one sentence; None where nothing is."""
        said = self.question.proved_so_far(self, self.delta, self.audit.options.get("input_distribution"))
        conditions = (labels.condition for labels in self.audit.channels)
        return said and conditional(said, self.audit.inferred_outputs, conditions)

    def to_frame(self) -> Frame:
        """One row per answered request: senses so far, channels left, leader, least evidence and its threshold (nats).

        Returns
        -------
        pandas.DataFrame
            Indexed by the number of the request; evidence is missing where the policy weighs none.

        Raises
        ------
        MissingExtraError
            Where pandas is not installed.

        Examples
        --------
        >>> import bestchannel as bc
        >>> sensor = bc.Simulator([[[1, 0], [0, 1]], [[0.6, 0.4], [0.4, 0.6]]], rng=1)
        >>> bc.identify(sensor, bc.Adaptive(sensor.alphabets, delta=0.1)).to_frame().index.name
        'request'
        """
        return frame_of(self)

    def __str__(self) -> str:
        paid = "" if self.cost is None else f", which cost {amount(self.cost)},"
        unit = self.audit.steps[-1].status.unit if self.audit.steps else "sense"
        cost = f"after {several(self.senses, unit)}{paid} in {several(self.rounds, 'round')} of {self.policy}"
        proved = self.guarantee if self.decided else self.proved_so_far
        unproved = self.evidence and in_words(self.evidence.words)
        lines = (self.question.answer(self), cost, proved and in_words(proved), unproved)
        return "\n".join(on_one_line(line) for line in lines if line)
