"""`bestchannel warm-up`, from outside."""

import json
import os
import subprocess
import sys

import pytest
import typer

from bestchannel import compiled
from bestchannel.cli import warm_up_command


def warm_up(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "bestchannel", "warm-up", *arguments],
        env={**os.environ, **environment}, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_warm_up_leaves_nothing_to_compile():
    first = warm_up("--json")
    assert first.returncode == 0
    assert {each["name"] for each in json.loads(first.stdout)["kernels"]} == set(compiled.REGISTRY)
    script = "from bestchannel import cli, compiled; [kernels.load() for kernels in compiled.REGISTRY.values()]"
    again = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert again.stderr == ""  # compiling would be announced


def test_kernels_that_cannot_be_kept_are_an_error(monkeypatch, capsys):
    unkept = warm_up_command.Loaded("bestchannel.capacity.lanes", 1.0, kept=False)
    monkeypatch.setattr(warm_up_command, "_loaded_on_all_cores", lambda: iter([unkept]))
    with pytest.raises(typer.Exit) as ended:
        warm_up_command.warm_up()
    assert ended.value.exit_code == 1
    assert "set NUMBA_CACHE_DIR to one that can" in capsys.readouterr().err
