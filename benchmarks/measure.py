"""Timing, and the one certificate that judges every answer."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.peers import Answer, Solver
from bestchannel import capacity
from bestchannel.information import NATS_PER_BIT

PATIENCE = 5.0
"""Seconds after which a peer is not timed again."""


def best_of(run: Callable[[], object], times: int = 5, patience: float = np.inf) -> float:
    """The least wall time of up to `times` runs, none begun once `patience` seconds are used up.

    BLAS runs on one thread throughout; libraries must be loaded by then, so warm up before.
    """
    taken: list[float] = []
    with threadpool_limits(1):
        while len(taken) < times and sum(taken) < patience:
            start = time.perf_counter()
            run()
            taken.append(time.perf_counter() - start)
    return min(taken)


def best_solve(solver: Solver, channels: np.ndarray, patience: float = PATIENCE) -> tuple[float, float | None]:
    """Best wall time to solve every channel and, where a solver has one, the best sum of its own clock."""
    clocks: list[float] = []

    def run() -> None:
        seconds = [solver(W).solver_seconds for W in channels]
        if None not in seconds:
            clocks.append(sum(seconds))

    wall = best_of(run, patience=patience)
    return wall, min(clocks, default=None)


def gap_of_input(p: np.ndarray, W: np.ndarray) -> np.ndarray:
    """max_x D(W_x || pW) - I(p; W) in nats, for one channel or a stack; in float64, so down to some 1e-15."""
    q = np.einsum("...x,...xy->...y", p, W)[..., None, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        D = np.where(W > 0.0, W * np.log(W / q), 0.0).sum(axis=-1)
        used = np.where(p > 0.0, p * D, 0.0).sum(axis=-1)
    return np.nan_to_num(D.max(axis=-1) - used, nan=np.inf, posinf=np.inf)


def gap_of_answer(answer: Answer, W: np.ndarray) -> float:
    """The certified gap of an answer; one without an input is measured by its distance to our rigorous bracket."""
    if answer.input is not None:
        return float(gap_of_input(answer.input, W))
    if answer.capacity_nats is None:
        return np.inf
    truth = capacity(W, tol=1e-12, rigorous=True)
    below = truth.upper * NATS_PER_BIT - answer.capacity_nats
    above = answer.capacity_nats - truth.lower * NATS_PER_BIT
    return max(below, above)


def worst_gap(solver: Solver, channels: np.ndarray, give_up_above: float = np.inf) -> float:
    """The largest gap over the channels, or the first that is above `give_up_above`."""
    worst = 0.0
    for W in channels:
        worst = max(worst, gap_of_answer(solver(W), W))
        if worst > give_up_above:
            break
    return worst
