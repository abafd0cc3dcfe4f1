"""The journey of a first-time user: a clone, `make demo`, a verdict, a report.

The clone has the files that git knows or would add. Its environment stands already, for a test has no network: a
`bestchannel` that runs the source of the clone. The library of kernels comes along, which installing would build.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def listed():
    """What a clone would have, if all were committed."""
    git = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    try:
        run = subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no git, or no repository: there is nothing to clone")
    return [Path(line) for line in run.stdout.splitlines() if (ROOT / line).is_file()]


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    folder = tmp_path_factory.mktemp("first-time") / "bestchannel"
    kernels = [path.relative_to(ROOT) for path in (ROOT / "src/bestchannel/native").glob("kernels.*")]
    for path in listed() + kernels:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / path, folder / path)
    install(folder)
    return folder


def install(folder):
    """An environment as `make` would have made it, from what is here."""
    programs = folder / ".venv/bin"
    programs.mkdir(parents=True)
    for name, command in (("python", ""), ("bestchannel", "-m bestchannel")):
        (programs / name).write_text(f'#!/bin/sh\nPYTHONPATH={folder}/src exec {sys.executable} {command} "$@"\n')
        (programs / name).chmod(0o755)
    (folder / ".venv/installed").touch()


@pytest.fixture(scope="module")
def demo(clone):
    return subprocess.run(["make", "demo"], cwd=clone, capture_output=True, text=True)


def test_source_of_the_clone_is_what_runs(clone):
    where = [clone / ".venv/bin/python", "-c", "import bestchannel; print(bestchannel.__file__)"]
    run = subprocess.run(where, cwd=clone, capture_output=True, text=True)
    assert Path(run.stdout.strip()).is_relative_to(clone)


def test_demo_names_the_best_qubit_with_its_guarantee(demo):
    assert demo.returncode == 0, demo.stderr
    assert "best: q20" in demo.stdout
    assert "The named channel is the best with probability at least 0.99." in demo.stdout


def test_demo_shows_a_near_tie_as_undecided(demo):
    candidates = re.search(r"undecided between (.*)", demo.stdout)[1]
    assert {"q30", "q51"} <= set(candidates.split(", "))


def test_demo_writes_a_report_that_needs_no_network(clone, demo):
    report = (clone / "build/report.html").read_text(encoding="utf-8")
    assert "q20 has the largest capacity." in report
    assert not re.search(r"(?:src|href)=\"?https?:|<script[^>]*\bsrc", report)
    assert len(report) < 2_000_000


def test_what_the_demo_left_is_ignored_by_git(clone, demo):
    ignored = (clone / ".gitignore").read_text().split()
    assert {path.name + "/" for path in clone.iterdir() if path.is_dir()} - {
        f"{path.parts[0]}/" for path in listed() if len(path.parts) > 1
    } <= set(ignored)
