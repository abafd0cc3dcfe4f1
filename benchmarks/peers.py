"""Other software, one small function a peer: a channel W in, an `Answer` out.

Each function imports its peer when it is made, so that a missing one raises
ModuleNotFoundError at that point and is listed as not installed.
"""

from __future__ import annotations

import importlib
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

TOL_NATS = 1e-10
TOL_BITS = TOL_NATS / math.log(2.0)

CONIC = ("Clarabel", "ECOS", "SCS")
FORMULATIONS = ("substituted", "explicit")
"""Whether q = pW is written into the entropy, or is a variable with an equality."""


@dataclass(frozen=True)
class Answer:
    """What a peer says: its capacity in nats, its input distribution, and its solver's own clock, where it has them."""

    capacity_nats: float | None = None
    input: np.ndarray | None = None
    solver_seconds: float | None = None


Solver = Callable[[np.ndarray], Answer]


def ours() -> Solver:
    """One call of `bestchannel.capacity`."""
    solve = ours_bare()
    return lambda W: Answer(input=solve(W).input)


def ours_bare() -> Callable[[np.ndarray], Any]:
    """The same without an `Answer` around it, to time the call alone."""
    from bestchannel import capacity

    return lambda W: capacity(W, tol=TOL_BITS)


def qif() -> Solver:
    """Blahut-Arimoto in C++; `md` bounds upper - lower, in bits."""
    solve = qif_bare()
    return lambda W: Answer(input=np.ravel(solve(W)[1]))


def qif_bare() -> Callable[[np.ndarray], Any]:
    """The same without an `Answer` around it, to time the call alone."""
    from qif import measure

    return lambda W: measure.shannon.add_capacity(W, TOL_BITS, 0.0)


def komm() -> Solver:
    """Blahut-Arimoto until no probability changes by more than 1e-12 (fixed); returns C only."""
    from komm import DiscreteMemorylessChannel

    return lambda W: Answer(capacity_nats=float(DiscreteMemorylessChannel(W).capacity(base="e")))


def dit() -> Solver:
    """Blahut-Arimoto until C changes by at most `atol` bits."""
    from dit.algorithms import channel_capacity

    return lambda W: Answer(input=channel_capacity(W, rtol=0.0, atol=TOL_BITS)[1])


def conic(name: str, tol: float, formulation: str) -> Solver:
    """A conic solver behind cvxpy: maximise H(q) + sum_x p_x c_x with q = pW, c_x = sum_y W log W, one thread."""
    import cvxpy as cp

    importlib.import_module(name.lower())
    options = _options(name, tol)

    def solve(W: np.ndarray) -> Answer:
        p, problem = _problem(cp, W, formulation)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "solution may be inaccurate": the certificate decides
            try:
                problem.solve(solver=name.upper(), warm_start=False, **options)
            except cp.error.SolverError:
                return Answer()
        if p.value is None:
            return Answer()
        inside = np.maximum(p.value, 0.0)
        stats = problem.solver_stats  # Clarabel counts its setup in solve_time
        return Answer(input=inside / inside.sum(), solver_seconds=stats.solve_time + (stats.setup_time or 0.0))

    return solve


def _problem(cp: Any, W: np.ndarray, formulation: str) -> tuple[Any, Any]:
    from scipy.sparse import csc_array

    n, m = W.shape
    transposed = csc_array(W.T) if np.count_nonzero(W) < W.size / 2 else W.T
    c = np.sum(W * np.log(np.where(W > 0.0, W, 1.0)), axis=1)
    p = cp.Variable(n)
    simplex = [p >= 0, cp.sum(p) == 1]
    if formulation == "substituted":
        return p, cp.Problem(cp.Maximize(cp.sum(cp.entr(transposed @ p)) + c @ p), simplex)
    q = cp.Variable(m)
    return p, cp.Problem(cp.Maximize(cp.sum(cp.entr(q)) + c @ p), [*simplex, q == transposed @ p])


def _options(name: str, tol: float) -> dict[str, float]:
    match name:
        case "Clarabel":
            return {"tol_gap_abs": tol, "tol_gap_rel": tol, "tol_feas": tol, "max_threads": 1}
        case "ECOS":
            return {"abstol": tol, "reltol": tol, "feastol": tol}
        case _:
            return {"eps_abs": tol, "eps_rel": tol, "max_iters": 20_000, "time_limit_secs": 60.0}
