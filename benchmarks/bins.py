"""`python -m benchmarks.bins [--draws N] [--senses N …] [--bins K …]`: what bins lose of the soft capacity.

The true capacity of known rows (Gaussian or Laplacian, so no estimate) cut at edges that were learned from so many
senses of every input, against the capacity of 2000 narrow bins; beside edges at the quantiles of all outputs, and at
equal distances. The mean loss over the draws, in per cent.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import laplace, norm

import bestchannel as bc
from bestchannel.counts.quantisation import edges_of_line

Floats = NDArray[np.float64]

ROWS: dict[str, list[Any]] = {
    "±1, noise 0.8": [norm(mean, 0.8) for mean in (-1, 1)],
    "±1, noise 1.2": [norm(mean, 1.2) for mean in (-1, 1)],
    "±0.1, noise 1": [norm(mean, 1.0) for mean in (-0.1, 0.1)],
    "four levels, noise 0.25 of a step": [norm(mean, 0.5) for mean in (-3, -1, 1, 3)],
    "noise of 1 or of 3": [norm(0, 1), norm(0, 3)],
    "±1, Laplacian noise": [laplace(mean, 1.0) for mean in (-1, 1)],
}


def quantiles(y: Floats, x: NDArray[np.int64], bins: int) -> Floats:
    return np.quantile(y, np.arange(1, bins) / bins)


def equal_steps(y: Floats, x: NDArray[np.int64], bins: int) -> Floats:
    return np.linspace(*np.quantile(y, [0.01, 0.99]), bins + 1)[1:-1]


METHODS: dict[str, Callable[..., Sequence[float] | Floats]] = {
    "learned": edges_of_line,
    "quantiles": quantiles,
    "equal steps": equal_steps,
}


def capacity(rows: Sequence[Any], edges: Sequence[float] | Floats) -> float:
    ends = np.concatenate([[-np.inf], np.asarray(edges), [np.inf]])
    return bc.capacity(np.stack([np.diff(row.cdf(ends)) for row in rows]), normalize=True).lower


def loss(rows: Sequence[Any], method: str, senses: int, bins: int, draws: int) -> float:
    """The mean share of the soft capacity that is lost."""
    low, high = min(row.ppf(1e-9) for row in rows), max(row.ppf(1 - 1e-9) for row in rows)
    soft, kept = capacity(rows, np.linspace(low, high, 2000)), []
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        y = np.concatenate([row.rvs(senses, random_state=rng) for row in rows])
        x = np.repeat(np.arange(len(rows)), senses)
        kept.append(capacity(rows, METHODS[method](y, x, bins)))
    return 1 - float(np.mean(kept)) / soft


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bins")
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--senses", type=int, nargs="+", default=[30, 100, 1000])
    parser.add_argument("--bins", type=int, nargs="+", default=[4, 8, 16])
    given = parser.parse_args()
    print("| outputs | senses of each input | bins |", " | ".join(METHODS), "|")
    print("|---|---|---|" + "---|" * len(METHODS))
    for name, rows in ROWS.items():
        for senses in given.senses:
            for bins in given.bins:
                lost = [f"{100 * loss(rows, method, senses, bins, given.draws):.1f}" for method in METHODS]
                print(f"| {name} | {senses} | {bins} |", " | ".join(lost), "|", flush=True)


if __name__ == "__main__":
    main()
