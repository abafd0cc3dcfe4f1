"""What watchers see of a run, also where it could not be drawn at first."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor

from bestchannel import Adaptive, Simulator, identify
from bestchannel.runs import remembering
from bestchannel.service.boards import Board, RunWriter
from bestchannel.service.desk import Desk
from bestchannel.service.drawing_office import MOST_WAITING, DrawingOffice
from bestchannel.service.metrics import Metrics
from bestchannel.service.run_folder import RunFolder


def ended_run(path):
    sensor = Simulator({"good": [[0.95, 0.05], [0.05, 0.95]], "bad": [[0.6, 0.4], [0.4, 0.6]]}, rng=1)
    policy = Adaptive(sensor.alphabets, delta=0.1)
    with remembering(sensor, policy, path, source={"kind": "test"}) as durable:
        assert identify(durable, policy).decided


async def drawn_after_the_office_was_full(folder):
    desk, office = Desk(RunFolder(folder, 60.0, lambda: None), Metrics()), DrawingOffice()
    await desk.open()
    office._waiting = MOST_WAITING
    board = Board(RunWriter("run", desk, office).draw)
    try:
        while "trouble" not in board.events:
            await board.news.wait()
        office._waiting = 0
        async with asyncio.timeout(120):  # for ever, where it is not drawn
            while "report" not in board.events:
                await board.news.wait()
        return board.events
    finally:
        board.close()
        office.close()
        await desk.close()


def test_report_that_was_refused_while_too_many_waited_is_drawn_later(tmp_path):
    ended_run(tmp_path / "run.db")
    with ThreadPoolExecutor(1) as elsewhere:  # the loop of a browser may be running in this thread
        events = elsewhere.submit(asyncio.run, drawn_after_the_office_was_full(tmp_path)).result()
    assert b"too many reports are being drawn" in events["trouble"].wire
    assert "good" in json.loads(events["report"].wire.split(b"data: ", 1)[1])["title"]
