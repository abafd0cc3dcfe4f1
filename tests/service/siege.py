"""A service under attack, from several addresses of this machine, while its owner calls ten times a second.

`python -m tests.service.siege [SECONDS] [SIZE]` makes every attack for so many seconds, then all of them at once, and prints
JSON: how many connections each has made, how many the service held at the end, and how long the owner's calls took. SIZE
is the number of connections of an attack.
"""

import asyncio
import contextlib
import itertools
import json
import multiprocessing
import resource
import socket
import statistics
import sys
import tempfile
import time
from pathlib import Path

from tests.service.running import running

ADDRESSES = [f"127.0.0.{i}" for i in range(2, 22)]

WISH = json.dumps({"sensor": "s", "channels": ["cable"], "wait": 30}).encode()


class Attacker:
    """Connections to a service from some addresses, with a token to sense a channel and one to look."""

    def __init__(self, port, tokens, size):
        self.port, self.size, self.made = port, size, 0
        self.sense, self.view = tokens
        self._addresses = itertools.cycle(ADDRESSES)

    async def line(self, receive_buffer=None):
        """A new connection; None where the service or the system has none left."""
        made = socket.socket()
        made.setblocking(False)
        made.bind((next(self._addresses), 0))
        if receive_buffer:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        try:
            await asyncio.get_running_loop().sock_connect(made, ("127.0.0.1", self.port))
        except OSError:
            made.close()
            return None
        self.made += 1
        return made

    async def held(self, *texts, receive_buffer=None, pause=0.0):
        """Open lines for ever, say this on each, read nothing, and open another for each that was closed."""
        loop, lines = asyncio.get_running_loop(), []
        texts = itertools.cycle(texts)
        while True:
            while len(lines) < self.size:
                line = await self.line(receive_buffer)
                if line is None:
                    await asyncio.sleep(0.01)
                    continue
                with contextlib.suppress(OSError):
                    await loop.sock_sendall(line, next(texts))
                lines.append(line)
                await asyncio.sleep(pause)
            await asyncio.sleep(0.2)
            lines = [line for line in lines if not _closed(line, reads=receive_buffer is None)]

    async def repeated(self, workers, *texts, pause=0.0):
        """Make calls one after the other on some lines, reading the answers."""

        async def one(texts):
            loop, line = asyncio.get_running_loop(), None
            while True:
                line = line or await self.line()
                try:
                    await loop.sock_sendall(line, next(texts))
                    if not await loop.sock_recv(line, 2**20):
                        raise OSError("closed")
                except (OSError, AttributeError):
                    if line:
                        line.close()
                    line = None
                    await asyncio.sleep(0.01)
                self.made += 1
                await asyncio.sleep(pause)

        await asyncio.gather(*(one(itertools.cycle(texts[i % len(texts) :] + texts)) for i in range(workers)))

    async def left(self, text):
        """Call and leave at once, again and again."""
        loop = asyncio.get_running_loop()
        while True:
            if line := await self.line():
                with contextlib.suppress(OSError):
                    await loop.sock_sendall(line, text)
                line.close()
            await asyncio.sleep(0.001)


def _closed(line, *, reads):
    try:
        closed = line.recv(65_536 if reads else 1, 0 if reads else socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except OSError:
        closed = True
    if closed:
        line.close()
    return closed


def call(method, path, token=None, body=b"", length=None, **headers):
    """A call as it is on the wire; a length that is not that of the body leaves it unfinished."""
    sent = {"Host": "127.0.0.1", "Content-Type": "application/json", "Content-Length": str(length or len(body))}
    sent |= {"Authorization": f"Bearer {token}"} if token else {}
    lines = "".join(f"{key.replace('_', '-')}: {value}\r\n" for key, value in (sent | headers).items())
    return f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode() + body


ATTACKS = {
    "waiting leases": lambda a: a.held(call("POST", "/api/leases", a.sense, WISH)),
    "leases that nobody waits for": lambda a: a.left(call("POST", "/api/leases", a.sense, WISH)),
    "one sense each on lease": lambda a: a.repeated(
        8, *(call("POST", "/api/leases", a.sense, b'{"sensor":"%d","channels":["cable"],"most":1}' % i) for i in range(9))
    ),
    "unfinished bodies": lambda a: a.held(
        call("POST", "/login", length=1000), call("POST", "/api/leases", a.sense, b"{", length=2**20 - 1)
    ),
    "slow bodies": lambda a: a.held(call("POST", "/api/leases", a.sense, b" " * 60_000, length=2**20 - 1), pause=0.002),
    "silent lines and slow heads": lambda a: a.held(b"", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-"),
    "unread streams and files": lambda a: a.held(
        call("GET", "/runs/lab/events", a.view),
        call("GET", "/api/runs/lab/file", a.view),
        call("GET", "/openapi.json") * 20,
        call("GET", "/api/runs/lab/report", a.view),
        call("GET", "/static/page.js"),
        receive_buffer=2048,
    ),
    "wrong proxies": lambda a: a.repeated(
        16,
        *(
            call("GET", "/api/runs", "x" * 20, X_Forwarded_For=f"10.0.0.{i}", X_Forwarded_Proto="https", Forwarded="for=1.1.1.1")
            for i in range(250)
        ),
    ),
    "calls of anonymous": lambda a: a.repeated(16, call("GET", "/openapi.json"), call("GET", "/login")),
    "calls with a token": lambda a: a.repeated(16, call("GET", "/api/runs", a.view), call("GET", "/api/runs/lab", a.view)),
    "reports": lambda a: a.repeated(64, call("GET", "/api/runs/lab/report", a.view), call("GET", "/api/runs/lab/file", a.view)),
}  # fmt: skip


def attack(names, port, tokens, size, made):
    """Attack until the process is ended."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    attackers = [Attacker(port, tokens, size // len(names)) for _ in names]

    async def count():
        while True:
            await asyncio.sleep(0.1)
            made.value = sum(attacker.made for attacker in attackers)

    async def all_of_them():
        attacks = (ATTACKS[name](attacker) for name, attacker in zip(names, attackers, strict=True))
        await asyncio.gather(count(), *attacks)

    asyncio.run(all_of_them())


@contextlib.contextmanager
def attacked(service, names, size):
    """Attacks from a process of their own; gives the number of connections and calls that they have made."""
    tokens = [service.tokens.made_for("sense", ["cable"]), service.tokens.made_for("view")]
    made = multiprocessing.get_context("fork").Value("q", 0)
    process = multiprocessing.get_context("fork").Process(
        target=attack, args=(names, service.port, tokens, size, made), daemon=True
    )
    process.start()
    try:
        yield made
    finally:
        process.kill()
        process.join()


OWNER_CALLS = [
    ("GET", "/api/runs", None, 200),
    ("GET", "/api/runs/lab", None, 200),
    ("PATCH", "/api/runs/lab", {"paused": False}, 200),
    ("POST", "/api/tokens", {"scope": "view"}, 200),
    ("POST", "/api/leases", {"sensor": "owner", "channels": ["radio"], "run": "lab", "most": 1}, 200),
    ("GET", "/", None, 200),
]


def processor_s(service):
    """Seconds that the event loop of the service has had a processor."""
    pid = service.process.pid
    return int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[0]) / 1e9


def owner_calls(service, seconds):
    """Seconds that calls of the owner take, each on a new connection, ten a second; by the clock, and of its processor.

    On a machine that is busy with other work the second are what the service itself is to blame for.
    """
    took, calls, end = [], itertools.cycle(OWNER_CALLS), time.monotonic() + seconds
    while time.monotonic() < end:
        method, path, content, expected = next(calls)
        began, used = time.monotonic(), processor_s(service)
        status, answer, _ = service.call(method, path, content)
        took.append((time.monotonic() - began, processor_s(service) - used, f"{method} {path}"))
        assert status == expected, (path, status, answer)
        time.sleep(max(0.0, 0.1 - took[-1][0]))
    return took


def sensor_is_lent_work(service, token):
    """Whether a sensor with another token is lent some of what the attackers lease."""
    wish = {"sensor": "honest", "channels": ["cable"], "run": "lab", "wait": 30}
    return bool(service.call("POST", "/api/leases", wish, token=token)[1]["parts"])


def measured(took, made):
    clock, processor, _ = zip(*took, strict=True)
    return {
        "connections and calls": made,
        "owner's calls": len(took),
        "median, ms": round(1000 * statistics.median(clock), 1),
        "slowest, ms": round(1000 * max(clock), 1),
        "slowest, ms of the service's processor": round(1000 * max(processor), 1),
        "slowest call": max(took)[2],
    }


def main(seconds=20.0, size=4300):
    found = {}
    with tempfile.TemporaryDirectory() as folder, running(folder, "--lease", "1", "--log-level", "error") as service:
        service.create(
            "lab", channels={name: {"inputs": ["0", "1"], "outputs": ["0", "1"]} for name in ("cable", "radio")}
        )
        honest = service.tokens.made_for("sense", ["cable"])
        found["nobody"] = measured(owner_calls(service, seconds / 2), 0)
        for names in [*([name] for name in ATTACKS), list(ATTACKS)]:
            with attacked(service, names, int(size)) as made:
                time.sleep(2.0)
                took = owner_calls(service, seconds)
                title = names[0] if len(names) == 1 else "all at once"
                found[title] = measured(took, made.value) | {
                    "another sensor is lent work": sensor_is_lent_work(service, honest)
                }
            print(json.dumps({title: found[title]}), file=sys.stderr, flush=True)
        assert not [line for line in service.logged() if line["event"] == "fault"]
    return found


if __name__ == "__main__":
    print(json.dumps(main(*map(float, sys.argv[1:]))))
