"""The page on laboratories is true: its Python runs, and so does every command, in their order."""

import os
import re
import subprocess
import sys
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs/how-to/laboratory.md").read_text()
BLOCKS = re.findall(r"(<!-- exits with (\d) .*-->\n)?```(python|sh)\n(.*?)```", PAGE, re.DOTALL)


def test_page_runs_from_top_to_bottom(tmp_path, quick_program):
    environment = os.environ | {"PATH": f"{quick_program}{os.pathsep}{os.environ['PATH']}"}
    assert {language for _, _, language, _ in BLOCKS} == {"python", "sh"}
    program = ""
    for _, code, language, block in BLOCKS:
        program += block if language == "python" else f"_run({block!r}, {int(code or 0)})\n"
    preface = "import subprocess\ndef _run(commands, code):\n    assert subprocess.run(['sh', '-ec', commands]).returncode == code\n"
    run = subprocess.run(
        [sys.executable, "-c", preface + program],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    assert "good" in run.stdout
