"""`bestchannel run new|ask|tell|amend|status|resume`: an identification that lasts, in one file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table

from bestchannel import runs
from bestchannel.cli import live, options, terminal
from bestchannel.cli.identify_command import carry_on, checks_of, finish, say_what_is_missing
from bestchannel.errors import InputError
from bestchannel.policies import Identification, Request
from bestchannel.promises import amount, several
from bestchannel.runs.laboratory_files import (
    AnswerSheet,
    answered_inputs,
    blank_sheet,
    read_alphabets,
    read_sheet,
    request_rows,
)
from bestchannel.runs.results import as_document

MOST_NAMED = 12

RunFile = Annotated[Path, typer.Argument(metavar="RUN.db", help="The file of the run.", **options.FILE)]

AnswerFile = Annotated[
    Path, typer.Argument(metavar="FILE", help="Rows channel,x,y,count (.csv, .json, .parquet).", **options.FILE)
]
Number = Annotated[
    int | None, typer.Option("--request", help="The request that the file answers, unless the file says it.")
]

verbs = typer.Typer(cls=terminal.Verbs, no_args_is_help=True, rich_markup_mode="rich", add_completion=False)


@verbs.command(cls=terminal.Verb, epilog="Example: bestchannel run new lab.db --alphabets channels.json --delta 0.01")
@terminal.verb
@options.with_groups
def new(
    run: RunFile,
    alphabets: Annotated[Path, typer.Option(help="Names and letters of the channels (.json, .csv).", **options.FILE)],
    *,
    policy: options.ChosenPolicy,
    max_senses: options.MaxSenses = None,
    largest_request: Annotated[int | None, typer.Option(help="Ask for at most this many senses at once.")] = None,
    title: Annotated[str, typer.Option(help="What the report calls the run.", show_default=False)] = "",
    note: Annotated[str, typer.Option(help="What the report says about the run.", show_default=False)] = "",
    json: options.Json = False,
) -> None:
    """Begin a run that people answer, and show its first request.

    The file of alphabets is JSON, {"channels": {"link": {"inputs": ["0", "1"], "outputs": ["0", "1", "lost"]}}} or
    {"channels": {"link": [2, 3]}}, or CSV with lines channel,n_inputs,n_outputs.
    """
    parties = read_alphabets(alphabets)
    chosen = policy.made_for(parties)
    wishes = {"largest_request": largest_request, "title": title, "note": note}
    with runs.begin(run, chosen, parties, max_senses=max_senses, **wishes) as begun:  # type: ignore[arg-type]
        terminal.note(f"{run} is begun")
        _show_request(begun, json)


@verbs.command(cls=terminal.Verb, epilog="Example: bestchannel run ask lab.db --json > request.json")
@terminal.verb
def ask(
    run: RunFile,
    csv: Annotated[bool, typer.Option("--csv", help="Print a sheet to fill in, for `run tell`.")] = False,
    json: options.Json = False,
) -> None:
    """Show what to sense next: how often which input of which channel.

    Asking changes nothing and may be repeated. Exit code 3 where the run has ended undecided or has
    reached its limit of senses.
    """
    if csv and json:
        raise InputError("one of --csv and --json is required, not both")
    with terminal.progress("reading the run"):
        viewed = runs.view(run)
    _show_request(viewed, json, csv)


@verbs.command(cls=terminal.Verb, epilog="Example: bestchannel run tell lab.db answer.csv --request 1")
@terminal.verb
def tell(
    run: RunFile,
    answer: AnswerFile,
    request: Number = None,
    piece: Annotated[
        str | None, typer.Option(help="Add the file under this name, even if inputs lack some of their senses.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Answer a request with counts; once the command ends, they are on disk.

    Outputs that never came may be left out, and so may whole inputs: what is told is kept until the rest comes. Telling
    the same again is harmless; telling something else is refused.
    """
    sheet = read_sheet(answer)
    with _opened(run) as opened:
        number = _answered(sheet, request, opened)
        asked = opened.request(number)
        rows = answered_inputs(sheet, asked, opened.settings.parties, whole=piece is None)
        with terminal.progress("choosing the next senses"):
            told = _told(opened, asked, rows, piece)
        again = ", which it had been told before" if told.repeated else ""
        part = "" if told.complete else "a part of "
        terminal.note(f"{run} has {part}the answer to request {number}{again}")
        _show_status(opened, json)


@verbs.command(cls=terminal.Verb, epilog="Example: bestchannel run amend lab.db corrected.csv --request 1")
@terminal.verb
def amend(run: RunFile, answer: AnswerFile, request: Number = None, json: options.Json = False) -> None:
    """Correct what was told: the file has the true counts of the inputs that were written wrongly.

    The log keeps what was told before. Requests that followed upon that answer are void, and the policy asks anew from
    there. To amend is for what was written wrongly; to drop what was counted rightly breaks the guarantee.
    """
    sheet = read_sheet(answer)
    with _opened(run) as opened:
        number = _answered(sheet, request, opened)
        before = len(opened.history.answers)
        if number not in opened.history.requests:
            raise InputError(f"request {number} was never asked, so nothing of it can be amended")
        rows = answered_inputs(sheet, opened.history.requests[number], opened.settings.parties)
        with terminal.progress("choosing the next senses"):
            opened.amend(number, rows)
        void = max(before - number, 0)
        follows = f"; {several(void, 'later answer')} no longer {'counts' if void == 1 else 'count'}" if void else ""
        terminal.note(f"{run} has request {number} amended{follows}")
        _show_status(opened, json)


@verbs.command(cls=terminal.Verb, epilog="Example: bestchannel run status lab.db")
@terminal.verb
def status(run: RunFile, json: options.Json = False) -> None:
    """Show where a run stands, without disturbing whoever writes to it."""
    with terminal.progress("reading the run"):
        viewed = runs.view(run)
    _show_status(viewed, json)


@verbs.command(cls=terminal.Verb, epilog="Example: bestchannel run resume simulated.db --max-senses 1000000")
@terminal.verb
def resume(
    run: RunFile,
    max_senses: options.MaxSenses = None,
    no_checks: options.NoChecks = False,
    json: options.Json = False,
) -> None:
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
            checks = None if no_checks else checks_of(durable.sensor)
            result = carry_on(durable, policy, max_senses)
        say_what_is_missing(durable.sensor, policy)
        finish(result, json, checks)


@contextmanager
def _opened(run: Path) -> Iterator[runs.LaboratoryRun]:
    """The run, to be written to; reading it may take a while."""
    with ExitStack() as until_then:
        with terminal.progress("reading the run"):
            opened = until_then.enter_context(runs.open_run(run))
        yield opened


def _of_laboratory(run: Path, max_senses: int | None) -> Identification:
    if max_senses is None:
        return runs.read_run(run)
    with runs.open_run(run) as opened:
        opened.limit(max_senses)
        return opened.outcome()


def _answered(sheet: AnswerSheet, named: int | None, run: runs.Run) -> int:
    """The number of the request that a file answers: as the file says, or as the command does."""
    if sheet.request is not None and named not in (None, sheet.request):
        raise InputError(f"{sheet.path}: the file answers request {sheet.request}; request {named} was named")
    number = named if sheet.request is None else sheet.request
    if number is None:
        request = run.ask()
        is_open = f"request {request.number} is open" if request else f"the run is {run.state}"
        raise InputError(f"{sheet.path}: the file does not say which request it answers; {is_open}; give --request")
    return number


def _told(
    run: runs.LaboratoryRun, asked: Request, rows: dict[tuple[int, int], tuple[int, ...]], piece: str | None
) -> runs.Told:
    """Tell a part of an answer, or all of it."""
    number = asked.number
    if piece is not None:
        named = [runs.AnswerPiece(f"{piece}: channel {c}, input {x}", c, x, counts) for (c, x), counts in rows.items()]
        return run.tell_pieces(number, named)
    if sum(map(sum, rows.values())) < asked.total:
        return run.tell_inputs(number, rows)
    tables = {c: np.zeros(run.settings.parties[c].alphabet, dtype=np.int64) for c in asked.senses}
    for (c, x), counts in rows.items():
        tables[c][x] = counts
    return run.tell(number, tables)


def _show_request(run: runs.Run, json: bool, csv: bool = False) -> None:
    request, missing = run.ask(), run.missing()
    rows = request_rows(missing, run.settings.parties)
    if json:
        terminal.print_json({"request": None if request is None else request.number, "senses": rows})
    elif request is not None and csv:
        print(blank_sheet(request.number, missing, run.settings.parties), end="")
    elif request is not None:
        terminal.say(f"request {request.number}: {several(request.total, 'sense')}{_told_already(request, missing)}")
        table = Table(box=None, pad_edge=False)
        for heading in ("channel", "x"):
            table.add_column(heading, overflow="fold")
        table.add_column("count", justify="right", no_wrap=True)
        for row in rows:
            table.add_row(terminal.name(row["channel"]), terminal.name(row["x"]), f"{row['count']:,}")
        terminal.show_table(table)
    if request is None:
        _end(run)


def _told_already(request: Request, missing: Mapping[int, tuple[int, ...]]) -> str:
    left = sum(map(sum, missing.values()))
    return f", of which {left:,} are missing" if left < request.total else ""


def _show_status(run: runs.Run, json: bool) -> None:
    with terminal.progress("estimating capacities"):
        result, request = run.outcome(), run.ask()
        record = as_document(result)
    if json:
        terminal.print_json(
            {
                "state": run.state,
                "request": None if request is None else request.number,
                "senses": run.history.senses,
                **{key: record[key] for key in ("best", "candidates", "nearly_best", "cost", "channels", "policy")},
                "max_senses": run.history.max_senses,
                "missing": request_rows(run.missing(), run.settings.parties),
                "title": run.settings.title,
            }
        )
        return
    if run.settings.title:
        terminal.say(run.settings.title)
    answered = len(run.history.answers)
    paid = "" if result.cost is None else f", which cost {amount(result.cost)},"
    terminal.say(
        f"{run.state} after {several(run.history.senses, 'sense')}{paid} in {several(answered, 'request')}"
        f" of {result.policy}"
    )
    if result.audit.steps:
        terminal.say(live.sentence(result.audit.steps[-1].status, run.settings.parties))
    if not result.decided:
        terminal.say(f"channels left: {_few([str(key) for key in result.candidates])}")
        if result.proved_so_far:
            terminal.say(result.proved_so_far)
    if request is not None:
        requires = f"request {request.number} requires {several(request.total, 'sense')}"
        terminal.say(f"{requires}{_told_already(request, run.missing())}")
    if result.decided:
        terminal.say(f"best: {result.best}")
    if result.audit.steps:
        _show_channels(result, record["channels"])


def _show_channels(result: Identification, documents: Sequence[Mapping[str, Any]]) -> None:
    """Who is left and who is out, and every capacity between its proved ends."""
    table = Table(box=None, pad_edge=False)
    for heading, justify in (("channel", "left"), ("", "left"), ("senses", "right"), ("capacity, bits", "right")):
        table.add_column(heading, overflow="fold", justify=justify)  # type: ignore[arg-type]
    left = {str(key) for key in result.candidates}
    for channel in documents[:MOST_NAMED]:
        ends = "" if channel["lower"] is None else f"{channel['lower']:.4f} to {channel['upper']:.4f}"
        role = "" if channel["name"] in left else "ruled out"
        table.add_row(terminal.name(channel["name"]), role, f"{channel['senses']:,}", ends)
    terminal.show_table(table)
    if len(documents) > MOST_NAMED:
        terminal.say(f"and {several(len(documents) - MOST_NAMED, 'other')}, which --json has")


def _few(names: Sequence[str]) -> str:
    """The first names, and how many others there are."""
    others = f" and {several(len(names) - MOST_NAMED, 'other')}" if len(names) > MOST_NAMED else ""
    return f"{', '.join(names[:MOST_NAMED])}{others}"


def _end(run: runs.Run) -> None:
    """Say why there is nothing to ask."""
    result = run.outcome()
    if result.decided:
        terminal.note(f"nothing more to sense: the best is {result.best}")
        return
    limit = f"; its limit is {run.history.max_senses:,} (`run resume --max-senses` raises it)"
    terminal.note(
        f"the run is {run.state} after {several(result.senses, 'sense')}{limit if run.state == runs.LIMITED else ''}"
    )
    raise typer.Exit(terminal.NOT_CERTIFIED)
