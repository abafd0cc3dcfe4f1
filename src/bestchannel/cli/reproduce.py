"""`bestchannel reproduce fig1|fig2`: the paper's two figures, as printed or as its text describes them."""

from __future__ import annotations

import json as json_format
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

from bestchannel import drawing
from bestchannel.cli import options, terminal, verbs
from bestchannel.disk import errors_naming, make_folder, write_bytes
from bestchannel.paper.figures import figure_1, figure_2
from bestchannel.paper.published import fig1_rows, fig2_rows
from bestchannel.paper.stated import stated_fig1, stated_fig2
from bestchannel.promises import several
from bestchannel.study.statistics import Rows, as_csv

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


@verbs.verb("Example: bestchannel reproduce fig1 --variant stated -o figures")
def reproduce(
    figure: Figure = options.argument("Which figure of the paper."),
    variant: Variant = options.option(
        Variant.PUBLISHED, "published: the printed digits. stated: the algorithms of the text, run.", show_default=True
    ),
    seed: int = options.option(1, "Seed of the simulated channels and senses (stated).", min=0),
    seeds: int = options.option(3, "How many random sets of channels for each point (stated).", min=1),
    output: Path | None = options.file(None, "A folder for the CSV, JSON, PNG and SVG files.", "-o", "--output"),
    json: bool = options.JSON,
) -> None:
    """Reproduce a figure of the paper: the senses that its algorithms use.

    The published variant gives the paper's digits from the formulas that generate them. The
    stated one simulates channels and runs the algorithms as the text describes them; the two
    differ, and docs/reproduction.md says why. Gaps and accuracies are in nats, as in the paper.
    """
    if output:
        drawing.require_matplotlib()
    result: dict[str, Any] = {"figure": figure.value, "variant": variant.value, "unit": "nats"}
    with terminal.progress(f"points of {figure}") as progress:
        if variant == Variant.PUBLISHED:
            result["rows"] = fig1_rows() if figure == Figure.FIG1 else fig2_rows()
        else:
            run = stated_fig1 if figure == Figure.FIG1 else stated_fig2
            result |= {"seed": seed, "seeds": seeds, "rows": run(seed, seeds=seeds, progress=progress)}
    if output:
        with terminal.progress("drawing"):
            _write(output, f"{figure}-{variant}", result)
    terminal.answer(result, lambda: _show(figure, result["rows"]), json=json)


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
        return figure_1(result["rows"], spread=[] if published else result["rows"])
    return figure_2(result["rows"], break_even=published)


def _show(figure: Figure, rows: Rows) -> None:
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
