"""A client's calls to the service, with the standard library alone: HTTP that connects again after it was cut off.

`Link` makes calls, `events` looks at a run with them, and `Outbox` sends what was sensed until it is acknowledged.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import re
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from queue import Empty, Queue
from typing import Any
from urllib.parse import parse_qs, urlsplit

from bestchannel.errors import BestChannelError, InputError

ANSWER_S = 60.0  # seconds after which a call without an answer is made again
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 10.0
"""Between two attempts: twice as long each time, and by chance between half and all of it."""
LOOK_S, IDLE_S = 0.5, 0.1  # seconds between two looks at a run, and for a lease that is to be renewed
PASSING = {408, 425, 429, 500, 502, 503, 504}  # statuses after which the same call may succeed
LOST = (OSError, http.client.HTTPException, ValueError)  # what a connection that was cut raises
MOST_PIECES, MOST_WAITING = 500, 10_000  # pieces in one call, and that wait; then the instrument waits too
Piece = tuple[Mapping[str, Any], dict[str, Any]]  # the lease that it belongs to, and what is sent


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
        shown = url.partition("?")[0]  # without the token
        try:
            parts = urlsplit(url)
            is_address = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        except ValueError:  # brackets, or a port, that are none
            is_address = False
        if not is_address:
            raise InputError(f"the address must look like http://127.0.0.1:8484/?token=…; it is {shown!r}")
        if (path := re.fullmatch(r"/*(?:runs/([A-Za-z0-9._-]+)/*)?", parts.path)) is None:
            raise InputError(f"the address must end in / or /runs/NAME; it is {shown!r}")
        given = token or parse_qs(parts.query).get("token", [""])[0] or os.environ.get("BESTCHANNEL_TOKEN", "")
        if not given:
            raise InputError("the address must have a token, as ?token=…, or BESTCHANNEL_TOKEN must hold one")
        if not given.isascii() or not given.isprintable():
            raise InputError("the token must consist of visible ASCII letters")
        return Address(parts.scheme == "https", parts.netloc.rpartition("@")[2], path[1], given)

    def connected(self) -> http.client.HTTPConnection:
        """A connection that sends small calls at once."""
        made: http.client.HTTPConnection
        if self.secure:
            made = http.client.HTTPSConnection(self.host, timeout=ANSWER_S, context=ssl.create_default_context())
        else:
            made = http.client.HTTPConnection(self.host, timeout=ANSWER_S)
        try:
            made.connect()
        except ssl.SSLCertVerificationError as error:
            raise NotPermittedError(f"the certificate of {self.host} is not trusted ({error.verify_message})") from None
        made.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made


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
            except LOST as error:
                reason = str(error) or type(error).__name__
                self.close()
                if was_open:  # the service closes connections that were silent for long
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
            self._connection = self._address.connected()
        body = None if content is None else json.dumps(content).encode()
        headers = {"Authorization": f"Bearer {self._address.token}", "Content-Type": "application/json"}
        self._connection.request(method, path, body, headers)
        response = self._connection.getresponse()
        return response.status, json.loads(response.read())


def refuse(status: int, answer: Any) -> None:
    """Raise what the service says where it refuses."""
    if status >= 400:
        said = answer.get("error", "no reason") if isinstance(answer, dict) else "no reason"
        raise NotPermittedError(f"the service refuses: {said}")


def events(address: Address, stop: threading.Event, noted: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    """The standings of a run, whenever it shows another."""
    before: object = None
    with closing(Link(address, stop, noted)) as link:
        while not stop.is_set():
            status, standing = link.call("GET", f"/api/runs/{address.run}")
            refuse(status, standing)
            if standing != before:
                yield standing
            before = standing
            stop.wait(LOOK_S)


class Outbox:
    """What was sensed and is not acknowledged yet, sent by a thread of its own, which renews the lease meanwhile."""

    def __init__(self, link: Link) -> None:
        self.refused = 0
        self._link = link
        self._pieces: Queue[Piece | None] = Queue(MOST_WAITING)
        self._lent: Mapping[str, Any] = {}  # the lease that is held
        self._lost: set[str] = set()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> Outbox:
        self._thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._pieces.put(None)
        self._thread.join()
        self._link.close()
        if raised[0] is None:
            self._raise_failure()

    def put(self, piece: dict[str, Any]) -> bool:
        """Send a piece of the lease that is held; whether that lasts."""
        self._raise_failure()
        self._pieces.put((self._lent, piece))
        return self._lent["lease"] not in self._lost

    @contextmanager
    def holding(self, lent: Mapping[str, Any]) -> Iterator[None]:
        """Keep a lease while it is worked on."""
        self._lent = lent
        try:
            yield
        finally:
            self._lent = {}
            self._raise_failure()

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _work(self) -> None:
        try:
            while (batch := self._batch()) is not None:
                if batch:
                    lent = batch[0][0]
                    offer = {key: lent[key] for key in ("request", "lease")} | {"pieces": [piece for _, piece in batch]}
                    self._call(lent, f"/api/runs/{lent['run']}/pieces", offer)
                elif held := self._lent:
                    self._call(held, f"/api/runs/{held['run']}/leases/{held['lease']}")
        except BaseException as error:
            self._failure = error
            while self._pieces.get() is not None:  # nobody waits for what will not be sent
                pass

    def _call(self, lent: Mapping[str, Any], path: str, offer: object = None) -> None:
        status, answer = self._link.call("POST", path, offer)
        if status == 409:  # others were quicker with some of it, or the request is answered
            self.refused += sum(piece["outcome"] == "refused" for piece in answer["pieces"])
        if status in (409, 410):
            self._lost.add(lent["lease"])
        else:
            refuse(status, answer)

    def _batch(self) -> list[Piece] | None:
        """Pieces of one lease; none where it is time to renew it; None at the end."""
        lent = self._lent
        try:
            first = self._pieces.get(timeout=lent["expires_s"] / 3.0 if lent else IDLE_S)
        except Empty:
            return []
        if first is None:
            return None
        batch, following = [first], self._pieces.queue
        while len(batch) < MOST_PIECES and following and following[0] and following[0][0] is first[0]:
            batch.append(self._pieces.get())  # type: ignore[arg-type]
        return batch
