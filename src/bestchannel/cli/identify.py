"""`bestchannel identify`: run a policy until it names the best channel."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from bestchannel.channels import Channel
from bestchannel.cli import options, terminal
from bestchannel.files import as_document, read_channels
from bestchannel.identification import Identification, Status, identify, make_policy
from bestchannel.sensing import Simulator


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command(
        name="identify",
        epilog="Example: bestchannel identify --simulate links.json --delta 0.01 --seed 7",
    )(identify_verb)


@terminal.verb
def identify_verb(
    simulate: Annotated[Path, typer.Option(help="Known channels to sense by simulation.", show_default=False)],
    policy: Annotated[str, typer.Option(help="adaptive, best-chan-id, naive or median.")] = "adaptive",
    delta: options.Delta = 0.05,
    epsilon: options.Epsilon = None,
    subroutine: Annotated[str | None, typer.Option(help="naive or median, within best-chan-id.")] = None,
    input_distribution: Annotated[
        str | None, typer.Option(help="Compare I(P;W) at this P instead of capacities, as 0.5,0.5.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the simulated senses.")] = 0,
    max_senses: Annotated[int | None, typer.Option(help="Stop undecided rather than pass this many senses.")] = None,
    json: options.Json = False,
) -> None:
    """Name the channel of largest capacity, sensing one input of one channel at a time.

    The policy says how often to sense which input of which channel; a simulator answers.
    Exit code 3 where the limit of senses came first and nothing was decided.
    """
    channels = read_channels(simulate)
    sensor = Simulator(channels, rng=seed)
    chosen = make_policy(
        policy,
        sensor.alphabets,
        delta=delta,
        epsilon=epsilon,
        subroutine=subroutine,
        input_distribution=options.parse_distribution(input_distribution),
    )
    watcher = _watch(channels)
    result = identify(sensor, chosen, max_senses=max_senses, progress=watcher)
    watcher.close()
    if json:
        terminal.print_json(as_document(result))
    else:
        _show(result)
    if not result.decided:
        raise typer.Exit(terminal.NOT_CERTIFIED)


def _watch(channels: Mapping[str, Channel]) -> terminal.Watcher:
    """One line on stderr for every answered request, where somebody watches."""

    def line(status: Status) -> str:
        return f"round {status.rounds}: {len(status.candidates)} of {len(channels)} left, {status.senses:,} senses"

    return terminal.Watcher(line)


def _show(result: Identification) -> None:
    if result.decided:
        print(f"best: {result.best}")
    else:
        print(f"undecided between {', '.join(map(str, result.candidates))}")
    print(f"after {result.senses:,} senses in {result.rounds} rounds of {result.policy}")
    if result.decided:
        print(result.guarantee)
