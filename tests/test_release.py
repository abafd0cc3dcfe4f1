"""Records name the version of the library: it is the one that the package says of itself."""

import tomllib
from pathlib import Path

from bestchannel import __version__
from bestchannel.process import VERSION


def test_the_version_is_the_one_that_is_packaged():
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == VERSION == __version__
