"""How often intervals, verdicts and orders of recorded counts are wrong, against the exact limit: many simulated sets.

    python -m tests.statistical.recorded_counts RUNS SEED

Every family is at or near a tie, where errors are most likely. The twin is the same evidence with three quarters of
its threshold missing, and has to fail. `powers` gives the difference, in standard errors, at which half of the verdicts
are proved, and the width of intervals over the normal one.
"""

from __future__ import annotations

import math
import sys

import numpy as np
from scipy.stats import beta, norm

import bestchannel as bc
from bestchannel.channels import bec, bsc
from bestchannel.intervals.fixed_design import RecordedSet

DELTA = 0.2


def low_noise(rng, n, e):
    return (1 - e) * np.eye(n) + e * rng.dirichlet(np.ones(n), n)


def families(rng):
    """Name, rows of the channels and senses of every input; the first channel is the best, or level with it."""
    three = low_noise(rng, 3, 0.3)
    four = low_noise(rng, 4, 0.5)
    yield "BSC, level", [bsc(0.1).W] * 2, 60
    yield "BSC and BEC, level", [bec(0.5).W, bsc(0.11002786443835955).W], 80
    yield "useless, level", [np.full((2, 2), 0.5)] * 2, 50
    yield "3×3, level", [three] * 3, 60
    yield "4×4, level", [four] * 2, 40
    yield "unequal numbers", [bsc(0.05).W] * 2, np.array([20, 400])
    yield "sparse", [np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.02, 0.98]])] * 2, 60


def drawn(rng, W, senses):
    return np.array([rng.multinomial(n, row) for n, row in zip(np.broadcast_to(senses, len(W)), W, strict=True)])


def wrongs(rng, channels, senses, twin=False):
    """Whether an interval, the verdict, an order of one set is wrong."""
    delta = DELTA**0.25 if twin else DELTA
    capacities = [bc.capacity(W).lower for W in channels]
    found = bc.estimate({f"{j}": drawn(rng, W, senses) for j, W in enumerate(channels)}, delta=delta, rank=True)
    interval = any(not c.lower - 1e-9 <= C <= c.upper + 1e-9 for c, C in zip(found.channels, capacities, strict=True))
    values = dict(zip((c.name for c in found.channels), capacities, strict=True))
    # level channels are all best: claiming one of them to be better than the other is wrong
    proved = [found.verdict.leader] if found.verdict.decided else []
    verdict = any(values[a] >= values[b] - 1e-12 for b in proved for a in values if a != b)
    order = any(values[a] >= values[b] - 1e-12 for b, a in found.order.settled)
    return interval, verdict, order


def limit(wrong, runs):
    """The lower end of the exact one-sided 99.9 % interval of the frequency (Clopper and Pearson)."""
    return float(beta.ppf(0.001, wrong, runs - wrong + 1)) if wrong else 0.0


def study(runs, seed, twin=False):
    """Wrong intervals, verdicts and orders of every family."""
    rng = np.random.default_rng(seed)
    for name, channels, senses in families(rng):
        yield name, np.array([wrongs(rng, channels, senses, twin) for _ in range(runs)]).sum(axis=0)


def half_proved(n, senses, rng, sets=12):
    """The difference in standard errors from which half of the verdicts on two n×n channels are proved."""
    needed = []
    for _ in range(sets):
        e = rng.uniform(0.1, 0.4)
        rows = rng.dirichlet(np.ones(n), n)
        better = (1 - e) * np.eye(n) + e * rows
        low, high = 0.0, 30.0
        for _ in range(7):
            middle = 0.5 * (low + high)
            worse = worse_by(better, rows, middle, senses)
            proved = 0
            for _ in range(5):
                tables = {name: drawn(rng, W, senses) for name, W in (("b", better), ("a", worse))}
                proved += RecordedSet.of(tables).lead(*tables, 0.05) > 0.0
            low, high = (low, middle) if proved >= 3 else (middle, high)
        needed.append(0.5 * (low + high))
    return float(np.median(needed))


def worse_by(better, rows, errors, senses):
    """A noisier channel whose capacity is so many standard errors of the difference lower."""
    low, high = 0.0, 1.0
    for _ in range(40):
        part = 0.5 * (low + high)
        worse = (1 - part) * better + part * rows
        error = math.hypot(deviation(better, senses), deviation(worse, senses))
        gap = bc.capacity(better).lower - bc.capacity(worse).lower
        low, high = (part, high) if gap < errors * error else (low, part)
    return worse


def deviation(W, senses):
    """The standard deviation of the estimated capacity, in bits."""
    P = bc.capacity(W).input
    g = np.log2(np.maximum(W, 1e-300) / (P @ W))
    D = (W * g).sum(axis=1)
    return math.sqrt((P**2 * ((W * g * g).sum(axis=1) - D**2) / senses).sum())


def width(n, senses, rng, sets=20):
    """The median width of the proved interval over that of the normal one, at δ = 0.05."""
    ratios = []
    for number in range(sets):
        W = low_noise(rng, n, rng.uniform(0.1, 0.4)) if number % 2 else rng.dirichlet(np.ones(n), n)
        found = bc.estimate({"a": drawn(rng, W, senses)}).channels[0]
        ratios.append((found.upper - found.lower) / (2 * norm.ppf(0.975) * deviation(W, senses)))
    return float(np.median(ratios))


def main(runs, seed):
    print(f"δ = {DELTA}: wrong of {runs} sets; the twin has δ^(1/4)")
    print("family                intervals verdicts orders | twin")
    for (name, wrong), (_, twins) in zip(study(runs, seed), study(runs, seed, True), strict=True):
        kept = all(limit(w, runs) <= DELTA for w in wrong)
        print(
            f"{name:20s} {wrong[0]:10d} {wrong[1]:8d} {wrong[2]:6d} | {twins} {'kept' if kept else 'BROKEN'}",
            flush=True,
        )
    rng = np.random.default_rng(seed)
    for n, senses in ((2, 400), (4, 400), (8, 400), (16, 400)):
        print(f"{n}×{n}, {senses} senses of every input: half of the verdicts from"
              f" {half_proved(n, senses, rng):.1f} standard errors on", flush=True)  # fmt: skip
    for n in (2, 4, 8, 16):
        print(
            f"{n}×{n}: width over the normal one", {s: round(width(n, s, rng), 2) for s in (100, 250, 1000)}, flush=True
        )


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
