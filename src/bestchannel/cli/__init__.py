"""The command line: one module a verb, the result alone on stdout, everything else on stderr."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer

from bestchannel.cli import bound, capacity, estimate, identify, plan, report, reproduce, run, study, terminal, verify


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


bound.register(app)
capacity.register(app)
estimate.register(app)
identify.register(app)
plan.register(app)
report.register(app)
reproduce.register(app)
run.register(app)
study.register(app)
verify.register(app)


def main() -> None:
    """Run the command line."""
    terminal.write_what_can_be_written()
    app()
