"""`bestchannel verify RESULT.json`: check a finished identification again, with code of its own."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from bestchannel.cli import options, terminal
from bestchannel.counts.disk import errors_naming, read_bytes
from bestchannel.counts.json_format import json_of
from bestchannel.verification import verify


@terminal.verb
def verify_verb(
    result: Annotated[Path, typer.Argument(help="What identify --json printed.", **options.FILE)],
    json: options.Json = False,
) -> None:
    """Check again that a record proves what it claims, from its counts and stakes alone.

    The code shares nothing with the policies. Exit code 3 where the record
    does not hold, with one sentence that says what fails and where; an
    undecided record that adds up is valid and claims nothing.
    """
    with errors_naming(result):
        verdict = verify(json_of(read_bytes(result)))
    if json:
        terminal.print_json(asdict(verdict))
    else:
        terminal.say(f"valid: {verdict.claim}" if verdict.valid else f"not valid: {verdict.failure}")
    if not verdict.valid:
        raise typer.Exit(terminal.NOT_CERTIFIED)
