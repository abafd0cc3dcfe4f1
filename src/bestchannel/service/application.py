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
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Match, Route, Router
from starlette.types import Message, Receive, Scope, Send

from bestchannel.errors import BestChannelError, InputError, MissingFileError
from bestchannel.runs import NotWrittenError
from bestchannel.service.access import ALL, NOBODY, Guard, address_of, body_of, redirect
from bestchannel.service.leases import ForbiddenError, GoneError
from bestchannel.service.limits import Limits, Places, Turns
from bestchannel.service.messages import LoginForm, Refusal, RefusedError, encoded, parsed
from bestchannel.service.monitoring import Metrics
from bestchannel.service.pages import again_page

JSON, HTML, TEXT = "application/json", "text/html; charset=utf-8", "text/plain; charset=utf-8"
FORM, EVENTS = "application/x-www-form-urlencoded", "text/event-stream"

SECURITY = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
"""Headers of every answer, unless it has others."""

STATUS = {ForbiddenError: 403, GoneError: 410, MissingFileError: 404, NotWrittenError: 503, InputError: 400}
"""Of what the library refuses, first match first."""

LONGEST_S = 86_400.0
"""Seconds after which a stream is cut, and begun anew by whoever still watches."""

MOST_FIELDS = 20
"""Of a form."""

NAME = "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
"""Of what a path names."""

ALWAYS = (400, 401, 403, 408, 413, 415, 429)
"""What any call with a token may be refused with."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Endpoint:
    """One thing that can be called: `takes` is the message in the body, `gives` that of the answer."""

    method: str
    path: str
    needs: str
    summary: str
    handler: Callable[..., Coroutine[Any, Any, Response]]
    takes: Any = None
    gives: Any = None
    kind: str = JSON
    refusals: tuple[int, ...] = ()


class Stream(StreamingResponse):
    """An answer in blocks that holds a place, until either side ends it; with its token or after a day it is cut."""

    def __init__(self, request: Request, blocks: AsyncIterator[bytes], room: Places, headers: Mapping[str, str]):
        super().__init__(blocks, headers=headers)
        self._caller, self._room = request.state, room

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        caller, end = self._caller, asyncio.get_running_loop().call_later
        caller.waits = True
        hold = self._room.enter(caller.client, caller.line.evict)
        over = end(min(caller.granted.expires - time.time(), LONGEST_S), caller.line.evict)
        try:
            await super().__call__(scope, receive, send)
        finally:
            over.cancel()
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
        routes = [Route(each.path, partial(self._answer, each), methods=[each.method]) for each in endpoints]
        self._router = Router(routes, redirect_slashes=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a call; anything but HTTP is let go of."""
        if scope["type"] != "http":
            return
        scope["app"] = self  # lets Starlette raise what it refuses
        request, began, status = Request(scope, receive), time.perf_counter(), 0
        state = request.state
        state.granted, state.client, state.waits = NOBODY, address_of(request), False

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                self._metrics.responses[str(status)] += 1
                headers = MutableHeaders(scope=message)
                for key, value in SECURITY.items():
                    headers.setdefault(key, value)
            if not state.closed():
                await send(message)

        try:
            await self._admit(request)
            await self._router(scope, receive, send_with_headers)
        except Exception as error:
            refused = self._refused(request, error)
            if status:  # a stream that has failed; uvicorn closes its connection
                return
            refusal = answer(Refusal(str(refused)), refused.status, refused.headers)
            await refusal(scope, receive, send_with_headers)
        if not state.waits:
            self._metrics.latency.add(time.perf_counter() - began)
        log.debug("%s", "call", extra={"fields": {**_fields(request), "status": status}})

    async def _admit(self, request: Request) -> None:
        """Let a call pass the rules for all of them, when its turn has come."""
        state, line = request.state, request.state.line
        self._guard.check_host(request)
        state.granted, by_cookie = self._guard.admit(request)
        if bearer := state.granted.bearer:
            state.client = bearer
        (self._limits.connections if bearer else self._limits.strangers).receive(line, state.client)
        self._guard.check_origin(request, by_cookie)
        await self._turns.take(state.client)
        if line not in line.room:
            raise RefusedError(400, "gone", "the client left before its turn came")

    async def _answer(self, endpoint: Endpoint, request: Request) -> Response:
        if request.method == "GET" and endpoint.kind == HTML and (token := request.query_params.get("token")):
            return self._guard.sign_in(token, request, request.scope["path"])
        granted = request.state.granted
        if not granted.permits(endpoint.needs):
            wants_page = "text/html" in request.headers.get("accept", "")
            if wants_page and request.method == "GET" and not endpoint.path.startswith("/api"):
                return _ask_again(request)
            if granted is NOBODY:
                raise RefusedError(401, "token", "this requires a token", {"www-authenticate": "Bearer"})
            raise RefusedError(403, "scope", f"this requires a token with the scope {endpoint.needs}")
        if endpoint.takes is None:
            return await endpoint.handler(request)
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if endpoint.takes is not LoginForm and kind != JSON:  # as a form of another site sends it
            raise RefusedError(415, "content type", "the body must be application/json; say so in Content-Type")
        body = await body_of(request, self._limits.bodies)
        return await endpoint.handler(
            request, _form(body) if endpoint.takes is LoginForm else parsed(body, endpoint.takes)
        )

    def _refused(self, request: Request, error: Exception) -> RefusedError:
        """What a call is answered that has met with an error, which is counted and logged."""
        if isinstance(error, HTTPException):
            error = self._nowhere(request, error.status_code)
        elif isinstance(error, BestChannelError) and not isinstance(error, RefusedError):
            status = next((status for kind, status in STATUS.items() if isinstance(error, kind)), 400)
            error = RefusedError(status, "input", self._without_paths(str(error)))
        elif not isinstance(error, RefusedError):
            log.error("fault", exc_info=error, extra={"fields": _fields(request)})
            error = RefusedError(500, "fault", f"the service failed ({type(error).__name__}); its log says more")
        self._metrics.refusals[error.rule] += 1
        fields = {**_fields(request), "rule": error.rule, "status": error.status}
        log.warning("refused", extra={"fields": fields})
        return error

    def _nowhere(self, request: Request, status: int) -> RefusedError:
        if status == 404:
            return RefusedError(404, "path", "there is nothing at this address; /openapi.json lists what there is")
        routes = [route for route in self._router.routes if isinstance(route, Route)]
        there = [route for route in routes if route.matches(request.scope)[0] is Match.PARTIAL]
        allowed = sorted(method for route in there for method in route.methods or ())
        return RefusedError(405, "method", "another method is required here", {"allow": ", ".join(allowed)})


def answer(message: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A message as an answer."""
    return Response(encoded(message), status, headers, JSON)


def _ask_again(request: Request) -> Response:
    """Ask a person for a token, or a browser to ask again by itself.

    It keeps the cookie to itself where a link on another site was followed.
    """
    if request.headers.get("sec-fetch-site") == "cross-site":
        return Response(again_page(quote(request.scope["path"])), media_type=HTML)
    return redirect("/login")


def _form(body: bytes) -> LoginForm:
    """What a person has typed; of a form with very many fields, nothing."""
    try:
        fields = parse_qs(body.decode("latin-1"), max_num_fields=MOST_FIELDS)
    except ValueError:
        fields = {}
    return LoginForm(fields.get("token", [""])[0].strip())


def _fields(request: Request) -> dict[str, str]:
    """What logs may have of a call: never its query, which may hold a token."""
    peer = request.client.host if request.client else "local"
    path = request.scope["path"][:200]
    return {"method": request.method, "path": path, "peer": peer, "scope": request.state.granted.kind}


def description(endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    """The OpenAPI description of what can be called."""
    kinds = list({kind: None for e in endpoints for kind in (e.takes, e.gives, Refusal) if kind is not None})
    schemas, components = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    known = dict(zip(kinds, schemas, strict=True))
    paths: dict[str, Any] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, known)
    about = "Sensors lease parts of requests and answer them in pieces; people watch."
    return {
        "openapi": "3.1.0",
        "info": {"title": "bestchannel", "version": version("bestchannel"), "description": about},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(endpoint: Endpoint, known: Mapping[Any, Any]) -> dict[str, Any]:
    is_open, is_form = endpoint.needs == ALL, endpoint.takes is LoginForm
    done = 303 if is_form else 201 if endpoint.handler.__name__ == "create" else 200
    also = {303} if endpoint.kind == HTML else set()
    statuses = sorted({done, *also, *ALWAYS, *endpoint.refusals})
    operation = {
        "summary": endpoint.summary,
        "description": "Open to all." if is_open else f"Requires a token with the scope {endpoint.needs}.",
        "operationId": endpoint.handler.__name__,
        "security": [] if is_open else [{"token": []}],
        "parameters": [
            {"name": part[1:-1], "in": "path", "required": True, "schema": {"type": "string", "pattern": NAME}}
            for part in endpoint.path.split("/")
            if part.startswith("{")
        ],
        "responses": {str(status): _response(status, endpoint, known) for status in statuses},
    }
    if endpoint.takes is not None:
        content = {FORM if is_form else JSON: {"schema": known[endpoint.takes]}}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _response(status: int, endpoint: Endpoint, known: Mapping[Any, Any]) -> dict[str, Any]:
    words = {"description": HTTPStatus(status).phrase}
    if status == 303:
        return words
    if status >= 400 and status != 409:
        return {**words, "content": {JSON: {"schema": known[Refusal]}}}
    schema = {} if endpoint.gives is None else {"schema": known[endpoint.gives]}
    return {**words, "content": {endpoint.kind: schema}}
