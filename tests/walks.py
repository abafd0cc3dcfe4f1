"""Which modules of the package data go through, in a new process: python -m tests.walks prints the walks of ARCHITECTURE.md.

A module counts when Python runs a function of it, also a lambda, a comprehension or what a dataclass generates. What
runs while a module is imported does not count, for no data go through it; nor does what other threads run, nor `native`,
the calls of kernels.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable
from pathlib import Path
from types import FrameType

PACKAGE, KERNELS = "bestchannel.", "bestchannel.native"

LINKS = '{"good": [[0.9, 0.1], [0.2, 0.8]], "bad": [[0.7, 0.3], [0.3, 0.7]]}'

WALKS = {
    "From a matrix to its capacity": (
        "",
        "bc.capacity([[0.9, 0.1], [0.2, 0.8]])",
    ),
    "From a file of counts to an estimate": (
        """
        rows = "".join(f"{c},{x},{y},{90 if x == y else 10 + 5 * (c == 'b')}\\n" for c in "ab" for x in "01" for y in "01")
        open("counts.csv", "w").write("channel,x,y,count\\n" + rows)
        """,
        'bc.estimate(bc.read_counts("counts.csv"))',
    ),
    "An identification": (
        f"sensor = bc.Simulator({LINKS}, rng=1)",
        "bc.identify(sensor)",
    ),
    "From a run to its report": (
        f"""
        from bestchannel import runs
        from bestchannel.report.page import page
        sensor = bc.Simulator({LINKS}, rng=1)
        runs.identify_durably(sensor, bc.Adaptive(sensor.alphabets, delta=0.1), "run.db")
        """,
        'page(runs.read_run("run.db"))',
    ),
    "From a result to its check": (
        f"""
        import json
        from bestchannel.runs.results import as_document
        document = json.loads(json.dumps(as_document(bc.identify(bc.Simulator({LINKS}, rng=1)))))
        """,
        "bc.verify(document)",
    ),
}
"""By the headings of ARCHITECTURE.md: what is there before, and the call that is followed, in a folder of its own."""


def modules_visited(call: Callable[[], object]) -> list[str]:
    """The modules whose functions the call runs, without the package's name, in the order of their first visit.

    Garbage is collected before: what is closed then, as the generators of policies, runs too.
    """
    gc.collect()
    visited: dict[str, None] = {}

    def note(frame: FrameType, event: str, argument: object) -> None:
        name = frame.f_globals.get("__name__", "")
        if event == "call" and name.startswith(PACKAGE) and not name.startswith(KERNELS) and not importing(frame):
            visited[name.removeprefix(PACKAGE)] = None

    before = sys.getprofile()
    gc.disable()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
        gc.enable()
    return list(visited)


def importing(frame: FrameType | None) -> bool:
    """Whether the frame runs because a module is imported."""
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False


def walk(heading: str, folder: object) -> list[str]:
    """The modules of a walk, in a new process."""
    before, call = WALKS[heading]
    script = "\n".join(
        [
            "import bestchannel as bc",
            "from tests.walks import modules_visited",
            textwrap.dedent(before),
            f"print(*modules_visited(lambda: {call}))",
        ]
    )
    paths = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    command = [sys.executable, "-c", script]
    return subprocess.run(command, cwd=folder, env=paths, capture_output=True, text=True, check=True).stdout.split()


if __name__ == "__main__":
    for title in WALKS:
        with tempfile.TemporaryDirectory() as place:
            modules = walk(title, place)
        print(f"### {title}\n")
        print(textwrap.fill(" → ".join(f"`{module}`" for module in modules), 119, break_on_hyphens=False))
        print(f"\n({len(modules)} modules)\n")
