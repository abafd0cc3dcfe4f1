"""The pages about the service are true: all their commands run, in one shell, and they show every call that there is."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bestchannel.service.application import ENDPOINTS
from tests.service.faults import free_port

ROOT = Path(__file__).parents[2]
PAGES = {
    name: (ROOT / "docs/how-to" / f"{name}.md").read_text() for name in ("sense-over-a-network", "deploy-the-service")
}
BLOCK = re.compile(r"```(python|sh)\n(.*?)```", re.DOTALL)


def script(page, folder):
    """The commands of a page as one script; its Python is saved as it says."""
    commands = []
    for language, text in BLOCK.findall(page.replace("8484", str(free_port()))):
        if language == "sh":
            commands.append(text)
        else:
            (folder / re.search(r"# saved as (\w+\.py)", text)[1]).write_text(text)
    return "\n".join(["set -eu", *commands])


@pytest.mark.parametrize("name", PAGES)
def test_every_command_of_the_page_runs(name, tmp_path):
    (tmp_path / "deployment").symlink_to(ROOT / "deployment")
    program = tmp_path / "bin" / "bestchannel"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m bestchannel "$@"\n')
    program.chmod(0o755)
    path = os.pathsep.join([str(program.parent), str(Path(sys.executable).parent), os.environ["PATH"]])
    (tmp_path / "page.sh").write_text(script(PAGES[name], tmp_path))
    run = subprocess.run(
        ["sh", "page.sh"], cwd=tmp_path, env=os.environ | {"PATH": path}, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr
    if name == "sense-over-a-network":
        check_what_the_page_says(run.stdout, tmp_path)


def check_what_the_page_says(printed, folder):
    assert "lab: decided, best: cable" in printed
    assert "}decided\n" in printed
    assert '"outcome":"kept"' in printed
    assert '"outcome":"repeated"' in printed
    assert '"state":"limited"' in printed
    assert "event: status" in printed
    assert json.loads((folder / "openapi.json").read_text())["info"]["title"] == "bestchannel"
    assert json.loads((folder / "result.json").read_text())["best"] == "cable"


def test_the_page_has_an_example_of_every_call():
    shown = PAGES["sense-over-a-network"].replace("$LEASE", "third").replace("$ID", "third")
    for endpoint in ENDPOINTS:
        pattern = (
            re.escape(endpoint.path)
            .replace(r"\{run\}", "(?:lab|third)")
            .replace(r"\{lease\}", "third")
            .replace(r"\{id\}", "third")
            .replace(r"\{file\}", r"live\.css")
        )
        lines = re.findall(rf"(?m)^(?:api|curl)\b[^\n]*\$URL{pattern}(?![\w/]).*$", shown)
        assert any(method(line) == endpoint.method for line in lines), (endpoint.method, endpoint.path)


def method(line):
    named = re.search(r"--request (\w+)", line)
    return named[1] if named else "POST" if "--data" in line else "GET"
