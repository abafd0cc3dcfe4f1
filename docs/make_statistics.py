"""Run the large statistical studies and write their tables: python docs/make_statistics.py [STUDY ...].

Without names all of `STUDIES`; with names these only: of what was never run here the page keeps what it shows. What is
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

import few_senses
import interval_coverage
import numpy as np
from scipy.stats import binom, binomtest

from bestchannel.process import usable_cores
from bestchannel.study.journal import opened
from bestchannel.study.monte_carlo import Study
from bestchannel.study.runner import conduct, find_times
from bestchannel.study.spec import read_spec
from bestchannel.study.statistics import ConditionSummary, error_upper, summaries

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "statistics.md"
sys.path.append(str(ROOT))  # the sabotaged twin stands among the tests
STUDIES = ("efficiency", "letters", "low_noise", "paper", "rules", "power", "power_twins")
OTHERS = {"intervals": interval_coverage.run, "few_senses": few_senses.run}
"""The studies of recorded counts, which have no policy."""

SECTION, NOT_RUN = "\n## ", "Not run yet."

FALSE_ALARM = 1e-6
"""Probability that a policy which keeps its promise exceeds the number of errors that is allowed here."""


@dataclass(frozen=True)
class Row:
    """A summary, the runs that the condition is to have, all inputs of its channels, and the time of one request."""

    summary: ConditionSummary
    wanted: int
    inputs: int
    milliseconds: float


def main() -> None:
    """Run what is asked for, then write the page."""
    arguments = _arguments()
    try:
        for name in [] if arguments.page_only else arguments.studies or (*STUDIES, *OTHERS):
            _run(name, arguments.workers)
    except KeyboardInterrupt:
        print("interrupted; the same command continues", file=sys.stderr)
    before = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    page = _page({name: _rows(name) for name in STUDIES})
    PAGE.write_text(_with_what_was_not_run(page, before), encoding="utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "studies", nargs="*", choices=[[], *STUDIES, *OTHERS], metavar="STUDY", help=", ".join([*STUDIES, *OTHERS])
    )
    parser.add_argument("--workers", type=int, default=None, help="processes, by default one per core")
    parser.add_argument("--page-only", action="store_true", help="write the page from what has been run")
    return parser.parse_args()


def _run(name: str, workers: int | None) -> None:
    if name in OTHERS:
        OTHERS[name](_kept(name), workers or usable_cores())
        return
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


def _folder() -> Path:
    folder = ROOT / "build" / "statistics"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _journal(name: str) -> Path:
    return _folder() / f"{name}.db"


def _kept(name: str) -> Path:
    return _folder() / f"{name}.json"


def _rows(name: str) -> list[Row]:
    """What has been run of a study so far."""
    spec = read_spec(ROOT / "studies" / f"{name}.toml")
    study = Study.of(spec)
    with opened(_journal(name), spec) as journal:
        runs = journal.runs()
        found = summaries(study, journal)
    numbers = sorted({run.condition for run in runs})
    return [
        Row(
            summary,
            study.conditions[i].source.runs,
            sum(n_inputs for n_inputs, _ in study.instance(i, 0).alphabets),
            _milliseconds([run for run in runs if run.condition == i]),
        )
        for i, summary in zip(numbers, found, strict=True)
    ]


def _milliseconds(runs: Sequence) -> float:
    return 1e3 * sum(run.seconds for run in runs) / max(1, sum(run.rounds for run in runs))


def _page(rows: dict[str, list[Row]]) -> str:
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
            *_table(rows["efficiency"], EFFICIENCY),
            "",
            "## More letters",
            "",
            *_table(rows["letters"], EFFICIENCY),
            "",
            "## Low noise",
            "",
            r"Five channels $(1-e) I + e D$ with $e$ = 0.05, 0.12, 0.2, 0.3, 0.4, the rows of $D$ uniform on the"
            " simplex. Senses per input: those of all channels ÷ all inputs of all channels.",
            "",
            *_table(rows["low_noise"], LOW_NOISE),
            "",
            "## The paper's algorithm on the same channels",
            "",
            *_table(rows["paper"], PAPER),
            "",
            "## Sampling rules, and the threshold without a proof",
            "",
            "The rules share the stop of `adaptive`, whose own rule is `fewest`. Undecided runs were given up after"
            " 200,000 senses.",
            "",
            *_table(rows["rules"], RULES),
            "",
            "## How often the best channel is ruled out",
            "",
            r"Where runs end or bets go on: large $\delta$, equal or nearly equal channels, and leaders as bad as the"
            " theorem allows (*misled*: the first channel leads whatever is sensed; *drifting*: all lead in turn;"
            r" *prejudiced*: the first was seen before without an error). The proof limits by $\delta$ how often the"
            " best channel is ruled out, of equally good ones the last, in runs decided or not. Equals are told apart"
            " by such an error alone; all other runs go on to their limit. More errors than allowed happen with"
            r" probability $10^{-6}$. *Spare* is $\delta$ ÷ frequency, with the exact interval at 95 %, and its"
            " logarithm.",
            "",
            *_table(rows["power"], POWER),
            "",
            "Twins whose bets pay as if the leader were 0.15 nat better, on the same channels:",
            "",
            *_table(rows["power_twins"], OUT),
            "",
            *_few_senses(),
            *_approximate_intervals(),
        ]
    )


def _with_what_was_not_run(page: str, before: str) -> str:
    """The page, with those sections as they were before of which nothing has been run here."""
    kept = {section.partition("\n")[0]: section for section in before.split(SECTION)}
    sections = page.split(SECTION)
    return SECTION.join(
        kept.get(section.partition("\n")[0], section) if NOT_RUN in section else section for section in sections
    )


def _few_senses() -> list[str]:
    return [
        "## Recorded counts with few senses",
        "",
        "How often recorded counts of equal channels ([what they prove](theory/recorded-counts.md)) say what is false:"
        " an interval misses the capacity, the first channel, which is a best one, is ruled out, or a pair is called"
        f" settled. The twin takes all evidence for {few_senses.GIFT:g} times what it is; its wrong intervals, verdicts"
        r" and orders are in the last column. More than allowed happen with probability $10^{-6}$. Made by"
        " `make statistics STUDIES=few_senses`, before lower ends came from bets that need not learn the rows: with"
        " those, of 1,000 sets of each family, at most 9 intervals, 11 first channels and 5 orders were wrong at"
        r" $\delta = 0.5$, and 1 of each at $\delta = 0.2$.",
        "",
        *(few_senses.table(_kept("few_senses")) if _kept("few_senses").exists() else [NOT_RUN]),
        "",
    ]


def _approximate_intervals() -> list[str]:
    low, high = (f"{100 * share:.0f}" for share in interval_coverage.BAND)
    return [
        "## Approximate intervals",
        "",
        "How often, in percent, the approximate interval of `estimate`"
        f" ([how it is made](theory/intervals.md)) covers the capacity where {100 * (1 - interval_coverage.ALPHA):g} %"
        " was asked for, by the senses of each input. Every run has a channel of its own, of one of six kinds in turn:"
        " rows uniform on the simplex, spiky rows, errors of 10 % spread over all other outputs, a capacity of 0.08"
        " bit, capacity 0, and every row twice. In parentheses the kind that is covered least. The band is"
        f" {low} … {high} % over all kinds; what lies outside is in bold. Below 20 senses of an input, beyond 16 inputs"
        " or outputs, and with more inputs than outputs the interval is withheld. Made by"
        " `make statistics STUDIES=intervals`.",
        "",
        *(interval_coverage.table(_kept("intervals")) if _kept("intervals").exists() else [NOT_RUN]),
        "",
    ]


def _spare(summary: ConditionSummary, scale: Callable = lambda factor: factor) -> str:
    """δ ÷ the frequency with which the best channel was ruled out, with its exact interval at 95 %."""
    found = binomtest(summary.best_out, summary.runs)
    ends = found.proportion_ci(method="exact")
    with np.errstate(divide="ignore"):
        low, middle, high = scale(summary.delta / np.array([ends.high, found.statistic, ends.low]))
    return f"{middle:.2f} ({low:.2f} … {high:.2f})" if summary.best_out else f"above {low:.2f}"


def _allowed(summary: ConditionSummary) -> int:
    return int(binom.isf(FALSE_ALARM, summary.runs, summary.delta))


def _runs(row: Row) -> str:
    return f"{row.summary.runs:,}" + ("" if row.summary.runs == row.wanted else f" of {row.wanted:,} so far")


def _with_error(value: float | None, error: float | None, digits: str) -> str:
    return "" if value is None or error is None else f"{value:{digits}} ± {error:{digits}}"


Columns = dict[str, Callable[[Row], str]]

FIRST: Columns = {
    "channels": lambda row: row.summary.instance,
    r"$\delta$": lambda row: f"{row.summary.delta:g}",
    "runs": _runs,
}
EFFICIENCY: Columns = FIRST | {
    "mean senses": lambda row: _with_error(row.summary.mean_senses, row.summary.standard_error, ",.0f"),
    "÷ bound": lambda row: _with_error(row.summary.ratio, row.summary.ratio_standard_error, ".2f"),
    "q95 ÷ median": lambda row: "" if row.summary.tail is None else f"{row.summary.tail:.2f}",
    "most ÷ median": lambda row: f"{row.summary.most / row.summary.median:.2f}",
    "wrong": lambda row: f"{row.summary.wrong}",
    "ms per request": lambda row: f"{row.milliseconds:.2f}",
}
LOW_NOISE: Columns = EFFICIENCY | {
    "senses per input": lambda row: f"{row.summary.mean_senses / row.inputs:,.0f}",
}
PAPER: Columns = FIRST | {
    "policy": lambda row: row.summary.policy,
    "mean senses": lambda row: f"{row.summary.mean_senses:.3g}",
    "wrong": lambda row: f"{row.summary.wrong}",
}
RULES: Columns = PAPER | {
    "÷ bound": lambda row: _with_error(row.summary.ratio, row.summary.ratio_standard_error, ".2f"),
    "undecided": lambda row: f"{row.summary.undecided:,}",
}
OUT: Columns = FIRST | {
    "policy": lambda row: row.summary.policy,
    "ended": lambda row: f"{1 - row.summary.undecided / row.summary.runs:.1%}",
    "best ruled out": lambda row: f"{row.summary.best_out:,}",
    "allowed": lambda row: f"{_allowed(row.summary):,}",
    "at most": lambda row: f"{error_upper(row.summary.best_out, row.summary.runs):.2g}",
    "verdict": lambda row: "kept" if row.summary.best_out <= _allowed(row.summary) else "**broken**",
}
POWER: Columns = OUT | {
    "spare": lambda row: _spare(row.summary),
    "nats": lambda row: _spare(row.summary, np.log),
}


def _table(rows: Iterable[Row], columns: Columns) -> list[str]:
    cells = [[column(row) for column in columns.values()] for row in rows]
    if not cells:
        return [NOT_RUN]
    return [f"| {' | '.join(line)} |" for line in (list(columns), ["---"] * len(columns), *cells)]


def _processor() -> str:
    """The model name; a virtual machine may hide part of it."""
    if os.path.exists("/proc/cpuinfo"):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


if __name__ == "__main__":
    main()
