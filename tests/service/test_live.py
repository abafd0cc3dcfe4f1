"""`make live` ends by itself, with a verdict and a report."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_demonstration_names_the_best_channel_and_ends(tmp_path):
    command = [sys.executable, ROOT / "examples" / "live" / "live.py", tmp_path / "live", "0"]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "watch it here: http://127.0.0.1:" in run.stdout
    assert "readout: decided, best: q20" in run.stdout
    assert (tmp_path / "live" / "readout.html").stat().st_size > 10_000
    assert "examples/live/live.py build/live" in (ROOT / "Makefile").read_text()
