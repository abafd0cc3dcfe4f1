"""What watchers see of a run, also where it could not be drawn at first."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

from bestchannel import Adaptive, Simulator, identify
from bestchannel.errors import InputError
from bestchannel.runs import remembering
from bestchannel.service.boards import Board, RunWriter
from bestchannel.service.desk import Desk
from bestchannel.service.drawing_office import DrawingOffice
from bestchannel.service.limits import OWNER, Client, Limits
from bestchannel.service.metrics import Metrics
from bestchannel.service.run_folder import RunFolder


def ended_run(path):
    sensor = Simulator({"good": [[0.95, 0.05], [0.05, 0.95]], "bad": [[0.6, 0.4], [0.4, 0.6]]}, rng=1)
    policy = Adaptive(sensor.alphabets, delta=0.1)
    with remembering(sensor, policy, path, source={"kind": "test"}) as durable:
        assert identify(durable, policy).decided


class BusyAtFirst(DrawingOffice):
    """An office that refuses the first drawing."""

    refused = False

    async def do_for_watchers(self, work, *arguments):
        if not self.refused:
            self.refused = True
            raise InputError("not now")
        return await super().do_for_watchers(work, *arguments)


async def watched(folder, office, done):
    """What is on the board of the run `run` once it is done."""
    desk = Desk(RunFolder(folder, 60.0, lambda: None), Metrics(), Limits().waiting)
    await desk.open()
    writer = RunWriter("run", desk, office)
    board = Board(writer.tell, writer.draw)
    try:
        async with asyncio.timeout(120):  # for ever, where it is not drawn
            while not done(board.events):
                await board.news.wait()
        return board.events
    finally:
        board.close()
        office.close()
        await desk.close()


def events_of(folder, office, done):
    with ThreadPoolExecutor(1) as elsewhere:  # the loop of a browser may be running in this thread
        return elsewhere.submit(asyncio.run, watched(folder, office, done)).result()


def data_of(event):
    return json.loads(event.wire.split(b"data: ", 1)[1])


def test_report_that_could_not_be_drawn_at_first_is_drawn_later(tmp_path):
    ended_run(tmp_path / "run.db")
    office = BusyAtFirst(Limits().drawings)
    events = events_of(tmp_path, office, lambda events: "report" in events)
    assert office.refused
    assert "good" in data_of(events["report"])["title"]


def test_report_says_of_how_many_senses_and_when_it_was_drawn(tmp_path):
    ended_run(tmp_path / "run.db")
    before = datetime.now(UTC).replace(microsecond=0)
    events = events_of(tmp_path, DrawingOffice(Limits().drawings), lambda events: {"report", "status"} <= events.keys())
    report, status = data_of(events["report"]), data_of(events["status"])
    assert report["senses"] == status["senses"] > 0
    assert before <= datetime.fromisoformat(report["time"]) <= datetime.now(UTC)


async def order_of_drawing():
    office, drawn = DrawingOffice(Limits().drawings), []
    try:
        await office.do(OWNER, len, "")  # the process is there
        clients = [Client("view"), Client("view"), Client("other"), OWNER]
        tasks = [asyncio.create_task(office.do(client, len, "")) for client in clients]
        for client, task in zip(clients, tasks, strict=True):
            task.add_done_callback(lambda task, name=client.name: drawn.append(name))
        await asyncio.gather(*tasks)
        return drawn
    finally:
        office.close()


def test_owner_does_not_wait_for_the_drawings_of_others():
    with ThreadPoolExecutor(1) as elsewhere:
        assert elsewhere.submit(asyncio.run, order_of_drawing()).result()[0] == "owner"
