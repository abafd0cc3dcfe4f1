"""The README is true: its Python runs, and so does every `bestchannel` command in it."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
COMMANDS = [
    line for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL) for line in block.splitlines() if line.strip()
]
BESTCHANNEL = [line.partition("#")[0].strip() for line in COMMANDS if line.startswith("bestchannel ")]


def test_python_of_the_readme_runs():
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert blocks
    for block in blocks:
        run = subprocess.run([sys.executable, "-c", block], cwd=ROOT, capture_output=True, text=True, timeout=120)
        assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("command", BESTCHANNEL)
def test_command_of_the_readme_runs(command, tmp_path):
    arguments = [word.replace("figures", str(tmp_path)) for word in shlex.split(command)[1:]]
    run = subprocess.run(
        [sys.executable, "-m", "bestchannel", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 0, run.stderr


def test_readme_names_the_two_commands_of_a_new_machine():
    assert [line for line in COMMANDS if line.startswith("make ")][:2] == ["make demo", "make test"]


@pytest.mark.parametrize("target", re.findall(r"\]\(([^)#:]+)\)|src=\"([^\":]+)\"", README))
def test_link_of_the_readme_leads_to_a_file(target):
    assert (ROOT / (target[0] or target[1])).exists()
