"""Compile the kernels before workers start who would each compile all of them: `python -m tests.compile_kernels`.

Two processes share the work, in an order by which neither comes upon a kernel that the other is at.
"""

import subprocess
import sys

import numpy as np

import bestchannel as bc
from bestchannel.counts import scan

LINKS = {"good": [[0.95, 0.05], [0.05, 0.95]], "bad": [[0.7, 0.3], [0.3, 0.7]]}


def bound():
    """The kernels of small channels, and with them those of the characteristic time."""
    bc.capacity(LINKS["good"])
    bc.lower_bound(LINKS, delta=0.1)


def identification():
    """Those of large channels and of text; then those of the bets, which need the small channels too."""
    bc.capacity(np.full((40, 40), 0.01) + 0.6 * np.eye(40))
    scan.kernels()
    for links in (LINKS, {name: np.kron(rows, np.eye(2)) for name, rows in LINKS.items()}):
        sensor = bc.Simulator(links, rng=1)
        bc.identify(sensor, bc.Adaptive(sensor.alphabets, delta=0.1))


def main(*parts):
    for part in parts:
        {"bound": bound, "identification": identification}[part]()
    if not parts:
        each = [subprocess.Popen([sys.executable, "-m", __spec__.name, part]) for part in ("bound", "identification")]
        for process in each:
            process.wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
