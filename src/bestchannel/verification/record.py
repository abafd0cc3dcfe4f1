"""The record of an identification as its checks read it: arrays for lists, and nothing believed.

`check_structure` is what must be so whatever the policy: nothing missing, nothing double, sums that add up.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeVar

import numpy as np
from msgspec import UNSET, convert
from numpy.typing import NDArray

from bestchannel.errors import BestChannelError, InputError
from bestchannel.record import LARGEST, Floats, Result, StatusRecord, StepRecord

Integers = NDArray[np.int64]

Kind = TypeVar("Kind")

Watch = Callable[[int], None]  # told how many steps are checked

NATS = math.log(2.0)  # in a bit
ROUNDING = 1e-13  # relative to the sum of all terms without their signs, by which a bound is made worse


class NotValidError(BestChannelError, ValueError):
    """A record that can be read and does not prove what it claims: one sentence says what fails, and where."""


def require(holds: bool, wanted: str, where: str = "") -> None:
    """Raise `NotValidError` with what is wanted, unless it holds."""
    if not holds:
        raise NotValidError(f"{wanted} {where}".rstrip())


@dataclass(frozen=True)
class Step:
    """One answered request, and what is said of the state after it."""

    request: int
    senses: Mapping[str, tuple[int, ...]]
    stakes: dict[str, Any] | None  # what they are, the policy's own check knows
    counts: Mapping[str, Integers]
    status: StatusRecord

    @classmethod
    def of(cls, step: StepRecord) -> Step:
        """The step with arrays for tables."""
        shots = f"shots are not checked yet, only senses of one channel at a time; request {step.request} has shots"
        require(step.paired is UNSET, shots)
        counts = {name: np.array(rows, dtype=np.int64) for name, rows in step.counts.items()}
        return cls(step.request, step.senses, step.stakes, counts, step.status)

    @property
    def candidates(self) -> frozenset[str]:
        """The channels that are not ruled out after it."""
        return frozenset(self.status.candidates)


@dataclass(frozen=True)
class Record:
    """The claim, and the steps that it rests on."""

    stated: Result
    policy: str
    delta: float
    epsilon: float  # bits
    best: str | None
    alphabets: dict[str, tuple[int, int]]  # of every channel, in the order of the record
    fixed_input: Floats | None  # P where I(P; ·) is compared; None where capacities are
    steps: tuple[Step, ...]

    def worthless(self, channel: str) -> bool:
        """Whether the channel has a single input or output, and so the value 0."""
        return min(self.alphabets[channel]) == 1

    def require_known(self, names: Iterable[str | None], where: str) -> None:
        """Refuse names of channels that took no part; None is no name."""
        for name in names:
            require(name is None or name in self.alphabets, f"{where} names channel {name!r}, which took no part")


def read(stated: Result) -> Record:
    """The record of a result, or an `InputError` that says that it is none."""
    channels, options = stated.audit.channels, stated.audit.options
    alphabets = {channel.name: (len(channel.inputs), len(channel.outputs)) for channel in channels}
    require(len(alphabets) == len(channels), "two channels of the record have the same name")
    for name, side, letters in [(c.name, side, getattr(c, side)) for c in channels for side in ("inputs", "outputs")]:
        wanted = f"no two {side} of channel {name!r} may be called the same; two of them are"
        require(len(set(letters)) == len(letters), wanted)
    P = options.get("input_distribution")
    with reading():
        record = Record(
            stated=stated,
            policy=stated.policy,
            delta=stated.delta,
            epsilon=stated.epsilon,
            best=stated.best,
            alphabets=alphabets,
            fixed_input=None if P is None else floats(P),
            steps=tuple(map(Step.of, stated.audit.steps)),
        )
    nearly, parts = stated.nearly_best, ("candidates", "answers", "top", "out", "order", "nearly", "brackets")
    named: dict[str, Iterable[str | None]] = {part: getattr(stated, part) or () for part in parts}
    named |= {"best": [stated.best], "nearly_best": [nearly.channel] if nearly else ()}
    named["pairs"] = chain.from_iterable(stated.pairs or ())
    for step in record.steps:
        said = step.status
        of_step = step.senses, step.counts, said.candidates, said.evidence_nats, said.threshold_nats, [said.leader]
        named[f"request {step.request}"] = chain.from_iterable(of_step)
    for part, names in named.items():
        record.require_known(names, f"{part} of the record")
    return record


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


def as_struct(stakes: object, kind: type[Kind]) -> Kind:
    """The stakes of a step as the policy's own struct, with `Floats` for lists of numbers, or an `InputError`."""
    with reading():
        return convert(stakes, kind, dec_hook=lambda _, value: floats(value))


def floats(values: object) -> Floats:
    """An array of finite numbers, given as lists of them."""
    array = np.array(values)
    if array.dtype.kind not in "if" or not (np.abs(array) <= LARGEST).all():
        raise TypeError(f"a number of at most {LARGEST:g} is required, not {reprlib.repr(values)}")
    return array.astype(np.float64)


def check_structure(record: Record) -> None:
    """Raise `NotValidError` at the first thing that does not add up."""
    require(0.0 < record.delta < 1.0, f"delta must lie between 0 and 1; the record has {record.delta:g}")
    require(record.epsilon >= 0.0, f"epsilon must not be negative; the record has {record.epsilon:g}")
    P, stated = record.fixed_input, record.stated
    for channel, (n_inputs, _) in record.alphabets.items():
        if P is not None and not record.worthless(channel):
            fit = P.shape == (n_inputs,) and bool((P >= 0.0).all()) and abs(P.sum() - 1.0) <= 1e-9
            wanted = f"the fixed input distribution must be one of the inputs of {channel!r}; it is {P.tolist()}"
            require(fit, wanted)
    for place, step in enumerate(record.steps, start=1):
        wanted = f"requests must be numbered 1, 2, 3 …; number {place} of them has {step.request}"
        require(step.request == place, wanted)
        _check_counts(record, step)
        require(bool(step.candidates) or bool(stated.question), f"no candidate is left after request {place}")
    if stated.question:  # its own check says when it is decided
        unasked = stated.best is None and stated.nearly_best is None
        require(unasked, "the best channel was not asked for, and is named")
    else:
        _check_claim(record)


def _check_counts(record: Record, step: Step) -> None:
    """The answer has the channels, the shape and the sums that were asked for."""
    wanted = f"request {step.request} must be answered for the channels that it asks for, and no other"
    require(step.counts.keys() == step.senses.keys(), wanted)
    for channel, table in step.counts.items():
        where, asked = f"channel {channel!r} in request {step.request}", step.senses[channel]
        size = record.alphabets[channel]
        require(table.shape == size and len(asked) == size[0], f"the counts of {where} must be a table of {size}")
        for x, (often, counts) in enumerate(zip(asked, map(sum, table.tolist()), strict=True)):
            require(often == counts, f"input x={x} of {where} was sensed {often} times; its counts add up to {counts}")


def _check_claim(record: Record) -> None:
    """decided ⇔ a best channel is named ⇔ one candidate is left, or several of value 0 by their alphabets.

    That a channel is nearly the best is said of a candidate, and by Adaptive alone.
    """
    stated, best, nearly = record.stated, record.best, record.stated.nearly_best
    left, everyone = frozenset(stated.candidates), frozenset(record.alphabets)
    last = record.steps[-1].candidates if record.steps else everyone
    wanted = "the candidates of the result must be those after the last request; they are others"
    require(left == last or all(map(record.worthless, everyone)), wanted)
    wanted = "a decided record names a best channel, an undecided one names none; this one does neither"
    require(stated.decided == (best is not None), wanted)
    said = f"decided is {stated.decided}, and the candidates number {len(left)}"
    alone = len(left) == 1 or all(map(record.worthless, left))
    require(stated.decided == alone, f"decided means that one candidate is left; {said}")
    require(best is None or best in left, f"the best channel must be a candidate; {best!r} was ruled out")
    if nearly is not None:
        wanted = f"the policy {stated.policy} proves nothing before its end; the record has nearly_best"
        require(stated.policy == "adaptive", wanted)
        good = nearly.channel in stated.candidates and nearly.within_bits >= 0.0 and best in (None, nearly.channel)
        wanted = "nearly_best must be the best channel or a candidate, within bits >= 0"
        require(good, f"{wanted}; it is {nearly.channel!r} within {nearly.within_bits:g}")
