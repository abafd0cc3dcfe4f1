"""`bestchannel run new|ask|tell|status|resume`: an identification that lasts, in one file."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from bestchannel import runs
from bestchannel.cli import live, options, terminal
from bestchannel.cli.identify_command import carry_on, finish, say_what_is_missing
from bestchannel.policies import Identification
from bestchannel.runs.alphabets import read_alphabets
from bestchannel.runs.answers import read_answer, request_rows

RunFile = Annotated[Path, typer.Argument(metavar="RUN.db", help="The file of the run.", **options.FILE)]

verbs = typer.Typer(
    help="Keep an identification in a file: ask, sense, tell, in any number of sittings.",
    no_args_is_help=True,
    epilog="Example: bestchannel run new lab.db --alphabets channels.json --delta 0.05; bestchannel run ask lab.db",
)


@verbs.command(epilog="Example: bestchannel run new lab.db --alphabets channels.json --delta 0.01")
@terminal.verb
@options.with_policy
def new(
    run: RunFile,
    alphabets: Annotated[Path, typer.Option(help="Names and letters of the channels (.json, .csv).", **options.FILE)],
    *,
    policy: options.ChosenPolicy,
    max_senses: options.MaxSenses = None,
    json: options.Json = False,
) -> None:
    """Begin a run that people answer, and show its first request.

    The file of alphabets is JSON, {"channels": {"link": {"inputs": ["0", "1"], "outputs": ["0", "1", "lost"]}}} or
    {"channels": {"link": [2, 3]}}, or CSV with lines channel,n_inputs,n_outputs.
    """
    parties = read_alphabets(alphabets)
    chosen = policy.made_for([labels.alphabet for labels in parties])
    with runs.begin(run, chosen, parties, max_senses=max_senses) as begun:
        terminal.note(f"{run} is begun")
        _show_request(begun, json)


@verbs.command(epilog="Example: bestchannel run ask lab.db --json > request.json")
@terminal.verb
def ask(run: RunFile, json: options.Json = False) -> None:
    """Show what to sense next: how often which input of which channel.

    Asking changes nothing and may be repeated. Exit code 3 where the run has ended undecided or has
    reached its limit of senses.
    """
    _show_request(runs.view(run), json)


@verbs.command(epilog="Example: bestchannel run tell lab.db answer.csv --request 1")
@terminal.verb
def tell(
    run: RunFile,
    answer: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="Rows channel,x,y,count (.csv, .json, .parquet).", **options.FILE),
    ],
    request: Annotated[int, typer.Option(help="The request that the file answers.", show_default=False)],
    json: options.Json = False,
) -> None:
    """Answer a request with counts; once the command ends, they are on disk.

    Rows without a count may be left out. Telling the same again is harmless; telling something else is refused.
    """
    with runs.open_run(run) as opened:
        told = opened.tell(request, read_answer(answer, opened.request(request), opened.settings.parties))
        again = ", which it had been told before" if told.repeated else ""
        terminal.note(f"{run} has the answer to request {request}{again}")
        _show_status(opened, json)


@verbs.command(epilog="Example: bestchannel run status lab.db")
@terminal.verb
def status(run: RunFile, json: options.Json = False) -> None:
    """Show where a run stands, without disturbing whoever writes to it."""
    _show_status(runs.view(run), json)


@verbs.command(epilog="Example: bestchannel run resume simulated.db --max-senses 1000000")
@terminal.verb
def resume(run: RunFile, max_senses: options.MaxSenses = None, json: options.Json = False) -> None:
    """Go on with a simulated or replayed run; of a laboratory's, show what it has come to.

    The verdict is the one that the run would have reached without a pause. --max-senses replaces its limit.
    Exit code 3 while undecided, 4 where it was interrupted again.
    """
    with terminal.resumable(run):
        if not runs.answers_itself(run):
            finish(_of_laboratory(run, max_senses), json)
            return
        with ExitStack() as until_then:
            with terminal.progress("bytes of the recording") as progress:
                durable, policy = until_then.enter_context(runs.reopened(run, reading=progress))
            result = carry_on(durable, policy, max_senses)
        say_what_is_missing(durable.sensor, policy)
        finish(result, json)


def _of_laboratory(run: Path, max_senses: int | None) -> Identification:
    if max_senses is None:
        return runs.read_run(run)
    with runs.open_run(run) as opened:
        opened.limit(max_senses)
        return opened.outcome()


def _show_request(run: runs.Run, json: bool) -> None:
    request = run.ask()
    rows = [] if request is None else request_rows(request, run.settings.parties)
    if json:
        terminal.print_json({"request": None if request is None else request.number, "senses": rows})
    elif request is not None:
        terminal.say(f"request {request.number}: {request.total:,} senses")
        table = Table(box=None, pad_edge=False)
        for heading in ("channel", "x"):
            table.add_column(heading, overflow="fold")
        table.add_column("count", justify="right", no_wrap=True)
        for row in rows:
            table.add_row(terminal.name(row["channel"]), terminal.name(row["x"]), f"{row['count']:,}")
        terminal.console().print(table)
    if request is None:
        _end(run)


def _show_status(run: runs.Run, json: bool) -> None:
    result, request = run.outcome(), run.ask()
    if json:
        terminal.print_json(
            {
                "state": run.state,
                "request": None if request is None else request.number,
                "senses": result.senses,
                "best": None if result.best is None else str(result.best),
                "candidates": [str(key) for key in result.candidates],
                "policy": result.policy,
                "max_senses": run.history.max_senses,
            }
        )
        return
    terminal.say(f"{run.state} after {result.senses:,} senses in {len(result.audit.steps)} requests of {result.policy}")
    if result.audit.steps:
        terminal.say(live.sentence(result.audit.steps[-1].status, run.settings.parties))
    if request is not None:
        terminal.say(f"request {request.number} requires {request.total:,} senses")
    if result.decided:
        terminal.say(f"best: {result.best}")


def _end(run: runs.Run) -> None:
    """Say why there is nothing to ask."""
    result = run.outcome()
    if result.decided:
        terminal.note(f"nothing more to sense: the best is {result.best}")
        return
    limit = f"; its limit is {run.history.max_senses:,} (`run resume --max-senses` raises it)"
    terminal.note(f"the run is {run.state} after {result.senses:,} senses{limit if run.state == runs.LIMITED else ''}")
    raise typer.Exit(terminal.NOT_CERTIFIED)
