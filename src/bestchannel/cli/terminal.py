"""What every verb says and shows: the result on stdout, as a table or JSON; notes and progress on stderr."""

from __future__ import annotations

import json
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ParamSpec, TextIO, TypeVar

import typer

from bestchannel.display import on_one_line, text_table
from bestchannel.promises import several

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

REFUSED, NOT_CERTIFIED, RESUMABLE, INTERRUPTED = 1, 3, 4, 130  # the exit codes of the design
MOST_ROWS = 40  # a longer table shows half as many rows
FOLDING = ("channel", "x", "policy", "from", "by input")
"""Columns to the left, whose content is folded on a narrow terminal."""

MOST_WARNINGS = 6  # warnings that are shown; JSON has all
PLAIN_S = 5.0  # seconds between two lines of progress without a terminal
BAR_S = 1.0  # seconds of work after which a terminal shows a bar
ROWS_S = 0.1  # seconds between two pictures of how things stand on a terminal
P = ParamSpec("P")
S = TypeVar("S")


def note(text: str) -> None:
    """One line on stderr, whatever names it holds."""
    print(on_one_line(text), file=sys.stderr)


def say(*lines: str) -> None:
    """Lines on stdout, whatever names they hold."""
    for line in lines:
        print(on_one_line(line))


def note_warnings(warnings: Sequence[str]) -> None:
    """Warnings on stderr."""
    for text in fewer_warnings(warnings):
        note(text)


def fewer_warnings(warnings: Sequence[str]) -> list[str]:
    """The first few warnings, how many more there are, and the last, which says what they mean."""
    several, meaning = warnings[:-1], warnings[-1:]
    rest = [f"{len(several) - MOST_WARNINGS} more of this kind"] if len(several) > MOST_WARNINGS else []
    return [f"warning: {text}" for text in (*several[:MOST_WARNINGS], *rest, *meaning)]


wants_json = ContextVar("wants_json", default=False)
"""Whether the verb that runs was given --json; what sets it is what makes a function a verb."""


def answer(
    result: Mapping[str, Any] | Callable[[], Mapping[str, Any]],
    shown: str | Callable[[], None],
    *,
    certified: bool = True,
) -> None:
    """The result, or what makes it, alone on stdout: as JSON or as people read it; exit code 3 if not certified."""
    if wants_json.get():
        print_json(result() if callable(result) else result)
    elif isinstance(shown, str):
        say(shown)
    else:
        shown()
    if not certified:
        raise typer.Exit(NOT_CERTIFIED)


def print_json(result: Any) -> None:
    """The result as JSON: arrays are lists, dataclasses and structs objects, and what is infinite or NaN is null."""
    from msgspec.json import decode, encode  # deferred: --help does without

    plain = decode(encode(result, enc_hook=lambda array: array.tolist()))
    is_utf8 = sys.stdout.encoding.lower().replace("-", "") == "utf8"
    print(json.dumps(plain, ensure_ascii=not is_utf8))


def flush() -> None:
    """Have what was written out of this process now."""
    try:
        sys.stdout.flush()
    except OSError:  # let go of what is left: Python would try again when it ends, and complain
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


def few(items: Sequence[S], key: Callable[[S], Any]) -> Sequence[S]:
    """The items; where a table of them would be too long, those that come first by the key."""
    return items if len(items) <= MOST_ROWS else sorted(items, key=key)[: MOST_ROWS // 2]


def note_few(shown: int, n_channels: int, what: str = "best") -> None:
    """Say of a table of few channels of many that it is that."""
    if shown < n_channels:
        note(f"the {shown} {what} of {several(n_channels, 'channel')}; --json has them all")


def size(channel: Any) -> str:
    """The numbers of inputs and outputs of a channel."""
    return f"{channel.n_inputs}×{channel.n_outputs}"


def show_table(
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    bold: str | None = None,
    folding: Collection[str] = FOLDING,
) -> None:
    """A table on stdout, never cut off, with the first cell `bold`; numbers to the right.

    Names fold on a narrow terminal, and are whole in a pipe, as for `grep`.
    """
    if not (_is_terminal(sys.stdout) or os.environ.get("COLUMNS", "").isdecimal()):
        print(text_table(heads, rows, left=(*folding, "")))
        return
    from rich.console import Console  # deferred, as all of rich: pipes do without
    from rich.measure import Measurement
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for head in heads:
        if head in folding:
            table.add_column(head, overflow="fold")
        else:
            table.add_column(head, justify="right" if head else "left", no_wrap=True)
    for first, *others in rows:
        table.add_row(literal(first, bold=first == bold), *map(literal, others))
    endless = Console(highlight=False, width=10**6)
    needed = Measurement.get(endless, endless.options, table).minimum
    Console(highlight=False, width=max(Console().width, needed)).print(table)


def literal(text: str, *, bold: bool = False) -> Text:
    """A text as rich shows it: neither markup nor the control characters in it are obeyed."""
    from rich.text import Text

    return Text(on_one_line(text), style="bold" if bold else "")


def _is_terminal(stream: TextIO | None) -> bool:
    """Whether a stream may be a terminal; rich says of what is forced to be one whether it is."""
    return bool({"FORCE_COLOR", "TTY_COMPATIBLE"} & os.environ.keys()) or (stream is not None and stream.isatty())


def live_console() -> Console | None:
    """Where something can be shown that moves: standard error, if it is a terminal."""
    if not _is_terminal(sys.stderr):
        return None
    from rich.console import Console

    console = Console(stderr=True, highlight=False)
    return console if console.is_terminal else None


@contextmanager
def standing(
    sentence: Callable[[S], str], rows: Callable[[S], Iterable[tuple[str, RenderableType]]], *, at_once: bool = False
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
        for word, content in rows(state):
            table.add_row(literal(word), literal(content) if isinstance(content, str) else content)
        return table

    with Live(console=console, auto_refresh=False, transient=True) as display:
        yield now_and_then(ROWS_S, lambda state: display.update(grid(state), refresh=True), at_once=True)


def bar(done: float, total: float, unit: str) -> RenderableType:
    """How much of the total there is, as a bar and in numbers."""
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    row = Table.grid(padding=(0, 2))
    row.add_row(ProgressBar(total=total, completed=max(done, 0.0), width=30), f"{done:.1f} of {total:.1f} {unit}")
    return row


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
    console, started = live_console(), time.monotonic()
    if console is None:
        before: int | None = None
        line = now_and_then(PLAIN_S, lambda done, total, left: note(f"{label}: {done:,} of {total:,}{left()}"))

        def show(done: int, total: int) -> None:
            nonlocal started, before
            if before is None:
                started, before = time.monotonic(), done
            begun = done - before
            line(done, total, lambda: _left(time.monotonic() - started, begun, total - done))

        yield show
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn(label), BarColumn(), TextColumn("{task.fields[count]}"), TimeElapsedColumn())
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


def _left(seconds: float, done: int, to_do: int) -> str:
    """How long it will take at the pace of so many done in so many seconds."""
    if not done or not to_do:
        return ""
    minutes, rest = divmod(round(seconds * to_do / done), 60)
    return f", {minutes // 60} h {minutes % 60:02} min left" if minutes >= 60 else f", {minutes} min {rest:02} s left"
