"""Rows of the result and how they are written: markdown between two markers of README.md."""

from __future__ import annotations

import datetime
import os
import platform
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from bestchannel import __version__

README = Path(__file__).with_name("README.md")
BEGIN, END = "<!-- result: begin -->", "<!-- result: end -->"
PACKAGES = ("numpy", "scipy", "qif", "komm", "dit", "cvxpy", "clarabel", "ecos", "scs")

QUIET = 0.93
"""The runs are single-threaded but for one case, so an undisturbed process is on a core nearly all the time."""


@dataclass(frozen=True)
class Row:
    """One measurement: seconds for one channel by the wall and by the solver's own clock, gap in nats, and remarks.

    `ratio` and `solver_ratio` divide them by our wall time in the same case.
    """

    case: str
    software: str
    seconds: float | None = None
    solver_seconds: float | None = None
    gap: float | None = None
    ratio: float | None = None
    solver_ratio: float | None = None
    note: str = ""
    decides: bool = False  # the fastest conic route with a gap <= 1e-6


def written(rows: Iterable[Row]) -> str:
    lines = [
        "| case | software | time | solver alone | certified gap, nats | × ours | × ours, solver alone | remark |",
        "|---|---|--:|--:|--:|--:|--:|---|",
    ]
    return "\n".join([*lines, *map(_line, rows)])


def _line(row: Row) -> str:
    cells = [
        row.case,
        f"**{row.software}**" if row.decides else row.software,
        duration(row.seconds),
        duration(row.solver_seconds),
        "" if row.gap is None else f"{row.gap:.1e}",
        _times(row.ratio),
        _times(row.solver_ratio),
        row.note,
    ]
    return f"| {' | '.join(cells)} |"


def duration(seconds: float | None) -> str:
    """Three digits with the unit that suits them.

    >>> duration(0.00123)
    '1.23 ms'
    """
    if seconds is None:
        return ""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{_digits(seconds / size, 3)} {unit}"
    return f"{_digits(seconds / 1e-9, 3)} ns"


def _times(ratio: float | None) -> str:
    if ratio is None:
        return ""
    return f"{ratio:,.0f}" if ratio >= 100 else _digits(ratio, 2)


def _digits(value: float, digits: int) -> str:
    return f"{value:#.{digits}g}".rstrip(".")


def machine(command: str, cores: int) -> str:
    """Processor, cores, versions, date and command of this run."""
    versions = ", ".join([f"bestchannel {__version__}", *(f"{name} {_version(name)}" for name in PACKAGES)])
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return (
        f"{today}, `{command}`, {_processor()}, {cores} cores,"
        f" {platform.system()}, Python {platform.python_version()}; {versions}."
    )


def warning(share: float) -> str:
    """A sentence where other work took the cores: `share` is processor time over wall time of this run."""
    if share >= QUIET:
        return ""
    return f"\n\n**The machine was busy (processor time {share:.0%} of wall time): do not quote these ratios.**"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    """The model name; a virtual machine may hide part of it."""
    if os.path.exists("/proc/cpuinfo"):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def write_readme(text: str) -> None:
    """Replace what stands between the markers."""
    before, _, rest = README.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    README.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")
