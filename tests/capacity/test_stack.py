"""Stacks of channels: shapes, layouts, refusals, progress, interruption and memory."""

import subprocess
import sys

import numpy as np
import pytest

import bestchannel as bc
from bestchannel import InputError
from bestchannel.capacity import stack as stack_module
from bestchannel.capacity.stack import Tolerance

FIELDS = ("lower", "upper", "converged", "input", "output")


def random_stack(*shape, seed=1):
    return np.random.default_rng(seed).dirichlet(np.ones(shape[-1]), size=shape[:-1])


def same(a, b):
    return all(np.array_equal(getattr(a, field), getattr(b, field)) for field in FIELDS)


def test_a_read_only_stack_is_solved_and_left_as_it_was():
    W = random_stack(30, 3, 4)
    before = W.copy()
    W.setflags(write=False)
    assert same(bc.capacities(W), bc.capacities(before))
    assert np.array_equal(W, before)


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (2, 2), (3, 7), (17, 4), (18, 4), (2, 129)], ids=str)
@pytest.mark.parametrize("tol", [1e-9, 1e-3, 1e-14])
def test_one_channel_is_answered_as_in_a_stack_to_the_bit(shape, tol):
    stack = random_stack(5, *shape)
    for W, beside in zip(stack, bc.capacities(np.repeat(stack, 3, axis=0), tol=tol).lower[::3], strict=True):
        alone = stack_module.solve_stack(W[None], Tolerance(tol), name=str).at(0)
        answer = bc.capacity(W, tol=tol)
        assert answer == alone
        assert shape[0] == 18 or answer.lower == beside  # which one alone has a solver of its own


def test_one_channel_is_refused_by_name_also_when_kernels_are_loaded():
    with pytest.raises(InputError, match="row x=1, column y=0 of the channel must be a finite number >= 0; it is nan"):
        bc.capacity(np.array([[0.5, 0.5], [np.nan, 1.0]]))
    with pytest.raises(InputError, match=r"row x=0 of the channel must sum to 1 within 1e-09; it sums to 0\.9"):
        bc.capacity(np.array([[0.5, 0.4], [0.0, 1.0]]))


@pytest.mark.parametrize(
    "view",
    [
        lambda W: np.asfortranarray(W),
        lambda W: W[::-1][::-1],
        lambda W: np.repeat(W, 2, axis=0)[::2],
        lambda W: np.ascontiguousarray(W.transpose(2, 0, 1)).transpose(1, 2, 0),
        lambda W: W.tolist(),
        lambda W: W.astype(">f8"),
    ],
    ids=["Fortran order", "reversed twice", "strided", "transposed", "nested lists", "big-endian"],
)
def test_the_layout_of_a_stack_does_not_matter(view):
    W = random_stack(30, 3, 4)
    assert same(bc.capacities(view(W)), bc.capacities(W))


@pytest.mark.parametrize(
    "view", [np.asfortranarray, lambda W: np.ascontiguousarray(W.T).T, lambda W: np.repeat(W, 2, axis=1)[:, ::2]]
)
def test_the_layout_of_one_channel_does_not_matter(view):
    W = random_stack(3, 4)
    assert bc.capacity(view(W)).upper == bc.capacity(W).upper
    assert bc.capacity(view(W), rigorous=True).upper == bc.capacity(W, rigorous=True).upper


def test_single_precision_is_refused_as_it_is_and_normalized_on_request():
    W = random_stack(30, 3, 5).astype(np.float32)  # sums are off by some 1e-8
    with pytest.raises(InputError, match=r"^row x=\d of channel \d+ must sum to 1 within 1e-09; it sums to "):
        bc.capacities(W)
    normalized = bc.capacities(W, normalize=True)
    doubles = W.astype(float)
    assert normalized.converged.all()
    exact = bc.capacities(doubles / doubles.sum(axis=-1, keepdims=True))
    # both brackets contain the capacities, whose rows differ by the last bit of a double
    assert np.all(normalized.lower <= exact.upper + 1e-14)
    assert np.all(exact.lower <= normalized.upper + 1e-14)


@pytest.mark.parametrize("shape", [(2, 2), (0, 2, 2), (3, 0, 2), (3, 2, 0)])
def test_an_empty_stack_is_refused_with_its_shape(shape):
    if 0 not in shape:
        assert bc.capacities(np.full(shape, 0.5)).lower.shape == ()
        return
    with pytest.raises(InputError) as refused:
        bc.capacities(np.zeros(shape))
    assert str(refused.value) == f"the stack must not be empty; its shape is {shape}"


def test_a_vector_is_no_stack():
    with pytest.raises(InputError, match=r"^the stack must have shape .* its shape is \(2,\)$"):
        bc.capacities([0.5, 0.5])


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ((3, 4, 1, 0), np.nan, "row x=1, column y=0 of channel 3, 4 must be a finite number >= 0; it is nan"),
        ((3, 4, 0, 1), -0.5, "row x=0, column y=1 of channel 3, 4 must be a finite number >= 0; it is -0.5"),
        ((0, 0, 1, 1), np.inf, "row x=1, column y=1 of channel 0, 0 must be a finite number >= 0; it is inf"),
        ((4, 5, 1, 1), 0.25, "row x=1 of channel 4, 5 must sum to 1 within 1e-09; it sums to 0.75"
         " (normalize=True or --normalize divides each row by its sum)"),
        ((2, 0, 0, 0), 2.5, "row x=0 of channel 2, 0 must sum to 1 within 1e-09; it sums to 3"
         " (normalize=True or --normalize divides each row by its sum)"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("workers", [1, 2])
def test_a_bad_channel_in_the_middle_of_a_stack_is_named(place, value, message, workers):
    W = np.full((5, 6, 2, 2), 0.5)
    W[place] = value
    with pytest.raises(InputError) as refused:
        bc.capacities(W, workers=workers)
    assert str(refused.value) == message


def test_a_bad_channel_is_named_in_stacks_of_any_depth_and_size():
    flat, big = random_stack(9, 2, 2), random_stack(3, 70, 2)
    flat[7, 0, 0] = big[1, 69, 1] = np.nan
    with pytest.raises(InputError, match=r"^row x=0, column y=0 of channel 7 must be"):
        bc.capacities(flat)
    with pytest.raises(InputError, match=r"^row x=69, column y=1 of channel 1 must be"):
        bc.capacities(big)
    with pytest.raises(InputError, match=r"^row x=0, column y=0 of the channel must be"):
        bc.capacities(flat[7])


@pytest.mark.parametrize("count", [1, 9])
def test_counts_are_refused_in_a_stack_as_they_are_alone(count):
    counts = np.tile([[8, 2], [3, 7]], (count, 1, 1))
    for normalize in (False, True):
        with pytest.raises(InputError, match=r"^row x=0 of channel 0 looks like counts .*; use `estimate` for counts"):
            bc.capacities(counts, normalize=normalize)


def test_a_row_of_zeros_in_a_stack_cannot_be_normalized():
    W = random_stack(9, 3, 3)
    W[5, 2] = 0.0
    with pytest.raises(InputError, match=r"^row x=2 of channel 5 sums to 0 and cannot be normalized$"):
        bc.capacities(W, normalize=True)


def test_text_in_a_stack_is_refused():
    with pytest.raises(InputError, match="the stack"):
        bc.capacities([[["a", "b"]]])


@pytest.mark.parametrize("workers", [0, -1, 1.0, True, "2"])
def test_workers_must_be_a_whole_number_above_zero(workers):
    with pytest.raises(InputError, match=r"^workers must be a whole number >= 1; it is "):
        bc.capacities(random_stack(2, 2, 2), workers=workers)


SEVERAL_CHUNKS = 3 * stack_module.CHUNK_WORK // 4**3


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("shape", [(SEVERAL_CHUNKS, 4, 4), (5, 70, 3), (1, 2, 2), (2, 3, 2, 2)])
def test_progress_grows_and_reaches_the_total(shape, workers):
    calls = []
    bc.capacities(random_stack(*shape), workers=workers, progress=lambda done, total: calls.append((done, total)))
    total = int(np.prod(shape[:-2]))
    done = [d for d, _ in calls]
    assert done == sorted(set(done))
    assert done[-1] == total
    assert {t for _, t in calls} == {total}


def test_long_work_reports_more_than_once():
    calls = []
    bc.capacities(random_stack(SEVERAL_CHUNKS, 4, 4), progress=lambda *call: calls.append(call))
    assert len(calls) == 3


@pytest.mark.parametrize("workers", [1, 2])
def test_an_interruption_from_progress_propagates_and_leaves_no_thread_behind(workers):
    script = f"""
import threading, numpy as np, bestchannel as bc
W = np.random.default_rng(1).dirichlet(np.ones(4), size=({SEVERAL_CHUNKS}, 4))
calls = []
def interrupt(done, total):
    calls.append(done)
    raise KeyboardInterrupt
try:
    bc.capacities(W, workers={workers}, progress=interrupt)
except KeyboardInterrupt:
    print(len(calls), threading.active_count(), bc.capacities(W[:9]).converged.all())
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout == "1 1 True\n"
    assert "Error" not in run.stderr  # from another thread


MEMORY = """
import tracemalloc, numpy as np, bestchannel as bc
def peak(count):
    W = np.random.default_rng(1).dirichlet(np.ones({m}), size=(count, {n}))
    tracemalloc.start()  # after W: what the solver adds to its input
    bc.capacities(W, workers=2)
    top = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return top / W.nbytes
print(peak({small}), peak({large}))
"""


def test_memory_is_linear_in_the_stack_and_below_three_times_its_size():
    script = MEMORY.format(n=4, m=4, small=10_000, large=80_000)
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    few, many = map(float, run.stdout.split())
    assert many < 3.0
    # eight times as many channels take no more than eight times the memory, fixed costs aside
    assert many <= few
