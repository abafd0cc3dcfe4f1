"""Everything that can be called: routes, rules, the OpenAPI description and the docs follow from these methods."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, partial
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from bestchannel.record import Result, RunStatus
from bestchannel.runs import store
from bestchannel.service import messages as m
from bestchannel.service import pages
from bestchannel.service.access import ALL, ID, LONGEST, OWN, SENSE, VIEW, Guard
from bestchannel.service.application import EVENTS, HTML, JSON, TEXT, Endpoint, Handler, Stream, answer, description
from bestchannel.service.leases import Leases
from bestchannel.service.limits import Client, Limits
from bestchannel.service.live import LIST, Live, ReportProcess, report_of_file, result_of_file
from bestchannel.service.run_folder import RunFolder

SQLITE = "application/vnd.sqlite3"
BLOCK = 2**16  # bytes of a file that are sent at once

log = logging.getLogger(__name__)

_CALLED: dict[str, partial[Endpoint]] = {}


def _called(method: str, path: str, needs: str, **about: Any) -> Callable[[Handler], Handler]:
    """Let a method of `Endpoints` be called so; its docstring is the summary."""

    def note(handler: Handler) -> Handler:
        summary = (handler.__doc__ or "").rstrip(".")
        _CALLED[handler.__name__] = partial(Endpoint, method, path, needs, summary, **about)
        return handler

    return note


@dataclass
class Endpoints:
    """The handlers, and what they work with."""

    _folder: RunFolder
    _leases: Leases
    _live: Live
    _reports: ReportProcess
    _guard: Guard
    _limits: Limits
    _metrics: m.Metrics

    @property
    def table(self) -> list[Endpoint]:
        """All that can be called."""
        return [endpoint(getattr(self, name)) for name, endpoint in _CALLED.items()]

    @_called("POST", "/api/leases", SENSE, takes=m.LeaseWish, gives=m.Lent, refusals=(404,))
    async def lease(self, request: Request, wish: m.LeaseWish) -> Response:
        """Lend work to a sensor."""
        request.state.waits = True
        work = asyncio.create_task(self._leases.lease(wish, request.state.granted, request.state.client))
        gone = asyncio.create_task(_disconnected(request))
        try:
            await asyncio.wait((work, gone), return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                raise m.RefusedError(400, "gone", "the client left before it was answered")
            return answer(work.result())
        finally:
            work.cancel()
            gone.cancel()
            await asyncio.gather(work, gone, return_exceptions=True)
            del work, gone  # whose error refers to this call

    @_called("POST", "/api/runs/{run}/pieces", SENSE, takes=m.Offer, gives=m.Received, refusals=(404, 409, 503))
    async def offer(self, request: Request, offer: m.Offer) -> Response:
        """Answer in pieces, which are on disk once acknowledged."""
        received = await self._leases.offer(request.path_params["run"], offer, request.state.granted)
        refused = any(piece.outcome == m.REFUSED for piece in received.pieces)  # whatever became of the others
        return answer(received, 409 if refused else 200)

    @_called("POST", "/api/runs/{run}/leases/{lease}", SENSE, gives=m.Renewed, refusals=(410,))
    async def renew(self, request: Request) -> Response:
        """Renew a lease."""
        return answer(m.Renewed(self._leases.renew(**request.path_params)))

    @_called("DELETE", "/api/runs/{run}/leases/{lease}", SENSE, gives=m.Renewed)
    async def give_back(self, request: Request) -> Response:
        """Give a lease back."""
        self._leases.give_back(**request.path_params)
        return answer(m.Renewed(0.0))

    @_called("GET", "/api/runs", VIEW, gives=m.RunList)
    async def runs(self, request: Request) -> Response:
        """All runs."""
        return answer(m.RunList(tuple(await self._folder.statuses())))

    @_called("POST", "/api/runs", OWN, takes=m.NewRun, gives=RunStatus, status=201, refusals=(503,))
    async def create(self, request: Request, wish: m.NewRun) -> Response:
        """Begin a run."""
        await asyncio.to_thread(self._folder.create, wish)
        log.info("run begun", extra={"fields": {"run": wish.name, "policy": wish.policy}})
        return answer(await self._folder.status(wish.name), 201)

    @_called("GET", "/api/runs/{run}", VIEW, gives=RunStatus, refusals=(404,))
    async def standing(self, request: Request) -> Response:
        """Where a run stands."""
        return answer(await self._folder.status(request.path_params["run"]))

    @_called("PATCH", "/api/runs/{run}", OWN, takes=m.Change, gives=RunStatus, refusals=(404, 503))
    async def alter(self, request: Request, change: m.Change) -> Response:
        """Pause a run or let it go on, limit it, end it."""
        name = request.path_params["run"]
        await asyncio.to_thread(self._folder.alter, name, change)
        log.info("run changed", extra={"fields": {"run": name, "change": str(change)}})
        return answer(await self._folder.status(name))

    @_called("GET", "/api/runs/{run}/file", VIEW, kind=SQLITE, refusals=(404, 503))
    async def file(self, request: Request) -> Response:
        """The run as a SQLite file."""
        path, room = self._folder.path(request.path_params["run"]), self._limits.copies
        async with room.held(request.state.client):
            content = await asyncio.to_thread(store.copied, path)
        headers = _download(SQLITE, path.name) | {"content-length": str(len(content))}
        return Stream(request, _blocks(content), room, headers)

    @_called("GET", "/api/runs/{run}/result", VIEW, gives=Result, refusals=(404, 503))
    async def result(self, request: Request) -> Response:
        """What the run has come to, as JSON with its record."""
        path = self._folder.path(request.path_params["run"])
        result = await self._reports.draw(request.state.client, result_of_file, path)
        return Response(result, headers=_download(JSON, f"{path.stem}.json"))

    @_called("GET", "/api/runs/{run}/report", VIEW, kind=HTML, refusals=(404, 503))
    async def report(self, request: Request) -> Response:
        """The report as one HTML file."""
        path = self._folder.path(request.path_params["run"])
        drawn = await self._reports.draw(request.state.client, report_of_file, path)
        return Response(drawn, headers=_download(HTML, f"{path.stem}.html"))

    @_called("POST", "/api/tokens", OWN, takes=m.TokenWish, gives=m.Made)
    async def token(self, request: Request, wish: m.TokenWish) -> Response:
        """Make a token for others."""
        if wish.scope == VIEW and wish.channels is not None:
            raise m.RefusedError(400, "input", "a token to look takes no channels; leave them out")
        token = self._guard.tokens.made_for(wish.scope, wish.channels, wish.days)
        made = self._guard.tokens.scope(token)
        if made is None:
            longer = f"the channels make the token longer than {LONGEST:,} letters"
            raise m.RefusedError(400, "input", f"{longer}; name fewer")
        ends = datetime.fromtimestamp(made.expires, UTC).isoformat(timespec="seconds")
        log.info("token made", extra={"fields": {"scope": wish.scope, "channels": wish.channels, "id": made.id}})
        address = f"{request.scope['scheme']}://{request.headers['host']}"
        return answer(m.Made(token, f"{address}/?token={token}", made.id, ends))

    @_called("DELETE", "/api/tokens/{id}", OWN, gives=m.RevokedToken, refusals=(404,))
    async def revoke(self, request: Request) -> Response:
        """Revoke a token, by its id."""
        id = request.path_params["id"]
        if not ID.fullmatch(id):
            raise m.RefusedError(404, "path", "the id of a token must be that which came with it; it has 16 letters")
        revoked = self._guard.tokens.revoked
        assert revoked is not None
        await asyncio.to_thread(revoked.add, id)
        bearer = Client.of_token(id)  # loses all that it holds
        self._limits.clear(bearer)
        self._leases.take_back(bearer)
        log.info("token revoked", extra={"fields": {"id": id}})
        return answer(m.RevokedToken(id))

    @_called("GET", "/runs/{run}/events", VIEW, kind=EVENTS, refusals=(404, 503))
    async def events(self, request: Request) -> Response:
        """The standing and the report of a run as server-sent events."""
        run, query = request.path_params["run"], request.query_params
        self._folder.path(run)  # which must be there
        last = request.headers.get("last-event-id") or query.get("last", "")
        report = () if query.get("report") == "no" else ("report",)
        return self._streamed(request, self._live.stream(run, last, ("trouble", "status", *report)))

    @_called("GET", "/events", VIEW, kind=EVENTS, refusals=(503,))
    async def list_events(self, request: Request) -> Response:
        """All runs as server-sent events."""
        return self._streamed(request, self._live.stream(LIST, "", ("trouble", "runs")))

    @_called("GET", "/runs/{run}", VIEW, kind=HTML, refusals=(404,))
    async def run_page(self, request: Request) -> Response:
        """The page of a run."""
        status = await self._folder.status(request.path_params["run"])
        return Response(pages.run_page(status, owner=request.state.granted.owns), media_type=HTML)

    @_called("GET", "/", VIEW, kind=HTML)
    async def home_page(self, request: Request) -> Response:
        """The page of all runs."""
        runs = await self._folder.statuses()
        return Response(pages.home_page(runs, owner=request.state.granted.owns), media_type=HTML)

    @_called("GET", "/login", ALL, kind=HTML)
    async def login_page(self, request: Request) -> Response:
        """Where a person types the token."""
        return Response(pages.login_page(wrong="wrong" in request.query_params), media_type=HTML)

    @_called("POST", "/login", ALL, takes=m.LoginForm, kind=HTML, status=303)
    async def login(self, request: Request, form: m.LoginForm) -> Response:
        """Take the token of the form."""
        return self._guard.sign_in(form.token, request, "/")

    @_called("GET", "/static/{file}", ALL, kind="text/css; charset=utf-8", refusals=(404,))
    async def static(self, request: Request) -> Response:
        """What pages load."""
        if (file := pages.static_file(request.path_params["file"])) is None:
            raise m.RefusedError(404, "path", "there is no such file")
        content, kind = file
        return Response(content, headers={"cache-control": "max-age=300"}, media_type=kind)

    @_called("GET", "/metrics", VIEW, kind=TEXT)
    async def metrics(self, request: Request) -> Response:
        """Metrics in the text form of Prometheus."""
        hosted = list(self._folder.hosted.values())
        gauges = {
            "runs_open": ("Runs that are open.", float(len(hosted))),
            "leases_now": ("Leases that have not ended.", float(sum(len(run.ledger.leases) for run in hosted))),
            "watchers": ("Streams that are open.", float(self._live.watchers)),
        }
        return Response(self._metrics.text(gauges), media_type=TEXT)

    @_called("GET", "/healthz", ALL, gives=dict[str, str])
    async def health(self, request: Request) -> Response:
        """Whether the service is up."""
        return answer({"status": "ok"})

    @_called("GET", "/openapi.json", ALL, gives=dict[str, Any])
    async def openapi(self, request: Request) -> Response:
        """The description of all this."""
        return answer(self._description)

    @cached_property
    def _description(self) -> msgspec.Raw:
        return msgspec.Raw(msgspec.json.encode(description(self.table)))

    def _streamed(self, request: Request, events: AsyncIterator[bytes]) -> Response:
        return Stream(request, events, self._limits.streams, {"content-type": EVENTS, "x-accel-buffering": "no"})


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _blocks(content: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(content), BLOCK):
        yield content[start : start + BLOCK]


def _download(kind: str, name: str) -> dict[str, str]:
    return {"content-type": kind, "content-disposition": f'attachment; filename="{name}"'}
