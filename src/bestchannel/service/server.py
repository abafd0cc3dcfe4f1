"""The service as a process: its socket, its connections, its logs, its beginning and its end."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import ipaddress
import json
import logging
import os
import resource
import socket
import ssl
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, cast

import uvicorn
import uvloop
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from bestchannel.errors import InputError
from bestchannel.service.access import Guard, Revoked, Tokens
from bestchannel.service.application import Application, Endpoints
from bestchannel.service.limits import Client, Hold, Limits
from bestchannel.service.live import Live, ReportProcess
from bestchannel.service.messages import Metrics
from bestchannel.service.run_folder import Leases, RunFolder

IDLE_S = 10.0  # seconds after which a connection that has not sent a whole head of a call is closed
SEND_S = 30.0  # seconds after which a client that takes nothing of its answer is let go of
BACKLOG, ACCEPTED = 1024, 32  # connections that wait to be taken, and those taken in one round of the event loop
MOST_FILES, MOST_THREADS = 8000, 32  # files that are open, half of them connections, and threads that wait for disks
MOST_HEAD = 2**14  # bytes of what precedes the body of a call
GRACE_S = 5  # seconds that calls have to end when the service ends
M_ARENA_MAX = -8  # of glibc's malloc.h

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Place:
    """Where and how a service is reached."""

    host: str = "127.0.0.1"
    port: int = 8484
    names: tuple[str, ...] = ()
    certificate: Path | None = None
    key: Path | None = None
    trusted_proxies: tuple[str, ...] = ()

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can call."""
        return self.host in ("localhost", "::1") or self.host.startswith("127.")

    def __post_init__(self) -> None:
        for proxy in self.trusted_proxies:
            try:
                ipaddress.ip_network(proxy)
            except ValueError:
                wanted = "an address or a network, as 127.0.0.1 or 10.0.0.0/8"
                raise InputError(f"a proxy to trust must be {wanted}; it is {proxy!r}") from None

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
            where = f"{self.host} port {self.port}"
            raise InputError(f"the service cannot listen at {where} ({error}); choose another") from None
        return made


class _TimedProtocol(HttpToolsProtocol):
    """HTTP that does not wait for ever.

    A connection without a whole head of a call is closed after `IDLE_S`, a head is short, and a client that takes
    nothing of an answer for `SEND_S` is let go of. Whoever only holds connections keeps nobody out: see `Limits`.
    """

    _head_due: asyncio.TimerHandle | None = None
    _reading_due: asyncio.TimerHandle | None = None
    _unread: Hold | None = None
    _head = 0
    _in_head = True

    def __init__(self, limits: Limits, **options: Any) -> None:
        super().__init__(**options)
        self._limits = limits

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        address = Client.at(self.client[0] if self.client else "local")
        self._hold = self._limits.anonymous.enter(address, self._give_up, always=True)
        self._expect_head()

    def data_received(self, data: bytes) -> None:
        self._head += len(data)
        super().data_received(data)
        if self._in_head and self._head > MOST_HEAD:
            self._give_up()

    def on_message_begin(self) -> None:
        # No client of ours calls before it is answered, and thousands of heads in one packet would keep others waiting.
        if self.cycle is not None and not self.cycle.response_complete:
            raise InputError("a connection takes one call at a time")
        self._expect_head()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        _cancel(self._head_due)
        self._in_head = False
        super().on_headers_complete()
        self.scope["state"] |= {"connection": self._hold, "closed": partial(self._closed, self.cycle)}

    def on_response_complete(self) -> None:
        self._in_head, self._head = True, 0  # uvicorn itself closes a connection on which no call follows
        super().on_response_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._unread is None:  # the client does not read as quickly as it is answered
            self._unread = self._limits.unread.enter(self._hold.client, self._give_up, always=True)
            self._expect_reading()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._has_read()

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._expect_reading()  # it closes once all is read: give up where nothing is

    def connection_lost(self, exc: Exception | None) -> None:
        _cancel(self._head_due)
        self._has_read()
        self._hold.leave()
        self._hold.evict = lambda: None  # nothing refers to the connection: it is freed now, and not by a long search
        super().connection_lost(exc)

    def _expect_head(self) -> None:
        _cancel(self._head_due)
        self._head_due = self.loop.call_later(IDLE_S, self._give_up)

    def _expect_reading(self, before: float = float("inf")) -> None:
        """Give up where nothing was read since so much was left, and look again later."""
        left = self.transport.get_write_buffer_size()
        if left >= before:
            self._give_up()
        else:
            self._reading_due = self.loop.call_later(SEND_S, self._expect_reading, left)

    def _has_read(self) -> None:
        if self._unread is not None:
            self._unread.leave()
            self._unread = None
        _cancel(self._reading_due)

    def _closed(self, cycle: RequestResponseCycle) -> bool:
        """Whether nothing can be written; uvicorn itself learns of it later."""
        cycle.disconnected = cycle.disconnected or self.transport.is_closing()
        return cycle.disconnected

    def _give_up(self) -> None:
        self.transport.abort()


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()


class Service:
    """A folder of runs, served until the process is told to end."""

    def __init__(self, folder: Path, place: Place, tokens: Tokens, lease_s: float = 30.0) -> None:
        if not 0.0 < lease_s < float("inf"):
            raise InputError(f"a lease must last more than 0 seconds, and not for ever; it is to last {lease_s:g} s")
        self.limits, metrics = Limits(), Metrics()
        self._place = place
        self._socket = place.listening()
        self.port = self._socket.getsockname()[1]
        runs = RunFolder(folder, lease_s, lambda: self._leases.changed())
        tokens.revoked = Revoked(runs.folder / ".revoked.json")
        self._leases = Leases(runs, metrics, self.limits.waiting)
        self._reports = ReportProcess(self.limits.drawings)
        self._live = Live(runs, self._reports)
        names, cookie = {place.host, socket.gethostname(), *place.names}, f"bestchannel-{self.port}"
        guard = Guard(tokens, names, any_address=not place.is_loopback, cookie=cookie)
        endpoints = Endpoints(runs, self._leases, self._live, self._reports, guard, self.limits, metrics)
        self._application = Application(endpoints)

    @property
    def address(self) -> str:
        """Where a browser on this machine finds the service."""
        scheme = "https" if self._place.certificate else "http"
        host = "127.0.0.1" if self._place.host in ("0.0.0.0", "") else self._place.host
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{self.port}"

    def run(self, started: Callable[[], None] | None = None) -> None:
        """Serve until SIGTERM or Ctrl-C; then end calls and streams, and close the files."""
        os.umask(0o077)  # what the runs hold is for whoever has a token
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        files = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
        if soft != resource.RLIM_INFINITY and soft < files:
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
        self.limits.fit(files)
        with suppress(AttributeError, OSError, TypeError):  # one place of memory for the threads of all runs, in glibc:
            ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)  # what one run frees at its end, others can use
        with asyncio.Runner(loop_factory=_Loop) as runner:
            runner.run(self._serve(started))

    async def _serve(self, started: Callable[[], None] | None) -> None:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(MOST_THREADS))
        await self._leases.open()
        gc.collect()
        gc.freeze()  # a search for garbage takes longer than a call: none in what is there before the first,
        gc.set_threshold(20_000, 10, 20)  # and seldom in the rest
        server = _Server(self._config(), before_end=(self._live.close, self._leases.stop_waiting))
        try:
            if started:
                started()
            log.info("serving", extra={"fields": {"host": self._place.host, "port": self.port}})
            # of each socket libuv takes one connection a round: the owner's would wait behind all others, call by call
            await server.serve(sockets=[self._socket, *(self._socket.dup() for _ in range(ACCEPTED - 1))])
        finally:
            await self._leases.close()
            self._reports.close()
            log.info("ended")

    def _config(self) -> uvicorn.Config:
        place = self._place
        try:
            config = uvicorn.Config(
                self._application,
                http=cast(Any, partial(_TimedProtocol, self.limits)),
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

    def __init__(self, config: uvicorn.Config, before_end: Iterable[Callable[[], None]]) -> None:
        super().__init__(config)
        self._before_end = before_end

    def handle_exit(self, sig: int, frame: Any) -> None:
        super().handle_exit(sig, frame)
        self._captured_signals.clear()  # which uvicorn would raise again at the end

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for end in self._before_end:
            end()
        await super().shutdown(sockets)


class _Loop(uvloop.Loop):
    """An event loop whose servers do not wait for ever until a client has agreed upon keys."""

    async def create_server(self, *arguments: Any, **options: Any) -> Any:
        if options.get("ssl"):
            options["ssl_handshake_timeout"] = IDLE_S
        return await super().create_server(*arguments, **options)


class JsonLines(logging.Formatter):
    """One object a line: time, level, event, and the keys that `extra={"fields": …}` adds."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as a line."""
        content = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            content["traceback"] = self.formatException(record.exc_info)
        return json.dumps(content, ensure_ascii=True, default=str)


def log_to_stderr(level: str) -> None:
    """Let the library and uvicorn write their lines to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name in ("bestchannel", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level.upper())
