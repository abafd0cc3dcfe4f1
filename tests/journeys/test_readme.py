"""The README is true: its Python runs, and so does every `bestchannel` command in it, in their order."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
COMMANDS = [
    line for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL) for line in block.splitlines() if line.strip()
]
BESTCHANNEL = [line for line in COMMANDS if line.startswith("bestchannel ")]
PATH = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])


@pytest.fixture
def folder(tmp_path):
    """Where the data of the project are, and what is written does no harm."""
    (tmp_path / "data").symlink_to(ROOT / "data")
    return tmp_path


def test_python_of_the_readme_runs_and_is_short(folder):
    (block,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(block.splitlines()) <= 25
    run = subprocess.run([sys.executable, "-c", block], cwd=folder, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    assert run.stdout.count("\ncable ") == 2


def test_commands_of_the_readme_run_with_the_exit_codes_that_it_gives(folder):
    for command in BESTCHANNEL:
        wanted = int(re.search(r"# exit code (\d)|$", command)[1] or 0)
        run = subprocess.run(
            ["sh", "-c", command],
            cwd=folder,
            env=os.environ | {"PATH": PATH},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert run.returncode == wanted, (command, run.stderr)
    assert (folder / "report.html").stat().st_size > 10_000


def test_readme_has_every_verb():
    helped = subprocess.run([sys.executable, "-m", "bestchannel", "--help"], capture_output=True, text=True, timeout=60)
    verbs = set(re.findall(r"^│ ([a-z]+) ", helped.stdout, re.MULTILINE))
    assert verbs >= {"capacity", "estimate", "identify", "report"}
    assert verbs <= set(re.findall(r"bestchannel ([a-z]+)", README))


def test_readme_names_the_two_commands_of_a_new_machine():
    assert [line for line in COMMANDS if line.startswith("make ")][:2] == ["make demo", "make test"]
