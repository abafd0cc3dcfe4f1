"""Capacities with both their intervals, one row per channel."""

from __future__ import annotations

from collections.abc import Sequence
from unicodedata import east_asian_width

from bestchannel.intervals import ChannelEstimate
from bestchannel.report.markup import Html, joined, lone, shown, tag
from bestchannel.report.numerals import bits, several
from bestchannel.report.plot import Axis, bottom_axis, letters, picture
from bestchannel.report.wording import brief

ROW = 26
LONGEST_LABEL = 14
LETTER = 8.2
"""Pixels of a bold letter of a label, about; of a wide one (Chinese, say) twice as many."""


Row = tuple[str, ChannelEstimate | None]
"""A channel's name and what is known of it."""


def interval_figure(rows: Sequence[Row], marked: frozenset[str], title: str) -> Html:
    """One row per channel: the proved interval with caps, the approximate one as a bar, the estimate as a dot.

    Names in `marked` (the best, or the candidates) stand out.
    """
    axis = capacity_axis(rows)
    guides = [lone("line", x1=axis.place(m), x2=axis.place(m), y1="0", y2="100%", class_="grid") for m in axis.marks]
    return picture(
        *guides,
        *(_row(name, found, i, axis, name in marked) for i, (name, found) in enumerate(rows)),
        bottom_axis(axis),
        height=ROW * len(rows),
        title=title,
        description="A dot marks each estimate, a bar its approximate interval, a capped line its proved interval, in"
        " bits per channel use; the table below has the numbers.",
        left=label_width([name for name, _ in rows]),
        right=58,
        below=26,
    )


def label_width(names: Sequence[str]) -> int:
    """Pixels that the longest label needs."""
    labels = [brief(shown(name), LONGEST_LABEL) for name in names]
    widths = [sum(2 if east_asian_width(letter) in "WF" else 1 for letter in label) for label in labels]
    return int(14 + LETTER * max(widths))


def capacity_axis(rows: Sequence[Row]) -> Axis:
    """From the lowest to the highest end that is shown."""
    known = [found for _, found in rows if found]
    low = min((found.lower for found in known), default=0.0)
    high = max((found.upper for found in known), default=1.0)
    margin = 0.03 * (high - low)
    return Axis.over(max(low - margin, 0.0), high + margin, lambda value: f"{value:.3g}", 5)


def _row(name: str, found: ChannelEstimate | None, number: int, axis: Axis, marked: bool) -> Html:
    middle = ROW * number + ROW // 2
    content = [letters(brief(name, LONGEST_LABEL), x=-10, y=middle, dy="0.34em", class_="label end")]
    if found is None:
        content.append(letters("not estimated", x="100%", y=middle, dy="0.34em", class_="tick end"))
        return _hinted(content, number, name, f"{name}: not estimated", marked)
    content += _marks(found, axis, middle)
    content.append(letters(bits(found.capacity), x="100%", dx=10, y=middle, dy="0.34em", class_="value"))
    return _hinted(content, number, name, hint(name, found), marked)


def hint(name: str, estimate: ChannelEstimate) -> str:
    """All numbers of one row."""
    normal = estimate.asymptotic
    ends = f"{bits(normal.lower)} … {bits(normal.upper)}" if normal else f"withheld ({estimate.withheld})"
    return (
        f"{name}: {bits(estimate.capacity)} bits; proved {bits(estimate.lower)} … {bits(estimate.upper)};"
        f" approximate, not proved, {ends}; {several(estimate.senses, 'sense')}"
    )


def _hinted(content: Sequence[Html], number: int, name: str, words: str, marked: bool) -> Html:
    area = lone("rect", x="0", y=ROW * number, width="100%", height=ROW, class_="area")
    class_ = "row marked" if marked else "row"
    return tag("g", tag("title", words), area, *content, class_=class_, data_name=name)


def _marks(estimate: ChannelEstimate, axis: Axis, middle: int) -> list[Html]:
    low, high = axis.place(estimate.lower), axis.place(estimate.upper)
    return [
        _bar(estimate, axis, middle),
        lone("line", x1=low, x2=high, y1=middle, y2=middle, class_="proved"),
        *(lone("line", x1=end, x2=end, y1=middle - 5, y2=middle + 5, class_="proved") for end in (low, high)),
        lone("circle", cx=axis.place(estimate.capacity), cy=middle, r=4, class_="estimate"),
    ]


def _bar(estimate: ChannelEstimate, axis: Axis, middle: int) -> Html:
    """The asymptotic interval; nothing where it is withheld."""
    normal = estimate.asymptotic
    if normal is None:
        return joined([])
    width = 100.0 * max(axis.share(normal.upper) - axis.share(normal.lower), 0.0)
    return lone(
        "rect", x=axis.place(normal.lower), y=middle - 5, width=f"{width:.2f}%", height=10, rx=2, class_="normal"
    )


def legend() -> Html:
    """What dot, bar and line mean."""
    return tag(
        "p",
        _key("estimate", lone("circle", cx=12, cy=7, r=4, class_="estimate")),
        _key(
            "proved interval",
            joined(
                lone("line", x1=a, x2=b, y1=c, y2=d, class_="proved")
                for a, b, c, d in ((1, 23, 7, 7), (1, 1, 2, 12), (23, 23, 2, 12))
            ),
        ),
        _key("approximate, not proved", lone("rect", x=1, y=2, width=22, height=10, rx=2, class_="normal")),
        class_="legend",
    )


def _key(words: str, drawing: Html) -> Html:
    svg = tag("svg", drawing, width=24, height=14, aria_hidden="true", class_="marked")
    return tag("span", svg, words)
