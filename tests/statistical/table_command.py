"""A study as a command: so many runs at one delta, and a table that is printed row by row."""

import argparse


def print_table(arguments, docstring, columns, rows, *, runs, delta=None):
    """Print the columns, and rows(runs) or rows(runs, delta) as they come, by --runs and, with a delta, --delta."""
    parser = argparse.ArgumentParser(description=docstring.splitlines()[0])
    parser.add_argument("--runs", type=int, default=runs)
    if delta is not None:
        parser.add_argument("--delta", type=float, default=delta)
    given = parser.parse_args(arguments)
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for row in rows(**vars(given)):
        print(f"| {' | '.join(row)} |", flush=True)
