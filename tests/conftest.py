"""Settings for every test.

The repository is put on the path, so that tests can share modules (`tests.capacity.hostile`)
under pytest's import mode "importlib", which adds no path of its own.
"""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).parents[1]

sys.path.insert(0, str(ROOT))

# No deadline: a busy machine is not a fault. The same examples on every run: a failure is
# never a matter of luck. `pytest --hypothesis-profile=search` looks elsewhere each time.
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None, max_examples=2000)
settings.load_profile("repeatable")


def pytest_xdist_auto_num_workers():
    """One worker more than cores, as some tests wait for a server, a browser or another process."""
    return (os.cpu_count() or 1) + 1


@pytest.fixture(scope="session")
def quick_program():
    """A folder for the path of a shell, with a `bestchannel` that does not import everything at each call."""
    from tests.journeys.forked import program

    with program() as folder:
        yield folder
