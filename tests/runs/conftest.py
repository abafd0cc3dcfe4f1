import pytest

from bestchannel import runs
from tests.runs.steady import PARTIES, Steady


@pytest.fixture
def lab(tmp_path):
    """A run of two channels that nobody has answered yet."""
    path = tmp_path / "lab.db"
    with runs.begin(path, Steady([(2, 2)] * 2, delta=0.1), PARTIES):
        pass
    return path
