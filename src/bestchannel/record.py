"""The record: the one shape of what a run is about, of what was asked and told, and of what came out.

JSON, the file of a run, the service, reports and `verify` read and write these structs and nothing else. Whatever
belongs to a channel stands under its name. A field that came later has a default, so that older records are read as
well; a field that is not known here is passed over.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from bestchannel.questions import AnyQuestion

LARGEST = 1e100
"""No number may be larger, so that products of some of them can still be computed with."""

Number = Annotated[float, Meta(ge=-LARGEST, le=LARGEST)]
Floats = NDArray[np.float64]
Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Letters = Annotated[tuple[str, ...], Meta(min_length=1)]
Senses = dict[str, tuple[int, ...]]
"""By channel, of every input."""


class ChannelRecord(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A channel and its letters; `condition` is what a guarantee about it adds."""

    name: str
    inputs: Letters
    outputs: Letters
    condition: str = ""


class Limit(Struct, frozen=True):
    """What there was to be sensed from a request on: in all, and of every input where the answers are a recording."""

    request: int
    max_senses: int | None
    recorded: Senses | None


class StatusRecord(Struct, frozen=True):
    """Where a step left the policy: evidence against every rival of the leader, and what it has to reach, in nats."""

    senses: int
    rounds: int
    candidates: tuple[str, ...]
    next_senses: int
    leader: str | None
    evidence_nats: dict[str, Number | None]
    threshold_nats: dict[str, Number | None]
    more_senses: int | None


class StepRecord(Struct, frozen=True):
    """An answered request; `stakes` is what the policy had staked on the answer beforehand, in a form of its own.

    That of `Adaptive` is `Stakes` where the best is asked for, and `Wagers` where something else is. Where it
    asked for shots, `paired` is the channel with whose answers those of the others are counted.
    """

    request: int
    senses: Senses
    stakes: dict[str, Any] | None
    counts: dict[str, tuple[tuple[Count | tuple[Count, ...], ...], ...]]
    status: StatusRecord
    paired: str | msgspec.UnsetType = msgspec.UNSET


NOTHING = np.zeros(0)  # where a bet is on one channel alone
Restarts = Annotated[int, Meta(ge=0, le=300)]  # any more have a share of 0 in doubles


class Bet(Struct, frozen=True):
    """What Adaptive staked on the senses of a channel that is said to be over another, and on the other's."""

    since: Annotated[int, Meta(le=2**53)]  # the request with which these bets began
    restarts: Restarts
    weight: Annotated[float, Meta(gt=0.0, le=LARGEST)]  # s
    tilts: Floats = NOTHING  # ω[x] of the channel that is under
    outputs: Floats = NOTHING  # Q[y] of that channel
    auxiliary: Floats = NOTHING  # V[x, y] of the channel that is over
    multipliers: Floats = NOTHING  # ν[x] of that channel


class Stakes(Struct, frozen=True):
    """All that is staked on the answer to a request where the best is asked for."""

    leader: str
    input: Floats  # P
    bets: dict[str, Bet]  # by rival


class Wager(Bet, frozen=True, kw_only=True):
    """A bet for the claim that `over` is better than `under`; None stands for a level."""

    over: str | None
    under: str | None
    restarts: Restarts = msgspec.field(name="starts")
    input: Floats = NOTHING  # P


class Purse(Struct, frozen=True):
    """How many channels wait for their part, and what is staked on the present one."""

    waiting: int
    stake: Number


class StakedAnswer(Struct, frozen=True):
    """The answer whose pairs are bet on: its number, which says its share of δ, and the channels that it names."""

    number: Annotated[int, Meta(ge=1, le=2**26)]
    named: tuple[str, ...]


class Wagers(Struct, frozen=True):
    """All that is staked on the answer to a request where something else is asked for."""

    wagers: dict[str, Wager] = {}
    worlds: dict[str, dict[str, Any]] = {}
    purse: Purse | None = None
    answer: StakedAnswer | None = None


class AuditRecord(Struct, frozen=True, kw_only=True):
    """All that an outcome follows from; see `policies.Audit`. A limit holds from its request on.

    The seal is the SHA-256 of the channels, the limits and all answers in their order.
    """

    revision: int | None = None
    version: str | None = None
    channels: Annotated[tuple[ChannelRecord, ...], Meta(min_length=1)]
    inferred_outputs: bool = False
    options: dict[str, Any]
    limits: tuple[Limit, ...] = ()
    steps: tuple[StepRecord, ...]
    seal: str | None = None


class NearlyBestRecord(Struct, frozen=True):
    """A channel that is proved to be the best or within so many bits of it."""

    channel: str
    within_bits: Number


class MeasuredRecord(Struct, frozen=True):
    """A channel at the end: its capacity in bits between ends that hold at any time, for all at once at 1 - δ."""

    name: str
    senses: int
    capacity: float | None
    lower: float | None
    upper: float | None


class BracketRecord(Struct, frozen=True):
    """The ends of a capacity, in bits."""

    lower: Number
    upper: Number


class EvidenceRecord(Struct, frozen=True):
    """What speaks for an answer that is not proved; see `questions.Evidence`, also for what it means."""

    answer: str
    e_value: Number
    nats: Number
    means: str


class Result(Struct, frozen=True, kw_only=True):
    """The outcome of an identification; see `policies.Identification`.

    What is left out where the best within epsilon is asked for: the question, and what is proved where it is another;
    see `questions.Findings`.
    """

    best: str | None
    decided: bool
    senses: int
    rounds: int
    policy: str
    delta: Number
    epsilon: Number
    guarantee: str
    question: AnyQuestion | msgspec.UnsetType = msgspec.UNSET
    answers: dict[str, Literal["above", "below"] | None] | msgspec.UnsetType = msgspec.UNSET
    top: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    out: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    order: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    pairs: tuple[tuple[str, str], ...] | msgspec.UnsetType = msgspec.UNSET
    brackets: dict[str, BracketRecord] | msgspec.UnsetType = msgspec.UNSET
    nearly: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    within_bits: Number | msgspec.UnsetType = msgspec.UNSET
    candidates: tuple[str, ...]
    nearly_best: NearlyBestRecord | None = None
    evidence: EvidenceRecord | msgspec.UnsetType = msgspec.UNSET
    cost: Number | None = None
    channels: tuple[MeasuredRecord, ...] = ()
    audit: AuditRecord


class RunChannel(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A channel of a run, by its name or its position."""

    key: str | int
    inputs: Letters
    outputs: Letters
    condition: str = ""


class RunRecord(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a run is about: the channels that take part, the policy that asks, and the source of the answers.

    `policy` is what `Policy.reference` says, and `options` are those of the policy beyond delta and epsilon;
    `source["kind"]` is laboratory, simulation, recording or sensor; `inferred_outputs` says that the outputs are only
    those that a recording happened to have. People call a run by its `title`, and are asked for at most
    `largest_request` senses at once.
    """

    channels: Annotated[tuple[RunChannel, ...], Meta(min_length=1)]
    policy: str
    delta: float | int
    epsilon: float | int
    options: dict[str, Any]
    source: dict[str, Any]
    inferred_outputs: bool
    title: str = ""
    note: str = ""
    largest_request: int | None = None


class SensorStatus(Struct, frozen=True):
    """A sensor that was heard of: its channels, the senses that it has answered and now has on lease."""

    name: str
    channels: tuple[str, ...]
    senses: int
    leased: int
    silent_s: int


class RunStatus(Struct, frozen=True, kw_only=True):
    """Where a run stands. `asked` and `answered` are senses of the open request; evidence is in bits.

    `nearly_best` is proved to be the best or within `within_bits` of the best; `answer` is what is known where
    something else is asked for.
    """

    run: str
    state: str
    paused: bool = False
    policy: str | None = None
    delta: float | None = None
    epsilon: float | None = None
    channels: tuple[str, ...] = ()
    candidates: tuple[str, ...] = ()
    best: str | None = None
    answer: str = ""
    leader: str | None = None
    challenger: str | None = None
    evidence_bits: float | None = None
    threshold_bits: float | None = None
    nearly_best: str | None = None
    within_bits: float | None = None
    senses: int = 0
    more_senses: int | None = None
    max_senses: int | None = None
    requests: int = 0
    request: int | None = None
    asked: int = 0
    answered: int = 0
    last_activity: str = ""
    sensors: tuple[SensorStatus, ...] = ()
    error: str = ""
