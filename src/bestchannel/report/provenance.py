"""Where a report comes from: what people call it, when it was measured, and the commands that lead there again."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bestchannel.policies.catalogue import POLICIES
from bestchannel.promises import exact
from bestchannel.questions import Above, AnyQuestion, Order, Top, Within
from bestchannel.report.summary import Summary
from bestchannel.runs import Run

SOURCES = {
    "simulation": ("identify", "--simulate", "CHANNELS"),
    "recording": ("identify", "--replay", "TRIALS"),
    "laboratory": ("run", "new", "RUN.db", "--alphabets", "FILE"),
    "counts": ("estimate", "COUNTS"),
}
"""How identifications begin, by who answers."""

FLAGS = ("subroutine", "sampling", "threshold", "input_distribution")
"""The options of policies that the command line has words of its own for."""


@dataclass(frozen=True)
class Provenance:
    """What a report says about its origin, as far as it is known.

    `source` is who answered (simulation, recording, laboratory, sensor, counts); `data` the file of channels, trials or
    counts; `run` the file of the run; `report` the file that is written; `more` are (word, value) to list, and
    `warnings` what speaks against the data being as supposed. `words` are further files, and options of the
    command, that the result does not tell.
    """

    title: str = ""
    note: str = ""
    source: str = ""
    data: str = ""
    run: str = ""
    report: str = ""
    seed: int | None = None
    began: datetime | None = None
    ended: datetime | None = None
    drawn: datetime | None = None
    amended: tuple[int, ...] = ()
    more: tuple[tuple[str, str], ...] = ()
    warnings: tuple[str, ...] = ()
    words: tuple[str, ...] = ()

    @property
    def duration(self) -> timedelta | None:
        """From the first request to the last answer."""
        return None if self.began is None or self.ended is None else self.ended - self.began

    def command(self, summary: Summary) -> str:
        """The command that asks the same question again; what is not known of it stands in capitals."""
        if self.source in ("laboratory", "sensor") and self.run:
            return shlex.join(["bestchannel", "run", "resume", self.run])
        *verb, placeholder = SOURCES.get(self.source, SOURCES["simulation"])
        words = ["bestchannel", *verb, self.data or placeholder]
        words += ["--policy", summary.policy] if summary.policy else []
        words += ["--delta", exact(summary.result.delta)]
        words += ["--epsilon", exact(summary.result.epsilon)] if summary.result.epsilon else []
        words += asking(summary.question, summary.names)
        for name, value in summary.options.items():
            if name in FLAGS:
                plain = ",".join(map(str, value)) if isinstance(value, list) else str(value)
                words += [f"--{name.replace('_', '-')}", plain]
            elif name != "question":
                words += ["--policy-option", f"{name}={json.dumps(value)}"]
        if summary.estimate is not None:
            words += [] if summary.estimate.design == "fixed" else ["--design", summary.estimate.design]
            words += ["--rank"] if summary.estimate.order else []
        words += [] if self.seed is None else ["--seed", str(self.seed)]
        return shlex.join([*words, *self.words])

    def check(self, summary: Summary, *, has_record: bool) -> str:
        """The command that checks the record again, where there is something to check and a file that holds it."""
        if not summary.result.decided or summary.policy not in POLICIES:
            return ""
        holder = self.run or (self.report if has_record else "") or "RESULT.json"
        return shlex.join(["bestchannel", "verify", holder])


def asking(question: AnyQuestion | None, names: Sequence[str]) -> list[str]:
    """The options of the command line that ask the question about channels of these names.

    >>> from bestchannel import Above, Within
    >>> asking(Above(0.5, tolerance=0.1), ["a"]), asking(Within(0.05, relative=True), ["a"])
    (['--above', '0.5', '--tolerance', '0.1'], ['--within', '5%'])
    """
    match question:
        case Above():
            words = ["--above", exact(question.level)]
            words += ["--tolerance", exact(question.tolerance)] if question.tolerance else []
            rates = zip(names, question.rates or (), strict=False)
            return words + [word for name, rate in rates for word in ("--rate", f"{name}={exact(rate)}")]
        case Within():
            return ["--within", f"{100.0 * question.width:g}%" if question.relative else exact(question.width)]
        case Top():
            return ["--top", str(question.m)]
        case Order():
            return ["--order"]
    return []


def origin_of(run: Run, path: Path) -> Provenance:
    """What the file of a run knows of where its report comes from."""
    history, settings = run.history, run.settings
    source = settings.source
    sealed = [("SHA-256 of the recording", str(source["sha256"]))] if source.get("sha256") else []
    return Provenance(
        title=settings.title,
        note=settings.note,
        source=source["kind"],
        data=str(source.get("path") or ""),
        run=path.name,
        seed=source.get("seed"),
        began=history.began,
        ended=max(history.told_at.values(), default=None),
        amended=tuple(sorted(set(history.amended))),
        more=(("drawn from", f"{path.name}, a run that is {run.state}"), *sealed),
        warnings=warnings_in(source),
    )


def warnings_in(checks: object) -> tuple[str, ...]:
    """What the checks of a recording say, as a result or the source of a run holds it."""
    warnings = checks.get("warnings") if isinstance(checks, Mapping) else None
    return tuple(map(str, warnings)) if isinstance(warnings, list) else ()


def moment(time: datetime) -> str:
    """A date and a time of day, to the minute, in UTC.

    >>> moment(datetime(2026, 11, 15, 8, 5, tzinfo=UTC))
    '2026-11-15 08:05 UTC'
    """
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def lasting(duration: timedelta) -> str:
    """How long it took, in the two largest units that it has.

    >>> lasting(timedelta(seconds=0.4)), lasting(timedelta(minutes=3, seconds=5)), lasting(timedelta(days=2, hours=1))
    ('less than 1 s', '3 min 5 s', '2 d 1 h')
    """
    minutes, seconds = divmod(max(int(duration.total_seconds()), 0), 60)
    hours, minutes = divmod(minutes, 60)
    parts = [(hours // 24, "d"), (hours % 24, "h"), (minutes, "min"), (seconds, "s")]
    first = next((i for i, (n, _) in enumerate(parts) if n), None)
    if first is None:
        return "less than 1 s"
    return " ".join(f"{n} {unit}" for n, unit in parts[first : first + 2] if n)
