"""Measure how cost grows and write docs/scaling.md: python docs/make_scaling.py [SECTION ...] [--full].

What is measured is kept in build/scaling.json, so that sections can be run one by one; the page shows all that there
is. Processor time is counted, not time on the wall, except where two cores or a cluster are compared. `--full` adds the
points that take long: 10⁵ channels to identify among, 10⁸ channels in chunks.
"""

import argparse
import functools
import json
import platform
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from bestchannel import Adaptive, Simulator, capacities, identify
from bestchannel.process import usable_cores
from bestchannel.sensing.simulator import Instance, near_tie, random_set

ROOT = Path(__file__).parents[1]
PAGE, KEPT = ROOT / "docs" / "scaling.md", ROOT / "build" / "scaling.json"
sys.path.append(str(ROOT))  # the benchmarks stand beside the docs

Point = dict[str, Any]


def random_stack(count: int, n: int) -> Any:
    """Channels n×n whose rows are uniform on the simplex."""
    W = np.random.default_rng(1).standard_exponential((count, n, n))
    return W / W.sum(axis=-1, keepdims=True)


def sizes(_full: bool) -> Iterator[Point]:
    """Processor time of one capacity, by alphabet."""
    for n, count in {2: 200_000, 4: 200_000, 8: 20_000, 16: 3_000, 32: 300, 64: 40}.items():
        stack = random_stack(count, n)
        capacities(stack[: count // 10], workers=1)
        spent, _ = timed(lambda stack=stack: capacities(stack, workers=1))
        yield {"n": n, "microseconds": 1e6 * spent / count}


def stacks(_full: bool) -> Iterator[Point]:
    """Time of whole stacks of 4×4, by their length."""
    for count in (10**3, 10**4, 10**5, 10**6):
        stack = random_stack(count, 4)
        one, _ = timed(lambda stack=stack: capacities(stack, workers=1))
        _, two = timed(lambda stack=stack: capacities(stack, workers=2))
        yield {"count": count, "one_core": one, "two_cores_wall": two}


def chunks(full: bool) -> Iterator[Point]:
    """A stack larger than memory, on a cluster of local workers."""
    from benchmarks.chunked import measured

    yield asdict(measured(10**8 if full else 10**7, 10**6, 2))


def channels(full: bool) -> Iterator[Point]:
    """Adaptive among k channels, all but one equal, the best 0.1 bit better; δ = 0.05."""
    for k in (10, 10**2, 10**3, 10**4, *([10**5] if full else [])):
        yield {"k": k} | identified(near_tie(rng(1), k=k, gap=0.1), 0.05)


def letters(_full: bool) -> Iterator[Point]:
    """Adaptive among 4 random channels n×n, the best 0.1 bit better; δ = 0.05."""
    for n in (2, 3, 4, 8):
        instance = random_set(rng(1), k=4, n_inputs=n, n_outputs=n, gap=0.1, concentration=0.3)
        yield {"n": n} | identified(instance, 0.05)


def deltas(_full: bool) -> Iterator[Point]:
    """Adaptive between 10 channels, all but one equal, the best 0.1 bit better, by δ."""
    for delta in (1e-1, 1e-2, 1e-4, 1e-8):
        yield {"delta": delta} | identified(near_tie(rng(1), k=10, gap=0.1), delta)


def gaps(_full: bool) -> Iterator[Point]:
    """Adaptive between 2 channels by their gap in bits; δ = 0.05."""
    for gap in (0.3, 0.1, 0.03, 0.01):
        yield {"gap": gap} | identified(near_tie(rng(1), gap=gap), 0.05)


def clusters(full: bool) -> Iterator[Point]:
    """A study on two local processes and on a Dask cluster of two workers, in turn."""
    from benchmarks.clusters import measured

    found = measured(1000 if full else 300, 5, 2)
    yield {"where": "processes"} | asdict(found.local)
    yield {"where": "Dask", "ratio": found.ratios.milliseconds} | asdict(found.clustered)


SECTIONS: dict[str, Callable[[bool], Iterator[Point]]] = {
    each.__name__: each for each in (sizes, stacks, chunks, channels, letters, deltas, gaps, clusters)
}


def rng(seed: int) -> np.random.Generator:
    """A generator of its own."""
    return np.random.default_rng(seed)


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """The least of three: seconds of the processor, and on the wall."""
    found = []
    for _ in range(3):
        processor, wall = time.process_time(), time.monotonic()
        work()
        found.append((time.process_time() - processor, time.monotonic() - wall))
    return min(each[0] for each in found), min(each[1] for each in found)


def identified(instance: Instance, delta: float, runs: int = 3) -> Point:
    """Means over some runs: senses, requests, and seconds of the processor."""
    load_everything()
    found = []
    runs = 1 if len(instance.channels) > 1000 else runs
    for seed in range(runs):
        started = time.process_time()
        answer = identify(Simulator(instance.channels, rng=rng(seed)), Adaptive(instance.alphabets, delta=delta))
        found.append((answer.senses, answer.rounds, time.process_time() - started))
    return dict(zip(("senses", "requests", "seconds"), np.mean(found, axis=0).tolist(), strict=True))


@functools.cache
def load_everything() -> None:
    """All that an identification imports at its first steps."""
    instance = near_tie(rng(0), k=10, gap=0.1)
    identify(Simulator(instance.channels, rng=rng(0)), Adaptive(instance.alphabets, delta=0.05))


def main() -> None:
    """Measure what is asked for, then write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", choices=[[], *SECTIONS], metavar="SECTION", help=", ".join(SECTIONS))
    parser.add_argument("--full", action="store_true", help="also what takes long")
    parser.add_argument("--page-only", action="store_true", help="write the page from what there is")
    arguments = parser.parse_args()
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    for name in [] if arguments.page_only else arguments.sections or SECTIONS:
        kept[name] = []
        for point in SECTIONS[name](arguments.full):
            kept[name].append(point)
            print(name, point, flush=True)
            KEPT.parent.mkdir(exist_ok=True)
            KEPT.write_text(json.dumps(kept))
    lacking = SECTIONS.keys() - kept.keys()
    if lacking:
        sys.exit(f"the page has to wait for {', '.join(sorted(lacking))}")
    PAGE.write_text(page(kept), encoding="utf-8")


def slope(points: list[Point], x: str, y: str, last: int = 0) -> float:
    """The power of x that y grows with, by least squares of the logarithms over the last points, or all."""
    chosen = points[-last:]
    return float(np.polyfit(np.log([p[x] for p in chosen]), np.log([p[y] for p in chosen]), 1)[0])


def table(headings: str, rows: list[list[str]]) -> str:
    """A table whose columns are numbers."""
    n = headings.count("|") + 1
    return "\n".join([f"| {headings} |", "|" + "--:|" * n, *(f"| {' | '.join(row)} |" for row in rows)])


def number(value: float) -> str:
    """Three digits, or whole thousands with commas."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def course(points: list[Point], x: str) -> str:
    """The table of an identification by one of its numbers."""
    rows = [[f"{p[x]:g}", number(p["senses"]), f"{p['requests']:.0f}", number(p["seconds"])] for p in points]
    return table(f"{x} | senses | requests | processor, s", rows)


def page(kept: dict[str, list[Point]]) -> str:
    """The page from the points."""
    template = (ROOT / "docs" / "scaling.md.in").read_text(encoding="utf-8")
    return template.format(**facts(kept))


def facts(kept: dict[str, list[Point]]) -> dict[str, str]:
    """Every number of the page by its name."""
    each = {name: kept.get(name, []) for name in SECTIONS}
    by_n = {p["n"]: p["microseconds"] for p in each["sizes"]}
    million = each["stacks"][-1]
    (chunked,) = each["chunks"]
    local, dask = (p["milliseconds"] for p in each["clusters"])
    k = each["channels"]
    return {
        "machine": f"{usable_cores()} cores, Python {platform.python_version()}",
        "sizes": table("alphabet | µs", [[f"{n}×{n}", number(t)] for n, t in by_n.items()]),
        "size_power": f"{slope(each['sizes'], 'n', 'microseconds', 3):.1f}",
        "stacks": table(
            "4×4 channels | one core, s of processor",
            [[f"{p['count']:,}", f"{p['one_core']:.2g}"] for p in each["stacks"]],
        ),
        "chunk_count": f"{chunked['count']:,}",
        "chunk_us": number(1e6 * chunked["processor_seconds"] / chunked["count"]),
        "chunk_memory": f"{chunked['most_chunks']:.2f}",
        "channels": course(k, "k"),
        "k_senses": f"{slope(k, 'k', 'senses'):.2f}",
        "k_seconds": f"{slope(k, 'k', 'seconds', 2):.2f}",
        "k_requests": f"{k[0]['requests']:.0f} to {k[-1]['requests']:.0f}",
        "letters": course(each["letters"], "n"),
        "deltas": course(each["deltas"], "delta"),
        "gaps": course(each["gaps"], "gap"),
        "gap_power": f"{-slope(each['gaps'], 'gap', 'senses'):.2f}",
        "run_local": f"{local:.1f}",
        "run_dask": f"{dask:.1f}",
        "run_ratio": f"{each['clusters'][1]['ratio']:.2f}",
        "around_dask": f"{100 * each['clusters'][1]['around']:.1f} %",
        "around_two": f"{50 * each['clusters'][1]['around']:.1f} %",
        "core_rate": f"{1.0 / million['one_core']:.1f} million",
        "billion_core_minutes": number(10**9 / 10**6 * million["one_core"] / 60),
        "study_core_hours": f"{1e6 * local / 1e3 / 3600:.1f}",
        "k_largest": number(k[-1]["k"]),
        "k_largest_seconds": number(k[-1]["seconds"]),
    }


if __name__ == "__main__":
    main()
