"""A run that people answer, in any number of sittings, one request after the other; and one that answers itself.

The latter is an ordinary identification whose sensor remembers: it answers from the log what the log has, which brings
a fresh policy to where it was, and senses only what is not there.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import to_builtins

from bestchannel.arrays import Integers
from bestchannel.disk import errors_naming, read_bytes
from bestchannel.errors import InputError
from bestchannel.json_text import json_of
from bestchannel.policies import ChannelLabels, Identification, Policy, Request, Sensor, identify
from bestchannel.policies.identify import Watch
from bestchannel.policies.policy import outcome
from bestchannel.policies.request import Observation, checked_counts
from bestchannel.policies.transcript import from_document
from bestchannel.process import Progress
from bestchannel.promises import several
from bestchannel.runs import store
from bestchannel.runs.history import (
    AMENDED,
    ASKED,
    LIMIT,
    PIECES,
    AnswerPiece,
    History,
    PartialAnswer,
    Record,
    Rows,
    as_pieces,
    told_record,
)
from bestchannel.runs.settings import LABORATORY, RECORDED, Settings, refuse_wishes, source_of
from bestchannel.sensing import Recording

OPEN, LIMITED, DECIDED, UNDECIDED = "open", "limited", "decided", "undecided"
"""A request waits for its answer; it would pass the limit of senses; a channel is named; the policy gave up."""


class Run:
    """Where a run stands: everything here follows from its log."""

    def __init__(self, history: History) -> None:
        self.history, self.settings = history, history.settings
        self._replay()

    def _replay(self) -> None:
        self._asking = self.history.replay()
        self._policy = self._asking.policy

    @property
    def state(self) -> str:
        """`open`, `limited`, `decided` or `undecided`."""
        request = self._asking.ask()
        if request is None:
            return DECIDED if self._policy.decided else UNDECIDED
        most = self.history.max_senses
        return LIMITED if most is not None and self.history.senses + request.total > most else OPEN

    def ask(self) -> Request | None:
        """The request that waits for an answer; None where the run has ended or reached its limit of senses."""
        return self._asking.ask() if self.state == OPEN else None

    def missing(self) -> dict[int, tuple[int, ...]]:
        """How many senses of each input of each channel the open request still lacks; empty where none is open."""
        request = self.ask()
        if request is None or request.number not in self.history.requests:
            return {} if request is None else dict(request.senses)
        return self.history.partial_answer(request.number).missing

    def outcome(self) -> Identification:
        """What the run has come to so far."""
        return outcome(self._policy, self.settings.labels, inferred_outputs=self.settings.inferred_outputs)

    def standing(self) -> str:
        """Where it stands, in a few words."""
        request = self.ask()
        return f"the run is {self.state}" if request is None else f"request {request.number} is open"


@dataclass(frozen=True)
class Told:
    """What became of an answer, or of pieces of one: whether the run had it already (`repeated`).

    Once a request has its whole answer (`complete`), the policy has moved on.
    """

    request: int
    repeated: bool
    complete: bool = True


class LaboratoryRun(Run):
    """A run that this process, and no other, may tell answers to."""

    def __init__(self, run: store.Store) -> None:
        super().__init__(run.history)
        self.store = run
        self._write_down_request()

    def request(self, number: int) -> Request:
        """The request of this number, which is open or answered."""
        self._write_down_request()  # where the disk was full before
        request = self.ask()
        if number not in self.history.answers and (request is None or request.number != number):
            raise InputError(f"{self.standing()}; request {number} cannot be answered")
        return self.history.requests[number]

    def tell(self, number: int, counts: Mapping[int, Integers]) -> Told:
        """Answer request `number`; on return the answer is on disk. The same answer again is harmless."""
        request = self.request(number)
        checked = checked_counts(request, Observation(number, counts), self.history.alphabets)
        if number in self.history.answers:
            rows = {(c, x): row for c, table in checked.items() for x, row in enumerate(table.tolist())}
            self._refuse_other(number, rows)
            return Told(number, repeated=True)
        self.history.partial_answer(number).refuse_less(checked)
        self.store.append(told_record(number, checked))
        self._move_on(number)
        return Told(number, repeated=False)

    def tell_pieces(self, number: int, pieces: Iterable[AnswerPiece]) -> Told:
        """Add pieces to the answer of request `number`, all or none of them; on return they are on disk.

        A piece that the run has is harmless, one that contradicts it is refused. The policy moves on with the piece
        that completes the answer, and sees their sum: the order of arrival makes no difference.
        """
        self.request(number)
        partial, pieces = self.history.partial_answer(number), list(pieces)
        is_answered = number in self.history.answers
        for piece in pieces if is_answered else ():
            if piece.id not in partial.pieces:
                raise InputError(f"request {number} was answered before piece {piece.id!r} came; {self.standing()}")
        new = partial.new_among(pieces)
        if not new:
            return Told(number, repeated=True, complete=is_answered)
        complete = sum(piece.senses for piece in new) == partial.total_missing
        told = [told_record(number, partial.counts(new))] if complete else []
        self.store.append((PIECES, number, to_builtins(new)), *told)
        if complete:
            self._move_on(number)
        return Told(number, repeated=False, complete=complete)

    def tell_inputs(self, number: int, rows: Rows) -> Told:
        """Answer request `number` for some of its inputs, each with all its senses; on return they are on disk."""
        if number in self.history.answers:
            self.request(number)
            self._refuse_other(number, rows)
            return Told(number, repeated=True)
        return self.tell_pieces(number, as_pieces(rows))

    def amend(self, number: int, rows: Rows) -> Told:
        """Correct what was told of inputs of request `number`; the policy goes on from there.

        The log keeps what was told before. Requests that followed upon the answer are void, and are asked anew.
        """
        history, pieces = self.history, as_pieces(rows)
        was_told = number in history.answers or (number in history.requests and history.partial_answer(number).pieces)
        if not was_told:
            raise InputError(f"nothing was told of request {number}, so nothing can be amended; {self.standing()}")
        request = history.requests[number]
        PartialAnswer(request, history.alphabets).new_among(pieces)  # refuses what does not fit
        for piece in pieces:
            if piece.senses != (asked := request.senses[piece.channel][piece.x]):
                raise InputError(
                    f"input x={piece.x} of channel {piece.channel} must have {several(asked, 'sense')}, as request"
                    f" {number} asks; it has {piece.senses:,}"
                )
        records: list[Record] = [(AMENDED, number, [(*place, counts) for place, counts in rows.items()])]
        if number not in history.answers:
            amended = history.partly_amended(number, rows)
            records += [] if amended.total_missing else [told_record(number, amended.counts())]
        self.store.append(*records)
        self._replay()
        self._write_down_request()
        return Told(number, repeated=False, complete=number in history.answers)

    def _move_on(self, number: int) -> None:
        self._asking.tell(Observation(number, self.history.answers[number].counts))
        self._write_down_request()

    def limit(self, max_senses: int | None) -> None:
        """Let the run spend at most so many senses; None leaves the limit as it is."""
        self.store.limit(max_senses)

    def _write_down_request(self) -> None:
        request = self._asking.ask()
        if request is not None and request.number not in self.history.requests:
            self.store.append((ASKED, request.number, [*request.senses.items()]))

    def _refuse_other(self, number: int, rows: Rows) -> None:
        told = self.history.answers[number].counts
        if any(told[channel][x].tolist() != list(counts) for (channel, x), counts in rows.items()):
            raise InputError(
                f"request {number} was answered otherwise before, and an answer stays (`bestchannel run amend` corrects"
                f" one); {self.standing()}"
            )


def read_run(path: str | os.PathLike[str]) -> Identification:
    """What a run has come to so far, read without disturbing whoever writes to it."""
    return view(path).outcome()


def view(path: str | os.PathLike[str]) -> Run:
    """Where a run stands now, read without disturbing whoever writes to it."""
    return Run(store.read(path))


def read_result(path: Path) -> Identification:
    """The result in a file."""
    with errors_naming(path):
        return from_document(json_of(read_bytes(path)))


@contextmanager
def begin(
    path: str | os.PathLike[str],
    policy: Policy,
    parties: Sequence[ChannelLabels] | None = None,
    *,
    max_senses: int | None = None,
    largest_request: int | None = None,
    title: str = "",
    note: str = "",
) -> Iterator[LaboratoryRun]:
    """A new run of a policy that was told nothing yet, for people to answer.

    `max_senses` limits what it may ask, and `largest_request` what it may ask at once; `title` and `note` say what the
    run is about, to whoever reads its report.
    """
    store.refuse_limit(max_senses)
    refuse_wishes(title, note, largest_request)
    settings = Settings.of(policy, parties, LABORATORY, title=title, note=note, largest_request=largest_request)
    limits = [] if max_senses is None else [(LIMIT, 0, int(max_senses))]
    with store.opened(path, settings, *limits, is_new=True) as run:
        yield LaboratoryRun(run)


@contextmanager
def open_run(path: str | os.PathLike[str], *, wait_s: float | None = None) -> Iterator[LaboratoryRun]:
    """The run in the file, to tell it answers, once nobody else writes to it: at most `wait_s` seconds from now."""
    with store.opened(path, wait_s=store.PATIENCE_S if wait_s is None else wait_s) as run:
        if run.history.settings.answers_itself:
            raise InputError(f"{path}: this run answers itself; `bestchannel run resume` goes on with it")
        yield LaboratoryRun(run)


def answers_itself(path: str | os.PathLike[str]) -> bool:
    """Whether `resume` can go on with the run: a simulation or a recording. Its log is not read."""
    return store.read_settings(path).answers_itself


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
            asked = [] if request.number in history.requests else [(ASKED, request.number, [*request.senses.items()])]
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
    inferred, left = getattr(sensor, "inferred_outputs", False), getattr(sensor, "left", None)
    recorded = {} if left is None else {RECORDED: [list(map(int, senses)) for senses in left]}
    settings = Settings.of(policy, getattr(sensor, "parties", None), {**source, **recorded}, inferred)
    with store.opened(path, settings) as run:
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
