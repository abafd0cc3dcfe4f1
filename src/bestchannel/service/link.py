"""A client's line to the service: HTTP that comes back after the line was cut, with the standard library alone."""

from __future__ import annotations

import http.client
import json
import os
import random
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

from bestchannel.errors import BestChannelError, InputError

ANSWER_S = 60.0
"""Seconds after which a call without an answer is made again."""

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 10.0
"""Between two attempts: twice as long each time, and by chance between half and all of it."""

PASSING = {408, 425, 429, 500, 502, 503, 504}
"""Statuses after which the same call may succeed."""


class NotPermittedError(BestChannelError, PermissionError):
    """What the service refuses to do for this token or this call."""


class StoppedError(BestChannelError):
    """A client that was told to stop while it waited."""


@dataclass(frozen=True)
class Address:
    """Where a service is, the run that is meant (None: any), and the token."""

    secure: bool
    host: str
    run: str | None
    token: str

    @staticmethod
    def parse(url: str, token: str | None = None) -> Address:
        """The parts of an address as `serve` prints it, or of a run's page; `token` replaces that of the address."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(f"the address must look like http://127.0.0.1:8484/?token=…; it is {without_token(url)!r}")
        words = parts.path.strip("/").split("/")
        if words[0] == "runs" and len(words) == 2:
            run = words[1]
        elif words == [""]:
            run = None
        else:
            raise InputError(f"the address must end in / or /runs/NAME; it is {without_token(url)!r}")
        found = token or parse_qs(parts.query).get("token", [""])[0] or os.environ.get("BESTCHANNEL_TOKEN", "")
        if not found:
            raise InputError("the address must have a token, as ?token=…, or BESTCHANNEL_TOKEN must hold one")
        return Address(parts.scheme == "https", parts.netloc.rpartition("@")[2], run, found)


class Link:
    """Calls to one service, from one thread; each is repeated until it is answered, refused, or `stop` is set."""

    def __init__(self, address: Address, stop: threading.Event, noted: Callable[[str], None] | None = None) -> None:
        self._address, self._stop, self._noted = address, stop, noted or (lambda words: None)
        self._connection: http.client.HTTPConnection | None = None

    def call(self, method: str, path: str, content: object = None) -> tuple[int, Any]:
        """The status and the JSON of an answer that is final: done, or refused for good."""
        pause, lost = FIRST_PAUSE_S, False
        while True:
            was_open = self._connection is not None
            try:
                status, answer = self._attempt(method, path, content)
                if status not in PASSING:
                    if lost:
                        self._noted("connected again")
                    return status, answer
                reason = f"status {status}"
            except NotPermittedError:
                raise
            except (OSError, http.client.HTTPException, ValueError) as error:
                reason = str(error) or type(error).__name__
                self.close()
                if was_open:  # the service lets go of lines that were silent for long
                    continue
            if not lost:
                self._noted(f"the service does not answer ({reason}); trying again")
            lost = True
            if self._stop.wait(pause * random.uniform(0.5, 1.0)):
                raise StoppedError("stopped while the service did not answer")
            pause = min(2.0 * pause, LONGEST_PAUSE_S)

    def close(self) -> None:
        """Hang up."""
        if self._connection:
            self._connection.close()
        self._connection = None

    def _attempt(self, method: str, path: str, content: object) -> tuple[int, Any]:
        if self._connection is None:
            self._connection = connected(self._address, ANSWER_S)
        body = None if content is None else json.dumps(content).encode()
        headers = {"Authorization": f"Bearer {self._address.token}", "Content-Type": "application/json"}
        self._connection.request(method, path, body, headers)
        response = self._connection.getresponse()
        return response.status, json.loads(response.read())


def events(address: Address, stop: threading.Event, noted: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    """The standings of a run as they come, from one connection after the other."""
    pause = FIRST_PAUSE_S
    while not stop.is_set():
        try:
            for status in _events_of_one_connection(address):
                pause = FIRST_PAUSE_S
                yield status
        except NotPermittedError:
            raise
        except (OSError, http.client.HTTPException, ValueError) as error:
            noted(f"connection lost ({error or type(error).__name__}); trying again")
        stop.wait(pause * random.uniform(0.5, 1.0))
        pause = min(2.0 * pause, LONGEST_PAUSE_S)


def _events_of_one_connection(address: Address) -> Iterator[dict[str, Any]]:
    connection = connected(address, ANSWER_S)
    try:
        headers = {"Authorization": f"Bearer {address.token}", "Accept": "text/event-stream"}
        connection.request("GET", f"/runs/{address.run}/events?report=no", headers=headers)
        response = connection.getresponse()
        if response.status != 200:
            refuse(response.status, json.loads(response.read()))
        kind = ""
        for line in response:
            word, _, value = line.decode().rstrip("\n").partition(": ")
            if word == "event":
                kind = value
            elif word == "data" and kind == "status":
                yield json.loads(value)
            elif word == "data" and kind == "trouble":
                raise OSError(json.loads(value)["error"])
    finally:
        connection.close()


def connected(address: Address, seconds: float) -> http.client.HTTPConnection:
    """A connection that waits so long for each answer, and sends small calls at once."""
    if address.secure:
        context = ssl.create_default_context()
        made: http.client.HTTPConnection = http.client.HTTPSConnection(address.host, timeout=seconds, context=context)
    else:
        made = http.client.HTTPConnection(address.host, timeout=seconds)
    try:
        made.connect()
    except ssl.SSLCertVerificationError as error:
        raise NotPermittedError(f"the certificate of {address.host} is not trusted ({error.verify_message})") from None
    made.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def refuse(status: int, answer: Any) -> None:
    """Raise what the service says where it refuses; a passing status is an `OSError`, to be tried again."""
    said = answer.get("error", "no reason") if isinstance(answer, dict) else "no reason"
    if status in PASSING:
        raise OSError(f"status {status}: {said}")
    if status >= 400:
        raise NotPermittedError(f"the service refuses: {said}")


def without_token(url: str) -> str:
    """An address as messages may show it."""
    return url.partition("?")[0]
