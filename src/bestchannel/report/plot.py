"""Small SVG plots that are as wide as their page: positions along x are percentages, letters keep their size.

Curves cannot have percentages. They are drawn in a square of SIDE by SIDE units that is stretched over the plot,
with strokes that do not stretch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from bestchannel.report.markup import Html, joined, lone, tag
from bestchannel.report.wording import ticks

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
