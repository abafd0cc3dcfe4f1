"""`bestchannel run new|ask|tell|amend|status|resume`: an identification that lasts, in one file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import typer

from bestchannel import runs
from bestchannel.cli import Verbs, options, program, resumable, terminal, verb
from bestchannel.cli.identify import ChosenPolicy, carry_on, checks_of, finish, say_what_is_missing, standing
from bestchannel.cli.options import Asked
from bestchannel.errors import InputError
from bestchannel.policies import Identification, Request
from bestchannel.policies.transcript import FINDINGS, as_document
from bestchannel.promises import MOST_NAMED, amount, listed, several
from bestchannel.runs.history import as_pieces
from bestchannel.runs.laboratory_files import (
    AnswerSheet,
    answered_inputs,
    blank_sheet,
    read_alphabets,
    read_sheet,
    request_rows,
)

RUN = options.argument("The file of the run.", metavar="RUN.db")
ANSWER = options.argument("Rows channel,x,y,count (.csv, .json, .parquet).", metavar="FILE")
REQUEST = options.option(None, "The request that the file answers, unless the file says it.")


@verb("Example: bestchannel run new lab.db --alphabets channels.json --delta 0.01")
def new(
    path: Path = RUN,
    alphabets: Path = options.file(..., "Names and letters of the channels (.json, .csv)."),
    *,
    asked: Asked,
    policy: ChosenPolicy,
    max_senses: int | None = options.MAX_SENSES,
    largest_request: int | None = options.option(None, "Ask for at most this many senses at once."),
    title: str = options.option("", "What the report calls the run."),
    note: str = options.option("", "What the report says about the run."),
) -> None:
    """Begin a run that people answer, and show its first request.

    The file of alphabets is JSON, {"channels": {"link": {"inputs": ["0", "1"], "outputs": ["0", "1", "lost"]}}} or
    {"channels": {"link": [2, 3]}}, or CSV with lines channel,n_inputs,n_outputs.
    """
    channels = read_alphabets(alphabets)
    wishes: dict[str, Any] = {"largest_request": largest_request, "title": title, "note": note}
    with runs.begin(path, policy.made_for(channels, asked), channels, max_senses=max_senses, **wishes) as run:
        terminal.note(f"{path} is begun")
        _show_request(run)


@verb("Example: bestchannel run ask lab.db --json > request.json")
def ask(
    path: Path = RUN,
    csv: bool = options.flag("Print a sheet to fill in, for `run tell`.", "--csv"),
) -> None:
    """Show what to sense next: how often which input of which channel.

    Asking changes nothing and may be repeated. Exit code 3 where the run has ended undecided or has
    reached its limit of senses.
    """
    if csv and terminal.wants_json.get():
        raise InputError("one of --csv and --json is required, not both")
    with terminal.progress("reading the run"):
        run = runs.view(path)
    _show_request(run, csv)


@verb("Example: bestchannel run tell lab.db answer.csv --request 1")
def tell(
    path: Path = RUN,
    answer: Path = ANSWER,
    request: int | None = REQUEST,
    piece: str | None = options.option(None, "Add the file under this name, even if inputs lack some of their senses."),
) -> None:
    """Answer a request with counts; once the command ends, they are on disk.

    Outputs that never came may be left out, and so may whole inputs: what is told is kept until the rest comes. Telling
    the same again is harmless; telling something else is refused.
    """
    with _answering(path, answer, request) as (run, sheet, number):
        asked = run.request(number)
        rows = answered_inputs(sheet, asked, run.settings.labels, whole=piece is None)
        with terminal.progress("choosing the next senses"):
            if piece is not None:
                told = run.tell_pieces(number, as_pieces(rows, f"{piece}: "))
            elif sum(map(sum, rows.values())) < asked.total:
                told = run.tell_inputs(number, rows)
            else:
                tables = {c: np.zeros(run.settings.labels[c].alphabet, dtype=np.int64) for c in asked.senses}
                for (c, x), counts in rows.items():
                    tables[c][x] = counts
                told = run.tell(number, tables)
        again = ", which it had been told before" if told.repeated else ""
        part = "" if told.complete else "a part of "
        terminal.note(f"{path} has {part}the answer to request {number}{again}")
        _show_status(run)


@verb("Example: bestchannel run amend lab.db corrected.csv --request 1")
def amend(path: Path = RUN, answer: Path = ANSWER, request: int | None = REQUEST) -> None:
    """Correct what was told: the file has the true counts of the inputs that were written wrongly.

    The log keeps what was told before. Requests that followed upon that answer are void, and the policy asks anew from
    there. To amend is for what was written wrongly; to drop what was counted rightly breaks the guarantee.
    """
    with _answering(path, answer, request) as (run, sheet, number):
        before = len(run.history.answers)
        if number not in run.history.requests:
            raise InputError(f"request {number} was never asked, so nothing of it can be amended")
        rows = answered_inputs(sheet, run.history.requests[number], run.settings.labels)
        with terminal.progress("choosing the next senses"):
            run.amend(number, rows)
        void = max(before - number, 0)
        follows = f"; {several(void, 'later answer')} no longer {'counts' if void == 1 else 'count'}" if void else ""
        terminal.note(f"{path} has request {number} amended{follows}")
        _show_status(run)


@verb("Example: bestchannel run status lab.db")
def status(path: Path = RUN) -> None:
    """Show where a run stands, without disturbing whoever writes to it."""
    with terminal.progress("reading the run"):
        run = runs.view(path)
    _show_status(run)


@verb("Example: bestchannel run resume simulated.db --max-senses 1000000")
def resume(
    path: Path = RUN,
    max_senses: int | None = options.MAX_SENSES,
    no_checks: bool = options.NO_CHECKS,
) -> None:
    """Go on with a simulated or replayed run; of a laboratory's, show what it has come to.

    The verdict is the one that the run would have reached without a pause. --max-senses replaces its limit.
    Exit code 3 while undecided, 4 where it was interrupted again.
    """
    with resumable(path):
        if not runs.answers_itself(path):
            if max_senses is None:
                result = runs.read_run(path)
            else:
                with runs.open_run(path) as run:
                    run.limit(max_senses)
                    result = run.outcome()
            finish(result)
            return
        with ExitStack() as until_then:
            with terminal.progress("bytes of the recording") as progress:
                durable, policy = until_then.enter_context(runs.reopened(path, reading=progress))
            checks = None if no_checks else checks_of(durable.sensor)
            result = carry_on(durable, policy, max_senses)
        say_what_is_missing(durable.sensor, policy)
        finish(result, checks)


run_verbs = program(
    *(new, ask, tell, amend, status, resume),
    cls=Verbs,
    help="Keep an identification in a file: ask, sense, tell, in any number of sittings.",
    epilog="Example: bestchannel run new lab.db --alphabets channels.json --delta 0.05; bestchannel run ask lab.db",
    no_args_is_help=True,
)


@contextmanager
def _answering(path: Path, answer: Path, named: int | None) -> Iterator[tuple[runs.LaboratoryRun, AnswerSheet, int]]:
    """The run, to be written to, the file and the request that it answers: as the file says, or as the command does."""
    sheet = read_sheet(answer)
    with ExitStack() as until_then:
        with terminal.progress("reading the run"):
            run = until_then.enter_context(runs.open_run(path))
        if sheet.request is not None and named not in (None, sheet.request):
            raise InputError(f"{sheet.path}: the file answers request {sheet.request}; request {named} was named")
        number = named if sheet.request is None else sheet.request
        if number is None:
            unsaid = "the file does not say which request it answers"
            raise InputError(f"{sheet.path}: {unsaid}; {run.standing()}; give --request")
        yield run, sheet, number


def _show_request(run: runs.Run, csv: bool = False) -> None:
    request, missing = run.ask(), run.missing()
    rows = request_rows(missing, run.settings.labels)

    def show() -> None:
        if request is not None and csv:
            print(blank_sheet(request.number, missing, run.settings.labels), end="")
        elif request is not None:
            terminal.say(f"request {request.number}: {_size(request, missing)}")
            cells = [(row["channel"], row["x"], f"{row['count']:,}") for row in rows]
            terminal.show_table(("channel", "x", "count"), cells)

    terminal.answer({"request": None if request is None else request.number, "senses": rows}, show)
    if request is not None:
        return
    result = run.outcome()
    if result.decided:
        terminal.note(f"nothing more to sense; {result.question.answer(result)}")
        return
    limit = f"; its limit is {run.history.max_senses:,} (`run resume --max-senses` raises it)"
    ended = f"the run is {run.state} after {several(result.senses, 'sense')}"
    terminal.note(f"{ended}{limit if run.state == runs.LIMITED else ''}")
    raise typer.Exit(terminal.NOT_CERTIFIED)


def _size(request: Request, missing: Mapping[int, tuple[int, ...]]) -> str:
    left = sum(map(sum, missing.values()))
    return several(request.total, "sense") + (f", of which {left:,} are missing" if left < request.total else "")


def _show_status(run: runs.Run) -> None:
    with terminal.progress("estimating capacities"):
        result, request = run.outcome(), run.ask()
        record = as_document(result)
    document = {
        "state": run.state,
        "request": None if request is None else request.number,
        "senses": run.history.senses,
        **{key: record[key] for key in ("best", "candidates", "nearly_best", "cost", "channels", "policy")},
        **{key: record[key] for key in ("question", *FINDINGS) if key in record},
        "max_senses": run.history.max_senses,
        "missing": request_rows(run.missing(), run.settings.labels),
        "title": run.settings.title,
    }
    terminal.answer(document, lambda: _say_status(run, result, record["channels"]))


def _say_status(run: runs.Run, result: Identification, channels: Sequence[Mapping[str, Any]]) -> None:
    """Where the run stands: who is left and who is out, and every capacity between its proved ends."""
    if run.settings.title:
        terminal.say(run.settings.title)
    paid = "" if result.cost is None else f", which cost {amount(result.cost)},"
    senses, requests = several(run.history.senses, "sense"), several(len(run.history.answers), "request")
    terminal.say(f"{run.state} after {senses}{paid} in {requests} of {result.policy}")
    if result.audit.steps:
        terminal.say(standing(result.audit.steps[-1].status, run.settings.labels))
    if not result.decided:
        terminal.say(f"channels left: {listed(result.candidates)}")
        if result.proved_so_far:
            terminal.say(result.proved_so_far)
    if (request := run.ask()) is not None:
        terminal.say(f"request {request.number} requires {_size(request, run.missing())}")
    if result.decided:
        terminal.say(result.question.answer(result))
    if result.audit.steps:
        left, rows = {str(key) for key in result.candidates}, []
        for channel in channels[:MOST_NAMED]:
            ends = "" if channel["lower"] is None else f"{channel['lower']:.4f} to {channel['upper']:.4f}"
            out = "" if channel["name"] in left or result.findings else "ruled out"
            rows.append((channel["name"], out, f"{channel['senses']:,}", ends))
        terminal.show_table(("channel", "", "senses", "capacity, bits"), rows)
        if len(channels) > MOST_NAMED:
            terminal.say(f"and {several(len(channels) - MOST_NAMED, 'other')}, which --json has")
