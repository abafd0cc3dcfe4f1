"""What every verb costs: `python -m benchmarks.start [VERB ...]`.

Each verb is a process of its own, one after the other, from a copy of the package with its bytecode, as an installation
has it. Counted is the processor time of each, user and system.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]

MANY = ROOT / "data" / "ibm_readout" / "rochester.json"
"""53 channels of 2×2."""

FEW = {f"q{i}": [[1 - p, p], [1.2 * p, 1 - 1.2 * p]] for i, p in enumerate((0.02, 0.05, 0.06, 0.1, 0.2))}

SENSES = 1000
"""Of every input, in the counts of `estimate` and `report`."""

VERBS = {
    "capacity": ["capacity", "few.json"],
    "estimate": ["estimate", "counts.csv"],
    "identify": ["identify", "--simulate", str(MANY), "--seed", "1", "--json"],
    "verify": ["verify", "identify.out"],
    "bound": ["bound", "few.json"],
    "plan": ["plan", "few.json"],
    "report": ["report", "counts.csv", "-o", "report.html"],
    "explain": ["explain", "adaptive"],
}
"""What is typed after `bestchannel`; the output of a verb is VERB.out."""

DONE = (0, 3)
"""Exit codes of a verb that has answered: 3 says that counts do not decide."""


def install(folder: Path) -> None:
    """A copy of the package, and the files that the verbs read."""
    for each in ("src", "docs"):  # the latter is what `explain` prints
        shutil.copytree(ROOT / each, folder / each, ignore=shutil.ignore_patterns("__pycache__"))
    compileall.compile_dir(folder / "src", quiet=1)
    (folder / "few.json").write_text(json.dumps({"channels": FEW}))
    (folder / "counts.csv").write_text(counts())


def counts() -> str:
    """What the few channels are expected to give, as rows channel,x,y,count."""
    cells = ((name, x, y, p) for name, W in FEW.items() for x, row in enumerate(W) for y, p in enumerate(row))
    return "channel,x,y,count\n" + "".join(f"{name},{x},{y},{round(SENSES * p)}\n" for name, x, y, p in cells)


def seconds_of(verb: str, folder: Path) -> float:
    """The processor time of a verb, run in that folder."""
    before = _spent()
    variables = {"PYTHONPATH": str(folder / "src")}
    with (folder / f"{verb}.out").open("w") as output:
        done = subprocess.run(
            [sys.executable, "-m", "bestchannel", *VERBS.get(verb, [verb])],
            cwd=folder, env={**os.environ, **variables}, stdout=output, check=False,
        )  # fmt: skip
    if done.returncode not in DONE:
        raise SystemExit(f"bestchannel {verb} ended with exit code {done.returncode}")
    return _spent() - before


def _spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.start", description="Processor time of verbs.")
    parser.add_argument("verbs", metavar="VERB", nargs="*", help=", ".join(VERBS))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        install(Path(folder))
        seconds = {verb: seconds_of(verb, Path(folder)) for verb in options.verbs or VERBS}
        print(", ".join(f"{verb} {each:.2f}" for verb, each in seconds.items()), f"sum {sum(seconds.values()):.2f}")


if __name__ == "__main__":
    main()
