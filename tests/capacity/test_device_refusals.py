"""What is said of stacks that lie where none can be solved; no device is needed to say it."""

import sys

import numpy as np
import pytest

from bestchannel import capacities
from bestchannel.errors import InputError, MissingExtraError

W = np.random.default_rng(3).dirichlet(np.ones(4), size=(40, 3))


class Elsewhere:
    """An array that says where it lies, and nothing more."""

    def __init__(self, kind, number=0):
        self.place = (kind, number)

    def __dlpack_device__(self):
        return self.place


def test_a_device_that_is_no_cuda_device_is_refused():
    with pytest.raises(InputError, match="must lie on the host or on a CUDA device, which have float64; it lies on 8"):
        capacities(Elsewhere(8))


@pytest.mark.parametrize(
    ("stack", "places"),
    [
        ([Elsewhere(2, 0), Elsewhere(2, 1)], "cuda:0 and cuda:1"),
        ([W[0], Elsewhere(2, 0)], "cuda:0 and the host"),
        ((Elsewhere(2, 3), W[0].tolist()), "cuda:3 and the host"),
    ],
)
def test_channels_on_different_devices_are_refused(stack, places):
    with pytest.raises(InputError, match=f"must lie on one device; they lie on {places}: move them to one"):
        capacities(stack)


def test_a_stack_on_a_device_without_cupy_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(
        MissingExtraError, match=r'solving a stack on a CUDA device .* pip install "bestchannel\[gpu\]"'
    ):
        capacities(Elsewhere(2))


def test_a_stack_on_the_host_does_without_cupy(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    assert np.all(capacities(list(W)).converged)
    assert np.all(capacities(W.tolist()).converged)
