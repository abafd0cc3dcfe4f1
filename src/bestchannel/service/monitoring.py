"""What the service counts, in the text form of Prometheus, and its logs as lines of JSON."""

from __future__ import annotations

import json
import logging
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

BUCKETS_S = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)  # ends of the classes of latency


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
        took, seconds = self.latency, "response_seconds"
        ends = [*(f"{end:g}" for end in BUCKETS_S), "+Inf"]
        buckets = {f'_bucket{{le="{e}"}}': n for e, n in zip(ends, [*took.buckets, took.count], strict=True)}
        histogram = {**buckets, "_sum": f"{took.sum_s:.6f}", "_count": took.count}
        blocks = [
            _block("senses_total", "counter", "Senses that were acknowledged.", {"": self.senses}),
            _block("leases_total", "counter", "Leases that were given.", {"": self.leases}),
            _block("leases_expired_total", "counter", "Leases that ran out.", {"": self.expired}),
            _block("pieces_total", "counter", "Pieces by what became of them.", _by("outcome", self.pieces)),
            _block("responses_total", "counter", "Responses by status.", _by("status", self.responses)),
            _block("refusals_total", "counter", "Refusals by rule.", _by("rule", self.refusals)),
            _block(seconds, "histogram", "Time from a request to its response, streams left out.", histogram),
            *(_block(name, "gauge", meaning, {"": f"{value:g}"}) for name, (meaning, value) in gauges.items()),
        ]
        return "".join(blocks)


def _by(label: str, counts: Mapping[str, int]) -> dict[str, int]:
    return {f'{{{label}="{value}"}}': count for value, count in sorted(counts.items())}


def _block(name: str, kind: str, meaning: str, values: Mapping[str, object]) -> str:
    name = f"bestchannel_{name}"
    lines = [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}", *(f"{name}{end} {n}" for end, n in values.items())]
    return "\n".join([*lines, ""])


class JsonLines(logging.Formatter):
    """One object a line: time, level, event, and the keys that `extra={"fields": …}` adds."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as a line."""
        content = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            content["traceback"] = self.formatException(record.exc_info)
        return json.dumps(content, ensure_ascii=True, default=str)


def log_to_stderr(level: str) -> None:
    """Let the library and uvicorn write their lines to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name in ("bestchannel", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level.upper())
