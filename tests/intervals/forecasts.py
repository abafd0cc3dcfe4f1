"""How far the forecast of `estimate` is from the senses that it takes in the end, by simulation.

By hand: `python -m tests.intervals.forecasts 200 7` (pairs of channels, seed).
"""

import sys
from collections.abc import Iterator

import numpy as np

import bestchannel as bc

LARGEST = 10**8


def pairs(rng: np.random.Generator) -> Iterator[list[np.ndarray]]:
    """Random pairs of channels of one size whose capacities differ by 0.02 bit or more."""
    while True:
        n, m = rng.choice([2, 3, 4], 2)
        both = list(rng.dirichlet(np.ones(m), (2, n)))
        C, D = bc.capacities(np.array(both)).value
        if abs(C - D) >= 0.02:
            yield both


def counted(rng, channels, senses_of_an_input):
    return {str(j): rng.multinomial(senses_of_an_input, W) for j, W in enumerate(channels)}


def added(counts, more):
    return {name: counts[name] + more[name] for name in counts}


def total(counts) -> int:
    return sum(int(table.sum()) for table in counts.values())


def outcome(rng, channels, first=100):
    """The verdict after so many senses of each input, and how many more it took; None where it was decided at once.

    Looks are a quarter of the senses apart, so that it took between 0.8 of this and this.
    """
    counts = counted(rng, channels, first)
    verdict, before = bc.estimate(counts).verdict, total(counts)
    if verdict.decided:
        return None
    while not bc.estimate(counts).verdict.decided and total(counts) < LARGEST:
        each = int(counts["0"].sum()) // len(channels[0])
        counts = added(counts, counted(rng, channels, -(-each // 4)))
    return verdict, total(counts) - before


def outcomes(how_many: int, seed: int, first: int = 100):
    rng = np.random.default_rng(seed)
    found = (outcome(rng, channels, first) for channels in pairs(rng))
    return [next(each for each in found if each is not None) for _ in range(how_many)]


def within(verdict, took: int) -> bool:
    low, high = verdict.more_senses_range or (0, None)
    return 0.8 * low <= took and (high is None or took <= 1.25 * high)


def main(how_many: int, seed: int) -> None:
    for first in (100, 1000):
        found = outcomes(how_many, seed, first)
        numbers = [verdict.more_senses / took for verdict, took in found if verdict.more_senses_range]
        closed = [(v, t) for v, t in found if v.more_senses_range and v.more_senses_range[1] is not None]
        print(
            f"{first} senses of each input: the number is {np.quantile(numbers, 0.05):.2g} … {np.quantile(numbers, 0.95):.2g}"
            f" times what it took (5 … 95 %); within the range {sum(within(*each) for each in found)} of {len(found)};"
            f" {len(closed)} ranges have an upper end, {sum(within(*each) for each in closed)} of them hold, and they are"
            f" {np.median([v.more_senses_range[1] / max(v.more_senses_range[0], 1) for v, _ in closed]):.3g} wide (median)"
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
