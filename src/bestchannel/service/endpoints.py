"""Everything that can be called, in one table: routes, rules, the OpenAPI description and the docs follow from it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from bestchannel.runs import store
from bestchannel.service import messages, pages
from bestchannel.service.application import ALL, Endpoint
from bestchannel.service.boards import LIST, Boards
from bestchannel.service.calls import EVENTS, HTML, TEXT, Call, Reply, answer, field_of, redirect
from bestchannel.service.desk import Desk
from bestchannel.service.drawing_office import DrawingOffice, report_of_file, result_of_file
from bestchannel.service.guard import Guard
from bestchannel.service.limits import Limits, Party
from bestchannel.service.messages import RefusedError, parsed
from bestchannel.service.openapi import description
from bestchannel.service.scopes import ID, LONGEST, OWN, SENSE, VIEW
from bestchannel.service.standings import all_standings, standing

SQLITE = "application/vnd.sqlite3"

BLOCK = 2**16
"""Bytes of a file that are sent at once."""

log = logging.getLogger(__name__)


class Endpoints:
    """The handlers, and the table of them."""

    def __init__(self, desk: Desk, boards: Boards, office: DrawingOffice, guard: Guard, limits: Limits) -> None:
        self._desk, self._boards, self._office, self._guard, self._limits = desk, boards, office, guard, limits
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
            Endpoint("POST", "/login", ALL, "Take the token of the form", self.login, str, kind=HTML, form=True),
            Endpoint("GET", "/static/{file}", ALL, "What pages load", self.static, kind="text/css; charset=utf-8",
                     refusals=(404,)),
            Endpoint("GET", "/metrics", VIEW, "Metrics in the text form of Prometheus", self.metrics, kind=TEXT),
            Endpoint("GET", "/healthz", ALL, "Whether the service is up", self.health, None, dict[str, str]),
            Endpoint("GET", "/openapi.json", ALL, "This description", self.openapi, None, dict[str, Any]),
        ]  # fmt: skip

    async def lease(self, call: Call) -> Reply:
        """Lend work."""
        return answer(await self._desk.lease(parsed(call.body, messages.LeaseWish), call.scope, call.party))

    async def offer(self, call: Call) -> Reply:
        """Take pieces; 409 where one of them was refused, whatever became of the others."""
        received = await self._desk.offer(call.names["run"], parsed(call.body, messages.Offer), call.scope)
        refused = any(piece.outcome == "refused" for piece in received.pieces)
        return answer(received, 409 if refused else 200)

    async def renew(self, call: Call) -> Reply:
        """Let a lease last."""
        return answer(messages.Renewed(self._desk.renew(call.names["run"], call.names["lease"])))

    async def give_back(self, call: Call) -> Reply:
        """End a lease."""
        self._desk.give_back(call.names["run"], call.names["lease"])
        return answer(messages.Renewed(0.0))

    async def runs(self, call: Call) -> Reply:
        """List all runs."""
        return answer(messages.RunList(tuple(await all_standings(self._desk))))

    async def create(self, call: Call) -> Reply:
        """Begin a run."""
        wish = parsed(call.body, messages.NewRun)
        await asyncio.to_thread(self._desk.folder.create, wish)
        log.info("run begun", extra={"fields": {"run": wish.name, "policy": wish.policy}})
        return answer(await standing(self._desk, wish.name), 201)

    async def standing(self, call: Call) -> Reply:
        """Say where a run stands."""
        return answer(await standing(self._desk, call.names["run"]))

    async def alter(self, call: Call) -> Reply:
        """Pause, limit or end a run."""
        name, change = call.names["run"], parsed(call.body, messages.Change)
        await self._desk.alter(name, change)
        log.info("run changed", extra={"fields": {"run": name, "change": str(change)}})
        return answer(await standing(self._desk, name))

    async def file(self, call: Call) -> Reply:
        """A copy of the file at one moment."""
        path = self._desk.folder.path(call.names["run"])
        async with self._limits.copies.held(call.party):
            content = await asyncio.to_thread(store.copied, path)
        reply = _download(_blocks(content), SQLITE, path.name)
        return replace(reply, headers={**reply.headers, "content-length": str(len(content))}, room=self._limits.copies)

    async def result(self, call: Call) -> Reply:
        """The JSON that `verify` checks."""
        path = self._desk.folder.path(call.names["run"])
        found = await self._office.do(call.party, result_of_file, path)
        return _download(messages.encoded(found), "application/json", f"{path.stem}.json")

    async def report(self, call: Call) -> Reply:
        """The report that `bestchannel report` writes."""
        path = self._desk.folder.path(call.names["run"])
        drawn = await self._office.do(call.party, report_of_file, path)
        return _download(drawn.encode(), HTML, f"{path.stem}.html")

    async def token(self, call: Call) -> Reply:
        """Make a token."""
        wish = parsed(call.body, messages.TokenWish)
        if wish.scope == VIEW and wish.channels is not None:
            raise RefusedError(400, "input", "a token to look takes no channels; leave them out")
        token = self._guard.tokens.made_for(wish.scope, wish.channels, wish.days)
        made = self._guard.tokens.scope(token)
        if made is None:
            raise RefusedError(400, "input", f"the channels make the token longer than {LONGEST:,} letters; name fewer")
        ends = datetime.fromtimestamp(made.expires, UTC).isoformat(timespec="seconds")
        log.info("token made", extra={"fields": {"scope": wish.scope, "channels": wish.channels, "id": made.id}})
        address = f"{'https' if call.secure else 'http'}://{call.headers['host']}"
        return answer(messages.Made(token, f"{address}/?token={token}", made.id, ends))

    async def revoke(self, call: Call) -> Reply:
        """Let a token be valid no more, and end all that its bearers hold."""
        id = call.names["id"]
        if not ID.fullmatch(id):
            raise RefusedError(404, "path", "the id of a token must be that which came with it; it has 16 letters")
        await asyncio.to_thread(self._guard.tokens.revoke, id)
        bearer = Party.of_token(id)
        self._limits.clear(bearer)
        self._desk.take_back(bearer)
        log.info("token revoked", extra={"fields": {"id": id}})
        return answer(messages.RevokedToken(id))

    async def events(self, call: Call) -> Reply:
        """Stream the events of a run."""
        last = call.headers.get("last-event-id") or call.query("last") or ""
        kinds = ("trouble", "status", "report", "quiet")
        shown = [kind for kind in kinds if kind != "report" or call.query("report") != "no"]
        return self._streamed(await self._boards.stream(call.names["run"], last, shown))

    async def list_events(self, call: Call) -> Reply:
        """Stream the list of all runs."""
        return self._streamed(await self._boards.stream(LIST, "", ("trouble", "runs", "quiet")))

    async def run_page(self, call: Call) -> Reply:
        """The page of a run."""
        status = await standing(self._desk, call.names["run"])
        return Reply(200, pages.run_page(status, owner=call.scope.owns).encode(), HTML)

    async def home_page(self, call: Call) -> Reply:
        """The page of all runs."""
        return Reply(200, pages.home_page(await all_standings(self._desk), owner=call.scope.owns).encode(), HTML)

    async def login_page(self, call: Call) -> Reply:
        """The form for a token."""
        return Reply(200, pages.login_page(wrong=call.query("wrong") is not None).encode(), HTML)

    async def login(self, call: Call) -> Reply:
        """Take a token from the form."""
        token = (field_of(call.body.decode("latin-1"), "token") or "").strip()
        if self._guard.signed_in(token, call.peer) is None:
            log.warning("refused", extra={"fields": {"rule": "token", "path": "/login", "peer": call.peer}})
            return redirect("/login?wrong=1")
        return redirect("/", {"set-cookie": self._guard.set_cookie(token, secure=call.secure)})

    async def static(self, call: Call) -> Reply:
        """A style sheet or the script."""
        if (found := pages.static_file(call.names["file"])) is None:
            raise RefusedError(404, "path", "there is no such file")
        return Reply(200, *found, {"cache-control": "max-age=300"})

    async def metrics(self, call: Call) -> Reply:
        """What the service counts."""
        hosted = list(self._desk.folder.hosted.values())
        gauges = {
            "runs_open": ("Runs that are open.", float(len(hosted))),
            "leases_now": ("Leases that have not ended.", float(sum(len(each.work_left()[2]) for each in hosted))),
            "watchers": ("Streams that are open.", float(self._boards.watchers)),
        }
        return Reply(200, self._desk.metrics.text(gauges).encode(), TEXT)

    async def health(self, call: Call) -> Reply:
        """Say that the service is up."""
        return answer({"status": "ok"})

    async def openapi(self, call: Call) -> Reply:
        """Describe all of this."""
        return Reply(200, self._description)

    @cached_property
    def _description(self) -> bytes:
        return messages.encoded(description(self.table))

    def _streamed(self, stream: AsyncIterator[bytes]) -> Reply:
        return Reply(200, stream, EVENTS, {"x-accel-buffering": "no"}, self._limits.streams)


async def _blocks(content: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(content), BLOCK):
        yield content[start : start + BLOCK]


def _download(body: bytes | AsyncIterator[bytes], kind: str, name: str) -> Reply:
    return Reply(200, body, kind, {"content-disposition": f'attachment; filename="{name}"'})
