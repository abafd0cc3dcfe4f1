"""A week in miniature: many runs of many small requests.

`python -m tests.service.soak [REQUESTS] [RUNS] [AT ONCE]` has 10^5 requests answered in 20 runs, one after the other or some
at a time, and prints JSON: the memory of the service in the first and in the last tenth of the requests, and the least
and the most bytes of a file for each request in the second half of a run. The memory of a run grows with its log until it
ends; one after the other, both tenths see whole runs.
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

LOOKS = 50
"""At each run, along its way."""


def resident(pid):
    """Bytes of memory that a process holds."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def answered(folder, port, pid, runs, requests, seen):
    """Answer the runs that are left, one after the other; the size of the file of each, and the memory, along the way."""
    while runs:
        run = runs.pop()
        sensor, path = Sensor(port, run), folder / "runs" / f"{run}.db"
        for done in range(LOOKS):
            sensor.answer(requests // LOOKS)
            size = sum(f.stat().st_size for f in path.parent.glob(f"{run}.db*") if "shm" not in f.name)
            seen.append((requests // LOOKS * (done + 1), size, resident(pid)))


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
            seen, began = [], time.monotonic()
            work = (folder, port, server.pid, names, each, seen)
            threads = [threading.Thread(target=answered, args=work) for _ in range(at_once)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            server.kill()
    memory, tenth = [bytes_held for _, _, bytes_held in seen], len(seen) // 10
    first, last = (sum(part) / tenth for part in (memory[:tenth], memory[-tenth:]))
    per_request = [size / done for done, size, _ in seen if done >= each // 2]
    return {
        "requests": requests,
        "runs": runs,
        "seconds": round(time.monotonic() - began, 1),
        "MB, first tenth": round(first / 1e6, 1),
        "MB, last tenth": round(last / 1e6, 1),
        "ratio": round(last / first, 3),
        "MB, most in each tenth": [round(max(memory[i * tenth : (i + 1) * tenth]) / 1e6, 1) for i in range(10)],
        "bytes a request": [round(min(per_request)), round(max(per_request))],
    }


if __name__ == "__main__":
    print(json.dumps(main(*map(int, sys.argv[1:]))))
