"""Calls of every kernel with numbers that nobody would send: `python -m tests.native.fuzz [CALLS [SEED]]`.

Sizes from 0 on, zeros, NaN, infinities, denormals and numbers of every order. A kernel may answer what it likes, but
must come back, and, in a library that looks for faults (`sanitized`), without a finding; where a size is refused, it is
refused as an error of Python.
"""

import sys
import time
from collections import Counter

import numpy as np

from bestchannel.native import capacity, mathematics

HOSTILE = np.array([0.0, -0.0, 1.0, -1.0, 0.5, np.nan, np.inf, -np.inf, 5e-324, 2.2e-308, 1e-300, 1e300, 1.7e308])
REFUSALS = (TypeError, ValueError, IndexError, MemoryError, ZeroDivisionError)


def numbers(rng, *shape):
    """Numbers of some kind: of probabilities, hostile ones, a few hostile ones among probabilities, or any bits."""
    kind = rng.integers(4)
    values = rng.random(shape)
    if kind == 1:
        values = rng.choice(HOSTILE, shape)
    elif kind == 2:
        values = np.where(rng.random(shape) < 0.1, rng.choice(HOSTILE, shape), values)
    elif kind == 3:
        values = rng.integers(0, 2**63, shape).astype(np.uint64).view(np.float64)
    return np.ascontiguousarray(values)


def rows(rng, *shape):
    """Rows that sum to 1 more often than not."""
    W = rng.random(shape) ** rng.integers(1, 40)
    with np.errstate(all="ignore"):
        W = W / W.sum(axis=-1, keepdims=True)
    return np.ascontiguousarray(W) if rng.random() < 0.6 else numbers(rng, *shape)


def size(rng):
    return int(rng.choice([0, 1, 1, 2, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33]))


def lanes(rng):
    count, n, m = size(rng), size(rng), size(rng)
    answers = [np.zeros(count), np.zeros(count), np.zeros((count, n)), np.zeros((count, m)), np.zeros(count, np.uint8)]
    tol, rtol = float(rng.choice([1e-10, 0.0, np.nan, 1.0])), float(rng.choice([1.0, 1e-6, 0.0, np.nan]))
    width, first = int(rng.choice([8, 32])), int(rng.integers(0, count + 1))
    capacity.solve_in_lanes(rows(rng, count, n, m), first, count, width, tol, rtol, rng.random() < 0.3, *answers)


def single(rng):
    n, m = size(rng), size(rng)
    capacity.interior_point(rows(rng, n, m), numbers(rng, n), rows(rng, n), float(rng.choice([1e-10, 0.0, np.nan])))


def climb(rng):
    n, m = size(rng), size(rng)
    capacity.climb(rows(rng, n, m), numbers(rng, n), rows(rng, n), int(rng.integers(-1, 9)))


def certificate(rng):
    count, n, m = size(rng), size(rng), size(rng)
    W = rows(rng, count, n, m)
    capacity.certified_divergences(W, capacity.neg_entropies(W), capacity.outputs(W, rows(rng, count, n)))


def steps(rng):
    n, m = size(rng), size(rng)
    capacity.divergences(rows(rng, n, m), numbers(rng, n), rows(rng, n))


def functions(rng):
    x = numbers(rng, size(rng))
    for function in (mathematics.log, mathematics.log1p, mathematics.exp, mathematics.psi, mathematics.quick_log):
        function(x)


CALLS = (lanes, single, climb, certificate, steps, functions)


def main(calls=20_000, seed=1) -> None:
    made, refused, started = Counter(), Counter(), time.monotonic()
    for i in range(calls):
        rng = np.random.default_rng([seed, i])
        call = CALLS[i % len(CALLS)]
        made[call.__name__] += 1
        try:
            call(rng)
        except REFUSALS:
            refused[call.__name__] += 1
    print(", ".join(f"{name} {made[name]:,} ({refused[name]:,} refused)" for name in made))
    print(f"{sum(made.values()):,} calls, every one came back; {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
