"""How many pieces and senses a second the service acknowledges, beside bare commits of SQLite on the same disk.

`python -m tests.service.throughput [SECONDS] [FOLDER]` has 8 sensors, forked processes, send pieces of one sense to one run:
one at a time, 10 and 50 in a call; then pieces of 10,000 senses. In turns with them, as the speed of a disk may change from
one second to the next, SQLite commits one row at a time on the same disk with the same durability (WAL, synchronous =
FULL). Prints JSON: medians over the turns, and the processor time of the service for a piece. The sensors write and read
their few bytes themselves, so that they leave the processors to the service.
"""

import http.client
import json
import os
import socket
import sqlite3
import statistics
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from bestchannel.runs import begin
from tests.service.faults import SENSORS, TOKEN, Child, check, free_port, serve
from tests.service.instruments import BIT, PARTIES
from tests.service.wide import Wide

HEADERS = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
TURNS = 9


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


def sensor(port, run, i, first, pieces, senses, seconds, file):
    """Send so many pieces of so many senses in each call, from a position on, and write down what was acknowledged."""
    channel, x = PARTIES[i // 2].key, BIT[i % 2]
    words = "".join(f"{key}: {value}\r\n" for key, value in {"Host": f"127.0.0.1:{port}", **HEADERS}.items())
    head = f"POST /api/runs/{run}/pieces HTTP/1.1\r\n{words}Content-Length: "
    piece = f'{{"channel":"{channel}","x":"{x}","start":%d,"counts":{{"{x}":{senses}}}}}'
    start, acknowledged, began = first, 0, time.monotonic()
    with socket.create_connection(("127.0.0.1", port)) as line:
        while time.monotonic() - began < seconds:
            batch = ",".join(piece % (start + n * senses) for n in range(pieces))
            body = f'{{"request":1,"pieces":[{batch}]}}'
            line.sendall(f"{head}{len(body)}\r\n\r\n{body}".encode())
            answer = b""
            while not answer.endswith(b"]}"):
                answer += line.recv(65_536)
                check(answer.startswith(b"HTTP/1.1 200"), answer)
            acknowledged += answer.count(b'"kept"')
            start += pieces * senses
    file.write_text(json.dumps(acknowledged / (time.monotonic() - began)))


def turn(folder, port, run, number, *what):
    """Pieces acknowledged per second by all sensors together."""
    files = [folder / f"{run}.{i}" for i in range(SENSORS)]
    children = [
        Child(lambda i=i: sensor(port, run, i, number * 10**12, *what, files[i]), folder / "stderr")
        for i in range(SENSORS)
    ]
    ends = [os.waitpid(child.pid, 0)[1] for child in children]
    check(not any(ends), (folder / "stderr").read_text()[-2000:])
    return sum(json.loads(file.read_text()) for file in files)


def measured(folder, pieces, senses, seconds):
    """Medians over the turns of the sensors, and of bare commits."""
    port, run = free_port(), f"run{pieces}-{senses}"
    with begin(folder / "runs" / f"{run}.db", Wide([p.alphabet for p in PARTIES], delta=0.1), PARTIES):
        pass
    server, bare, rates = Child(lambda: serve(folder / "runs", port), folder / "stderr"), [], []
    try:
        wait_for(port)
        before = processor_time(server.pid)
        for number in range(TURNS):
            bare.append(bare_commits(folder, seconds / TURNS))
            rates.append(turn(folder, port, run, number, pieces, senses, seconds / TURNS))
        spent = (processor_time(server.pid) - before) / (sum(rates) * seconds / TURNS)
    finally:
        server.kill()
    return {
        "pieces per call": pieces,
        "pieces/s": round(statistics.median(rates)),
        "senses/s": round(statistics.median(rates) * senses),
        "bare commits/s": round(statistics.median(bare)),
        "ratio": round(statistics.median(rate / other for rate, other in zip(rates, bare, strict=True)), 2),
        "processor, µs a piece": round(1e6 * spent),
    }


def processor_time(pid):
    """Seconds that a process has computed."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


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
