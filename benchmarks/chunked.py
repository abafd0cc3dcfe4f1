"""A stack larger than memory on a Dask cluster of local workers: how fast, and how much memory each worker takes.

`python -m benchmarks.chunked 100000000 1000000 2` (random 4×4 channels, channels in a chunk, workers of one thread).
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import dask
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


def processor_seconds() -> float:
    return time.process_time()


def main(count: int, chunk: int, workers: int) -> None:
    cluster = distributed.LocalCluster(workers, threads_per_worker=1, dashboard_address=None, memory_limit=0)
    with cluster, distributed.Client(cluster) as client:
        warm = capacities(da.map_blocks(random_channels, chunks=((10**5,) * 2 * workers, SIZE, SIZE), dtype=float))
        warm.lower.max().compute()
        client.run(reset_peak)
        before, spent = client.run(memory, "VmRSS"), client.run(processor_seconds)
        chunks = ((chunk,) * (count // chunk), (SIZE,), (SIZE,))
        C = capacities(da.map_blocks(random_channels, chunks=chunks, dtype=float))
        started = time.monotonic()
        best, widest, converged = dask.compute(C.lower.max(), C.gap.max(), C.converged.all())
        seconds = time.monotonic() - started
        after, spent_after = client.run(memory, "VmHWM"), client.run(processor_seconds)
    bytes_of_chunk = 8 * SIZE * SIZE * chunk
    most = max((after[worker] - before[worker]) / bytes_of_chunk for worker in after)
    processor = sum(spent_after[worker] - spent[worker] for worker in after)
    print(
        f"{count:.3g} random {SIZE}x{SIZE} in chunks of {chunk:.3g} ({bytes_of_chunk / 1e6:.0f} MB), {workers} workers:"
        f" {seconds:.1f} s, {processor:.1f} s of processor time, drawing included; at most {most:.2f} chunks of memory"
        f" in a worker; best {best:.6f} bits, widest bracket {widest:.1e}, all converged: {converged}"
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
