"""Whether recorded senses are those of one and the same memoryless channel, as everything proved of them supposes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from bestchannel.counts.labelled_counts import LabelledCounts
from bestchannel.evidence.drift_and_memory import drift_and_memory
from bestchannel.progress import Progress

ALPHA = 0.01
"""The largest probability of any warning, should all channels be as supposed."""

MOST_SENSES = 2**20
"""Senses that are looked at in all; of a channel with more than its share, runs of them, spread evenly."""

FEWEST_SENSES = 2**14
"""Of one channel, however many there are."""

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
    """The checks of the channels of which the order is known; None if it is of none.

    `progress(done, total)` counts these channels.
    """
    ordered = [content for content in tables if content.order is not None]
    if not ordered:
        return None
    found: list[OrderCheck] = []
    for content in ordered:
        found.append(_checked(content, max(MOST_SENSES // len(ordered), FEWEST_SENSES)))
        if progress:
            progress(len(found), len(ordered))
    threshold = math.log10(3 * len(found) / ALPHA)  # three e-values of each channel share alpha
    sentences = [words for check in found if (words := _sentence(check, threshold))]
    by_time = any(content.by_time for content in ordered)
    return OrderChecks(ALPHA, threshold, tuple(found), (*sentences, SUPPOSED) if sentences else (), by_time)


def _checked(content: LabelledCounts, most_senses: int) -> OrderCheck:
    assert content.order is not None
    n_inputs, n_outputs = content.counts.shape
    nats = drift_and_memory(*content.order, (n_inputs, n_outputs), most_senses=most_senses)
    drift, memory, periodic = (value / math.log(10.0) for value in nats[:3])
    return OrderCheck(content.name, drift, memory, periodic, nats.period)


def _sentence(check: OrderCheck, threshold: float) -> str:
    """What is said of one channel; nothing where neither e-value is large."""
    period = f"senses differ with a period of about {check.period or 0.0:.4g} of them"
    kinds = {
        ("drifts", "earlier and later senses of an input differ"): check.log10_drift,
        ("remembers", "outputs depend on what was sent or received before"): check.log10_memory,
        ("changes periodically", period): check.log10_periodic,
    }
    large = {kind: value for kind, value in kinds.items() if value >= threshold}
    if not large:
        return ""
    what, why = (" or ".join(verbs for verbs, _ in large), " and ".join(reasons for _, reasons in large))
    values = " and ".join(f"10^{value:.1f}" for value in large.values())
    return f'channel "{check.name}" {what}, as {why} (e-value {values}; 10^{threshold:.1f} makes a warning)'
