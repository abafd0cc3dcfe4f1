"""The device against the host, channel by channel.

By hand, for many: `python -m tests.capacity.device_comparison 1000000 7` (how many of each of random and hostile, seed).
"""

import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields

import numpy as np

from bestchannel import Capacities, capacities
from tests.capacity.hostile import GOAL, KINDS, SHAPES, faults


def cuda_device_count():
    """How many CUDA devices CuPy sees; none without CuPy or a driver."""
    try:
        import cupy

        return cupy.cuda.runtime.getDeviceCount()
    except Exception:  # a missing package, library or driver, each with its own exception
        return 0


def on_host(answer):
    """An array of a device, or all of those of an answer, as NumPy arrays."""
    import cupy

    if isinstance(answer, Capacities):
        return Capacities(*(on_host(getattr(answer, field.name)) for field in fields(answer)))
    return cupy.asnumpy(cupy.from_dlpack(answer))


def unlike_host(ours: Capacities, theirs: Capacities) -> np.ndarray:
    """Which brackets of one channel do not overlap, though both hold: one of them is wrong."""
    return ~((ours.lower <= theirs.upper) & (theirs.lower <= ours.upper))


def compared(stack: np.ndarray) -> Counter:
    """How many answers of the device are faulty by themselves or do not fit the host's, and the widest distance."""
    import cupy

    ours, theirs = on_host(capacities(cupy.asarray(stack), tol=GOAL)), capacities(stack, tol=GOAL)
    return Counter(
        channels=len(stack),
        not_converged=int(np.sum(~ours.converged)),
        faulty=int(np.sum(faults(stack, ours))),
        unlike_host=int(np.sum(unlike_host(ours, theirs))),
        host_not_converged=int(np.sum(~theirs.converged)),
    )


def compile_all() -> None:
    """Compile the kernels of all sizes side by side."""
    import cupy

    def one(shape):
        capacities(cupy.full((1, *shape), 1.0 / shape[1]))

    with ThreadPoolExecutor() as pool:
        list(pool.map(one, SHAPES))


def main(how_many: int, seed: int) -> None:
    if not cuda_device_count():
        sys.exit("no CUDA device with CuPy: nothing was compared")
    compile_all()
    random, hostile = Counter(), Counter()
    for n in (2, 4, 8):
        random += compared(np.random.default_rng([seed, n]).dirichlet(np.ones(n), size=(how_many // 3, n)))
    print("random ", dict(random))
    each = -(-how_many // (len(KINDS) * len(SHAPES)))
    for number, (name, make) in enumerate(KINDS.items()):
        found = Counter()
        for n, m in SHAPES:
            found += compared(make(np.random.default_rng([seed, number, n, m]), each, n, m))
        if len(found) > 1:
            print("  ", name, dict(found))
        hostile += found
    print("hostile", dict(hostile))
    sys.exit(bool(sum((random + hostile).values()) - random["channels"] - hostile["channels"]))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
