"""Where a report comes from: what people call it, when it was measured, and the files that lead there again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bestchannel.runs import Run


@dataclass(frozen=True)
class Provenance:
    """What a report says about its origin, as far as it is known.

    `source` is who answered (simulation, recording, laboratory, sensor, counts); `data` the file of channels, trials or
    counts; `run` the file of the run; `report` the file that is written; `more` are (word, value) to list, and
    `warnings` what speaks against the data being as supposed.
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
    has_record: bool = False

    def with_record(self) -> Provenance:
        """The same of a page that holds its record."""
        return replace(self, has_record=True)

    @property
    def duration(self) -> timedelta | None:
        """From the first request to the last answer."""
        return None if self.began is None or self.ended is None else self.ended - self.began


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
    """What the checks of a recording found, as a result or the source of a run holds it."""
    found = checks.get("warnings") if isinstance(checks, Mapping) else None
    return tuple(map(str, found)) if isinstance(found, list) else ()


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
    seconds = max(int(duration.total_seconds()), 0)
    units = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))
    parts = [
        (word, seconds // size % (10**9 if word == "d" else 86400 // size if word == "h" else 60))
        for word, size in units
    ]
    first = next((i for i, (_, n) in enumerate(parts) if n), None)
    if first is None:
        return "less than 1 s"
    return " ".join(f"{n} {word}" for word, n in parts[first : first + 2] if n)
