"""What was asked and told, step by step: from it an outcome is drawn, reported and verified."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from bestchannel.arrays import Integers
from bestchannel.policies.request import Request

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


@dataclass(frozen=True, eq=False)
class Step:
    """One answered request, what the policy had staked on its answer beforehand, and where the answer left it."""

    request: Request
    stakes: Stakes | None
    counts: Mapping[int, Integers]
    status: Status


@dataclass(frozen=True)
class Party:
    """A channel that took part: what it is called, and its letters."""

    key: Any
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    @staticmethod
    def unlabelled(key: Hashable, alphabet: Alphabet) -> Party:
        """A channel whose letters are numbers."""
        n_inputs, n_outputs = alphabet
        return Party(key, tuple(map(str, range(n_inputs))), tuple(map(str, range(n_outputs))))


@dataclass(frozen=True, eq=False)
class Audit:
    """All that an outcome follows from: what the policy was, what it asked and was told.

    `options` are those that the policy was made with beyond delta and epsilon. Steps number the channels as here.
    """

    channels: tuple[Party, ...]
    options: Mapping[str, Any]
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Identification:
    """The outcome: the best channel or "undecided", what it cost, what it promises, and its record.

    `best` is the key of the channel in the collection that the sensor was given (its name or
    its position), None while undecided. `candidates` are the keys of the channels not ruled out.
    """

    best: Any
    decided: bool
    senses: int
    rounds: int
    policy: str
    delta: float
    epsilon: float
    guarantee: str
    candidates: tuple[Any, ...]
    audit: Audit = field(repr=False, compare=False)
