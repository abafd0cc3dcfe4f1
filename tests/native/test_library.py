"""The library beside the package: built from the sources that are there, and careful with pointers."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bestchannel.native import library, pairs

ROOT = Path(__file__).parents[2]


@pytest.fixture
def builder():
    script = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    module = importlib.util.module_from_spec(script)
    script.loader.exec_module(module)
    return module


def test_the_library_was_built_from_the_sources_beside_it(builder):
    assert library.stamp() == builder.stamp(), "the C sources have changed: run `make .venv/developer` again"


def test_two_builders_at_one_time_write_to_files_of_their_own(builder, tmp_path, monkeypatch):
    # else one moves to its place what the other has begun to write again: half a library, or a fault in what runs it
    moved = []
    monkeypatch.setattr(builder, "run", lambda command: Path(command[-1]).write_bytes(b"a library"))
    monkeypatch.setattr(os, "replace", lambda new, place: moved.append((Path(new), place)))
    for _ in range(2):
        builder.build(tmp_path / "built" / "kernels.so", [])
    (first, _), (second, place) = moved
    assert first != second
    assert place == tmp_path / "built" / "kernels.so"
    assert tmp_path / "built" in first.parents  # on the same disk, so that a move is one step
    assert not list(place.parent.iterdir())  # and nothing else stays


@pytest.mark.parametrize(
    "array",
    [np.zeros(3, np.float32), np.zeros(4), np.zeros(6)[::2], np.zeros((3, 1)), np.zeros(3, ">f8")],
    ids=["float32", "4 numbers", "every second", "a matrix", "the other byte order"],
)
def test_an_array_that_is_not_what_the_kernel_reads_is_refused(array):
    with pytest.raises(TypeError, match="C-contiguous array of float64 of shape \\(3,\\)"):
        library.floats(array, 3)


def test_more_work_space_than_can_be_counted_is_refused():
    # 2^62 boxes of 20 numbers are 5 times 2^64 numbers: none, as whole numbers of 64 bits count them
    none, half = np.zeros(0), np.full(2, 0.5)
    terms = pairs.Terms(np.zeros(5, np.int64), none, none, none, none, half, half, half, 1.0)
    place = half.copy(), np.full((2, 2), np.log(0.5)), np.log(half)
    with pytest.raises(ValueError, match="the kernel does not take these sizes"):
        pairs.bounded(terms, place, np.array([[[0.0, 0.0], [1.0, 1.0]]]), 0.0, 2**62)


def test_an_unknown_variant_is_refused_in_one_sentence():
    answer = subprocess.run(
        [sys.executable, "-c", "import bestchannel.native.library"],
        env={"BESTCHANNEL_VECTORS": "mmx", "PATH": ""},
        capture_output=True,
        text=True,
    )
    assert "BESTCHANNEL_VECTORS must be one of baseline, avx2, avx512; it is 'mmx'" in answer.stderr
