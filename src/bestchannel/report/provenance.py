"""Where the data of a report come from, as far as the file of a run knows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bestchannel.runs import Run

Origin = list[tuple[str, str]]
"""(word, value), as the end of a report lists them."""

KNOWN = {"kind": "answered by", "seed": "seed", "path": "recording", "sha256": "its SHA-256"}
"""Who answered: people, a simulation with its seed, a recording with its hash."""


def origin_of(run: Run, path: Path) -> Origin:
    """What the report on a run says of its file and of who answered."""
    source = run.settings.source
    told = [(word, str(source[key])) for key, word in KNOWN.items() if source.get(key) is not None]
    return [("drawn from", f"{path.name}, a run that is {run.state}"), *told, *warnings_in(source)]


def warnings_in(checks: object) -> Origin:
    """What the checks of a recording found, as a result or the source of a run holds it."""
    found = checks.get("warnings") if isinstance(checks, Mapping) else None
    return [("warning", str(text)) for text in found] if isinstance(found, list) else []
