"""The library beside the package: built from the sources that are there, and careful with pointers."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bestchannel.native import library

ROOT = Path(__file__).parents[2]


def test_the_library_was_built_from_the_sources_beside_it():
    script = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    module = importlib.util.module_from_spec(script)
    script.loader.exec_module(module)
    assert library.stamp() == module.stamp(), "the C sources have changed: run `make .venv/developer` again"


@pytest.mark.parametrize(
    "array",
    [np.zeros(3, np.float32), np.zeros(4), np.zeros(6)[::2], np.zeros((3, 1)), np.zeros(3, ">f8")],
    ids=["float32", "4 numbers", "every second", "a matrix", "the other byte order"],
)
def test_an_array_that_is_not_what_the_kernel_reads_is_refused(array):
    with pytest.raises(TypeError, match="C-contiguous array of float64 of shape \\(3,\\)"):
        library.floats(array, 3)


def test_an_unknown_variant_is_refused_in_one_sentence():
    answer = subprocess.run(
        [sys.executable, "-c", "import bestchannel.native.library"],
        env={"BESTCHANNEL_VECTORS": "mmx", "PATH": ""},
        capture_output=True,
        text=True,
    )
    assert "BESTCHANNEL_VECTORS must be one of baseline, avx2, avx512; it is 'mmx'" in answer.stderr
