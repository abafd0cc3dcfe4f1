"""`bestchannel study SPEC.toml`: policies compared over thousands of simulated runs."""

from __future__ import annotations

import time
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from bestchannel.cli import options, terminal
from bestchannel.errors import InputError
from bestchannel.files.disk import errors_naming
from bestchannel.study.journal import opened
from bestchannel.study.monte_carlo import Study
from bestchannel.study.runner import conduct, find_times
from bestchannel.study.spec import read_spec
from bestchannel.study.summary import Summary, summaries
from bestchannel.study.tables import write_tables


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command(name="study", epilog="Example: bestchannel study studies/small.toml -o results --workers 2")(study)


@terminal.verb
def study(
    spec: Annotated[Path, typer.Argument(help="What to run, as TOML; see studies/.", show_default=False)],
    workers: Annotated[int | None, typer.Option(min=1, help="Processes.", show_default="one a core")] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="A folder for the tables and the journal.", show_default="SPEC-results"),
    ] = None,
    json: options.Json = False,
) -> None:
    """Compare policies over thousands of simulated runs.

    Every run has a seed of its own, so the number of processes changes no result. What is
    finished is on disk at once: after an interruption (exit code 4) or a crash the same
    command continues. The folder gets runs.csv, summary.csv, and both as Parquet.
    """
    read = read_spec(spec)
    folder = output or Path(f"{spec.stem}-results")
    drawn = Study.of(read)
    _make(folder)
    with opened(folder / "journal.db", read) as journal:
        meter = _Meter(drawn.total)
        try:
            with terminal.progress("lower bounds") as progress:
                find_times(drawn, journal, progress=progress)
            conduct(drawn, journal, workers=workers, progress=meter)
        except KeyboardInterrupt:
            terminal.note(f"interrupted after {meter.done:,} of {drawn.total:,} runs; the same command continues")
            raise typer.Exit(terminal.RESUMABLE) from None
        finally:
            meter.close()
        write_tables(folder, drawn, journal)
        cells = summaries(drawn, journal)
    terminal.note(f"wrote runs.csv and summary.csv into {folder}")
    if json:
        terminal.print_json(_as_json(read.name, folder, cells))
    else:
        _show(cells)


class _Meter:
    """Progress with its rate and the time that is left."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.done = self.before = 0
        self.started: float | None = None
        self.watcher = terminal.Watcher(self._line)

    def __call__(self, done: int, total: int) -> None:
        if self.started is None:
            self.started, self.before = time.monotonic(), done
        self.done = done
        self.watcher(done)

    def _line(self, done: int) -> str:
        seconds = time.monotonic() - (self.started or time.monotonic())
        if done == self.before or not seconds > 0.0:
            return f"{done:,} of {self.total:,} runs"
        rate = (done - self.before) / seconds
        return f"{done:,} of {self.total:,} runs, {rate:.3g} a second, {_span((self.total - done) / rate)} left"

    def close(self) -> None:
        """End the line."""
        self.watcher.close()


def _span(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60} h {minutes % 60:02} min" if minutes >= 60 else f"{minutes} min {rest:02} s"


def _make(folder: Path) -> None:
    with errors_naming(folder):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"the folder cannot be made ({error.strerror})") from None


def _as_json(name: str, folder: Path, cells: list[Summary]) -> dict[str, Any]:
    return {"study": name, "folder": str(folder), "cells": [asdict(cell) for cell in cells]}


def _show(cells: list[Summary]) -> None:
    for instance, group in groupby(cells, key=lambda cell: cell.instance):
        terminal.console().print(Text(instance, style="bold"))
        terminal.console().print(_table(list(group)))


def _table(cells: list[Summary]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("policy", overflow="fold", min_width=12)
    for heading in ("δ", "runs", "wrong", "error ≤", "undecided", "senses", "q95", "÷ bound"):
        table.add_column(heading, justify="right", no_wrap=True)
    for cell in cells:
        table.add_row(
            Text(cell.policy),
            f"{cell.delta:g}",
            f"{cell.runs:,}",
            f"{cell.wrong:,}",
            f"{cell.error_upper:.2g}",
            f"{cell.undecided:,}",
            shortened(cell.mean_senses),
            shortened(cell.q95),
            "" if cell.ratio is None else f"{cell.ratio:.2f}",
        )
    return table


def shortened(senses: float) -> str:
    """A count in full as far as a column holds it, else with three digits."""
    return f"{senses:,.0f}" if senses < 1e6 else f"{senses:.2e}"
