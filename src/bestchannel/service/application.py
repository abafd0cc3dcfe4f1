"""The service as an ASGI application: a call is matched with its endpoint, passes the rules, and is answered.

Every refusal is one sentence, is counted, and is logged with the rule that it broke; neither queries nor tokens are.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from bestchannel.errors import BestChannelError, InputError, MissingFileError
from bestchannel.runs import NotWrittenError
from bestchannel.service.calls import HTML, NOBODY, Call, Reply, redirect, refusal
from bestchannel.service.desk import ForbiddenError, GoneError
from bestchannel.service.guard import Guard, read_body, require_json
from bestchannel.service.limits import Hold, Limits, Turns
from bestchannel.service.messages import RefusedError
from bestchannel.service.metrics import Metrics
from bestchannel.service.pages import again_page
from bestchannel.service.scopes import OWN, SENSE, VIEW, Scope

ALL = "all"
"""Open to calls without a token."""

SECURITY = {
    b"content-security-policy": b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    b" connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"cache-control": b"no-store",
}
"""Headers of every answer, unless it has others."""

STATUS = {ForbiddenError: 403, GoneError: 410, MissingFileError: 404, NotWrittenError: 503, InputError: 400}
"""Of what the library refuses, first match first."""

WAITING = "/api/leases"
"""Where calls wait for work: they are given up when the client leaves, and are no matter of latency."""

LONGEST_S = 86_400.0
"""Seconds after which a stream is cut, and begun anew by whoever still watches."""

LINE = "bestchannel.line"
"""In the state of a call, the place that its connection holds."""

CLOSED = "bestchannel.closed"
"""In the state of a call, what says whether its connection is closed, to which nothing can be written."""

log = logging.getLogger(__name__)

Handler = Callable[[Call], Coroutine[Any, Any, Reply]]


@dataclass(frozen=True)
class Endpoint:
    """One thing that can be called: `path` has names in braces, `takes` is the message in the body."""

    method: str
    path: str
    needs: str
    summary: str
    handler: Handler
    takes: Any = None
    gives: Any = None
    kind: str = "application/json"
    form: bool = False
    refusals: tuple[int, ...] = ()

    def match(self, path: str) -> dict[str, str] | None:
        """The names in a path that is like this one."""
        ours, theirs = self.path.split("/"), path.split("/")
        if len(ours) != len(theirs):
            return None
        names = {}
        for mine, given in zip(ours, theirs, strict=True):
            if mine.startswith("{") and given:
                names[mine[1:-1]] = given
            elif mine != given:
                return None
        return names


class Application:
    """What uvicorn calls."""

    def __init__(
        self,
        endpoints: Sequence[Endpoint],
        guard: Guard,
        limits: Limits,
        metrics: Metrics,
        without_paths: Callable[[str], str],
    ) -> None:
        self._endpoints, self._guard, self._limits, self._metrics = endpoints, guard, limits, metrics
        self._without_paths, self._turns = without_paths, Turns()
        self._exact = {(each.method, each.path): each for each in endpoints if "{" not in each.path}

    async def __call__(self, scope: Mapping[str, Any], receive: Any, send: Any) -> None:
        """Answer a call; anything but HTTP is let go of."""
        if scope["type"] != "http":
            return
        headers = {key.decode("latin-1"): value.decode("latin-1") for key, value in scope["headers"]}
        query, peer = scope["query_string"].decode("latin-1"), scope["client"][0] if scope["client"] else "local"
        call = Call(scope["method"], scope["path"], query, headers, peer, scope["scheme"] == "https")
        line, started = scope["state"][LINE], time.perf_counter()
        send = _unless(scope["state"][CLOSED], send)
        call, reply, hold = await self._reply(call, receive, line)
        self._metrics.responses[str(reply.status)] += 1
        if isinstance(reply.body, bytes):
            await _send(send, reply, reply.body)
            if call.path != WAITING:
                self._metrics.latency.add(time.perf_counter() - started)
        else:
            over = asyncio.get_running_loop().call_later(min(call.scope.expires - time.time(), LONGEST_S), line.evict)
            try:
                await _stream(send, receive, reply, reply.body)
            finally:
                over.cancel()
                if hold:
                    hold.leave()
        log.debug("%s", "call", extra={"fields": {**_said(call), "status": reply.status}})

    async def _reply(self, call: Call, receive: Any, line: Hold) -> tuple[Call, Reply, Hold | None]:
        """The call with what its token permits, its reply, and the place that a stream holds."""
        try:
            self._guard.check_host(call.headers)
            granted, by_cookie = self._guard.admit(call.headers, call.peer)
            call = replace(call, scope=granted)
            (self._limits.connections if granted.party else self._limits.strangers).receive(line, call.party)
            self._guard.check_origin(call.method, call.headers, by_cookie)
            await self._turns.take(call.party)
            if line not in line.room:
                raise RefusedError(400, "gone", "the client left before its turn came")
            reply = await self._answered(call, receive)
            return call, reply, reply.room.enter(call.party, line.evict) if reply.room else None
        except RefusedError as error:
            refused = error
        except BestChannelError as error:
            refused = RefusedError(_status(error), "input", self._without_paths(str(error)))
        except asyncio.CancelledError:
            raise
        except Exception as error:
            log.exception("fault", extra={"fields": _said(call)})
            refused = RefusedError(500, "fault", f"the service failed ({type(error).__name__}); its log says more")
        self._metrics.refusals[refused.rule] += 1
        log.warning("refused", extra={"fields": {**_said(call), "rule": refused.rule, "status": refused.status}})
        return call, refusal(refused), None

    async def _answered(self, call: Call, receive: Any) -> Reply:
        endpoint, names = self._found(call)
        if call.method == "GET" and endpoint.kind.startswith("text/html") and (token := call.query("token")):
            return self._sign_in(token, call)
        if not _permits(call.scope, endpoint.needs):
            if call.wants_page and call.method == "GET" and not endpoint.path.startswith("/api"):
                return _asked_from_here(call) if call.from_elsewhere else redirect("/login")
            if call.scope is NOBODY:
                raise RefusedError(401, "token", "this requires a token", {"www-authenticate": "Bearer"})
            raise RefusedError(403, "scope", f"this requires a token with the scope {endpoint.needs}")
        body = b""
        if endpoint.takes is not None:
            if not endpoint.form:
                require_json(call.headers)
            body = await read_body(call.headers, receive, self._limits.bodies, call.party)
        work = endpoint.handler(replace(call, body=body, names=names))
        return await (_unless_gone(work, receive) if endpoint.path == WAITING else work)

    def _found(self, call: Call) -> tuple[Endpoint, dict[str, str]]:
        method = "GET" if call.method == "HEAD" else call.method
        if exact := self._exact.get((method, call.path)):
            return exact, {}
        allowed = []
        for endpoint in self._endpoints:
            names = endpoint.match(call.path)
            if names is not None:
                if endpoint.method == method:
                    return endpoint, names
                allowed.append(endpoint.method)
        if allowed:
            raise RefusedError(405, "method", "another method is required here", {"allow": ", ".join(sorted(allowed))})
        raise RefusedError(404, "path", "there is nothing at this address; /openapi.json lists what there is")

    def _sign_in(self, token: str, call: Call) -> Reply:
        """Put the token of an address into a cookie, and go on without it: it stays in no history and no Referer."""
        if self._guard.signed_in(token, call.peer) is None:
            return redirect("/login?wrong=1")
        return redirect(call.path, {"set-cookie": self._guard.set_cookie(token, secure=call.secure)})


def _asked_from_here(call: Call) -> Reply:
    """Let a browser ask again by itself: it keeps the cookie to itself where a link on another site was followed."""
    return Reply(200, again_page(quote(call.path)).encode(), HTML)


def _permits(scope: Scope, needs: str) -> bool:
    permitted = {ALL: True, VIEW: scope.views, OWN: scope.owns, SENSE: scope.kind in (OWN, SENSE)}
    return permitted[needs]


def _status(error: BestChannelError) -> int:
    return next((status for kind, status in STATUS.items() if isinstance(error, kind)), 400)


def _said(call: Call) -> dict[str, str]:
    """What logs may have of a call: never its query, which may hold a token."""
    return {"method": call.method, "path": call.path[:200], "peer": call.peer, "scope": call.scope.kind}


async def _unless_gone(work: Coroutine[Any, Any, Reply], receive: Any) -> Reply:
    """What the work comes to, unless the client leaves before."""
    working, gone = asyncio.create_task(work), asyncio.create_task(_disconnected(receive))
    try:
        await asyncio.wait((working, gone), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise RefusedError(400, "gone", "the client left before it was answered")
        return working.result()
    finally:
        await _ended(working, gone)


def _unless(closed: Callable[[], bool], send: Any) -> Any:
    """Send what can be sent."""

    async def send_what_can_be(message: Mapping[str, Any]) -> None:
        if not closed():
            await send(message)

    return send_what_can_be


async def _send(send: Any, reply: Reply, body: bytes) -> None:
    await send({"type": "http.response.start", "status": reply.status, "headers": _headers(reply, len(body))})
    await send({"type": "http.response.body", "body": body})


def _headers(reply: Reply, length: int | None) -> list[tuple[bytes, bytes]]:
    ours = {"content-type": reply.kind, **reply.headers}
    if length is not None:
        ours["content-length"] = str(length)
    encoded = {key.encode("latin-1"): value.encode("latin-1", "replace") for key, value in ours.items()}
    return list((SECURITY | encoded).items())


async def _stream(send: Any, receive: Any, reply: Reply, content: AsyncIterator[bytes]) -> None:
    """Send until either side ends it."""
    await send({"type": "http.response.start", "status": reply.status, "headers": _headers(reply, None)})
    gone, sending = asyncio.create_task(_disconnected(receive)), asyncio.create_task(_sent(send, content))
    try:
        await asyncio.wait((gone, sending), return_when=asyncio.FIRST_COMPLETED)
    finally:
        await _ended(gone, sending)


async def _sent(send: Any, content: AsyncIterator[bytes]) -> None:
    async for block in content:
        await send({"type": "http.response.body", "body": block, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def _ended(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _disconnected(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
