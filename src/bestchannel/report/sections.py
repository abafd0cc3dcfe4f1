"""The parts of the page, one function each."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from bestchannel.promises import amount, confidence, criterion, in_words
from bestchannel.report.course_figures import (
    MOST_RIVALS,
    candidates_figure,
    evidence_figure,
    leaders,
    moments,
    rival_tracks,
)
from bestchannel.report.heat_maps import matrix_map, senses_map
from bestchannel.report.interval_figure import interval_figure, legend
from bestchannel.report.least_senses import LeastSenses
from bestchannel.report.markup import Html, joined, lone, tag
from bestchannel.report.numerals import bits, percent, several, whole
from bestchannel.report.order_figure import order_figure
from bestchannel.report.provenance import Provenance, lasting, moment
from bestchannel.report.summary import Measured, Summary
from bestchannel.report.tables import capacity_table, course_table, folded, senses_table
from bestchannel.report.wording import brief, checking, command, promise, spent, verdict

OPEN_ROWS, OPEN_BLOCKS, BLOCK = 14, 4, 14
OPEN_MATRICES, MOST_CELLS = 6, 60_000
"""Matrices that show at once, and cells of all matrices that a page holds."""


def header(summary: Summary, about: Provenance) -> Html:
    """The verdict, its guarantee, and a few numbers; above them the title, below a note."""
    facts = [tag("div", tag("dt", word), tag("dd", *value)) for word, *value in _facts(summary, about)]
    return tag(
        "header",
        tag("p", about.title, class_="title") if about.title else joined([]),
        tag("p", "decided" if summary.result.decided else "undecided", class_="state"),
        tag("h1", verdict(summary)),
        tag("p", promise(summary), class_="lead"),
        *(tag("p", line, class_="remark") for line in about.note.splitlines() if line.strip()),
        tag("dl", *facts, class_="facts"),
    )


def _facts(summary: Summary, about: Provenance) -> list[tuple[object, ...]]:
    result, first = summary.result, summary.channels[0]
    requests = f"in {several(len(summary.course), 'request')}" if summary.course else ""
    facts: list[tuple[object, ...]] = [
        ("senses", whole(result.senses), _aside(requests)),
        *([("cost", amount(result.cost))] if result.cost is not None else []),
        ("channels", whole(len(summary.channels)), _aside(f"{len(result.candidates)} left")),
    ]
    if first.estimate:
        found = first.estimate
        words = f"{summary.quantity} of {brief(first.name, 18)}"
        facts.append((words, bits(found.capacity), _aside(f"bits, {found.lower:.3f} … {found.upper:.3f}")))
    facts.append(("confidence", confidence(result.delta), _aside(f"δ = {result.delta:g}")))
    if about.duration is not None and about.began is not None:
        facts.append(("time", lasting(about.duration), _aside(f"from {moment(about.began)}")))
    return facts


def _aside(words: str) -> Html:
    return tag("small", f" {words}")


def capacities(summary: Summary) -> Html:
    """The intervals, best channel first."""
    marked = frozenset(map(str, summary.result.candidates))
    rows = [(channel.name, channel.estimate) for channel in summary.channels]
    shown, rest = rows[:OPEN_ROWS], rows[OPEN_ROWS:]
    return section(
        summary.values,
        f"Bits per channel use. With probability at least {confidence(summary.result.delta)} every proved interval"
        f" holds, {_supposed(summary)}.{_pairs(summary)}",
        _other_value(summary),
        _search(summary),
        legend(),
        interval_figure(shown, marked, f"{summary.values} with their intervals"),
        _more(rest, "channel", lambda: interval_figure(rest, marked, f"{summary.values} of the other channels")),
        folded(
            f"Table of {summary.values[0].lower()}{summary.values[1:]}",
            capacity_table(summary.channels, summary.values),
        ),
    )


def _supposed(summary: Summary) -> str:
    """What the proof of the intervals supposes."""
    if summary.found is None or summary.found.shuffles is None:
        return "however the senses were chosen"
    return "if senses are independent and nobody chose their numbers by looking at outputs"


def order(summary: Summary) -> tuple[Html, ...]:
    """Between which places every channel is, where that was asked for."""
    if summary.found is None or summary.found.order is None:
        return ()
    proved = summary.found.order
    shown, rest, k = proved.ranks[:OPEN_ROWS], proved.ranks[OPEN_ROWS:], len(proved.ranks)
    found = section(
        "Order",
        f"{len(proved.settled)} of {several(proved.pairs, 'pair')} of channels are settled: with probability at least"
        f" {confidence(summary.result.delta)} all of them at once. 1 is the best place.",
        order_figure(shown, k, "The places that channels can have"),
        _more(rest, "channel", lambda: order_figure(rest, k, "The places of the other channels")),
    )
    return (found,)


def _search(summary: Summary) -> Html:
    """A field that the script of the page shows, where there are many channels."""
    if len(summary.channels) <= OPEN_ROWS:
        return joined([])
    field = lone("input", type="search", aria_label="Find a channel", placeholder="Find a channel", autocomplete="off")
    return tag("p", field, tag("output", aria_live="polite"), id="search", hidden="")


def _pairs(summary: Summary) -> str:
    """Why a verdict can stand while intervals overlap."""
    recorded = summary.found is not None and summary.found.design == "fixed"
    weighed = recorded or any(status.evidence_nats for status in summary.course)
    if not (weighed and summary.result.decided and len(summary.channels) > 1):
        return ""
    return " They may overlap though the best is proved: comparing two channels proves more than two intervals do."


def _other_value(summary: Summary) -> Html:
    P = summary.input_distribution
    if P is None:
        return joined([])
    if summary.found is not None:
        return tag("p", f"All are {criterion(P)}.")
    return tag("p", f"The policy compared {criterion(P)}, and not the capacities shown here.")


def _more(rest: Sequence[object], what: str, content: Callable[[], Html]) -> Html:
    return folded(several(len(rest), f"more {what}"), content()) if rest else joined([])


def course(summary: Summary) -> Html:
    """How candidates fell, and how the evidence grew."""
    led = leaders(summary)
    words = f"In the lead, one after the other: {' → '.join(led[-8:])}." if led else ""
    evidence = evidence_figure(summary)
    figures = [_figure("Channels left, over senses", candidates_figure(summary))]
    if evidence is not None:
        figures.append(_figure("Evidence against rivals in bits, over senses", evidence, _evidence_note(summary)))
    return section(
        "Course",
        f"{spent(summary)} {words}",
        tag("div", *figures, class_="pair" if len(figures) > 1 else None),
        folded("Table of the course", course_table(summary)),
    )


def _evidence_note(summary: Summary) -> str:
    tracks = rival_tracks(moments(summary.course))
    shown = min(len(tracks), MOST_RIVALS)
    few = f"the {shown} longest-lived of {len(tracks)} rivals" if shown < len(tracks) else "the rivals"
    return f"Bold: the least evidence against any rival, which has to pass the threshold. Thin: {few}."


def _figure(words: str, drawing: Html, note: str = "") -> Html:
    return tag("figure", tag("figcaption", words), drawing, tag("p", note, class_="note") if note else "")


def senses(summary: Summary) -> Html:
    """Where the senses went, channel by input."""
    channels, total = summary.channels, float(max(summary.result.senses, 1))
    most = max([1.0, *(float(channel.by_input.max()) for channel in channels)])
    blocks = [channels[i : i + BLOCK] for i in range(0, len(channels), BLOCK)]
    maps = [senses_map(block, most, total) for block in blocks]
    first = channels[0]
    rest = sum(map(len, blocks[OPEN_BLOCKS:]))
    return section(
        "Where the senses went",
        f"One row per channel, one column per input, the sum on the right; {brief(first.name, 30)} took"
        f" {percent(first.senses / total)} of all senses.",
        tag("div", *maps[:OPEN_BLOCKS], class_="blocks"),
        folded(several(rest, "more channel"), tag("div", *maps[OPEN_BLOCKS:], class_="blocks")) if rest else joined([]),
        folded("Table of senses", senses_table(channels)),
    )


def matrices(summary: Summary) -> Html:
    """What each channel does, best first; the first few with numbers, the rest folded, very many left out."""
    held, cells = [], 0
    for channel in summary.channels:
        cells += channel.counts.size
        if cells <= MOST_CELLS:
            held.append(channel)
    shown, rest = held[:OPEN_MATRICES], held[OPEN_MATRICES:]
    left_out = len(summary.channels) - len(held)
    return section(
        "The channels",
        "Relative frequencies: one row per input, one column per output, darker for more frequent.",
        tag("div", *(_matrix(channel, False) for channel in shown), class_="matrices"),
        _more(rest, "channel", lambda: tag("div", *(_matrix(channel, True) for channel in rest), class_="matrices")),
        tag("p", f"{several(left_out, 'more channel')} would make this page too large.") if left_out else joined([]),
    )


def _matrix(channel: Measured, compact: bool) -> Html:
    found = channel.estimate
    words = f"{bits(found.capacity)} bits" if found else "not estimated"
    drawing = matrix_map(channel.W_hat, channel.inputs, channel.outputs, f"Channel {channel.name}", compact=compact)
    caption = tag("figcaption", tag("b", brief(channel.name, 24)), tag("span", words))
    return tag("figure", caption, tag("div", drawing, class_="scroll"), data_name=channel.name)


def bound(summary: Summary, least: LeastSenses) -> Html:
    """The lower bound beside the senses that were used."""
    used = summary.result.senses
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


def reproduction(summary: Summary, version: str, about: Provenance) -> Html:
    """What it takes to get here again."""
    result = summary.result
    options = json.dumps(dict(result.audit.options), ensure_ascii=False, default=str)
    rows: list[tuple[str, object]] = [
        *([("policy", result.policy)] if result.policy else []),
        ("δ, ε", f"{result.delta:g}, {result.epsilon:g} bits"),
        *([("options", options)] if result.audit.options else []),
        ("guarantee", in_words(result.guarantee)),
        *_times(about),
        *about.more,
        ("data", tag("code", f"sha256:{summary.fingerprint}")),
        *([("check", tag("code", check))] if (check := checking(summary, about)) else []),
        ("made by", f"bestchannel {version}"),
    ]
    listed = tag("dl", *(tag("div", tag("dt", word), tag("dd", value)) for word, value in rows), class_="listed")
    again = tag("pre", tag("code", command(summary, about)), tabindex="0")
    return section("Reproduce it", "The same question again:", again, listed)


def _times(about: Provenance) -> list[tuple[str, object]]:
    """When it was measured and drawn, and which answers were corrected."""
    known = [("began", about.began), ("last answer", about.ended), ("drawn", about.drawn)]
    amended = ", ".join(map(str, about.amended))
    return [
        *((word, moment(time)) for word, time in known if time is not None),
        *([("amended", f"the answer to request {amended}, after it was told")] if amended else []),
    ]


def warnings(about: Provenance) -> tuple[Html, ...]:
    """What speaks against the data being as supposed, if anything does."""
    if not about.warnings:
        return ()
    return (section("Warning", "The recording is not as supposed.", *(tag("p", text) for text in about.warnings)),)


def section(title: str, words: str, *content: object) -> Html:
    """A heading, a sentence or two, and what they are about."""
    return tag("section", tag("h2", title), tag("p", words), *content)
