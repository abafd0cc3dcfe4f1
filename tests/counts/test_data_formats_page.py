"""The page on data formats is true: its Python runs, in order and in one folder, and so do its commands."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.journeys.command import bestchannel

PAGE = (Path(__file__).parents[2] / "docs/how-to/data-formats.md").read_text()
BLOCKS = re.findall(r"```(python|sh)\n(.*?)```", PAGE, re.DOTALL)
SCRIPT = "".join(text for kind, text in BLOCKS if kind == "python")
DONE, UNDECIDED = 0, 3


def run(arguments, folder):
    return subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, text=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the Python of the page has written its files, with what it printed."""
    folder = tmp_path_factory.mktemp("page")
    answer = run(["-c", SCRIPT], folder)
    assert answer.returncode == DONE, answer.stderr
    (folder / "printed").write_text(answer.stdout)
    return folder


def test_python_of_the_page_prints_what_it_says(folder):
    told = re.findall(r"^# (.*)\n", SCRIPT, re.MULTILINE)
    assert told
    assert set(told) <= set((folder / "printed").read_text().splitlines())


def test_commands_of_the_page_run(folder):
    commands = [line for kind, text in BLOCKS if kind == "sh" for line in text.splitlines() if line]
    assert len(commands) > 3
    for command in commands:
        program, *arguments = shlex.split(command)
        assert program == "bestchannel"
        answer = bestchannel(*arguments, cwd=folder)
        assert answer.returncode in (DONE, UNDECIDED), answer.stderr
        assert answer.stdout
