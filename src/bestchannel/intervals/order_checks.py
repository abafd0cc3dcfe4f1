"""Whether recorded senses are those of one and the same memoryless channel, as everything proved of them supposes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from bestchannel.arrays import Integers
from bestchannel.counts.labelled_counts import LabelledCounts
from bestchannel.evidence.drift_and_memory import drift_and_memory, shared_errors
from bestchannel.process import Progress

ALPHA = 0.01  # the largest probability of any warning, should all channels be as supposed
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


def check_order(
    tables: Iterable[LabelledCounts], progress: Progress | None = None, *, apart: bool = True
) -> OrderChecks | None:
    """The checks of the channels of which the order is known, which `progress` counts; None if it is of none.

    Of channels that are supposed to be independent (`apart`), whether two of them answered the same trials.
    """
    ordered = [(content, content.order) for content in tables if content.order is not None]
    if not ordered:
        return None
    checks = list[OrderCheck]()
    for content, order in ordered:
        n_inputs, n_outputs = content.counts.shape
        most_senses = max(MOST_SENSES // len(ordered), FEWEST_SENSES)
        nats = drift_and_memory(*order, (n_inputs, n_outputs), most_senses=most_senses)
        drift, memory, periodic = (value / math.log(10.0) for value in nats[:3])
        checks.append(OrderCheck(content.name, drift, memory, periodic, nats.period))
        if progress:
            progress(len(checks), len(ordered))
    together = _dependences(ordered) if apart else []
    # three e-values of each channel share alpha, and one of each pair with the same inputs
    threshold = math.log10((3 * len(checks) + len(together)) / ALPHA)
    sentences = [words for check in checks if (words := check.warning(threshold))]
    shared = [
        f'channels "{one}" and "{other}" had the same inputs in the same order, and their answers depend on each other'
        f" (e-value 10^{value:.1f}); trials that both answered are no independent senses: design joint compares them"
        for one, other, value in together
        if value >= threshold
    ]
    by_time = any(content.by_time for content, _ in ordered)
    warnings = (*sentences, SUPPOSED) if sentences else ()
    return OrderChecks(ALPHA, threshold, tuple(checks), (*warnings, *shared), by_time)


def _dependences(ordered: Iterable[tuple[LabelledCounts, tuple[Integers, Integers]]]) -> list[tuple[str, str, float]]:
    """The channels that had the same inputs in the same order as another one, which comes first, and log10 e-values."""
    first, found = dict[tuple[tuple[str, ...], bytes], tuple[str, Integers]](), list[tuple[str, str, float]]()
    for content, (sent, received) in ordered:
        name, answers = first.setdefault((content.inputs, sent.astype(np.int64).tobytes()), (content.name, received))
        if name != content.name:
            found.append((name, content.name, shared_errors(sent, answers, received) / math.log(10.0)))
    return found
