"""The command line: one module per verb, the result alone on stdout, everything else on stderr."""

from __future__ import annotations

from collections.abc import Callable
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
    sense_command,
    serve_command,
    study_command,
    terminal,
    verify_command,
    watch_command,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"bestchannel {version('bestchannel')}")
        raise typer.Exit


app = typer.Typer(
    name="bestchannel",
    cls=terminal.Verbs,
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


VERBS: dict[str, tuple[Callable[..., None], str]] = {
    "bound": (bound_command.bound, "Example: bestchannel bound links.json --delta 0.01 --json"),
    "capacity": (capacity_command.capacity, "Example: bestchannel capacity links.json --tol 1e-12 --json"),
    "estimate": (estimate_command.estimate, "Example: bestchannel estimate counts.csv --delta 0.01 --json"),
    "explain": (explain_command.explain, "Example: bestchannel explain adaptive"),
    "identify": (
        identify_command.identify_verb,
        "Examples: bestchannel identify --simulate links.json --delta 0.01 --seed 7 --run links.db;"
        " bestchannel identify --replay trials.csv --outputs 0,1",
    ),
    "plan": (plan_command.plan, "Example: bestchannel plan guessed.json --delta 0.01"),
    "report": (report_command.report, "Example: bestchannel report RESULT.json -o report.html"),
    "reproduce": (reproduce_command.reproduce, "Example: bestchannel reproduce fig1 --variant stated -o figures"),
    "sense": (
        sense_command.sense,
        "Example: bestchannel sense 'http://127.0.0.1:8484/runs/lab?token=…' --channel q3 -- ./read-out q3",
    ),
    "serve": (serve_command.serve, "Example: bestchannel serve runs/ --port 8484"),
    "study": (study_command.study, "Example: bestchannel study studies/small.toml -o results --workers 2"),
    "verify": (
        verify_command.verify_verb,
        "Example: bestchannel identify --simulate links.json --json > result.json; bestchannel verify result.json",
    ),
    "watch": (watch_command.watch, "Example: bestchannel watch 'http://127.0.0.1:8484/runs/lab?token=…'"),
}
"""The command of every verb, and what its help ends with."""

for name, (command, epilog) in VERBS.items():
    app.command(name=name, cls=terminal.Verb, epilog=epilog)(command)
app.add_typer(run_command.verbs, name="run")


def main() -> None:
    """Run the command line, as the program that this process is."""
    with terminal.interruptions(), terminal.output():
        terminal.write_what_can_be_written()
        app()
