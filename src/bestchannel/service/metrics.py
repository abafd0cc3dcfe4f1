"""What the service counts, in the text form of Prometheus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

BUCKETS_S = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)
"""Ends of the classes of latency."""


@dataclass
class Latency:
    """How long answers took: how many took at most so long, their number and their sum."""

    buckets: list[int] = field(default_factory=lambda: [0] * len(BUCKETS_S))
    count: int = 0
    sum_s: float = 0.0

    def add(self, seconds: float) -> None:
        """One answer more."""
        self.count += 1
        self.sum_s += seconds
        for i, end in enumerate(BUCKETS_S):
            self.buckets[i] += seconds <= end


@dataclass
class Metrics:
    """Counts since the start; only the event loop changes them."""

    senses: int = 0
    leases: int = 0
    expired: int = 0
    pieces: Counter[str] = field(default_factory=Counter)
    responses: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    latency: Latency = field(default_factory=Latency)

    def text(self, gauges: Mapping[str, tuple[str, float]]) -> str:
        """All counts, and what there is now, as {name: (what it is, value)}."""
        return "\n".join([*self._counters(), *_latency(self.latency), *_gauges(gauges)]) + "\n"

    def _counters(self) -> Iterator[str]:
        yield from _counter("senses_total", "Senses that were acknowledged.", {"": self.senses})
        yield from _counter("leases_total", "Leases that were given.", {"": self.leases})
        yield from _counter("leases_expired_total", "Leases that ran out.", {"": self.expired})
        yield from _counter("pieces_total", "Pieces by what became of them.", _labelled("outcome", self.pieces))
        yield from _counter("responses_total", "Responses by status.", _labelled("status", self.responses))
        yield from _counter("refusals_total", "Refusals by rule.", _labelled("rule", self.refusals))


def _labelled(label: str, counts: Mapping[str, int]) -> dict[str, int]:
    return {f'{{{label}="{value}"}}': count for value, count in sorted(counts.items())}


def _counter(name: str, meaning: str, values: Mapping[str, int]) -> Iterator[str]:
    yield f"# HELP bestchannel_{name} {meaning}"
    yield f"# TYPE bestchannel_{name} counter"
    yield from (f"bestchannel_{name}{labels} {value}" for labels, value in values.items())


def _latency(latency: Latency) -> Iterator[str]:
    name = "bestchannel_response_seconds"
    yield f"# HELP {name} Time from a request to its response, streams left out."
    yield f"# TYPE {name} histogram"
    for end, count in zip(BUCKETS_S, latency.buckets, strict=True):
        yield f'{name}_bucket{{le="{end:g}"}} {count}'
    yield f'{name}_bucket{{le="+Inf"}} {latency.count}'
    yield f"{name}_sum {latency.sum_s:.6f}"
    yield f"{name}_count {latency.count}"


def _gauges(gauges: Mapping[str, tuple[str, float]]) -> Iterator[str]:
    for name, (meaning, value) in gauges.items():
        yield f"# HELP bestchannel_{name} {meaning}"
        yield f"# TYPE bestchannel_{name} gauge"
        yield f"bestchannel_{name} {value:g}"
