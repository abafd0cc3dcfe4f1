"""`bestchannel verify RESULT.json`: check a finished identification again, with code of its own."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import Annotated, Any

import typer

from bestchannel.cli import options, terminal
from bestchannel.errors import InputError
from bestchannel.files.disk import decoded, errors_naming, read_bytes
from bestchannel.verification import verify


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command(
        name="verify",
        epilog="Example: bestchannel identify --simulate links.json --json > result.json;"
        " bestchannel verify result.json",
    )(verify_verb)


@terminal.verb
def verify_verb(
    result: Annotated[Path, typer.Argument(help="What identify --json printed.", show_default=False)],
    json: options.Json = False,
) -> None:
    """Check again that a record proves what it claims, from its counts and stakes alone.

    The code shares nothing with the policies. Exit code 3 where the record
    does not hold, with one sentence that says what fails and where; an
    undecided record that adds up is valid and claims nothing.
    """
    with errors_naming(result):
        verdict = verify(_document(result))
    if json:
        terminal.print_json(
            {
                "valid": verdict.valid,
                "checks": list(verdict.checks),
                "failure": verdict.failure,
                "claim": verdict.claim,
            }
        )
    else:
        print(f"valid: {verdict.claim}" if verdict.valid else f"not valid: {verdict.failure}")
    if not verdict.valid:
        raise typer.Exit(terminal.NOT_CERTIFIED)


def _document(path: Path) -> Any:
    try:
        return json_format.loads(decoded(read_bytes(path)))
    except (json_format.JSONDecodeError, RecursionError) as error:
        raise InputError(f"the file must be JSON; it is not ({error})") from None
