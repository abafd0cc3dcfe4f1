"""The record of an identification, read from its JSON: what is not of that form is refused, nothing is believed."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestchannel.errors import BestChannelError, InputError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Tables = dict[int, Integers]

Watch = Callable[[int], None]
"""Told how many steps are checked."""

MOST = 2**63 - 1
"""The largest count."""

LARGEST = 1e100
"""No number may be larger, so that products of some of them can still be computed with."""


class NotValidError(BestChannelError, ValueError):
    """A record that can be read and does not prove what it claims: one sentence says what fails, and where."""


@dataclass(frozen=True)
class StatedStep:
    """One answered request, and what is said of the state after it."""

    request: int
    senses: Mapping[int, tuple[int, ...]]
    stakes: Any  # as JSON: what they are, the policy's own check knows
    counts: Tables
    total: int  # senses so far
    candidates: frozenset[int]
    leader: int | None
    evidence: Mapping[int, float]  # nats, as the policy saw it
    thresholds: Mapping[int, float]  # nats


@dataclass(frozen=True)
class Record:
    """The claim, and the steps that it rests on; channels are numbered as the record lists them."""

    best: int | None
    decided: bool
    senses: int
    cost: float | None  # of all senses, by `costs`
    rounds: int
    policy: str
    delta: float
    epsilon: float  # bits
    candidates: frozenset[int]
    nearly_best: tuple[int, float] | None  # the channel, and within how many bits of the best it is said to be
    names: tuple[str, ...]
    channel: Callable[[object, str], int]  # the number of a channel by its name, and where that stands
    alphabets: tuple[tuple[int, int], ...]
    options: Mapping[str, Any]
    fixed_input: Floats | None  # P where I(P; ·) is compared; None where capacities are
    costs: tuple[Floats, ...] | None  # [channel][x] of a sense, where the policy was given any
    steps: tuple[StatedStep, ...]
    revision: int | None  # of the policy
    version: str | None  # of the library that wrote it
    inferred_outputs: bool  # only those that were seen

    def worthless(self, channel: int) -> bool:
        """Whether the channel has a single input or output, and so the value 0."""
        return min(self.alphabets[channel]) == 1


def read(document: object) -> Record:
    """The record, or an `InputError` that says that the document is none."""
    with reading():
        return _Reader(document).record()


@contextmanager
def reading() -> Iterator[None]:
    """What is not of the form that is read is no record: an `InputError`."""
    try:
        yield
    except NotValidError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise InputError(
            f"this must be the JSON of an identification (`bestchannel identify --json`); it is not ({error!r})"
        ) from None


class _Reader:
    """Reads one document; channels are known by name."""

    def __init__(self, document: Any) -> None:
        self.document, self.audit = document, document["audit"]
        self.names = tuple(text(channel["name"]) for channel in self.audit["channels"])
        self.number = {name: j for j, name in enumerate(self.names)}
        if len(self.number) < len(self.names):
            raise NotValidError("two channels of the record have the same name")

    def record(self) -> Record:
        """The whole of it."""
        document, best = self.document, self.document["best"]
        options = dict(self.audit["options"])
        P, costs = options.get("input_distribution"), options.get("cost")
        return Record(
            best=None if best is None else self.channel(best, "best"),
            decided=flag(document["decided"]),
            senses=whole(document["senses"]),
            cost=None if document.get("cost") is None else number(document["cost"]),
            rounds=whole(document["rounds"]),
            policy=text(document["policy"]),
            delta=number(document["delta"]),
            epsilon=number(document["epsilon"]),
            candidates=self.channels(document["candidates"], "candidates"),
            nearly_best=self.nearly_best(document.get("nearly_best")),
            names=self.names,
            channel=self.channel,
            alphabets=tuple((_letters(c, "inputs"), _letters(c, "outputs")) for c in self.audit["channels"]),
            options=options,
            fixed_input=None if P is None else floats(P),
            costs=None if costs is None else tuple(floats(list(each)) for each in costs),
            steps=tuple(self.step(step) for step in self.audit["steps"]),
            revision=None if self.audit.get("revision") is None else whole(self.audit["revision"]),
            version=None if self.audit.get("version") is None else text(self.audit["version"]),
            inferred_outputs=flag(self.audit.get("inferred_outputs", False)),
        )

    def nearly_best(self, stated: Any) -> tuple[int, float] | None:
        """The channel that is said to be nearly the best, and how nearly."""
        return (
            None if stated is None else (self.channel(stated["channel"], "nearly_best"), number(stated["within_bits"]))
        )

    def step(self, step: Any) -> StatedStep:
        """One of `steps`."""
        request, status = whole(step["request"]), step["status"]
        where = f"request {request}"
        leader = status["leader"]
        return StatedStep(
            request=request,
            senses={self.channel(name, where): tuple(map(whole, each)) for name, each in step["senses"].items()},
            stakes=step["stakes"],
            counts={self.channel(name, where): _table(rows, name, where) for name, rows in step["counts"].items()},
            total=whole(status["senses"]),
            candidates=self.channels(status["candidates"], where),
            leader=None if leader is None else self.channel(leader, where),
            evidence=self.nats(status["evidence_nats"], where),
            thresholds=self.nats(status["threshold_nats"], where),
        )

    def nats(self, values: Any, where: str) -> dict[int, float]:
        """The finite ones of some numbers by channel."""
        return {self.channel(name, where): number(nats) for name, nats in values.items() if nats is not None}

    def channel(self, name: object, where: str) -> int:
        """The number of a channel."""
        if text(name) not in self.number:
            raise NotValidError(f"{where} of the record names channel {name!r}, which took no part")
        return self.number[text(name)]

    def channels(self, names: Any, where: str) -> frozenset[int]:
        """The numbers of some channels."""
        return frozenset(self.channel(name, where) for name in names)


def _letters(channel: Any, side: str) -> int:
    """How many inputs or outputs a channel has: texts, no two the same."""
    letters = [text(letter) for letter in channel[side]]
    if len(set(letters)) < len(letters):
        raise NotValidError(f"no two {side} of channel {channel['name']!r} may be called the same; two of them are")
    return len(letters)


def _table(rows: Any, name: str, where: str) -> Integers:
    entries = [list(row) for row in rows]
    for entry in (entry for row in entries for entry in row):
        if isinstance(entry, bool) or not isinstance(entry, int) or not 0 <= entry <= MOST:
            raise NotValidError(f"counts must be whole numbers >= 0; {where} has {entry!r} for channel {name!r}")
    return np.array(entries, dtype=np.int64)


def text(value: object) -> str:
    """A text."""
    if not isinstance(value, str):
        raise TypeError(f"a text is required, not {value!r}")
    return value


def flag(value: object) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise TypeError(f"true or false is required, not {value!r}")
    return value


def whole(value: object) -> int:
    """A whole number."""
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > LARGEST:
        raise TypeError(f"a whole number of at most {LARGEST:g} is required, not {reprlib.repr(value)}")
    return value


def number(value: object) -> float:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST:
        raise TypeError(f"a number of at most {LARGEST:g} is required, not {reprlib.repr(value)}")
    return float(value)


def floats(values: object) -> Floats:
    """An array of finite numbers, given as lists of them."""
    return np.array(_numbers(values), dtype=np.float64)


def _numbers(values: object) -> Any:
    return [_numbers(value) for value in values] if isinstance(values, list | tuple) else number(values)
