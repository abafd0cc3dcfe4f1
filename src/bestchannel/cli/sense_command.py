"""`bestchannel sense URL --channel NAME -- COMMAND…`: any program as an instrument of a service."""

from __future__ import annotations

import signal
import threading
from typing import Annotated

import typer

from bestchannel.cli import options, terminal

DECIDED = "decided"


@terminal.verb
def sense(
    url: Annotated[str, typer.Argument(help="The address of the service, or of one of its runs, with a token.")],
    command: Annotated[
        list[str],
        typer.Argument(
            metavar="-- COMMAND…", help="Reads input symbols, one per line; writes one output symbol for each."
        ),
    ],
    channel: Annotated[list[str], typer.Option(help="A channel that the program reaches; may be repeated.")],
    name: Annotated[str | None, typer.Option(help="What pages call this sensor.", show_default=False)] = None,
    most: Annotated[int, typer.Option(help="Lease at most so many senses at once.", min=1)] = 10_000,
    token: options.Token = None,
    json: options.Json = False,
) -> None:
    """Let a program sense for a service, until the run has ended; at the address of the whole service, for ever.

    The program is kept running, and started again when it dies; a lost line is found again. With several channels, the
    program is told which: a line is then the name of the channel, a tab, and the symbol. Exit code 3 where the run ends
    undecided, 130 where it was interrupted.
    """
    from bestchannel.service.instrument import Instrument
    from bestchannel.service.program import Program

    stop = threading.Event()
    program = Program(command, terminal.note, stop, names_channel=len(channel) > 1)
    instrument = Instrument(
        url, channel, program.sense, name=name, token=token, most=most, noted=terminal.note, stop=stop
    )
    before = signal.signal(signal.SIGTERM, lambda *_: stop.set())
    try:
        state = instrument.run()
    finally:
        stop.set()
        program.close()
        signal.signal(signal.SIGTERM, before)
    if json:
        terminal.print_json({"state": state, "run": instrument.address.run})
    else:
        terminal.say(f"the run is {state}" if state != "stopped" else "stopped")
    if state not in (DECIDED, "stopped"):
        raise typer.Exit(terminal.NOT_CERTIFIED)
