"""`bestchannel watch URL`: a run of a service in the terminal, as it goes on."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bestchannel.cli import options, terminal
from bestchannel.errors import InputError
from bestchannel.promises import rounded_up, several

if TYPE_CHECKING:
    from rich.console import RenderableType

ENDED = {"decided", "undecided", "limited", "failed"}


@terminal.verb
def watch(
    url: Annotated[str, typer.Argument(help="The address of a run, with a token.")],
    token: options.Token = None,
    json: options.Json = False,
) -> None:
    """Watch a run until it ends: leader, evidence, senses, sensors. A lost line is found again.

    Exit code 0 where a channel is named, 3 where the run ends undecided.
    """
    from bestchannel.service.link import Address, events

    address = Address.parse(url, token)
    if address.run is None:
        raise InputError("the address must be that of a run, as http://127.0.0.1:8484/runs/NAME?token=…")
    last: dict[str, Any] = {}
    with terminal.current(sentence, _rows, at_once=True) as show:
        for last in events(address, threading.Event(), terminal.note):
            show(last)
            if last["state"] in ENDED:
                break
    _finish(last, json)


def _finish(last: dict[str, Any], json: bool) -> None:
    if json:
        terminal.print_json(last)
    else:
        terminal.say(sentence(last))
    if last["state"] != "decided":
        raise typer.Exit(terminal.NOT_CERTIFIED)


def sentence(status: dict[str, Any]) -> str:
    """Where a run stands, in one line."""
    state = "paused" if status["paused"] and status["state"] == "open" else status["state"]
    parts = [f"{status['run']}: {state}", several(status["senses"], "sense")]
    if status["best"]:
        parts.insert(1, f"best: {status['best']}")
    elif status["evidence_bits"] is not None:
        against = f"{status['leader']} before {status['challenger']}"
        parts.append(f"{against}: {status['evidence_bits']:.1f} of {status['threshold_bits']:.1f} bits")
    if not status["best"] and status["nearly_best"] is not None:
        parts.append(f"{status['nearly_best']} is the best or within {rounded_up(status['within_bits']):g} bit")
    return ", ".join(parts)


def _rows(status: dict[str, Any]) -> Iterator[tuple[RenderableType, RenderableType]]:
    for word in ("run", "state", "leader", "challenger"):
        if status[word]:
            yield word, terminal.name(str(status[word]))
    if status["evidence_bits"] is not None:
        yield "evidence", f"{status['evidence_bits']:.1f} of {status['threshold_bits']:.1f} bits"
    yield "left", f"{len(status['candidates'])} of {several(len(status['channels']), 'channel')}"
    yield "senses", f"{status['senses']:,}"
    if status["request"] is not None:
        yield f"request {status['request']}", f"{status['answered']:,} of {several(status['asked'], 'sense')}"
    for sensor in status["sensors"]:
        yield terminal.name(sensor["name"]), several(sensor["senses"], "sense")
