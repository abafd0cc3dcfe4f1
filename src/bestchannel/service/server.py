"""The service as a process: its socket, its connections, its beginning and its end."""

from __future__ import annotations

import asyncio
import logging
import resource
import socket
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import uvicorn
import uvloop
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from bestchannel.errors import InputError
from bestchannel.service import memory
from bestchannel.service.application import Application
from bestchannel.service.boards import Boards
from bestchannel.service.desk import Desk
from bestchannel.service.drawing_office import DrawingOffice
from bestchannel.service.endpoints import Endpoints
from bestchannel.service.guard import Guard
from bestchannel.service.metrics import Metrics
from bestchannel.service.pages import run_list
from bestchannel.service.run_folder import RunFolder
from bestchannel.service.scopes import Tokens

IDLE_S = 10.0
"""Seconds after which a connection that has not sent a whole head of a call is closed."""

MOST_CONNECTIONS, BACKLOG = 4000, 1024
MOST_HEAD = 2**14
"""Bytes of what precedes the body of a call."""

GRACE_S = 5
"""Seconds that calls have to end when the service ends."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Place:
    """Where and how a service is reached."""

    host: str = "127.0.0.1"
    port: int = 8484
    names: tuple[str, ...] = ()
    certificate: Path | None = None
    key: Path | None = None
    trusted_proxies: tuple[str, ...] = field(default=())

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can call."""
        return self.host in ("localhost", "::1") or self.host.startswith("127.")

    def listening(self) -> socket.socket:
        """The socket, or an `InputError`."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        made = socket.socket(family, socket.SOCK_STREAM)
        try:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind((self.host, self.port))
            made.listen(BACKLOG)  # whoever calls from now on waits until the service is ready
        except (OSError, OverflowError) as error:
            made.close()
            raise InputError(
                f"the service cannot listen at {self.host} port {self.port} ({error}); choose another"
            ) from None
        return made


class ImpatientProtocol(HttpToolsProtocol):
    """HTTP that does not wait for ever: a connection without a whole head of a call is closed after `IDLE_S`.

    A head is short, too. When there are too many connections, the one that has waited for a call longest is closed for
    the newest: whoever only holds connections keeps nobody out.
    """

    waiting: ClassVar[dict[ImpatientProtocol, None]] = {}
    _deadline: asyncio.TimerHandle | None = None
    _head = 0

    def connection_made(self, transport: Any) -> None:
        """Begin to wait, in the place of another where there are too many."""
        if len(self.connections) >= MOST_CONNECTIONS:
            if not self.waiting:
                transport.abort()
                return
            next(iter(self.waiting))._give_up()
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Read on; a head that is too long ends the connection."""
        self._head += len(data)
        super().data_received(data)
        if self in self.waiting and self._head > MOST_HEAD:
            self._give_up()

    def on_message_begin(self) -> None:
        """A call begins."""
        self._wait()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """The head is there."""
        self._stop_waiting()
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        """The next call may come; uvicorn itself closes a connection on which none does."""
        self.waiting[self] = None
        self._head = 0
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing to wait for."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._stop_waiting()
        self.waiting[self] = None
        self._deadline = self.loop.call_later(IDLE_S, self._give_up)

    def _stop_waiting(self) -> None:
        self.waiting.pop(self, None)
        if self._deadline:
            self._deadline.cancel()

    def _give_up(self) -> None:
        self._stop_waiting()
        if not self.transport.is_closing():
            self.transport.abort()


class Service:
    """A folder of runs, served until the process is told to end."""

    def __init__(self, folder: Path, place: Place, tokens: Tokens, lease_s: float = 30.0) -> None:
        self.metrics = Metrics()
        self._place = place
        self._socket = place.listening()
        self.port = self._socket.getsockname()[1]
        self._folder = RunFolder(folder, lease_s, lambda: self._desk.changed())
        self._desk = Desk(self._folder, self.metrics)
        self._office = DrawingOffice()
        self._boards = Boards(self._desk, self._office, run_list)
        guard = Guard(
            tokens,
            {place.host, socket.gethostname(), *place.names},
            any_address=not place.is_loopback,
            cookie=f"bestchannel-{self.port}",
            secure=place.certificate is not None,
        )
        self.endpoints = Endpoints(self._desk, self._boards, self._office, guard)
        self._application = Application(self.endpoints.table, guard, self.metrics)

    @property
    def address(self) -> str:
        """Where a browser on this machine finds the service."""
        scheme = "https" if self._place.certificate else "http"
        host = "127.0.0.1" if self._place.host in ("0.0.0.0", "") else self._place.host
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{self.port}"

    def run(self, started: Any = None) -> None:
        """Serve until SIGTERM or Ctrl-C; then end calls and streams, and close the files."""
        _allow_many_connections()
        memory.keep_together()
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(self._serve(started))

    async def _serve(self, started: Any) -> None:
        await self._desk.open()
        server = _Server(self._config())
        server.before_end = self._boards.close
        try:
            if started:
                started()
            log.info("serving", extra={"fields": {"host": self._place.host, "port": self.port}})
            await server.serve(sockets=[self._socket])
        finally:
            await self._desk.close()
            self._office.close()
            log.info("ended")

    def _config(self) -> uvicorn.Config:
        place = self._place
        try:
            config = uvicorn.Config(
                self._application,
                http=ImpatientProtocol,
                ws="none",
                lifespan="off",
                access_log=False,
                log_config=None,
                server_header=False,
                timeout_keep_alive=int(IDLE_S),
                timeout_graceful_shutdown=GRACE_S,
                backlog=BACKLOG,
                proxy_headers=bool(place.trusted_proxies),
                forwarded_allow_ips=list(place.trusted_proxies),
                ssl_certfile=place.certificate,
                ssl_keyfile=place.key,
            )
            config.load()
        except (OSError, ssl.SSLError) as error:
            raise InputError(f"{place.certificate}: the certificate or its key cannot be used ({error})") from None
        return config


class _Server(uvicorn.Server):
    """Uvicorn that ends with exit code 0 when it is told to end."""

    before_end: Any = None

    def handle_exit(self, sig: int, frame: Any) -> None:
        super().handle_exit(sig, frame)
        self._captured_signals.clear()  # which uvicorn would raise again at the end

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self.before_end:
            self.before_end()
        await super().shutdown(sockets)


def _allow_many_connections() -> None:
    """Use all the files that the system permits."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * MOST_CONNECTIONS if hard == resource.RLIM_INFINITY else min(hard, 2 * MOST_CONNECTIONS)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
