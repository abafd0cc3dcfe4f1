"""`bestchannel identify`: run a policy until it names the best channel."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bestchannel import policies
from bestchannel.cli import options, resumable, terminal, verb
from bestchannel.cli.options import Asked
from bestchannel.cli.reading import BY_TIME, Reading
from bestchannel.errors import InputError
from bestchannel.information import NATS_PER_BIT
from bestchannel.intervals.order_checks import OrderChecks, check_order
from bestchannel.intervals.verdict import one_digit
from bestchannel.policies import (
    ChannelLabels,
    Identification,
    JointAdaptive,
    OutOfSensesError,
    Policy,
    Sensor,
    Status,
    Supply,
)
from bestchannel.policies.catalogue import POLICIES
from bestchannel.policies.identify import Watch
from bestchannel.policies.transcript import as_document
from bestchannel.promises import several
from bestchannel.runs import RememberingSensor, Replay, Simulation, remembering
from bestchannel.runs.run import carried_on
from bestchannel.sensing import JointRecording, Recording, Simulator

if TYPE_CHECKING:
    from rich.console import RenderableType


@dataclass(frozen=True)
class ChosenPolicy:
    """The policy that a command describes, for channels that are known later."""

    name: str = options.option(
        "adaptive",
        f"{', '.join(POLICIES)}, or package.module:Class.",
        "--policy",
        show_default=True,
        autocompletion=lambda incomplete: [policy for policy in POLICIES if policy.startswith(incomplete)],
    )
    delta: float = options.DELTA
    epsilon: float | None = options.EPSILON
    subroutine: str | None = options.option(None, "naive or median, within best-chan-id.")
    sampling: str | None = options.option(None, "Where adaptive senses: fewest, or another rule to compare.")
    threshold: str | None = options.option(None, "When adaptive stops: proved, or calibrated (fewer senses, no proof).")
    input_distribution: str | None = options.INPUT_DISTRIBUTION
    cost: list[str] | None = options.COST
    policy_option: list[str] | None = options.option(
        None, "Another option of the policy, as margin=0.1; the value is JSON, or a text.", metavar="KEY=VALUE"
    )

    def __post_init__(self) -> None:
        _ = self.settings  # what cannot be is refused before anything is read

    @cached_property
    def settings(self) -> dict[str, Any]:
        """The options of the policy beyond delta and cost, as its class has them."""
        own = {key: getattr(self, key) for key in ("epsilon", "subroutine", "sampling", "threshold")}
        own["input_distribution"] = options.parse_distribution(self.input_distribution)
        others = _pairs(self.policy_option or [])
        for key in others:
            if {**own, "cost": self.cost or None}.get(key) is not None:
                raise InputError(f"{key} must be given once; it is in --{key.replace('_', '-')} and in --policy-option")
        return own | others

    def made_for(self, parties: Sequence[ChannelLabels], asked: Asked) -> Policy:
        """The policy for these channels, told nothing yet."""
        letters = {str(labels.key): labels.inputs for labels in parties}
        more = {**self.settings, **options.parse_costs(self.cost, letters)}
        if (question := asked.of(list(letters))) is not None:
            if self.name in POLICIES and "question" not in POLICIES[self.name].option_names():
                raise InputError(
                    f"the policy {self.name} finds the best channel and answers no other question; leave out"
                    f" --{question['kind']}, or choose the policy adaptive"
                )
            more["question"] = question
        return policies.make_policy(self.name, [labels.alphabet for labels in parties], delta=self.delta, **more)


def _pairs(texts: Iterable[str]) -> dict[str, Any]:
    """margin=0.1 as a key and a value, JSON where it is that."""
    named: dict[str, Any] = {}
    for text in texts:
        key, sign, value = map(str.strip, text.partition("="))
        if not sign or not key:
            raise InputError(f"--policy-option must look like margin=0.1; it is {text!r}")
        if key == "delta":
            raise InputError("--policy-option is for what a policy has beyond delta; give --delta")
        if key in named:
            raise InputError(f"--policy-option must name each option once; {key} is given twice")
        named[key] = value
        with suppress(ValueError, RecursionError):
            named[key] = json.loads(value)
    return named


@verb(
    "Examples: bestchannel identify --simulate links.json --delta 0.01 --seed 7 --run links.db;"
    " bestchannel identify --replay trials.csv --outputs 0,1"
)
def identify(
    simulate: list[Path] | None = options.file(
        None, "Known channels to sense by simulation: a file, or bsc:0.11; again for several."
    ),
    replay: list[Path] | None = options.file(None, "A trial log to sense from, in its order; again for several files."),
    *,
    asked: Asked,
    policy: ChosenPolicy,
    seed: int = options.SEED,
    max_senses: int | None = options.MAX_SENSES,
    run: Path | None = options.file(None, "Keep it in this file, and go on with what is there."),
    reading: Reading,
    no_checks: bool = options.NO_CHECKS,
) -> None:
    """Name the channel of largest capacity, sensing one input of one channel at a time.

    With --above, --top, --order or --within something else is asked than which channel is the best.
    The policy says how often to sense which input of which channel; a simulator or a recording answers.
    The policy joint asks for shots that all channels answer at once; a recording has a row per trial then,
    trial,x,y_A,y_B,…, and --max-senses counts shots.
    The policy adaptive uses the limit of senses, or a recording, to its end; the others stop before a request that
    is too large. Exit code 3 where that came first and nothing was decided.
    With --run, Ctrl-C ends with exit code 4, and the same command, or `bestchannel run resume`, goes on.
    """
    with resumable(run):
        source = _source(simulate, replay, seed, reading, joint=policy.name == JointAdaptive.name)
        with terminal.progress("bytes of the recording") as progress:
            sensor = source.sensor(progress)
        chosen = policy.made_for(sensor.parties, asked)
        _refuse_too_short(sensor, chosen)
        checks = None if no_checks else checks_of(sensor)
        if run is None:
            with watched(sensor.parties) as watch:
                result = policies.identify(sensor, chosen, max_senses=max_senses, progress=watch)
        else:
            warnings = {"warnings": list(checks.warnings)} if checks and checks.warnings else {}
            with remembering(sensor, chosen, run, source={**source.record(run), **warnings}) as durable:
                result = carry_on(durable, chosen, max_senses)
        say_what_is_missing(sensor, chosen, max_senses)
        finish(result, checks, source.named())


def _source(
    simulate: list[Path] | None, replay: list[Path] | None, seed: int, reading: Reading, joint: bool
) -> Simulation | Replay:
    if simulate and not replay:
        return Simulation(reading.channels(simulate), seed, simulate[0] if len(simulate) == 1 else None)
    if replay and not simulate:
        return replace(reading.replay(replay), joint=joint)
    raise InputError("one of --simulate and --replay is required: known channels, or a trial log")


def _refuse_too_short(sensor: Simulator | Recording | JointRecording, policy: Policy) -> None:
    """Refuse a recording that cannot even answer the first request, before a run is begun."""
    if isinstance(sensor, Simulator):
        return
    recorded = Supply(each=tuple(map(tuple, sensor.left)))
    policy.limit(recorded)
    request = policy.ask()
    if request is not None and recorded.cut(request.senses) != request.senses:
        sensor(request)  # says which senses are missing


def checks_of(sensor: Sensor) -> OrderChecks | None:
    """What the order of a recording says, with warnings on stderr; None of what has none."""
    if not isinstance(sensor, Recording | JointRecording):
        return None
    with terminal.progress("looking for drift and memory"):
        checks = check_order(sensor.trials.labelled_counts(), apart=isinstance(sensor, Recording))
    if checks and checks.by_time:
        terminal.note(BY_TIME)
    terminal.note_warnings(checks.warnings if checks else ())
    return checks


def carry_on(durable: RememberingSensor, policy: Policy, max_senses: int | None) -> Identification:
    """Identify with progress, every answer on disk; a limit that only the file has is named where it was the end."""
    with watched(durable.parties) as watch:
        result = carried_on(durable, policy, max_senses=max_senses, progress=watch)
    most = durable.run.history.max_senses
    if most is not None and max_senses is None and not result.decided:
        limited = f"the run has its limit of {several(most, 'sense')} from before"
        terminal.note(f"{limited}; `bestchannel run resume --max-senses N` replaces it")
    return result


def say_what_is_missing(sensor: Sensor, policy: Policy, max_senses: int | None = None) -> None:
    """Say which trials an undecided recording lacks, or that it was not to be used further."""
    request = policy.ask()
    if not isinstance(sensor, Recording) or policy.decided:
        return
    if request is None:
        trials = sum(map(sum, sensor.left)) + policy.senses
        limited = max_senses is not None and max_senses < trials and policy.senses in (0, max_senses)
        limit, end = f"--max-senses {max_senses} allows no more", "the recording has nothing left that could decide"
        used = f"{policy.senses:,} of {several(trials, 'trial')} were used"
        terminal.note(f"{limit if limited else end}: {used}; `estimate` uses all of them")
        return
    try:
        sensor(request)
    except OutOfSensesError as error:
        terminal.note(str(error))


def finish(result: Identification, checks: OrderChecks | None = None, source: Mapping[str, Any] | None = None) -> None:
    """Print the result, with what is known of who answered; undecided is exit code 3."""
    more = {"checks": None if checks is None else asdict(checks), "source": source}

    def document() -> dict[str, Any]:
        return as_document(result) | {key: value for key, value in more.items() if value is not None}

    terminal.answer(document, lambda: terminal.say(*str(result).splitlines()), certified=result.decided)


def watched(parties: Sequence[ChannelLabels]) -> AbstractContextManager[Watch]:
    """A progress callback for `identify` that shows on stderr where it stands."""
    return terminal.standing(lambda status: standing(status, parties), lambda status: _rows(status, parties))


def standing(status: Status, parties: Sequence[ChannelLabels]) -> str:
    """Where an identification stands, in one line."""
    course = (
        f"{len(status.candidates)} of {len(parties)} left, {several(status.senses, status.unit)}{_forecast(status)}"
    )
    rival = status.challenger
    if status.leader is None or rival is None:
        return course
    evidence, threshold = _bits(status, rival)
    names = f"{parties[status.leader].key} before {parties[rival].key}"
    return f"{course}; {names}: {evidence:.1f} of {threshold:.1f} bits"


def _rows(status: Status, parties: Sequence[ChannelLabels]) -> Iterator[tuple[str, RenderableType]]:
    rival = status.challenger
    if status.leader is not None and rival is not None:
        yield "leader", terminal.literal(str(parties[status.leader].key), bold=True)
        yield "challenger", str(parties[rival].key)
        yield "evidence", terminal.bar(*_bits(status, rival), "bits")
    yield "left", f"{len(status.candidates)} of {several(len(parties), 'channel')}"
    yield f"{status.unit}s", f"{status.senses:,}{_forecast(status)}"


def _forecast(status: Status) -> str:
    if status.more_senses is None or len(status.candidates) < 2:
        return ""
    return f", some {one_digit(status.more_senses):,} to go"


def _bits(status: Status, rival: int) -> tuple[float, float]:
    return status.evidence_nats[rival] / NATS_PER_BIT, status.threshold_nats[rival] / NATS_PER_BIT
