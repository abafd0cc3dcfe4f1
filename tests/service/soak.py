"""A week in miniature: many runs of many small requests.

`python -m tests.service.soak [REQUESTS] [RUNS] [AT ONCE]` has 10^5 requests answered in 20 runs, one after the other or some
at a time, and prints JSON: the memory of the service in its first and its last tenth, and the least and the most bytes
of a file for each request in the second half of a run. The memory of a run grows with its log until it ends; one after
the other, both tenths see whole runs.
"""

import json
import os
import sys
import tempfile
import threading
import time
from pathlib import Path

from bestchannel.runs import begin
from tests.runs.steady import PARTIES, Steady
from tests.service.faults import Child, free_port, serve
from tests.service.throughput import wait_for
from tests.service.watchers import Sensor


def resident(pid):
    """Bytes of memory that a process holds."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def answered(folder, port, runs, requests, sizes):
    """Answer the runs that are left, one after the other; the sizes of the file of each along the way."""
    while runs:
        run = runs.pop()
        sensor, path = Sensor(port, run), folder / "runs" / f"{run}.db"
        for done in range(10):
            sensor.answer(requests // 10)
            sizes.append(
                (
                    requests // 10 * (done + 1),
                    sum(f.stat().st_size for f in path.parent.glob(f"{run}.db*") if "shm" not in f.name),
                )
            )


def main(requests=100_000, runs=20, at_once=1):
    each = requests // runs
    Steady.requests = each
    with tempfile.TemporaryDirectory() as name:
        folder, port = Path(name), free_port()
        (folder / "runs").mkdir()
        names = [f"run{i:02}" for i in range(runs)]
        for run in names:
            with begin(
                folder / "runs" / f"{run}.db", Steady([party.alphabet for party in PARTIES], delta=0.1), PARTIES
            ):
                pass
        server = Child(lambda: serve(folder / "runs", port), folder / "stderr")
        try:
            wait_for(port)
            sizes, memory, began = [], [], time.monotonic()
            threads = [
                threading.Thread(target=answered, args=(folder, port, names, each, sizes)) for _ in range(at_once)
            ]
            for thread in threads:
                thread.start()
            while any(thread.is_alive() for thread in threads):
                memory.append(resident(server.pid))
                time.sleep(0.5)
        finally:
            server.kill()
    tenth = max(1, len(memory) // 10)
    first, last = (sum(part) / tenth for part in (memory[:tenth], memory[-tenth:]))
    per_request = [size / done for done, size in sizes if done >= each // 2]
    return {
        "requests": requests,
        "runs": runs,
        "seconds": round(time.monotonic() - began, 1),
        "MB, first tenth": round(first / 1e6, 1),
        "MB, last tenth": round(last / 1e6, 1),
        "ratio": round(last / first, 3),
        "bytes a request": [round(min(per_request)), round(max(per_request))],
    }


if __name__ == "__main__":
    print(json.dumps(main(*map(int, sys.argv[1:]))))
