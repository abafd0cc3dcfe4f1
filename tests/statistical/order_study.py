"""`python -m tests.statistical.order_study [--runs N]`: how often the checks of order warn, rightly and wrongly.

Each row is a way in which senses come: of one memoryless channel, whatever its alphabet and the order of its inputs, or of
one that drifts, remembers or changes periodically. Printed are the shares of runs with an e-value of 300 or more, the
threshold of one channel.
"""

from __future__ import annotations

import sys

import numpy as np

from bestchannel.evidence.drift_and_memory import drift_and_memory
from tests.statistical.table_command import print_table

THRESHOLD = np.log(300.0)


def symmetric(size, error):
    """Rows that are right with probability 1 - error, and wrong in all ways alike."""
    return np.full((size, size), error / (size - 1)) * (1 - np.eye(size)) + (1 - error) * np.eye(size)


def received(rng, W, x):
    return (rng.random(len(x))[:, None] > W.cumsum(axis=1)[x]).sum(axis=1).clip(max=W.shape[1] - 1)


def steady(W, n, arranged=lambda rng, x: x):
    """One channel, its inputs drawn and then arranged."""

    def senses(rng):
        x = arranged(rng, rng.integers(0, len(W), n))
        return x, received(rng, W, x), W.shape

    return senses


def changing(size, n, error):
    """Symmetric rows with the error error(t), t from 0 to 1."""

    def senses(rng):
        x = rng.integers(0, size, n)
        wrong = rng.random(n) < error(np.arange(n) / n)
        return x, np.where(wrong, (x + rng.integers(1, size, n)) % size, x), (size, size)

    return senses


def bursts(size, n, *, switch, errors=(0.02, 0.4)):
    """A good and a bad state, which change with probability `switch`, as Gilbert's."""

    def senses(rng):
        state = np.cumsum(rng.random(n) < switch) % 2
        x = rng.integers(0, size, n)
        wrong = rng.random(n) < np.array(errors)[state]
        return x, np.where(wrong, (x + rng.integers(1, size, n)) % size, x), (size, size)

    return senses


def echo(n, strength, noise, lag=1):
    """Signs, a part of the one `lag` before, Gaussian noise, and the sign of the sum."""

    def senses(rng):
        x = rng.integers(0, 2, n)
        sent = 2 * x - 1
        return x, (sent + strength * np.roll(sent, lag) + rng.normal(0, noise, n) > 0).astype(int), (2, 2)

    return senses


def hum(n, strength, noise, period):
    """Signs, a sine of any phase that adds to them, Gaussian noise, and the sign of the sum."""

    def senses(rng):
        x = rng.integers(0, 2, n)
        wave = strength * np.sin(2 * np.pi * (np.arange(n) / period + rng.random()))
        return x, (2 * x - 1 + wave + rng.normal(0, noise, n) > 0).astype(int), (2, 2)

    return senses


def sticky(size, n, rate, lag=1):
    """An output that is now and then the one `lag` before."""

    def senses(rng):
        x, y, shape = steady(symmetric(size, 0.2), n)(rng)
        for t in np.flatnonzero(rng.random(n) < rate):
            y[t] = y[t - lag]
        return x, y, shape

    return senses


def in_blocks(rng, x):
    return np.sort(x)


def in_turn(rng, x):
    return np.arange(len(x)) % (x.max() + 1)


STEADY = {
    "2×2, 20 senses": steady(symmetric(2, 0.2), 20),
    "2×2, 500 senses": steady(symmetric(2, 0.1), 500),
    "2×2, 500 senses, inputs in blocks": steady(symmetric(2, 0.1), 500, in_blocks),
    "4×4, 500 senses, inputs in turn": steady(symmetric(4, 0.3), 500, in_turn),
    "16×16, 500 senses": steady(symmetric(16, 0.3), 500),
    "16×16, 500 senses, inputs in blocks": steady(symmetric(16, 0.3), 500, in_blocks),
    "2×40, 300 senses, random rows": steady(np.random.default_rng(8).dirichlet(np.ones(40), 2), 300),
    "one input, 6 outputs, 100 senses": steady(np.full((1, 6), 1 / 6), 100),
}
DRIFTING = {
    "2×2, 2000 senses, error 0.1, then 0.2": changing(2, 2000, lambda t: np.where(t < 0.5, 0.1, 0.2)),
    "2×2, 8000 senses, error from 0.1 to 0.2": changing(2, 8000, lambda t: 0.1 + 0.1 * t),
    "2×2, 3000 senses, error 0.1, between 0.35 and 0.65 of them 0.3": changing(
        2, 3000, lambda t: np.where(abs(t - 0.5) < 0.15, 0.3, 0.1)
    ),
    "16×16, 2000 senses, error 0.1, then 0.25": changing(16, 2000, lambda t: np.where(t < 0.5, 0.1, 0.25)),
}
REMEMBERING = {
    "2×2, 2000 senses, bursts of 10": bursts(2, 2000, switch=0.1),
    "16×16, 2000 senses, bursts of 10": bursts(16, 2000, switch=0.1),
    "2×2, 1000 senses, echo of 0.3 under noise of 0.8": echo(1000, 0.3, 0.8),
    "2×2, 4000 senses, 1 in 10 as before": sticky(2, 4000, 0.1),
    "16×16, 1000 senses, 1 in 10 as before": sticky(16, 1000, 0.1),
    "2×2, 2000 senses, echo of 0.3 two senses later": echo(2000, 0.3, 0.8, 2),
    "2×2, 2000 senses, echo of 0.3 four senses later": echo(2000, 0.3, 0.8, 4),
    "16×16, 1000 senses, 1 in 10 as three before": sticky(16, 1000, 0.1, 3),
}
PERIODIC = {
    "2×2, 4000 senses, errors 0.02 and 0.2 in turn": changing(2, 4000, lambda t: np.where(4000 * t % 2 < 1, 0.02, 0.2)),
    "2×2, 4000 senses, errors from 0 to 0.2 and back, period 37.3": changing(
        2, 4000, lambda t: 0.1 + 0.1 * np.sin(2 * np.pi * 4000 * t / 37.3)
    ),
    "2×2, 4000 senses, hum of 0.4 under noise of 0.8, period 6.7": hum(4000, 0.4, 0.8, 6.7),
    "16×16, 4000 senses, errors from 0.1 to 0.4 and back, period 250": changing(
        16, 4000, lambda t: 0.25 + 0.15 * np.sin(2 * np.pi * 4000 * t / 250)
    ),
}


def evidence(senses, runs, seed=1):
    """Evidence of drift, of memory and of a period in every run, in nats, shape (runs, 3)."""
    children = np.random.SeedSequence(seed).spawn(runs)
    return np.array([drift_and_memory(*senses(np.random.default_rng(child)))[:3] for child in children])


COLUMNS = "senses", "drift", "memory", "period", "mean e-values"


def rows(runs):
    """One for each way in which senses come."""
    for name, senses in (STEADY | DRIFTING | REMEMBERING | PERIODIC).items():
        found = evidence(senses, runs)
        shares = (f"{share:.3f}" for share in (found >= THRESHOLD).mean(axis=0))
        means = ", ".join(f"{mean:.2g}" for mean in np.exp(np.minimum(found, 700)).mean(axis=0))
        yield name, *shares, means


if __name__ == "__main__":
    print_table(sys.argv[1:], __doc__, COLUMNS, rows, runs=1000)
