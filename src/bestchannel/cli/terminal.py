"""What every verb shares: exit codes, one-sentence errors, notes and progress on stderr, JSON on stdout."""

from __future__ import annotations

import functools
import json
import shlex
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from bestchannel.errors import BestChannelError
from bestchannel.runs import NotWrittenError

REFUSED, NOT_CERTIFIED, RESUMABLE, INTERRUPTED = 1, 3, 4, 130

P = ParamSpec("P")
R = TypeVar("R")


def verb(command: Callable[P, R]) -> Callable[P, R]:
    """The command, with refused input as one sentence on stderr and the exit codes of the design."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except BestChannelError as error:
            note(f"error: {error}")
            raise typer.Exit(REFUSED) from None
        except KeyboardInterrupt:
            note("interrupted")
            raise typer.Exit(INTERRUPTED) from None

    return run


@contextmanager
def resumable(run: Path | None) -> Iterator[None]:
    """Let an interruption (Ctrl-C, SIGTERM) or a full disk end in exit code 4, once there is a run to go on with."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

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
    """One line on stderr."""
    print(text, file=sys.stderr)


def print_json(result: Any) -> None:
    """The result, alone on stdout; infinite numbers have no JSON and must be None by now."""
    print(json.dumps(result, allow_nan=False, ensure_ascii=False))


def console() -> Console:
    """Where tables go: stdout, as wide as the terminal, 80 columns where there is none."""
    out = Console(highlight=False)
    return out if out.is_terminal else Console(highlight=False, width=80)


class Watcher:
    """A progress callback that keeps one line on a terminal up to date, and elsewhere prints one now and then."""

    def __init__(self, line: Callable[[Any], str]) -> None:
        self.line = line
        self.err = Console(stderr=True, highlight=False)
        self.last = time.monotonic()

    def __call__(self, status: Any) -> None:
        """Show the status."""
        now = time.monotonic()
        if self.err.is_terminal:
            self.err.print(f"\r{self.line(status)}", end="\x1b[K", markup=False)
        elif now - self.last > 5.0:
            self.last = now
            note(self.line(status))

    def close(self) -> None:
        """End the line."""
        if self.err.is_terminal:
            self.err.print()


@contextmanager
def progress(label: str, *, after: float = 0.5) -> Iterator[Callable[[int, int], None]]:
    """A callback (done, total) that shows a bar on a terminal and plain lines elsewhere, once work lasts."""
    err = Console(stderr=True)
    columns = (TextColumn(label), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    started = last = time.monotonic()
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task(label, visible=False)

        def show(done: int, total: int) -> None:
            nonlocal last
            now = time.monotonic()
            if err.is_terminal:
                bar.update(task, completed=done, total=total, visible=now - started > after)
            elif now - last > 5.0:
                last = now
                note(f"{label}: {done} of {total}")

        yield show
