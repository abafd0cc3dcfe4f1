"""The paper's policy, Adaptive and the lower bound on the same channels, as the gap shrinks: numbers and picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bestchannel.policies import Adaptive, BestChanID
from bestchannel.report.figures import BLUE, GREEN, ORANGE, axes
from bestchannel.sensing.simulator import random_binary_channels
from bestchannel.study.planning import plan

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GAPS_NATS = (0.02, 0.03, 0.05, 0.08, 0.13, 0.2, 0.3)


@dataclass(frozen=True)
class Row:
    """Senses at one gap: of BestChanID as stated, of Adaptive (median and 95 %), and T* kl(δ, 1-δ)."""

    gap_nats: float
    best_chan_id: int
    adaptive: int
    adaptive_q95: int
    lower_bound: float


def side_by_side(
    seed: int, *, gaps_nats: Sequence[float] = GAPS_NATS, k: int = 10, delta: float = 0.01, runs: int = 40
) -> list[Row]:
    """k random binary channels for every gap, with `runs` simulated runs of Adaptive."""
    return [_row(gap, k, delta, runs, seed) for gap in gaps_nats]


def _row(gap: float, k: int, delta: float, runs: int, seed: int) -> Row:
    instance = random_binary_channels(np.random.default_rng(seed), k, gap)
    planned = plan({str(j): channel for j, channel in enumerate(instance.channels)}, delta=delta, runs=runs, seed=seed)
    needs = {need.policy: need for need in planned.needs}
    paper, adaptive = needs[BestChanID.name], needs[Adaptive.name]
    assert planned.bound is not None
    assert paper.senses is not None
    assert adaptive.senses is not None
    assert adaptive.q95 is not None
    return Row(gap, paper.senses, adaptive.senses, adaptive.q95, planned.bound.senses_lower_bound)


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
