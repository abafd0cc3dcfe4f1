"""The report as one HTML file that needs no other: style, drawings, a little script and the record inside."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from importlib.metadata import version
from importlib.resources import files

from bestchannel.intervals import Estimate
from bestchannel.policies import Identification
from bestchannel.report import sections
from bestchannel.report.counts_summary import counts_summary
from bestchannel.report.least_senses import least_senses
from bestchannel.report.markup import Html, joined, tag, trusted
from bestchannel.report.provenance import Provenance
from bestchannel.report.record_inside import MOST_BYTES, record_element
from bestchannel.report.summary import Summary, summarise
from bestchannel.report.wording import verdict

UNKNOWN = Provenance()

ROOM_FOR_WORDS = 300
"""Bytes of what a page says of the record that it holds."""


def page(result: Identification, *, origin: Provenance = UNKNOWN) -> str:
    """The report on an identification, finished or not, with its record inside."""
    summary = summarise(result)
    findings = _findings(summary)
    bare = _document(summary, origin, findings)
    record = record_element(result, MOST_BYTES - len(bare.encode()) - ROOM_FOR_WORDS)
    return bare if record is None else _document(summary, origin.with_record(), findings, record)


def counts_page(found: Estimate, *, origin: Provenance = UNKNOWN) -> str:
    """The report on counts: what `estimate` has found of them, the channels, and where the senses went."""
    summary = counts_summary(found)
    found_order = sections.order(summary)
    shown = (sections.capacities(summary), *found_order, sections.senses(summary), sections.matrices(summary))
    return _document(summary, origin, shown)


def title_and_body(result: Identification, origin: Provenance) -> tuple[str, Html]:
    """What the page is called, and all that it shows."""
    summary = summarise(result)
    return _title(summary, origin), _body(summary, origin, _findings(summary))


def _document(summary: Summary, origin: Provenance, findings: Iterable[Html], record: Html | None = None) -> str:
    title, shown = tag("title", _title(summary, origin)), tag("main", _body(summary, origin, findings))
    head = tag("head", *meta(), _permissions(), title, tag("style", style()))
    body = tag("body", shown, record or joined([]), tag("script", script()), class_="bestchannel page")
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def _body(summary: Summary, origin: Provenance, findings: Iterable[Html]) -> Html:
    """The verdict, what was found, and how to get there again."""
    return tag(
        "div",
        sections.header(summary, origin),
        *sections.warnings(origin),
        *findings,
        sections.reproduction(summary, version("bestchannel"), origin),
        class_="decided" if summary.result.decided else "undecided",
    )


def _title(summary: Summary, origin: Provenance) -> str:
    return " · ".join(filter(None, (origin.title, verdict(summary), "bestchannel")))


def _findings(summary: Summary) -> tuple[Html, ...]:
    """Everything that takes senses to show."""
    if not summary.course:
        return ()
    return (
        sections.capacities(summary),
        sections.course(summary),
        sections.senses(summary),
        sections.matrices(summary),
        sections.bound(summary, least_senses(summary)),
    )


def style() -> Html:
    """The style sheet, everything in it bound to the class `bestchannel`."""
    return trusted(_file("page.css"))


def script() -> Html:
    """Search, sort and hints; without it everything can still be read."""
    return trusted(_file("page.js"))


def _file(name: str) -> str:
    return files("bestchannel.report").joinpath(name).read_text(encoding="utf-8")


def meta() -> list[Html]:
    """What a page says of itself: its letters, and that it fits phones and both themes."""
    return [
        trusted('<meta charset="utf-8">'),
        trusted('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        trusted('<meta name="color-scheme" content="light dark">'),
        trusted('<link rel="icon" href="data:,">'),
    ]


def _permissions() -> Html:
    """No script runs but that of the page, and nothing is fetched, whatever a name holds."""
    digest = base64.b64encode(hashlib.sha256(script().encode()).digest()).decode()
    allowed = f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'"
    return trusted(f'<meta http-equiv="Content-Security-Policy" content="{allowed}">')
