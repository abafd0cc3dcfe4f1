"""SVG charts that are as wide as their page: axes and curves, one row per channel, and how an identification went.

Positions along x are percentages, letters keep their size. Curves cannot have percentages: they are drawn in a square
of SIDE by SIDE units that is stretched over the plot, with strokes that do not stretch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from unicodedata import east_asian_width

from bestchannel.information import NATS_PER_BIT
from bestchannel.intervals import ChannelEstimate
from bestchannel.intervals.verdict import Rank
from bestchannel.policies import Status
from bestchannel.report.markup import (
    Html,
    Sortable,
    bits,
    brief,
    joined,
    lone,
    several,
    short,
    shown,
    table,
    tag,
    ticks,
    whole,
)
from bestchannel.report.summary import Measured, Summary

SIDE = 4000


@dataclass(frozen=True)
class Axis:
    """From where to where, the numbers that are marked, and how they are written."""

    low: float
    high: float
    marks: tuple[float, ...]
    written: Callable[[float], str]

    @classmethod
    def over(cls, low: float, high: float, written: Callable[[float], str], wanted: int = 5) -> Axis:
        """The axis with round marks."""
        high = high if high > low else low + 1.0
        return cls(low, high, tuple(ticks(low, high, wanted)), written)

    def share(self, value: float) -> float:
        """How far along the axis the value is, from 0 to 1."""
        return min(max((value - self.low) / (self.high - self.low), -1.0), 2.0)

    def place(self, value: float) -> str:
        """The value as an x position."""
        return f"{100.0 * self.share(value):.2f}%"

    def height(self, value: float) -> str:
        """The value as a y position: the axis points up."""
        return f"{100.0 * (1.0 - self.share(value)):.2f}%"


def curve(
    points: Iterable[tuple[float, float]], x: Axis, y: Axis, class_: str, *, closed_at: float | None = None
) -> Html:
    """A line through the points, or the area between it and the height `closed_at`."""
    corners = [(f"{SIDE * x.share(a):.0f}", f"{SIDE * (1.0 - y.share(b)):.0f}") for a, b in points]
    if not corners:
        return joined([])
    if closed_at is not None:
        floor = f"{SIDE * (1.0 - y.share(closed_at)):.0f}"
        corners += [(corners[-1][0], floor), (corners[0][0], floor)]
    path = "M" + "L".join(map(" ".join, corners))
    return lone("path", d=path if closed_at is None else f"{path}Z", class_=class_)


def stairs(points: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """The corners of a line that keeps its height until the next point."""
    corners: list[tuple[float, float]] = []
    for a, b in points:
        if corners:
            corners.append((a, corners[-1][1]))
        corners.append((a, b))
    return corners


def stretched(*curves: Html) -> Html:
    """Curves over the whole plot, cut off at its edges."""
    return tag("svg", *curves, viewBox=f"0 0 {SIDE} {SIDE}", preserveAspectRatio="none", width="100%", height="100%")


def picture(*content: object, height: int, title: str, description: str, left: int, right: int, below: int = 0) -> Html:
    """An SVG with room for letters on its sides, and a name and a description for those who do not see it."""
    words = tag("title", title), tag("desc", description)
    svg = tag("svg", *words, *content, role="img", width="100%", height=height)
    return tag("div", svg, class_="plot", style=f"padding:4px {right}px {below}px {left}px")


def framed(*content: object, x: Axis, y: Axis, title: str, description: str, height: int = 220) -> Html:
    """A plot over senses or the like: grid, numbers on both axes, content in between."""
    sides = {"left": 12 + 7 * max(len(y.written(mark)) for mark in y.marks), "right": 14, "below": 26}
    return picture(
        *(lone("line", x1="0", x2="100%", y1=y.height(m), y2=y.height(m), class_="grid") for m in y.marks),
        *(letters(y.written(m), x=-8, y=y.height(m), dy="0.32em", class_="tick end") for m in y.marks),
        bottom_axis(x),
        *content,
        height=height,
        title=title,
        description=description,
        **sides,
    )


def bottom_axis(x: Axis) -> Html:
    """The numbers below a plot."""
    return joined(letters(x.written(m), x=x.place(m), y="100%", dy=19, class_="tick middle") for m in x.marks)


def dot(x: str, y: str, class_: str, hint: str, radius: float = 4.0) -> Html:
    """A point with a hint."""
    return lone("circle", tag("title", hint), cx=x, cy=y, r=f"{radius:g}", class_=class_)


def bands(hints: Sequence[tuple[float, str]], x: Axis) -> list[Html]:
    """Hints along a curve: what holds from a point to the next, wherever in between the pointer is."""
    ends = [*(senses for senses, _ in hints[1:]), x.high]
    widths = [100.0 * max(x.share(end) - x.share(start), 0.0) for (start, _), end in zip(hints, ends, strict=True)]
    size = {"height": "100%", "class_": "area"}
    return [
        tag("g", tag("title", hint), lone("rect", x=x.place(start), width=f"{width:.2f}%", **size))
        for (start, hint), width in zip(hints, widths, strict=True)
        if width >= 0.2
    ]


def letters(content: str, **attributes: object) -> Html:
    """Text at a place of the plot."""
    return tag("text", content, **attributes)


ROW = 26
LONGEST_LABEL = 14
LETTER = 8.2  # pixels of a bold letter of a label, about; of a wide one (Chinese, say) twice as many
Row = tuple[str, ChannelEstimate | None]  # a channel's name and what is known of it


def label_width(names: Sequence[str]) -> int:
    """Pixels that the longest label needs."""
    labels = [brief(shown(name), LONGEST_LABEL) for name in names]
    widths = [sum(2 if east_asian_width(letter) in "WF" else 1 for letter in label) for label in labels]
    return int(14 + LETTER * max(widths))


def label(name: str, middle: int) -> Html:
    """The name of a channel to the left of its row."""
    return letters(brief(name, LONGEST_LABEL), x=-10, y=middle, dy="0.34em", class_="label end")


def interval_figure(rows: Sequence[Row], marked: frozenset[str], title: str, line: float | None = None) -> Html:
    """One row per channel: the proved interval with caps, the approximate one as a bar, the estimate as a dot.

    Names in `marked` (the best, or the candidates) stand out; a level, if there is one, is drawn through all rows.
    """
    known = [estimate for _, estimate in rows if estimate]
    levels = [] if line is None else [line]
    low = min([*levels, *(estimate.lower for estimate in known)], default=0.0)
    high = max([*levels, *(estimate.upper for estimate in known)], default=1.0)
    margin = 0.03 * (high - low)
    axis = Axis.over(max(low - margin, 0.0), high + margin, lambda value: f"{value:.3g}", 5)
    guides = [lone("line", x1=axis.place(m), x2=axis.place(m), y1="0", y2="100%", class_="grid") for m in axis.marks]
    guides += [lone("line", x1=axis.place(m), x2=axis.place(m), y1="0", y2="100%", class_="level") for m in levels]
    drawn = [_interval_row(name, estimate, i, axis, name in marked) for i, (name, estimate) in enumerate(rows)]
    about = (
        "A dot marks each estimate, a bar its approximate interval, a capped line its proved interval, in bits per"
        " channel use; the table below has the numbers."
    )
    return _rows([name for name, _ in rows], [*guides, *drawn], axis, title, about)


def order_figure(ranks: Sequence[Rank], n_channels: int, title: str) -> Html:
    """One row per channel: a bar from the first place that it can have to the last, the largest estimate on top."""
    axis = Axis.over(0.5, n_channels + 0.5, lambda place: f"{place:g}", 6)
    drawn = [_order_row(rank, number, axis) for number, rank in enumerate(ranks)]
    about = "A bar goes from the first place that a channel can have to the last, 1 being the best."
    return _rows([rank.name for rank in ranks], drawn, axis, title, about)


def _rows(names: Sequence[str], content: Sequence[Html], axis: Axis, title: str, about: str) -> Html:
    sides = {"left": label_width(names), "right": 58, "below": 26}
    return picture(*content, bottom_axis(axis), height=ROW * len(names), title=title, description=about, **sides)


def _row(name: str, hint: str, marked: bool, *content: object) -> Html:
    return tag("g", tag("title", hint), *content, class_="row marked" if marked else "row", data_name=name)


def _value(words: str, middle: int) -> Html:
    return letters(words, x="100%", dx=10, y=middle, dy="0.34em", class_="value")


def _order_row(rank: Rank, number: int, axis: Axis) -> Html:
    middle = ROW * number + ROW // 2
    bar = _bar(axis, rank.first - 0.4, rank.last + 0.4, y=middle - 6, height=12, rx=3)
    hint = f"{rank.name}: place {rank.words}"
    return _row(rank.name, hint, rank.first == 1, label(rank.name, middle), bar, _value(rank.words, middle))


def _interval_row(name: str, estimate: ChannelEstimate | None, number: int, axis: Axis, marked: bool) -> Html:
    middle = ROW * number + ROW // 2
    area = lone("rect", x="0", y=ROW * number, width="100%", height=ROW, class_="area")
    if estimate is None:
        words = letters("not estimated", x="100%", y=middle, dy="0.34em", class_="tick end")
        return _row(name, f"{name}: not estimated", marked, area, label(name, middle), words)
    low, high, rough = axis.place(estimate.lower), axis.place(estimate.upper), estimate.asymptotic
    ends = f"{bits(rough.lower)} … {bits(rough.upper)}" if rough else f"withheld ({estimate.withheld})"
    hint = (
        f"{name}: {bits(estimate.capacity)} bits; proved {bits(estimate.lower)} … {bits(estimate.upper)};"
        f" approximate, not proved, {ends}; {several(estimate.senses, 'sense')}"
    )
    marks = [
        _bar(axis, rough.lower, rough.upper, y=middle - 5, height=10, rx=2) if rough else "",
        lone("line", x1=low, x2=high, y1=middle, y2=middle, class_="proved"),
        *(lone("line", x1=end, x2=end, y1=middle - 5, y2=middle + 5, class_="proved") for end in (low, high)),
        lone("circle", cx=axis.place(estimate.capacity), cy=middle, r=4, class_="estimate"),
    ]
    return _row(name, hint, marked, area, label(name, middle), *marks, _value(bits(estimate.capacity), middle))


def _bar(axis: Axis, low: float, high: float, *, y: int, height: int, rx: int) -> Html:
    width = 100.0 * max(axis.share(high) - axis.share(low), 0.0)
    return lone("rect", x=axis.place(low), y=y, width=f"{width:.2f}%", height=height, rx=rx, class_="normal")


def legend() -> Html:
    """What dot, bar and line mean."""
    dot = lone("circle", cx=12, cy=7, r=4, class_="estimate")
    lines = ((1, 23, 7, 7), (1, 1, 2, 12), (23, 23, 2, 12))
    proved = joined(lone("line", x1=a, x2=b, y1=c, y2=d, class_="proved") for a, b, c, d in lines)
    bar = lone("rect", x=1, y=2, width=22, height=10, rx=2, class_="normal")
    keys = {"estimate": dot, "proved interval": proved, "approximate, not proved": bar}
    return tag(
        "p",
        *(
            tag("span", tag("svg", drawing, width=24, height=14, aria_hidden="true", class_="marked"), words)
            for words, drawing in keys.items()
        ),
        class_="legend",
    )


def capacity_table(summary: Summary) -> Html:
    """Estimates and both intervals."""
    heads = ["channel", "estimate, bits", "proved interval", "approximate, not proved", "senses", "ruled out after"]
    rows = [_capacity_cells(channel, summary.unit) for channel in summary.channels]
    return table(f"{summary.values} in bits per channel use", heads, rows, by_name=True)


def _capacity_cells(channel: Measured, unit: str) -> list[object]:
    after, known = channel.ruled_out_after, channel.estimate
    rough = known.asymptotic if known else None
    keys = (*((known.capacity, known.lower) if known else (-1.0, -1.0)), rough.lower if rough else -1.0)
    intervals = [Sortable(words, key) for words, key in zip(interval_cells(known), keys, strict=True)]
    last = Sortable("–", 1e300) if after is None else Sortable(several(after, unit), float(after))
    return [channel.name, *intervals, Sortable(whole(channel.senses), float(channel.senses)), last]


def interval_cells(estimate: ChannelEstimate | None) -> list[str]:
    """The estimate and both intervals of one channel."""
    if estimate is None:
        return ["–"] * 3
    rough = estimate.asymptotic
    proved = f"{bits(estimate.lower)} … {bits(estimate.upper)}"
    return [bits(estimate.capacity), proved, f"{bits(rough.lower)} … {bits(rough.upper)}" if rough else "withheld"]


MOST_MOMENTS = 200  # points of a curve; of a longer course, every second or third moment and so on, and always the last
MOST_RIVALS = 16


def moments(course: Sequence[Status]) -> list[Status]:
    """The whole course, or so many moments of it that a curve needs no more."""
    stride = -(-len(course) // MOST_MOMENTS) or 1
    return [status for i, status in enumerate(course) if (len(course) - 1 - i) % stride == 0]


def candidates_figure(summary: Summary) -> Html:
    """The number of channels not ruled out, against the senses spent."""
    k, course = len(summary.channels), moments(summary.course)
    points: list[tuple[float, float]] = [(0.0, k), *((status.senses, len(status.candidates)) for status in course)]
    # round numbers and k itself, which its neighbours give room
    marks = [mark for mark in ticks(0, k, 4) if mark == round(mark) and mark < 0.88 * k] + [float(k)]
    x, y = _senses_axis(summary), Axis(0.0, float(k), tuple(marks), lambda value: f"{value:.0f}")
    line, last = stairs(points), points[-1]
    hints = [(spent, f"{whole(left)} left after {several(spent, summary.unit)}") for spent, left in points]
    return framed(
        stretched(curve(line, x, y, "shade", closed_at=0.0), curve(line, x, y, "line")),
        *bands(hints, x),
        dot(x.place(last[0]), y.height(last[1]), "now", hints[-1][1]),
        x=x,
        y=y,
        title=f"Channels left, against {summary.unit}s",
        description=f"From {several(k, 'channel')} to {last[1]:.0f} after {several(last[0], summary.unit)}.",
    )


def evidence_figure(summary: Summary) -> Html | None:
    """The evidence against rivals, in bits, and its least: None where a policy weighs none.

    The leader of the moment is the best once the least evidence against any rival passes the threshold.
    """
    course, names = moments(summary.course), summary.names
    least, tracks = least_evidence(course), lasting(rival_tracks(course))
    if not least:
        return None
    top = 1.3 * max([w.threshold for w in least] + [0.1])  # some room above the threshold
    low = min([0.0] + [w.evidence for w in least] + [w.evidence for track in tracks for w in track])
    x, y = _senses_axis(summary), Axis.over(max(low, -top), top, lambda value: f"{value:.3g}")
    bar = [(0.0, least[0].threshold), *((w.senses, w.threshold) for w in least)]
    curves = [curve([(w.senses, w.evidence) for w in track], x, y, "rival") for track in tracks]
    curves += [curve([(w.senses, w.evidence) for w in least], x, y, "line"), curve(bar, x, y, "threshold")]
    last = least[-1]

    def end(moment: Weighed, class_: str, radius: float) -> Html:
        height = y.height(min(max(moment.evidence, y.low), y.high))
        return dot(x.place(moment.senses), height, class_, _standing(moment, summary), radius)

    return framed(
        stretched(*curves),
        *bands([(w.senses, _standing(w, summary)) for w in least], x),
        letters("threshold", x=0, y=y.height(bar[0][1]), dx=4, dy=-6, class_="tick"),
        *(end(track[-1], "end-of-rival", 3.0) for track in tracks),
        end(last, "now", 4.0),
        x=x,
        y=y,
        title=f"Evidence against rivals, in bits, against {summary.unit}s",
        description=f"After {several(last.senses, summary.unit)} the least evidence, against {names[last.rival]}, is"
        f" {last.evidence:.3g} bits; it has to pass {last.threshold:.3g} bits.",
    )


@dataclass(frozen=True)
class Weighed:
    """The evidence against a rival at one moment, in bits, and what it has to reach."""

    rival: int
    senses: int
    evidence: float
    threshold: float

    @property
    def ahead(self) -> float:
        """How far the evidence is beyond what it has to reach."""
        return self.evidence - self.threshold


def weighed(status: Status) -> list[Weighed]:
    """The evidence against every rival that the policy weighs at this moment."""
    pairs = [(r, nats, status.threshold_nats.get(r, math.nan)) for r, nats in status.evidence_nats.items()]
    return [
        Weighed(rival, status.senses, evidence / NATS_PER_BIT, threshold / NATS_PER_BIT)
        for rival, evidence, threshold in pairs
        if math.isfinite(evidence) and math.isfinite(threshold)
    ]


def hardest(status: Status) -> Weighed | None:
    """The rival that is farthest from its threshold at this moment; None where the policy weighs none."""
    return min(weighed(status), key=lambda w: w.ahead, default=None)


def least_evidence(course: Sequence[Status]) -> list[Weighed]:
    """At every moment the rival that is farthest from its threshold."""
    return [least for least in map(hardest, course) if least]


def rival_tracks(course: Sequence[Status]) -> list[list[Weighed]]:
    """What was held against each rival of the present leader, moment after moment, whoever led at the time."""
    tracks: dict[int, list[Weighed]] = {}
    for status in course:
        for moment in weighed(status):
            tracks.setdefault(moment.rival, []).append(moment)
    return [track for rival, track in tracks.items() if rival != course[-1].leader]


def lasting(tracks: Sequence[list[Weighed]]) -> list[list[Weighed]]:
    """The rivals that were weighed to the last, and of those the ones with the least evidence."""
    return sorted(tracks, key=lambda track: (-track[-1].senses, track[-1].ahead))[:MOST_RIVALS]


def leaders(summary: Summary) -> list[str]:
    """Who led, one after the other."""
    names = summary.names
    return [brief(names[leader], 20) for leader, _ in groupby(s.leader for s in summary.course) if leader is not None]


def course_table(summary: Summary) -> Html:
    """Step after step: candidates, leader, and the evidence against the rival that is hardest to rule out."""
    heads = ["request", f"{summary.unit}s", "channels left", "leader", "hardest rival"]
    heads += ["evidence, bits", "threshold, bits"]
    rows = [_course_cells(status, summary.names) for status in moments(summary.course)]
    return table("The course of the identification", heads, rows)


def _course_cells(status: Status, names: Sequence[str]) -> list[object]:
    leader = "–" if status.leader is None else brief(names[status.leader])
    least = hardest(status)
    rival = (
        ["–"] * 3 if least is None else [brief(names[least.rival]), f"{least.evidence:.2f}", f"{least.threshold:.2f}"]
    )
    return [status.requests, whole(status.senses), len(status.candidates), leader, *rival]


def _standing(moment: Weighed, summary: Summary) -> str:
    passed = moment.evidence >= moment.threshold
    standing = "passed the threshold" if passed else f"the threshold is {moment.threshold:.3g}"
    after = several(moment.senses, summary.unit)
    return f"{summary.names[moment.rival]}: {moment.evidence:.3g} bits after {after}, {standing}"


def _senses_axis(summary: Summary) -> Axis:
    return Axis.over(0.0, float(max(summary.senses, 1)), short, 4)
