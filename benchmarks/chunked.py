"""A stack larger than memory on a Dask cluster of local workers: how fast, and how much memory each worker takes.

`python -m benchmarks.chunked 100000000 1000000 2` (random 4×4 channels, channels in a chunk, workers of one thread).
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path

import dask.array as da
import distributed
import numpy as np

from bestchannel import capacities

SIZE = 4


def random_channels(block_info=None):
    """One chunk of channels whose rows are uniform on the simplex, made in place."""
    location = block_info[None]["array-location"]
    W = np.random.default_rng(location[0][0]).standard_exponential([last - first for first, last in location])
    W /= W.sum(axis=-1, keepdims=True)
    return W


def memory(field: str) -> int:
    """Bytes of this process: VmRSS now, VmHWM at most so far."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return 1024 * int(line.split()[1])
    raise RuntimeError(f"no {field} in /proc/self/status")


def reset_peak() -> None:
    """Let VmHWM begin anew."""
    Path("/proc/self/clear_refs").write_text("5")


@dataclass(frozen=True)
class Measured:
    """What a stack in chunks took: seconds on the wall and of the workers' processors, and memory in chunks."""

    count: int
    chunk: int
    workers: int
    seconds: float
    processor_seconds: float
    most_chunks: float
    converged: bool


def measured(count: int, chunk: int, workers: int) -> Measured:
    """Draw and solve `count` channels on local workers of one thread each."""
    cluster = distributed.LocalCluster(workers, threads_per_worker=1, dashboard_address=None, memory_limit=0)
    with cluster, distributed.Client(cluster) as client:
        _all_converged(count=2 * workers * 10**5, chunk=10**5)
        client.run(reset_peak)
        before, spent = client.run(memory, "VmRSS"), client.run(time.process_time)
        started = time.monotonic()
        converged = _all_converged(count, chunk)
        seconds = time.monotonic() - started
        after, spent_after = client.run(memory, "VmHWM"), client.run(time.process_time)
    most = max((after[worker] - before[worker]) / (8 * SIZE * SIZE * chunk) for worker in after)
    processor = sum(spent_after[worker] - spent[worker] for worker in after)
    return Measured(count, chunk, workers, seconds, processor, most, converged)


def _all_converged(count: int, chunk: int) -> bool:
    chunks = ((chunk,) * (count // chunk), (SIZE,), (SIZE,))
    C = capacities(da.map_blocks(random_channels, chunks=chunks, dtype=float))
    return bool(C.converged.all().compute())


if __name__ == "__main__":
    print(measured(*map(int, sys.argv[1:])))
