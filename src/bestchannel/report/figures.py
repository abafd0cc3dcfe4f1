"""The figures of the report with matplotlib: for papers and slides, as PNG, SVG, PDF or a `Figure` to work on.

>>> sorted(KINDS)
['candidates', 'capacities', 'channels', 'evidence', 'senses']
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from bestchannel.disk import errors_naming, write_bytes
from bestchannel.drawing import UNDATED, Form, axes, picture, require_matplotlib
from bestchannel.errors import InputError
from bestchannel.intervals import Estimate
from bestchannel.policies import Identification
from bestchannel.report.charts import lasting, least_evidence, rival_tracks
from bestchannel.report.markup import brief, shown
from bestchannel.report.summary import Measured, Summary, summarise

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Kind = Literal["capacities", "candidates", "evidence", "senses", "channels"]

OF_A_COURSE = ("candidates", "evidence")  # what is drawn over senses, request by request
ACCENT, MUTED = "#1d5bd6", "#59606d"
MOST_ROWS, MOST_MATRICES = 30, 12  # channels of one figure: the best, first


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
