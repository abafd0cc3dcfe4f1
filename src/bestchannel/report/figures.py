"""Figures with matplotlib, without its global state: those of a report, for papers and slides, and those of the paper.

As PNG, SVG, PDF, whose bytes are equal for equal figures, or a `Figure` to work on.

>>> sorted(KINDS)
['candidates', 'capacities', 'channels', 'evidence', 'senses']
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bestchannel.disk import errors_naming, write_bytes
from bestchannel.errors import InputError, MissingExtraError
from bestchannel.intervals import Estimate
from bestchannel.paper import CURVES, SETTINGS, Fig1Row, Fig2Row, StatedFig1Row, published_break_even, published_fig2
from bestchannel.policies import Identification
from bestchannel.report.charts import lasting, least_evidence, rival_tracks
from bestchannel.report.markup import brief, shown
from bestchannel.report.summary import Measured, Summary, summarise

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Kind = Literal["capacities", "candidates", "evidence", "senses", "channels"]

OF_A_COURSE = ("candidates", "evidence")  # what is drawn over senses, request by request
ACCENT, MUTED = "#1d5bd6", "#59606d"
MOST_ROWS, MOST_MATRICES = 30, 12  # channels of one figure: the best, first

BLUE, ORANGE, GREEN, RED = "#0000ff", "#ffa500", "#2a7f3f", "#ff0000"
GRID = "#b0b0b0"


def require_matplotlib() -> None:
    """Raise `MissingExtraError` where nothing can be drawn; asked before long work, it saves that work."""
    try:
        import matplotlib.figure  # noqa: F401  deferred: an optional package, and slow to import
    except ImportError:
        raise MissingExtraError("drawing a figure", "plots") from None


def axes(*, width: float = 6.4, height: float = 4.2) -> tuple[Figure, Axes]:
    """An empty figure of that many inches with one pair of axes and a grey grid."""
    require_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    ax = figure.add_subplot()
    ax.grid(color=GRID, linewidth=0.6)
    ax.set_axisbelow(True)
    return figure, ax


Form = Literal["png", "svg", "pdf"]

UNDATED: dict[Form, dict[str, str | None]] = {
    "png": {"Software": None},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
"""What matplotlib would write into a file of itself and of the day."""


def picture(figure: Figure, kind: Form) -> bytes:
    """The figure as a file, without a date, so that the same figure gives the same bytes."""
    from matplotlib import rc_context

    out = BytesIO()
    with rc_context({"svg.hashsalt": "bestchannel", "svg.fonttype": "none"}):
        figure.savefig(out, format=kind, dpi=120, metadata=UNDATED[kind])
    return out.getvalue()


def draw(result: Identification | Estimate, kind: Kind = "capacities") -> Figure:
    """One figure of an identification, or of an estimate.

    `capacities` with both intervals; the `candidates` left, and the `evidence` against rivals, over senses; the
    `senses` of each input; the matrices of the best `channels`. Of an estimate there is no course to draw.
    """
    if kind not in KINDS:
        raise InputError(f"the kind of a figure must be one of {', '.join(KINDS)}; it is {kind!r}")
    require_matplotlib()
    if not isinstance(result, Identification | Estimate):
        raise InputError(f"figures are drawn of an Identification or an Estimate; this is a {type(result).__name__}")
    if isinstance(result, Estimate) and kind in OF_A_COURSE:
        raise InputError(f"an estimate has no course, so there are no {kind} to draw; draw capacities of it")
    if isinstance(result, Identification) and not result.audit.steps:
        raise InputError("nothing has been sensed yet, so there is nothing to draw")
    return KINDS[kind](summarise(result))


def save(result: Identification | Estimate, kind: Kind, path: str | os.PathLike[str]) -> None:
    """Write the figure to a .png, .svg or .pdf file; the same result gives the same bytes."""
    target = Path(path)
    with errors_naming(target):
        forms: dict[str, Form] = {f".{form}": form for form in UNDATED}
        if target.suffix.lower() not in forms:
            raise InputError("a figure is written as .png, .svg or .pdf, and this name ends otherwise")
        write_bytes(target, picture(draw(result, kind), forms[target.suffix.lower()]))


def _capacities(summary: Summary) -> Figure:
    channels = [channel for channel in summary.channels if channel.estimate][:MOST_ROWS]
    figure, ax = axes(height=1.0 + 0.26 * len(channels))
    for row, channel in enumerate(channels):
        known, colour = channel.estimate, ACCENT if channel.ruled_out_after is None else MUTED
        assert known  # filtered above
        ax.plot([known.lower, known.upper], [row, row], "|-", color=colour, linewidth=1.2, markersize=8)
        if rough := known.asymptotic:
            ends = [rough.lower, rough.upper]
            ax.plot(ends, [row, row], color=colour, alpha=0.3, linewidth=7, solid_capstyle="butt")
        ax.plot(known.capacity, row, "o", color=colour, markersize=5)
    ax.set_yticks(range(len(channels)), [_label(channel) for channel in channels])
    ax.invert_yaxis()
    ax.set_xlabel(f"{summary.quantity}, bits per channel use (line: proved; bar: approximate, not proved)")
    return figure


def _candidates(summary: Summary) -> Figure:
    figure, ax = axes()
    senses = [0, *(status.senses for status in summary.course)]
    left = [len(summary.channels), *(len(status.candidates) for status in summary.course)]
    ax.step(senses, left, where="post", color=ACCENT, linewidth=1.8)
    ax.set_ylim(bottom=0)
    ax.set(xlabel="senses", ylabel="channels left")
    return figure


def _evidence(summary: Summary) -> Figure:
    least = least_evidence(summary.course)
    if not least:
        raise InputError(f"the policy {summary.policy} weighs no evidence, so there is none to draw")
    figure, ax = axes()
    for track in lasting(rival_tracks(summary.course)):
        ax.plot([w.senses for w in track], [w.evidence for w in track], color=MUTED, alpha=0.4, linewidth=0.8)
    x = [w.senses for w in least]
    ax.plot(x, [w.evidence for w in least], color=ACCENT, linewidth=1.8, label="least evidence against a rival")
    ax.plot(x, [w.threshold for w in least], "--", color="black", linewidth=1.2, label="threshold")
    ax.set(xlabel="senses", ylabel="evidence, bits")
    ax.legend()
    return figure


def _senses(summary: Summary) -> Figure:
    channels = summary.channels[:MOST_ROWS]
    table = np.full((len(channels), max(len(channel.inputs) for channel in channels)), np.nan)
    for row, channel in enumerate(channels):
        table[row, : len(channel.inputs)] = channel.by_input
    figure, ax = axes(width=2.6 + 0.5 * table.shape[1], height=1.0 + 0.24 * len(channels))
    ax.grid(visible=False)
    shaded = ax.imshow(table, cmap="Blues", vmin=0, aspect="auto")
    ax.set_xticks(range(table.shape[1]))
    ax.set_yticks(range(len(channels)), [_label(channel) for channel in channels])
    ax.set_xlabel("input")
    figure.colorbar(shaded, label="senses")
    return figure


def _channels(summary: Summary) -> Figure:
    from matplotlib.figure import Figure  # deferred: an optional package

    channels = summary.channels[:MOST_MATRICES]
    across = min(len(channels), 4)
    down = -(-len(channels) // across)
    figure = Figure(figsize=(1.9 * across + 0.4, 2.1 * down), layout="constrained")
    for place, channel in enumerate(channels, start=1):
        ax = figure.add_subplot(down, across, place)
        ax.imshow(channel.W_hat, cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto")
        ax.set(xticks=[], yticks=[], xlabel="output", ylabel="input")
        ax.set_title(_label(channel), fontsize="medium")
    return figure


def _label(channel: Measured) -> str:
    return brief(shown(channel.name), 20).replace("$", r"\$")  # dollars would begin a formula


KINDS: dict[str, Callable[[Summary], Figure]] = {
    "capacities": _capacities,
    "candidates": _candidates,
    "evidence": _evidence,
    "senses": _senses,
    "channels": _channels,
}


TITLES = {"best-chan-id": "BestChanID", "naive": "NaiveChanSel", "median": "MedianChanEl"}

FIG1_COLOURS, FIG1_STYLES = {0.13: BLUE, 0.08: ORANGE}, {10: "-", 20: "--"}
FIG2_COLOURS = {"median": BLUE, "naive": ORANGE}
FIG2_STYLES: dict[tuple[float, float], Any] = {(0.1, 0.1): "-", (0.1, 0.6): (0, (1, 3, 3, 3)), (0.3, 0.1): "--"}


def figure_1(rows: Sequence[Fig1Row], *, spread: Sequence[StatedFig1Row] = ()) -> Figure:
    """Total senses against the confidence 1-δ; the rows of `spread` shade the fewest to the most of several runs."""
    figure, ax = axes()
    for k, gap in SETTINGS:
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
