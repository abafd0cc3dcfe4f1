"""What watchers see of a run, also where it could not be drawn at first."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

from bestchannel import Adaptive, Simulator, identify
from bestchannel.errors import InputError
from bestchannel.runs import remembering
from bestchannel.service.limits import OWNER, Client, Limits
from bestchannel.service.live import Live, ReportProcess, static_file
from bestchannel.service.run_folder import RunFolder


def ended_run(path):
    sensor = Simulator({"good": [[0.95, 0.05], [0.05, 0.95]], "bad": [[0.6, 0.4], [0.4, 0.6]]}, rng=1)
    policy = Adaptive(sensor.alphabets, delta=0.1)
    with remembering(sensor, policy, path, source={"kind": "test"}) as durable:
        assert identify(durable, policy).decided


class BusyAtFirst(ReportProcess):
    """A process that refuses the first drawing."""

    refused = False

    async def draw(self, client, work, *arguments):
        if not self.refused:
            self.refused = True
            raise InputError("not now")
        return await super().draw(client, work, *arguments)


async def watched(folder, reports, done):
    """The events of the run `run` once it is done."""
    served = RunFolder(folder, 60.0, lambda: None)
    feed = Live(served, reports).feed("run")
    try:
        async with asyncio.timeout(120):  # for ever, where it is not drawn
            while not done(feed.events):
                await feed.news.wait()
        return feed.events
    finally:
        feed.close()
        reports.close()
        served.close()


def events_of(folder, reports, done):
    with ThreadPoolExecutor(1) as elsewhere:  # the loop of a browser may be running in this thread
        return elsewhere.submit(asyncio.run, watched(folder, reports, done)).result()


def data_of(event):
    return json.loads(event.wire.split(b"data: ", 1)[1])


def test_report_that_could_not_be_drawn_at_first_is_drawn_later(tmp_path):
    ended_run(tmp_path / "run.db")
    reports = BusyAtFirst(Limits().drawings)
    events = events_of(tmp_path, reports, lambda events: "report" in events)
    assert reports.refused
    assert "good" in data_of(events["report"])["title"]


def test_report_says_of_how_many_senses_and_when_it_was_drawn(tmp_path):
    ended_run(tmp_path / "run.db")
    before = datetime.now(UTC).replace(microsecond=0)
    events = events_of(tmp_path, ReportProcess(Limits().drawings), lambda events: {"report", "status"} <= events.keys())
    report, status = data_of(events["report"]), data_of(events["status"])
    assert report["senses"] == status["senses"] > 0
    assert before <= datetime.fromisoformat(report["time"]) <= datetime.now(UTC)


async def order_of_drawing():
    reports, drawn = ReportProcess(Limits().drawings), []
    try:
        await reports.draw(OWNER, len, "")  # the process is there
        clients = [Client("view"), Client("view"), Client("other"), OWNER]
        tasks = [asyncio.create_task(reports.draw(client, len, "")) for client in clients]
        for client, task in zip(clients, tasks, strict=True):
            task.add_done_callback(lambda task, name=client.name: drawn.append(name))
        await asyncio.gather(*tasks)
        return drawn
    finally:
        reports.close()


def test_owner_does_not_wait_for_the_drawings_of_others():
    with ThreadPoolExecutor(1) as elsewhere:
        assert elsewhere.submit(asyncio.run, order_of_drawing()).result()[0] == "owner"


def test_names_of_files_that_are_not_there_are_not_kept():
    """Anybody may ask for them, without a token."""
    assert {static_file(f"{number}.css") for number in range(100)} == {None}
    assert static_file.cache_info().currsize <= 16
    assert static_file("live.css")[1] == "text/css; charset=utf-8"
