"""What people see: the pages, the events that keep them current, and the process that draws reports.

What watchers see is prepared once for all of them. Every event holds the whole of what it is about, so a watcher that
was away needs only the last: nothing is queued for anybody, and a slow watcher misses some. However many watch, a run
is looked at and drawn as often as for one of them.
"""

from __future__ import annotations

import asyncio
import json
import logging
import multiprocessing
import os
import pickle
import re
import signal
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext, suppress
from datetime import UTC, datetime
from functools import cache, lru_cache, partial
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any, NamedTuple, TypeVar

from msgspec.json import encode

from bestchannel import runs
from bestchannel.errors import BestChannelError
from bestchannel.policies import Identification
from bestchannel.policies.catalogue import POLICIES
from bestchannel.policies.transcript import record_of
from bestchannel.record import RunStatus
from bestchannel.report.markup import Html, joined, lone, tag, trusted
from bestchannel.report.page import meta, page, script, style, title_and_body
from bestchannel.report.provenance import Provenance, origin_of
from bestchannel.service.limits import Client, Places
from bestchannel.service.messages import Refusal
from bestchannel.service.run_folder import RunFolder

STATUS_S, LIST_S, REPORT_S = 0.4, 1.0, 1.0  # least seconds between two standings, lists of all runs, and reports
SHARE = 0.02  # of the time, spent at most on listing or drawing again; where a run stands is told at once
LONGEST_S = 15.0  # after which something is drawn again, whatever it costs; a run that has ended is drawn at once
QUIET_S = 10.0  # of silence, after which a stream says that it is alive
LIST = ""  # the subject of the list of all runs; no run has this name
NICENESS = 5  # of the process that draws: whoever senses comes first
R = TypeVar("R")

log = logging.getLogger(__name__)


class Event(NamedTuple):
    """A server-sent event as it is on the wire; `id` is what a watcher that comes back names it by."""

    wire: bytes
    id: str


class Feed:
    """The last event of each kind about one subject, which writers keep current while somebody watches."""

    def __init__(self, *writers: Callable[[Feed], Awaitable[float]], without_paths: Callable[[str], str]) -> None:
        self.events: dict[str, Event] = {}
        self.watchers = 0
        self.drawn_of, self.due = (-1, ""), 0.0  # requests and state in the last report; when the next is due
        self.news = asyncio.Event()
        self._without_paths = without_paths
        self._tasks = [asyncio.create_task(self._keep_writing(writer)) for writer in writers]

    def post(self, kind: str, data: bytes, id: str = "") -> None:
        """Show this JSON as the last event of its kind; it is news where it differs from the one before."""
        head = f"event: {kind}\n" + (f"id: {id}\n" if id else "")
        event = Event(head.encode() + b"data: " + data + b"\n\n", id)
        if self.events.get(kind) != event:
            self.events[kind] = event
            self.wake()

    def wake(self) -> None:
        """Let all watchers look."""
        news, self.news = self.news, asyncio.Event()
        news.set()

    def close(self) -> None:
        """Stop writing."""
        for task in self._tasks:
            task.cancel()

    async def _keep_writing(self, writer: Callable[[Feed], Awaitable[float]]) -> None:
        """Let a writer write again after as long as it says, whatever it meets with, as a file that was deleted."""
        while True:
            pause = LIST_S
            try:
                pause = await writer(self)
            except BestChannelError as error:
                self.post("trouble", encode(Refusal(self._without_paths(str(error)))))
            except Exception:
                log.exception("fault", extra={"fields": {"what": "feed"}})
            await asyncio.sleep(pause)


class Live:
    """The feeds that somebody watches."""

    def __init__(self, folder: RunFolder, reports: ReportProcess) -> None:
        self._folder, self._reports = folder, reports
        self._feeds: dict[str, Feed] = {}
        self._closed = False

    @property
    def watchers(self) -> int:
        """How many watch now."""
        return sum(feed.watchers for feed in self._feeds.values())

    def close(self) -> None:
        """End all streams."""
        self._closed = True
        for feed in self._feeds.values():
            feed.wake()
            feed.close()

    async def stream(self, subject: str, last: str, kinds: Sequence[str]) -> AsyncIterator[bytes]:
        """Events of these kinds from now on; `last` is the id of the last report that the watcher has seen."""
        feed = self._feeds.get(subject)
        if feed is None:
            feed = self._feeds[subject] = self.feed(subject)
        feed.watchers += 1
        seen: dict[str, Event] = {}
        try:
            yield b"retry: 1000\n\n"
            while not self._closed:
                news = feed.news
                for kind in kinds:
                    event = feed.events.get(kind)
                    if event is not None and event is not seen.get(kind):
                        seen[kind] = event
                        if not event.id or event.id != last:
                            yield event.wire
                try:
                    async with asyncio.timeout(QUIET_S):
                        await news.wait()
                except TimeoutError:
                    yield b"event: quiet\ndata: 0\n\n"
        finally:
            feed.watchers -= 1
            if not feed.watchers:
                feed.close()
                self._feeds.pop(subject, None)

    def feed(self, subject: str) -> Feed:
        """A feed of the list of all runs, or of one run."""
        writers = (self._list,) if subject == LIST else (partial(self._tell, subject), partial(self._draw, subject))
        return Feed(*writers, without_paths=self._folder.without_paths)

    async def _list(self, feed: Feed) -> float:
        """Show all runs, as often as that may cost."""
        began = time.thread_time()
        feed.post("runs", json.dumps(run_list(await self._folder.statuses())).encode())
        return _pause(LIST_S, time.thread_time() - began)

    async def _tell(self, run: str, feed: Feed) -> float:
        """Say where the run stands, whenever that has changed."""
        feed.post("status", encode(await self._folder.status(run)))
        feed.events.pop("trouble", None)
        return STATUS_S

    async def _draw(self, run: str, feed: Feed) -> float:
        """Draw the report, as often as that may cost, and at once where the run has changed its state."""
        _, status = await self._folder.standing(run)
        now = status.requests, status.state
        if now != feed.drawn_of and (now[1] != feed.drawn_of[1] or time.monotonic() >= feed.due):
            report, took = await self._drawn(run)
            feed.drawn_of, feed.due = now, time.monotonic() + _pause(REPORT_S, took)  # only what could be drawn
            feed.post("report", encode(report), f"{now[0]}-{now[1]}")
        return STATUS_S

    async def _drawn(self, run: str) -> tuple[dict[str, object], float]:
        """The report, and how much processor time it took."""
        hosted = self._folder.hosted.get(run)
        if hosted is None:
            return await self._reports.draw(None, live_report, self._folder.path(run))
        packed, packing = await asyncio.wrap_future(hosted.do(partial(_packed, hosted.path)))
        report, drawing = await self._reports.draw(None, live_report, packed)
        return report, packing + drawing


def _pause(least: float, took: float) -> float:
    """Seconds until something that took so long is done again."""
    return min(max(least, took / SHARE), max(LONGEST_S, least))


class ReportProcess:
    """A process that draws, so that drawing keeps no sensor waiting: started when needed, and again should it die.

    It draws for the owner first, then for those who watch, of whom many are shown one drawing, then for the others.
    """

    def __init__(self, room: Places) -> None:
        self._pool: ProcessPoolExecutor | None = None
        self._room = room
        self._queue: asyncio.PriorityQueue[tuple[int, int, asyncio.Future[Any], Callable[[], Any]]]
        self._queue = asyncio.PriorityQueue()
        self._asked = 0
        self._worker: asyncio.Task[None] | None = None

    async def draw(self, client: Client | None, work: Callable[..., R], *arguments: object) -> R:
        """What the work returns, for a client or all who watch; where too much is waiting, a client is refused."""
        async with nullcontext() if client is None else self._room.held(client):
            self._asked += 1
            answer: asyncio.Future[R] = asyncio.get_running_loop().create_future()
            rank = 1 if client is None else 0 if client.owns else 2
            self._queue.put_nowait((rank, self._asked, answer, partial(work, *arguments)))
            if self._worker is None:
                self._worker = asyncio.create_task(self._work())
            return await answer

    def close(self) -> None:
        """End the process."""
        if self._pool:
            self._pool.shutdown(wait=False, cancel_futures=True)
        self._pool = None

    async def _work(self) -> None:
        while True:
            _, _, answer, work = await self._queue.get()
            if answer.done():  # nobody waits for it any more
                continue
            with suppress(asyncio.InvalidStateError):  # nor does anybody by now
                try:
                    answer.set_result(await self._done(work))
                except Exception as error:
                    answer.set_exception(error)

    async def _done(self, work: Callable[[], R], again: bool = True) -> R:
        if self._pool is None:
            self._pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), initializer=_begin)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, work)
        except BrokenProcessPool:
            self.close()
            if not again:
                raise
            return await self._done(work, again=False)


def _begin() -> None:
    """Let the process that draws end with the service, and not before."""

    def end_with_parent() -> None:
        if parent := multiprocessing.parent_process():
            parent.join()
            os._exit(0)

    os.nice(NICENESS)
    for number in (signal.SIGINT, signal.SIGTERM):  # the service says when to end
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=end_with_parent, daemon=True).start()


def _now(path: Path, run: runs.Run) -> tuple[Identification, Provenance, datetime]:
    """A run as it stands, and when that is."""
    return run.outcome(), origin_of(run, path), datetime.now(UTC)


def _packed(path: Path, run: runs.Run) -> tuple[bytes, float]:
    """A run as it stands, on its way to the process that draws it, and the processor time that packing took."""
    began = time.thread_time()
    return pickle.dumps(_now(path, run)), time.thread_time() - began


def live_report(run: bytes | Path) -> tuple[dict[str, object], float]:
    """The report on a run that was packed, or as its file stands, and the processor time that drawing took.

    It has a title and a body, and of how many senses and when it is.

    Its few style attributes have another name, which the page's script puts back: the content-security policy of the
    service permits no styles within markup; `"` is escaped in every text.
    """
    result, origin, stood = pickle.loads(run) if isinstance(run, bytes) else _now(run, runs.view(run))
    began = time.process_time()
    title, body = title_and_body(result, origin)
    report = {"title": title, "body": body.replace(' style="', ' data-style="'), "senses": result.senses}
    return report | {"time": stood.isoformat(timespec="seconds")}, time.process_time() - began


def report_of_file(path: Path) -> str:
    """The report on a run as its file stands, the one that `bestchannel report` writes."""
    result, origin, _ = _now(path, runs.view(path))
    return page(result, origin=origin)


def result_of_file(path: Path) -> bytes:
    """What a run has come to, as `bestchannel run resume --json` prints it."""
    return encode(record_of(runs.read_run(path)))


def home_page(runs: Sequence[RunStatus], *, owner: bool) -> str:
    """The runs of the folder, and for the owner a form that begins another."""
    form = _markup("new-run", policies=joined(tag("option", name) for name in POLICIES)) if owner else ""
    return _page("Runs · bestchannel", _markup("home", runs=run_list(runs), form=form))


def run_list(runs: Sequence[RunStatus]) -> str:
    """How many runs there are, and where each stands: what the home page keeps current."""
    if not runs:
        return tag("p", "There are none yet.", class_="lead")
    how_many = f"{len(runs):,} in this folder, {sum(run.state == 'open' for run in runs):,} of them open."
    titles = ("run", "state", "leader", "evidence", "senses", "last activity")
    head = tag("thead", tag("tr", *(tag("th", title, scope="col") for title in titles)))
    table = tag("table", head, tag("tbody", *map(_row, runs)), id="runs")
    return tag("p", how_many, class_="lead") + tag("section", tag("div", table, class_="scroll", tabindex="0"))


def run_page(status: RunStatus, *, owner: bool) -> str:
    """One run: what is going on, and below it the report, which the script keeps current."""
    content = _markup("run", run=status.run, controls=_markup("controls") if owner else "")
    return _page(f"{status.run} · bestchannel", content, data_run=status.run)


def login_page(*, wrong: bool) -> str:
    """Where a person types the token."""
    refused = tag("p", "That token is not valid here.", role="alert", class_="wrong") if wrong else ""
    return _page("bestchannel", _markup("login", wrong=refused))


def again_page(path: str) -> str:
    """Asks for an address of this service again."""
    refresh = lone("meta", http_equiv="refresh", content=f"0; url={path}")
    head = tag("head", *meta(), refresh, tag("title", "bestchannel"))
    return f"<!DOCTYPE html>\n{tag('html', head, tag('body', tag('a', 'Go on', href=path)), lang='en')}\n"


@lru_cache(16)  # not of every name that anybody asks for
def static_file(name: str) -> tuple[bytes, str] | None:
    """A file that pages load, and its kind."""
    if name not in ("page.css", "page.js", "live.css", "live.js"):
        return None
    shared = {"page.css": style, "page.js": script}.get(name)  # by reports too
    kind = "text/css; charset=utf-8" if name.endswith("css") else "text/javascript; charset=utf-8"
    return (shared() if shared else _static(name)).encode(), kind


@cache
def _static(name: str) -> str:
    return files("bestchannel.service").joinpath("static", name).read_text("utf-8")


def _markup(name: str, **parts: str) -> Html:
    """A part of a page, with these parts in it: trusted, as these are markup or a name of a run."""
    return trusted(Template(re.sub(r"\n *(?=[<$]|\Z)", "", _static(f"{name}.html"))).substitute(parts))


def _page(title: str, content: Html, **data: object) -> str:
    head = tag(
        "head",
        *meta(),
        tag("title", title),
        *(trusted(f'<link rel="stylesheet" href="/static/{name}.css">') for name in ("page", "live")),
        *(tag("script", src=f"/static/{name}.js", defer="") for name in ("page", "live")),
    )
    body = tag("body", content, class_="bestchannel page", **data)
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def _row(run: RunStatus) -> Html:
    cells = (
        "paused" if run.paused and run.state == "open" else run.state,
        run.answer or run.best or run.leader or "",
        evidence(run),
        f"{run.senses:,}",
        tag("time", run.last_activity.replace("T", " ").removesuffix("+00:00"), datetime=run.last_activity),
    )
    name = tag("th", tag("a", run.run, href=f"/runs/{run.run}"), scope="row")
    return tag("tr", name, *(tag("td", cell) for cell in cells), title=run.error or None)


def evidence(run: RunStatus) -> str:
    """Evidence of its threshold, in bits, against the rival that is hardest to rule out."""
    if run.evidence_bits is None or run.threshold_bits is None or run.best:
        return ""
    return f"{run.evidence_bits:.1f} of {run.threshold_bits:.1f} bits"
