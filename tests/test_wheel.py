"""What someone has who installed the wheel: types, and the proofs that guarantees cite."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from bestchannel.native import library
from tests.compiler import QUICK

ROOT = Path(__file__).parents[1]

SCRIPT = """\
import bestchannel as bc

channel = bc.Channel([[0.9, 0.1], [0.1, 0.9]])
sensor = bc.Simulator({"cable": channel, "radio": [[0.8, 0.2], [0.2, 0.8]]}, rng=1)
result = bc.identify(sensor, bc.Adaptive(sensor.alphabets, delta=0.05))
reveal_type(channel.n_inputs)
reveal_type(bc.capacity(channel).value)
reveal_type(bc.capacities([channel.W]).lower)
reveal_type(bc.estimate({"cable": [[9, 1], [1, 9]]}).verdict.best)
reveal_type(bc.lower_bound({"cable": channel}, 0.05).senses_lower_bound)
reveal_type(result.guarantee)
"""
TYPES = [
    "int",
    "float",
    "numpy.ndarray[tuple[Any, ...], numpy.dtype[numpy.float64]]",
    "str | None",
    "float",
    "str",
]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with nothing but the wheel, installed."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    options = ["--no-deps", "--no-build-isolation", "--no-index"]
    # Constraints on builds, if the caller set some, are refused by pip where nothing is isolated.
    environment = {name: value for name, value in (os.environ | QUICK).items() if name != "PIP_BUILD_CONSTRAINT"}
    subprocess.run([*pip, "wheel", *options, "--wheel-dir", folder, ROOT], check=True, cwd=folder, env=environment)
    (wheel,) = folder.glob("bestchannel-*-py3-none-*.whl")  # for every Python, and for this platform
    assert not wheel.name.endswith("-any.whl")
    subprocess.run([*pip, "install", "--no-deps", "--no-index", "--target", folder / "site", wheel], check=True)
    venv.create(folder / "environment")
    return folder / "site"


def run(site, *arguments):
    """A Python whose bestchannel is the wheel's: a new environment does not see the source that this one installs."""
    return subprocess.run(
        [site.parent / "environment/bin/python", *map(str, arguments)],
        cwd=site.parent,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(site), sysconfig.get_path("purelib")])},
        capture_output=True,
        text=True,
    )


def test_a_script_of_a_user_is_typed(site):
    script = site.parent / "script.py"
    script.write_text(SCRIPT)
    found = run(site, "-m", "mypy", "--strict", "--cache-dir", site.parent / "cache", script).stdout
    assert re.findall(r'Revealed type is "(.*)"', found.replace("builtins.", "")) == TYPES, found
    assert "error" not in found


def test_the_check_of_types_sees_a_package_without_them(site):
    script, bare = site.parent / "script.py", site.parent / "bare"
    script.write_text(SCRIPT)
    shutil.copytree(site, bare)
    (bare / "bestchannel/py.typed").unlink()
    found = run(bare, "-m", "mypy", "--strict", "--cache-dir", site.parent / "cache", script).stdout
    assert 'Revealed type is "Any"' in found


def test_proofs_are_in_the_wheel(site):
    where = run(site, "-c", "import bestchannel; print(bestchannel.__file__)")
    assert Path(where.stdout.strip()).is_relative_to(site)
    found = run(site, "-m", "bestchannel", "explain", "adaptive", "--full")
    assert "Proof. Let a be a best channel" in found.stdout, found.stderr


def test_the_wheel_brings_its_kernels(site):
    script = "from bestchannel.native import library; import bestchannel as bc; print(library.stamp(), bc.capacity([[1, 0], [0, 1]]).upper)"
    answer = run(site, "-c", script)
    stamp, upper = answer.stdout.split()
    assert (stamp, float(upper)) == (library.stamp(), pytest.approx(1.0)), answer.stderr
    assert [path.parent for path in site.rglob("kernels.*")] == [site / "bestchannel/native"]


def test_the_wheel_holds_the_package_alone(site):
    files = {path.relative_to(site).parts[0] for path in site.iterdir() if path.suffix != ".dist-info"}
    assert files - {"bin"} == {"bestchannel"}
    assert (site / "bestchannel/py.typed").is_file()
    assert not [*site.rglob("test_*")]
