"""The game between weights and alternatives, solved on the alternatives known so far.

    max over w of min over alternatives i of ⟨w, d_i⟩,    d_i = the evidence of one sense of each row.

More alternatives lower the value, so that with finitely many it is at least 1/T*. A mixture μ of
them proves it: the value is at most max_(j,x) Σ_i μ_i d_i(j, x), however the programme was solved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bestchannel.arrays import Floats

INWARD = 0.5
"""How far the next weights lie from the solution of the programme towards the best ones so far: the
solution alone jumps between corners [BN07]."""

LEAST_WEIGHT = 1e-6
"""Of an even share, given to every row: without any weight a row may move for nothing."""

ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Solution:
    """The value of the game, from above; the mixture that proves it; the weights that the programme chose."""

    value: float
    mixture: Floats
    weights: Floats


class CuttingPlanes:
    """Alternatives as rows d_i, the weights that were tried, and the value of each so far."""

    def __init__(self, n_rows: int) -> None:
        self.cuts = np.empty((0, n_rows))
        self.tried = np.empty((0, n_rows))
        self.values = np.empty(0)

    def add_cuts(self, cuts: Floats) -> None:
        """More alternatives, which lower the values of the weights."""
        self.cuts = np.concatenate([self.cuts, cuts])
        if len(self.tried):
            self.values = np.minimum(self.values, (self.tried @ cuts.T).min(axis=1))

    def try_weights(self, w: Floats) -> Floats:
        """w with a little for every row, summing to 1, remembered with its value."""
        raised = np.maximum(w, LEAST_WEIGHT / len(w))
        raised /= raised.sum()
        value = (self.cuts @ raised).min() if len(self.cuts) else np.inf
        self.tried = np.concatenate([self.tried, raised[None]])
        self.values = np.append(self.values, value)
        return raised

    @property
    def best(self) -> tuple[Floats, float]:
        """The best weights that were tried, and their value against the alternatives known so far."""
        i = int(np.argmax(self.values))
        return self.tried[i], float(self.values[i])

    def next_weights(self, solution: Solution) -> Floats:
        """Between the programme's weights and the best ones."""
        return (1.0 - INWARD) * solution.weights + INWARD * self.best[0]

    def solve(self) -> Solution:
        """The linear programme over w, and its value proved by its multipliers."""
        best = self.best[1]
        # Evidence is of the order of the best value, and the solver has absolute tolerances; where its simplex
        # method fails on the scaled programme, the interior point or the programme as it is may serve.
        for scale, method in ((best, "highs"), (best, "highs-ipm"), (1.0, "highs")):
            answer = _programme(self.cuts / scale, method)
            if answer.status == 0:
                break
        assert answer.status == 0, f"the linear programme was not solved: {answer.message}"
        mixture = np.maximum(-answer.ineqlin.marginals, 0.0)
        mixture /= mixture.sum()
        value = float((mixture @ self.cuts).max()) * (1.0 + ROUNDING)
        return Solution(value, mixture, np.maximum(answer.x[:-1], 0.0))


def _programme(cuts: Floats, method: str) -> Any:
    """scipy's answer to: maximise z over w and z with ⟨w, d_i⟩ ≥ z, Σ w = 1, w ≥ 0."""
    from scipy.optimize import linprog  # deferred: slow to import
    from scipy.sparse import csr_array, hstack

    count, n_rows = cuts.shape
    return linprog(
        np.append(np.zeros(n_rows), -1.0),
        A_ub=hstack([csr_array(-cuts), csr_array(np.ones((count, 1)))], format="csr"),
        b_ub=np.zeros(count),
        A_eq=np.append(np.ones(n_rows), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0.0, None)] * n_rows + [(None, None)],
        method=method,
    )
