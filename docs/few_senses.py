"""How often recorded counts of few senses prove what is false: intervals, verdicts and orders of equal channels."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
from scipy.stats import binom

from bestchannel.capacity import capacity
from bestchannel.channels import bsc
from bestchannel.information import NATS_PER_BIT
from bestchannel.intervals.fixed_design import RecordedSet

RUNS, TWIN_RUNS, AT_ONCE = 10_000, 1_000, 100
DELTAS = (0.5, 0.2)
FALSE_ALARM = 1e-6
GIFT = 150.0
"""The factor by which the twin takes all evidence for more than it is."""

Rows = np.ndarray


def low_noise(rng: np.random.Generator, n: int, noise: float) -> Rows:
    """The output x, but for some noise of its own for every input."""
    return (1.0 - noise) * np.eye(n) + noise * rng.dirichlet(np.ones(n), n)


FAMILIES: dict[str, tuple[int, Callable[[np.random.Generator], Rows], int, int]] = {
    "2 BSC, 16 senses of an input": (2, lambda _rng: bsc(0.1).W, 16, 16),
    "2 random 2×2, 3 to 30": (2, lambda rng: rng.dirichlet(np.ones(2), 2), 3, 30),
    "2 of 3×2, 16": (2, lambda _rng: np.array([[0.8, 0.2], [0.25, 0.75], [0.5, 0.5]]), 16, 16),
    "3 of 3×3, low noise, 20": (3, lambda rng: low_noise(rng, 3, 0.3), 20, 20),
    "2 of 5×5, low noise, 16 to 30": (2, lambda rng: low_noise(rng, 5, 0.4), 16, 30),
}
"""How many equal channels, their rows, and between which numbers the senses of an input are drawn."""


def wrong(family: str, gifts: tuple[float, ...], number: int) -> np.ndarray:
    """Of set number i, by δ and gift: whether an interval misses, the first channel is ruled out, a pair is settled."""
    k, rows, fewest, most = FAMILIES[family]
    rng = np.random.default_rng([list(FAMILIES).index(family), number])
    W = rows(rng)
    names = [f"{j}" for j in range(k)]
    tables = {name: np.array([rng.multinomial(rng.integers(fewest, most + 1), row) for row in W]) for name in names}
    recorded, C = RecordedSet.of(tables), capacity(W, normalize=True)
    assert recorded is not None

    def at(delta: float) -> tuple[bool, bool, bool]:
        ends = [recorded.interval(name, delta / k) for name in names]
        return (
            any(lower > C.upper * NATS_PER_BIT or upper < C.lower * NATS_PER_BIT for lower, upper in ends),
            any(recorded.lead(other, names[0], delta) > 0.0 for other in names[1:]),
            bool(recorded.order(delta)),
        )

    return np.array([[at(gift * delta) for gift in gifts] for delta in DELTAS])


def wrongs(family: str, first: int) -> np.ndarray:
    """How often each was wrong in some sets, by δ, without a gift and with one; few sets serve the twin too."""
    gifts = (1.0, GIFT) if first < TWIN_RUNS else (1.0,)
    total = np.zeros((len(DELTAS), 2, 3), dtype=int)
    for number in range(first, first + AT_ONCE):
        total[:, : len(gifts)] += wrong(family, gifts, number)
    return total


def run(kept: Path, workers: int | None) -> None:
    """Measure what is not in the file yet: of every family so many sets, and how often they were wrong."""
    known = json.loads(kept.read_text()) if kept.exists() else {}
    with ProcessPoolExecutor(workers) as pool:
        for family in FAMILIES:
            sets, total = known.get(family, (0, 0))
            for some in pool.map(partial(wrongs, family), range(sets, RUNS, AT_ONCE)):
                sets, total = sets + AT_ONCE, some + total
                known[family] = sets, total.tolist()
                kept.write_text(json.dumps(known))
            print(family, *known[family], flush=True)


def table(kept: Path) -> Iterator[str]:
    """The lines of the table."""
    known = json.loads(kept.read_text())
    yield r"| channels | $\delta$ | sets | allowed | intervals | ruled out | orders | twin's sets | allowed | wrong |"
    yield "| --- " * 10 + "|"
    for family, (sets, total) in known.items():
        for delta, (errors, twins) in zip(DELTAS, total, strict=True):
            twin_sets = min(sets, TWIN_RUNS)
            allowed, twin_allowed = (int(binom.isf(FALSE_ALARM, n, delta)) for n in (sets, twin_sets))
            seen = [f"{n:,}" if n <= allowed else f"**{n:,}**" for n in errors]
            words = [family, f"{delta:g}", f"{sets:,}", f"{allowed:,}", *seen, f"{twin_sets:,}", f"{twin_allowed:,}"]
            yield f"| {' | '.join([*words, ', '.join(f'{n:,}' for n in twins)])} |"
