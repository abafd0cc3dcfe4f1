"""`bestchannel study` and `reproduce`: policies compared over thousands of simulated runs, and the paper's figures."""

from __future__ import annotations

import json as json_format
from contextlib import suppress
from dataclasses import asdict
from enum import StrEnum
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

import typer

from bestchannel.cli import options, terminal, verb
from bestchannel.disk import errors_naming, make_folder, write_bytes
from bestchannel.paper import fig1_rows, fig2_rows, stated_fig1, stated_fig2
from bestchannel.promises import several
from bestchannel.report.figures import figure_1, figure_2, picture, require_matplotlib
from bestchannel.study.journal import opened
from bestchannel.study.monte_carlo import Study
from bestchannel.study.pools import WorkerLostError
from bestchannel.study.runner import conduct, find_times
from bestchannel.study.spec import read_spec
from bestchannel.study.statistics import ConditionSummary, Rows, as_csv, summaries, write_tables

PICTURES: tuple[Literal["png", "svg"], ...] = ("png", "svg")
HEADINGS = {"gap": "gap, nats", "epsilon": "ε, nats", "delta": "δ", "confidence": "1-δ"}
HEADS = ("policy", "δ", "runs", "wrong", "error ≤", "undecided", "senses", "q95", "÷ bound")


@verb("Example: bestchannel study studies/small.toml -o results --workers 2")
def study(
    spec: Path = options.argument("What to run, as TOML; see studies/."),
    workers: int | None = options.option(None, "Processes.", min=1, show_default="one for each core"),
    cluster: str | None = options.option(None, "A Dask scheduler, such as tcp://10.0.0.1:8786.", metavar="ADDRESS"),
    output: Path | None = options.file(
        None, "A folder for the tables and the journal.", "-o", "--output", show_default="SPEC-results"
    ),
) -> None:
    """Compare policies over thousands of simulated runs.

    Every run has a seed of its own, so neither the number of processes nor a cluster changes a result.
    What is finished is on disk at once: after an interruption (exit code 4) or a crash, here or of
    the cluster, the same command continues. The folder gets runs.csv, summary.csv, and both as Parquet.
    """
    with suppress(ImportError):  # of Dask, which is said where it is missed
        if cluster is not None:
            from dask import config

            if config.get("logging", None) is None:  # what matters of its log is said in one sentence
                config.set({"logging": {"distributed": "critical", "distributed.client": "critical"}})
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
    terminal.answer(result, lambda: _show_conditions(conditions))


def _show_conditions(conditions: list[ConditionSummary]) -> None:
    def shortened(senses: float) -> str:
        """A count in full as far as a column holds it, else with three digits."""
        return f"{senses:,.0f}" if senses < 1e6 else f"{senses:.2e}"

    def row(condition: ConditionSummary) -> tuple[str, ...]:
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

    for instance, group in groupby(conditions, key=lambda condition: condition.instance):
        terminal.say(instance)
        terminal.show_table(HEADS, map(row, group))


class Figure(StrEnum):
    """The figures that can be reproduced."""

    FIG1 = "fig1"
    FIG2 = "fig2"


class Variant(StrEnum):
    """From the formulas behind the printed digits, or by running the algorithms of the text."""

    PUBLISHED = "published"
    STATED = "stated"


# what tells the curves of a figure apart, what runs along them, and which points the summary shows
SUMMARY: dict[Figure, tuple[tuple[str, ...], str, tuple[float, ...]]] = {
    Figure.FIG1: (("k", "gap"), "confidence", (0.5, 0.9, 0.99)),
    Figure.FIG2: (("algorithm", "epsilon", "delta"), "k", (4, 64, 1024)),
}


@verb("Example: bestchannel reproduce fig1 --variant stated -o figures")
def reproduce(
    figure: Figure = options.argument("Which figure of the paper."),
    variant: Variant = options.option(
        Variant.PUBLISHED, "published: the printed digits. stated: the algorithms of the text, run.", show_default=True
    ),
    seed: int = options.option(1, "Seed of the simulated channels and senses (stated).", min=0),
    seeds: int = options.option(3, "How many random sets of channels for each point (stated).", min=1),
    output: Path | None = options.file(None, "A folder for the CSV, JSON, PNG and SVG files.", "-o", "--output"),
) -> None:
    """Reproduce a figure of the paper: the senses that its algorithms use.

    The published variant gives the paper's digits from the formulas that generate them. The
    stated one simulates channels and runs the algorithms as the text describes them; the two
    differ, and docs/reproduction.md says why. Gaps and accuracies are in nats, as in the paper.
    """
    if output:
        require_matplotlib()
    result: dict[str, Any] = {"figure": figure.value, "variant": variant.value, "unit": "nats"}
    with terminal.progress(f"points of {figure}") as progress:
        if variant == Variant.PUBLISHED:
            result["rows"] = fig1_rows() if figure == Figure.FIG1 else fig2_rows()
        else:
            run = stated_fig1 if figure == Figure.FIG1 else stated_fig2
            result |= {"seed": seed, "seeds": seeds, "rows": run(seed, seeds=seeds, progress=progress)}
    if output:
        with terminal.progress("drawing"):
            _write(output, figure, variant, result)
    terminal.answer(result, lambda: _show_figure(figure, result["rows"]))


def _write(folder: Path, figure: Figure, variant: Variant, result: dict[str, Any]) -> None:
    rows, published = result["rows"], variant == Variant.PUBLISHED
    files = {"csv": as_csv(rows), "json": (json_format.dumps(result, indent=1) + "\n").encode()}
    draw = partial(figure_2, rows, break_even=published)
    if figure == Figure.FIG1:
        draw = partial(figure_1, rows, spread=[] if published else rows)
    files |= {kind: picture(draw(), kind) for kind in PICTURES}
    make_folder(folder)
    for ending, data in files.items():
        path = folder / f"{figure}-{variant}.{ending}"
        with errors_naming(path):
            write_bytes(path, data)
    terminal.note(f"wrote {folder / f'{figure}-{variant}'} as {', '.join(files)}")


def _show_figure(figure: Figure, rows: Rows) -> None:
    """One line per curve, its senses at three of its points."""
    names, axis, shown = SUMMARY[figure]
    curves: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        if row[axis] in shown:
            curves.setdefault(tuple(str(row[name]) for name in names), []).append(f"{row['senses']:,}")
    left = [HEADINGS.get(name, name) for name in names]
    heads = [*left, *(f"{HEADINGS.get(axis, axis)} = {value:g}" for value in shown)]
    terminal.show_table(heads, [(*curve, *senses) for curve, senses in curves.items()], folding=left)
    if "wrong" in rows[0]:
        wrong, runs = sum(row["wrong"] for row in rows), sum(row["runs"] for row in rows)
        terminal.say(f"{wrong} of {several(runs, 'run')} named a wrong channel; senses are medians over runs")
