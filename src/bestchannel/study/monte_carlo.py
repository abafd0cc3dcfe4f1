"""Simulated identifications by the thousand: every policy on every set of channels at every δ.

Run i of a source of channels senses set i mod `sets` and draws from child (SENSING, source, i) of the
study's seed, whatever the policy and δ: all of them meet the same channels and the same luck as far as
they ask alike. Any run can be repeated alone, and no result depends on which process ran it, or when.

Each δ has runs of its own. What one run costs at several δ could be read off it only if the senses it
asks for did not depend on δ; those of every policy here do. See docs/theory/study.md.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bestchannel.arrays import Floats
from bestchannel.channels import Channel
from bestchannel.errors import InputError
from bestchannel.information import mutual_information
from bestchannel.policies import Identification, Policy, identify
from bestchannel.sensing.simulator import GAP_TOLERANCE, Instance, Simulator, child
from bestchannel.study.spec import FAMILIES, PolicyChoice, Source, Spec

DRAWING, SENSING = 0, 1  # the first number of a child's key: what its generator is for
SAME = 1e-10  # bits: capacities no further apart than this are equal; they are computed within 1e-12
PIECE_SECONDS = 1.0  # after this long a process hands in what it has, so that it is stored and progress is shown


@dataclass(frozen=True)
class Condition:
    """One policy on one source of channels at one δ."""

    number: int
    source_number: int
    source: Source
    policy: PolicyChoice
    delta: float


@dataclass(frozen=True)
class SimulatedRun:
    """The outcome of one run: `best` is a position, None where none is named; `seconds` are the processor's.

    `best_out` says whether the channel that should have been named was ruled out, also where undecided; of another
    question, whether anything was said that is not so. How long a run took is no part of any table, since it differs
    from time to time.
    """

    condition: int
    number: int
    best: int | None
    decided: bool
    correct: bool
    best_out: bool
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
                tuple(_instance(source, child(spec.seed, DRAWING, i, j)) for j in range(source.sets))
                for i, source in enumerate(spec.instances)
            ),
        )

    @cached_property
    def conditions(self) -> tuple[Condition, ...]:
        """Source by source, policy by policy, δ by δ."""
        spec = self.spec
        every = (
            (i, source, policy, delta)
            for i, source in enumerate(spec.instances)
            for policy in spec.policies
            if policy.name in source.policies
            for delta in spec.deltas
        )
        return tuple(Condition(number, *content) for number, content in enumerate(every))

    @property
    def total(self) -> int:
        """All runs of all conditions."""
        return sum(condition.source.runs for condition in self.conditions)

    def instance(self, condition: int, run: int) -> Instance:
        """The set of channels that a run senses."""
        sets = self.instances[self.conditions[condition].source_number]
        return sets[run % len(sets)]

    def run(self, condition: int, number: int) -> SimulatedRun:
        """One run, alone: the same whenever and wherever it is made."""
        started = time.thread_time()  # of the processor: others on the machine stretch that on the wall
        instance = self.instance(condition, number)
        policy, result = self.identification(condition, number)
        correct = policy.question.is_right(result, values_of(instance, policy), SAME)
        seconds = time.thread_time() - started
        said = policy.findings
        out = best_is_out(instance, policy) if said is None else said.says_something and not correct
        outcome = result.best, result.decided, correct, out
        return SimulatedRun(condition, number, *outcome, result.senses, result.rounds, seconds)

    def identification(self, condition: int, number: int) -> tuple[Policy, Identification]:
        """The policy of one run and what it came to."""
        chosen, instance = self.conditions[condition], self.instance(condition, number)
        policy = chosen.policy.make(instance.alphabets, chosen.delta)
        sensor = Simulator(instance.channels, rng=child(self.spec.seed, SENSING, chosen.source_number, number))
        return policy, identify(sensor, policy, max_senses=chosen.source.max_senses)

    def runs(self, piece: Piece) -> list[SimulatedRun]:
        """As many runs of the piece, from its first on, as fit into `PIECE_SECONDS`; at least one."""
        end, runs = time.monotonic() + PIECE_SECONDS, list[SimulatedRun]()
        while piece.first + len(runs) < piece.last and (not runs or time.monotonic() <= end):
            runs.append(self.run(piece.condition, piece.first + len(runs)))
        return runs


def values_of(instance: Instance, policy: Policy) -> Floats:
    """What the policy compares of every channel, in bits."""
    if (P := policy.functional.P) is None:
        return instance.capacities
    return np.array([mutual_information(P, channel) for channel in instance.channels])


def best_is_out(instance: Instance, policy: Policy) -> bool:
    """Whether the best channel was ruled out, which a wrong name requires; of equal ones, the last.

    With an accuracy ε it may be, in favour of a channel that is within ε of it.
    """
    values, named = values_of(instance, policy), policy.recommendation
    behind = values.max() - values
    favoured, left = (policy.leader, policy.candidates) if named is None else (named, (named,))
    if policy.epsilon and (favoured is None or behind[favoured] <= policy.epsilon + SAME):
        return False
    return int(np.flatnonzero(behind <= SAME)[-1]) not in left


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
