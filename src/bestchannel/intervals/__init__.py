"""From counts to the values of channels, and to a verdict on which is the largest."""

from bestchannel.intervals.estimate import ChannelEstimate, Estimate, estimate
from bestchannel.intervals.plug_in import (
    PLUG_IN_TOLERANCE,
    ChannelCapacity,
    Functional,
    InformationAt,
    Interval,
    empirical,
    functional_for,
    plug_in,
    proposition_1,
)
from bestchannel.intervals.verdict import Difference, Standing, Verdict

__all__ = [
    "PLUG_IN_TOLERANCE",
    "ChannelCapacity",
    "ChannelEstimate",
    "Difference",
    "Estimate",
    "Functional",
    "InformationAt",
    "Interval",
    "Standing",
    "Verdict",
    "empirical",
    "estimate",
    "functional_for",
    "plug_in",
    "proposition_1",
]
