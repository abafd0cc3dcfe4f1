"""Ctrl-C at the worst moments: its exit code is the one that is documented, and it is never lost."""

import os

import pytest

from tests.journeys.command import process_of

POLICY = """
import atexit, signal
import bestchannel as bc


def interrupted():
    signal.raise_signal(signal.SIGINT)


def in_text():
    exec("interrupted()")


def at_the_end():
    atexit.register(interrupted)


class Interrupting(bc.Policy):
    name = "interrupting"
    guarantee = "none"

    def __init__(self, alphabets, *, delta, moment):
        self.moment = moment
        super().__init__(alphabets, delta=delta)

    def _script(self):
        yield {0: (1, 1)}
        globals()[self.moment]()
        return 0
"""


@pytest.fixture
def interrupted_at(tmp_path):
    """The command line interrupted at a moment, after one request was answered."""
    (tmp_path / "lab.py").write_text(POLICY)
    (tmp_path / "links.json").write_text('{"channels": {"a": [[1, 0], [0, 1]], "b": [[1, 0], [1, 0]]}}')
    words = ["identify", "--simulate", "links.json", "--policy", "lab:Interrupting", "--policy-option"]

    def run(moment, *more):
        return process_of(
            *words, f"moment={moment}", *more, cwd=tmp_path, env={**os.environ, "PYTHONPATH": _path(tmp_path)}
        )

    return run


def _path(folder):
    return os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])


@pytest.mark.parametrize("moment", ["interrupted", "in_text"])
def test_interrupted_run_exits_4_wherever_the_interruption_came(interrupted_at, moment):
    run = interrupted_at(moment, "--run", "run.db")
    assert (run.returncode, run.stdout) == (4, "")
    assert run.stderr == "interrupted; to go on: bestchannel run resume run.db\n"


def test_without_a_run_it_exits_130(interrupted_at):
    run = interrupted_at("in_text")
    assert (run.returncode, run.stdout, run.stderr) == (130, "", "interrupted\n")


def test_interruption_after_the_result_changes_nothing(interrupted_at):
    run = interrupted_at("at_the_end")
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.startswith("best: a")
