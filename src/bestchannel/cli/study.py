"""`bestchannel study SPEC.toml`: policies compared over thousands of simulated runs."""

from __future__ import annotations

from dataclasses import asdict
from itertools import groupby
from pathlib import Path

import typer

from bestchannel.cli import options, terminal, verbs
from bestchannel.disk import make_folder
from bestchannel.promises import several
from bestchannel.study.journal import opened
from bestchannel.study.monte_carlo import Study
from bestchannel.study.pools import WorkerLostError
from bestchannel.study.runner import conduct, find_times
from bestchannel.study.spec import read_spec
from bestchannel.study.statistics import ConditionSummary, summaries, write_tables

HEADS = ("policy", "δ", "runs", "wrong", "error ≤", "undecided", "senses", "q95", "÷ bound")


@verbs.verb("Example: bestchannel study studies/small.toml -o results --workers 2")
def study(
    spec: Path = options.argument("What to run, as TOML; see studies/."),
    workers: int | None = options.option(None, "Processes.", min=1, show_default="one for each core"),
    cluster: str | None = options.option(None, "A Dask scheduler, such as tcp://10.0.0.1:8786.", metavar="ADDRESS"),
    output: Path | None = options.file(
        None, "A folder for the tables and the journal.", "-o", "--output", show_default="SPEC-results"
    ),
    json: bool = options.JSON,
) -> None:
    """Compare policies over thousands of simulated runs.

    Every run has a seed of its own, so neither the number of processes nor a cluster changes a result.
    What is finished is on disk at once: after an interruption (exit code 4) or a crash, here or of
    the cluster, the same command continues. The folder gets runs.csv, summary.csv, and both as Parquet.
    """
    if cluster is not None:
        _hush_dask()
    read = read_spec(spec)
    folder = output or Path(f"{spec.stem}-results")
    drawn = Study.of(read)
    make_folder(folder)
    with opened(folder / "journal.db", read) as journal:
        try:
            with terminal.progress("lower bounds") as progress:
                find_times(drawn, journal, progress=progress)
            with terminal.progress("runs") as progress:
                conduct(drawn, journal, workers=workers, cluster=cluster, progress=progress)
        except (KeyboardInterrupt, WorkerLostError) as error:
            done = f"{len(journal.runs()):,} of {several(drawn.total, 'run')}"
            lost = isinstance(error, WorkerLostError)
            terminal.note(f"{done} done: {error}" if lost else f"interrupted after {done}; the same command continues")
            raise typer.Exit(terminal.RESUMABLE) from None
        write_tables(folder, drawn, journal)
        conditions = summaries(drawn, journal)
    terminal.note(f"wrote runs.csv and summary.csv into {folder}")
    result = {"study": read.name, "folder": str(folder), "cells": [asdict(condition) for condition in conditions]}
    terminal.answer(result, lambda: _show(conditions), json=json)


def _hush_dask() -> None:
    """Leave Dask's own log to those who have configured it: what matters of it is said in one sentence."""
    try:
        from dask import config
    except ImportError:
        return  # which is said where it is missed
    if config.get("logging", None) is None:
        config.set({"logging": {"distributed": "critical", "distributed.client": "critical"}})


def _show(conditions: list[ConditionSummary]) -> None:
    for instance, group in groupby(conditions, key=lambda condition: condition.instance):
        terminal.say(instance)
        terminal.show_table(HEADS, map(_row, group))


def _row(condition: ConditionSummary) -> tuple[str, ...]:
    ratio = condition.ratio
    return (
        condition.policy,
        f"{condition.delta:g}",
        f"{condition.runs:,}",
        f"{condition.wrong:,}",
        f"{condition.error_upper:.2g}",
        f"{condition.undecided:,}",
        shortened(condition.mean_senses),
        shortened(condition.q95),
        "" if ratio is None else f"{ratio:.2f}" if ratio < 1e6 else shortened(ratio),
    )


def shortened(senses: float) -> str:
    """A count in full as far as a column holds it, else with three digits."""
    return f"{senses:,.0f}" if senses < 1e6 else f"{senses:.2e}"
