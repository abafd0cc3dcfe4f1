"""The numbers behind the figures, for those who read tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bestchannel.information import NATS_PER_BIT
from bestchannel.intervals import ChannelEstimate
from bestchannel.policies import Status
from bestchannel.report.course_figures import moments
from bestchannel.report.markup import Html, tag
from bestchannel.report.numerals import bits, several, whole
from bestchannel.report.summary import Measured, Summary
from bestchannel.report.wording import brief


@dataclass(frozen=True)
class Sortable:
    """A cell that shows one thing, and is sorted by a number."""

    shown: object
    value: float


def table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[object]], *, by_name: bool = False) -> Html:
    """A table whose first column names the rows; wider than the page, it scrolls by itself.

    `by_name` lets the script of the page find rows by their first column, and sort them.
    """
    head = tag("tr", *(tag("th", word, scope="col") for word in heads))
    body = [_table_row(row, by_name) for row in rows]
    sortable = "sortable" if by_name else None
    whole_table = tag("table", tag("caption", caption), tag("thead", head), tag("tbody", *body), class_=sortable)
    return tag("div", whole_table, class_="scroll", tabindex="0", role="region", aria_label=caption)


def _table_row(row: Sequence[object], by_name: bool) -> Html:
    first = tag("th", brief(str(row[0])), scope="row")
    return tag("tr", first, *map(_cell, row[1:]), data_name=row[0] if by_name else None)


def _cell(cell: object) -> Html:
    if isinstance(cell, Sortable):
        return tag("td", cell.shown, data_value=f"{cell.value:.10g}")
    return tag("td", cell)


def folded(words: object, *content: object) -> Html:
    """Content that shows when asked for."""
    return tag("details", tag("summary", words), *content)


def capacity_table(channels: Sequence[Measured], values: str) -> Html:
    """Estimates and both intervals."""
    heads = ["channel", "estimate, bits", "proved interval", "approximate, not proved", "senses", "ruled out after"]
    return table(f"{values} in bits per channel use", heads, map(_capacity_row, channels), by_name=True)


def _capacity_row(channel: Measured) -> list[object]:
    after, found = channel.ruled_out_after, channel.estimate
    out = "–" if after is None else several(after, "sense")
    normal = found.asymptotic if found else None
    keys = (*((found.capacity, found.lower) if found else (-1.0, -1.0)), normal.lower if normal else -1.0)
    intervals = [Sortable(words, key) for words, key in zip(interval_cells(found), keys, strict=True)]
    last = Sortable(out, 1e300 if after is None else float(after))
    return [channel.name, *intervals, Sortable(whole(channel.senses), float(channel.senses)), last]


def interval_cells(found: ChannelEstimate | None) -> list[str]:
    """The estimate and both intervals of one channel."""
    if found is None:
        return ["–"] * 3
    normal = found.asymptotic
    proved = f"{bits(found.lower)} … {bits(found.upper)}"
    return [bits(found.capacity), proved, f"{bits(normal.lower)} … {bits(normal.upper)}" if normal else "withheld"]


def course_table(summary: Summary) -> Html:
    """Step after step: candidates, leader, and the evidence against the rival that is hardest to rule out."""
    heads = ["request", "senses", "channels left", "leader", "hardest rival", "evidence, bits", "threshold, bits"]
    rows = [_course_row(status, summary.names) for status in moments(summary.course)]
    return table("The course of the identification", heads, rows)


def _course_row(status: Status, names: Sequence[str]) -> list[object]:
    leader = "–" if status.leader is None else brief(names[status.leader])
    row: list[object] = [status.requests, whole(status.senses), len(status.candidates), leader]
    lacks = {rival: status.threshold_nats.get(rival, 0.0) - nats for rival, nats in status.evidence_nats.items()}
    if not lacks:
        return [*row, "–", "–", "–"]
    rival = max(lacks, key=lambda other: lacks[other])
    nats = (status.evidence_nats[rival], status.threshold_nats.get(rival, 0.0))
    return [*row, brief(names[rival]), *(f"{value / NATS_PER_BIT:.2f}" for value in nats)]


def senses_table(channels: Sequence[Measured]) -> Html:
    """The senses of every input, listed in one cell where channels have many."""
    rows = [
        [
            c.name,
            Sortable(whole(c.senses), float(c.senses)),
            ", ".join(f"{letter}: {whole(n)}" for letter, n in zip(c.inputs, c.by_input, strict=True)),
        ]
        for c in channels
    ]
    return table("Senses by channel and input", ["channel", "senses", "by input"], rows, by_name=True)
