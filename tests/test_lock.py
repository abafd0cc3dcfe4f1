"""The versions that CI and the container install are those that `pyproject.toml` allows, all of them."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
LOCK = "deployment/constraints.txt"
ABOUT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PINS = [line for line in (ROOT / LOCK).read_text().splitlines() if not line.startswith("#")]
VERSIONS = {canonicalize_name(pin.split("==")[0]): pin.split("==")[1] for pin in PINS}

ELSEWHERE = {"gpu"}
"""Extras that neither CI nor the container installs."""

WANTED = [
    *ABOUT["project"]["dependencies"],
    *(want for extra, wants in ABOUT["project"]["optional-dependencies"].items() if extra not in ELSEWHERE for want in wants),
    *(want for want in ABOUT["dependency-groups"]["dev"] if not want.startswith("bestchannel")),
    *(want for want in ABOUT["build-system"]["requires"]),
]  # fmt: skip


@pytest.mark.parametrize("wanted", WANTED)
def test_lock_has_a_version_that_is_allowed(wanted):
    requirement = Requirement(wanted)
    assert requirement.specifier.contains(VERSIONS[canonicalize_name(requirement.name)])


def test_lock_names_versions_and_no_places():
    assert all(re.fullmatch(r"[a-z0-9._-]+==[A-Za-z0-9.+!]+", pin) for pin in PINS)
    assert len(VERSIONS) == len(PINS)


@pytest.mark.parametrize("user", [".ci/run", "deployment/Containerfile"])
def test_ci_and_the_container_install_what_is_locked(user):
    assert LOCK in (ROOT / user).read_text()
