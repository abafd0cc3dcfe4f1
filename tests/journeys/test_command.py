"""What is learned from the command line within this process is what a process of its own would have shown."""

import json
import os
import signal
import sys
from pathlib import Path

import pytest

from tests.journeys.command import bestchannel, process_of

SPEC = 'seed = 3\nruns = 2\ndeltas = [0.1]\n[[policies]]\npolicy = "adaptive"\n[[instances]]\nchannels = "links.json"\n'
COMMANDS = {
    "capacity": ["links.json"],
    "identify": ["--simulate", "links.json"],
    "reproduce": ["fig2"],
    "run": ["status", "run.db"],
    "study": ["links.toml", "-o", "out", "--workers", 1],
    "verify": ["result.json"],
}
"""Verbs of all kinds; those of the README run as programs there."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What the verbs can work on."""
    folder = tmp_path_factory.mktemp("verbs")
    channels = {"good": [[0.95, 0.05], [0.05, 0.95]], "bäd": [[0.7, 0.3], [0.3, 0.7]]}
    (folder / "links.json").write_text(json.dumps({"channels": channels}))
    (folder / "links.toml").write_text(SPEC)
    simulated = ["identify", "--simulate", "links.json", "--run", "run.db", "--json"]
    (folder / "result.json").write_text(bestchannel(*simulated, cwd=folder).stdout)
    return folder


def shown(run):
    return run.returncode, run.stdout, run.stderr


@pytest.mark.parametrize("verb", COMMANDS)
def test_verb_shows_and_ends_as_in_a_process_of_its_own(verb, folder):
    here = bestchannel(verb, *COMMANDS[verb], cwd=folder)
    assert here.stdout
    assert shown(here) == shown(process_of(verb, *COMMANDS[verb], cwd=folder))


@pytest.mark.parametrize("arguments", [["capacity", "none.json"], ["capacity", "--none"], ["run", "--help"]], ids=str)
def test_refusal_usage_and_help_are_those_of_a_process_of_its_own(arguments, folder):
    assert shown(bestchannel(*arguments, cwd=folder)) == shown(process_of(*arguments, cwd=folder))


def test_call_leaves_nothing_behind(folder, monkeypatch):
    def state():
        streams = sys.stdin, sys.stdout, sys.stderr
        return (
            *streams,
            sys.argv[:],
            sys.modules["__main__"],
            Path.cwd(),
            dict(os.environ),
            signal.getsignal(signal.SIGTERM),
        )

    def break_things():
        os.chdir("/")
        os.environ["LEFT"] = "behind"
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        sys.stdout = None
        raise SystemExit("in a sentence")

    before = state()
    monkeypatch.setattr("bestchannel.cli.main", break_things)
    assert shown(bestchannel("capacity", cwd=folder)) == (1, "", "in a sentence\n")
    assert state() == before


def test_error_that_a_user_would_see_as_a_traceback_is_raised(monkeypatch):
    monkeypatch.setattr("bestchannel.cli.reading.read_channels", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        bestchannel("capacity", "links.json")
