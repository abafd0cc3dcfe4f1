"""What every verb shares: exit codes, one-sentence errors, notes and progress on stderr, JSON on stdout."""

from __future__ import annotations

import functools
import io
import json
import math
import os
import re
import shlex
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

from bestchannel.display import on_one_line
from bestchannel.errors import BestChannelError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table
    from rich.text import Text

REFUSED, NOT_CERTIFIED, RESUMABLE, INTERRUPTED = 1, 3, 4, 130

MOST_WARNINGS = 6
"""Warnings that are shown; JSON has all."""

PLAIN_S = 5.0
"""Seconds between two lines of progress without a terminal."""

BAR_S = 1.0
"""Seconds of work after which a terminal shows a bar."""

ROWS_S = 0.1
"""Seconds between two pictures of how things stand on a terminal."""

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")


class _Readable:
    """A command whose help shows an option without a value as a flag, and each paragraph as one."""

    help: str | None

    def get_params(self, ctx: Any) -> Any:
        """The options and arguments, with nothing after a flag."""
        parameters = super().get_params(ctx)  # type: ignore[misc]
        for parameter in parameters:
            if getattr(parameter, "is_flag", False):
                parameter.metavar = ""
        return parameters

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, its paragraphs as wide as the terminal."""
        self.help = re.sub(r"(?<!\n)\n(?!\n)", " ", self.help or "")
        super().format_help(ctx, formatter)  # type: ignore[misc]


class Verb(_Readable, TyperCommand):
    """A verb of the command line."""


class Verbs(_Readable, TyperGroup):
    """Verbs under one name."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C or SIGTERM.

    Once a KeyboardInterrupt itself has passed through code that was made from text, as that of dataclasses is,
    `python -m` ends by SIGINT whatever exit code was chosen [CPython, run_eval_code_obj]. A class of its own does not
    count there.
    """


def interrupt(number: int, _: object) -> None:
    """Handle a signal: raise `Interrupted`."""
    raise Interrupted(number)


@contextmanager
def interruptions() -> Iterator[None]:
    """Let Ctrl-C end in exit code 130 wherever no verb handles it, and come to nothing once the program is done.

    Where it is ignored, as in what a shell starts in the background, it stays so.
    """
    heeded = signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
    try:
        if heeded:
            signal.signal(signal.SIGINT, interrupt)
        yield
    except KeyboardInterrupt:
        note("interrupted")
        raise SystemExit(INTERRUPTED) from None
    finally:
        if heeded:  # what is left is Python's own end, in which an interruption would replace the exit code
            signal.signal(signal.SIGINT, signal.SIG_IGN)


def verb(command: Callable[P, R]) -> Callable[P, R]:
    """The command, with refused input as one sentence on stderr and the exit codes of the design."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            with _flushed():
                return command(*args, **kwargs)
        except BrokenPipeError:
            raise  # the reader has seen enough, as `head` does: no error to speak of
        except (BestChannelError, MemoryError, OSError) as error:
            note(f"error: {_sentence(error)}")
            raise typer.Exit(REFUSED) from None
        except KeyboardInterrupt:
            note("interrupted")
            raise typer.Exit(INTERRUPTED) from None

    return run


def _sentence(error: Exception) -> str:
    if isinstance(error, BestChannelError):
        return str(error)
    if isinstance(error, MemoryError):
        return f"this requires more memory than there is ({error}); fewer or smaller channels require less"
    return f"reading or writing failed ({error})"


@contextmanager
def output() -> Iterator[None]:
    """Let what cannot be written end in a sentence and exit code 1, wherever no verb says so, as in --help."""
    for stream in ("stdout", "stderr"):
        if getattr(sys, stream) is None:  # as it is where the shell closed it
            os.open(os.devnull, os.O_RDWR)  # or else the next file that is opened had the number of the stream
    sys.stdout = sys.stdout or _ClosedOutput()
    try:
        with _flushed():
            yield
    except BrokenPipeError:
        raise SystemExit(REFUSED) from None
    except OSError as error:
        note(f"error: {_sentence(error)}")
        raise SystemExit(REFUSED) from None


class _ClosedOutput(io.TextIOBase):
    """Standard output that was closed before the program began."""

    encoding = "utf-8"

    def write(self, text: str) -> int:
        """Refuse what was to be shown."""
        raise OSError("standard output is closed, and the result was to be written to it")


@contextmanager
def _flushed() -> Iterator[None]:
    """Have the result out of this process at the end, so that a full disk is noticed while it can be said."""
    try:
        yield
    finally:
        flush()


def flush() -> None:
    """Have what was written out of this process now."""
    try:
        sys.stdout.flush()
    except OSError:  # let go of what is left: Python would try again when it ends, and complain
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


@contextmanager
def resumable(run: Path | None) -> Iterator[None]:
    """Let an interruption (Ctrl-C, SIGTERM) or a full disk end in exit code 4, once there is a run to go on with."""
    from bestchannel.runs import NotWrittenError  # deferred: most verbs have no run

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    except (KeyboardInterrupt, NotWrittenError) as error:
        if run is None or not run.exists() or run.stat().st_size == 0:
            raise
        why = str(error) if isinstance(error, NotWrittenError) else "interrupted"
        note(f"{why}; to go on: bestchannel run resume {shlex.quote(str(run))}")
        raise typer.Exit(RESUMABLE) from None
    finally:
        signal.signal(signal.SIGTERM, before)


def note(text: str) -> None:
    """One line on stderr, whatever names it holds."""
    print(on_one_line(text), file=sys.stderr)


def note_warnings(warnings: Sequence[str]) -> None:
    """Warnings on stderr."""
    for text in fewer_warnings(warnings):
        note(text)


def fewer_warnings(warnings: Sequence[str]) -> list[str]:
    """The first few warnings, how many more there are, and the last, which says what they mean."""
    several, meaning = warnings[:-1], warnings[-1:]
    rest = [f"{len(several) - MOST_WARNINGS} more of this kind"] if len(several) > MOST_WARNINGS else []
    return [f"warning: {text}" for text in (*several[:MOST_WARNINGS], *rest, *meaning)]


def say(text: str) -> None:
    """One line on stdout, whatever names it holds."""
    print(on_one_line(text))


def name(text: str, *, bold: bool = False) -> Text:
    """A name as a table shows it: neither markup nor the control characters in it are obeyed."""
    from rich.text import Text  # deferred, as everything of rich: --json does without

    return Text(on_one_line(text), style="bold" if bold else "")


def print_json(result: Any) -> None:
    """The result, alone on stdout; infinite numbers have no JSON and must be None by now."""
    is_utf8 = sys.stdout.encoding.lower().replace("-", "") == "utf8"
    print(json.dumps(result, allow_nan=False, ensure_ascii=not is_utf8))


def write_what_can_be_written() -> None:
    """Let a terminal without Unicode show ? for what it lacks."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def show_table(table: Table) -> None:
    """A table on stdout, never cut off; names fold on a narrow terminal, and are whole in a pipe, as for `grep`."""
    from rich.console import Console
    from rich.measure import Measurement

    out = Console(highlight=False)
    endless = Console(highlight=False, width=10**6)
    if not (out.is_terminal or os.environ.get("COLUMNS", "").isdecimal()):
        endless.print(table)
        return
    needed = Measurement.get(endless, endless.options, table).minimum
    Console(highlight=False, width=max(out.width, needed)).print(table)


def live_console() -> Console | None:
    """Where something can be shown that moves: standard error, if it is a terminal."""
    forced = {"FORCE_COLOR", "TTY_COMPATIBLE"} & os.environ.keys()
    if not forced and (sys.stderr is None or not sys.stderr.isatty()):
        return None
    from rich.console import Console

    console = Console(stderr=True, highlight=False)
    return console if console.is_terminal else None


@contextmanager
def current(
    sentence: Callable[[S], str],
    rows: Callable[[S], Iterable[tuple[RenderableType, RenderableType]]],
    *,
    at_once: bool = False,
) -> Iterator[Callable[[S], None]]:
    """A callback that shows on stderr how things stand: rows on a terminal, else a sentence now and then."""
    console = live_console()
    if console is None:
        yield now_and_then(PLAIN_S, lambda state: note(sentence(state)), at_once=at_once)
        return
    from rich.live import Live
    from rich.table import Table

    def grid(state: S) -> Table:
        table = Table.grid(padding=(0, 2))
        for row in rows(state):
            table.add_row(*row)
        return table

    with Live(console=console, auto_refresh=False, transient=True) as display:
        yield now_and_then(ROWS_S, lambda state: display.update(grid(state), refresh=True), at_once=True)


def now_and_then(seconds: float, show: Callable[P, None], *, at_once: bool = False) -> Callable[P, None]:
    """`show`, called at most once in so many seconds; the first time at once, or after as many."""
    last = -math.inf if at_once else time.monotonic()

    def watch(*args: P.args, **kwargs: P.kwargs) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= seconds:
            last = now
            show(*args, **kwargs)

    return watch


@contextmanager
def progress(label: str, *, after: float = BAR_S) -> Iterator[Callable[[int, int], None]]:
    """A callback (done, total) that shows a bar on a terminal and plain lines elsewhere, once work lasts.

    Until it is called, and when all is done but the work goes on, the bar shows that, and for how long.
    """
    console = live_console()
    if console is None:
        yield _plain_progress(label)
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn(label), BarColumn(), TextColumn("{task.fields[count]}"), TimeElapsedColumn())
    started = time.monotonic()
    with Progress(*columns, console=console, transient=True, redirect_stdout=False) as bar:
        task = bar.add_task(label, total=None, visible=False, count="")
        shown = threading.Timer(after, bar.update, [task], {"visible": True})
        shown.daemon = True
        shown.start()
        try:
            yield lambda done, total: bar.update(
                task,
                completed=done,
                total=total if done < total else None,
                count=f"{done:,} of {total:,}{_left(time.monotonic() - started, done, total - done)}",
            )
        finally:
            shown.cancel()


def _plain_progress(label: str) -> Callable[[int, int], None]:
    begin: tuple[float, int] | None = None
    line = now_and_then(PLAIN_S, lambda done, total, left: note(f"{label}: {done:,} of {total:,}{left()}"))

    def show(done: int, total: int) -> None:
        nonlocal begin
        started, before = begin = begin or (time.monotonic(), done)
        line(done, total, lambda: _left(time.monotonic() - started, done - before, total - done))

    return show


def _left(seconds: float, done: int, to_do: int) -> str:
    """How long it will take at the pace of so many done in so many seconds."""
    if not done or not to_do:
        return ""
    minutes, rest = divmod(round(seconds * to_do / done), 60)
    return f", {minutes // 60} h {minutes % 60:02} min left" if minutes >= 60 else f", {minutes} min {rest:02} s left"
