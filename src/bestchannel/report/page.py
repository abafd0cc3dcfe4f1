"""The report as one HTML file that needs no other: style, drawings, a little script and the record inside.

The record lets the page be checked again by itself: `record_in` reads it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Sequence
from importlib.metadata import version
from importlib.resources import files
from typing import Any

from bestchannel.errors import InputError
from bestchannel.intervals import Estimate
from bestchannel.json_text import json_of
from bestchannel.policies import Identification
from bestchannel.report import sections
from bestchannel.report.markup import Html, tag, trusted
from bestchannel.report.provenance import Provenance
from bestchannel.report.summary import Summary, summarise
from bestchannel.runs.results import as_document

UNKNOWN = Provenance()

MOST_BYTES = 1_000_000
"""Of a page with its record: what mail and phones still take."""

ROOM_FOR_WORDS = 300
"""Bytes of what a page says of the record that it holds."""

MOST_UNPACKED = 2**27
"""Bytes of a record that a page holds packed; what unpacks to more is no record of ours."""

PLAIN, PACKED = "application/json", "application/json+deflate"
HELD = re.compile(rb'<script type="(application/json(?:\+deflate)?)" id="record">([^<]*)</script>')


def page(result: Identification | Estimate, *, origin: Provenance = UNKNOWN) -> str:
    """The report on counts that were estimated, or on an identification, finished or not, with its record inside."""
    summary = summarise(result)
    findings = _findings(summary)
    bare = _document(summary, origin, findings)
    if isinstance(result, Estimate):
        return bare
    record = record_element(result, MOST_BYTES - len(bare.encode()) - ROOM_FOR_WORDS)
    return _document(summary, origin, findings, record) if record else bare


def title_and_body(result: Identification, origin: Provenance) -> tuple[str, Html]:
    """What the page is called, and all that it shows."""
    summary = summarise(result)
    return _title(summary, origin), _body(summary, origin, _findings(summary))


def _document(summary: Summary, origin: Provenance, findings: Sequence[Html], record: Html = sections.NOTHING) -> str:
    title = tag("title", _title(summary, origin))
    head = tag("head", *meta(), _permissions(), title, tag("style", style()))
    shown = tag("main", _body(summary, origin, findings, has_record=bool(record)))
    body = tag("body", shown, record, tag("script", script()), class_="bestchannel page")
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def _body(summary: Summary, origin: Provenance, findings: Sequence[Html], *, has_record: bool = False) -> Html:
    """The verdict, what was found, and how to get there again."""
    return tag(
        "div",
        sections.header(summary, origin),
        sections.warnings(origin),
        *findings,
        sections.reproduction(summary, origin, version("bestchannel"), has_record=has_record),
        class_="decided" if summary.decided else "undecided",
    )


def _title(summary: Summary, origin: Provenance) -> str:
    return " · ".join(filter(None, (origin.title, summary.verdict, "bestchannel")))


def _findings(summary: Summary) -> list[Html]:
    """Everything that takes senses to show."""
    if not summary.told:
        return []
    parts = sections.capacities, sections.order, sections.course, sections.senses, sections.matrices, sections.bound
    return [part(summary) for part in parts]


def style() -> Html:
    """The style sheet, everything in it bound to the class `bestchannel`."""
    return trusted(files("bestchannel.report").joinpath("page.css").read_text(encoding="utf-8"))


def script() -> Html:
    """Search, sort and hints; without it everything can still be read."""
    return trusted(files("bestchannel.report").joinpath("page.js").read_text(encoding="utf-8"))


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


def record_element(result: Identification, room: int) -> Html | None:
    """The record as an element of so many bytes at most: as JSON, or packed; None where neither fits."""
    document = json.dumps(as_document(result), allow_nan=False)
    plain = re.sub("[<>&]", lambda sign: f"\\u{ord(sign[0]):04x}", document)
    if len(plain) <= room:
        return trusted(f'<script type="{PLAIN}" id="record">{plain}</script>')
    if len(document) > MOST_UNPACKED:
        return None
    packed = base64.b64encode(zlib.compress(document.encode(), 9)).decode()
    return trusted(f'<script type="{PACKED}" id="record">{packed}</script>') if len(packed) <= room else None


def record_in(page: bytes) -> Any:
    """The record that a report holds, as the JSON of an identification."""
    records = HELD.findall(page)
    if len(records) != 1:
        raise InputError(
            "the page must be a report of bestchannel with its record inside; it has none (a long record is left out of"
            " its report: give the run, or the JSON of the result)"
        )
    kind, content = records[0]
    return json_of(content if kind.decode() == PLAIN else _unpacked(content))


def _unpacked(content: bytes) -> bytes:
    try:
        unpacking = zlib.decompressobj()
        data = unpacking.decompress(base64.b64decode(content, validate=True), MOST_UNPACKED)
    except (ValueError, zlib.error) as error:
        raise InputError(f"the record inside the page is damaged ({error})") from None
    if not unpacking.eof:
        raise InputError("the record inside the page is damaged: it does not end where it should")
    return data
