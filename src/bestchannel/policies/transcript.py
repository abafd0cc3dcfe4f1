"""What was asked and told, step by step: from it an outcome is drawn, reported and verified."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bestchannel.arrays import Integers
from bestchannel.counts.labelled_counts import ChannelLabels
from bestchannel.policies.policy import Policy, Stakes
from bestchannel.policies.request import Observation, Request


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


@dataclass(frozen=True, eq=False)
class Audit:
    """All that an outcome follows from: what the policy was, what it asked and was told.

    `options` are those that the policy was made with beyond delta and epsilon. Steps number the channels as here.
    """

    channels: tuple[ChannelLabels, ...]
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


class Transcript:
    """A policy with everything that it was asked and told so far."""

    def __init__(self, policy: Policy, channels: Sequence[ChannelLabels]) -> None:
        self.policy = policy
        self.channels = tuple(channels)
        self.steps: list[Step] = []
        self.senses = 0

    def tell(self, request: Request, counts: Mapping[int, Integers]) -> Step:
        """Answer the open request; refused counts change nothing."""
        stakes = self.policy.stakes
        self.policy.tell(Observation(request.number, counts))
        self.senses += request.total
        own = {
            channel: np.array(table, dtype=np.int64) for channel, table in counts.items()
        }  # the sensor may reuse its
        step = Step(request, stakes, own, self._status())
        self.steps.append(step)
        return step

    def outcome(self) -> Identification:
        """What the policy has come to."""
        policy, best = self.policy, self.policy.recommendation
        return Identification(
            best=None if best is None else self.channels[best].key,
            decided=best is not None,
            senses=self.senses,
            rounds=policy.rounds,
            policy=policy.name,
            delta=policy.delta,
            epsilon=policy.epsilon,
            guarantee=policy.guarantee,
            candidates=tuple(self.channels[channel].key for channel in policy.candidates),
            audit=Audit(self.channels, policy.options, tuple(self.steps)),
        )

    def _status(self) -> Status:
        policy, upcoming = self.policy, self.policy.ask()
        return Status(
            senses=self.senses,
            requests=len(self.steps) + 1,
            rounds=policy.rounds,
            candidates=policy.candidates,
            next_senses=upcoming.total if upcoming else 0,
            leader=policy.leader,
            evidence_nats=policy.evidence_nats,
            threshold_nats=policy.threshold_nats,
            more_senses=policy.more_senses,
        )
