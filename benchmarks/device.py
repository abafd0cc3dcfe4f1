"""Certified capacities per second on a CUDA device: `python -m benchmarks.device`.

Channels resident on the device, through `capacities` (allocation of the answers, launch and the
final wait included), then 10^9 channels streamed from pinned memory of the host and answered there.
"""

from __future__ import annotations

import statistics
import sys
import time

import numpy as np

from bestchannel import Capacities, capacities
from tests.capacity.hostile import GOAL, GOAL_NATS, KINDS

RESIDENT = {(2, 2): 2 * 10**8, (4, 4): 10**8, (8, 8): 2 * 10**7}
STREAMED, PART, SLOTS = 10**9, 2**22, 3
REPETITIONS = 9


def seconds(call) -> float:
    """The median time of a call that leaves the device idle."""
    import cupy

    times = []
    for _ in range(REPETITIONS + 2):  # the first two warm up
        cupy.cuda.Device().synchronize()
        begin = time.perf_counter()
        call()
        cupy.cuda.Device().synchronize()
        times.append(time.perf_counter() - begin)
    return statistics.median(times[2:])


def memory_rate() -> float:
    """Bytes per second, read and written, of a copy within the device."""
    import cupy

    source = cupy.ones(2**30)
    target = cupy.empty_like(source)
    return 2 * source.nbytes / seconds(lambda: cupy.copyto(target, source))


def random_stack(n: int, m: int, count: int):
    """Rows uniform on the simplex, drawn on the device."""
    import cupy

    stack = cupy.random.default_rng(1).standard_exponential((count, n, m))
    stack /= stack.sum(axis=2, keepdims=True)
    return stack


def hostile_stack(n: int, m: int, each: int, copies: int):
    """All kinds of hostile channels in random order."""
    import cupy

    kinds = [make(np.random.default_rng(number), each, n, m) for number, make in enumerate(KINDS.values())]
    stack = cupy.asarray(np.concatenate(kinds))
    order = cupy.random.default_rng(2).integers(len(stack), size=copies * len(stack))
    return stack[order]


def report(label: str, stack, memory: float) -> None:
    """Print channels per second, the share of what the memory allows, and the worst gap."""
    count, n, m = stack.shape
    answer = capacities(stack, tol=GOAL)
    gap, converged = float(answer.gap.max()) * np.log(2.0), bool(answer.converged.all())
    del answer
    rate = count / seconds(lambda: capacities(stack, tol=GOAL))
    per_channel = 8 * (n * m + 2 + n + m) + 1
    print(
        f"| {label} | {count:.3g} | {rate:.3g} | {100 * rate * per_channel / memory:.0f} % |"
        f" {gap:.2g} | {'all' if converged else 'NOT ALL'} |",
        flush=True,
    )
    assert gap <= GOAL_NATS


def report_calls() -> None:
    """Print the time of one call for few channels, on the device and on the host's cores."""
    print("\n| one call, random 4×4 | on the device | on the host |\n|--:|--:|--:|")
    for count in (1, 10**3, 10**4, 10**5, 10**6):
        stack = random_stack(4, 4, count)
        host = stack.get()
        there, here = seconds(lambda: capacities(stack, tol=GOAL)), seconds(lambda: capacities(host, tol=GOAL))  # noqa: B023
        print(f"| {count:.0e} | {1e3 * there:.2f} ms | {1e3 * here:.2f} ms |", flush=True)


def streamed(parts: int, solve: bool) -> float:
    """Seconds to send parts of 4x4 channels to the device and, where they are solved, all answers back."""
    import cupy
    import cupyx

    host = [cupyx.empty_pinned((PART, 4, 4)) for _ in range(SLOTS)]
    for part in host:
        part[:] = random_stack(4, 4, PART).get()
    back = [
        Capacities(*(cupyx.empty_pinned((PART, *shape), kind) for shape, kind in
                     (((), float), ((), float), ((), bool), ((4,), float), ((4,), float))))
        for _ in range(SLOTS)
    ]  # fmt: skip
    slots = [cupy.empty((PART, 4, 4)) for _ in range(SLOTS)]
    streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(SLOTS)]

    def send(i: int) -> None:
        slots[i % SLOTS].set(host[i % SLOTS], stream=streams[i % SLOTS])

    def answer(i: int) -> None:
        with streams[i % SLOTS] as stream:
            found = capacities(slots[i % SLOTS], tol=GOAL)
            for name in ("lower", "upper", "converged", "input", "output"):
                getattr(found, name).get(stream=stream, out=getattr(back[i % SLOTS], name), blocking=False)

    def whole(count: int) -> float:
        begin = time.perf_counter()
        send(0)
        for i in range(count):
            if i + 1 < count:
                send(i + 1)  # on its way while part i is solved
            if solve:
                answer(i)
        cupy.cuda.Device().synchronize()
        return time.perf_counter() - begin

    whole(2 * SLOTS)
    taken = whole(parts)
    assert not solve or all(part.converged.all() for part in back)
    return taken


def main() -> None:
    import cupy

    device = cupy.cuda.runtime.getDeviceProperties(0)
    memory = memory_rate()
    print(
        f"{device['name'].decode()}, driver {cupy.cuda.runtime.driverGetVersion()}, CuPy {cupy.__version__}, Python"
        f" {sys.version.split()[0]}; a copy within the device moves {memory:.3g} B/s (read and written).\n"
    )
    print("| channels | how many | certified per second | share of the memory bound | worst gap, nats | converged |")
    print("|---|--:|--:|--:|--:|---|")
    for (n, m), count in RESIDENT.items():
        report(f"random {n}×{m}", random_stack(n, m, count), memory)
    for n, m in RESIDENT:
        report(f"hostile {n}×{m}", hostile_stack(n, m, 20_000, max(1, 256 // (n * m))), memory)
    report_calls()
    parts = -(-STREAMED // PART)
    alone, solved = streamed(parts, solve=False), streamed(parts, solve=True)
    count, size = parts * PART, 128 * PART * parts
    print(
        f"\n{count:.4g} random 4×4 from pinned memory, all answers back: {solved:.2f} s, {count / solved:.3g} a second,"
        f" {size / solved / 1e9:.1f} GB/s; the copies to the device alone {size / alone / 1e9:.1f} GB/s:"
        f" {100 * alone / solved:.0f} % of it."
    )


if __name__ == "__main__":
    main()
