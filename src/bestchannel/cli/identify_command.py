"""`bestchannel identify`: run a policy until it names the best channel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from bestchannel.cli import live, options, terminal
from bestchannel.cli.reading import Reading
from bestchannel.errors import InputError
from bestchannel.intervals.order_checks import OrderChecks, check_order
from bestchannel.policies import Identification, OutOfSensesError, Policy, Sensor, Supply, identify
from bestchannel.promises import several
from bestchannel.runs import RememberingSensor, Replay, Simulation, remembering
from bestchannel.runs.durable import carried_on
from bestchannel.runs.results import as_document
from bestchannel.sensing import Recording, Simulator


@terminal.verb
@options.with_groups
def identify_verb(
    simulate: Annotated[
        list[Path] | None,
        typer.Option(
            help="Known channels to sense by simulation: a file, or bsc:0.11; again for several.", **options.FILE
        ),
    ] = None,
    replay: Annotated[
        list[Path] | None,
        typer.Option(help="A trial log to sense from, in its order; again for several files.", **options.FILE),
    ] = None,
    *,
    policy: options.ChosenPolicy,
    seed: Annotated[int, typer.Option(help="Seed of the simulated senses.", min=0)] = 0,
    max_senses: options.MaxSenses = None,
    run: Annotated[
        Path | None, typer.Option(help="Keep it in this file, and go on with what is there.", **options.FILE)
    ] = None,
    reading: Reading,
    no_checks: options.NoChecks = False,
    json: options.Json = False,
) -> None:
    """Name the channel of largest capacity, sensing one input of one channel at a time.

    The policy says how often to sense which input of which channel; a simulator or a recording answers.
    The policy adaptive uses the limit of senses, or a recording, to its end; the others stop before a request that
    is too large. Exit code 3 where that came first and nothing was decided.
    With --run, Ctrl-C ends with exit code 4, and the same command, or `bestchannel run resume`, goes on.
    """
    with terminal.resumable(run):
        source = _source(simulate, replay, seed, reading)
        with terminal.progress("bytes of the recording") as progress:
            sensor = source.sensor(progress)
        chosen = policy.made_for(sensor.parties)
        _refuse_too_short(sensor, chosen)
        checks = None if no_checks else checks_of(sensor)
        if run is None:
            with live.watched(sensor.parties) as watch:
                result = identify(sensor, chosen, max_senses=max_senses, progress=watch)
        else:
            warnings = {"warnings": list(checks.warnings)} if checks and checks.warnings else {}
            with remembering(sensor, chosen, run, source={**source.record(run), **warnings}) as durable:
                result = carry_on(durable, chosen, max_senses)
        say_what_is_missing(sensor, chosen, max_senses)
        finish(result, json, checks, source.named())


def carry_on(durable: RememberingSensor, policy: Policy, max_senses: int | None) -> Identification:
    """Identify with progress, every answer on disk."""
    with live.watched(durable.parties) as watch:
        return carried_on(durable, policy, max_senses=max_senses, progress=watch)


def checks_of(sensor: Sensor) -> OrderChecks | None:
    """What the order of a recording says, with warnings on stderr; None of what has none."""
    if not isinstance(sensor, Recording):
        return None
    with terminal.progress("looking for drift and memory"):
        checks = check_order(sensor.trials.labelled_counts())
    if sensor.trials.by_time:
        terminal.note("the senses are taken in the order of the column time, which is not that of the rows")
    terminal.note_warnings(checks.warnings if checks else ())
    return checks


def finish(
    result: Identification, json: bool, checks: OrderChecks | None = None, source: Mapping[str, Any] | None = None
) -> None:
    """Print the result, with what is known of who answered; undecided is exit code 3."""
    if json:
        more = {"checks": None if checks is None else asdict(checks), "source": source}
        terminal.print_json(as_document(result) | {key: value for key, value in more.items() if value is not None})
    else:
        for line in str(result).splitlines():
            terminal.say(line)
    if not result.decided:
        raise typer.Exit(terminal.NOT_CERTIFIED)


def _source(simulate: list[Path] | None, replay: list[Path] | None, seed: int, reading: Reading) -> Simulation | Replay:
    if simulate and not replay:
        return Simulation(reading.channels(simulate), seed, simulate[0] if len(simulate) == 1 else None)
    if replay and not simulate:
        return reading.replay(replay)
    raise InputError("one of --simulate and --replay is required: known channels, or a trial log")


def _refuse_too_short(sensor: Simulator | Recording, policy: Policy) -> None:
    """Refuse a recording that cannot even answer the first request, before a run is begun."""
    if isinstance(sensor, Simulator):
        return
    recorded = Supply(each=tuple(map(tuple, sensor.left)))
    policy.limit(recorded)
    request = policy.ask()
    if request is not None and recorded.cut(request.senses) != request.senses:
        sensor(request)  # says which senses are missing


def say_what_is_missing(sensor: Sensor, policy: Policy, max_senses: int | None = None) -> None:
    """Say which trials an undecided recording lacks, or that it was not to be used further."""
    request = policy.ask()
    if not isinstance(sensor, Recording) or policy.recommendation is not None:
        return
    if request is None:
        trials = sum(map(sum, sensor.left)) + policy.senses
        limited = max_senses is not None and max_senses < trials and policy.senses in (0, max_senses)
        why = (
            f"--max-senses {max_senses} allows no more"
            if limited
            else "the recording has nothing left that could decide"
        )
        terminal.note(f"{why}: {policy.senses:,} of {several(trials, 'trial')} were used; `estimate` uses all of them")
        return
    try:
        sensor(request)
    except OutOfSensesError as error:
        terminal.note(str(error))
