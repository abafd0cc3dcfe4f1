"""Everything that can be called, in one table: routes, rules, the OpenAPI description and the docs follow from it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from bestchannel.runs import store
from bestchannel.service import messages, pages
from bestchannel.service.access import ALL, ID, LONGEST, OWN, SENSE, VIEW, Guard
from bestchannel.service.application import EVENTS, HTML, TEXT, Endpoint, Stream, answer, description
from bestchannel.service.leases import Leases
from bestchannel.service.limits import Client, Limits
from bestchannel.service.live import LIST, Live, ReportProcess, report_of_file, result_of_file
from bestchannel.service.messages import RefusedError
from bestchannel.service.monitoring import Metrics
from bestchannel.service.run_folder import RunFolder

SQLITE = "application/vnd.sqlite3"

BLOCK = 2**16
"""Bytes of a file that are sent at once."""

log = logging.getLogger(__name__)


class Endpoints:
    """The handlers, and the table of them."""

    def __init__(
        self,
        folder: RunFolder,
        leases: Leases,
        live: Live,
        reports: ReportProcess,
        guard: Guard,
        limits: Limits,
        metrics: Metrics,
    ) -> None:
        self._folder, self._leases, self._live, self._reports = folder, leases, live, reports
        self._guard, self._limits, self._metrics = guard, limits, metrics
        m = messages
        self.table = [
            Endpoint("POST", "/api/leases", SENSE, "Lend work to a sensor", self.lease, m.LeaseWish, m.Lent,
                     refusals=(404,)),
            Endpoint("POST", "/api/runs/{run}/pieces", SENSE, "Answer in pieces, which are on disk once acknowledged",
                     self.offer, m.Offer, m.Received, refusals=(404, 409, 503)),
            Endpoint("POST", "/api/runs/{run}/leases/{lease}", SENSE, "Renew a lease", self.renew, None, m.Renewed,
                     refusals=(410,)),
            Endpoint("DELETE", "/api/runs/{run}/leases/{lease}", SENSE, "Give a lease back", self.give_back, None,
                     m.Renewed),
            Endpoint("GET", "/api/runs", VIEW, "All runs", self.runs, None, m.RunList),
            Endpoint("POST", "/api/runs", OWN, "Begin a run", self.create, m.NewRun, m.RunStatus, refusals=(503,)),
            Endpoint("GET", "/api/runs/{run}", VIEW, "Where a run stands", self.standing, None, m.RunStatus,
                     refusals=(404,)),
            Endpoint("PATCH", "/api/runs/{run}", OWN, "Pause a run or let it go on, limit it, end it", self.alter,
                     m.Change, m.RunStatus, refusals=(404, 503)),
            Endpoint("GET", "/api/runs/{run}/file", VIEW, "The run as a SQLite file", self.file, kind=SQLITE,
                     refusals=(404, 503)),
            Endpoint("GET", "/api/runs/{run}/result", VIEW, "What the run has come to, as JSON with its record",
                     self.result, None, dict[str, Any], refusals=(404, 503)),
            Endpoint("GET", "/api/runs/{run}/report", VIEW, "The report as one HTML file", self.report, kind=HTML,
                     refusals=(404, 503)),
            Endpoint("POST", "/api/tokens", OWN, "Make a token for others", self.token, m.TokenWish, m.Made),
            Endpoint("DELETE", "/api/tokens/{id}", OWN, "Revoke a token, by its id", self.revoke, None, m.RevokedToken,
                     refusals=(404,)),
            Endpoint("GET", "/runs/{run}/events", VIEW, "The standing and the report of a run as server-sent events",
                     self.events, kind=EVENTS, refusals=(404, 503)),
            Endpoint("GET", "/events", VIEW, "All runs as server-sent events", self.list_events, kind=EVENTS,
                     refusals=(503,)),
            Endpoint("GET", "/runs/{run}", VIEW, "The page of a run", self.run_page, kind=HTML, refusals=(404,)),
            Endpoint("GET", "/", VIEW, "The page of all runs", self.home_page, kind=HTML),
            Endpoint("GET", "/login", ALL, "Where a person types the token", self.login_page, kind=HTML),
            Endpoint("POST", "/login", ALL, "Take the token of the form", self.login, m.LoginForm,
                     kind=HTML),
            Endpoint("GET", "/static/{file}", ALL, "What pages load", self.static, kind="text/css; charset=utf-8",
                     refusals=(404,)),
            Endpoint("GET", "/metrics", VIEW, "Metrics in the text form of Prometheus", self.metrics, kind=TEXT),
            Endpoint("GET", "/healthz", ALL, "Whether the service is up", self.health, None, dict[str, str]),
            Endpoint("GET", "/openapi.json", ALL, "This description", self.openapi, None, dict[str, Any]),
        ]  # fmt: skip

    async def lease(self, request: Request, wish: messages.LeaseWish) -> Response:
        """Lend work, unless the client leaves before there is any."""
        request.state.waits = True
        work = asyncio.create_task(self._leases.lease(wish, request.state.granted, request.state.client))
        gone = asyncio.create_task(_disconnected(request))
        try:
            await asyncio.wait((work, gone), return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                raise RefusedError(400, "gone", "the client left before it was answered")
            return answer(work.result())
        finally:
            work.cancel()
            gone.cancel()
            await asyncio.gather(work, gone, return_exceptions=True)

    async def offer(self, request: Request, offer: messages.Offer) -> Response:
        """Take pieces; 409 where one is refused, whatever became of the others."""
        received = await self._leases.offer(request.path_params["run"], offer, request.state.granted)
        refused = any(piece.outcome == "refused" for piece in received.pieces)
        return answer(received, 409 if refused else 200)

    async def renew(self, request: Request) -> Response:
        """Let a lease last."""
        return answer(messages.Renewed(self._leases.renew(**request.path_params)))

    async def give_back(self, request: Request) -> Response:
        """End a lease."""
        self._leases.give_back(**request.path_params)
        return answer(messages.Renewed(0.0))

    async def runs(self, request: Request) -> Response:
        """List all runs."""
        return answer(messages.RunList(tuple(await self._folder.statuses())))

    async def create(self, request: Request, wish: messages.NewRun) -> Response:
        """Begin a run."""
        await asyncio.to_thread(self._folder.create, wish)
        log.info("run begun", extra={"fields": {"run": wish.name, "policy": wish.policy}})
        return answer(await self._folder.status(wish.name), 201)

    async def standing(self, request: Request) -> Response:
        """Say where a run stands."""
        return answer(await self._folder.status(request.path_params["run"]))

    async def alter(self, request: Request, change: messages.Change) -> Response:
        """Pause, limit or end a run."""
        name = request.path_params["run"]
        await asyncio.to_thread(self._folder.alter, name, change)
        log.info("run changed", extra={"fields": {"run": name, "change": str(change)}})
        return answer(await self._folder.status(name))

    async def file(self, request: Request) -> Response:
        """A copy of the file at one moment."""
        path, room = self._folder.path(request.path_params["run"]), self._limits.copies
        async with room.held(request.state.client):
            content = await asyncio.to_thread(store.copied, path)
        headers = _download(SQLITE, path.name) | {"content-length": str(len(content))}
        return Stream(request, _blocks(content), room, headers)

    async def result(self, request: Request) -> Response:
        """The JSON that `verify` checks."""
        path = self._folder.path(request.path_params["run"])
        document = await self._reports.draw(request.state.client, result_of_file, path)
        return answer(document, headers=_download("application/json", f"{path.stem}.json"))

    async def report(self, request: Request) -> Response:
        """The report that `bestchannel report` writes."""
        path = self._folder.path(request.path_params["run"])
        drawn = await self._reports.draw(request.state.client, report_of_file, path)
        return Response(drawn, headers=_download(HTML, f"{path.stem}.html"))

    async def token(self, request: Request, wish: messages.TokenWish) -> Response:
        """Make a token."""
        if wish.scope == VIEW and wish.channels is not None:
            raise RefusedError(400, "input", "a token to look takes no channels; leave them out")
        token = self._guard.tokens.made_for(wish.scope, wish.channels, wish.days)
        made = self._guard.tokens.scope(token)
        if made is None:
            raise RefusedError(400, "input", f"the channels make the token longer than {LONGEST:,} letters; name fewer")
        ends = datetime.fromtimestamp(made.expires, UTC).isoformat(timespec="seconds")
        log.info("token made", extra={"fields": {"scope": wish.scope, "channels": wish.channels, "id": made.id}})
        address = f"{request.scope['scheme']}://{request.headers['host']}"
        return answer(messages.Made(token, f"{address}/?token={token}", made.id, ends))

    async def revoke(self, request: Request) -> Response:
        """Let a token be valid no more, and end all that its bearers hold."""
        id = request.path_params["id"]
        if not ID.fullmatch(id):
            raise RefusedError(404, "path", "the id of a token must be that which came with it; it has 16 letters")
        await asyncio.to_thread(self._guard.tokens.revoke, id)
        bearer = Client.of_token(id)
        self._limits.clear(bearer)
        self._leases.take_back(bearer)
        log.info("token revoked", extra={"fields": {"id": id}})
        return answer(messages.RevokedToken(id))

    async def events(self, request: Request) -> Response:
        """Stream the events of a run."""
        run, query = request.path_params["run"], request.query_params
        self._folder.path(run)  # which must be there
        last = request.headers.get("last-event-id") or query.get("last", "")
        report = () if query.get("report") == "no" else ("report",)
        return self._streamed(request, self._live.stream(run, last, ("trouble", "status", *report, "quiet")))

    async def list_events(self, request: Request) -> Response:
        """Stream the list of all runs."""
        return self._streamed(request, self._live.stream(LIST, "", ("trouble", "runs", "quiet")))

    async def run_page(self, request: Request) -> Response:
        """The page of a run."""
        status = await self._folder.status(request.path_params["run"])
        return Response(pages.run_page(status, owner=request.state.granted.owns), media_type=HTML)

    async def home_page(self, request: Request) -> Response:
        """The page of all runs."""
        runs = await self._folder.statuses()
        return Response(pages.home_page(runs, owner=request.state.granted.owns), media_type=HTML)

    async def login_page(self, request: Request) -> Response:
        """The form for a token."""
        return Response(pages.login_page(wrong="wrong" in request.query_params), media_type=HTML)

    async def login(self, request: Request, form: messages.LoginForm) -> Response:
        """Take a token from the form."""
        return self._guard.sign_in(form.token, request, "/")

    async def static(self, request: Request) -> Response:
        """A style sheet or the script."""
        if (file := pages.static_file(request.path_params["file"])) is None:
            raise RefusedError(404, "path", "there is no such file")
        content, kind = file
        return Response(content, headers={"cache-control": "max-age=300"}, media_type=kind)

    async def metrics(self, request: Request) -> Response:
        """What the service counts."""
        hosted = list(self._folder.hosted.values())
        gauges = {
            "runs_open": ("Runs that are open.", float(len(hosted))),
            "leases_now": ("Leases that have not ended.", float(sum(len(each.work_left()[2]) for each in hosted))),
            "watchers": ("Streams that are open.", float(self._live.watchers)),
        }
        return Response(self._metrics.text(gauges), media_type=TEXT)

    async def health(self, request: Request) -> Response:
        """Say that the service is up."""
        return answer({"status": "ok"})

    async def openapi(self, request: Request) -> Response:
        """Describe all of this."""
        return answer(self._description)

    @cached_property
    def _description(self) -> msgspec.Raw:
        return msgspec.Raw(messages.encoded(description(self.table)))

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
