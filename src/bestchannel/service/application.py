"""The service as an ASGI application: the rules around Starlette's routes, and the description of what can be called.

Every refusal is one sentence, is counted, and is logged with the rule that it broke; neither queries nor tokens are.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from importlib.metadata import version
from typing import Any
from urllib.parse import parse_qs, quote

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Match, Route, Router
from starlette.types import Message, Receive, Scope, Send

from bestchannel.errors import BestChannelError, InputError, MissingFileError
from bestchannel.record import RunStatus
from bestchannel.runs import NotWrittenError
from bestchannel.service.access import ALL, NOBODY, Guard, address_of, body_of, redirect
from bestchannel.service.limits import Limits, Places, Turns
from bestchannel.service.messages import NAME, LoginForm, Metrics, Refusal, RefusedError, parsed
from bestchannel.service.pages import again_page

JSON, HTML, TEXT = "application/json", "text/html; charset=utf-8", "text/plain; charset=utf-8"
FORM, EVENTS = "application/x-www-form-urlencoded", "text/event-stream"
SECURITY = {  # headers of every answer, unless it has others
    b"content-security-policy": b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    b" connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"cache-control": b"no-store",
}
STATUS = {
    MissingFileError: 404,
    NotWrittenError: 503,
    InputError: 400,
}  # what the library refuses, first match first
ALWAYS = (400, 401, 403, 408, 413, 415, 429)  # what any call with a token may be refused with
LONGEST_S = 86_400.0  # seconds after which a stream is cut, and begun anew by whoever still watches
MOST_FIELDS = 20  # of a form; of one with more, nothing is read
Handler = Callable[..., Coroutine[Any, Any, Response]]

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Endpoint:
    """One thing that can be called: `takes` is the message in the body, `gives` that of the answer."""

    method: str
    path: str
    needs: str
    summary: str
    handler: Handler
    takes: Any = None
    gives: Any = None
    kind: str = JSON
    status: int = 200
    refusals: tuple[int, ...] = ()


class Stream(StreamingResponse):
    """An answer in blocks that holds a place, until either side ends it; with its token or after a day it is cut."""

    def __init__(self, request: Request, blocks: AsyncIterator[bytes], room: Places, headers: Mapping[str, str]):
        super().__init__(blocks, headers=headers)
        self._call, self._room = request.state, room

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        call, later = self._call, asyncio.get_running_loop().call_later
        call.waits = True
        hold = self._room.enter(call.client, call.line.evict)
        cut = later(min(call.granted.expires - time.time(), LONGEST_S), call.line.evict)
        try:
            await super().__call__(scope, receive, send)
        finally:
            cut.cancel()
            hold.leave()


class Application:
    """What uvicorn calls.

    The state of a request has its `line` (the place that its connection holds), `closed` (whether nothing can be
    written to it), what its token has `granted`, the `client` that holds places, and whether it `waits` for something
    that is no matter of latency.
    """

    def __init__(
        self,
        endpoints: Sequence[Endpoint],
        guard: Guard,
        limits: Limits,
        metrics: Metrics,
        without_paths: Callable[[str], str],
    ) -> None:
        self._guard, self._limits, self._metrics = guard, limits, metrics
        self._without_paths, self._turns = without_paths, Turns()
        self._routes = [Route(e.path, partial(self._answer, e), methods=[e.method]) for e in endpoints]
        self._router = Router(self._routes, redirect_slashes=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a call; anything but HTTP is let go of."""
        if scope["type"] != "http":
            return
        scope["app"] = self  # lets Starlette raise what it refuses
        request, began, status = Request(scope, receive), time.perf_counter(), 0
        call = request.state
        call.granted, call.client, call.waits = NOBODY, address_of(request), False

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                self._metrics.responses[str(status)] += 1
                message["headers"] = list((SECURITY | dict(message["headers"])).items())
            if not call.closed():
                await send(message)

        try:
            await self._admit(request)
            await self._router(scope, receive, send_with_headers)
        except Exception as error:
            refusal = self._refusal(request, error)
            if not status:  # else a stream has failed, whose connection uvicorn closes
                await refusal(scope, receive, send_with_headers)
        if not call.waits:
            self._metrics.latency.add(time.perf_counter() - began)
        log.debug("%s", "call", extra={"fields": {**_fields(request), "status": status}})
        scope["state"].clear()  # refers to the connection, which refers to it: freed now, and not by a long search

    async def _admit(self, request: Request) -> None:
        """Let a call pass the rules for all of them, when its turn has come."""
        call, line = request.state, request.state.line
        self._guard.check_host(request)
        call.granted, by_cookie = self._guard.admit(request)
        call.client = call.granted.bearer or call.client
        (self._limits.connections if call.granted.bearer else self._limits.strangers).receive(line, call.client)
        self._guard.check_origin(request, by_cookie)
        await self._turns.take(call.client)
        if line not in line.room:
            raise RefusedError(400, "gone", "the client left before its turn came")

    async def _answer(self, endpoint: Endpoint, request: Request) -> Response:
        if request.method == "GET" and endpoint.kind == HTML and (token := request.query_params.get("token")):
            return self._guard.sign_in(token, request, request.scope["path"])
        if not request.state.granted.permits(endpoint.needs):
            return _not_permitted(endpoint, request)
        if endpoint.takes is None:
            return await endpoint.handler(request)
        is_form, kind = endpoint.takes is LoginForm, request.headers.get("content-type", "").partition(";")[0]
        if not is_form and kind.strip().lower() != JSON:  # as a form of another site sends it
            raise RefusedError(415, "content type", "the body must be application/json; say so in Content-Type")
        body = await body_of(request, self._limits.bodies)
        if not is_form:
            return await endpoint.handler(request, parsed(body, endpoint.takes))
        try:
            fields = parse_qs(body.decode("latin-1"), max_num_fields=MOST_FIELDS)
        except ValueError:
            fields = {}
        return await endpoint.handler(request, LoginForm(fields.get("token", [""])[0].strip()))

    def _refusal(self, request: Request, error: Exception) -> Response:
        """What a call is answered that has met with an error, which is counted and logged."""
        if isinstance(error, HTTPException) and error.status_code == 404:
            error = RefusedError(404, "path", "there is nothing at this address; /openapi.json lists what there is")
        elif isinstance(error, HTTPException):
            here = [route for route in self._routes if route.matches(request.scope)[0] is Match.PARTIAL]
            allow = ", ".join(sorted(method for route in here for method in route.methods or ()))
            error = RefusedError(405, "method", "another method is required here", {"allow": allow})
        elif isinstance(error, BestChannelError) and not isinstance(error, RefusedError):
            status = next((status for kind, status in STATUS.items() if isinstance(error, kind)), 400)
            error = RefusedError(status, "input", self._without_paths(str(error)))
        elif not isinstance(error, RefusedError):
            log.error("fault", exc_info=error, extra={"fields": _fields(request)})
            error = RefusedError(500, "fault", f"the service failed ({type(error).__name__}); its log says more")
        self._metrics.refusals[error.rule] += 1
        log.warning("refused", extra={"fields": {**_fields(request), "rule": error.rule, "status": error.status}})
        return answer(Refusal(str(error)), error.status, error.headers)


def answer(message: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A message as an answer."""
    return Response(msgspec.json.encode(message), status, headers, JSON)


def _not_permitted(endpoint: Endpoint, request: Request) -> Response:
    """Ask a person for a token, and refuse others.

    Where a link on another site was followed, the browser has kept the cookie to itself and asks again on its own.
    """
    is_page = request.method == "GET" and not endpoint.path.startswith("/api")
    if is_page and "text/html" in request.headers.get("accept", ""):
        if request.headers.get("sec-fetch-site") == "cross-site":
            return Response(again_page(quote(request.scope["path"])), media_type=HTML)
        return redirect("/login")
    if request.state.granted is NOBODY:
        raise RefusedError(401, "token", "this requires a token", {"www-authenticate": "Bearer"})
    raise RefusedError(403, "scope", f"this requires a token with the scope {endpoint.needs}")


def _fields(request: Request) -> dict[str, str]:
    """What logs may have of a call: never its query, which may hold a token."""
    peer, path = request.client.host if request.client else "local", request.scope["path"][:200]
    return {"method": request.method, "path": path, "peer": peer, "scope": request.state.granted.kind}


def description(endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    """The OpenAPI description of what can be called."""
    kinds = list({kind: None for e in endpoints for kind in (e.takes, e.gives, Refusal) if kind is not None})
    schemas, components = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    known = dict(zip(kinds, schemas, strict=True))
    components["RunStatus"]["required"] = list(RunStatus.__struct_fields__)  # defaults are for where it is made
    paths: dict[str, Any] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, known)
    about = "Sensors lease parts of requests and answer them in pieces; people watch."
    return {
        "openapi": "3.1.0",
        "info": {"title": "bestchannel", "version": version("bestchannel"), "description": about},
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }


def _operation(endpoint: Endpoint, known: Mapping[Any, Any]) -> dict[str, Any]:
    def response(status: int) -> dict[str, Any]:
        words = {"description": HTTPStatus(status).phrase}
        if status == 303:
            return words
        if status >= 400 and status != 409:
            return {**words, "content": {JSON: {"schema": known[Refusal]}}}
        return {**words, "content": {endpoint.kind: {"schema": known[endpoint.gives]} if endpoint.gives else {}}}

    is_open, names = endpoint.needs == ALL, [part[1:-1] for part in endpoint.path.split("/") if part.startswith("{")]
    name = {"in": "path", "required": True, "schema": {"type": "string", "pattern": f"^{NAME}$"}}
    statuses = sorted({endpoint.status, *ALWAYS, *endpoint.refusals} | ({303} if endpoint.kind == HTML else set()))
    operation = {
        "summary": endpoint.summary,
        "description": "Open to all." if is_open else f"Requires a token with the scope {endpoint.needs}.",
        "operationId": endpoint.handler.__name__,
        "security": [] if is_open else [{"token": []}],
        "parameters": [{"name": part, **name} for part in names],
        "responses": {str(status): response(status) for status in statuses},
    }
    if endpoint.takes is not None:
        content = {FORM if endpoint.takes is LoginForm else JSON: {"schema": known[endpoint.takes]}}
        operation["requestBody"] = {"required": True, "content": content}
    return operation
