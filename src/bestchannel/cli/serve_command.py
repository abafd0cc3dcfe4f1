"""`bestchannel serve RUNS/`: a folder of runs for sensors on a network, and pages for people."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bestchannel.cli import options, terminal
from bestchannel.errors import MissingExtraError


@terminal.verb
def serve(
    runs: Annotated[
        Path, typer.Argument(metavar="RUNS/", help="The folder of the runs; made if missing.", **options.FILE)
    ],
    host: Annotated[str, typer.Option(help="Where to listen; other machines reach 0.0.0.0.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port; 0 takes a free one.", min=0, max=65535)] = 8484,
    token: Annotated[
        str | None,
        typer.Option(help="The owner's token; random otherwise.", envvar="BESTCHANNEL_TOKEN", show_default=False),
    ] = None,
    allow_host: Annotated[
        list[str] | None, typer.Option(help="Another name by which the service is called, as behind a proxy.")
    ] = None,
    trust_proxy: Annotated[
        list[str] | None, typer.Option(help="The address of a proxy whose X-Forwarded headers are believed.")
    ] = None,
    token_days: Annotated[float, typer.Option(help="Days for which tokens that the owner makes are valid.")] = 30.0,
    certificate: Annotated[Path | None, typer.Option(help="A certificate for TLS (.pem).", **options.FILE)] = None,
    key: Annotated[Path | None, typer.Option(help="Its private key (.pem).", **options.FILE)] = None,
    lease: Annotated[float, typer.Option(help="Seconds after which a silent sensor's work goes to another.")] = 30.0,
    log_level: Annotated[str, typer.Option(help="debug, info, warning or error; lines of JSON on stderr.")] = "info",
    json: options.Json = False,
) -> None:
    """Serve a folder of runs: sensors answer requests over the network, people watch the verdict form.

    Prints the address with the owner's token. Ends with SIGTERM or Ctrl-C; every acknowledged piece is on disk, and the
    next start goes on. Without --token, each start makes another token, and sensors require the new one.
    """
    try:
        from bestchannel.service.access import Tokens
        from bestchannel.service.monitoring import log_to_stderr
        from bestchannel.service.server import Place, Service
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"serving ({error.name})", "service") from None

    log_to_stderr(log_level)
    tokens = Tokens(token, token_days)
    place = Place(host, port, tuple(allow_host or ()), certificate, key, tuple(trust_proxy or ()))
    service = Service(runs, place, tokens, lease_s=lease)

    def announce() -> None:
        url = f"{service.address}/?token={tokens.owner}"
        if json:
            terminal.print_json({"url": url, "address": service.address, "token": tokens.owner})
        else:
            terminal.say(url)
        terminal.flush()
        if not place.is_loopback and certificate is None:
            terminal.note("anybody on the way can read tokens: give --certificate and --key, or use a proxy with TLS")

    service.run(announce)
