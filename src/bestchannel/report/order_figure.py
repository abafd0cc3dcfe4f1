"""The proved order of channels: for each, between which places it is."""

from __future__ import annotations

from collections.abc import Sequence

from bestchannel.intervals.proved_order import Rank
from bestchannel.report.interval_figure import LONGEST_LABEL, ROW, label_width
from bestchannel.report.markup import Html, lone, tag
from bestchannel.report.plot import Axis, bottom_axis, letters, picture
from bestchannel.report.wording import brief


def order_figure(ranks: Sequence[Rank], n_channels: int, title: str) -> Html:
    """One row per channel: a bar from the first place that it can have to the last, the largest estimate on top."""
    axis = Axis.over(0.5, n_channels + 0.5, lambda place: f"{place:g}", 6)
    return picture(
        *(_row(rank, number, axis) for number, rank in enumerate(ranks)),
        bottom_axis(axis),
        height=ROW * len(ranks),
        title=title,
        description="A bar goes from the first place that a channel can have to the last, 1 being the best.",
        left=label_width([rank.name for rank in ranks]),
        right=58,
        below=26,
    )


def _row(rank: Rank, number: int, axis: Axis) -> Html:
    middle = ROW * number + ROW // 2
    start = axis.place(rank.first - 0.4)
    width = 100.0 * (axis.share(rank.last + 0.4) - axis.share(rank.first - 0.4))
    return tag(
        "g",
        tag("title", f"{rank.name}: place {rank.words}"),
        letters(brief(rank.name, LONGEST_LABEL), x=-10, y=middle, dy="0.34em", class_="label end"),
        lone("rect", x=start, y=middle - 6, width=f"{width:.2f}%", height=12, rx=3, class_="normal"),
        letters(rank.words, x="100%", dx=10, y=middle, dy="0.34em", class_="value"),
        class_="row marked" if rank.first == 1 else "row",
        data_name=rank.name,
    )
