"""The lower bound beside a run, in words: what no policy can do without on channels like those that were estimated."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bestchannel.channels import Channel
from bestchannel.lower_bound.bound import QuickBound, quick_bound
from bestchannel.report.numerals import whole
from bestchannel.report.summary import Measured, Summary


@dataclass(frozen=True)
class LeastSenses:
    """`senses` is T*·kl(δ, 1-δ), or None where there is no such number; `remark` says what it is, or why it is not.

    `proved` tells the certified bound from the approximation for small gaps.
    """

    senses: float | None
    proved: bool
    remark: str


def least_senses(summary: Summary) -> LeastSenses:
    """The lower bound at the estimated channels, approximated where the certified one would take minutes."""
    reason = _why_not(summary)
    if reason:
        return LeastSenses(None, False, reason)
    channels = [Channel.from_rows(c.W_hat, normalize=True) for c in _worth_sensing(summary)]
    bound = quick_bound(channels, summary.result.delta)
    return _certified(bound) if bound.proved else _approximated(bound)


def _why_not(summary: Summary) -> str:
    if len(_worth_sensing(summary)) < 2:
        return "Nothing to tell apart: no other channel has more than one input and one output."
    if summary.result.epsilon > 0.0:
        return "The bound is for naming the best channel itself; a channel within ε of the best can be had for less."
    if summary.input_distribution is not None:
        return "The bound is for capacities, and here I(P;W) at a fixed input distribution was compared."
    if summary.result.cost is not None:
        return (
            "Senses had costs, and the least cost was looked for, not the fewest senses: see bestchannel bound --cost."
        )
    if any(np.isnan(channel.W_hat).any() for channel in _worth_sensing(summary)):
        return "Some input was never sensed, so there is no estimate of its channel to evaluate the bound at."
    return ""


def _worth_sensing(summary: Summary) -> list[Measured]:
    """The channels but those whose capacity is 0 by their alphabets."""
    return [channel for channel in summary.channels if min(channel.counts.shape) > 1]


def _certified(bound: QuickBound) -> LeastSenses:
    low, high = bound.lower_time, bound.upper_time
    if not math.isfinite(bound.senses):
        return LeastSenses(
            None, True, "The estimates of the largest capacities tie, and telling them apart has no bound."
        )
    ends = f"{whole(low)} … {whole(high)}" if math.isfinite(high) else f"at least {whole(low)}"
    return LeastSenses(
        bound.senses,
        True,
        f"If the channels were exactly as estimated, no policy with this guarantee would get by with fewer senses on"
        f" average: T*·kl(δ, 1−δ), with a characteristic time T* of {ends} senses per nat.",
    )


def _approximated(bound: QuickBound) -> LeastSenses:
    if not 0.0 < bound.lower_time < math.inf:
        return LeastSenses(None, False, "The approximation for small gaps says nothing about these estimates.")
    return LeastSenses(
        bound.senses,
        False,
        "An approximation for small gaps at the estimated channels, not a proof: for so many channels, or channels of"
        " this size, the certified bound takes longer than a report should (`bestchannel bound` computes it).",
    )
