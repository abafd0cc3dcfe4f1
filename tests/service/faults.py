"""Kill the service and its sensors at random moments, and hold what is left against a run that was left alone.

`python -m tests.service.faults 200 [SEED]` kills 200 times (SIGKILL: the server, some of 8 sensors, or all of it), behind
a proxy that drops and delays, with sensors that send pieces twice, in another order, and late; and prints what it found
as JSON. A child is a fork of this process, which has everything imported: kills then fall into the work.
"""

import asyncio
import json
import os
import random
import signal
import socket
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from bestchannel.policies.transcript import as_document
from bestchannel.runs import read_run, store
from bestchannel.service.access import Tokens
from bestchannel.service.instrument import Instrument
from bestchannel.service.ledger import identifier
from bestchannel.service.link import Address, Link, Outbox, refuse
from bestchannel.service.server import Place, Service, log_to_stderr
from tests.service import instruments

TOKEN = "0123456789abcdefghij"
LEASE_S = 1.0
SENSORS = 8


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def free_port():
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return made.getsockname()[1]


class Child:
    """A function in a process of its own, with stderr in a file."""

    def __init__(self, work, log):
        self._work, self._log = work, log
        self.start()

    def start(self):
        self.pid = os.fork()
        if self.pid == 0:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            os.dup2(os.open(self._log, os.O_WRONLY | os.O_APPEND | os.O_CREAT), 2)
            try:
                self._work()
            except BaseException as error:
                os.write(2, f"Traceback {type(error).__name__}: {error}\n".encode())
                os._exit(70)
            os._exit(0)

    def alive(self):
        return os.waitpid(self.pid, os.WNOHANG)[0] == 0

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def serve(folder, port):
    log_to_stderr("info")
    Service(folder, Place(port=port), Tokens(TOKEN), lease_s=LEASE_S).run()


def faulty_proxy(port, target, seed):
    """Forward bytes, late now and then, and cut one connection in fifty or so in the middle."""
    rng = random.Random(seed)

    async def forward(reader, writer):
        while block := await reader.read(4096):
            if rng.random() < 0.3:
                await asyncio.sleep(rng.uniform(0, 0.02))
            if rng.random() < 0.02:
                writer.write(block[: len(block) // 2])
                break
            writer.write(block)
            await writer.drain()

    async def connected(reader, writer):
        try:
            there = await asyncio.open_connection("127.0.0.1", target)
        except OSError:
            writer.close()
            return
        both = [asyncio.create_task(forward(reader, there[1])), asyncio.create_task(forward(there[0], writer))]
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        for task in both:
            task.cancel()
        await asyncio.gather(*both, return_exceptions=True)
        for each in (writer, there[1]):
            each.transport.abort()

    async def main():
        await (await asyncio.start_server(connected, "127.0.0.1", port)).serve_forever()

    asyncio.run(main())


def acknowledging(file):
    """Let every outbox of this process write down what was acknowledged."""
    call = Outbox._call
    log = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def called(self, lent, path, offer=None):
        refused = self.refused
        call(self, lent, path, offer)
        if offer is not None and self.refused == refused:
            note_acknowledged(log, [(offer["request"], piece) for piece in offer["pieces"]])

    Outbox._call = called


def note_acknowledged(log, pieces):
    os.write(log, "".join(json.dumps(each) + "\n" for each in pieces).encode())


def steady_sensor(url, name, channels, seed, file):
    """An instrument as users write it, which answers in chunks of random sizes."""
    rng = random.Random(os.getpid())
    acknowledging(file)

    def sensing(batch):
        done = 0
        while done < batch.count:
            count = min(batch.count - done, rng.choice([1, 3, 20, 200]))
            if rng.random() < 0.1:
                time.sleep(rng.uniform(0, 0.01))
            yield instruments.counts_of(seed, batch.request, batch.channel, batch.x, batch.start + done, count)
            done += count

    Instrument(url, channels, sensing, name=name, most=rng.choice([5, 50, 5000])).run()


def rogue_sensor(url, name, channels, seed, file):
    """A sensor that cuts its parts anew, shuffles, repeats, is late, never renews, and now and then lies about the past."""
    rng = random.Random(os.getpid())
    log = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    address, stop = Address.parse(url), threading.Event()
    link, before = Link(address, stop), None
    while True:
        wish = {"sensor": name, "channels": channels, "run": address.run, "most": 300, "wait": 1}
        status, lent = link.call("POST", "/api/leases", wish)
        refuse(status, lent)
        if lent["state"] not in ("open", "paused", "idle"):
            return
        pieces = []
        for part in lent["parts"]:
            place = (lent["request"], part["channel"], part["x"])
            start, end = part["start"], part["start"] + part["count"]
            while start < end:
                count = min(end - start, rng.choice([1, 7, 60]))
                counts = instruments.counts_of(seed, *place, start, count)
                pieces.append({"channel": place[1], "x": place[2], "start": start, "counts": counts})
                start += count
        rng.shuffle(pieces)
        pieces += rng.sample(pieces, len(pieces) // 3)
        if rng.random() < 0.05:
            time.sleep(1.2 * LEASE_S)  # the lease is over, and somebody else has the work
        for i in range(0, len(pieces), 20):
            offer = {"request": lent["request"], "pieces": pieces[i : i + 20]}
            status, answer = link.call("POST", f"/api/runs/{address.run}/pieces", offer)
            check(status in (200, 409), answer)
            fine = [
                (lent["request"], p)
                for p, a in zip(offer["pieces"], answer["pieces"], strict=True)
                if a["outcome"] != "refused"
            ]
            note_acknowledged(log, fine)
        if before and rng.random() < 0.2:
            lie(link, address.run, *before)
        if pieces:
            before = lent["request"], pieces[0]


def lie(link, run, request, piece):
    """Contradict a piece that was answered before: it must be refused."""
    (y, n), *_ = piece["counts"].items()
    other = {**piece, "counts": {"1" if y == "0" else "0": n, **{k: v for k, v in piece["counts"].items() if k != y}}}
    if other["counts"] == piece["counts"]:
        return
    status, answer = link.call("POST", f"/api/runs/{run}/pieces", {"request": request, "pieces": [other]})
    check(status == 409, f"a contradiction was taken: {status} {answer}")


class Arena:
    """One run after the other, with everything that can happen to them."""

    def __init__(self, folder, seed):
        self.folder, self.rng, self.found = Path(folder), random.Random(seed), Counter()
        self.port, self.proxy_port = free_port(), free_port()
        self.log = self.folder / "stderr"
        self.server = Child(lambda: serve(self.folder / "runs", self.port), self.log)
        self.proxy = Child(lambda: faulty_proxy(self.proxy_port, self.port, seed), self.log)
        self.link = Link(Address.parse(f"http://127.0.0.1:{self.port}/?token={TOKEN}"), threading.Event())

    def close(self):
        for child in (self.server, self.proxy):
            child.kill()

    def round(self, number, kills):
        """One run with so many kills, compared with what it is when it is left alone."""
        name, policy = f"run{number}", instruments.adaptive()
        expected = as_document(instruments.left_alone(number, policy))
        wish = {"name": name, "channels": instruments.CHANNELS, "policy": "adaptive", "delta": 0.1}
        status, answer = self.link.call("POST", "/api/runs", wish)
        check(status == 201, answer)
        acknowledged = self.folder / f"{name}.acknowledged"
        sensors = [self._sensor(i, name, number, acknowledged) for i in range(SENSORS)]
        done = 0
        while self._state(name) == "open":
            time.sleep(self.rng.uniform(0.02, 0.5))
            if done < kills:
                self._kill(sensors)
                done += 1
            for sensor in sensors:
                if not sensor.alive():
                    sensor.start()
        for sensor in sensors:
            sensor.kill()
        self._compare(name, expected, acknowledged)

    def _sensor(self, i, run, seed, acknowledged):
        port = self.proxy_port if i % 2 else self.port
        url = f"http://127.0.0.1:{port}/runs/{run}?token={TOKEN}"
        channels = list(instruments.ERRORS)[i % 2 :: 2] if i < 6 else list(instruments.ERRORS)
        kind = rogue_sensor if i % 4 in (2, 3) else steady_sensor
        return Child(lambda: kind(url, f"sensor {i}", channels, seed, acknowledged), self.log)

    def _kill(self, sensors):
        what = self.rng.choice(["server", "sensors", "both"])
        self.found[what] += 1
        victims = [] if what == "server" else self.rng.sample(sensors, self.rng.randint(1, SENSORS))
        if what != "sensors":
            victims.append(self.server)
        self.rng.shuffle(victims)
        for victim in victims:
            if victim.alive():
                victim.kill()
        for victim in victims:
            victim.start()

    def _state(self, name):
        status, answer = self.link.call("GET", f"/api/runs/{name}")
        check(status == 200, answer)
        return answer["state"]

    def _compare(self, name, expected, acknowledged):
        path = self.folder / "runs" / f"{name}.db"
        check(as_document(read_run(path)) == expected, "the run differs from the one that was left alone")
        history, seen = store.read(path), 0
        number = {party.key: j for j, party in enumerate(instruments.PARTIES)}
        for line in acknowledged.read_text().splitlines():
            request, piece = json.loads(line)
            j, x = number[piece["channel"]], instruments.BIT.index(piece["x"])
            kept = history.partial_answer(request).pieces[identifier(j, x, piece["start"])]
            check(
                kept.counts == tuple(piece["counts"].get(y, 0) for y in instruments.BIT),
                "an acknowledged piece is lost",
            )
            seen += 1
        self.found["acknowledged pieces found"] += seen
        self.found["senses"] += expected["senses"]
        self.found["runs compared"] += 1


def main(kills, seed=0, per_run=25):
    started, number = time.monotonic(), 1000 * seed
    with tempfile.TemporaryDirectory() as folder:
        instruments.left_alone(0, instruments.adaptive())  # kernels are loaded before children are forked
        arena = Arena(folder, seed)
        try:
            while (killed := sum(arena.found[what] for what in ("server", "sensors", "both"))) < kills:
                number += 1
                arena.round(number, min(per_run, kills - killed))
            said = arena.log.read_text()
        finally:
            arena.close()
    check("Traceback" not in said and '"fault"' not in said, said[-3000:])
    expired = said.count("lease expired")
    return {"killed": killed, **arena.found, "leases expired": expired, "seconds": round(time.monotonic() - started, 1)}


if __name__ == "__main__":
    print(json.dumps(main(*map(int, sys.argv[1:]))))
