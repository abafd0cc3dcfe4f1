"""Importing the package is quick and quiet: heavy and optional libraries wait for their first use."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "src" / "bestchannel"

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
    return modules_after("import bestchannel\nfor name in dir(bestchannel): getattr(bestchannel, name)")


@pytest.mark.parametrize("library", HEAVY)
def test_importing_the_package_and_all_its_names_does_not_import(loaded, library):
    assert library not in loaded


def test_names_of_the_package_load_the_modules_that_they_are_in(loaded):
    # so that the test above looks at something
    assert {"bestchannel", "bestchannel.capacity.solve", "bestchannel.runs.store", "numpy"} <= loaded


def test_importing_the_package_alone_loads_no_room_but_the_cards_of_notebooks():
    names = [name.split(".") for name in modules_after("import bestchannel") if name.startswith("bestchannel.")]
    assert {room for _, room, *_ in names if (ROOT / room).is_dir()} == {"report"}


@pytest.mark.parametrize("name", ["capacity", "lower_bound"])
@pytest.mark.parametrize("first", ["", "import bestchannel.{name}", "import bestchannel.cli.known_channels; bc.plan"])
def test_a_function_that_is_called_as_its_room_is_not_hidden_by_it(name, first):
    script = f"import bestchannel as bc\n{first.format(name=name)}\nfrom bestchannel import {name}\nprint(callable({name}), callable(bc.{name}))"
    assert subprocess.check_output([sys.executable, "-c", script], text=True) == "True True\n"


def test_importing_installs_no_log_handler_and_prints_nothing():
    script = "import logging, bestchannel; print(logging.getLogger('bestchannel').handlers, logging.root.handlers)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert (run.stdout, run.stderr) == ("[] []\n", "")
