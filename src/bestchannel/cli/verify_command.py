"""`bestchannel verify RESULT.json|RUN.db|REPORT.html`: check a finished identification again, with code of its own."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from bestchannel.cli import options, terminal
from bestchannel.cli.record_files import record_of
from bestchannel.disk import errors_naming, read_bytes, regular
from bestchannel.json_text import json_of
from bestchannel.verification import CheckedRecord, verify
from bestchannel.verification.verify import TRUSTED


@terminal.verb
def verify_verb(
    result: Annotated[Path, typer.Argument(help="What identify --json printed, a run, or a report.", **options.FILE)],
    json: options.Json = False,
) -> None:
    """Check again that a record proves what it claims.

    Its evidence is found from its counts and stakes by code that shares nothing with the policies. Then the policy is
    told the answers once more: what it asks and stakes must be what the record has. Exit code 3 where the record does
    not hold, with one sentence that says what fails and where, and where another revision of the policy chose the bets,
    so that they are taken on trust. An undecided record claims how near to the best a channel is, or nothing.
    """
    with regular(result) as file, terminal.progress("checking the record"):
        found = record_of(file)
        with errors_naming(result), terminal.progress("steps checked") as progress:
            verdict = verify(json_of(read_bytes(file)) if found is None else found[0], progress=progress)
    if json:
        terminal.print_json(asdict(verdict))
    else:
        terminal.say(_in_words(verdict))
    if not verdict.valid:
        raise typer.Exit(terminal.NOT_CERTIFIED)


def _in_words(verdict: CheckedRecord) -> str:
    if verdict.choices == TRUSTED:
        return f"on trust: {verdict.claim}; {verdict.failure}"
    return f"valid: {verdict.claim}" if verdict.valid else f"not valid: {verdict.failure}"
