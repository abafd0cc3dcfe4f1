"""How often the approximate interval of `estimate` covers the capacity, over alphabets and senses of each input."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path

import numpy as np

from bestchannel.capacity import capacity
from bestchannel.intervals.plug_in import approximate_interval, capacities_at_counts

ALPHABETS = [(2, 2), (4, 4), (4, 16), (8, 8), (16, 16)]
SENSES = (20, 50, 100, 250, 500, 1000, 2000)
RUNS = 200
"""Of each kind of channel in a cell."""
ALPHA = 0.05
BAND = (0.89, 0.99)
"""Between which shares a cell is to cover, over all kinds of channel together."""

Rows = np.ndarray


def random(rng: np.random.Generator, n: int, m: int) -> Rows:
    """Rows that are uniform on the simplex."""
    return rng.dirichlet(np.ones(m), n)


def spiky(rng: np.random.Generator, n: int, m: int) -> Rows:
    """Rows with a few likely outputs."""
    return rng.dirichlet(np.full(m, 0.3), n)


def symmetric(_rng: np.random.Generator, n: int, m: int) -> Rows:
    """The output x but for errors of 10 %, which are spread over all others."""
    return 0.9 * np.eye(m)[np.arange(n) % m] + 0.1 * (1.0 - np.eye(m)[np.arange(n) % m]) / (m - 1)


def weak(rng: np.random.Generator, n: int, m: int) -> Rows:
    """Rows so near to one another that the capacity is 0.08 bit, or as near to it as the random rows allow."""
    base, rows = rng.dirichlet(np.full(m, 3.0)), random(rng, n, m)
    low, high = 0.0, 1.0
    for _ in range(30):
        middle = (low + high) / 2
        weaker = capacity((1 - middle) * base + middle * rows, normalize=True).value < 0.08
        low, high = (middle, high) if weaker else (low, middle)
    return (1 - low) * base + low * rows


def useless(rng: np.random.Generator, n: int, m: int) -> Rows:
    """One row for every input: capacity 0."""
    return np.tile(rng.dirichlet(np.ones(m)), (n, 1))


def repeated(rng: np.random.Generator, n: int, m: int) -> Rows:
    """Every row twice, so that no one input distribution is the best."""
    return np.repeat(random(rng, n // 2, m), 2, axis=0)


KINDS: tuple[Callable[[np.random.Generator, int, int], Rows], ...] = (
    random,
    spiky,
    symmetric,
    weak,
    useless,
    repeated,
)


def covered(cell: tuple[tuple[int, int], int]) -> list[int]:
    """How many intervals of each kind of channel cover, every one of a channel of its own."""
    (n, m), senses = cell
    return [sum(_covers(kind, n, m, senses, i) for i in range(RUNS)) for kind in KINDS]


def _covers(kind: Callable[..., Rows], n: int, m: int, senses: int, number: int) -> bool:
    rng = np.random.default_rng([KINDS.index(kind), n, m, senses, number])
    W = kind(rng, n, m)
    W /= W.sum(axis=1, keepdims=True)
    (found,) = capacities_at_counts([rng.multinomial(senses, W)])
    interval, C = approximate_interval(found, ALPHA), capacity(W)
    return interval.lower <= C.upper and C.lower <= interval.upper


def run(kept: Path, workers: int | None) -> None:
    """Measure what is not in the file yet."""
    known = json.loads(kept.read_text()) if kept.exists() else {}
    wanted = [cell for cell in product(ALPHABETS, SENSES) if str(cell) not in known]
    with ProcessPoolExecutor(workers) as pool:
        for cell, counts in zip(wanted, pool.map(covered, wanted), strict=True):
            known[str(cell)] = counts
            kept.write_text(json.dumps(known, indent=1))
            print(cell, counts, flush=True)


def table(kept: Path) -> Iterator[str]:
    """The lines of the table: alphabets down, senses of each input across."""
    known = json.loads(kept.read_text()) if kept.exists() else {}
    yield f"| inputs × outputs | runs a cell | {' | '.join(f'{senses:,}' for senses in SENSES)} |"
    yield "| --- " * (len(SENSES) + 2) + "|"
    for n, m in ALPHABETS:
        cells = [_cell(known.get(str(((n, m), senses)))) for senses in SENSES]
        yield f"| {n}×{m} | {RUNS * len(KINDS):,} | {' | '.join(cells)} |"


def _cell(counts: list[int] | None) -> str:
    """The share of all kinds together, and of the kind with the fewest."""
    if counts is None:
        return "not run"
    share = sum(counts) / (RUNS * len(counts))
    words = f"{100 * share:.1f} ({100 * min(counts) / RUNS:.0f})"
    return words if BAND[0] <= share <= BAND[1] else f"**{words}**"
