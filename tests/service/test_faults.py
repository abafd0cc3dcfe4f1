"""A few of the kills of `python -m tests.service.faults`, in a process of its own, which forks."""

import json
import subprocess
import sys


def test_what_was_acknowledged_survives_kills_and_the_verdict_is_the_same():
    run = subprocess.run([sys.executable, "-m", "tests.service.faults", "6", "5"], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found["killed"] == 6
    assert found["runs compared"] >= 1
    assert found["acknowledged pieces found"] > 100
