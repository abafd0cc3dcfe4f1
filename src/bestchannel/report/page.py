"""The report as one HTML file that needs no other: its parts, style, drawings, a little script and the record inside.

The record lets the page be checked again by itself: `record_in` reads it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from typing import Any, TypeVar

import numpy as np

from bestchannel.channels import Channel
from bestchannel.errors import InputError
from bestchannel.intervals import Estimate
from bestchannel.json_text import json_of
from bestchannel.lower_bound.bound import quick_bound
from bestchannel.policies import Identification
from bestchannel.policies.transcript import as_document
from bestchannel.promises import amount, confidence, criterion, in_words
from bestchannel.questions import Above, AnyQuestion, Within
from bestchannel.report.charts import (
    MOST_RIVALS,
    candidates_figure,
    capacity_table,
    course_table,
    evidence_figure,
    interval_figure,
    leaders,
    legend,
    moments,
    order_figure,
    rival_tracks,
)
from bestchannel.report.heat_maps import matrix_map, senses_map, senses_table
from bestchannel.report.markup import Html, bits, brief, folded, lone, percent, several, tag, trusted, whole
from bestchannel.report.provenance import Provenance, lasting, moment
from bestchannel.report.summary import Measured, Summary, summarise

UNKNOWN = Provenance()

MOST_BYTES = 1_000_000  # of a page with its record: what mail and phones still take
ROOM_FOR_WORDS = 300  # bytes of what a page says of the record that it holds
MOST_UNPACKED = 2**27  # bytes of a record that a page holds packed; what unpacks to more is no record of ours
PLAIN, PACKED = "application/json", "application/json+deflate"
HELD = re.compile(rb'<script type="(application/json(?:\+deflate)?)" id="record">([^<]*)</script>')


OPEN_ROWS, OPEN_BLOCKS, BLOCK = 14, 4, 14
OPEN_MATRICES, MOST_CELLS = 6, 60_000  # matrices that show at once, and cells of all matrices that a page holds
NOTHING = Html()
T = TypeVar("T")


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


def _document(summary: Summary, origin: Provenance, findings: Sequence[Html], record: Html = NOTHING) -> str:
    title = tag("title", _title(summary, origin))
    # no script runs but that of the page, and nothing is fetched, whatever a name holds
    digest = base64.b64encode(hashlib.sha256(script().encode()).digest()).decode()
    allowed = f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'"
    permissions = trusted(f'<meta http-equiv="Content-Security-Policy" content="{allowed}">')
    head = tag("head", *meta(), permissions, title, tag("style", style()))
    shown = tag("main", _body(summary, origin, findings, has_record=bool(record)))
    body = tag("body", shown, record, tag("script", script()), class_="bestchannel page")
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def _body(summary: Summary, origin: Provenance, findings: Sequence[Html], *, has_record: bool = False) -> Html:
    """The verdict, what was found, and how to get there again."""
    return tag(
        "div",
        header(summary, origin),
        warnings(origin),
        *findings,
        reproduction(summary, origin, version("bestchannel"), has_record=has_record),
        class_="decided" if summary.result.decided else "undecided",
    )


def _title(summary: Summary, origin: Provenance) -> str:
    return " · ".join(filter(None, (origin.title, summary.verdict, "bestchannel")))


def _findings(summary: Summary) -> list[Html]:
    """Everything that takes senses to show."""
    if not summary.told:
        return []
    parts = capacities, order, course, senses, matrices, bound
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


def section(title: str, words: str, *content: object) -> Html:
    """A heading, a sentence or two, and what they are about."""
    return tag("section", tag("h2", title), tag("p", words), *content)


def header(summary: Summary, about: Provenance) -> Html:
    """The verdict, its guarantee, and a few numbers; above them the title, below a note."""
    first, known = summary.channels[0], summary.channels[0].estimate
    requests = f"in {several(len(summary.course), 'request')}" if summary.course else ""
    facts: dict[str, tuple[str, str | None]] = {f"{summary.unit}s": (whole(summary.senses), requests)}
    if summary.cost is not None:
        facts["cost"] = (amount(summary.cost), None)
    facts["channels"] = (whole(len(summary.channels)), f"{len(summary.candidates)} left")
    if known:
        ends = f"bits, {known.lower:.3f} … {known.upper:.3f}"
        facts[f"{summary.quantity} of {brief(first.name, 18)}"] = (bits(known.capacity), ends)
    facts["confidence"] = (confidence(summary.result.delta), f"δ = {summary.result.delta:g}")
    if about.duration is not None and about.began is not None:
        facts["time"] = (lasting(about.duration), f"from {moment(about.began)}")
    return tag(
        "header",
        tag("p", about.title, class_="title") if about.title else NOTHING,
        tag("p", "decided" if summary.result.decided else "undecided", class_="state"),
        tag("h1", summary.verdict),
        tag("p", summary.promise, class_="lead"),
        *(tag("p", line, class_="remark") for line in about.note.splitlines() if line.strip()),
        tag(
            "dl",
            *(
                tag("div", tag("dt", word), tag("dd", value, NOTHING if aside is None else tag("small", f" {aside}")))
                for word, (value, aside) in facts.items()
            ),
            class_="facts",
        ),
    )


def warnings(about: Provenance) -> Html:
    """What speaks against the data being as supposed, if anything does."""
    if not about.warnings:
        return NOTHING
    return section("Warning", "The recording is not as supposed.", *(tag("p", text) for text in about.warnings))


def capacities(summary: Summary) -> Html:
    """The intervals, best channel first."""
    marked, values = summary.marked, summary.values
    rows = [(channel.name, channel.estimate) for channel in summary.channels]
    shown, rest = rows[:OPEN_ROWS], rows[OPEN_ROWS:]
    P, line = summary.input_distribution, summary.question.line if summary.question else None
    compared = f"The policy compared {criterion(P)}, and not the capacities shown here"
    if summary.estimate is not None:
        compared = f"All are {criterion(P)}"
    field = lone("input", type="search", aria_label="Find a channel", placeholder="Find a channel", autocomplete="off")
    search = tag("p", field, tag("output", aria_live="polite"), id="search", hidden="")  # shown by the page's script
    return section(
        values,
        f"Bits per channel use. With probability at least {confidence(summary.result.delta)} every proved interval"
        f" holds, {_supposed(summary)}.",
        NOTHING if P is None else tag("p", f"{compared}."),
        search if rest else NOTHING,
        legend(),
        interval_figure(shown, marked, f"{values} with their intervals", line),
        _more(rest, lambda rows: interval_figure(rows, marked, f"{values} of the other channels", line)),
        folded(f"Table of {values[0].lower()}{values[1:]}", capacity_table(summary)),
    )


def _supposed(summary: Summary) -> str:
    """What the proof of the intervals supposes, and why a verdict can stand while they overlap."""
    recorded = summary.estimate is not None and summary.estimate.design in ("fixed", "joint")
    words = "however the senses were chosen"
    if summary.estimate is not None and summary.estimate.shuffles is not None:
        words = summary.estimate.supposed
    weighed = recorded or any(status.evidence_nats for status in summary.course)
    if not (weighed and summary.result.decided and summary.question is None and len(summary.channels) > 1):
        return words
    return (
        f"{words}. They may overlap though the best is proved: comparing two channels proves more than two intervals do"
    )


def _more(rest: Sequence[T], drawn: Callable[[Sequence[T]], Html]) -> Html:
    """The channels that do not show at once, drawn where there are any."""
    return folded(several(len(rest), "more channel"), drawn(rest)) if rest else NOTHING


def order(summary: Summary) -> Html:
    """Between which places every channel is, where that was asked for."""
    if summary.estimate is None or summary.estimate.order is None:
        return NOTHING
    proved = summary.estimate.order
    shown, rest, k = proved.ranks[:OPEN_ROWS], proved.ranks[OPEN_ROWS:], len(proved.ranks)
    settled = f"{several(proved.pairs, 'pair')} of channels {'is' if proved.pairs == 1 else 'are'} settled"
    return section(
        "Order",
        f"{len(proved.settled)} of {settled}: with probability at least {confidence(summary.result.delta)} all of them"
        " at once. 1 is the best place.",
        order_figure(shown, k, "The places that channels can have"),
        _more(rest, lambda ranks: order_figure(ranks, k, "The places of the other channels")),
    )


def course(summary: Summary) -> Html:
    """How candidates fell, and how the evidence grew, where there were steps."""
    if not summary.course:
        return NOTHING
    led = leaders(summary)
    words = f"In the lead, one after the other: {' → '.join(led[-8:])}." if led else ""
    figures = [tag("figure", tag("figcaption", f"Channels left, over {summary.unit}s"), candidates_figure(summary))]
    if (evidence := evidence_figure(summary)) is not None:
        caption = tag("figcaption", f"Evidence against rivals in bits, over {summary.unit}s")
        k = len(rival_tracks(moments(summary.course)))
        rivals = f"the {MOST_RIVALS} longest-lived of {k} rivals" if k > MOST_RIVALS else "the rivals"
        note = f"Bold: the least evidence against any rival, which has to pass the threshold. Thin: {rivals}."
        figures.append(tag("figure", caption, evidence, tag("p", note, class_="note")))
    return section(
        "Course",
        f"{summary.spent} {words}",
        tag("div", *figures, class_="pair" if len(figures) > 1 else None),
        folded("Table of the course", course_table(summary)),
    )


def senses(summary: Summary) -> Html:
    """Where the senses went, channel by input."""
    channels = summary.channels
    total = float(max(sum(channel.senses for channel in channels), 1))
    most = max([1.0, *(float(channel.by_input.max()) for channel in channels)])
    maps = [senses_map(channels[i : i + BLOCK], most, total) for i in range(0, len(channels), BLOCK)]
    first, rest = channels[0], channels[OPEN_BLOCKS * BLOCK :]
    return section(
        "Where the senses went",
        f"One row per channel, one column per input, the sum on the right; {brief(first.name, 30)} took"
        f" {percent(first.senses / total)} of all senses.",
        tag("div", *maps[:OPEN_BLOCKS], class_="blocks"),
        _more(rest, lambda _: tag("div", *maps[OPEN_BLOCKS:], class_="blocks")),
        folded("Table of senses", senses_table(channels)),
    )


def matrices(summary: Summary) -> Html:
    """What each channel does, best first; the first few with numbers, the rest folded, very many left out."""
    cells = np.cumsum([channel.counts.size for channel in summary.channels])
    kept = [channel for channel, so_far in zip(summary.channels, cells, strict=True) if so_far <= MOST_CELLS]
    shown, rest = kept[:OPEN_MATRICES], kept[OPEN_MATRICES:]
    left_out = len(summary.channels) - len(kept)
    return section(
        "The channels",
        "Relative frequencies: one row per input, one column per output, darker for more frequent.",
        _matrices(shown, compact=False),
        _more(rest, lambda channels: _matrices(channels, compact=True)),
        tag("p", f"{several(left_out, 'more channel')} would make this page too large.") if left_out else NOTHING,
    )


def _matrices(channels: Sequence[Measured], *, compact: bool) -> Html:
    figures = []
    for channel in channels:
        words = f"{bits(channel.estimate.capacity)} bits" if channel.estimate else "not estimated"
        drawing = matrix_map(channel.W_hat, channel.inputs, channel.outputs, f"Channel {channel.name}", compact=compact)
        caption = tag("figcaption", tag("b", brief(channel.name, 24)), tag("span", words))
        figures.append(tag("figure", caption, tag("div", drawing, class_="scroll"), data_name=channel.name))
    return tag("div", *figures, class_="matrices")


@dataclass(frozen=True)
class LeastSenses:
    """`senses` is T*·kl(δ, 1-δ), or None where there is no such number; `remark` says what it is, or why it is not.

    `proved` tells the certified bound from the approximation for small gaps.
    """

    senses: float | None
    proved: bool
    remark: str


def least_senses(summary: Summary) -> LeastSenses:
    """The lower bound at the estimated channels, approximated where the certified one would take minutes."""
    if reason := _why_no_bound(summary):
        return LeastSenses(None, False, reason)
    # where the capacity is 0 whatever the rows, and nothing need be sensed, any rows
    sizes = [channel.counts.shape for channel in summary.channels]
    rows = [c.W_hat if min(s) > 1 else np.full(s, 1.0 / s[1]) for c, s in zip(summary.channels, sizes, strict=True)]
    channels = [Channel.from_rows(W, normalize=True) for W in rows]
    bound = quick_bound(channels, summary.result.delta, summary.question)
    low, high = bound.lower_time, bound.upper_time
    if bound.proved and not math.isfinite(bound.senses):
        tied = "The estimates of the largest capacities tie" if summary.question is None else "Estimates tie"
        remark = f"{tied}, and telling them apart has no bound."
        return LeastSenses(None, True, remark)
    if bound.proved:
        ends = f"{whole(low)} … {whole(high)}" if math.isfinite(high) else f"at least {whole(low)}"
        remark = (
            "If the channels were exactly as estimated, no policy with this guarantee would get by with fewer senses on"
            f" average: {_origin(summary.question)}, with a characteristic time T* of {ends} senses per nat."
        )
        return LeastSenses(bound.senses, True, remark)
    if not 0.0 < low < math.inf:
        return LeastSenses(None, False, "The approximation for small gaps says nothing about these estimates.")
    remark = (
        "An approximation for small gaps at the estimated channels, not a proof: for so many channels, or channels of"
        " this size, the certified bound takes longer than a report should (`bestchannel bound` computes it)."
    )
    return LeastSenses(bound.senses, False, remark)


def _origin(question: AnyQuestion | None) -> str:
    """From what the bound is."""
    if isinstance(question, Within):
        return "Hoeffding's bound for sequential tests"
    return "T*·kl(1/2, δ) or more" if isinstance(question, Above) and question.tolerance else "T*·kl(δ, 1−δ)"


def _why_no_bound(summary: Summary) -> str:
    worth_sensing = [channel for channel in summary.channels if min(channel.counts.shape) > 1]  # others have capacity 0
    if len(worth_sensing) < (2 if summary.question is None else 1):
        return "Nothing to tell apart: no other channel has more than one input and one output."
    if summary.result.epsilon:
        return "The bound is for naming the best channel itself; a channel within ε of the best can be had for less."
    if summary.unit == "shot":
        return "Shots that all channels answer have a bound of their own: see bestchannel bound --shots."
    if summary.input_distribution is not None:
        return "The bound is for capacities, and here I(P;W) at a fixed input distribution was compared."
    if summary.cost is not None:
        return (
            "Senses had costs, and the least cost was looked for, not the fewest senses: see bestchannel bound --cost."
        )
    if any(np.isnan(channel.W_hat).any() for channel in worth_sensing):
        return "Some input was never sensed, so there is no estimate of its channel to evaluate the bound at."
    return ""


def bound(summary: Summary) -> Html:
    """The lower bound beside the senses that were used, where a policy was to use few."""
    if not summary.course:
        return NOTHING
    used, least = summary.senses, least_senses(summary)
    if least.senses is None or not used:
        return section("The lower bound", least.remark)
    most = max(least.senses, used)
    ratio = f", {used / least.senses:.3g} times as many" if 0 < least.senses <= used else ""
    rows = [
        ("at least" if least.proved else "about", several(least.senses, "sense"), least.senses / most, "least"),
        ("this run", f"{several(used, 'sense')}{ratio}", used / most, "used"),
    ]
    return section("The lower bound", least.remark, tag("div", *(_bar(*row) for row in rows), class_="bars"))


def _bar(word: str, value: str, share: float, class_: str) -> Html:
    bar = lone("rect", width=f"{100.0 * share:.2f}%", height=14, rx=2, class_=class_)
    svg = tag("svg", bar, width="100%", height=14, aria_hidden="true")
    return tag("div", tag("p", tag("b", word), f" {value}"), svg)


def reproduction(summary: Summary, about: Provenance, version: str, *, has_record: bool) -> Html:
    """What it takes to get here again."""
    times = {"began": about.began, "last answer": about.ended, "drawn": about.drawn}
    amended = ", ".join(map(str, about.amended))
    check = about.check(summary, has_record=has_record)
    rows: list[tuple[str, object]] = [
        ("policy", summary.policy),
        ("δ, ε", f"{summary.result.delta:g}, {summary.result.epsilon:g} bits"),
        ("options", summary.options and json.dumps(dict(summary.options), ensure_ascii=False, default=str)),
        ("guarantee", in_words(summary.result.guarantee)),
        *((word, time and moment(time)) for word, time in times.items()),
        ("amended", amended and f"the answer to request {amended}, after it was told"),
        *about.more,
        ("data", tag("code", f"sha256:{summary.fingerprint}")),
        ("check", check and tag("code", check)),
        ("made by", f"bestchannel {version}"),
    ]
    listed = [tag("div", tag("dt", word), tag("dd", value)) for word, value in rows if value]
    again = tag("pre", tag("code", about.command(summary)), tabindex="0")
    return section("Reproduce it", "The same question again:", again, tag("dl", *listed, class_="listed"))
