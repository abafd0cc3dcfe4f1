"""From counts to the values of channels, and to a verdict on which is the largest."""

from bestchannel.intervals.estimate import ChannelEstimate, Estimate, estimate
from bestchannel.intervals.plug_in import FIXED_INPUT, Functional, Interval, functional_for, plug_in

__all__ = [
    "FIXED_INPUT", "ChannelEstimate", "Estimate", "Functional", "Interval", "estimate", "functional_for", "plug_in",
]  # fmt: skip
