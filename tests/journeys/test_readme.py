"""The README is true: its Python runs, and so does every `bestchannel` command in it, in their order."""

import os
import re
import site
import subprocess
import sys
from pathlib import Path

import pytest

from tests.compiler import QUICK

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
COMMANDS = [
    line for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL) for line in block.splitlines() if line.strip()
]
BESTCHANNEL = [line for line in COMMANDS if line.startswith("bestchannel ")]
INSTALL = [line for line in COMMANDS if not line.startswith(("bestchannel ", "make "))]
PATH = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
OFFLINE = {"PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0", "PIP_QUIET": "2"}
"""What lets pip do without a network: 0 means no isolation. What bestchannel depends on is there already."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A copy of what the README speaks of, in which whatever is written does no harm."""
    folder = tmp_path_factory.mktemp("readme")
    for name in ("src", "docs", "data", "README.md", "LICENSE", "pyproject.toml", "hatch_build.py"):
        (folder / name).symlink_to(ROOT / name)
    return folder


def test_python_of_the_readme_runs_and_is_short(folder):
    (block,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(block.splitlines()) <= 20
    run = subprocess.run([sys.executable, "-c", block], cwd=folder, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout.count("\ncable ") == 2


def test_after_the_installation_the_command_is_on_the_path(folder):
    assert INSTALL[-1] == "pip install ."
    pasted = "\n".join([*INSTALL, "command -v bestchannel", "bestchannel explain"])
    there = os.environ | OFFLINE | QUICK | {"PYTHONPATH": site.getsitepackages()[0]}
    there.pop("PIP_BUILD_CONSTRAINT", None)  # which pip refuses where nothing is isolated
    run = subprocess.run(["sh", "-ec", pasted], cwd=folder, env=there, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith(f"{folder}/.venv/bin/bestchannel\nadaptive ")
    assert [*(folder / ".venv/lib").glob("python*/site-packages/bestchannel/pages/theory/adaptive.md")]


def test_commands_of_the_readme_run_with_the_exit_codes_that_it_gives(folder, quick_program):
    installed = {"PATH": PATH}  # for the first two; the others run in forks of one process that has imported it
    for i, command in enumerate(BESTCHANNEL):
        expected = int(re.search(r"# exit code (\d)|$", command)[1] or 0)
        path = installed if i < 2 else {"PATH": os.pathsep.join([str(quick_program), PATH])}
        run = subprocess.run(["sh", "-c", command], cwd=folder, env=os.environ | path, capture_output=True, text=True)
        assert run.returncode == expected, (command, run.stderr)
    assert (folder / "report.html").stat().st_size > 10_000


def test_readme_has_every_verb():
    helped = subprocess.run([sys.executable, "-m", "bestchannel", "--help"], capture_output=True, text=True)
    verbs = set(re.findall(r"^│ ([a-z]+) ", helped.stdout, re.MULTILINE))
    assert verbs >= {"capacity", "estimate", "identify", "report"}
    assert verbs <= set(re.findall(r"bestchannel ([a-z]+)", README))


def test_readme_names_the_two_commands_of_a_new_machine():
    assert [line for line in COMMANDS if line.startswith("make ")][:2] == ["make demo", "make test"]
