"""A thousand connections that say nothing, others that speak very slowly, and a run that goes on beside them.

`python -m tests.service.idle [CONNECTIONS]` prints JSON: how long calls took meanwhile, and that the run ended as if it had
been left alone.
"""

import json
import socket
import statistics
import sys
import tempfile
import threading
import time

from bestchannel.runs import read_run
from tests.service.instruments import ERRORS, adaptive, left_alone
from tests.service.running import TOKEN, running, sensing


def slow_body(port, seconds):
    """A body of which a byte comes now and then; the status of the answer."""
    with socket.create_connection(("127.0.0.1", port)) as line:
        head = f"POST /api/leases HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n"
        line.sendall(f"{head}Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n".encode())
        line.settimeout(1.0)
        began = time.monotonic()
        while time.monotonic() - began < seconds:
            try:
                line.sendall(b" ")
                if answer := line.recv(1000):
                    return int(answer.split()[1])
            except TimeoutError:
                continue
            except OSError:
                return 0
    return -1


def main(connections=1000):
    with tempfile.TemporaryDirectory() as folder, running(folder) as service:
        service.create("lab")
        idle = [socket.create_connection(("127.0.0.1", service.port)) for _ in range(connections)]
        statuses, took = [], []
        slow = [threading.Thread(target=lambda: statuses.append(slow_body(service.port, 30))) for _ in range(20)]
        for thread in slow:
            thread.start()
        with sensing(service.url("lab"), list(ERRORS)) as states:
            while not states:
                began = time.monotonic()
                assert service.call("GET", "/healthz")[0] == 200
                took.append(time.monotonic() - began)
                time.sleep(0.02)
        for thread in slow:
            thread.join()
        closed = sum(line.recv(1) == b"" for line in idle)
        found, expected = read_run(service.folder / "runs" / "lab.db"), left_alone(0, adaptive())
        assert (found.best, found.senses) == (expected.best, expected.senses)
        assert not [line for line in service.logged() if line["event"] == "fault"]
    return {
        "idle connections closed": closed,
        "statuses of slow bodies": sorted(set(statuses)),
        "median call, ms": round(1000 * statistics.median(took), 1),
        "slowest call, ms": round(1000 * max(took), 1),
    }


if __name__ == "__main__":
    print(json.dumps(main(*map(int, sys.argv[1:]))))
