"""Run the large statistical studies and write their tables: python docs/make_statistics.py [STUDY ...].

Without names all of `STUDIES`; with names these only, while the page shows whatever has been run so far. What is
finished is kept in build/statistics: an interrupted run (Ctrl-C) continues where it stopped.
"""

import argparse
import os
import platform
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from scipy.stats import binom

from bestchannel.capacity.stack import usable_cores
from bestchannel.study.journal import opened
from bestchannel.study.monte_carlo import Study
from bestchannel.study.runner import conduct, find_times
from bestchannel.study.spec import read_spec
from bestchannel.study.statistics import Summary, summaries

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "statistics.md"
STUDIES = ("efficiency", "letters", "paper", "rules", "sabotaged", "hostile")

FALSE_ALARM = 1e-6
"""Probability that a policy which keeps its promise exceeds the number of errors that is allowed here."""


@dataclass(frozen=True)
class Cell:
    """A summary, the runs that the cell is to have, and the processor time of one request."""

    summary: Summary
    wanted: int
    milliseconds: float


def main() -> None:
    """Run what is asked for, then write the page."""
    arguments = _arguments()
    try:
        for name in arguments.studies or STUDIES:
            if not arguments.page_only:
                _run(name, arguments.workers)
    except KeyboardInterrupt:
        print("interrupted; the same command continues", file=sys.stderr)
    PAGE.write_text(_page({name: _cells(name) for name in STUDIES}), encoding="utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("studies", nargs="*", choices=[[], *STUDIES], metavar="STUDY", help=", ".join(STUDIES))
    parser.add_argument("--workers", type=int, default=None, help="processes, by default one a core")
    parser.add_argument("--page-only", action="store_true", help="write the page from what has been run")
    return parser.parse_args()


def _run(name: str, workers: int | None) -> None:
    spec = read_spec(ROOT / "studies" / f"{name}.toml")
    last = time.monotonic()

    def show(what: str, done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last > 10.0 or done == total:
            last = time.monotonic()
            print(f"{name}: {done} of {total} {what}", file=sys.stderr, flush=True)

    study = Study.of(spec)
    with opened(_journal(name), spec) as journal:
        find_times(study, journal, progress=partial(show, "sets bounded"))
        conduct(study, journal, workers=workers, progress=partial(show, "runs"))


def _journal(name: str) -> Path:
    folder = ROOT / "build" / "statistics"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{name}.db"


def _cells(name: str) -> list[Cell]:
    """What has been run of a study so far."""
    spec = read_spec(ROOT / "studies" / f"{name}.toml")
    study = Study.of(spec)
    with opened(_journal(name), spec) as journal:
        runs = journal.runs()
        found = summaries(study, journal)
    numbers = sorted({run.cell for run in runs})
    return [
        Cell(summary, study.cells[number].source.runs, _milliseconds([run for run in runs if run.cell == number]))
        for number, summary in zip(numbers, found, strict=True)
    ]


def _milliseconds(runs: Sequence) -> float:
    return 1e3 * sum(run.seconds for run in runs) / max(1, sum(run.rounds for run in runs))


def _page(cells: dict[str, list[Cell]]) -> str:
    return "\n".join(
        [
            "# Statistics",
            "",
            "Written by `make statistics` from the studies in `studies/`. Every run has a seed of its own, so that the"
            " counts, unlike the times, come out the same on any machine with the same libraries.",
            "",
            f"Measured on: {_processor()}, {usable_cores()} cores, Python {platform.python_version()},"
            f" numpy {np.__version__}.",
            "",
            "## Senses against the lower bound",
            "",
            r"Random binary channels. The bound is $T^\ast \cdot \mathrm{kl}(\delta, 1-\delta)$ with the proved lower"
            r" end of $T^\ast$; each run is divided by the bound of its own set of channels. q95 ÷ median is that of"
            " the worst set.",
            "",
            *_table(cells["efficiency"], EFFICIENCY),
            "",
            "## More letters",
            "",
            *_table(cells["letters"], EFFICIENCY),
            "",
            "## The paper's algorithm on the same channels",
            "",
            *_table(cells["paper"], PAPER),
            "",
            "## Sampling rules, and the threshold without a proof",
            "",
            "The rules share the stop of `adaptive`, whose own rule is `fewest`. Undecided runs were given up after"
            " 200,000 senses.",
            "",
            *_table(cells["rules"], RULES),
            "",
            "## Wrong answers on hostile channels",
            "",
            "A policy that keeps its promise has more errors than allowed with probability $10^{-6}$. The upper limit"
            " of the error probability is exact, at confidence 95 %. Runs that reach their limit of senses are"
            " undecided.",
            "",
            *_table(cells["hostile"], ERRORS),
            "",
            "A twin that is content with a fifth of the calibrated, unproved threshold, on the same channels:",
            "",
            *_table(cells["sabotaged"], ERRORS),
            "",
        ]
    )


def _allowed(summary: Summary) -> int:
    return int(binom.isf(FALSE_ALARM, summary.runs, summary.delta))


def _runs(cell: Cell) -> str:
    return f"{cell.summary.runs:,}" + ("" if cell.summary.runs == cell.wanted else f" of {cell.wanted:,} so far")


def _with_error(value: float | None, error: float | None, digits: str) -> str:
    return "" if value is None or error is None else f"{value:{digits}} ± {error:{digits}}"


Columns = dict[str, Callable[[Cell], str]]

FIRST: Columns = {
    "channels": lambda cell: cell.summary.instance,
    r"$\delta$": lambda cell: f"{cell.summary.delta:g}",
    "runs": _runs,
}
EFFICIENCY: Columns = FIRST | {
    "mean senses": lambda cell: _with_error(cell.summary.mean_senses, cell.summary.standard_error, ",.0f"),
    "÷ bound": lambda cell: _with_error(cell.summary.ratio, cell.summary.ratio_standard_error, ".2f"),
    "q95 ÷ median": lambda cell: "" if cell.summary.tail is None else f"{cell.summary.tail:.2f}",
    "most ÷ median": lambda cell: f"{cell.summary.most / cell.summary.median:.2f}",
    "wrong": lambda cell: f"{cell.summary.wrong}",
    "ms a request": lambda cell: f"{cell.milliseconds:.2f}",
}
PAPER: Columns = FIRST | {
    "policy": lambda cell: cell.summary.policy,
    "mean senses": lambda cell: f"{cell.summary.mean_senses:.3g}",
    "wrong": lambda cell: f"{cell.summary.wrong}",
}
RULES: Columns = PAPER | {
    "÷ bound": lambda cell: _with_error(cell.summary.ratio, cell.summary.ratio_standard_error, ".2f"),
    "undecided": lambda cell: f"{cell.summary.undecided:,}",
}
ERRORS: Columns = FIRST | {
    "wrong": lambda cell: f"{cell.summary.wrong:,}",
    "allowed": lambda cell: f"{_allowed(cell.summary):,}",
    "error at most": lambda cell: f"{cell.summary.error_upper:.2g}",
    "undecided": lambda cell: f"{cell.summary.undecided:,}",
    "verdict": lambda cell: "kept" if cell.summary.wrong <= _allowed(cell.summary) else "**broken**",
}


def _table(cells: Iterable[Cell], columns: Columns) -> list[str]:
    rows = [[column(cell) for column in columns.values()] for cell in cells]
    if not rows:
        return ["Not run yet."]
    return [f"| {' | '.join(row)} |" for row in (list(columns), ["---"] * len(columns), *rows)]


def _processor() -> str:
    """The model name; a virtual machine may hide part of it."""
    if os.path.exists("/proc/cpuinfo"):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


if __name__ == "__main__":
    main()
