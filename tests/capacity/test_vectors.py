"""Small channels are solved without a compiler, with the answers of the compiled kernels to the bit."""

import subprocess
import sys

import numpy as np
import pytest

from bestchannel import capacities, compiled
from bestchannel.capacity import capacity_kernels, vectors
from tests.capacity.hostile import GOAL_NATS, KINDS

SHAPES = [(1, 1, 1), (1, 2, 2), (53, 2, 2), (300, 4, 4), (7, 3, 8), (1, 9, 9), (40, 9, 17), (6, 32, 20)]


def solved(how, stack, rtol=1.0, normalize=False):
    """The five answers of a solver: low, high, inputs, outputs and status."""
    count, n, m = stack.shape
    answers = [np.zeros(count), np.zeros(count), np.zeros((count, n)), np.zeros((count, m)), np.zeros(count, np.uint8)]
    if how is vectors:
        vectors.solve(stack, GOAL_NATS, rtol, normalize, *answers)
    else:
        capacity_kernels.lanes().solve(stack, 0, count, 8, GOAL_NATS, rtol, normalize, *answers)
    return answers


def assert_same_bits(stack, **options):
    compiled_ones, in_numpy = (solved(how, stack, **options) for how in ("lanes", vectors))
    *answers, status = zip(compiled_ones, in_numpy, strict=True)
    assert np.array_equal(*status)
    solved_ones = status[0] == capacity_kernels.OK  # what the lanes do not solve is solved anew
    for one, other in answers:
        assert np.array_equal(one[solved_ones], other[solved_ones])


@pytest.mark.parametrize("rtol", [1.0, 1e-6])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_numpy_answers_as_the_kernel_does_to_the_bit(shape, rtol):
    count, n, m = shape
    assert_same_bits(np.random.default_rng(1).dirichlet(np.ones(m), size=(count, n)), rtol=rtol)


@pytest.mark.parametrize("kind", KINDS)
def test_hostile_channels_are_answered_alike_to_the_bit(kind):
    rng = np.random.default_rng(2)
    for n, m in [(2, 2), (2, 5), (4, 4), (8, 3), (5, 8)]:
        stack = np.ascontiguousarray(KINDS[kind](rng, 9, n, m))
        assert_same_bits(stack)
        assert_same_bits(stack, rtol=1e-6)


def test_refused_and_scaled_rows_are_told_alike():
    stack = np.array(
        [[[0.5, 0.5], [0.2, 0.8]], [[0.5, 0.6], [1.0, 0.0]], [[-0.5, 1.5], [1.0, 0.0]], [[0, 0], [1, 0.0]]]
    )
    assert_same_bits(stack)
    assert_same_bits(stack, normalize=True)


def test_answer_does_not_depend_on_the_channels_beside_it():
    stack = np.random.default_rng(4).dirichlet(np.ones(6), size=(500, 6))  # 1/6 six times does not add up to 1
    whole = capacities(stack, workers=1)
    parts = [capacities(stack[first : first + 7], workers=1) for first in range(0, 500, 7)]
    assert np.array_equal(whole.input, np.concatenate([part.input for part in parts]))
    assert np.array_equal(whole.lower, np.concatenate([part.lower for part in parts]))


def test_hundreds_of_small_channels_are_solved_without_numba():
    script = (
        "import sys, numpy as np, bestchannel as bc; rng = np.random.default_rng(1);"
        "bc.capacities(rng.dirichlet(np.ones(4), size=(500, 4))); bc.capacity([[0.9, 0.1], [0.2, 0.8]]);"
        "print('numba' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert (run.stdout, run.stderr) == ("False\n", "")


@pytest.mark.parametrize(("on_disk", "patience"), [(True, compiled.READING_S), (False, 4.0)])
def test_kernels_are_worth_loading_once_python_has_spent_its_patience(on_disk, patience, monkeypatch):
    monkeypatch.setattr(compiled, "_seconds_in_python", {})
    monkeypatch.setattr(compiled, "_kept", lambda _: on_disk)
    kernels = object.__new__(compiled.Kernels)
    object.__setattr__(kernels, "module", "no.such.kernels")
    object.__setattr__(kernels, "seconds", 8)
    assert not kernels.worth_loading(0.6 * patience)
    assert kernels.worth_loading(0.6 * patience)
