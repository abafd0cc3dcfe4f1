"""`python -m benchmarks [--only NAME] [--full]`: the table on stdout, progress on stderr.

A run of everything also writes the table into README.md.
"""

from __future__ import annotations

import argparse
import os
import sys

from benchmarks.suite import SUITE
from benchmarks.table import machine, warning, write_readme, written
from bestchannel.process import usable_cores


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Capacities beside other software.")
    parser.add_argument("--only", metavar="NAME", action="append", choices=list(SUITE), help=", ".join(SUITE))
    parser.add_argument("--full", action="store_true", help="the slow peers at 1024×1024 as well")
    options = parser.parse_args()
    start = os.times()
    rows = []
    for name in options.only or SUITE:
        print(f"{name} ...", file=sys.stderr, flush=True)
        for row in SUITE[name](options.full):
            print(f"  {row.software}", file=sys.stderr, flush=True)
            rows.append(row)
    table = written(rows)
    print(table)
    if options.only is None:
        command = "python -m benchmarks" + (" --full" if options.full else "")
        write_readme(f"{machine(command, usable_cores())}{warning(_share_of_a_core(start))}\n\n{table}")


def _share_of_a_core(start: os.times_result) -> float:
    now = os.times()
    return (sum(now[:4]) - sum(start[:4])) / (now.elapsed - start.elapsed)


if __name__ == "__main__":
    main()
