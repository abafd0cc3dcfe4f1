"""The picture of how many senses the paper's policy, Adaptive and any policy need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bestchannel.report.drawing import BLUE, GREEN, ORANGE, axes
from bestchannel.study.side_by_side import Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figure_side_by_side(rows: Sequence[Row]) -> Figure:
    """Senses against the gap, both logarithmic; the band reaches to the 95th percentile of Adaptive."""
    figure, ax = axes()
    gaps = [row.gap_nats for row in rows]
    ax.plot(gaps, [row.best_chan_id for row in rows], "s-", color=ORANGE, label="BestChanID, as stated in the paper")
    ax.plot(gaps, [row.adaptive for row in rows], "o-", color=BLUE, label="Adaptive, the same guarantee")
    ax.fill_between(
        gaps, [row.adaptive for row in rows], [row.adaptive_q95 for row in rows], color=BLUE, alpha=0.2, linewidth=0
    )
    ax.plot(gaps, [row.lower_bound for row in rows], "--", color=GREEN, label="no policy needs fewer: T*·kl(δ, 1−δ)")
    ax.set(xscale="log", yscale="log", xlabel="gap between the two best channels (nats)", ylabel="senses")
    ax.set_xticks(gaps, [f"{gap:g}" for gap in gaps])
    ax.minorticks_off()
    ax.legend(loc="center right")
    return figure
