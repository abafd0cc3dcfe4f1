"""What makes a function a verb: its options and help, refusals in one sentence, exit codes, signals."""

from __future__ import annotations

import functools
import inspect
import io
import os
import re
import shlex
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from bestchannel.cli.terminal import INTERRUPTED, REFUSED, RESUMABLE, flush, note
from bestchannel.errors import BestChannelError


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


def verb(example: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """What makes a function a verb, whose help ends with the example.

    Refused input is one sentence on stderr, and exit codes are those of the design. In place of an argument whose class
    has `from_options`, the verb takes the options of that function.
    """

    def made(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True).parameters.values()
        makers = {p.name: p.annotation.from_options for p in own if hasattr(p.annotation, "from_options")}
        options = {name: inspect.signature(make, eval_str=True).parameters for name, make in makers.items()}

        @functools.wraps(command)
        def run(**arguments: Any) -> None:
            try:
                with _refusals(typer.Exit):
                    for name, make in makers.items():
                        arguments[name] = make(**{key: arguments.pop(key) for key in options[name]})
                    command(**arguments)
            except KeyboardInterrupt:
                note("interrupted")
                raise typer.Exit(INTERRUPTED) from None

        listed = [option for p in own for option in (options[p.name].values() if p.name in options else [p])]
        parameters = [p.replace(kind=p.KEYWORD_ONLY) for p in listed]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        run.example = example  # type: ignore[attr-defined]
        return run

    return made


def program(*commands: Callable[..., None], **more: Any) -> typer.Typer:
    """A program whose verbs are these functions, each under its own name."""
    verbs = typer.Typer(rich_markup_mode="rich", add_completion=False, **more)
    for command in commands:
        verbs.command(command.__name__, cls=Verb, epilog=command.example)(command)  # type: ignore[attr-defined]
    return verbs


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


@contextmanager
def _refusals(end: type[BaseException]) -> Iterator[None]:
    """Let what is refused, also by the machine, end in a sentence and exit code 1, with the result out by then."""
    try:
        try:
            yield
        finally:  # so that a full disk is noticed while it can be said
            flush()
    except BrokenPipeError:
        raise  # the reader has seen enough, as `head` does: no error to speak of
    except (BestChannelError, MemoryError, OSError) as error:
        sentence = str(error)
        if isinstance(error, MemoryError):
            sentence = f"this requires more memory than there is ({error}); fewer or smaller channels require less"
        elif not isinstance(error, BestChannelError):
            sentence = f"reading or writing failed ({error})"
        note(f"error: {sentence}")
        raise end(REFUSED) from None


@contextmanager
def output() -> Iterator[None]:
    """Let what cannot be written end in a sentence and exit code 1, wherever no verb says so, as in --help.

    What a terminal without Unicode lacks is shown as ?.
    """
    for stream in ("stdout", "stderr"):
        if getattr(sys, stream) is None:  # as it is where the shell closed it
            os.open(os.devnull, os.O_RDWR)  # or else the next file that is opened had the number of the stream
    sys.stdout = sys.stdout or _ClosedOutput()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    try:
        with _refusals(SystemExit):
            yield
    except BrokenPipeError:
        raise SystemExit(REFUSED) from None


class _ClosedOutput(io.TextIOBase):
    """Standard output that was closed before the program began."""

    encoding = "utf-8"

    def write(self, text: str) -> int:
        """Refuse what was to be shown."""
        raise OSError("standard output is closed, and the result was to be written to it")
