"""What 50 watching pages cost a run, and how soon they show an answer.

`python -m tests.service.watchers [WATCHERS] [REQUESTS] [PAIRS]` runs the same run of many small requests with and without
watchers, in turns, and prints JSON: the seconds of each, their ratio, and how long after an answer was acknowledged
each watcher had it.
"""

import http.client
import json
import os
import selectors
import statistics
import sys
import tempfile
import time
from pathlib import Path

from bestchannel.runs import begin
from tests.runs.steady import PARTIES, Steady
from tests.service.faults import Child, free_port, serve
from tests.service.throughput import HEADERS, wait_for


def watch(port, run, watchers, file):
    """Let so many connections watch, and write down when each first saw every number of answered requests."""
    selector, rests = selectors.DefaultSelector(), {}
    for _ in range(watchers):
        connection = http.client.HTTPConnection("127.0.0.1", port)
        connection.request("GET", f"/runs/{run}/events", headers=HEADERS)
        connection.sock.setblocking(False)
        selector.register(connection.sock, selectors.EVENT_READ, connection)
        rests[connection.sock] = b""
    seen, ended = {sock.fileno(): [] for sock in rests}, 0
    while ended < watchers:
        for key, _ in selector.select(1.0):
            data = key.fileobj.recv(1 << 20)
            now = time.monotonic()
            *lines, rests[key.fileobj] = (rests[key.fileobj] + data).split(b"\n")
            for line in lines:
                if line.startswith(b'data: {"run"'):
                    status = json.loads(line[6:])
                    seen[key.fd].append((status["requests"], now))
                    ended += status["state"] == "decided"
    file.write_text(json.dumps(list(seen.values())))


def answer_all(port, run):
    """Answer every request by itself; when each answer was acknowledged, and how long it took."""
    connection = http.client.HTTPConnection("127.0.0.1", port)

    def call(path, content):
        connection.request("POST", path, json.dumps(content), HEADERS)
        return json.loads(connection.getresponse().read())

    acknowledged, began, names = {}, time.monotonic(), [party.key for party in PARTIES]
    while (lent := call("/api/leases", {"sensor": "s", "channels": names, "run": run, "wait": 5}))["state"] == "open":
        pieces = [
            {k: part[k] for k in ("channel", "x", "start")} | {"counts": {"u": part["count"]}} for part in lent["parts"]
        ]
        if pieces:
            call(f"/api/runs/{run}/pieces", {"request": lent["request"], "pieces": pieces})
            acknowledged[lent["request"]] = time.monotonic()
    return acknowledged, time.monotonic() - began


def once(folder, number, watchers):
    run, port = f"run{number}", free_port()
    with begin(folder / "runs" / f"{run}.db", Steady([party.alphabet for party in PARTIES], delta=0.1), PARTIES):
        pass
    server = Child(lambda: serve(folder / "runs", port), folder / "stderr")
    try:
        wait_for(port)
        file = folder / f"{run}.seen"
        child = Child(lambda: watch(port, run, watchers, file), folder / "stderr") if watchers else None
        time.sleep(3.0)  # the process that draws has started
        acknowledged, seconds = answer_all(port, run)
        if child:
            os.waitpid(child.pid, 0)
        return seconds, delays(acknowledged, json.loads(file.read_text()) if watchers else [])
    finally:
        server.kill()


def delays(acknowledged, seen):
    """For each answer and each watcher, how much later the watcher had it, or a later one."""
    found = []
    for watcher in seen:
        events = iter(watcher)
        requests, moment = next(events)
        for request, when in acknowledged.items():
            while requests < request:
                requests, moment = next(events)
            found.append(max(moment - when, 0.0))
    return found


def main(watchers=50, requests=3000, pairs=3):
    Steady.requests = requests
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "runs").mkdir()
        rows = []
        for i in range(pairs):
            alone, _ = once(folder, 2 * i, 0)
            watched, late = once(folder, 2 * i + 1, watchers)
            rows.append((alone, watched, late))
    late = sorted(delay for _, _, each in rows for delay in each)
    return {
        "watchers": watchers,
        "requests": requests,
        "seconds alone": [round(alone, 2) for alone, _, _ in rows],
        "seconds watched": [round(watched, 2) for _, watched, _ in rows],
        "median ratio": round(statistics.median(watched / alone for alone, watched, _ in rows), 3),
        "95th percentile of the delay, s": round(late[int(0.95 * len(late))], 3),
    }


if __name__ == "__main__":
    print(json.dumps(main(*map(int, sys.argv[1:]))))
