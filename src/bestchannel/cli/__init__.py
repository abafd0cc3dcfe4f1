"""The command line: a verb's module is loaded when the verb is typed, the result alone goes to stdout."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any, NamedTuple

import typer

from bestchannel.cli import terminal
from bestchannel.release import VERSION


class Known(NamedTuple):
    """What is known of a verb before it is loaded."""

    place: str
    """Its module and its function there, or its verbs."""
    summary: str
    """The first line of its help."""
    example: str
    """The last line of its help."""


VERBS = {
    "bound": Known(
        "bound_command:bound",
        "Show how many senses every policy needs on average to name the best of known channels.",
        "Example: bestchannel bound links.json --delta 0.01 --json",
    ),
    "capacity": Known(
        "capacity_command:capacity",
        "Show the capacity of known channels, in bits per use, between two proved bounds.",
        "Example: bestchannel capacity links.json --tol 1e-12 --json",
    ),
    "estimate": Known(
        "estimate_command:estimate",
        "Estimate capacities from counts of what was sent and received, with proved intervals, and judge which is"
        " largest.",
        "Example: bestchannel estimate counts.csv --delta 0.01 --json",
    ),
    "explain": Known(
        "explain_command:explain",
        "Say what is promised and what it rests on, in a few lines; with --full, prove it.",
        "Example: bestchannel explain adaptive",
    ),
    "identify": Known(
        "identify_command:identify_verb",
        "Name the channel of largest capacity, sensing one input of one channel at a time.",
        "Examples: bestchannel identify --simulate links.json --delta 0.01 --seed 7 --run links.db;"
        " bestchannel identify --replay trials.csv --outputs 0,1",
    ),
    "plan": Known(
        "plan_command:plan",
        "Show how many senses each policy would need if the channels were as in the file.",
        "Example: bestchannel plan guessed.json --delta 0.01",
    ),
    "report": Known(
        "report_command:report",
        "Draw an identification, or counts, as one HTML file that opens without a network.",
        "Example: bestchannel report RESULT.json -o report.html",
    ),
    "reproduce": Known(
        "reproduce_command:reproduce",
        "Reproduce a figure of the paper: the senses that its algorithms use.",
        "Example: bestchannel reproduce fig1 --variant stated -o figures",
    ),
    "sense": Known(
        "sense_command:sense",
        "Let a program sense for a service, until the run has ended; at the address of the whole service, for ever.",
        "Example: bestchannel sense 'http://127.0.0.1:8484/runs/lab?token=…' --channel q3 -- ./read-out q3",
    ),
    "serve": Known(
        "serve_command:serve",
        "Serve a folder of runs: sensors answer requests over the network, people watch the verdict form.",
        "Example: bestchannel serve runs/ --port 8484",
    ),
    "study": Known(
        "study_command:study",
        "Compare policies over thousands of simulated runs.",
        "Example: bestchannel study studies/small.toml -o results --workers 2",
    ),
    "verify": Known(
        "verify_command:verify_verb",
        "Check again that a record proves what it claims.",
        "Example: bestchannel identify --simulate links.json --json > result.json; bestchannel verify result.json",
    ),
    "watch": Known(
        "watch_command:watch",
        "Watch a run until it ends: leader, evidence, senses, sensors. A lost line is found again.",
        "Example: bestchannel watch 'http://127.0.0.1:8484/runs/lab?token=…'",
    ),
    "run": Known(
        "run_command:verbs",
        "Keep an identification in a file: ask, sense, tell, in any number of sittings.",
        "Example: bestchannel run new lab.db --alphabets channels.json --delta 0.05; bestchannel run ask lab.db",
    ),
}


class Program(terminal.Verbs):
    """All verbs; the one that was typed is loaded, the others are known by their line in the help."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The name of the verb that was typed, its command, and the words after it."""
        name, known, rest = super().resolve_command(ctx, args)
        return name, known and loaded(name or ""), rest


def loaded(name: str) -> Any:
    """The command of a verb, or of several under one name."""
    place, summary, example = VERBS[name]
    module, _, attribute = place.partition(":")
    verb = getattr(import_module(f"bestchannel.cli.{module}"), attribute)
    if isinstance(verb, typer.Typer):
        verb.info.help, verb.info.epilog = summary, example
        return typer.main.get_command(verb)
    alone = typer.Typer(rich_markup_mode="rich", add_completion=False)
    alone.command(name, cls=terminal.Verb, epilog=example)(verb)
    return typer.main.get_command(alone)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"bestchannel {VERSION}")
        raise typer.Exit


app = typer.Typer(
    name="bestchannel",
    cls=Program,
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


for _name, _known in VERBS.items():
    app.command(_name, help=_known.summary)(lambda: None)


def main() -> None:
    """Run the command line, as the program that this process is."""
    with terminal.interruptions(), terminal.output():
        terminal.write_what_can_be_written()
        app()
