"""The lower bound in seconds: T* as a proved bracket where channels are small, else approximated for small gaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bestchannel.channels import Channel
from bestchannel.lower_bound.bound import kl_nats, lower_bound
from bestchannel.lower_bound.gaussian import small_gap_time
from bestchannel.lower_bound.known_channels import KnownChannels

MOST_CHANNELS = {4: 60, 9: 20}
"""|X|·|Y| of the largest channel, and how many channels of that size at most, for T* to be bracketed in seconds."""

ACCURACY = 0.05
"""Relative width of the bracket of T* that is enough beside the senses of one run."""


@dataclass(frozen=True)
class QuickBound:
    """`senses` = T*·kl(δ, 1-δ), infinite where the largest capacities tie; T* between its ends, in senses per nat.

    `proved` tells the bracket from the approximation, whose ends are equal, and 0 where it says nothing.
    """

    senses: float
    lower_time: float
    upper_time: float
    proved: bool


def quick_bound(channels: Sequence[Channel], delta: float) -> QuickBound:
    """The senses that no policy of error probability δ gets by without on these channels, on average."""
    largest = max(channel.W.size for channel in channels)
    if any(largest <= size and len(channels) <= most for size, most in MOST_CHANNELS.items()):
        bound = lower_bound(channels, delta, rtol=ACCURACY)
        T = bound.characteristic_time
        return QuickBound(bound.senses_lower_bound, T.lower, T.upper, proved=True)
    time = small_gap_time(KnownChannels.of(channels)).time
    return QuickBound(time * kl_nats(delta), time, time, proved=False)
