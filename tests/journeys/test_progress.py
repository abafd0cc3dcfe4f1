"""Whoever waits sees that something goes on: a bar on a terminal, and nothing of it in a pipe."""

import io
import json
import time
from contextlib import contextmanager

import pytest
from rich.console import Console

from bestchannel.cli import terminal
from tests.journeys.command import bestchannel

LINKS = {"good": [[0.95, 0.05], [0.05, 0.95]], "bad": [[0.7, 0.3], [0.3, 0.7]]}
COUNTS = "channel,x,y,count\na,0,0,95\na,0,1,5\na,1,0,5\na,1,1,95\nb,0,0,70\nb,0,1,30\nb,1,0,30\nb,1,1,70\n"
ANSWER = "channel,x,y,count\n" + "".join(f"{name},{x},{x},6\n" for name in LINKS for x in (0, 1))
LONG_WORK = {
    "capacity links.json": ["reading channels", "capacities"],
    "bound links.json": ["reading channels", "proofs"],
    "plan links.json --runs 1": ["reading channels", "proofs and simulated runs"],
    "estimate counts.csv": ["bytes read", "estimate"],
    "identify --replay trials.csv --epsilon 1": ["bytes of the recording", "looking for drift and memory"],
    "report counts.csv": ["bytes read", "estimate", "drawing the report"],
    "report run.db": ["drawing the report"],
    "verify run.db": ["checking the record", "steps checked"],
    "run status run.db": ["reading the run", "estimating capacities"],
    "run ask lab.db": ["reading the run"],
    "run tell lab.db answer.csv --request 1": ["reading the run", "choosing the next senses", "estimating capacities"],
    "run amend lab.db answer.csv --request 1": ["reading the run", "choosing the next senses", "estimating capacities"],
    "reproduce fig1 -o figures": ["points of fig1", "drawing"],
}
"""What may take long of a command, as a terminal calls it."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("waiting")
    (folder / "links.json").write_text(json.dumps({"channels": LINKS}))
    (folder / "sizes.json").write_text(json.dumps({"channels": {name: [2, 2] for name in LINKS}}))
    (folder / "counts.csv").write_text(COUNTS)
    (folder / "answer.csv").write_text(ANSWER)
    (folder / "trials.csv").write_text("channel,x,y\n" + "a,0,0\na,1,1\nb,0,0\nb,1,0\n" * 20)
    bestchannel("identify", "--simulate", "links.json", "--run", "run.db", cwd=folder)
    bestchannel("run", "new", "lab.db", "--alphabets", "sizes.json", cwd=folder)
    return folder


@pytest.mark.parametrize("command", LONG_WORK)
def test_every_step_that_may_last_is_shown(command, folder, monkeypatch):
    labels = []

    @contextmanager
    def noted(label, **_):
        labels.append(label)
        yield lambda done, total: None

    monkeypatch.setattr(terminal, "progress", noted)
    assert bestchannel(*command.split(), cwd=folder).returncode in (0, 3)
    assert labels == LONG_WORK[command]


@pytest.fixture
def screen(monkeypatch):
    """What a terminal shows."""
    shown = io.StringIO()
    monkeypatch.setattr(terminal, "live_console", lambda: Console(file=shown, force_terminal=True, width=80))
    return shown


def test_bar_comes_after_a_moment_though_nothing_is_counted_yet(screen):
    with terminal.progress("drawing", after=0.01):
        until = time.monotonic() + 60.0
        while "drawing" not in screen.getvalue() and time.monotonic() < until:
            time.sleep(0.01)
    assert "drawing" in screen.getvalue()


def test_bar_counts_and_says_how_long_it_will_take(screen):
    with terminal.progress("channels", after=0.0) as progress:
        progress(1, 4)
        until = time.monotonic() + 60.0
        while "1 of 4, 0 min 00 s left" not in screen.getvalue() and time.monotonic() < until:
            time.sleep(0.01)
        progress(4, 4)
    assert "1 of 4, 0 min 00 s left" in screen.getvalue()


def test_short_work_shows_no_bar(screen):
    with terminal.progress("channels", after=60.0) as progress:
        progress(1, 4)
    assert "channels" not in screen.getvalue()


def test_nothing_is_shown_in_a_pipe(capfd):
    with terminal.progress("drawing", after=0.0) as progress:
        progress(1, 4)
    assert capfd.readouterr() == ("", "")
