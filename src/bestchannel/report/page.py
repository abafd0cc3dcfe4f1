"""The report as one HTML file that needs no other: style inside, drawings inside, no script."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from importlib.resources import files

from bestchannel.policies import Identification
from bestchannel.report import sections
from bestchannel.report.least_senses import least_senses
from bestchannel.report.markup import Html, joined, tag, trusted
from bestchannel.report.summary import Summary, summarise
from bestchannel.report.wording import verdict


def page(result: Identification, *, origin: Sequence[tuple[str, str]] = ()) -> str:
    """The report on an identification, finished or not; `origin` says where its data come from, as (word, value)."""
    title, body = title_and_body(result, origin)
    head = tag("head", *meta(), tag("title", title), tag("style", style()))
    shown = tag("body", tag("main", body), class_="bestchannel page")
    return f"<!DOCTYPE html>\n{tag('html', head, shown, lang='en')}\n"


def title_and_body(result: Identification, origin: Sequence[tuple[str, str]]) -> tuple[str, Html]:
    """What the page is called, and all that it shows."""
    summary = summarise(result)
    body = (
        sections.header(summary),
        *sections.warnings(origin),
        *(_findings(summary) if summary.course else ()),
        sections.reproduction(summary, version("bestchannel"), origin),
    )
    return f"{verdict(summary)} · bestchannel", joined(body)


def _findings(summary: Summary) -> tuple[Html, ...]:
    """Everything that takes senses to show."""
    return (
        sections.capacities(summary),
        sections.course(summary),
        sections.senses(summary),
        sections.matrices(summary),
        sections.bound(summary, least_senses(summary)),
    )


def style() -> Html:
    """The style sheet, everything in it bound to the class `bestchannel`."""
    return trusted(files("bestchannel.report").joinpath("page.css").read_text(encoding="utf-8"))


def meta() -> list[Html]:
    """What a page says of itself: its letters, and that it fits phones and both themes."""
    return [
        trusted('<meta charset="utf-8">'),
        trusted('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        trusted('<meta name="color-scheme" content="light dark">'),
        trusted('<link rel="icon" href="data:,">'),
    ]
