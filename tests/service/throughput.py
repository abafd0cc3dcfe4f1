"""How many pieces and senses a second the service acknowledges, beside bare commits of SQLite on the same disk.

`python -m tests.service.throughput [SECONDS] [FOLDER]` has 8 sensors, forked processes, send pieces of one sense to one run:
one at a time, and 50 in a call; then pieces of a million senses. Between the measurements, on the same disk, SQLite
commits one row at a time with the same durability (WAL, synchronous = FULL). Prints JSON.
"""

import http.client
import json
import os
import sqlite3
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from bestchannel.runs import begin
from tests.service.faults import SENSORS, TOKEN, Child, free_port, serve
from tests.service.instruments import BIT, PARTIES
from tests.service.wide import Wide

HEADERS = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}


def bare_commits(folder, seconds):
    """Commits of one row a second."""
    with closing(sqlite3.connect(folder / "bare.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("CREATE TABLE IF NOT EXISTS log (number INTEGER PRIMARY KEY, content TEXT NOT NULL)")
        began, done = time.monotonic(), 0
        while (took := time.monotonic() - began) < seconds:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT INTO log (content) VALUES (?)", ("x" * 150,))
            connection.execute("COMMIT")
            done += 1
    return done / took


def sensor(port, run, i, pieces, senses, seconds, file):
    """Send so many pieces of so many senses in each call, positions of its own, and write down what was acknowledged."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    channel, x = PARTIES[i // 2].key, BIT[i % 2]
    start, acknowledged, began = 0, 0, time.monotonic()
    while time.monotonic() - began < seconds:
        batch = [
            {"channel": channel, "x": x, "start": start + n * senses, "counts": {x: senses}} for n in range(pieces)
        ]
        connection.request("POST", f"/api/runs/{run}/pieces", json.dumps({"request": 1, "pieces": batch}), HEADERS)
        response = connection.getresponse()
        answer = json.loads(response.read())
        assert response.status == 200, answer
        acknowledged += sum(each["outcome"] == "kept" for each in answer["pieces"])
        start += pieces * senses
    file.write_text(json.dumps(acknowledged / (time.monotonic() - began)))


def measured(folder, pieces, senses, seconds):
    """Pieces acknowledged per second, all sensors together, and bare commits before and after."""
    port, run = free_port(), f"run{pieces}-{senses}"
    with begin(folder / "runs" / f"{run}.db", Wide([p.alphabet for p in PARTIES], delta=0.1), PARTIES):
        pass
    before = bare_commits(folder, seconds / 4)
    server = Child(lambda: serve(folder / "runs", port), folder / "stderr")
    try:
        wait_for(port)
        files = [folder / f"{run}.{i}" for i in range(SENSORS)]
        children = [
            Child(lambda i=i: sensor(port, run, i, pieces, senses, seconds, files[i]), folder / "stderr")
            for i in range(SENSORS)
        ]
        for child in children:
            os.waitpid(child.pid, 0)
    finally:
        server.kill()
    rate = sum(json.loads(file.read_text()) for file in files)
    bare = (before + bare_commits(folder, seconds / 4)) / 2
    return {
        "pieces per call": pieces,
        "pieces/s": round(rate),
        "senses/s": round(rate * senses),
        "bare commits/s": round(bare),
        "ratio": round(rate / bare, 2),
    }


def wait_for(port):
    while True:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port)
            connection.request("GET", "/healthz")
            return connection.getresponse().read()
        except OSError:
            time.sleep(0.05)


def main(seconds=4.0, where=None):
    with tempfile.TemporaryDirectory(dir=where) as name:
        folder = Path(name)
        (folder / "runs").mkdir()
        return [measured(folder, *each, float(seconds)) for each in ((1, 1), (10, 1), (50, 1), (50, 10_000))]


if __name__ == "__main__":
    for row in main(*sys.argv[1:]):
        print(json.dumps(row))
