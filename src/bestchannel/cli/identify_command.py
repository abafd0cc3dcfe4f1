"""`bestchannel identify`: run a policy until it names the best channel."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bestchannel.cli import live, options, terminal
from bestchannel.counts import read_channels
from bestchannel.errors import InputError
from bestchannel.policies import Identification, OutOfSensesError, Policy, identify, make_policy
from bestchannel.runs import Replay, Simulation, identify_durably
from bestchannel.runs.results import as_document
from bestchannel.sensing import Recording, Simulator


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command(
        name="identify",
        epilog="Examples: bestchannel identify --simulate links.json --delta 0.01 --seed 7 --run links.db;"
        " bestchannel identify --replay trials.csv --outputs 0,1",
    )(identify_verb)


@terminal.verb
def identify_verb(
    simulate: Annotated[
        Path | None, typer.Option(help="Known channels to sense by simulation.", **options.FILE)
    ] = None,
    replay: Annotated[
        Path | None, typer.Option(help="A trial log to sense from, in its order.", **options.FILE)
    ] = None,
    policy: options.PolicyName = "adaptive",
    delta: options.Delta = 0.05,
    epsilon: options.Epsilon = None,
    subroutine: options.Subroutine = None,
    sampling: options.Sampling = None,
    threshold: options.Threshold = None,
    input_distribution: options.InputDistribution = None,
    seed: Annotated[int, typer.Option(help="Seed of the simulated senses.", min=0)] = 0,
    max_senses: options.MaxSenses = None,
    run: Annotated[
        Path | None, typer.Option(help="Keep it in this file, and go on with what is there.", **options.FILE)
    ] = None,
    outputs: options.Outputs = None,
    columns: options.Columns = None,
    json: options.Json = False,
) -> None:
    """Name the channel of largest capacity, sensing one input of one channel at a time.

    The policy says how often to sense which input of which channel; a simulator or a recording answers.
    Exit code 3 where the limit of senses, or the end of the recording, came first and nothing was decided.
    With --run, Ctrl-C ends with exit code 4, and the same command, or `bestchannel run resume`, goes on.
    """
    with terminal.resumable(run):
        source = _source(simulate, seed, replay, options.parse_outputs(outputs), options.parse_columns(columns))
        sensor = sensor_of(source)
        chosen = make_policy(
            policy,
            sensor.alphabets,
            delta=delta,
            epsilon=epsilon,
            subroutine=subroutine,
            sampling=sampling,
            threshold=threshold,
            input_distribution=options.parse_distribution(input_distribution),
        )
        _refuse_too_short(sensor, chosen)
        carry_out(source, sensor, chosen, run=run, max_senses=max_senses, json=json)


def carry_out(
    source: Simulation | Replay,
    sensor: Simulator | Recording,
    policy: Policy,
    *,
    run: Path | None,
    max_senses: int | None,
    json: bool,
) -> None:
    """Identify with progress, durably where there is a run, and print the result."""
    with live.watched(sensor.parties) as watch:
        if run is None:
            result = identify(sensor, policy, max_senses=max_senses, progress=watch)
        else:
            record = source.record(run)
            result = identify_durably(sensor, policy, run, source=record, max_senses=max_senses, progress=watch)
    _say_what_is_missing(sensor, policy)
    finish(result, json)


def sensor_of(source: Simulation | Replay) -> Simulator | Recording:
    """The simulator or the recording; a long file is read with progress."""
    with terminal.progress("bytes of the recording") as progress:
        return source.sensor(progress)


def finish(result: Identification, json: bool) -> None:
    """Print the result; undecided is exit code 3."""
    if json:
        terminal.print_json(as_document(result))
    else:
        for line in str(result).splitlines():
            terminal.say(line)
    if not result.decided:
        raise typer.Exit(terminal.NOT_CERTIFIED)


def _source(
    simulate: Path | None,
    seed: int,
    replay: Path | None,
    outputs: list[str] | None,
    columns: dict[str, str] | None,
) -> Simulation | Replay:
    if simulate is not None and replay is None:
        return Simulation(read_channels(simulate), seed)
    if replay is not None and simulate is None:
        return Replay(replay, outputs, columns)
    raise InputError("one of --simulate and --replay is wanted: known channels, or a trial log")


def _refuse_too_short(sensor: Simulator | Recording, policy: Policy) -> None:
    """Refuse a recording that cannot even answer the first request, before a run is begun."""
    request = policy.ask()
    if request is None or isinstance(sensor, Simulator):
        return
    recorded = [table.sum(axis=1) for table in sensor.counts.values()]
    if any((recorded[channel] < senses).any() for channel, senses in request.senses.items()):
        sensor(request)  # says which senses are missing


def _say_what_is_missing(sensor: Simulator | Recording, policy: Policy) -> None:
    request = policy.ask()
    if request is None or isinstance(sensor, Simulator):
        return
    try:
        sensor(request)
    except OutOfSensesError as error:
        terminal.note(str(error))
