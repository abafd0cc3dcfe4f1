"""How much a viewer in a loop slows a run: `python -m tests.journeys.viewer [PAUSE_S]`.

One process answers requests, each of them on disk before the next; another looks at the run (`runs.view`) again and
again, with PAUSE_S between two looks. Blocks of requests with the viewer at work and blocks without alternate, so that
both meet the same other load, and the seconds of the ones are divided by those of the others.
"""

import json
import multiprocessing
import statistics
import sys
import tempfile
import time
from pathlib import Path

from bestchannel import runs
from tests.journeys.crash import CHANNELS
from tests.runs.steady import Steady

BLOCKS, BLOCK = 50, 30


def look(path, pause, looks, wanted):
    Steady.requests = 2 * BLOCKS * BLOCK
    while True:
        wanted.wait()
        runs.view(path)
        looks.value += 1
        time.sleep(pause)


def block(run, sensor):
    """The seconds that a block of requests takes."""
    start = time.perf_counter()
    for _ in range(BLOCK):
        request = run.ask()
        run.tell(request.number, sensor(request))
    return time.perf_counter() - start


def main(pause=0.5):
    Steady.requests = 2 * BLOCKS * BLOCK
    sensor = runs.Simulation(CHANNELS, 1).sensor()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.db"
        with runs.begin(path, Steady(sensor.alphabets, delta=0.1), sensor.parties) as run:
            spawn = multiprocessing.get_context("spawn")
            looks, wanted = spawn.Value("i", 0), spawn.Event()
            viewer = spawn.Process(target=look, args=(path, pause, looks, wanted))
            viewer.start()
            wanted.set()
            while not looks.value:
                time.sleep(0.1)
            pairs = []
            for _ in range(BLOCKS):
                wanted.clear()
                alone = block(run, sensor)
                wanted.set()
                pairs.append((alone, block(run, sensor)))
            seen = looks.value
            viewer.kill()
    alone, watched = (sum(times) for times in zip(*pairs, strict=True))
    medians = [statistics.median(times) for times in zip(*pairs, strict=True)]
    return {
        "ratio": round(watched / alone, 3),
        "ratio of medians": round(medians[1] / medians[0], 3),
        "looks": seen,
        "ms per request": round(1e3 * alone / BLOCK / BLOCKS, 2),
    }


if __name__ == "__main__":
    print(json.dumps(main(*map(float, sys.argv[1:]))))
