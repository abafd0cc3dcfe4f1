"""`bestchannel serve`, `sense` and `watch`: runs over a network, for sensors and for people."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bestchannel.cli import options, terminal, verb
from bestchannel.cli.options import option
from bestchannel.errors import InputError, MissingExtraError
from bestchannel.promises import rounded_up, several

LOG_LEVELS = ("debug", "info", "warning", "error")
ENDED = ("decided", "undecided", "limited", "failed")


@verb("Example: bestchannel serve runs/ --port 8484")
def serve(
    runs: Path = options.argument("The folder of the runs; made if missing.", metavar="RUNS/"),
    host: str = option("127.0.0.1", "Where to listen; other machines reach 0.0.0.0.", show_default=True),
    port: int = option(8484, "The port; 0 takes a free one.", min=0, max=65535),
    token: str | None = option(None, "The owner's token; random otherwise.", envvar="BESTCHANNEL_TOKEN"),
    allow_host: list[str] | None = option(None, "Another name by which the service is called, as behind a proxy."),
    trust_proxy: list[str] | None = option(None, "The address of a proxy whose X-Forwarded headers are believed."),
    token_days: float = option(30.0, "Days for which tokens that the owner makes are valid."),
    certificate: Path | None = options.file(None, "A certificate for TLS (.pem)."),
    key: Path | None = options.file(None, "Its private key (.pem)."),
    lease: float = option(30.0, "Seconds after which a silent sensor's work goes to another."),
    log_level: str = option("info", f"One of {', '.join(LOG_LEVELS)}; lines of JSON on stderr.", show_default=True),
) -> None:
    """Serve a folder of runs: sensors answer requests over the network, people watch the verdict form.

    Prints the address with the owner's token. Ends with SIGTERM or Ctrl-C; every acknowledged piece is on disk, and the
    next start goes on. Without --token, each start makes another token, and sensors require the new one.
    """
    try:
        from bestchannel.service.access import Tokens
        from bestchannel.service.server import Place, Service, log_to_stderr
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"serving ({error.name})", "service") from None

    if log_level.lower() not in LOG_LEVELS:
        raise InputError(f"--log-level must be one of {', '.join(LOG_LEVELS)}; it is {log_level!r}")
    log_to_stderr(log_level)
    tokens = Tokens(token, token_days)
    place = Place(host, port, tuple(allow_host or ()), certificate, key, tuple(trust_proxy or ()))
    service = Service(runs, place, tokens, lease_s=lease)

    def announce() -> None:
        url = f"{service.address}/?token={tokens.owner}"
        terminal.answer({"url": url, "address": service.address, "token": tokens.owner}, url)
        terminal.flush()
        if not place.is_loopback and certificate is None:
            terminal.note("anybody on the way can read tokens: give --certificate and --key, or use a proxy with TLS")

    service.run(announce)


@verb("Example: bestchannel sense 'http://127.0.0.1:8484/runs/lab?token=…' --channel q3 -- ./read-out q3")
def sense(
    url: str = options.argument("The address of the service, or of one of its runs, with a token."),
    command: list[str] = options.argument(
        "Reads input symbols, one per line; writes one output symbol for each.", metavar="-- COMMAND…"
    ),
    channel: list[str] = option(..., "A channel that the program reaches; may be repeated."),
    name: str | None = option(None, "What pages call this sensor."),
    most: int = option(10_000, "Lease at most so many senses at once.", min=1),
    token: str | None = options.TOKEN,
) -> None:
    """Let a program sense for a service, until the run has ended; at the address of the whole service, for ever.

    The program is kept running, and started again when it dies; a lost connection is made again. With several channels,
    the program is told which: a line is then the name of the channel, a tab, and the symbol. Exit code 3 where the run
    ends undecided, 130 where it was interrupted.
    """
    from bestchannel.service.instrument import Instrument, Program

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
    words = f"the run is {state}" if state != "stopped" else "stopped"
    answer = {"state": state, "run": instrument.address.run}
    terminal.answer(answer, words, certified=state in ("decided", "stopped"))


@verb("Example: bestchannel watch 'http://127.0.0.1:8484/runs/lab?token=…'")
def watch(
    url: str = options.argument("The address of a run, with a token."),
    token: str | None = options.TOKEN,
) -> None:
    """Watch a run until it ends: leader, evidence, senses, sensors. A lost connection is made again.

    Exit code 0 where a channel is named, 3 where the run ends undecided.
    """
    from bestchannel.service.link import Address, events

    address = Address.parse(url, token)
    if address.run is None:
        raise InputError("the address must be that of a run, as http://127.0.0.1:8484/runs/NAME?token=…")
    last: dict[str, Any] = {}
    with terminal.standing(sentence, _rows, at_once=True) as show:
        for last in events(address, threading.Event(), terminal.note):
            show(last)
            if last["state"] in ENDED:
                break
    terminal.answer(last, sentence(last), certified=last["state"] == "decided")


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


def _rows(status: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield from ((word, str(status[word])) for word in ("run", "state", "leader", "challenger") if status[word])
    if status["evidence_bits"] is not None:
        yield "evidence", f"{status['evidence_bits']:.1f} of {status['threshold_bits']:.1f} bits"
    yield "left", f"{len(status['candidates'])} of {several(len(status['channels']), 'channel')}"
    yield "senses", f"{status['senses']:,}"
    if status["request"] is not None:
        yield f"request {status['request']}", f"{status['answered']:,} of {several(status['asked'], 'sense')}"
    yield from ((sensor["name"], several(sensor["senses"], "sense")) for sensor in status["sensors"])
