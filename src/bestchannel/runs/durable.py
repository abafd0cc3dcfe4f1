"""A durable identification: an ordinary one whose sensor remembers.

The sensor answers from the log what the log has, which brings a fresh policy to where it was, and senses only what is
not there. A run that is reopened has its policy replayed by the log, so that only new requests reach the sensor.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from bestchannel.arrays import Integers
from bestchannel.errors import InputError
from bestchannel.policies import ChannelLabels, Identification, Policy, Request, Sensor, identify
from bestchannel.policies.identify import Watch
from bestchannel.policies.request import Observation, checked_counts
from bestchannel.process import Progress
from bestchannel.runs import store
from bestchannel.runs.history import History, asked_record, told_record
from bestchannel.runs.settings import RECORDED, Settings, source_of
from bestchannel.sensing import Recording

PYTHON: Mapping[str, Any] = {"kind": "sensor"}  # the source of a run that a Python program answers


class RememberingSensor:
    """Answers from the log of a run; what is not there yet is sensed, and is on disk before it is answered.

    A sensor that draws at random keeps its generator in `rng`, and goes on in the state in which
    it was left. A recording goes on after the trials that it has given.
    """

    def __init__(self, sensor: Sensor, run: store.Store) -> None:
        self.parties = run.history.settings.labels
        self.inferred_outputs = run.history.settings.inferred_outputs
        self.supply = run.history.settings.supply
        self.sensor, self.run = sensor, run
        _continue(sensor, run.history)

    def __call__(self, request: Request) -> dict[int, Integers]:
        """The counts that the request has in the log, now if not before."""
        history = self.run.history
        history.confirm(request.number, request)
        if request.number not in history.answers:
            observation = Observation(request.number, self.sensor(request))
            counts = checked_counts(request, observation, history.alphabets)
            asked = [] if request.number in history.requests else [asked_record(request)]
            self.run.append(*asked, told_record(request.number, counts, _random_state(self.sensor)))
        return dict(history.answers[request.number].counts)


def _continue(sensor: Any, history: History) -> None:
    """Bring a sensor at its beginning to where it stood after the last answer."""
    if isinstance(sensor, Recording):
        for number, answer in history.answers.items():
            again = sensor(history.requests[number])
            if any((again[channel] != table).any() for channel, table in answer.counts.items()):
                raise InputError(f"the recording must answer request {number} as it did; it answers otherwise")
    elif history.answers and _random_state(sensor) is not None:
        state = history.answers[len(history.answers)].state
        try:  # some generators take what makes no sense
            sensor.rng.bit_generator.state = state
            taken = json.loads(json.dumps(_random_state(sensor), default=np.ndarray.tolist)) == state
        except (TypeError, ValueError, KeyError, OverflowError):
            taken = False
        if not taken:
            raise InputError(
                "the log of the run must have the state of the sensor's random generator after the last answer; what it"
                f" has is none of {type(sensor.rng.bit_generator).__name__}; resume with the sensor that the run was"
                " begun with, or restore the file from a copy"
            )


def _random_state(sensor: Sensor) -> Any:
    generator = getattr(getattr(sensor, "rng", None), "bit_generator", None)
    return None if generator is None else generator.state


@contextmanager
def remembering(
    sensor: Sensor, policy: Policy, path: str | os.PathLike[str], *, source: Mapping[str, Any] = PYTHON
) -> Iterator[RememberingSensor]:
    """The sensor, made to remember in this file: a new run, or one begun with the same policy and channels.

    >>> import tempfile, bestchannel as bc
    >>> sensor = bc.Simulator([[[1, 0], [0, 1]], [[0.5, 0.5], [0.5, 0.5]]], rng=1)
    >>> policy = bc.BestChanID(sensor.alphabets, delta=0.1)
    >>> with tempfile.TemporaryDirectory() as folder, remembering(sensor, policy, f"{folder}/run.db") as durable:
    ...     bc.identify(durable, policy).best
    0
    """
    unnamed = [ChannelLabels.numbered(j, alphabet) for j, alphabet in enumerate(policy.alphabets)]
    inferred, left = getattr(sensor, "inferred_outputs", False), getattr(sensor, "left", None)
    recorded = {} if left is None else {RECORDED: [list(map(int, senses)) for senses in left]}
    settings = Settings.of(policy, getattr(sensor, "parties", unnamed), {**source, **recorded}, inferred)
    with store.begun_or_opened(path, settings) as run:
        yield RememberingSensor(sensor, run)


def identify_durably(
    sensor: Sensor,
    policy: Policy,
    path: str | os.PathLike[str],
    *,
    source: Mapping[str, Any] = PYTHON,
    max_senses: int | None = None,
    progress: Watch | None = None,
) -> Identification:
    """`identify`, kept in this file: a new run, or one begun with the same policy and channels, to go on with.

    `max_senses` replaces the limit that the run has; None leaves that as it is.
    """
    store.refuse_limit(max_senses)
    with remembering(sensor, policy, path, source=source) as durable:
        return carried_on(durable, policy, max_senses=max_senses, progress=progress)


@contextmanager
def reopened(
    path: str | os.PathLike[str], *, reading: Progress | None = None
) -> Iterator[tuple[RememberingSensor, Policy]]:
    """A simulated or replayed run, to go on with: its sensor and its policy, where the log left them.

    The log is read, checked and replayed once. `reading(done, total)` counts the bytes of a recording.
    """
    with store.opened(path) as run:
        source = source_of(run.history.settings, Path(path))
        policy = run.history.replay().policy
        yield RememberingSensor(source.sensor(reading), run), policy


def resume(
    path: str | os.PathLike[str], *, max_senses: int | None = None, progress: Watch | None = None
) -> Identification:
    """Go on with a simulated or replayed run, to the verdict that it would have reached without a pause."""
    with reopened(path) as (durable, policy):
        return carried_on(durable, policy, max_senses=max_senses, progress=progress)


def carried_on(
    durable: RememberingSensor, policy: Policy, *, max_senses: int | None = None, progress: Watch | None = None
) -> Identification:
    """`identify`, within the limit that the run has or now gets."""
    durable.run.limit(max_senses)
    return identify(durable, policy, max_senses=durable.run.history.max_senses, progress=progress)
