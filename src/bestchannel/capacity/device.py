"""Stacks on a CUDA device: read by DLPack, solved where they lie, answered in arrays of the same kind."""

from __future__ import annotations

import contextlib
import functools
import importlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bestchannel.arrays import probability_rows, refuse_unless_real
from bestchannel.capacity.stack import Capacities, Tolerance, channel_names, folded, parted, remade, rounding_in_turn
from bestchannel.errors import InputError, MissingExtraError
from bestchannel.process import Progress, logger

WIDEST = 8  # up to how many inputs and outputs a thread holds a channel
CHUNK = 2**26  # channels of one launch: long enough to fill any device, and 32-bit numbers count them
BLOCK = 64  # threads of a block
SOURCES = ("capacity", "device.cu"), ("native", "interior_point.h")

ANNOUNCED_AFTER = 4.0  # seconds after which a pause is announced; kernels that CuPy has on disk load faster than that
ENOUGH = 16  # blocks for each multiprocessor that fill it, where each takes channels from a queue
HOST, CUDA = {1, 3, 11}, {2, 13}
"""The device types of DLPack that are memory of the host, and those that are memory of a CUDA device."""


def device_of(stack: object) -> int | None:
    """The number of the CUDA device that holds the stack, or None for the host; a list lies where its channels do."""
    if not isinstance(stack, list | tuple):
        return _device_of_array(stack)
    places = {_device_of_array(channel) for channel in stack}
    if len(places) > 1:
        named = " and ".join(sorted("the host" if place is None else f"cuda:{place}" for place in places))
        raise InputError(f"the channels of the stack must lie on one device; they lie on {named}: move them to one")
    return places.pop() if places else None


def _device_of_array(array: object) -> int | None:
    if not hasattr(array, "__dlpack_device__"):
        interface = getattr(array, "__cuda_array_interface__", None)
        return None if interface is None else int(_cupy().asarray(array).device.id)
    kind, number = array.__dlpack_device__()
    if kind in HOST:
        return None
    if kind not in CUDA:
        raise InputError(
            f"the stack must lie on the host or on a CUDA device, which have float64; it lies on {kind!r} of DLPack:"
            " move it to the host"
        )
    return int(number)


def solve_on_device(
    stack: object, device: int, tolerance: Tolerance, *, normalize: bool, progress: Progress | None
) -> Capacities:
    """`capacities` of a stack on a CUDA device, in the stream that is current for its kind of array."""
    cupy = _cupy()
    give_back = _maker_of(stack, cupy)
    with cupy.cuda.Device(device), _stream_of(stack, device, cupy):
        array = _taken_in(stack, cupy)
        leading, n, m = parted(array.shape)
        if max(n, m) > WIDEST:
            raise InputError(
                f"a stack on a CUDA device must hold channels of at most {WIDEST} inputs and {WIDEST} outputs; they"
                f" are {n}x{m}: move it to the host, where every size is solved"
            )
        flat = _solve(array.reshape(-1, n, m), tolerance, channel_names(leading), normalize, progress, cupy)
        return remade(folded(flat, leading), give_back)


def _solve(
    stack: Any, tolerance: Tolerance, name: Callable[[int], str], normalize: bool, progress: Progress | None, cupy: Any
) -> Capacities:
    """Solve stack[c, x, y], a C-contiguous CuPy array of float64."""
    count, n, m = stack.shape
    answers = Capacities(
        cupy.empty(count), cupy.empty(count), cupy.empty(count, bool), cupy.empty((count, n)), cupy.empty((count, m))
    )
    refused = cupy.full(1, count, dtype=np.uint64)  # the first channel that is none
    for first in range(0, count, CHUNK):
        last = min(first + CHUNK, count)
        _launch(stack, first, last, tolerance, normalize, answers, refused, cupy)
        if progress:
            cupy.cuda.get_current_stream().synchronize()
            progress(last, count)
    c = int(refused.get()[0])
    if c < count:
        probability_rows(stack[c].get(), name(c), normalize=normalize)
        raise AssertionError(f"{name(c)} was refused on the device and is a channel on the host")
    return answers


def _launch(
    stack: Any, first: int, last: int, tolerance: Tolerance, normalize: bool, answers: Capacities, refused: Any,
    cupy: Any,
) -> None:  # fmt: skip
    """Solve the channels first <= c < last: all quickly, and what that left by the interior point alone."""
    count, (n, m) = last - first, stack.shape[1:]
    quick, thorough = _kernels(n, m, tolerance.precise, cupy.cuda.Device().id)
    processors, needed = cupy.cuda.Device().attributes["MultiProcessorCount"], -(-count // BLOCK)
    part, rounding = slice(first, last), rounding_in_turn(n, m)
    goal = np.float64(tolerance.goal_nats(rounding))
    out = (
        answers.lower[part], answers.upper[part], answers.input[part], answers.output[part], answers.converged[part],
        *map(np.float64, (tolerance.tol, tolerance.rtol, rounding, tolerance.ceiling((n, m)))),
    )  # fmt: skip
    waiting, taken = cupy.full(1, count, np.uint32), cupy.zeros(1, np.uint32)
    queue = np.uint64(0)  # no queue: every channel waits
    if not tolerance.precise:  # which the quick way is not
        queue = cupy.empty(count, np.uint32)
        waiting.fill(0)
        arguments = (stack[part], np.uint32(count), np.bool_(normalize), goal, queue, waiting, *out)
        quick((needed,), (BLOCK,), arguments)
    wanted = (np.bool_(normalize), goal, np.float64(tolerance.relative_goal))
    arguments = (stack[part], queue, waiting, taken, *wanted, np.uint64(first), refused, *out)
    thorough((min(ENOUGH * processors, needed),), (BLOCK,), arguments)


@functools.cache
def _kernels(n: int, m: int, precise: bool, device: int) -> tuple[Any, Any]:
    """The two kernels of `device.cu` for one size; NVRTC compiles them, and CuPy keeps them on disk."""
    from importlib import resources  # deferred: slow to import, and stacks on the host never need it

    package = resources.files("bestchannel")
    source, steps = (package.joinpath(*path).read_text("utf-8") for path in SOURCES)
    source = source.replace('#include "interior_point.h"', steps)  # in its place, so that CuPy sees where it changes
    options = ("-std=c++17", f"-DN={n}", f"-DM={m}", f"-DBLOCK={BLOCK}", f"-DPRECISE={str(precise).lower()}")
    with _announced():
        module = _cupy().RawModule(code=source, options=options)
        return module.get_function("sketch_and_polish"), module.get_function("interior_point")


@contextlib.contextmanager
def _announced() -> Iterator[None]:
    """Say so where the compiler takes so long that somebody would wonder."""
    message = "compiling kernels for this device, once: about 10 s"
    notice = threading.Timer(ANNOUNCED_AFTER, logger.warning, [message])
    notice.daemon = True
    notice.start()
    try:
        yield
    finally:
        notice.cancel()


def _cupy() -> Any:
    try:
        return importlib.import_module("cupy")
    except ImportError:
        raise MissingExtraError("solving a stack on a CUDA device", "gpu") from None


def _library_of(stack: object) -> str:
    """The package that made the stack, or the first channel of a list."""
    first = stack[0] if isinstance(stack, list | tuple) else stack
    return type(first).__module__.partition(".")[0]


class _ForeignStream:
    """A stream of another library, by CUDA's protocol for sharing them."""

    def __init__(self, pointer: int) -> None:
        self.pointer = pointer

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.pointer


def _stream_of(stack: object, device: int, cupy: Any) -> contextlib.AbstractContextManager[object]:
    """PyTorch's current stream for its tensors; CuPy's for all others, which DLPack makes wait for theirs."""
    if _library_of(stack) == "torch":
        current = importlib.import_module("torch").cuda.current_stream(device)
        return cupy.cuda.Stream.from_external(_ForeignStream(current.cuda_stream))
    return contextlib.nullcontext()


def _taken_in(stack: object, cupy: Any) -> Any:
    """The stack as a C-contiguous CuPy array of float64; shared memory where it is one already."""
    try:
        if isinstance(stack, list | tuple):
            array = cupy.stack([cupy.from_dlpack(channel) for channel in stack])
        else:
            array = cupy.from_dlpack(stack) if hasattr(stack, "__dlpack__") else cupy.asarray(stack)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise InputError(f"the stack cannot be read by DLPack: {error}") from None
    refuse_unless_real(array, "the stack")
    return cupy.ascontiguousarray(array, dtype=np.float64)


def _maker_of(stack: object, cupy: Any) -> Callable[[Any], Any]:
    """What turns a CuPy array into the stack's kind, without a copy; CuPy's for kinds that only DLPack knows."""
    library = _library_of(stack)
    if library == "torch":
        return importlib.import_module("torch").from_dlpack
    if library in ("jax", "jaxlib"):
        jax = importlib.import_module("jax")
        if not jax.config.jax_enable_x64:
            raise InputError(
                "a certificate requires float64, and JAX has it switched off:"
                ' jax.config.update("jax_enable_x64", True) before the stack is made'
            )
        return jax.numpy.from_dlpack
    return cupy.asarray
