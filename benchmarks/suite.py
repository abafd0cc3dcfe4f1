"""The benchmarks by name: each yields rows, ours first, on one set of channels."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from benchmarks import cases, peers
from benchmarks.measure import PATIENCE, best_of, best_solve, gap_of_input, worst_gap
from benchmarks.peers import CONIC, FORMULATIONS, TOL_BITS, Solver
from benchmarks.table import Row, duration
from bestchannel import capacities
from bestchannel.process import usable_cores

CONIC_GAP = 1e-6
CONIC_TOLS = (1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12)
CALLS = 2000
CODE_OF_IMPORT = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"


def small(full: bool) -> Iterator[Row]:
    """1000 random 4 × 4, one thread; the slow peers on the first of them."""
    case, stack = "1000 random 4×4", cases.dense(1000, 4)
    mine = _stack_row(case, stack, workers=1)
    yield mine
    others = (
        ("qif", peers.qif, 1000, ""),
        ("komm", peers.komm, 50, "on the first 50; returns C only"),
        ("dit", peers.dit, 20, "on the first 20"),
    )
    for name, make, count, note in others:
        try:
            row = _solved(case, name, make(), stack[:count])
        except ModuleNotFoundError:
            yield Row(case, name, note="not installed")
        else:
            yield replace(row, ratio=row.seconds / mine.seconds, note=note)


def million(full: bool) -> Iterator[Row]:
    """10^6 random 4 × 4 on all cores."""
    cores = usable_cores()
    row = _stack_row("10⁶ random 4×4", cases.dense(10**6, 4), workers=cores)
    whole = row.seconds * 1e6
    yield replace(row, note=f"{cores} threads: {whole:.3f} s for all; {row.seconds * cores * 1e6:.2f} µs × core each")


def one_by_one(case: str, draw: Callable[[], np.ndarray], others: tuple[str, ...] = CONIC) -> Iterator[Row]:
    """Channels solved one call each, one thread, beside conic solvers tuned to a gap of 1e-6."""
    channels = draw()
    solver = peers.ours()
    mine = _solved(case, "bestchannel", solver, channels, patience=np.inf)
    slowest = max(best_of(lambda W=W: solver(W)) for W in channels)
    several = f"mean of {len(channels)}, the slowest {duration(slowest)}" if len(channels) > 1 else ""
    yield replace(mine, note=several)
    rows = [_tuned(case, name, channels, mine) for name in others]
    reached = [row for row in rows if row.solver_seconds is not None and row.gap <= CONIC_GAP]
    fastest = min(reached, key=lambda row: row.solver_seconds, default=None)
    yield from (replace(row, decides=row is fastest) for row in rows)


def large(case: str, draw: Callable[[], np.ndarray], full: bool) -> Iterator[Row]:
    """1024 × 1024: SCS beside ours; the slower solvers only where asked."""
    yield from one_by_one(case, draw, CONIC if full else ("SCS",))
    if not full:
        yield from (Row(case, name, note="slow: run with `--full`") for name in CONIC[:2])


def call(full: bool) -> Iterator[Row]:
    """One symmetric 2 × 2, again and again: what a call costs, with nothing around it."""
    case, W = "one symmetric 2×2", cases.symmetric()[0]
    mine = _called(case, "bestchannel", peers.ours_bare(), peers.ours(), W)
    yield mine
    try:
        row = _called(case, "qif", peers.qif_bare(), peers.qif(), W)
    except ModuleNotFoundError:
        yield Row(case, "qif", note="not installed")
    else:
        yield replace(row, ratio=row.seconds / mine.seconds)


def imports(full: bool) -> Iterator[Row]:
    """`import bestchannel` in a fresh interpreter, files in the cache; and what others take."""
    mine = Row("import", "bestchannel", _import_seconds("bestchannel"))
    yield mine
    for name in ("numpy", "qif", "komm", "dit", "cvxpy"):
        seconds = _import_seconds(name)
        note = "not installed" if seconds is None else "part of ours" if name == "numpy" else ""
        yield Row("import", name, seconds, ratio=seconds and seconds / mine.seconds, note=note)


SUITE: dict[str, Callable[[bool], Iterator[Row]]] = {
    "small": small,
    "million": million,
    "dense64": lambda full: one_by_one("64×64", lambda: cases.dense(10, 64)),
    "sparse64": lambda full: one_by_one("64×64, sparse", lambda: cases.sparse(10, 64)),
    "dense256": lambda full: one_by_one("256×256", lambda: cases.dense(5, 256)),
    "sparse256": lambda full: one_by_one("256×256, sparse", lambda: cases.sparse(5, 256)),
    "dense1024": lambda full: large("1024×1024", lambda: cases.dense(3, 1024), full),
    "sparse1024": lambda full: large("1024×1024, sparse", lambda: cases.sparse(3, 1024), full),
    "call": call,
    "poisson": lambda full: one_by_one("Poisson 100×121", cases.photon_counting),
    "awgn": lambda full: one_by_one("quantised AWGN 128×256", cases.quantised_gaussian),
    "import": imports,
}


def _stack_row(case: str, stack: np.ndarray, workers: int) -> Row:
    """Ours on a whole stack at once; the first call, which loads the kernels, is not timed."""
    answer = capacities(stack, tol=TOL_BITS, workers=workers)
    seconds = best_of(lambda: capacities(stack, tol=TOL_BITS, workers=workers))
    return Row(case, "bestchannel", seconds / len(stack), gap=float(gap_of_input(answer.input, stack).max()))


def _solved(case: str, name: str, solver: Solver, channels: np.ndarray, patience: float = PATIENCE) -> Row:
    """Time for one channel and the worst gap; the gap is computed first, which warms up."""
    return _timed(case, name, solver, channels, worst_gap(solver, channels), patience)


def _timed(case: str, name: str, solver: Solver, channels: np.ndarray, gap: float, patience: float) -> Row:
    wall, clock = best_solve(solver, channels, patience)
    return Row(case, name, wall / len(channels), clock and clock / len(channels), gap)


def _called(case: str, name: str, bare: Callable[[np.ndarray], object], solver: Solver, W: np.ndarray) -> Row:
    gap = worst_gap(solver, W[None])
    seconds = best_of(lambda: [bare(W) for _ in range(CALLS)])
    return Row(case, name, seconds / CALLS, gap=gap)


def _tuned(case: str, name: str, channels: np.ndarray, mine: Row) -> Row:
    """A conic solver in the formulation with which it is fastest, of those that reach the gap."""
    try:
        rows = [_loosest(case, name, formulation, channels) for formulation in FORMULATIONS]
    except ModuleNotFoundError:
        return Row(case, name, note="not installed")
    row = min(rows, key=lambda row: (row.gap > CONIC_GAP, row.solver_seconds or np.inf))
    if row.solver_seconds is None:
        return replace(row, note="no solution")
    return replace(row, ratio=row.seconds / mine.seconds, solver_ratio=row.solver_seconds / mine.seconds)


def _loosest(case: str, name: str, formulation: str, channels: np.ndarray) -> Row:
    """At the loosest tolerance that reaches the gap on every channel, or else the one that came closest."""
    gaps: dict[float, float] = {}
    for tol in CONIC_TOLS:
        gaps[tol] = worst_gap(peers.conic(name, tol, formulation), channels, give_up_above=CONIC_GAP)
        if gaps[tol] <= CONIC_GAP:
            break
    tol = min(gaps, key=gaps.__getitem__)
    solver = peers.conic(name, tol, formulation)
    gap = gaps[tol] if gaps[tol] <= CONIC_GAP else worst_gap(solver, channels)
    row = _timed(case, name, solver, channels, gap, PATIENCE)
    return replace(row, note=f"tolerance {tol:.0e}, q {formulation}")


def _import_seconds(module: str) -> float | None:
    """Best of five fresh interpreters after one that warms the file cache; None where it is not installed."""
    command = [sys.executable, "-c", CODE_OF_IMPORT.format(module)]
    if subprocess.run(command, capture_output=True).returncode:
        return None
    return min(float(subprocess.run(command, capture_output=True, check=True).stdout) for _ in range(5))
