"""Run the command line as a user does: another process, its output, its exit code."""

import json
import subprocess
import sys


def bestchannel(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "bestchannel", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        **options,
    )


def result_of(*arguments):
    """The JSON result, which must be all that stands on stdout."""
    run = bestchannel(*arguments, "--json")
    return run.returncode, json.loads(run.stdout)
