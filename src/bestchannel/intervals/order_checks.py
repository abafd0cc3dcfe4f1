"""Whether recorded senses are those of one and the same memoryless channel, as everything proved of them supposes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from bestchannel.counts.labelled_counts import LabelledCounts
from bestchannel.evidence.drift_and_memory import drift_and_memory
from bestchannel.process import Progress

ALPHA = 0.01
"""The largest probability of any warning, should all channels be as supposed."""

MOST_SENSES, FEWEST_SENSES = 2**20, 2**14
"""Senses that are looked at in all, and of one channel at least; of one with more, runs of them, spread evenly."""

SUPPOSED = (
    "what is proved supposes one memoryless channel from the first sense to the last, and inputs that no output chose;"
    " rows that were sorted have lost their order (--no-checks) [bestchannel explain checks]"
)


@dataclass(frozen=True)
class OrderCheck:
    """The logarithms to base 10 of three e-values against the channel being one and the same, and memoryless.

    `period`, in senses, is the one that speaks most for a channel that changes periodically.
    """

    name: str
    log10_drift: float
    log10_memory: float
    log10_periodic: float
    period: float | None

    def warning(self, threshold: float) -> str:
        """What is said of the channel; nothing where no e-value is large."""
        kinds = (
            (self.log10_drift, "drifts", "earlier and later senses of an input differ"),
            (self.log10_memory, "remembers", "outputs depend on what was sent or received before"),
            (
                self.log10_periodic,
                "changes periodically",
                f"senses differ with a period of about {self.period or 0.0:.4g} of them",
            ),
        )
        large = [kind for kind in kinds if kind[0] >= threshold]
        if not large:
            return ""
        what, why = " or ".join(verb for _, verb, _ in large), " and ".join(reason for _, _, reason in large)
        values = " and ".join(f"10^{value:.1f}" for value, _, _ in large)
        return f'channel "{self.name}" {what}, as {why} (e-value {values}; 10^{threshold:.1f} makes a warning)'


@dataclass(frozen=True)
class OrderChecks:
    """What the order of the senses says against the channels being as supposed.

    An e-value of 10^log10_threshold or more is a warning; with probability at least 1 - alpha there is none if all
    channels are as supposed. `warnings` has a sentence for each, and what it means; it is empty where there is none.
    `by_time` says that the order is that of a column time, and not that of the rows.
    """

    alpha: float
    log10_threshold: float
    channels: tuple[OrderCheck, ...]
    warnings: tuple[str, ...]
    by_time: bool = False


def check_order(tables: Iterable[LabelledCounts], progress: Progress | None = None) -> OrderChecks | None:
    """The checks of the channels of which the order is known, which `progress` counts; None if it is of none."""
    ordered = [content for content in tables if content.order is not None]
    if not ordered:
        return None
    checks: list[OrderCheck] = []
    for content in ordered:
        assert content.order is not None
        most_senses = max(MOST_SENSES // len(ordered), FEWEST_SENSES)
        n_inputs, n_outputs = content.counts.shape
        nats = drift_and_memory(*content.order, (n_inputs, n_outputs), most_senses=most_senses)
        drift, memory, periodic = (value / math.log(10.0) for value in nats[:3])
        checks.append(OrderCheck(content.name, drift, memory, periodic, nats.period))
        if progress:
            progress(len(checks), len(ordered))
    threshold = math.log10(3 * len(checks) / ALPHA)  # three e-values of each channel share alpha
    sentences = [words for check in checks if (words := check.warning(threshold))]
    by_time = any(content.by_time for content in ordered)
    return OrderChecks(ALPHA, threshold, tuple(checks), (*sentences, SUPPOSED) if sentences else (), by_time)
