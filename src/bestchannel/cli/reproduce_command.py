"""`bestchannel reproduce fig1|fig2`: the paper's two figures, as printed or as its text describes them."""

from __future__ import annotations

import json as json_format
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.table import Table

from bestchannel.cli import options, terminal
from bestchannel.disk import errors_naming, make_folder, write_bytes
from bestchannel.paper.published import fig1_rows, fig2_rows
from bestchannel.paper.stated import stated_fig1, stated_fig2
from bestchannel.promises import several
from bestchannel.report import drawing, paper_figures
from bestchannel.study.table_files import Rows, as_csv

PICTURES: tuple[Literal["png", "svg"], ...] = ("png", "svg")

HEADINGS = {"gap": "gap, nats", "epsilon": "ε, nats", "delta": "δ", "confidence": "1-δ"}


class Figure(StrEnum):
    """The figures that can be reproduced."""

    FIG1 = "fig1"
    FIG2 = "fig2"


class Variant(StrEnum):
    """From the formulas behind the printed digits, or by running the algorithms of the text."""

    PUBLISHED = "published"
    STATED = "stated"


SUMMARY: dict[Figure, tuple[tuple[str, ...], str, tuple[float, ...]]] = {
    Figure.FIG1: (("k", "gap"), "confidence", (0.5, 0.9, 0.99)),
    Figure.FIG2: (("algorithm", "epsilon", "delta"), "k", (4, 64, 1024)),
}
"""What tells the curves of a figure apart, what runs along them, and which points the summary shows."""


@terminal.verb
def reproduce(
    figure: Annotated[Figure, typer.Argument(help="Which figure of the paper.", show_default=False)],
    variant: Annotated[
        Variant, typer.Option(help="published: the printed digits. stated: the algorithms of the text, run.")
    ] = Variant.PUBLISHED,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the simulated channels and senses (stated).")] = 1,
    seeds: Annotated[int, typer.Option(min=1, help="How many random sets of channels for each point (stated).")] = 3,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="A folder for the CSV, JSON, PNG and SVG files.", readable=False),
    ] = None,
    json: options.Json = False,
) -> None:
    """Reproduce a figure of the paper: the senses that its algorithms use.

    The published variant gives the paper's digits from the formulas that generate them. The
    stated one simulates channels and runs the algorithms as the text describes them; the two
    differ, and docs/reproduction.md says why. Gaps and accuracies are in nats, as in the paper.
    """
    if output:
        drawing.require_matplotlib()
    with terminal.progress(f"points of {figure}") as progress:
        if variant == Variant.PUBLISHED:
            rows: Rows = fig1_rows() if figure == Figure.FIG1 else fig2_rows()
        else:
            run = stated_fig1 if figure == Figure.FIG1 else stated_fig2
            rows = run(seed, seeds=seeds, progress=progress)
    result: dict[str, Any] = {"figure": figure.value, "variant": variant.value, "unit": "nats"}
    if variant == Variant.STATED:
        result |= {"seed": seed, "seeds": seeds}
    result["rows"] = rows
    if output:
        with terminal.progress("drawing"):
            _write(output, f"{figure}-{variant}", result)
    if json:
        terminal.print_json(result)
    else:
        _show(figure, rows)


def _write(folder: Path, name: str, result: dict[str, Any]) -> None:
    files = {"csv": as_csv(result["rows"]), "json": (json_format.dumps(result, indent=1) + "\n").encode()}
    files |= {kind: drawing.picture(_drawn(result), kind) for kind in PICTURES}
    make_folder(folder)
    for ending, data in files.items():
        path = folder / f"{name}.{ending}"
        with errors_naming(path):
            write_bytes(path, data)
    terminal.note(f"wrote {folder / name} as {', '.join(files)}")


def _drawn(result: dict[str, Any]) -> Any:
    published = result["variant"] == Variant.PUBLISHED
    if result["figure"] == Figure.FIG1:
        return paper_figures.figure_1(result["rows"], spread=[] if published else result["rows"])
    return paper_figures.figure_2(result["rows"], break_even=published)


def _show(figure: Figure, rows: Rows) -> None:
    """One line per curve, its senses at three of its points."""
    names, axis, shown = SUMMARY[figure]
    curves: dict[tuple[Any, ...], list[int]] = {}
    for row in rows:
        if row[axis] in shown:
            curves.setdefault(tuple(row[name] for name in names), []).append(row["senses"])
    table = Table(box=None, pad_edge=False)
    for name in names:
        table.add_column(HEADINGS.get(name, name))
    for value in shown:
        table.add_column(f"{HEADINGS.get(axis, axis)} = {value:g}", justify="right", no_wrap=True)
    for curve, senses in curves.items():
        table.add_row(*map(str, curve), *(f"{count:,}" for count in senses))
    terminal.show_table(table)
    if "wrong" in rows[0]:
        wrong, runs = sum(row["wrong"] for row in rows), sum(row["runs"] for row in rows)
        terminal.say(f"{wrong} of {several(runs, 'run')} named a wrong channel; senses are medians over runs")
