"""One row per channel: its capacity with both intervals, drawn and as a table, and the places that it can have."""

from __future__ import annotations

from collections.abc import Sequence
from unicodedata import east_asian_width

from bestchannel.intervals import ChannelEstimate
from bestchannel.intervals.verdict import Rank
from bestchannel.report.markup import Html, Sortable, joined, lone, shown, table, tag
from bestchannel.report.plot import Axis, bottom_axis, letters, picture
from bestchannel.report.summary import Measured
from bestchannel.report.wording import bits, brief, several, whole

ROW = 26
LONGEST_LABEL = 14
LETTER = 8.2
"""Pixels of a bold letter of a label, about; of a wide one (Chinese, say) twice as many."""

Row = tuple[str, ChannelEstimate | None]
"""A channel's name and what is known of it."""


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


def capacity_table(channels: Sequence[Measured], values: str) -> Html:
    """Estimates and both intervals."""
    heads = ["channel", "estimate, bits", "proved interval", "approximate, not proved", "senses", "ruled out after"]
    return table(f"{values} in bits per channel use", heads, map(_capacity_cells, channels), by_name=True)


def _capacity_cells(channel: Measured) -> list[object]:
    after, known = channel.ruled_out_after, channel.estimate
    rough = known.asymptotic if known else None
    keys = (*((known.capacity, known.lower) if known else (-1.0, -1.0)), rough.lower if rough else -1.0)
    intervals = [Sortable(words, key) for words, key in zip(interval_cells(known), keys, strict=True)]
    last = Sortable("–", 1e300) if after is None else Sortable(several(after, "sense"), float(after))
    return [channel.name, *intervals, Sortable(whole(channel.senses), float(channel.senses)), last]


def interval_cells(estimate: ChannelEstimate | None) -> list[str]:
    """The estimate and both intervals of one channel."""
    if estimate is None:
        return ["–"] * 3
    rough = estimate.asymptotic
    proved = f"{bits(estimate.lower)} … {bits(estimate.upper)}"
    return [bits(estimate.capacity), proved, f"{bits(rough.lower)} … {bits(rough.upper)}" if rough else "withheld"]
