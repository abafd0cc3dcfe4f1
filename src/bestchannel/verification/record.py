"""The record of an identification as its checks read it: channels by number, arrays for lists, and nothing believed."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestchannel.errors import BestChannelError, InputError
from bestchannel.record import LARGEST, Result, StepRecord, result_of

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Tables = dict[int, Integers]

Watch = Callable[[int], None]
"""Told how many steps are checked."""

MOST = 2**63 - 1
"""The largest count."""


class NotValidError(BestChannelError, ValueError):
    """A record that can be read and does not prove what it claims: one sentence says what fails, and where."""


@dataclass(frozen=True)
class Channels:
    """The numbers of channels by their names, in the order in which the record lists them."""

    names: tuple[str, ...]

    def number(self, name: str, where: str) -> int:
        """The number of a channel."""
        if name not in self.names:
            raise NotValidError(f"{where} of the record names channel {name!r}, which took no part")
        return self.names.index(name)

    def numbers(self, names: Iterable[str], where: str) -> frozenset[int]:
        """The numbers of some channels."""
        return frozenset(self.number(name, where) for name in names)

    def by_number(self, values: Mapping[str, Any], where: str) -> dict[int, Any]:
        """What there is for some channels."""
        return {self.number(name, where): value for name, value in values.items() if value is not None}


@dataclass(frozen=True)
class Step:
    """One answered request, and what is said of the state after it."""

    request: int
    senses: Mapping[int, tuple[int, ...]]
    stakes: dict[str, Any] | None  # what they are, the policy's own check knows
    counts: Tables
    total: int  # senses so far
    candidates: frozenset[int]
    leader: int | None
    evidence: Mapping[int, float]  # nats, as the policy saw it
    thresholds: Mapping[int, float]  # nats


@dataclass(frozen=True)
class Record:
    """The claim, and the steps that it rests on."""

    stated: Result
    policy: str
    delta: float
    epsilon: float  # bits
    channels: Channels
    alphabets: tuple[tuple[int, int], ...]
    best: int | None
    candidates: frozenset[int]
    nearly_best: tuple[int, float] | None  # the channel, and within how many bits of the best it is said to be
    fixed_input: Floats | None  # P where I(P; ·) is compared; None where capacities are
    costs: tuple[Floats, ...] | None  # [channel][x] of a sense, where the policy was given any
    steps: tuple[Step, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Those of the channels."""
        return self.channels.names

    def worthless(self, channel: int) -> bool:
        """Whether the channel has a single input or output, and so the value 0."""
        return min(self.alphabets[channel]) == 1


def read(document: object) -> Record:
    """The record, or an `InputError` that says that the document is none."""
    stated = result_of(document)
    channels = Channels(tuple(channel.name for channel in stated.audit.channels))
    if len(set(channels.names)) < len(channels.names):
        raise NotValidError("two channels of the record have the same name")
    for channel in stated.audit.channels:
        for side, letters in (("inputs", channel.inputs), ("outputs", channel.outputs)):
            if len(set(letters)) < len(letters):
                name = channel.name
                raise NotValidError(f"no two {side} of channel {name!r} may be called the same; two of them are")
    options, nearly = stated.audit.options, stated.nearly_best
    within = None if nearly is None else (channels.number(nearly.channel, "nearly_best"), nearly.within_bits)
    P, costs = options.get("input_distribution"), options.get("cost")
    with reading():
        return Record(
            stated=stated,
            policy=stated.policy,
            delta=stated.delta,
            epsilon=stated.epsilon,
            channels=channels,
            alphabets=tuple((len(channel.inputs), len(channel.outputs)) for channel in stated.audit.channels),
            best=None if stated.best is None else channels.number(stated.best, "best"),
            candidates=channels.numbers(stated.candidates, "candidates"),
            nearly_best=within,
            fixed_input=None if P is None else floats(P),
            costs=None if costs is None else tuple(floats(list(of_inputs)) for of_inputs in costs),
            steps=tuple(_step(step, channels) for step in stated.audit.steps),
        )


@contextmanager
def reading() -> Iterator[None]:
    """What is not of the form that is read is no record: an `InputError`."""
    try:
        yield
    except BestChannelError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise InputError(
            f"this must be the JSON of an identification (`bestchannel identify --json`); it is not ({error!r})"
        ) from None


def _step(step: StepRecord, channels: Channels) -> Step:
    where, status = f"request {step.request}", step.status
    return Step(
        request=step.request,
        senses=channels.by_number(step.senses, where),
        stakes=step.stakes,
        counts={channels.number(name, where): _table(rows, name, where) for name, rows in step.counts.items()},
        total=status.senses,
        candidates=channels.numbers(status.candidates, where),
        leader=None if status.leader is None else channels.number(status.leader, where),
        evidence=channels.by_number(status.evidence_nats, where),
        thresholds=channels.by_number(status.threshold_nats, where),
    )


def _table(rows: tuple[tuple[int, ...], ...], name: str, where: str) -> Integers:
    for entry in (entry for row in rows for entry in row):
        if not 0 <= entry <= MOST:
            raise NotValidError(f"counts must be whole numbers >= 0; {where} has {entry!r} for channel {name!r}")
    return np.array(rows, dtype=np.int64)


def floats(values: object) -> Floats:
    """An array of finite numbers, given as lists of them."""
    return np.array(_numbers(values), dtype=np.float64)


def _numbers(values: object) -> Any:
    if isinstance(values, list | tuple):
        return [_numbers(value) for value in values]
    if isinstance(values, bool) or not isinstance(values, int | float) or not abs(values) <= LARGEST:
        raise TypeError(f"a number of at most {LARGEST:g} is required, not {reprlib.repr(values)}")
    return float(values)
