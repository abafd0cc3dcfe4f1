"""The service as an ASGI application: all that can be called, and the rules around Starlette's routes.

Routes, rules, the OpenAPI description and the docs follow from the methods of `Endpoints`. Every refusal is one
sentence, is counted, and is logged with the rule that it broke; neither queries nor tokens are.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, partial
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

from bestchannel.errors import BestChannelError, MissingFileError
from bestchannel.record import Result, RunStatus
from bestchannel.runs import NotWrittenError, store
from bestchannel.service import live as pages
from bestchannel.service import messages as m
from bestchannel.service.access import ALL, ID, LONGEST, NOBODY, OWN, SENSE, VIEW, Guard, address_of, body_of, redirect
from bestchannel.service.limits import Client, Limits, Places, Turns
from bestchannel.service.live import LIST, Live, ReportProcess, report_of_file, result_of_file
from bestchannel.service.run_folder import Leases, RunFolder

JSON, HTML, TEXT = "application/json", "text/html; charset=utf-8", "text/plain; charset=utf-8"
FORM, EVENTS, SQLITE = "application/x-www-form-urlencoded", "text/event-stream", "application/vnd.sqlite3"
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
STATUS = {MissingFileError: 404, NotWrittenError: 503}  # of what the library refuses; 400 of anything else
ALWAYS = (400, 401, 403, 408, 413, 415, 429)  # what any call with a token may be refused with
LONGEST_S = 86_400.0  # seconds after which a stream is cut, and begun anew by whoever still watches
BLOCK = 2**16  # bytes of a file that are sent at once
MOST_FIELDS = 20  # of a form; of one with more, nothing is read
Handler = Callable[..., Coroutine[Any, Any, Response]]

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Endpoint:
    """One thing that can be called: `takes` is the message in the body, `gives` that of the answer."""

    method: str
    path: str
    needs: str
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
        hold = self._room.enter(call.client, call.connection.evict)
        cut = later(min(call.granted.expires - time.time(), LONGEST_S), call.connection.evict)
        try:
            await super().__call__(scope, receive, send)
        finally:
            cut.cancel()
            hold.leave()


class Application:
    """What uvicorn calls.

    The state of a request has the place that its `connection` holds, `closed` (whether nothing can be
    written to it), what its token has `granted`, the `client` that holds places, and whether it `waits` for something
    that is no matter of latency.
    """

    def __init__(self, endpoints: Endpoints) -> None:
        self._endpoints, self._turns = endpoints, Turns()
        self._guard, self._limits, self._metrics = endpoints.guard, endpoints.limits, endpoints.counted
        self._routes = [Route(e.path, partial(self._answer, e), methods=[e.method]) for e in ENDPOINTS]
        self._router = Router(self._routes, redirect_slashes=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a call."""
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
            self._metrics.took(time.perf_counter() - began)
        log.debug("%s", "call", extra={"fields": {**_fields(request), "status": status}})
        scope["state"].clear()  # refers to the connection, which refers to it: freed now, and not by a long search

    async def _admit(self, request: Request) -> None:
        """Let a call pass the rules for all of them, when its turn has come."""
        call, connection = request.state, request.state.connection
        self._guard.check_host(request)
        call.granted, by_cookie = self._guard.admit(request)
        call.client = call.granted.bearer or call.client
        (self._limits.connections if call.granted.bearer else self._limits.anonymous).receive(connection, call.client)
        self._guard.check_origin(request, by_cookie)
        await self._turns.take(call.client)
        if connection not in connection.room:
            raise m.RefusedError(400, "gone", "the client left before its turn came")

    async def _answer(self, endpoint: Endpoint, request: Request) -> Response:
        if request.method == "GET" and endpoint.kind == HTML and (token := request.query_params.get("token")):
            return self._guard.sign_in(token, request, request.scope["path"])
        if not request.state.granted.permits(endpoint.needs):
            return _not_permitted(endpoint, request)
        handler = partial(endpoint.handler, self._endpoints, request, **request.path_params)
        if endpoint.takes is None:
            return await handler()
        is_form, kind = endpoint.takes is m.LoginForm, request.headers.get("content-type", "").partition(";")[0]
        if not is_form and kind.strip().lower() != JSON:  # as a form of another site sends it
            raise m.RefusedError(415, "content type", "the body must be application/json; say so in Content-Type")
        body = await body_of(request, self._limits.bodies)
        if not is_form:
            return await handler(m.parsed(body, endpoint.takes))
        try:
            fields = parse_qs(body.decode("latin-1"), max_num_fields=MOST_FIELDS)
        except ValueError:
            fields = {}
        return await handler(m.LoginForm(fields.get("token", [""])[0].strip()))

    def _refusal(self, request: Request, error: Exception) -> Response:
        """What a call is answered that has met with an error, which is counted and logged."""
        if isinstance(error, HTTPException) and error.status_code == 404:
            error = m.RefusedError(404, "path", "there is nothing at this address; /openapi.json lists what there is")
        elif isinstance(error, HTTPException):
            here = [route for route in self._routes if route.matches(request.scope)[0] is Match.PARTIAL]
            allow = ", ".join(sorted(method for route in here for method in route.methods or ()))
            error = m.RefusedError(405, "method", "another method is required here", {"allow": allow})
        elif isinstance(error, BestChannelError) and not isinstance(error, m.RefusedError):
            status = next((status for kind, status in STATUS.items() if isinstance(error, kind)), 400)
            error = m.RefusedError(status, "input", self._endpoints.folder.without_paths(str(error)))
        elif not isinstance(error, m.RefusedError):
            log.error("fault", exc_info=error, extra={"fields": _fields(request)})
            error = m.RefusedError(500, "fault", f"the service failed ({type(error).__name__}); its log says more")
        self._metrics.refusals[error.rule] += 1
        log.warning("refused", extra={"fields": {**_fields(request), "rule": error.rule, "status": error.status}})
        return answer(m.Refusal(str(error)), error.status, error.headers)


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
            return Response(pages.again_page(quote(request.scope["path"])), media_type=HTML)
        return redirect("/login")
    if request.state.granted is NOBODY:
        raise m.RefusedError(401, "token", "this requires a token", {"www-authenticate": "Bearer"})
    raise m.RefusedError(403, "scope", f"this requires a token with the scope {endpoint.needs}")


def _fields(request: Request) -> dict[str, str]:
    """What logs may have of a call: never its query, which may hold a token."""
    peer, path = request.client.host if request.client else "local", request.scope["path"][:200]
    return {"method": request.method, "path": path, "peer": peer, "scope": request.state.granted.kind}


ENDPOINTS: list[Endpoint] = []  # all that can be called


def _called(method: str, path: str, needs: str, **about: Any) -> Callable[[Handler], Handler]:
    """Let a method of `Endpoints` be called so, with what the path names; its docstring is the summary."""

    def note(handler: Handler) -> Handler:
        ENDPOINTS.append(Endpoint(method, path, needs, handler, **about))
        return handler

    return note


@dataclass
class Endpoints:
    """The handlers, and what they work with."""

    folder: RunFolder
    leases: Leases
    live: Live
    reports: ReportProcess
    guard: Guard
    limits: Limits
    counted: m.Metrics

    @_called("POST", "/api/leases", SENSE, takes=m.LeaseWish, gives=m.Lent, refusals=(404,))
    async def lease(self, request: Request, wish: m.LeaseWish) -> Response:
        """Lend work to a sensor."""
        call = request.state
        call.waits = True
        return answer(await self.leases.lease(wish, call.granted, call.client, call.closed))

    @_called("POST", "/api/runs/{run}/pieces", SENSE, takes=m.Offer, gives=m.Received, refusals=(404, 409, 503))
    async def offer(self, request: Request, offer: m.Offer, run: str) -> Response:
        """Answer in pieces, which are on disk once acknowledged."""
        received = await self.leases.offer(run, offer, request.state.granted)
        refused = any(piece.outcome == "refused" for piece in received.pieces)  # whatever became of the others
        return answer(received, 409 if refused else 200)

    @_called("POST", "/api/runs/{run}/leases/{lease}", SENSE, gives=m.Renewed, refusals=(410,))
    async def renew(self, request: Request, run: str, lease: str) -> Response:
        """Renew a lease."""
        hosted = self.folder.hosted.get(run)
        if hosted is None or not hosted.ledger.renew(lease, time.monotonic()):
            over = "the lease is over: it has expired, or its request is answered"
            raise m.RefusedError(410, "input", f"{over}; ask for another")
        return answer(m.Renewed(hosted.ledger.lease_s))

    @_called("DELETE", "/api/runs/{run}/leases/{lease}", SENSE, gives=m.Renewed)
    async def give_back(self, request: Request, run: str, lease: str) -> Response:
        """Give a lease back."""
        if hosted := self.folder.hosted.get(run):  # one that is over already stays so
            hosted.ledger.give_back(lease)
        return answer(m.Renewed(0.0))

    @_called("GET", "/api/runs", VIEW, gives=m.RunList)
    async def runs(self, request: Request) -> Response:
        """All runs."""
        return answer(m.RunList(tuple(await self.folder.statuses())))

    @_called("POST", "/api/runs", OWN, takes=m.NewRun, gives=RunStatus, status=201, refusals=(503,))
    async def create(self, request: Request, wish: m.NewRun) -> Response:
        """Begin a run."""
        await asyncio.to_thread(self.folder.create, wish)
        log.info("run begun", extra={"fields": {"run": wish.name, "policy": wish.policy}})
        return answer(await self.folder.status(wish.name), 201)

    @_called("GET", "/api/runs/{run}", VIEW, gives=RunStatus, refusals=(404,))
    async def standing(self, request: Request, run: str) -> Response:
        """Where a run stands."""
        return answer(await self.folder.status(run))

    @_called("PATCH", "/api/runs/{run}", OWN, takes=m.Change, gives=RunStatus, refusals=(404, 503))
    async def alter(self, request: Request, change: m.Change, run: str) -> Response:
        """Pause a run or let it go on, limit it, end it."""
        await asyncio.to_thread(self.folder.alter, run, change)
        log.info("run changed", extra={"fields": {"run": run, "change": str(change)}})
        return answer(await self.folder.status(run))

    @_called("GET", "/api/runs/{run}/file", VIEW, kind=SQLITE, refusals=(404, 503))
    async def file(self, request: Request, run: str) -> Response:
        """The run as a SQLite file."""
        path, room = self.folder.path(run), self.limits.copies
        async with room.held(request.state.client):
            content = await asyncio.to_thread(store.copied, path)
        headers = _download(SQLITE, path.name) | {"content-length": str(len(content))}
        return Stream(request, _blocks(content), room, headers)

    @_called("GET", "/api/runs/{run}/result", VIEW, gives=Result, refusals=(404, 503))
    async def result(self, request: Request, run: str) -> Response:
        """What the run has come to, as JSON with its record."""
        path = self.folder.path(run)
        result = await self.reports.draw(request.state.client, result_of_file, path)
        return Response(result, headers=_download(JSON, f"{path.stem}.json"))

    @_called("GET", "/api/runs/{run}/report", VIEW, kind=HTML, refusals=(404, 503))
    async def report(self, request: Request, run: str) -> Response:
        """The report as one HTML file."""
        path = self.folder.path(run)
        drawn = await self.reports.draw(request.state.client, report_of_file, path)
        return Response(drawn, headers=_download(HTML, f"{path.stem}.html"))

    @_called("POST", "/api/tokens", OWN, takes=m.TokenWish, gives=m.Made)
    async def token(self, request: Request, wish: m.TokenWish) -> Response:
        """Make a token for others."""
        if wish.scope == VIEW and wish.channels is not None:
            raise m.RefusedError(400, "input", "a token to look takes no channels; leave them out")
        token = self.guard.tokens.made_for(wish.scope, wish.channels, wish.days)
        made = self.guard.tokens.scope(token)
        if isinstance(made, str):
            longer = f"the channels make the token longer than {LONGEST:,} letters"
            raise m.RefusedError(400, "input", f"{longer}; name fewer")
        ends = datetime.fromtimestamp(made.expires, UTC).isoformat(timespec="seconds")
        log.info("token made", extra={"fields": {"scope": wish.scope, "channels": wish.channels, "id": made.id}})
        address = f"{request.scope['scheme']}://{request.headers['host']}"
        return answer(m.Made(token, f"{address}/?token={token}", made.id, ends))

    @_called("DELETE", "/api/tokens/{id}", OWN, gives=m.RevokedToken, refusals=(404,))
    async def revoke(self, request: Request, id: str) -> Response:
        """Revoke a token, by its id."""
        if not ID.fullmatch(id):
            raise m.RefusedError(404, "path", "the id of a token must be that which came with it; it has 16 letters")
        revoked = self.guard.tokens.revoked
        assert revoked is not None
        await asyncio.to_thread(revoked.add, id)
        bearer = Client.of_token(id)  # loses all that it holds
        self.limits.clear(bearer)
        for hosted in self.folder.hosted.values():
            hosted.ledger.take_back(bearer.name)
        log.info("token revoked", extra={"fields": {"id": id}})
        return answer(m.RevokedToken(id))

    @_called("GET", "/runs/{run}/events", VIEW, kind=EVENTS, refusals=(404, 503))
    async def events(self, request: Request, run: str) -> Response:
        """The standing and the report of a run as server-sent events."""
        query = request.query_params
        self.folder.path(run)  # which must be there
        last = request.headers.get("last-event-id") or query.get("last", "")
        report = () if query.get("report") == "no" else ("report",)
        return self._streamed(request, self.live.stream(run, last, ("trouble", "status", *report)))

    @_called("GET", "/events", VIEW, kind=EVENTS, refusals=(503,))
    async def list_events(self, request: Request) -> Response:
        """All runs as server-sent events."""
        return self._streamed(request, self.live.stream(LIST, "", ("trouble", "runs")))

    @_called("GET", "/runs/{run}", VIEW, kind=HTML, refusals=(404,))
    async def run_page(self, request: Request, run: str) -> Response:
        """The page of a run."""
        status = await self.folder.status(run)
        return Response(pages.run_page(status, owner=request.state.granted.owns), media_type=HTML)

    @_called("GET", "/", VIEW, kind=HTML)
    async def home_page(self, request: Request) -> Response:
        """The page of all runs."""
        runs = await self.folder.statuses()
        return Response(pages.home_page(runs, owner=request.state.granted.owns), media_type=HTML)

    @_called("GET", "/login", ALL, kind=HTML)
    async def login_page(self, request: Request) -> Response:
        """Where a person types the token."""
        return Response(pages.login_page(wrong="wrong" in request.query_params), media_type=HTML)

    @_called("POST", "/login", ALL, takes=m.LoginForm, kind=HTML, status=303)
    async def login(self, request: Request, form: m.LoginForm) -> Response:
        """Take the token of the form."""
        return self.guard.sign_in(form.token, request, "/")

    @_called("GET", "/static/{file}", ALL, kind="text/css; charset=utf-8", refusals=(404,))
    async def static(self, request: Request, file: str) -> Response:
        """What pages load."""
        if (found := pages.static_file(file)) is None:
            raise m.RefusedError(404, "path", "there is no such file")
        content, kind = found
        return Response(content, headers={"cache-control": "max-age=300"}, media_type=kind)

    @_called("GET", "/metrics", VIEW, kind=TEXT)
    async def metrics(self, request: Request) -> Response:
        """Metrics in the text form of Prometheus."""
        hosted = list(self.folder.hosted.values())
        gauges = {
            "runs_open": ("Runs that are open.", float(len(hosted))),
            "leases_now": ("Leases that have not ended.", float(sum(len(run.ledger.leases) for run in hosted))),
            "watchers": ("Streams that are open.", float(self.live.watchers)),
        }
        return Response(self.counted.text(gauges), media_type=TEXT)

    @_called("GET", "/healthz", ALL, gives=dict[str, str])
    async def health(self, request: Request) -> Response:
        """Whether the service is up."""
        return answer({"status": "ok"})

    @_called("GET", "/openapi.json", ALL, gives=dict[str, Any])
    async def openapi(self, request: Request) -> Response:
        """The description of all this."""
        return answer(description())

    def _streamed(self, request: Request, events: AsyncIterator[bytes]) -> Response:
        return Stream(request, events, self.limits.streams, {"content-type": EVENTS, "x-accel-buffering": "no"})


async def _blocks(content: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(content), BLOCK):
        yield content[start : start + BLOCK]


def _download(kind: str, name: str) -> dict[str, str]:
    return {"content-type": kind, "content-disposition": f'attachment; filename="{name}"'}


@cache
def description() -> msgspec.Raw:
    """The OpenAPI description of what can be called."""
    kinds = list({kind: None for e in ENDPOINTS for kind in (e.takes, e.gives, m.Refusal) if kind is not None})
    schemas, components = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    known = dict(zip(kinds, schemas, strict=True))
    components["RunStatus"]["required"] = list(RunStatus.__struct_fields__)  # defaults are for where it is made
    paths: dict[str, Any] = {}
    for endpoint in ENDPOINTS:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, known)
    about = "Sensors lease parts of requests and answer them in pieces; people watch."
    described = {
        "openapi": "3.1.0",
        "info": {"title": "bestchannel", "version": version("bestchannel"), "description": about},
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }
    return msgspec.Raw(msgspec.json.encode(described))


def _operation(endpoint: Endpoint, known: Mapping[Any, Any]) -> dict[str, Any]:
    def response(status: int) -> dict[str, Any]:
        words = {"description": HTTPStatus(status).phrase}
        if status == 303:
            return words
        if status >= 400 and status != 409:
            return {**words, "content": {JSON: {"schema": known[m.Refusal]}}}
        return {**words, "content": {endpoint.kind: {"schema": known[endpoint.gives]} if endpoint.gives else {}}}

    is_open, names = endpoint.needs == ALL, [part[1:-1] for part in endpoint.path.split("/") if part.startswith("{")]
    name = {"in": "path", "required": True, "schema": {"type": "string", "pattern": f"^{m.NAME}$"}}
    statuses = sorted({endpoint.status, *ALWAYS, *endpoint.refusals} | ({303} if endpoint.kind == HTML else set()))
    operation = {
        "summary": (endpoint.handler.__doc__ or "").rstrip("."),
        "description": "Open to all." if is_open else f"Requires a token with the scope {endpoint.needs}.",
        "operationId": endpoint.handler.__name__,
        "security": [] if is_open else [{"token": []}],
        "parameters": [{"name": part, **name} for part in names],
        "responses": {str(status): response(status) for status in statuses},
    }
    if endpoint.takes is not None:
        content = {FORM if endpoint.takes is m.LoginForm else JSON: {"schema": known[endpoint.takes]}}
        operation["requestBody"] = {"required": True, "content": content}
    return operation
