"""How the cost of the paper's policies grows, measured by running them, beside what Theorems 1 to 3 say.

One quantity is varied at a time: the gap (for the two PAC policies the accuracy ε), log 1/δ, the number of channels,
the size of the alphabets. The other three stay at `BASE`. The exponent of growth is the slope of a line fitted to both
logarithms; a factor log² adds to it, so an exponent of 2 shows as a slope somewhat above 2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Literal

import numpy as np
from theorems import theorem_1_order, theorem_2_order, theorem_3_order

from bestchannel.capacity import capacity
from bestchannel.channels import Channel
from bestchannel.information import NATS_PER_BIT
from bestchannel.policies import identify, make_policy
from bestchannel.report.figures import FIG2_COLOURS, GREEN, TITLES, axes
from bestchannel.sensing import Simulator

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PolicyName = Literal["best-chan-id", "naive", "median"]
Quantity = Literal["gap", "delta", "channels", "alphabet"]

POLICIES: tuple[PolicyName, ...] = ("best-chan-id", "naive", "median")


@dataclass(frozen=True)
class Task:
    """k channels of n letters in and out: one best, all rivals `gap_nats` behind, which is also the PAC policies' ε."""

    gap_nats: float
    delta: float
    n_channels: int
    n_letters: int


BASE = Task(gap_nats=0.1125, delta=0.1, n_channels=4, n_letters=2)

SWEEPS: dict[Quantity, tuple[Task, ...]] = {
    # nine tenths of powers of two: BestChanID decides in one more round each
    "gap": tuple(replace(BASE, gap_nats=0.9 * 2.0**-power) for power in range(3, 13)),
    "delta": tuple(replace(BASE, delta=10.0**-power) for power in (2, 4, 8, 16, 32, 64)),
    "channels": tuple(replace(BASE, n_channels=2**power) for power in range(2, 11)),
    "alphabet": tuple(replace(BASE, n_letters=size) for size in (2, 3, 4, 6, 8, 12, 16, 24, 32)),
}


@dataclass(frozen=True)
class Growth:
    """Runs of one policy along one sweep: the varied quantity, senses used, and the theorem's expression."""

    policy: PolicyName
    quantity: Quantity
    x: tuple[float, ...]
    senses: tuple[int, ...]
    expression: tuple[float, ...]
    wrong: int

    @property
    def slope(self) -> float:
        """d log(senses) / d log(x), fitted."""
        return _slope(self.x, self.senses)

    @property
    def expression_slope(self) -> float:
        """The same for the theorem's expression."""
        return _slope(self.x, self.expression)


def growth(policy: PolicyName, quantity: Quantity, *, seed: int) -> Growth:
    """Run `policy` once on each task of a sweep; task i draws from child i of the seed."""
    tasks = SWEEPS[quantity]
    children = np.random.SeedSequence(seed).spawn(len(tasks))
    runs = [_run(policy, task, np.random.default_rng(child)) for task, child in zip(tasks, children, strict=True)]
    return Growth(
        policy,
        quantity,
        x=tuple(_abscissa(quantity, task) for task in tasks),
        senses=tuple(senses for senses, _ in runs),
        expression=tuple(_expression(policy, task) for task in tasks),
        # the rivals are ε behind as exactly as bisection makes them, so only the best channel counts as right
        wrong=sum(best != 0 for _, best in runs),
    )


def _abscissa(quantity: Quantity, task: Task) -> float:
    values = {
        "gap": 1 / task.gap_nats,
        "delta": math.log(1 / task.delta),
        "channels": task.n_channels,
        "alphabet": task.n_letters**2,
    }
    return float(values[quantity])


def _expression(policy: PolicyName, task: Task) -> float:
    sizes = {"n_inputs": task.n_letters, "n_outputs": task.n_letters}
    if policy == "best-chan-id":
        return theorem_1_order([0.0, *[task.gap_nats] * (task.n_channels - 1)], task.delta, **sizes)
    order = theorem_2_order if policy == "naive" else theorem_3_order
    return order(task.n_channels, task.gap_nats, task.delta, **sizes)


def _run(policy: PolicyName, task: Task, rng: np.random.Generator) -> tuple[int, object]:
    """Senses used, and the index of the channel named; the best one has index 0."""
    pac = {} if policy == "best-chan-id" else {"epsilon": task.gap_nats / NATS_PER_BIT}
    alphabets = [(task.n_letters, task.n_letters)] * task.n_channels
    result = identify(Simulator(_channels(task), rng=rng), make_policy(policy, alphabets, delta=task.delta, **pac))
    return result.senses, result.best


def _channels(task: Task) -> Sequence[Channel]:
    best = math.log2(task.n_letters) / 2
    rival = _blurred(task.n_letters, best - task.gap_nats / NATS_PER_BIT)
    return [_blurred(task.n_letters, best), *[rival] * (task.n_channels - 1)]


@cache
def _blurred(n_letters: int, bits: float) -> Channel:
    """The identity blurred by uniform noise until this capacity is left."""

    def channel(clear: float) -> Channel:
        return Channel.from_rows(clear * np.eye(n_letters) + (1 - clear) / n_letters)

    low, high = 0.0, 1.0
    while high - low > 1e-12:
        middle = (low + high) / 2
        low, high = (middle, high) if capacity(channel(middle)).lower < bits else (low, middle)
    return channel(low)


def _slope(x: Sequence[float], y: Sequence[float]) -> float:
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


GROWTH_COLOURS = {"best-chan-id": GREEN, **FIG2_COLOURS}
GROWTH_AXES = {
    "gap": "1/Δ, or 1/ε, in 1/nat",
    "delta": "log 1/δ",
    "channels": "number of channels k",
    "alphabet": "|X|·|Y|",
}


def figure_growth(curves: Sequence[Growth]) -> Figure:
    """Runs (marks) beside the theorems' expressions (lines, scaled to meet the last run), with both slopes."""
    figure, ax = axes()
    for curve in curves:
        colour = GROWTH_COLOURS[curve.policy]
        scale = curve.senses[-1] / curve.expression[-1]
        slopes = f"runs {curve.slope:.2f}, theorem {curve.expression_slope:.2f}"
        ax.plot(curve.x, [scale * value for value in curve.expression], color=colour, linewidth=1, alpha=0.6)
        ax.plot(curve.x, curve.senses, "o", color=colour, markersize=4, label=f"{TITLES[curve.policy]}: {slopes}")
    label = GROWTH_AXES[curves[0].quantity]
    ax.set(xscale="log", yscale="log", xlabel=label, ylabel="total number of channel senses")
    ax.legend(title="slope of", alignment="left", fontsize="small")
    return figure
