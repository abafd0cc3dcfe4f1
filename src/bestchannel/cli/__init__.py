"""The command line: all verbs, each loaded when it is typed; what makes a function a verb, and how the program ends.

Refusals are one sentence, exit codes those of the design, and the result alone goes to stdout.
"""

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
from dataclasses import is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from bestchannel.cli.terminal import INTERRUPTED, REFUSED, RESUMABLE, flush, note, wants_json
from bestchannel.errors import BestChannelError
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

MODULES = {"known_channels": "bound capacity plan", "measured": "estimate report verify", "studies": "reproduce study"}
MODULES |= {"network": "sense serve watch"}  # the verbs in modules of another name


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


_JSON = typer.Option(False, "--json", help="Print the result as JSON.")
JSON = inspect.Parameter("json", inspect.Parameter.KEYWORD_ONLY, default=_JSON, annotation=bool)


def verb(example: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """What makes a function a verb, whose help ends with the example.

    Refused input is one sentence on stderr, and exit codes are those of the design. In place of an argument that is a
    dataclass the verb takes its fields, which are options; and every verb takes --json, which `terminal.answer` heeds.
    """

    def made(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True).parameters.values()
        shared: dict[str, Any] = {p.name: p.annotation for p in own if is_dataclass(p.annotation)}
        options = {name: inspect.signature(kind, eval_str=True).parameters for name, kind in shared.items()}

        @functools.wraps(command)
        def run(*, json: bool, **arguments: Any) -> None:
            wants_json.set(json)
            try:
                with _refusals(typer.Exit):
                    for name, kind in shared.items():
                        arguments[name] = kind(**{key: arguments.pop(key) for key in options[name]})
                    command(**arguments)
            except KeyboardInterrupt:
                note("interrupted")
                raise typer.Exit(INTERRUPTED) from None

        listed = [option for p in own for option in (options[p.name].values() if p.name in options else [p])]
        parameters = [p.replace(kind=p.KEYWORD_ONLY) for p in (*listed, JSON)]
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


class Program(Verbs):
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
    return typer.main.get_command(program(getattr(module, name)))


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
    with interruptions(), output():
        app()
