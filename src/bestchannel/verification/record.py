"""The record of an identification as its checks read it: channels by number, arrays for lists, and nothing believed.

`check_structure` is what must be so whatever the policy: nothing missing, nothing double, sums that add up.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from msgspec import UNSET, convert
from numpy.typing import NDArray

from bestchannel.errors import BestChannelError, InputError
from bestchannel.record import LARGEST, Result, StepRecord, result_of

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

Kind = TypeVar("Kind")

Watch = Callable[[int], None]  # told how many steps are checked

MOST = 2**63 - 1  # the largest count
NATS = math.log(2.0)  # in a bit
ROUNDING = 1e-13  # relative to the sum of all terms without their signs, by which a bound is made worse


class NotValidError(BestChannelError, ValueError):
    """A record that can be read and does not prove what it claims: one sentence says what fails, and where."""


def require(holds: bool, wanted: str) -> None:
    """Raise `NotValidError` with what is wanted, unless it holds."""
    if not holds:
        raise NotValidError(wanted)


@dataclass(frozen=True)
class Step:
    """One answered request, and what is said of the state after it."""

    request: int
    senses: Mapping[int, tuple[int, ...]]
    stakes: dict[str, Any] | None  # what they are, the policy's own check knows
    counts: Mapping[int, Integers]
    total: int  # senses so far
    candidates: frozenset[int]
    leader: int | None
    evidence: Mapping[int, float]  # nats, as the policy saw it
    thresholds: Mapping[int, float]  # nats


@dataclass(frozen=True)
class Record:
    """The claim, and the steps that it rests on; channels are numbered as the record lists them."""

    stated: Result
    policy: str
    delta: float
    epsilon: float  # bits
    names: tuple[str, ...]
    alphabets: tuple[tuple[int, int], ...]
    best: int | None
    candidates: frozenset[int]
    nearly_best: tuple[int, float] | None  # the channel, and within how many bits of the best it is said to be
    fixed_input: Floats | None  # P where I(P; ·) is compared; None where capacities are
    costs: tuple[Floats, ...] | None  # [channel][x] of a sense, where the policy was given any
    steps: tuple[Step, ...]

    def worthless(self, channel: int) -> bool:
        """Whether the channel has a single input or output, and so the value 0."""
        return min(self.alphabets[channel]) == 1


def read(document: object) -> Record:
    """The record, or an `InputError` that says that the document is none."""
    stated = result_of(document)
    channels, options, nearly = stated.audit.channels, stated.audit.options, stated.nearly_best
    names = tuple(channel.name for channel in channels)
    require(len(set(names)) == len(names), "two channels of the record have the same name")
    for name, side, letters in [(c.name, side, getattr(c, side)) for c in channels for side in ("inputs", "outputs")]:
        wanted = f"no two {side} of channel {name!r} may be called the same; two of them are"
        require(len(set(letters)) == len(letters), wanted)
    P, costs = options.get("input_distribution"), options.get("cost")
    within = None if nearly is None else (number_of(nearly.channel, names, "nearly_best"), nearly.within_bits)
    with reading():
        return Record(
            stated=stated,
            policy=stated.policy,
            delta=stated.delta,
            epsilon=stated.epsilon,
            names=names,
            alphabets=tuple((len(channel.inputs), len(channel.outputs)) for channel in channels),
            best=None if stated.best is None else number_of(stated.best, names, "best"),
            candidates=frozenset(number_of(name, names, "candidates") for name in stated.candidates),
            nearly_best=within,
            fixed_input=None if P is None else floats(P),
            costs=None if costs is None else tuple(floats(list(of_inputs)) for of_inputs in costs),
            steps=tuple(_step(step, names) for step in stated.audit.steps),
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


def as_struct(stakes: object, kind: type[Kind]) -> Kind:
    """The stakes of a step as the policy's own struct, with `Floats` for lists of numbers, or an `InputError`."""
    with reading():
        return convert(stakes, kind, dec_hook=lambda _, value: floats(value))


def number_of(name: str, names: tuple[str, ...], where: str) -> int:
    """The number of a channel by its name."""
    require(name in names, f"{where} of the record names channel {name!r}, which took no part")
    return names.index(name)


def _step(step: StepRecord, names: tuple[str, ...]) -> Step:
    where, status = f"request {step.request}", step.status
    require(step.paired is UNSET, f"shots are not checked yet, only senses of one channel at a time; {where} has shots")

    def by_number(values: Mapping[str, Any]) -> dict[int, Any]:
        return {number_of(name, names, where): value for name, value in values.items() if value is not None}

    return Step(
        request=step.request,
        senses=by_number(step.senses),
        stakes=step.stakes,
        counts=by_number({name: _table(rows, name, where) for name, rows in step.counts.items()}),
        total=status.senses,
        candidates=frozenset(number_of(name, names, where) for name in status.candidates),
        leader=None if status.leader is None else number_of(status.leader, names, where),
        evidence=by_number(status.evidence_nats),
        thresholds=by_number(status.threshold_nats),
    )


def _table(rows: Any, name: str, where: str) -> Integers:
    for entry in (entry for row in rows for entry in row):
        if not 0 <= entry <= MOST:
            raise NotValidError(f"counts must be whole numbers >= 0; {where} has {entry!r} for channel {name!r}")
    return np.array(rows, dtype=np.int64)


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
    for channel, (n_inputs, _) in enumerate(record.alphabets):
        P = None if record.worthless(channel) else record.fixed_input
        if P is not None and (P.shape != (n_inputs,) or (P < 0.0).any() or abs(P.sum() - 1.0) > 1e-9):
            of = f"must be one of the inputs of {record.names[channel]!r}"
            raise NotValidError(f"the fixed input distribution {of}; it is {P.tolist()}")
    senses = 0
    for place, step in enumerate(record.steps, start=1):
        wanted = f"requests must be numbered 1, 2, 3 …; number {place} of them has {step.request}"
        require(step.request == place, wanted)
        _check_counts(record, step)
        senses += sum(map(sum, step.senses.values()))
        wanted = f"{senses} senses were made up to request {place}; the record says {step.total}"
        require(step.total == senses, wanted)
        require(bool(step.candidates) or bool(record.stated.question), f"no candidate is left after request {place}")
    stated = record.stated.senses
    require(stated == senses, f"the steps hold {senses} senses; the record says {stated}")
    _check_cost(record)
    _check_claim(record)
    _check_nearly_best(record)


def _check_counts(record: Record, step: Step) -> None:
    """The answer has the channels, the shape and the sums that were asked for."""
    wanted = f"request {step.request} must be answered for the channels that it asks for, and no other"
    require(step.counts.keys() == step.senses.keys(), wanted)
    for channel, table in step.counts.items():
        where = f"channel {record.names[channel]!r} in request {step.request}"
        size, asked = record.alphabets[channel], step.senses[channel]
        require(table.shape == size and len(asked) == size[0], f"the counts of {where} must be a table of {size}")
        for x, (often, counts) in enumerate(zip(asked, map(sum, table.tolist()), strict=True)):
            wanted = f"input x={x} of {where} was sensed {often} times; its counts add up to {counts}"
            require(often == counts, wanted)


def _check_cost(record: Record) -> None:
    """The cost that is stated is that of the senses, by the costs of the policy."""
    costs, stated = record.costs, record.stated.cost
    if costs is None or stated is None:
        wanted = "a record with costs says what its senses cost, and no other does; this one does not"
        require(costs is None and stated is None, wanted)
        return
    fit = [cost.shape for cost in costs] == [(n,) for n, _ in record.alphabets] and all((c > 0.0).all() for c in costs)
    require(fit, "the record must have a positive cost for every input of every channel; it has not")
    paid = sum(float(costs[c] @ senses) for step in record.steps for c, senses in step.senses.items())
    require(math.isclose(stated, paid, rel_tol=1e-9), f"the senses cost {paid:g}; the record says {stated:g}")


def _check_claim(record: Record) -> None:
    """decided ⇔ a best channel is named ⇔ one candidate is left, or several of value 0 by their alphabets.

    Of another question, its own check says when it is decided.
    """
    if record.stated.question:
        require(record.best is None and record.nearly_best is None, "the best channel was not asked for, and is named")
        return
    everyone, said = frozenset(range(len(record.names))), record.stated.decided
    last = record.steps[-1].candidates if record.steps else everyone
    wanted = "the candidates of the result must be those after the last request; they are others"
    require(record.candidates == last or all(map(record.worthless, everyone)), wanted)
    wanted = "a decided record names a best channel, an undecided one names none; this one does neither"
    require(said == (record.best is not None), wanted)
    left = len(record.candidates)
    wanted = f"decided means that one candidate is left; decided is {said}, and the candidates number {left}"
    require(said == (left == 1 or all(map(record.worthless, record.candidates))), wanted)
    if record.best is not None and record.best not in record.candidates:
        raise NotValidError(f"the best channel must be a candidate; {record.names[record.best]!r} was ruled out")


def _check_nearly_best(record: Record) -> None:
    """It is said of a candidate, and by Adaptive alone."""
    if record.nearly_best is None:
        return
    wanted = f"the policy {record.policy} proves nothing before its end; the record has nearly_best"
    require(record.policy == "adaptive", wanted)
    channel, bits = record.nearly_best
    wanted = "nearly_best must be the best channel or a candidate, within bits >= 0"
    good = channel in record.candidates and bits >= 0.0 and record.best in (None, channel)
    require(good, f"{wanted}; it is {record.names[channel]!r} within {bits:g}")
