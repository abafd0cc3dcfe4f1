"""The documentation site, built once for all tests and all their processes."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NEEDED = ("sphinx", "myst_parser", "furo", "ziamath")


def built(tmp_path_factory):
    """The folder of the site; the process that comes first builds it, the others wait for that."""
    for package in NEEDED:
        pytest.importorskip(package, reason=f"the site is not built: there is no {package} (make .venv/developer)")
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "site"
    with open(folder.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (done := folder.with_suffix(".done")).exists():
            run = build(folder)
            assert run.returncode == 0, run.stderr
            done.touch()
    return folder


def build(folder, source=ROOT / "docs"):
    """What `make docs` does, into another folder."""
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet"]
    state = folder.with_suffix(".doctrees")
    return subprocess.run([*command, "-d", str(state), str(source), str(folder)], capture_output=True, text=True)
