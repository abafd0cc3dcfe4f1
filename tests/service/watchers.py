"""What 50 watching pages cost a run, and how soon they show an answer.

`python -m tests.service.watchers [WATCHERS] [BLOCKS] [REQUESTS]` lets one run go on by blocks of so many small requests, in
turns with and without watchers, so that what else the machine does falls on both; and prints JSON: the median of the
ratios of neighbouring blocks, the share of one processor that the watchers cost the service (which a busy machine does
not blur), and how long after an answer was acknowledged each watcher had it.
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
    """Let so many connections watch, and write down when each saw every number of answered requests."""
    selector, rests = selectors.DefaultSelector(), {}
    for _ in range(watchers):
        connection = http.client.HTTPConnection("127.0.0.1", port)
        connection.request("GET", f"/runs/{run}/events", headers=HEADERS)
        connection.sock.setblocking(False)
        selector.register(connection.sock, selectors.EVENT_READ)
        rests[connection.sock.fileno()] = b"", connection
    with file.open("w") as out:
        while True:
            for key, _ in selector.select():
                rest, connection = rests[key.fd]
                *lines, rest = (rest + key.fileobj.recv(1 << 20)).split(b"\n")
                rests[key.fd] = rest, connection
                for line in lines:
                    if line.startswith(b'data: {"run"'):
                        print(
                            json.dumps([key.fd, json.loads(line[6:])["requests"], time.monotonic()]),
                            file=out,
                            flush=True,
                        )


class Sensor:
    """Answers requests by itself, as quickly as the service lets it."""

    def __init__(self, port, run):
        self.run, self.acknowledged = run, {}
        self._connection = http.client.HTTPConnection("127.0.0.1", port)

    def answer(self, requests):
        """Answer so many requests; the seconds that it took."""
        began, names = time.monotonic(), [party.key for party in PARTIES]
        for _ in range(requests):
            lent = self._call("/api/leases", {"sensor": "s", "channels": names, "run": self.run, "wait": 5})
            pieces = [
                {k: part[k] for k in ("channel", "x", "start")} | {"counts": {"u": part["count"]}}
                for part in lent["parts"]
            ]
            self._call(f"/api/runs/{self.run}/pieces", {"request": lent["request"], "pieces": pieces})
            self.acknowledged[lent["request"]] = time.monotonic()
        return time.monotonic() - began

    def _call(self, path, content):
        self._connection.request("POST", path, json.dumps(content), HEADERS)
        response = self._connection.getresponse()
        answer = json.loads(response.read())
        assert response.status == 200, answer
        return answer


def processor_time(pid):
    """Seconds that a process has computed."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def delays(acknowledged, file):
    """For each answer of a block and each watcher, how much later the watcher had it, or a later one."""
    seen = {}
    for line in file.read_text().splitlines():
        watcher, requests, moment = json.loads(line)
        seen.setdefault(watcher, []).append((requests, moment))
    found = []
    for events in seen.values():
        following = iter(events)
        requests, moment = next(following)
        for request, when in acknowledged.items():
            while requests < request and (after := next(following, None)):
                requests, moment = after
            if requests >= request:
                found.append(max(moment - when, 0.0))
    return found


def main(watchers=50, blocks=20, requests=150):
    Steady.requests = (2 * blocks + 1) * requests + 1
    ratios, shares, late = [], [], []
    with tempfile.TemporaryDirectory() as name:
        folder, port = Path(name), free_port()
        (folder / "runs").mkdir()
        with begin(folder / "runs" / "run.db", Steady([party.alphabet for party in PARTIES], delta=0.1), PARTIES):
            pass
        server = Child(lambda: serve(folder / "runs", port), folder / "stderr")
        try:
            wait_for(port)
            sensor = Sensor(port, "run")
            sensor.answer(requests)
            for i in range(blocks):
                file = folder / f"seen{i}"
                child = Child(lambda file=file: watch(port, "run", watchers, file), folder / "stderr")
                time.sleep(5.0)  # connections are made, and the first report is drawn
                sensor.acknowledged.clear()
                before = processor_time(server.pid)
                watched = sensor.answer(requests)
                spent = processor_time(server.pid) - before
                time.sleep(0.5)
                child.kill()
                late += delays(sensor.acknowledged, file)
                time.sleep(0.5)
                before = processor_time(server.pid)
                ratios.append(watched / sensor.answer(requests))
                shares.append((spent - (processor_time(server.pid) - before)) / watched)
        finally:
            server.kill()
    ratios.sort()
    late.sort()
    return {
        "watchers": watchers,
        "pairs of blocks": blocks,
        "median ratio": round(statistics.median(ratios), 3),
        "share of a processor": round(statistics.median(shares), 4),
        "quartiles": [round(ratios[len(ratios) * q // 4], 3) for q in (1, 3)],
        "95th percentile of the delay, s": round(late[int(0.95 * len(late))], 3),
    }


if __name__ == "__main__":
    print(json.dumps(main(*map(int, sys.argv[1:]))))
