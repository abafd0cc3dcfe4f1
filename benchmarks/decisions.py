"""What a decision of `Adaptive` costs: `python -m benchmarks.decisions [SIZE ...]`.

A decision is what lies between an answer and the next request: `tell` and `ask`. Printed is the mean over
identifications of sets of random channels, in milliseconds, the least of some repetitions.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import bestchannel as bc
from bestchannel.sensing.simulator import Instance
from bestchannel.study.spec import FAMILIES

SIZES = {2: (10, 20, 400), 4: (5, 10, 400), 8: (5, 5, 200), 16: (5, 3, 60), 64: (5, 1, 60)}
"""By letters: channels of a set, sets, and the most decisions of each."""

BINARY_GAP, GAP = 0.13 / np.log(2), 0.1 / np.log(2)
"""In bits, between the best two of a set, as in studies/speed.toml and studies/letters.toml."""

REPETITIONS = 3


def random_set(n_letters: int, set_number: int) -> Instance:
    """Channels whose rows are uniform on the simplex, the best one a gap ahead."""
    rng, k = np.random.default_rng([n_letters, set_number]), SIZES[n_letters][0]
    if n_letters == 2:
        return FAMILIES["random-binary"](rng, k=k, gap=BINARY_GAP)
    return FAMILIES["random"](rng, k=k, n_inputs=n_letters, n_outputs=n_letters, gap=GAP if n_letters < 16 else None)


def decisions(instance: Instance, most: int) -> tuple[float, int]:
    """The seconds of all decisions of one identification, at most so many, and how many there were."""
    sensor = bc.Simulator(instance.channels, rng=1)
    policy = bc.Adaptive(sensor.alphabets, delta=0.01)
    spent, decided = 0.0, 0
    while (request := policy.ask()) is not None and decided < most:
        answer = bc.Observation(request.number, sensor(request))
        start = time.perf_counter()
        policy.tell(answer)
        policy.ask()
        spent += time.perf_counter() - start
        decided += 1
    return spent, decided


def mean_milliseconds(instances: list[Instance], most: int) -> float:
    """The mean over all decisions of these sets."""
    results = [decisions(instance, most) for instance in instances]
    return 1e3 * sum(spent for spent, _ in results) / sum(decided for _, decided in results)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.decisions", description="Time of a decision.")
    parser.add_argument("sizes", metavar="SIZE", nargs="*", type=int, help=", ".join(map(str, SIZES)))
    for size in parser.parse_args().sizes or SIZES:
        _, n_sets, most = SIZES[size]
        instances = [random_set(size, number) for number in range(n_sets)]
        least = min(mean_milliseconds(instances, most) for _ in range(REPETITIONS))
        print(f"{size}×{size}: {least:.3g} ms", flush=True)


if __name__ == "__main__":
    main()
