"""The figures of [EBWGW24] drawn as there, with their labels corrected, and the pictures of the theory pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bestchannel.drawing import BLUE, ORANGE, RED, axes
from bestchannel.paper.reproduction import (
    CANDIDATES,
    CURVES,
    Fig1Row,
    Fig2Row,
    StatedFig1Row,
    published_break_even,
    published_fig2,
)
from bestchannel.paper.z_vs_bsc import ZRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLES = {"best-chan-id": "BestChanID", "naive": "NaiveChanSel", "median": "MedianChanEl"}

FIG1_COLOURS, FIG1_STYLES = {0.13: BLUE, 0.08: ORANGE}, {10: "-", 20: "--"}
FIG2_COLOURS = {"median": BLUE, "naive": ORANGE}
FIG2_STYLES: dict[tuple[float, float], Any] = {(0.1, 0.1): "-", (0.1, 0.6): (0, (1, 3, 3, 3)), (0.3, 0.1): "--"}


def figure_1(rows: Sequence[Fig1Row], *, spread: Sequence[StatedFig1Row] = ()) -> Figure:
    """Total senses against the confidence 1-δ; the rows of `spread` shade the fewest to the most of several runs."""
    figure, ax = axes()
    for k, gap in CANDIDATES:
        curve = [row for row in rows if (row["k"], row["gap"]) == (k, gap)]
        x, senses = [row["confidence"] for row in curve], [row["senses"] / 1e10 for row in curve]
        label = rf"$\Delta_{{\min}}={gap:g}$, $k={k}$"
        ax.plot(x, senses, color=FIG1_COLOURS[gap], linestyle=FIG1_STYLES[k], linewidth=1.6, label=label)
        runs = [row for row in spread if (row["k"], row["gap"]) == (k, gap)]
        fewest, most = [row["fewest"] / 1e10 for row in runs], [row["most"] / 1e10 for row in runs]
        ax.fill_between([row["confidence"] for row in runs], fewest, most, color=FIG1_COLOURS[gap], alpha=0.12)
    ax.set(xlim=(0.4755, 1.0145), xlabel=r"confidence level $1-\delta$")
    ax.set_ylabel(r"total number of channel senses ($10^{10}$)")
    ax.legend(ncols=2, loc="upper left")
    return figure


def figure_2(rows: Sequence[Fig2Row], *, break_even: bool) -> Figure:
    """Total senses against the number of channels; with `break_even`, red circles where the published curves cross."""
    figure, ax = axes()
    for algorithm, epsilon, delta in CURVES:
        curve = [row for row in rows if (row["algorithm"], row["epsilon"], row["delta"]) == (algorithm, epsilon, delta)]
        style, colour = FIG2_STYLES[epsilon, delta], FIG2_COLOURS[algorithm]
        x, senses = [row["k"] for row in curve], [row["senses"] for row in curve]
        ax.plot(x, senses, color=colour, linestyle=style, linewidth=1.6, marker="x", markersize=6)
    if break_even:
        crossings = [(published_break_even(e, d), e, d) for e, d in FIG2_STYLES]
        heights = [published_fig2("median", e, d, k) for k, e, d in crossings]
        ax.plot([k for k, _, _ in crossings], heights, "o", color=RED, fillstyle="none", markersize=8)
    ax.set(xscale="log", yscale="log", xlabel="number of channels", ylabel="total number of channel senses")
    _figure_2_legends(ax, break_even)
    return figure


def _figure_2_legends(ax: Axes, break_even: bool) -> None:
    from matplotlib.lines import Line2D  # deferred, as in `axes`

    owners = [Line2D([], [], color=FIG2_COLOURS[name], marker="x", label=TITLES[name]) for name in FIG2_COLOURS]
    if break_even:
        owners.append(
            Line2D([], [], color=RED, marker="o", fillstyle="none", linestyle="", label="break-even of these formulas")
        )
    parameters = [
        Line2D([], [], color="black", linestyle=style, label=rf"$\epsilon={e:g}$, $\delta={d:g}$")
        for (e, d), style in FIG2_STYLES.items()
    ]
    ax.add_artist(ax.legend(handles=owners, loc="upper left"))
    ax.legend(handles=parameters, loc="lower right")


def figure_z_vs_bsc(rows: Sequence[ZRow]) -> Figure:
    """The gap of a nearly-Z-channel and a BSC against their divergence, as the leak vanishes."""
    figure, ax = axes()
    leaks = [row["leak"] for row in rows]
    ax.plot(leaks, [row["gap"] for row in rows], color=BLUE, marker="o", label="gap of the capacities, bits")
    ax.set(xscale="log", yscale="log", xlabel="leak of the Z-channel")
    ax.invert_xaxis()
    ax.set_ylabel("gap, bits", color=BLUE)
    right = ax.twinx()
    right.plot(leaks, [row["divergence"] for row in rows], color=ORANGE, marker="s")
    right.set_ylabel("smallest relabelled divergence, nats", color="#b36b00")
    right.set_ylim(bottom=0)
    return figure
