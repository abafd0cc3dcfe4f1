"""The lower bound beside a run: what no policy can do without on channels like those that were estimated."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bestchannel.channels import Channel
from bestchannel.lower_bound.bound import kl_nats, lower_bound
from bestchannel.lower_bound.gaussian import small_gap_time
from bestchannel.lower_bound.known_channels import KnownChannels
from bestchannel.report.numerals import whole
from bestchannel.report.summary import Measured, Summary

LARGEST_CHANNEL, MOST_CHANNELS = 9, 20
"""|X|·|Y| of one channel, and how many channels, up to which T* is bracketed. That is a matter of seconds."""

ACCURACY = 0.05
"""Relative width of the bracket of T* that is enough beside the senses of one run."""


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
    if max(channel.W.size for channel in channels) <= LARGEST_CHANNEL and len(channels) <= MOST_CHANNELS:
        return _certified(channels, summary.result.delta)
    return _approximated(channels, summary.result.delta)


def _why_not(summary: Summary) -> str:
    if len(_worth_sensing(summary)) < 2:
        return "Nothing to tell apart: no other channel has more than one input and one output."
    if summary.result.epsilon > 0.0:
        return "The bound is for naming the best channel itself; a channel within ε of the best can be had for less."
    if summary.input_distribution is not None:
        return "The bound is for capacities, and here I(P;W) at a fixed input distribution was compared."
    if any(np.isnan(channel.W_hat).any() for channel in _worth_sensing(summary)):
        return "Some input was never sensed, so there is no estimate of its channel to evaluate the bound at."
    return ""


def _worth_sensing(summary: Summary) -> list[Measured]:
    """The channels but those whose capacity is 0 by their alphabets."""
    return [channel for channel in summary.channels if min(channel.counts.shape) > 1]


def _certified(channels: list[Channel], delta: float) -> LeastSenses:
    bound = lower_bound(channels, delta, rtol=ACCURACY)
    T = bound.characteristic_time
    if not math.isfinite(bound.senses_lower_bound):
        return LeastSenses(
            None, True, "The estimates of the largest capacities tie, and telling them apart has no bound."
        )
    ends = f"{whole(T.lower)} … {whole(T.upper)}" if math.isfinite(T.upper) else f"at least {whole(T.lower)}"
    return LeastSenses(
        bound.senses_lower_bound,
        True,
        f"If the channels were exactly as estimated, no policy with this guarantee would get by with fewer senses on"
        f" average: T*·kl(δ, 1−δ), with a characteristic time T* of {ends} senses per nat.",
    )


def _approximated(channels: list[Channel], delta: float) -> LeastSenses:
    time = small_gap_time(KnownChannels.of(channels)).time
    if not 0.0 < time < math.inf:
        return LeastSenses(None, False, "The approximation for small gaps says nothing about these estimates.")
    return LeastSenses(
        time * kl_nats(delta),
        False,
        "An approximation for small gaps at the estimated channels, not a proof: for channels of this size the"
        " certified bound takes minutes (`bestchannel bound` computes it).",
    )
