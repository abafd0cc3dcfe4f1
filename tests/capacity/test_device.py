"""Stacks on a CUDA device, where there is one; `make gpu-test` runs this and more."""

import numpy as np
import pytest

from bestchannel import capacities
from bestchannel.errors import InputError
from tests.capacity.device_comparison import cuda_device_count, on_host, unlike_host
from tests.capacity.hostile import GOAL, KINDS, faults

if not cuda_device_count():
    pytest.skip("no CUDA device with CuPy", allow_module_level=True)

KINDS_OF_ARRAYS = ["cupy", "torch", "jax"]
SHAPES = [(1, 1), (2, 2), (2, 8), (8, 2), (4, 4), (5, 3), (8, 8)]
W = np.random.default_rng(3).dirichlet(np.ones(4), size=(40, 3))


@pytest.fixture
def made(request):
    """What makes an array of the named library on the first device."""
    library = pytest.importorskip(request.param)
    if request.param == "cupy":
        yield library.asarray
    elif request.param == "torch":
        yield lambda values: library.tensor(values, device="cuda:0")
    else:
        before = library.config.jax_enable_x64
        library.config.update("jax_enable_x64", True)
        yield lambda values: library.device_put(values, library.devices("gpu")[0])
        library.config.update("jax_enable_x64", before)


def device_array(values):
    return pytest.importorskip("cupy").asarray(values)


@pytest.mark.parametrize(("n", "m"), SHAPES, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_hostile_channels_are_certified_on_the_device_as_on_the_host(kind, n, m):
    stack = KINDS[kind](np.random.default_rng([5, n, m]), 100, n, m)
    answer = on_host(capacities(device_array(stack), tol=GOAL))
    assert not np.any(faults(stack, answer))
    assert not np.any(unlike_host(answer, capacities(stack, tol=GOAL)))


def test_inputs_that_are_equal_but_for_rare_outputs_are_told_apart():
    """Without a guard of the pivots the step has no digits here; without caution it goes round in circles."""
    channel = [
        [1.1687722210671e-9, 1.6e-14, 3.3e-135, 0.99999999883121182],
        [1.4e-49, 5.1e-109, 1.0, 0.0],
        [6e-48, 0.0025934619900208, 0.60556056194289, 0.3918459760670882],
        [1.5502778309953e-12, 2.1e-42, 1.8e-53, 0.99999999999844968],
    ]
    stack = np.array(channel)[[[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]]]
    answer = on_host(capacities(device_array(stack), tol=GOAL))
    assert not np.any(faults(stack, answer))


@pytest.mark.parametrize(("n", "m"), [(2, 2), (4, 4), (8, 8)], ids=str)
def test_random_channels_are_certified_on_the_device_as_on_the_host(n, m):
    stack = np.random.default_rng(n).dirichlet(np.ones(m), size=(20_000, n))
    answer = on_host(capacities(device_array(stack), tol=GOAL))
    assert not np.any(faults(stack, answer))
    assert not np.any(unlike_host(answer, capacities(stack, tol=GOAL)))


@pytest.mark.parametrize("kind", ["tiny_capacity", "one_input_apart", "uniform_on_the_simplex"])
def test_a_relative_tolerance_holds_on_the_device_as_on_the_host(kind):
    stack = KINDS[kind](np.random.default_rng(6), 500, 3, 4)
    ours, theirs = on_host(capacities(device_array(stack), rtol=1e-6)), capacities(stack, rtol=1e-6)
    assert not np.any(unlike_host(ours, theirs))
    # solvers stop at 0.9 rtol; below 3e-14 nats the rounding allowance, relative r sqrt(2/C), takes more than the rest
    attainable = theirs.lower > 1e-13
    assert np.sum(attainable) > 200
    assert np.all(ours.converged[attainable])
    assert np.all(theirs.converged[attainable])


@pytest.mark.parametrize("made", KINDS_OF_ARRAYS, indirect=True)
def test_answers_are_arrays_of_the_kind_given_on_the_device_given(made):
    stack = made(W.reshape(2, 20, 3, 4))
    answer = capacities(stack, tol=GOAL)
    shapes = {"lower": (2, 20), "upper": (2, 20), "converged": (2, 20), "input": (2, 20, 3), "output": (2, 20, 4)}
    for name, shape in shapes.items():
        field = getattr(answer, name)
        assert type(field) is type(stack)
        assert tuple(field.shape) == shape
        assert field.__dlpack_device__() == stack.__dlpack_device__()
    assert "bool" in str(answer.converged.dtype)
    assert all("float64" in str(getattr(answer, name).dtype) for name in ("lower", "upper", "input", "output"))
    host = capacities(W.reshape(2, 20, 3, 4), tol=GOAL)
    assert not np.any(unlike_host(on_host(answer), host))
    assert abs(answer.at((1, 3)).lower - host.at((1, 3)).lower) <= GOAL
    assert float(answer.gap.max()) <= GOAL


@pytest.mark.parametrize("made", KINDS_OF_ARRAYS, indirect=True)
def test_the_stack_is_left_as_it_was(made):
    stack = made(W)
    capacities(stack)
    assert np.array_equal(on_host(stack), W)


def test_one_channel_has_answers_without_a_leading_shape():
    answer = capacities(device_array([[0.9, 0.1], [0.1, 0.9]]))
    assert answer.lower.shape == ()
    assert answer.input.shape == (2,)
    assert float(answer.lower) <= 0.5310044064107188 <= float(answer.upper)


def test_channels_in_a_list_are_a_stack():
    answer = capacities([device_array(channel) for channel in W])
    assert not np.any(unlike_host(on_host(answer), capacities(W)))


@pytest.mark.parametrize(
    "view",
    [lambda a: a[::-2], lambda a: a.swapaxes(0, 1).copy().swapaxes(0, 1), lambda a: a.astype("float32")],
    ids=["strided", "transposed", "float32"],
)
def test_an_array_of_any_layout_and_precision_is_taken(view):
    stack = np.round(W * 1024) / 1024  # exact in float32
    stack[..., -1] = 1.0 - stack[..., :-1].sum(axis=-1)
    answer = capacities(view(device_array(stack)))
    assert not np.any(unlike_host(on_host(answer), capacities(view(stack))))


@pytest.mark.parametrize("scale", [1e-3, 7.0, 1e-150])
def test_rows_are_normalized_where_asked(scale):
    answer = capacities(device_array(W * scale), normalize=True, tol=GOAL)
    assert not np.any(unlike_host(on_host(answer), capacities(W, tol=GOAL)))


def changed(position, value):
    stack = W.copy()
    stack[position] = value
    return stack


REFUSED = {
    "negative": (changed((17, 1, 2), -0.25), {}),
    "NaN": (changed((39, 2, 0), np.nan), {}),
    "infinite": (changed((0, 0, 3), np.inf), {"normalize": True}),
    "row sum": (changed((5, 1), [0.25, 0.25, 0.25, 0.2]), {}),
    "row of zeros": (changed((5, 1), 0.0), {"normalize": True}),
    "counts": (np.ones((3, 2, 4)) + 1, {"normalize": True}),
    "two faults": (changed((slice(20, 30), 2), 0.5), {}),
    "a leading shape": (changed((21, 0, 1), 2.0).reshape(2, 20, 3, 4), {}),
    "no channel": (np.ones(3), {}),
    "empty": (np.ones((0, 2, 2)), {}),
    "complex": (W * 1j, {}),
}


@pytest.mark.parametrize(("stack", "options"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_refused_is_refused_in_the_words_of_the_host(stack, options):
    with pytest.raises(InputError) as host:
        capacities(stack, **options)
    with pytest.raises(InputError) as device:
        capacities(device_array(stack), **options)
    assert str(device.value) == str(host.value)


def test_channels_wider_than_a_thread_holds_are_refused():
    with pytest.raises(InputError, match="at most 8 inputs and 8 outputs; they are 9x2: move it to the host"):
        capacities(device_array(np.full((3, 9, 2), 0.5)))


def test_jax_without_float64_is_refused():
    jax = pytest.importorskip("jax")
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", False)
    try:
        with pytest.raises(InputError, match="a certificate requires float64, and JAX has it switched off"):
            capacities(jax.device_put(W, jax.devices("gpu")[0]))
    finally:
        jax.config.update("jax_enable_x64", before)


def test_a_tensor_that_requires_a_gradient_is_refused():
    torch = pytest.importorskip("torch")
    with pytest.raises(InputError, match=r"cannot be read by DLPack: .*detach"):
        capacities(torch.tensor(W, device="cuda:0", requires_grad=True))


def test_a_stack_is_read_after_the_work_queued_on_its_stream():
    cupy = pytest.importorskip("cupy")
    stack, busy = cupy.full((1000, 3, 4), 0.25), cupy.ones((4096, 4096))
    cupy.cuda.Device().synchronize()
    with cupy.cuda.Stream(non_blocking=True):
        for _ in range(20):
            busy = busy @ busy * 1e-4
        stack[:] = cupy.asarray(W[0]) + 0.0 * busy[0, 0]
        answer = on_host(capacities(stack))
    assert np.all(answer.lower == answer.lower[0])
    assert answer.lower[0] == on_host(capacities(cupy.asarray(W[:1]))).lower[0] > 0.0


def test_a_tensor_is_read_after_the_work_queued_on_the_stream_of_torch():
    torch = pytest.importorskip("torch")
    stack = torch.full((1000, 3, 4), 0.25, dtype=torch.float64, device="cuda:0")
    busy = torch.ones(4096, 4096, device="cuda:0")
    row = torch.tensor(W[0], device="cuda:0")
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        for _ in range(20):
            busy = busy @ busy * 1e-4
        stack[:] = row + 0.0 * busy[0, 0]
        lower = capacities(stack).lower + 0.0
    torch.cuda.synchronize()
    assert float(lower.min()) == float(lower.max()) > 0.0


def test_progress_is_told_when_channels_are_finished():
    seen = []
    capacities(device_array(W), progress=lambda done, total: seen.append((done, total)))
    assert seen == [(40, 40)]


@pytest.mark.parametrize("made", KINDS_OF_ARRAYS, indirect=True)
def test_answers_on_a_device_are_shown_and_compared_as_those_on_the_host(made):
    there = capacities(made(W))
    here = on_host(there)
    assert str(there) == str(here)
    assert there._repr_html_() == here._repr_html_()
    assert there == capacities(made(W))
    assert there != capacities(made(W[::-1].copy()))
    assert float(there.at(7)) == float(here.at(7))
    pytest.importorskip("pandas")
    assert there.to_frame().equals(here.to_frame())
