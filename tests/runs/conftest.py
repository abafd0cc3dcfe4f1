import pytest

from bestchannel import runs
from bestchannel.policies import catalogue
from tests.runs.steady import PARTIES, Steady, register


@pytest.fixture(scope="module", autouse=True)
def steady_is_known():
    """The tests of runs may name the policy; those of other folders must not meet it."""
    with pytest.MonkeyPatch.context() as patch:
        for names in (catalogue.POLICIES, catalogue.OPTIONS):
            patch.setitem(names, Steady.name, None)  # so that it is removed in the end
        register()
        yield


@pytest.fixture
def lab(tmp_path):
    """A run of two channels that nobody has answered yet."""
    path = tmp_path / "lab.db"
    with runs.begin(path, Steady([(2, 2)] * 2, delta=0.1), PARTIES):
        pass
    return path
