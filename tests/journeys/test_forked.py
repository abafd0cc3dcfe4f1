"""To a shell, the program that forks is the installed one."""

import os
import subprocess
import sys
from pathlib import Path

COMMANDS = """
bestchannel reproduce fig2 | tr a-z A-Z
bestchannel capacity none.json 2> refused; echo "$?"; cat refused
cd deeper && COLUMNS=50 bestchannel run --help && bestchannel report links.json
PYTHONIOENCODING=ascii bestchannel reproduce fig2; echo "$?"
"""


def shown(program, folder):
    path = f"{program}{os.pathsep}{os.environ['PATH']}"
    run = ["sh", "-c", COMMANDS]
    return subprocess.run(run, cwd=folder, env=os.environ | {"PATH": path}, capture_output=True, text=True, check=True)


def test_shell_sees_what_the_installed_program_does(quick_program, tmp_path):
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper" / "links.json").write_text("{}")
    forked, installed = (shown(program, tmp_path) for program in (quick_program, Path(sys.executable).parent))
    assert "84,088,565,760" in forked.stdout
    assert (forked.stdout, forked.stderr) == (installed.stdout, installed.stderr)
