"""What 50 watching pages cost a run, and how soon they show an answer.

`python -m tests.service.watchers [WATCHERS] [BLOCKS] [REQUESTS] [FOLDER]` lets two equal services answer equal runs of small
requests, a few requests here and a few there in turns, so that what else the machine and its disk do falls on both; one
of them is watched. Prints JSON: the median over blocks of so many requests of the ratio of the times that they took, the
processor time that the watchers cost (of the service, and of the process that draws, which stands back for all others),
and how long after an answer was acknowledged each watcher had it.
"""

import http.client
import json
import selectors
import statistics
import sys
import tempfile
import time
from pathlib import Path

from bestchannel.runs import begin
from tests.runs.steady import PARTIES, Steady
from tests.service.faults import Child, free_port, serve
from tests.service.throughput import HEADERS, processor_time, wait_for

TOGETHER = 5
"""Requests that one side answers before it is the other's turn."""


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


class Side:
    """A service with a run of its own, and the sensor that answers it."""

    def __init__(self, folder):
        self.folder, self.port, self.took = folder, free_port(), []
        (folder / "runs").mkdir(parents=True)
        with begin(folder / "runs" / "run.db", Steady([party.alphabet for party in PARTIES], delta=0.1), PARTIES):
            pass
        self.server = Child(lambda: serve(folder / "runs", self.port), folder / "stderr")
        wait_for(self.port)
        self.sensor = Sensor(self.port, "run")

    def spent(self):
        """Processor time of the service, and of the processes that it has started."""
        children = Path(f"/proc/{self.server.pid}/task/{self.server.pid}/children").read_text().split()
        return processor_time(self.server.pid), sum(map(processor_time, children))


def block(sides, requests):
    """Let each side answer so many requests in turns; the seconds that each took."""
    took = [0.0, 0.0]
    for turn in range(requests // TOGETHER):
        for i in (0, 1) if turn % 2 else (1, 0):
            took[i] += sides[i].sensor.answer(TOGETHER)
    return took


def main(watchers=50, blocks=20, requests=150, where=None):
    blocks, requests = int(blocks), int(requests)
    Steady.requests = (blocks + 1) * requests + 1
    with tempfile.TemporaryDirectory(dir=where) as name:
        folder = Path(name)
        watched, _ = sides = [Side(folder / each) for each in ("watched", "alone")]
        file = folder / "seen"
        block(sides, requests)  # whatever is slow only once is over
        audience = Child(lambda: watch(watched.port, "run", int(watchers), file), folder / "stderr")
        try:
            time.sleep(5.0)  # connections are made, and the first report is drawn
            watched.sensor.acknowledged.clear()
            before = [side.spent() for side in sides]
            took = [block(sides, requests) for _ in range(blocks)]
            after = [side.spent() for side in sides]
            time.sleep(0.5)
        finally:
            for child in (audience, *(side.server for side in sides)):
                child.kill()
        late = sorted(delays(watched.sensor.acknowledged, file))
    ratios = sorted(ours / others for ours, others in took)
    wall = sum(map(sum, took))
    cost = [(a1 - a0) - (b1 - b0) for a0, a1, b0, b1 in zip(before[0], after[0], before[1], after[1], strict=True)]
    return {
        "watchers": int(watchers),
        "requests/s": round(2 * blocks * requests / wall),
        "median ratio of times": round(statistics.median(ratios), 3),
        "quartiles": [round(ratios[len(ratios) * q // 4], 3) for q in (1, 3)],
        "ratio of all time": round(sum(t[0] for t in took) / sum(t[1] for t in took), 3),
        "processor, service": round(cost[0] / wall, 4),
        "processor, drawing": round(cost[1] / wall, 4),
        "95th percentile of the delay, s": round(late[int(0.95 * len(late))], 3),
    }


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
