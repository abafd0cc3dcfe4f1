"""Find the channel with the largest Shannon capacity, and prove it."""

from bestchannel.capacity import Capacities, Capacity, capacities, capacity, pseudo_capacity
from bestchannel.channels import Channel
from bestchannel.counts import quantise, read_channels, read_counts, read_trials
from bestchannel.errors import BestChannelError, InputError
from bestchannel.information import mutual_information
from bestchannel.intervals import Estimate, estimate
from bestchannel.lower_bound.bound import LowerBound, lower_bound
from bestchannel.policies import (
    Adaptive,
    BestChanID,
    Identification,
    MedianChanEl,
    NaiveChanSel,
    Observation,
    Policy,
    Request,
    Sensor,
    identify,
)
from bestchannel.release import VERSION
from bestchannel.report import notebook as _notebook  # noqa: F401  draws and tabulates results
from bestchannel.sensing import Recording, Simulator

__version__ = VERSION

__all__ = [
    "Adaptive",
    "BestChanID",
    "BestChannelError",
    "Capacities",
    "Capacity",
    "Channel",
    "Estimate",
    "Identification",
    "InputError",
    "LowerBound",
    "MedianChanEl",
    "NaiveChanSel",
    "Observation",
    "Policy",
    "Recording",
    "Request",
    "Sensor",
    "Simulator",
    "capacities",
    "capacity",
    "estimate",
    "identify",
    "lower_bound",
    "mutual_information",
    "pseudo_capacity",
    "quantise",
    "read_channels",
    "read_counts",
    "read_trials",
]
