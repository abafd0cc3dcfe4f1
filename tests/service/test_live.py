"""`make live` comes to a verdict with a report, and keeps its page until Ctrl-C."""

import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

ROOT = Path(__file__).parents[2]


def heed_ctrl_c():
    """Where these tests run in the background of a shell, what they start would ignore it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_the_demonstration_names_the_best_channel_and_keeps_its_page_until_ctrl_c(tmp_path):
    command = [sys.executable, ROOT / "examples" / "live" / "live.py", tmp_path / "live", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=heed_ctrl_c) as live:
        lines = []
        for line in live.stdout:
            lines.append(line)
            if "until Ctrl-C" in line:
                break
        said = "".join(lines)
        assert "watch it here: http://127.0.0.1:" in said
        assert "readout: decided, best: q20" in said
        assert (tmp_path / "live" / "readout.html").stat().st_size > 10_000
        page = next(word for word in lines[-1].split() if word.startswith("http"))
        with urllib.request.urlopen(f"{page.partition('/runs')[0]}/healthz") as answer:
            assert answer.status == 200
        live.send_signal(signal.SIGINT)
        assert live.wait() == 0
    assert "examples/live/live.py build/live" in (ROOT / "Makefile").read_text()
