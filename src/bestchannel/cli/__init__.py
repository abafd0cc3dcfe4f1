"""The command line: one module per verb, the result alone on stdout, everything else on stderr."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer

from bestchannel.cli import (
    bound_command,
    capacity_command,
    estimate_command,
    explain_command,
    identify_command,
    plan_command,
    report_command,
    reproduce_command,
    run_command,
    study_command,
    terminal,
    verify_command,
    warm_up_command,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"bestchannel {version('bestchannel')}")
        raise typer.Exit


app = typer.Typer(
    name="bestchannel",
    help="Find the channel with the largest Shannon capacity, and prove it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Every verb takes --json. Exit codes: 0 done; 1 refused input; 2 usage; 3 not certified, not valid or"
    " undecided; 4 interrupted and resumable; 130 interrupted.",
)


@app.callback()
def _bestchannel(
    show_version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    """Find the channel with the largest Shannon capacity, and prove it."""


bound_command.register(app)
capacity_command.register(app)
estimate_command.register(app)
explain_command.register(app)
identify_command.register(app)
plan_command.register(app)
report_command.register(app)
reproduce_command.register(app)
run_command.register(app)
study_command.register(app)
verify_command.register(app)
warm_up_command.register(app)


def main() -> None:
    """Run the command line."""
    terminal.write_what_can_be_written()
    app()
