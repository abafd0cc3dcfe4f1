"""Dask arrays and arrays of xarray: lazy, chunk by chunk, with the answers of one call to the bit."""

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import xarray as xr

from bestchannel import Capacities, InputError, capacities
from bestchannel.capacity import chunked

FIELDS = ["lower", "upper", "converged", "input", "output"]


def random_stack(*shape):
    return np.random.default_rng(1).dirichlet(np.ones(shape[-1]), size=shape[:-1])


def assert_same_bits(one, other):
    for field in FIELDS:
        here, there = np.asarray(getattr(one, field)), np.asarray(getattr(other, field))
        assert here.dtype == there.dtype
        assert np.array_equal(here, there), field


CHUNKS = {
    "along one axis": ((100, 4, 3), (17, 4, 3)),
    "along two axes": ((10, 12, 3, 3), (4, 5, 3, 3)),
    "within the matrices": ((20, 4, 6), (7, 2, 3)),
    "one matrix": ((4, 5), (4, 5)),
    "wide, a few in each chunk": ((9, 25, 25), (2, 25, 25)),
}


@pytest.mark.parametrize(("shape", "chunks"), CHUNKS.values(), ids=CHUNKS.keys())
def test_chunks_are_answered_as_the_whole_to_the_bit(shape, chunks):
    stack = random_stack(*shape)
    lazy = capacities(da.from_array(stack, chunks=chunks))
    assert all(isinstance(getattr(lazy, field), da.Array) for field in FIELDS)
    (answer,) = dask.compute(lazy, scheduler="synchronous")
    assert isinstance(answer, Capacities)
    assert_same_bits(answer, capacities(stack, workers=1))
    assert_same_bits(lazy.on_host(), answer)


def test_chunks_of_unknown_length_are_solved():
    stack = da.from_array(random_stack(30, 2, 2), chunks=(10, 2, 2))
    kept = stack[stack[:, 0, 0] > 0.5]
    assert np.isnan(kept.shape[0])
    assert_same_bits(capacities(kept).on_host(), capacities(np.asarray(kept)))


def test_chunks_without_channels_are_passed_over():
    stack = random_stack(30, 2, 3)
    kept = da.from_array(stack, chunks=(10, 2, 3))[da.from_array(np.arange(30) >= 14, chunks=10)]
    assert_same_bits(capacities(kept).on_host(), capacities(stack[14:]))


def counting(monkeypatch):
    """How often chunks are solved, and of how many channels."""
    solved = []

    def solve(stack, *args, **options):
        solved.append(len(stack))
        return solve_stack(stack, *args, **options)

    solve_stack = chunked.solve_stack
    monkeypatch.setattr(chunked, "solve_stack", solve)
    return solved


def test_nothing_is_solved_before_it_is_computed_and_then_once_for_all_fields(monkeypatch):
    solved = counting(monkeypatch)
    lazy = capacities(da.from_array(random_stack(100, 2, 2), chunks=(40, 2, 2)))
    assert "not computed yet" in str(lazy)
    assert repr(lazy)
    assert solved == []
    lazy.on_host()
    assert sorted(solved) == [20, 40, 40]
    solved.clear()
    assert float(lazy.lower[5]) >= 0.0  # one channel takes its chunk alone
    assert solved == [40]


def test_refused_channel_is_named_by_its_place_in_the_whole():
    stack = random_stack(10, 6, 2, 2)
    stack[7, 4, 1] = [0.5, 0.6]
    lazy = capacities(da.from_array(stack, chunks=(4, 3, 2, 2)))
    with pytest.raises(InputError, match="row x=1 of channel 7, 4 must sum to 1"):
        dask.compute(lazy)
    dask.compute(capacities(da.from_array(stack, chunks=(4, 3, 2, 2)), normalize=True))


def test_refused_channel_is_named_within_its_chunk_where_those_before_are_of_unknown_length():
    stack = random_stack(30, 2, 2)
    stack[17, 1, 0] = np.nan
    kept = da.from_array(stack, chunks=(10, 2, 2))[da.from_array(np.arange(30) >= 12, chunks=10)]
    with pytest.raises(InputError, match="row x=1, column y=0 of channel 5 of chunk 1 must be a finite number"):
        capacities(kept).on_host()


def blocks(change):
    """A Dask array whose chunks are not what it says."""
    stack = da.from_array(random_stack(8, 3, 3), chunks=(4, 3, 3))
    return da.map_blocks(change, stack, dtype=float, meta=np.empty((0, 0, 0)))


OTHERWISE = {
    "masked": (
        lambda: da.ma.masked_array(da.ones((4, 1, 1), chunks=2), mask=da.ones((4, 1, 1), chunks=2) > 0),
        r"chunk \d of the stack must have no masked cells",
    ),
    "complex": (
        lambda: blocks(lambda block: block.astype(complex)),
        r"chunk \d of the stack must hold real numbers; it has dtype complex128",
    ),
    "smaller": (
        lambda: blocks(lambda block: block[:, :, :2] / block[:, :, :2].sum(axis=-1, keepdims=True)),
        r"chunk \d of the stack must have channels of shape \(3, 3\), as the Dask array says; its shape is \(4, 3, 2\)",
    ),
}


@pytest.mark.parametrize(("make", "message"), OTHERWISE.values(), ids=OTHERWISE.keys())
def test_chunk_that_is_not_what_the_array_says_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        capacities(make()).on_host()


REFUSED = {
    "data frame": (
        lambda: capacities(dd.from_pandas(pd.DataFrame([[1.0]]), npartitions=1)),
        "a Dask collection of channels must be an array; it is a DataFrame",
    ),
    "progress": (lambda: capacities(da.ones((2, 1, 1)), progress=print), "progress must be left out for a Dask array"),
    "one axis": (lambda: capacities(da.ones(4)), r"must have shape \(..., n_inputs, n_outputs\)"),
    "words": (lambda: capacities(da.from_array(np.array([["a"]]))), "the stack must hold real numbers"),
    "dataset": (lambda: capacities(xr.Dataset({"a": 1})), "must be a DataArray; it is a Dataset: take one of its"),
    "alphabet": (
        lambda: capacities(da.ones((4, 4))[da.ones(4) > 0]),
        "the alphabets of a Dask array of channels must be known",
    ),
}


@pytest.mark.parametrize(("call", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_refusals(call, message):
    with pytest.raises(InputError, match=message):
        call()


@pytest.mark.parametrize("chunks", [None, {"day": 2}])
def test_xarray_keeps_its_names_and_coordinates(chunks):
    stack = random_stack(5, 3, 2, 4)
    named = xr.DataArray(
        stack,
        dims=["day", "link", "sent", "received"],
        coords={"day": range(5), "link": list("abc"), "sent": [0, 1], "received": list("wxyz")},
    )
    answer = capacities(named if chunks is None else named.chunk(chunks))
    assert answer.lower.dims == ("day", "link")
    assert answer.input.dims == ("day", "link", "sent")
    assert list(answer.output.received.values) == list("wxyz")
    assert "sent" not in answer.lower.coords
    if chunks:
        assert answer.upper.chunks == ((2, 2, 1), (3,))
    assert_same_bits(answer.on_host(), capacities(stack))
    assert float(answer.lower.sel(day=4, link="b")) == capacities(stack).lower[4, 1]
