"""Simulated identifications by the thousand: every policy on every set of channels at every δ.

Run i of a source of channels senses set i mod `sets` and draws from child (SENSING, source, i) of the
study's seed, whatever the policy and δ: all of them meet the same channels and the same luck as far as
they ask alike. Any run can be repeated alone, and no result depends on which process ran it, or when.

Each δ has runs of its own. What one run costs at several δ could be read off it only if the senses it
asks for did not depend on δ; those of every policy here do. See docs/theory/study.md.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bestchannel.channels import Channel
from bestchannel.errors import InputError
from bestchannel.information import mutual_information
from bestchannel.policies import Policy, identify
from bestchannel.sensing import Simulator
from bestchannel.sensing.instances import GAP_TOLERANCE, Instance
from bestchannel.study.channel_sets import FAMILIES
from bestchannel.study.spec import PolicyChoice, Source, Spec

DRAWING, SENSING = 0, 1
"""The first number of a child's key: what its generator is for."""

SAME = 1e-10
"""Bits: capacities no further apart than this are equal; they are computed within 1e-12."""

PIECE_SECONDS = 1.0
"""After this long a process hands in what it has, so that it is stored and progress is shown."""


@dataclass(frozen=True)
class Condition:
    """One policy on one source of channels at one δ."""

    number: int
    source: Source
    policy: PolicyChoice
    delta: float


@dataclass(frozen=True)
class SimulatedRun:
    """The outcome of one run: `best` is a position, None where undecided; `seconds` are the processor's.

    How long a run took is no part of any table, since it differs from time to time.
    """

    condition: int
    number: int
    best: int | None
    correct: bool
    senses: int
    rounds: int
    seconds: float


@dataclass(frozen=True)
class Piece:
    """Runs first, …, last - 1 of a condition."""

    condition: int
    first: int
    last: int


@dataclass(frozen=True)
class Study:
    """A specification with its sets of channels drawn: `instances[source][set]`."""

    spec: Spec
    instances: tuple[tuple[Instance, ...], ...]

    @classmethod
    def of(cls, spec: Spec) -> Study:
        """Draw or read every set of channels; set j of a source comes from child (DRAWING, source, j)."""
        return cls(
            spec,
            tuple(
                tuple(_instance(source, _generator(spec, DRAWING, i, j)) for j in range(source.sets))
                for i, source in enumerate(spec.instances)
            ),
        )

    @cached_property
    def conditions(self) -> tuple[Condition, ...]:
        """Source by source, policy by policy, δ by δ."""
        spec = self.spec
        every = [(s, p, d) for s in spec.instances for p in spec.policies for d in spec.deltas]
        return tuple(Condition(number, *each) for number, each in enumerate(every))

    @property
    def total(self) -> int:
        """All runs of all conditions."""
        return sum(condition.source.runs for condition in self.conditions)

    def source_number(self, condition: int) -> int:
        """The position of the condition's source of channels."""
        return condition // (len(self.spec.policies) * len(self.spec.deltas))

    def instance(self, condition: int, run: int) -> Instance:
        """The set of channels that a run senses."""
        sets = self.instances[self.source_number(condition)]
        return sets[run % len(sets)]

    def run(self, condition: int, number: int) -> SimulatedRun:
        """One run, alone: the same whenever and wherever it is made."""
        started = time.thread_time()  # of the processor: others on the machine stretch that on the wall
        chosen, instance = self.conditions[condition], self.instance(condition, number)
        policy = chosen.policy.make(instance.alphabets, chosen.delta)
        sensor = Simulator(instance.channels, rng=_generator(self.spec, SENSING, self.source_number(condition), number))
        found = identify(sensor, policy, max_senses=chosen.source.max_senses)
        correct = found.decided and loss(instance, policy, found.best) <= policy.epsilon + SAME
        return SimulatedRun(
            condition, number, found.best, correct, found.senses, found.rounds, time.thread_time() - started
        )

    def runs(self, piece: Piece) -> list[SimulatedRun]:
        """As many runs of the piece, from its first on, as fit into `PIECE_SECONDS`; at least one."""
        return list(self._until(piece, time.monotonic() + PIECE_SECONDS))

    def _until(self, piece: Piece, end: float) -> Iterator[SimulatedRun]:
        for number in range(piece.first, piece.last):
            yield self.run(piece.condition, number)
            if time.monotonic() > end:
                return


def loss(instance: Instance, policy: Policy, named: int) -> float:
    """How much worse than the best a named channel is, in bits, in what the policy compares."""
    P = getattr(policy.functional, "P", None)
    if P is None:
        return float(instance.gaps[named])
    values = [mutual_information(P, channel) for channel in instance.channels]
    return float(max(values) - values[named])


def _generator(spec: Spec, *child: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(spec.seed, spawn_key=child))


def _instance(source: Source, rng: np.random.Generator) -> Instance:
    if source.rows:
        return Instance.of([Channel.from_rows(rows, name=name) for name, rows in source.rows.items()])
    made = FAMILIES[source.family](rng, **source.numbers)
    gap, wanted = float(np.sort(made.gaps)[1]), source.numbers.get("gap")
    if wanted is not None and not abs(gap - wanted) <= 2 * GAP_TOLERANCE * wanted:
        raise InputError(
            f"the family {source.family} of {source.name!r} cannot have a gap of {wanted:g} bits with its other"
            f" numbers, it came out as {gap:g}; ask for a smaller gap"
        )
    return made
