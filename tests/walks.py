"""Which modules of the package data go through, in a new process: python -m tests.walks prints the walks of ARCHITECTURE.md.

A module counts when Python runs a function of it, also a lambda, a comprehension or what a dataclass generates. What
runs while a module is imported does not count, for no data go through it; nor does what other threads run, but for
those of a service, nor `native`, the calls of kernels.
"""

from __future__ import annotations

import gc
import http.client
import json
import os
import subprocess
import sys
import tempfile
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import bestchannel

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
    "From a sense over HTTP to the page": (
        """
        from tests.walks import sense, served
        service = served()
        """,
        "sense(service)",
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
        from bestchannel.policies.transcript import as_document
        document = json.loads(json.dumps(as_document(bc.identify(bc.Simulator({LINKS}, rng=1)))))
        """,
        "bc.verify(document)",
    ),
}
"""By the headings of ARCHITECTURE.md: what is there before, and the call that is followed, in a folder of its own."""


_visited: dict[str, None] | None = None
"""The modules that were visited, while a call is followed."""


def modules_visited(call: Callable[[], object]) -> list[str]:
    """The modules whose functions the call runs, without the package's name, in the order of their first visit.

    Garbage is collected before: what is closed then, as the generators of policies, runs too.
    """
    global _visited
    gc.collect()
    visited = _visited = {}
    before = sys.getprofile()
    gc.disable()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
        _visited = None
        gc.enable()
    return list(visited)


def note(frame: FrameType, event: str, argument: object) -> None:
    """Note the module of a function that is called, while a call is followed."""
    name, visited = frame.f_globals.get("__name__", ""), _visited
    if visited is None or event != "call" or not name.startswith(PACKAGE) or name.startswith(KERNELS):
        return
    if not importing(frame):
        visited[name.removeprefix(PACKAGE)] = None


def served():
    """A service of one run, whose threads are followed, as a function that calls it and returns what it answers."""
    import bestchannel as bc
    from bestchannel import runs
    from bestchannel.policies import ChannelLabels
    from bestchannel.service import run_folder
    from bestchannel.service.access import Tokens
    from bestchannel.service.server import Place, Service

    channels = [ChannelLabels(name, ("0", "1"), ("0", "1")) for name in "ab"]
    with runs.begin("lab.db", bc.Adaptive([(2, 2)] * 2, delta=0.1), channels):
        pass
    threading.setprofile(note)
    run_folder.TICK_S = 1e6  # what comes with time is no part of the walk
    tokens, ready = Tokens(), threading.Event()
    service = Service(Path.cwd(), Place(port=0), tokens)
    threading.Thread(target=service.run, args=(ready.set,), daemon=True).start()
    ready.wait()
    connection = http.client.HTTPConnection("127.0.0.1", service.port)
    headers = {"Authorization": f"Bearer {tokens.owner}", "Content-Type": "application/json"}

    def call(method: str, path: str, content: object = None) -> bytes:
        connection.request(method, path, None if content is None else json.dumps(content), headers)
        response = connection.getresponse()
        assert response.status == 200, response.read()
        return response.read()

    call("GET", "/healthz")  # it is up
    return call


def sense(call: Callable[..., bytes]) -> None:
    """Lease what a run asks for, answer it, and look at the page of the run."""
    lent = json.loads(call("POST", "/api/leases", {"sensor": "walk", "channels": ["a", "b"], "run": "lab"}))
    pieces = [
        {key: part[key] for key in ("channel", "x", "start")} | {"counts": {part["x"]: part["count"]}}
        for part in lent["parts"]
    ]
    call("POST", "/api/runs/lab/pieces", {"request": lent["request"], "lease": lent["lease"], "pieces": pieces})
    assert b"lab" in call("GET", "/runs/lab")


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
            f"print(*modules_visited(lambda: {call}), flush=True)",
            "import os; os._exit(0)",  # a service that is followed in its thread would be while the interpreter ends
        ]
    )
    tests, package = Path(__file__).parents[1], Path(bestchannel.__file__).parents[1]  # those of this process
    paths = os.environ | {"PYTHONPATH": f"{tests}{os.pathsep}{package}"}
    command = [sys.executable, "-c", script]
    return subprocess.run(command, cwd=folder, env=paths, capture_output=True, text=True, check=True).stdout.split()


if __name__ == "__main__":
    for title in WALKS:
        with tempfile.TemporaryDirectory() as place:
            modules = walk(title, place)
        print(f"### {title}\n")
        print(textwrap.fill(" → ".join(f"`{module}`" for module in modules), 119, break_on_hyphens=False))
        print(f"\n({len(modules)} modules)\n")
