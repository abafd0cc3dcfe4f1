"""The command line: a verb's module is loaded when the verb is typed, the result alone goes to stdout."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer

from bestchannel.cli import verbs
from bestchannel.process import VERSION

VERBS = {  # the first line of the help of every verb, which is a function in the module of its name
    "bound": "Show how many senses every policy needs on average to name the best of known channels.",
    "capacity": "Show the capacity of known channels, in bits per use, between two proved bounds.",
    "estimate": "Estimate capacities from counts of what was sent and received, with proved intervals, and judge"
    " which is largest.",
    "explain": "Say what is promised and what it rests on, in a few lines; with --full, prove it.",
    "identify": "Name the channel of largest capacity, sensing one input of one channel at a time.",
    "plan": "Show how many senses each policy would need if the channels were as in the file.",
    "report": "Draw an identification, or counts, as one HTML file that opens without a network.",
    "reproduce": "Reproduce a figure of the paper: the senses that its algorithms use.",
    "sense": "Let a program sense for a service, until the run has ended; at the address of the whole service,"
    " for ever.",
    "serve": "Serve a folder of runs: sensors answer requests over the network, people watch the verdict form.",
    "study": "Compare policies over thousands of simulated runs.",
    "verify": "Check again that a record proves what it claims.",
    "watch": "Watch a run until it ends: leader, evidence, senses, sensors. A lost connection is made again.",
    "run": "Keep an identification in a file: ask, sense, tell, in any number of sittings.",
}

MODULES = {"known_channels": "bound capacity plan", "records": "report verify", "studies": "reproduce study"}
MODULES |= {"network": "sense serve watch"}  # the verbs in modules of another name


class Program(verbs.Verbs):
    """All verbs; the one that was typed is loaded, the others are known by their line in the help."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The name of the verb that was typed, its command, and the words after it."""
        name, known, rest = super().resolve_command(ctx, args)
        return name, known and loaded(name or ""), rest


def loaded(name: str) -> Any:
    """The command of a verb; that of `run` has verbs of its own."""
    place = next((module for module, names in MODULES.items() if name in names.split()), name)
    module = import_module(f"bestchannel.cli.{place}")
    if name == "run":
        return typer.main.get_command(module.run_verbs)
    return typer.main.get_command(verbs.program(getattr(module, name)))


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"bestchannel {VERSION}")
        raise typer.Exit


app = typer.Typer(
    name="bestchannel",
    cls=Program,
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


for _name, _summary in VERBS.items():
    app.command(_name, help=_summary)(lambda: None)


def main() -> None:
    """Run the command line, as the program that this process is."""
    with verbs.interruptions(), verbs.output():
        app()
