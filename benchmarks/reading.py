"""`python -m benchmarks.reading [--rows N]`: trial logs as counts and in their order, beside other readers.

Every reader runs in a process of its own, so that its peak memory is its own, warm (a small file first), best of 3.
The other readers are asked for the same answer: how often each (channel, x, y) came.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

CHANNELS, INPUTS, OUTPUTS = 10, 4, 4
TIMES = 3


def counts(path: Path) -> int:
    from bestchannel.counts import read_counts

    return sum(int(content.counts.sum()) for content in read_counts(path).values())


def trials(path: Path) -> int:
    from bestchannel.counts import read_trials

    return sum(len(rows) for channel in read_trials(path).outputs for rows in channel)


def pandas(path: Path) -> int:
    import pandas as pd

    frame = pd.read_csv(path) if path.suffix == ".csv" else pd.read_parquet(path)
    return int(frame.groupby(["channel", "x", "y"]).size().sum())


def polars(path: Path) -> int:
    import polars as pl

    frame = pl.scan_csv(path) if path.suffix == ".csv" else pl.scan_parquet(path)
    return int(frame.group_by("channel", "x", "y").len().collect()["len"].sum())


def pyarrow(path: Path) -> int:
    import pyarrow.csv
    import pyarrow.parquet

    table = pyarrow.csv.read_csv(path) if path.suffix == ".csv" else pyarrow.parquet.read_table(path)
    return int(np.sum(table.group_by(["channel", "x", "y"]).aggregate([([], "count_all")])["count_all"].to_numpy()))


READERS: dict[str, tuple[str, Callable[[Path], int]]] = {
    "bestchannel, counts": ("bestchannel", counts),
    "bestchannel, in order": ("bestchannel", trials),
    "pandas": ("pandas", pandas),
    "polars": ("polars", polars),
    "pyarrow": ("pyarrow", pyarrow),
}


def write_log(path: Path, rows: int) -> None:
    """A log of random cells, as CSV or Parquet."""
    rng = np.random.default_rng(1)
    cells = [(f"link{c}", x, y) for c in range(CHANNELS) for x in range(INPUTS) for y in range(OUTPUTS)]
    if path.suffix == ".csv":
        lines = np.array([f"{c},{x},{y}\n" for c, x, y in cells], dtype=object)
        with path.open("w") as file:
            file.write("channel,x,y\n")
            for start in range(0, rows, 10**6):
                file.write("".join(lines[rng.integers(len(cells), size=min(10**6, rows - start))]))
        return
    import pyarrow as pa
    import pyarrow.parquet as pq

    chosen = rng.integers(len(cells), size=rows)
    columns = zip(("channel", "x", "y"), zip(*cells, strict=True), strict=True)
    pq.write_table(pa.table({name: np.array(values)[chosen] for name, values in columns}), path)


def measure(reader: str, small: Path, large: Path) -> None:
    """The answer, the best wall and processor time, and the memory at the peak, as JSON."""
    _, read = READERS[reader]
    read(small)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    walls, processors = [], []
    for _ in range(TIMES):
        wall, processor = time.perf_counter(), time.process_time()
        answer = read(large)
        walls.append(time.perf_counter() - wall)
        processors.append(time.process_time() - processor)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps([answer, min(walls), min(processors), before / 1024, peak / 1024]))


def in_a_process(*arguments: object) -> str:
    # a process begins with the peak memory of the one that starts it, so this one must stay small
    command = [sys.executable, "-m", "benchmarks.reading", *map(str, arguments)]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def table_row(reader: str, small: Path, large: Path, rows: int) -> str:
    library, _ = READERS[reader]
    if importlib.util.find_spec(library) is None:
        return f"| {large.suffix} | {reader} | not installed |"
    answer, wall, processor, before, peak = json.loads(in_a_process("--measure", reader, small, large))
    assert answer == rows
    rate = rows / wall / 1e6
    return f"| {large.suffix} | {reader} | {wall:.2f} | {rate:.1f} | {processor:.2f} | {before:.0f} | {peak:.0f} |"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reading", description="Trial logs, rows per second.")
    parser.add_argument("--rows", type=int, default=10**7)
    parser.add_argument("--measure", nargs=3, metavar=("READER", "SMALL", "LARGE"), help=argparse.SUPPRESS)
    parser.add_argument("--write", metavar="FILE", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write:
        write_log(Path(options.write), options.rows)
    elif options.measure:
        reader, small, large = options.measure
        measure(reader, Path(small), Path(large))
    else:
        compare(options.rows)


def compare(rows: int) -> None:
    print(f"{rows:,} rows; {os.cpu_count()} cores; load {os.getloadavg()[0]:.1f}")
    print("| file | reader | s | 10⁶ rows/s | processor s | MiB before | MiB at the peak |")
    print("|---|---|--:|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as folder:
        for ending in ("csv", "parquet"):
            small, large = Path(folder, f"small.{ending}"), Path(folder, f"log.{ending}")
            in_a_process("--rows", 10**6, "--write", small)
            in_a_process("--rows", rows, "--write", large)
            for reader in READERS:
                print(table_row(reader, small, large, rows), flush=True)


if __name__ == "__main__":
    main()
