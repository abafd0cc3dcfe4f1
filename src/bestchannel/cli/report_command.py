"""`bestchannel report RUN.db|RESULT.json`: an identification as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from bestchannel import runs
from bestchannel.cli import options, terminal
from bestchannel.counts.disk import errors_naming, read_bytes, write_bytes
from bestchannel.counts.json_text import json_of
from bestchannel.errors import InputError
from bestchannel.policies import Identification
from bestchannel.report.provenance import Origin, origin_of, warnings_in
from bestchannel.runs.results import read_result

SQLITE = b"SQLite format 3\0"
"""What every file of a run begins with."""


@terminal.verb
def report(
    source: Annotated[Path, typer.Argument(help="A run (RUN.db), or what identify --json printed.", **options.FILE)],
    output: Annotated[Path, typer.Option("--output", "-o", help="The HTML file to write.", readable=False)] = Path(
        "report.html"
    ),
    json: options.Json = False,
) -> None:
    """Draw an identification as one HTML file that opens without a network.

    The verdict and its guarantee, capacities with intervals, how candidates fell, evidence against
    threshold, where the senses went, the channels, the lower bound, and how to reproduce it. A run
    that has not ended is drawn as it stands.
    """
    from bestchannel.report.page import page  # deferred: the other verbs need not wait for it

    if output.exists() and source.exists() and output.samefile(source):
        raise InputError(f"{output}: the report would replace the file that it is drawn from; choose another -o")
    result, origin = _read(source)
    with errors_naming(source):
        data = page(result, origin=origin).encode()
    with errors_naming(output):
        write_bytes(output, data)
    if json:
        terminal.print_json(_as_json(result, output, len(data)))
    else:
        terminal.say(str(output))


def _as_json(result: Identification, output: Path, size: int) -> dict[str, Any]:
    best = None if result.best is None else str(result.best)
    return {"report": str(output), "bytes": size, "best": best, "decided": result.decided, "senses": result.senses}


def _read(path: Path) -> tuple[Identification, Origin]:
    """The identification in the file, and what the file knows of where it comes from."""
    with errors_naming(path):
        is_run = read_bytes(path).startswith(SQLITE)
    if not is_run:
        return read_result(path), [("drawn from", path.name), *warnings_in(json_of(read_bytes(path)).get("checks"))]
    run = runs.view(path)
    return run.outcome(), origin_of(run, path)
