"""Importing the package is quick and quiet: heavy and optional libraries wait for their first use."""

import subprocess
import sys

import pytest

HEAVY = [
    "fastapi", "matplotlib", "pandas", "plotly", "polars", "pyarrow", "rich", "scipy", "typer",
    "uvicorn",
]  # fmt: skip


def modules_after(statement):
    """The names of all modules loaded in a fresh interpreter that ran the statement."""
    script = f"{statement}\nimport sys\nprint(*sorted(sys.modules))"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stderr == ""
    return set(run.stdout.split())


@pytest.fixture(scope="module")
def loaded():
    return modules_after("import bestchannel")


@pytest.mark.parametrize("library", HEAVY)
def test_importing_the_package_does_not_import(loaded, library):
    assert library not in loaded


def test_importing_the_package_loads_its_own_modules(loaded):
    # so that the test above looks at something
    assert {"bestchannel", "bestchannel.capacity.solve", "numpy"} <= loaded


def test_importing_installs_no_log_handler_and_prints_nothing():
    script = "import logging, bestchannel; print(logging.getLogger('bestchannel').handlers, logging.root.handlers)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert (run.stdout, run.stderr) == ("[] []\n", "")
