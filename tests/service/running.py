"""A service in a process of its own, and calls to it."""

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from bestchannel.service.access import Tokens
from bestchannel.service.instrument import Instrument
from tests.service.faults import free_port
from tests.service.instruments import CHANNELS, counts_of

TOKEN = "0123456789abcdefghij"


class Running:
    """`bestchannel serve`, which can be killed and started again at the same port."""

    def __init__(self, folder, *options, program=("-m", "bestchannel")):
        self.folder, self.port, self.tokens = Path(folder), free_port(), Tokens(TOKEN)
        self.address = f"http://127.0.0.1:{self.port}"
        self.log = self.folder / "stderr"
        self._command = [
            sys.executable,
            *program,
            "serve",
            str(self.folder / "runs"),
            "--port",
            str(self.port),
            *options,
        ]

    def start(self):
        with self.log.open("a") as log:
            environment = os.environ | {"BESTCHANNEL_TOKEN": TOKEN}
            self.process = subprocess.Popen(
                self._command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment
            )
        self.said = self.process.stdout.readline()
        assert self.said, self.log.read_text()
        return self

    def end(self, number=signal.SIGTERM):
        """The exit code after a signal."""
        self.process.send_signal(number)
        code = self.process.wait()
        self.process.stdout.close()
        return code

    def url(self, run=None, token=TOKEN):
        return f"{self.address}{f'/runs/{run}' if run else '/'}?token={token}"

    def call(self, method, path, content=None, token=TOKEN, headers=None, body=None):
        """The status, the content and the headers of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        sent = {} if token is None else {"Authorization": f"Bearer {token}"}
        if content is not None:
            sent["Content-Type"], body = "application/json", json.dumps(content)
        connection.request(method, path, body, sent | (headers or {}))
        response = connection.getresponse()
        data = response.read()
        connection.close()
        is_json = response.headers.get("content-type") == "application/json"
        return response.status, json.loads(data) if is_json else data, response.headers

    def create(self, name, **others):
        status, answer, _ = self.call("POST", "/api/runs", {"name": name, "channels": CHANNELS, "delta": 0.1, **others})
        assert status == 201, answer
        return answer

    def logged(self):
        return [json.loads(line) for line in self.log.read_text().splitlines()]


def wait_until(reached):
    """Wait for something that will happen, and leave the processor to whoever makes it happen."""
    while not reached():
        time.sleep(0.02)


@contextlib.contextmanager
def running(folder, *options, **others):
    service = Running(folder, *options, **others).start()
    try:
        yield service
    finally:
        if service.process.poll() is None:
            service.end(signal.SIGKILL)


@contextlib.contextmanager
def sensing(url, channels, seed=0, name="bench"):
    """An instrument of simulated channels at work in a thread."""

    def sense(batch):
        yield counts_of(seed, batch.request, batch.channel, batch.x, batch.start, batch.count)

    instrument = Instrument(url, channels, sense, name=name)
    states = []
    thread = threading.Thread(target=lambda: states.append(instrument.run()))
    thread.start()
    try:
        yield states
    finally:
        instrument.stop()
        thread.join()
